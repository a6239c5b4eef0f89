//! The operations of a tape: what each does to encrypted values, written once for every device.

use super::value::{Machine, Value};
use limbwise::{
    Complex64, Result,
    ckks::{Ciphertext, Diagonals, Series, chebyshev::depth, functions::Function},
};
use limbwise_device::Device;
use std::sync::Arc;

/// An operation; its operands are beside it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Op {
    Add,
    Sub,
    /// `a·b`; `a²` where both are one value.
    Mul,
    Negate,
    /// `a + c` in every slot.
    AddScalar(f64),
    /// `c·a`; a whole number costs no level.
    MulScalar(f64),
    /// `a + rows`: values of their own for each message of the batch, or one row for all.
    AddRows(Arc<Vec<Vec<Complex64>>>),
    /// `a ⊙ rows`.
    MulRows(Arc<Vec<Vec<Complex64>>>),
    /// Slots to the left.
    Rotate(i64),
    Conjugate,
    /// `Σ_{i < count} rotate(a, i·stride)`.
    InnerSum {
        /// Slots from a term to the next.
        stride: i64,
        count: usize,
    },
    /// A polynomial on its interval.
    Series(Arc<Series>),
    /// A planned function, which bootstraps on its way.
    Function(Arc<Function>),
    /// A linear map on the slots of every message.
    Linear(Arc<Diagonals>),
    /// Some messages of the batch, in this order; none is copied.
    Gather(Vec<usize>),
    /// All operands as one batch, at the lowest of their levels.
    Stack,
    /// The same read with more slots, or with fewer where the message repeats.
    Slots(usize),
    /// No slot is larger.
    BoundedBy(f64),
    /// Bootstrapped now.
    Bootstrap,
    /// Relinearized and divided now.
    Settle,
    /// `a·b` of three polynomials, neither relinearized nor divided; levels must be equal.
    Multiply,
    /// Three polynomials → two, nothing else.
    Relinearize,
    /// Divided by the primes of the level, nothing else.
    Rescale,
    /// At a lower level.
    DropLevel(usize),
}

/// Largest whole factor that is multiplied exactly: beyond it a level is cheaper than the room it takes.
const MOST_WHOLE: f64 = 1024.0;

impl Op {
    /// Its name, for regions and messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Add | Self::AddScalar(_) | Self::AddRows(_) => "add",
            Self::Sub => "sub",
            Self::Mul | Self::MulScalar(_) | Self::MulRows(_) => "mul",
            Self::Negate => "negate",
            Self::Rotate(_) => "rotate",
            Self::Conjugate => "conjugate",
            Self::InnerSum { .. } => "sum",
            Self::Series(_) => "polynomial",
            Self::Function(function) => function.name(),
            Self::Linear(_) => "linear",
            Self::Gather(_) => "gather",
            Self::Stack => "stack",
            Self::Slots(_) => "slots",
            Self::BoundedBy(_) => "bounded_by",
            Self::Bootstrap => "bootstrap",
            Self::Settle => "settle",
            Self::Multiply => "multiply",
            Self::Relinearize => "relinearize",
            Self::Rescale => "rescale",
            Self::DropLevel(_) => "drop_level",
        }
    }

    /// Carries it out. `linear` applies the map of [`Op::Linear`], encoded for the level of what it is given.
    ///
    /// # Panics
    /// With fewer operands than it has.
    pub fn apply<D: Device>(
        &self,
        machine: &Machine<'_, '_, D>,
        operands: &[&Value<D>],
        linear: &dyn Fn(&Ciphertext<D>) -> Result<Ciphertext<D>>,
    ) -> Result<Ciphertext<D>> {
        let (auto, a) = (machine.auto, operands[0]);
        match self {
            Self::Add | Self::Sub | Self::Mul => self.of_two(machine, a, operands[1]),
            Self::MulScalar(_) | Self::MulRows(_) | Self::Series(_) | Self::Linear(_) => {
                self.taking_levels(machine, a, linear)
            }
            Self::Function(function) => {
                if let Function::Lookup(table) = &**function {
                    return machine.look_up(a, table);
                }
                let ready = |x: &Ciphertext<D>, levels| auto.ready_with(x, levels, machine.bootstrapper);
                let a = machine.ready(a, function.first_levels())?;
                if machine.bootstrapper.is_none() {
                    function.check_levels(auto, &a)?;
                }
                function.apply(auto, &a, &ready)
            }
            Self::Negate => Ok(auto.eval.negate(&a.get())),
            Self::AddScalar(c) => Ok(auto.add_scalar(&a.get(), *c)),
            Self::AddRows(rows) => auto.add_rows(&machine.settled(a)?, rows),
            Self::Rotate(steps) => auto.rotate(&machine.settled(a)?, *steps),
            Self::Conjugate => auto.conjugate(&machine.settled(a)?),
            Self::InnerSum { stride, count } => auto.inner_sum(&machine.settled(a)?, *stride, *count),
            Self::Gather(indices) => {
                let a = a.get();
                let parts: Vec<_> = indices.iter().map(|&i| auto.eval.split(&a, i, i + 1)).collect();
                Ok(auto.eval.stack(&parts))
            }
            Self::Stack => {
                let all = operands.iter().map(|v| machine.settled(v)).collect::<Result<Vec<_>>>()?;
                auto.stack(&all)
            }
            Self::Slots(slots) => Ok(a.get().with_slots(*slots)),
            Self::BoundedBy(most) => Ok(a.get().bounded_by(*most)),
            Self::Bootstrap => machine.bootstrap(&machine.settled(a)?),
            Self::Settle => machine.settled(a),
            Self::Multiply => auto.eval.multiply(&a.get(), &operands[1].get()),
            Self::Relinearize => auto.eval.relinearize(&a.get()),
            Self::Rescale => auto.eval.rescale(&a.get()),
            Self::DropLevel(level) => {
                let a = machine.settled(a)?;
                if *level < a.level { auto.scale_to(&a, 1.0, *level) } else { auto.eval.drop_level(&a, *level) }
            }
        }
    }

    fn of_two<D: Device>(&self, machine: &Machine<'_, '_, D>, a: &Value<D>, b: &Value<D>) -> Result<Ciphertext<D>> {
        let auto = machine.auto;
        match self {
            Self::Add => auto.add(&a.get(), &b.get()),
            Self::Sub => auto.sub(&a.get(), &b.get()),
            _ if std::ptr::eq(a, b) => auto.square(&machine.ready(a, 1)?),
            _ => {
                let left = machine.ready(a, 1)?;
                auto.mul(&left, &machine.ready(b, 1)?)
            }
        }
    }

    fn taking_levels<D: Device>(
        &self,
        machine: &Machine<'_, '_, D>,
        a: &Value<D>,
        linear: &dyn Fn(&Ciphertext<D>) -> Result<Ciphertext<D>>,
    ) -> Result<Ciphertext<D>> {
        let auto = machine.auto;
        match self {
            Self::MulScalar(c) if c.fract() == 0.0 && c.abs() <= MOST_WHOLE => {
                let a = machine.settled(a)?;
                Ok(Ciphertext { scale: a.scale, ..auto.eval.mul_scalar(&a, *c, 1.0)? })
            }
            Self::MulScalar(c) => auto.weighted_sum(&[(*c, &machine.ready(a, 1)?)]),
            Self::MulRows(rows) => auto.mul_rows(&machine.ready(a, 1)?, rows),
            Self::Linear(_) => linear(&machine.ready(a, 1)?),
            Self::Series(series) => {
                let unit = (series.from + 1.0).abs() < f64::EPSILON && (series.to - 1.0).abs() < f64::EPSILON;
                let levels = depth(series.coefficients.len() - 1) + usize::from(!unit);
                auto.chebyshev(&machine.ready(a, levels)?, series)
            }
            _ => unreachable!("the caller chose"),
        }
    }
}
