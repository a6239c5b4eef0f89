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

fn comparison(op: &str) -> Option<Comparison> {
    Some(match op {
        "eq" => Comparison::Equal,
        "ne" => Comparison::NotEqual,
        "lt" => Comparison::Less,
        "le" => Comparison::AtMost,
        "gt" => Comparison::Greater,
        "ge" => Comparison::AtLeast,
        _ => return None,
    })
}

fn bitwise(op: &str) -> Option<Bitwise> {
    Some(match op {
        "and" => Bitwise::And,
        "or" => Bitwise::Or,
        "xor" => Bitwise::Xor,
        _ => return None,
    })
}

fn gate(op: &str) -> Option<Gate> {
    Some(match op {
        "and" => Gate::And,
        "or" => Gate::Or,
        "xor" | "ne" => Gate::Xor,
        "eq" => Gate::Xnor,
        _ => return None,
    })
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

    fn two(&self, op: &str, a: &Value<D>, b: &Value<D>) -> std::result::Result<Value<D>, Refused> {
        let Some(format) = a.1 else {
            let gate = gate(op).ok_or_else(|| Refused::Operation(op.into()))?;
            return Ok(answered(&self.boolean(a)?.gate(gate, &self.boolean(b)?)?));
        };
        let (x, y) = (self.integers(a, format)?, self.integers(b, b.1.unwrap_or(format))?);
        if let Some(comparison) = comparison(op) {
            return Ok(answered(&x.compare(comparison, &y)?));
        }
        held(&match (op, bitwise(op)) {
            (_, Some(f)) => x.bitwise(f, &y)?,
            ("add", _) => x.add(&y)?,
            ("sub", _) => x.sub(&y)?,
            ("mul", _) => x.mul(&y)?,
            ("min", _) => x.min(&y)?,
            _ => x.max(&y)?,
        })
    }

    fn clear(&self, op: &str, a: &Value<D>, value: i128) -> std::result::Result<Value<D>, Refused> {
        let x = self.integers(a, a.1.ok_or_else(|| Refused::Operation(op.into()))?)?;
        if let Some(comparison) = comparison(op) {
            return Ok(answered(&x.compare_clear(comparison, value)?));
        }
        let by = u32::try_from(value).unwrap_or(u32::MAX);
        held(&match (op, bitwise(op)) {
            (_, Some(f)) => x.bitwise_clear(f, value)?,
            ("add", _) => x.add_clear(value)?,
            ("sub", _) => x.sub_clear(value)?,
            ("mul", _) => x.mul_clear(value)?,
            ("shl", _) => x.shifted(Shift::Left, by)?,
            _ => x.shifted(Shift::Right, by)?,
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
