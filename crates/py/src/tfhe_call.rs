//! Operations on exact integers and booleans, on any device: with values, or on a trace without.

use limbwise::{
    Error, Result,
    tfhe::{
        Boolean, Ciphertext, Comparison, Evaluator, Format, Gate, Integers, Radix,
        radix::bits::{Bitwise, Shift},
    },
};
use limbwise_device::Device;

#[derive(Clone)]
pub(crate) enum Call {
    Binary(Op),
    /// With a clear number on the right.
    Clear(Op, i128),
    /// All bits turned.
    Complement,
    Negated,
    Abs,
    /// Quotient and remainder of two.
    Divided,
    /// The same by clear numbers, one or one a row.
    DividedClear(Vec<i128>),
    /// One of two by a boolean.
    Select,
    /// Rows by their numbers.
    Gather(Vec<usize>),
    /// All rows of several batches.
    Stack,
    /// Clear values that go with what there is.
    Known(Vec<i128>, Option<Format>),
    /// In another format.
    Cast(Option<Format>),
    /// The entries of a table at indices, in a format.
    Lookup(Vec<i128>, Option<Format>),
    /// The sum of as many parts of equally many rows, each times its weight, computed in one format and returned in
    /// another.
    Sum(Vec<i128>, [Format; 2]),
    /// So many parts in ascending order, row by row.
    Sort(usize),
    /// How many of so many parts of equally many rows are true.
    Count(usize, Format),
    /// Whether any of so many parts is true.
    Any(usize),
    /// Whether all of so many parts are true.
    All(usize),
}

pub(crate) enum Refused {
    Scheme(Error),
    /// This kind of value does not have the operation.
    Operation(String),
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
    pub(crate) eval: Evaluator<'a, D>,
    pub(crate) lanes: usize,
}

/// A ciphertext and its format; none of booleans.
pub(crate) type Value<D> = (Ciphertext<D>, Option<Format>);

/// An operation with two operands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    Compared(Comparison),
    Bits(Bitwise),
    Add,
    Sub,
    Mul,
    Min,
    Max,
    Shifted(Shift),
}

/// All of them by the names that Python gives them.
const OPS: [(&str, Op); 16] = [
    ("eq", Op::Compared(Comparison::Equal)),
    ("ne", Op::Compared(Comparison::NotEqual)),
    ("lt", Op::Compared(Comparison::Less)),
    ("le", Op::Compared(Comparison::AtMost)),
    ("gt", Op::Compared(Comparison::Greater)),
    ("ge", Op::Compared(Comparison::AtLeast)),
    ("and", Op::Bits(Bitwise::And)),
    ("or", Op::Bits(Bitwise::Or)),
    ("xor", Op::Bits(Bitwise::Xor)),
    ("add", Op::Add),
    ("sub", Op::Sub),
    ("mul", Op::Mul),
    ("min", Op::Min),
    ("max", Op::Max),
    ("shl", Op::Shifted(Shift::Left)),
    ("shr", Op::Shifted(Shift::Right)),
];

impl Call {
    /// Its name, for people.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Binary(op) | Self::Clear(op, _) => op.name(),
            Self::Complement => "invert",
            Self::Negated => "negative",
            Self::Abs => "absolute",
            Self::Divided | Self::DividedClear(_) => "divmod",
            Self::Select => "where",
            Self::Gather(_) => "take",
            Self::Stack => "stack",
            Self::Known(..) => "known",
            Self::Cast(_) => "astype",
            Self::Lookup(..) => "lookup",
            Self::Sum(..) => "sum",
            Self::Sort(_) => "sort",
            Self::Count(..) => "count",
            Self::Any(_) => "any",
            Self::All(_) => "all",
        }
    }
}

impl Op {
    pub(crate) fn of(name: &str) -> Option<Self> {
        OPS.iter().find(|(own, _)| *own == name).map(|&(_, op)| op)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Shifted(Shift::RotateLeft | Shift::RotateRight) => "rotate",
            Self::Compared(_)
            | Self::Bits(_)
            | Self::Add
            | Self::Sub
            | Self::Mul
            | Self::Min
            | Self::Max
            | Self::Shifted(_) => OPS.iter().find(|(_, op)| *op == self).expect("all are listed").0,
        }
    }

    /// The same of booleans, where false is below true.
    fn gate(self) -> Option<Gate> {
        match self {
            Self::Bits(Bitwise::And) | Self::Min => Some(Gate::And),
            Self::Bits(Bitwise::Or) | Self::Max => Some(Gate::Or),
            Self::Bits(Bitwise::Xor) | Self::Compared(Comparison::NotEqual) => Some(Gate::Xor),
            Self::Compared(Comparison::Equal) => Some(Gate::Xnor),
            // False is below true.
            Self::Compared(Comparison::Less) => Some(Gate::NotAnd),
            Self::Compared(Comparison::AtMost) => Some(Gate::NotOr),
            Self::Compared(Comparison::Greater) => Some(Gate::AndNot),
            Self::Compared(Comparison::AtLeast) => Some(Gate::OrNot),
            Self::Add | Self::Sub | Self::Mul | Self::Shifted(_) => None,
        }
    }
}

impl<'a, D: Device> Side<'a, D> {
    fn integers(&self, (ciphertext, _): &Value<D>, format: Format) -> Result<Radix<'a, D>> {
        Integers::new(self.eval)?.with_lanes(self.lanes).value(format, ciphertext)
    }

    fn boolean(&self, (ciphertext, _): &Value<D>) -> Result<Boolean<'a, D>> {
        Boolean::new(self.eval, ciphertext.clone())
    }

    fn two(&self, op: Op, a: &Value<D>, b: &Value<D>) -> std::result::Result<Value<D>, Refused> {
        let Some(format) = a.1 else {
            let gate = op.gate().ok_or_else(|| Refused::Operation(op.name().into()))?;
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
            Op::Shifted(Shift::Left) => x.shifted_left_by(&y)?,
            Op::Shifted(Shift::Right) => x.shifted_right_by(&y)?,
            Op::Shifted(Shift::RotateLeft | Shift::RotateRight) => return Err(Refused::Operation(op.name().into())),
        })
    }

    fn clear(&self, op: Op, a: &Value<D>, value: i128) -> std::result::Result<Value<D>, Refused> {
        let x = self.integers(a, a.1.ok_or_else(|| Refused::Operation(op.name().into()))?)?;
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

impl<'a, D: Device> Side<'a, D> {
    /// Carries out an operation that moves rows, or makes them.
    fn moved(&self, call: &Call, of: &[Value<D>]) -> std::result::Result<Value<D>, Refused> {
        let eval = self.eval;
        match (call, of[0].1) {
            (Call::Gather(rows), Some(format)) => held(&self.integers(&of[0], format)?.gather(rows)?),
            (Call::Gather(rows), None) => Ok((eval.gather(&of[0].0, rows)?, None)),
            (Call::Stack, Some(format)) => {
                let every = of.iter().map(|one| self.integers(one, format)).collect::<Result<Vec<_>>>()?;
                held(&Radix::stacked(&every)?)
            }
            (Call::Stack, None) => Ok((eval.stack(&of.iter().map(|(ct, _)| ct).collect::<Vec<_>>())?, None)),
            (Call::Known(values, Some(format)), _) => {
                held(&Integers::new(eval)?.with_lanes(self.lanes).known(&of[0].0, *format, values)?)
            }
            (Call::Known(values, None), _) => {
                let bits: Vec<u64> = values.iter().map(|&value| u64::from(value != 0)).collect();
                Ok((eval.known(&of[0].0, &bits)?, None))
            }
            _ => unreachable!("other operations go elsewhere"),
        }
    }

    /// One value in another format: booleans are 0 and 1, and integers that are not 0 are true.
    fn cast(&self, a: &Value<D>, to: Option<Format>) -> std::result::Result<Value<D>, Refused> {
        match (a.1, to) {
            (Some(from), Some(to)) => held(&self.integers(a, from)?.converted(to)?),
            (Some(from), None) => Ok(answered(&self.integers(a, from)?.compare_clear(Comparison::NotEqual, 0)?)),
            (None, Some(to)) => {
                held(&Integers::new(self.eval)?.with_lanes(self.lanes).of_boolean(to, &self.boolean(a)?)?)
            }
            (None, None) => Ok(a.clone()),
        }
    }

    /// Parts of equally many rows.
    fn parts(&self, a: &Value<D>, count: usize) -> Result<Vec<Value<D>>> {
        let rows = a.0.batch() / a.1.map_or(1, Format::digits);
        let part = |i: usize| -> Result<Value<D>> {
            let own: Vec<usize> = (i * rows / count..(i + 1) * rows / count).collect();
            match a.1 {
                Some(format) => Ok((self.integers(a, format)?.gather(&own)?.ciphertext()?, a.1)),
                None => Ok((self.eval.gather(&a.0, &own)?, None)),
            }
        };
        (0..count).map(part).collect()
    }

    fn integer_parts(&self, name: &str, a: &Value<D>, count: usize) -> std::result::Result<Vec<Radix<'a, D>>, Refused> {
        let format = a.1.ok_or_else(|| Refused::Operation(name.into()))?;
        let every = self.parts(a, count)?;
        Ok(every.iter().map(|part| self.integers(part, format)).collect::<Result<Vec<_>>>()?)
    }

    fn summed(
        &self,
        a: &Value<D>,
        weights: &[i128],
        [inner, outer]: [Format; 2],
    ) -> std::result::Result<Value<D>, Refused> {
        // Digits that are 0 are known to be so only within one operation.
        let parts = self.integer_parts("sum", a, weights.len())?;
        let parts = parts.iter().map(|part| part.converted(inner)).collect::<Result<Vec<_>>>()?;
        let terms: Vec<_> = parts.iter().zip(weights.iter().copied()).collect();
        held(&Radix::weighted_sum(&terms)?.converted(outer)?)
    }

    fn booleans(&self, a: &Value<D>, count: usize) -> Result<Vec<Boolean<'a, D>>> {
        self.parts(a, count)?.iter().map(|part| self.boolean(part)).collect()
    }
}

/// Carries out an operation on as many values as it takes.
pub(crate) fn applied<D: Device>(
    side: &Side<'_, D>,
    call: &Call,
    of: &[Value<D>],
) -> std::result::Result<Vec<Value<D>>, Refused> {
    let integers = |name: &str| {
        let format = of[0].1.ok_or_else(|| Refused::Operation(name.into()))?;
        side.integers(&of[0], format).map_err(Refused::Scheme)
    };
    let one = match (call, of) {
        (Call::Binary(op), [a, b]) => side.two(*op, a, b)?,
        (Call::Clear(op, value), [a]) => side.clear(*op, a, *value)?,
        (Call::Complement, [(_, Some(_))]) => held(&integers("~")?.complement())?,
        (Call::Complement, [a]) => answered(&!&side.boolean(a)?),
        (Call::Negated, [_]) => held(&integers("-")?.negated()?)?,
        (Call::Abs, [_]) => held(&integers("abs")?.abs()?)?,
        (Call::Divided, [_, b]) => {
            let x = integers("division")?;
            let (quotient, rest) = x.div_rem(&side.integers(b, b.1.unwrap_or_else(|| x.format()))?)?;
            return Ok(vec![held(&quotient)?, held(&rest)?]);
        }
        (Call::DividedClear(by), [_]) => {
            let (quotient, rest) = integers("division")?.div_rem_clear(by)?;
            return Ok(vec![held(&quotient)?, held(&rest)?]);
        }
        (Call::Select, [choice, yes, no]) => {
            let choice = side.boolean(choice)?;
            match (yes.1, no.1) {
                (Some(a), Some(b)) => held(&Radix::select(&choice, &side.integers(yes, a)?, &side.integers(no, b)?)?)?,
                _ => answered(&choice.mux(&side.boolean(yes)?, &side.boolean(no)?)?),
            }
        }
        (Call::Gather(_) | Call::Stack | Call::Known(..), _) => side.moved(call, of)?,
        (Call::Cast(to), [a]) => side.cast(a, *to)?,
        (Call::Lookup(table, format), [_]) => {
            // A boolean is the first digit of an integer.
            let narrow = Format::unsigned(4)?;
            let found = integers("lookup")?.lookup(table, format.unwrap_or(narrow))?;
            match format {
                Some(_) => held(&found)?,
                None => (side.eval.split(&found.ciphertext()?, 0, found.rows()).at_most(1)?, None),
            }
        }
        (Call::Sum(weights, formats), [a]) => side.summed(a, weights, *formats)?,
        (Call::Sort(parts), [a]) => held(&Radix::stacked(&Radix::sorted(&side.integer_parts("sort", a, *parts)?)?)?)?,
        (Call::Count(parts, format), [a]) => {
            let every = side.booleans(a, *parts)?;
            held(&Integers::new(side.eval)?.with_lanes(side.lanes).count(*format, &every)?)?
        }
        (Call::Any(parts), [a]) => answered(&Boolean::any(&side.booleans(a, *parts)?)?),
        (Call::All(parts), [a]) => answered(&Boolean::all(&side.booleans(a, *parts)?)?),
        _ => unreachable!("each operation is called with its values"),
    };
    Ok(vec![one])
}
