//! Operations on exact integers and booleans, on any device: with values, or on a trace without.

use limbwise::{
    Error, Result,
    tfhe::{
        Boolean, Ciphertext, Comparison, Evaluator, Format, Gate, Integers, Radix, ServerKey,
        radix::bits::{Bitwise, Shift},
    },
};
use limbwise_device::Device;

pub(crate) enum Call<'n> {
    Binary(&'n str),
    /// With a clear number on the right.
    Clear(&'n str, i128),
    /// All bits turned.
    Complement,
    Negated,
    /// One of two by a boolean.
    Select,
}

pub(crate) enum Refused {
    Scheme(Error),
    /// This kind of value does not have the operation.
    Operation(String),
    /// There is no such operation.
    Unknown(String),
    /// A shift by a negative number of bits.
    Backwards(i128),
    /// A value of another device.
    Other,
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::Scheme(error)
    }
}

pub(crate) struct Side<'a, D: Device> {
    pub(crate) dev: &'a D,
    pub(crate) server: &'a ServerKey<D>,
    pub(crate) lanes: usize,
}

/// A ciphertext and its format; none of booleans.
pub(crate) type Value<D> = (Ciphertext<D>, Option<Format>);

/// An operation with two operands.
#[derive(Clone, Copy)]
enum Op {
    Compared(Comparison),
    Bits(Bitwise),
    Add,
    Sub,
    Mul,
    Min,
    Max,
    Shifted(Shift),
}

impl Op {
    fn of(name: &str) -> std::result::Result<Self, Refused> {
        Ok(match name {
            "eq" => Self::Compared(Comparison::Equal),
            "ne" => Self::Compared(Comparison::NotEqual),
            "lt" => Self::Compared(Comparison::Less),
            "le" => Self::Compared(Comparison::AtMost),
            "gt" => Self::Compared(Comparison::Greater),
            "ge" => Self::Compared(Comparison::AtLeast),
            "and" => Self::Bits(Bitwise::And),
            "or" => Self::Bits(Bitwise::Or),
            "xor" => Self::Bits(Bitwise::Xor),
            "add" => Self::Add,
            "sub" => Self::Sub,
            "mul" => Self::Mul,
            "min" => Self::Min,
            "max" => Self::Max,
            "shl" => Self::Shifted(Shift::Left),
            "shr" => Self::Shifted(Shift::Right),
            _ => return Err(Refused::Unknown(name.into())),
        })
    }

    /// The same of booleans, where false is below true.
    fn gate(self) -> Option<Gate> {
        match self {
            Self::Bits(Bitwise::And) | Self::Min => Some(Gate::And),
            Self::Bits(Bitwise::Or) | Self::Max => Some(Gate::Or),
            Self::Bits(Bitwise::Xor) | Self::Compared(Comparison::NotEqual) => Some(Gate::Xor),
            Self::Compared(Comparison::Equal) => Some(Gate::Xnor),
            Self::Compared(_) | Self::Add | Self::Sub | Self::Mul | Self::Shifted(_) => None,
        }
    }
}

impl<'a, D: Device> Side<'a, D> {
    fn eval(&self) -> Evaluator<'a, D> {
        Evaluator::new(self.dev, self.server)
    }

    fn integers(&self, (ciphertext, _): &Value<D>, format: Format) -> Result<Radix<'a, D>> {
        Integers::new(self.eval())?.with_lanes(self.lanes).value(format, ciphertext)
    }

    fn boolean(&self, (ciphertext, _): &Value<D>) -> Result<Boolean<'a, D>> {
        Boolean::new(self.eval(), ciphertext.clone())
    }

    fn two(&self, name: &str, a: &Value<D>, b: &Value<D>) -> std::result::Result<Value<D>, Refused> {
        let op = Op::of(name)?;
        let Some(format) = a.1 else {
            let gate = op.gate().ok_or_else(|| Refused::Operation(name.into()))?;
            return Ok(answered(&self.boolean(a)?.gate(gate, &self.boolean(b)?)?));
        };
        let (x, y) = (self.integers(a, format)?, self.integers(b, b.1.unwrap_or(format))?);
        held(&match op {
            Op::Compared(comparison) => return Ok(answered(&x.compare(comparison, &y)?)),
            Op::Bits(f) => x.bitwise(f, &y)?,
            Op::Add => x.add(&y)?,
            Op::Sub => x.sub(&y)?,
            Op::Mul => x.mul(&y)?,
            Op::Min => x.min(&y)?,
            Op::Max => x.max(&y)?,
            Op::Shifted(_) => return Err(Refused::Unknown(format!("{name} by encrypted bits"))),
        })
    }

    fn clear(&self, name: &str, a: &Value<D>, value: i128) -> std::result::Result<Value<D>, Refused> {
        let op = Op::of(name)?;
        let x = self.integers(a, a.1.ok_or_else(|| Refused::Operation(name.into()))?)?;
        held(&match op {
            Op::Compared(comparison) => return Ok(answered(&x.compare_clear(comparison, value)?)),
            Op::Bits(f) => x.bitwise_clear(f, value)?,
            Op::Add => x.add_clear(value)?,
            Op::Sub => x.sub_clear(value)?,
            Op::Mul => x.mul_clear(value)?,
            Op::Min => x.min_clear(value)?,
            Op::Max => x.max_clear(value)?,
            Op::Shifted(_) if value < 0 => return Err(Refused::Backwards(value)),
            Op::Shifted(shift) => x.shifted(shift, u32::try_from(value).unwrap_or(u32::MAX))?,
        })
    }
}

fn held<D: Device>(value: &Radix<'_, D>) -> std::result::Result<Value<D>, Refused> {
    Ok((value.ciphertext()?, Some(value.format())))
}

fn answered<D: Device>(answer: &Boolean<'_, D>) -> Value<D> {
    (answer.ciphertext().clone(), None)
}

/// Carries out an operation on as many values as it takes.
pub(crate) fn applied<D: Device>(
    side: &Side<'_, D>,
    call: &Call<'_>,
    of: &[Value<D>],
) -> std::result::Result<Value<D>, Refused> {
    match (call, of) {
        (Call::Binary(op), [a, b]) => side.two(op, a, b),
        (Call::Clear(op, value), [a]) => side.clear(op, a, *value),
        (Call::Complement, [a]) => match a.1 {
            Some(format) => held(&side.integers(a, format)?.complement()),
            None => Ok(answered(&!&side.boolean(a)?)),
        },
        (Call::Negated, [a]) => {
            let format = a.1.ok_or_else(|| Refused::Operation("-".into()))?;
            held(&side.integers(a, format)?.negated()?)
        }
        (Call::Select, [choice, yes, no]) => {
            let choice = side.boolean(choice)?;
            match (yes.1, no.1) {
                (Some(a), Some(b)) => held(&Radix::select(&choice, &side.integers(yes, a)?, &side.integers(no, b)?)?),
                _ => Ok(answered(&choice.mux(&side.boolean(yes)?, &side.boolean(no)?)?)),
            }
        }
        _ => unreachable!("each operation is called with its values"),
    }
}
