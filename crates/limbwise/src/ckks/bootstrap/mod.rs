//! Bootstrapping: a ciphertext without levels becomes one with levels, by evaluating decryption approximately.
//!
//! Enters: the steps, one per file, and the object that runs them on any device.
//! Stays out: parameters (`params::bootstrap`), key generation, the choice of a plan for a memory budget (`runtime`).
//!
//! Read in this order: [`plan`], `transforms`, `recipe`, `slot_to_coeff`, `mod_raise`, `coeff_to_slot`, `eval_mod`, then
//! [`Bootstrapper::evaluate`], `steps`, `iterate`, and for tables `table`, `lookup`.

mod build;
mod coeff_to_slot;
mod eval_mod;
mod iterate;
mod lookup;
mod mod_raise;
pub mod plan;
mod recipe;
mod slot_to_coeff;
mod steps;
mod table;
mod transforms;

pub(crate) use build::middle_monomial;
pub use build::requirements;
pub use lookup::Lookup;
pub use plan::{BabySteps, BootstrapPlan, Content, HalvesAt, Rotations};
pub use steps::Underway;
pub use table::{LookupNoise, LookupTable};

use super::{Auto, Ciphertext, Estimate, Evaluator, LinearTransform, evaluator::linear};
use crate::{
    error::{BootstrapError, LevelError, Result, ScaleError, ShapeError},
    params::{Bootstrapping, Order, Sine},
    rlwe::noise,
};
use eval_mod::{Cubic, Turns};
use limbwise_device::{Device, Handle as _};
use limbwise_math::rns::to_f64;
use num_complex::Complex64;

/// Name of the operation in errors.
const OP: &str = "bootstrap";

/// Largest relative difference between a ciphertext's scale and the expected one. Scales are exact up to f64 rounding.
const SCALE_TOLERANCE: f64 = 1e-6;

/// How the real and imaginary parts of the coefficients go through EvalMod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Halves {
    /// As a batch of two messages.
    Batch,
    /// As one message, side by side in twice the slots.
    Beside,
    /// As one message in four times the slots: x and −x of the real parts, x and −x of the imaginary parts. The
    /// exponential of −x is the conjugate of that of x, so the sum of the four blocks, each turned by its own multiple
    /// of i, is the result without a product.
    WithOpposites,
    /// The real parts alone.
    Real,
}

/// A linear step: its maps, then a rotation of the result.
struct Maps<D: Device> {
    maps: Vec<LinearTransform<D>>,
    /// For each map, the factor on the root mean square of its input.
    growth: Vec<f64>,
    rotation: i64,
}

impl<D: Device> Maps<D> {
    fn slots(&self) -> usize {
        self.maps[0].slots()
    }

    fn apply(&self, eval: &Evaluator<'_, D>, a: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        let mut result = a.clone();
        for ((map, growth), index) in self.maps.iter().zip(&self.growth).zip(0..) {
            let _region = eval.device().region("stage", index);
            let size = result.estimate.magnitude * growth;
            result = eval.linear_transform_rescaled(&result, map)?;
            result.estimate.magnitude = size; // the map is a multiple of a unitary one
        }
        eval.rotate(&result, self.rotation)
    }
}

/// Bootstraps ciphertexts of one parameter set by one plan: holds the encoded maps and constants.
pub struct Bootstrapper<D: Device> {
    plan: BootstrapPlan,
    levels: Bootstrapping,
    to_coeff: Maps<D>,
    to_slot: Maps<D>,
    halves: Halves,
    series: Vec<f64>,
    /// The series of the interval, for tables.
    interval: Vec<f64>,
    straightening: Vec<f64>,
    cubics: Vec<Cubic<D>>,
    /// What turns the four blocks of [`Halves::WithOpposites`].
    turns: Option<Turns<D>>,
    /// Scale of EvalMod's result.
    target: f64,
    /// X^(N/2), whose slots are all i.
    unit: D::Poly,
    /// The factor for a ciphertext at level 0 that makes q₀ equal to 2^m times its scale; 1 if SlotToCoeff applies it.
    lift: f64,
    /// The scale after `lift`, over q₀/2^m: 1 up to the rounding of `lift`.
    fill: f64,
}

impl<D: Device> Bootstrapper<D> {
    /// The plan it was made with.
    #[must_use]
    pub fn plan(&self) -> BootstrapPlan {
        self.plan
    }

    /// The levels of its steps.
    #[must_use]
    pub fn levels(&self) -> Bootstrapping {
        self.levels
    }

    /// The largest absolute slot value: a quarter of the distance to the next multiple of q₀, where the sine turns
    /// back.
    #[must_use]
    pub fn largest_peak(&self) -> f64 {
        f64::from(self.levels.literal.message_ratio).exp2() / 5.0
    }

    /// Size of the encoded maps and constants in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let maps = self.to_coeff.maps.iter().chain(&self.to_slot.maps);
        maps.map(LinearTransform::bytes).sum::<u64>() + self.unit.shape().bytes()
    }

    /// Host bytes for the unencoded maps during encoding; the allocator keeps them.
    #[must_use]
    pub fn host_bytes(&self) -> u64 {
        let maps = self.to_coeff.maps.iter().chain(&self.to_slot.maps);
        maps.map(|map| (map.diagonals() * map.slots() * size_of::<Complex64>()) as u64).sum()
    }

    /// The same message with [`Bootstrapping::levels`] levels, in as many passes as the parameters say.
    ///
    /// Shape:  level ≥ the input level → the output level.
    /// Scale:  that of the output level.
    /// Noise:  the law of `noise::eval_mod`, and that of the input.
    /// Source: \[CHKKS18\], \[HK20\], \[BTH22\]; SlotToCoeff first as \[ARK\].
    ///
    /// # Errors
    /// Too few levels, a scale or packing other than the plan's, values too large for the message ratio, a missing key.
    pub fn evaluate(&self, auto: &Auto<'_, D>, a: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        self.evaluate_in_steps(auto, a, &mut |_| ())
    }

    /// [`Self::evaluate`], with a callback at the start of each step.
    ///
    /// # Errors
    /// As [`Self::evaluate`].
    pub fn evaluate_in_steps(
        &self,
        auto: &Auto<'_, D>,
        a: &Ciphertext<D>,
        begins: &mut dyn FnMut(&'static str),
    ) -> Result<Ciphertext<D>> {
        self.evaluate_in_passes(auto, a, self.levels.passes(), begins)
    }

    fn one_pass(
        &self,
        auto: &Auto<'_, D>,
        a: &Ciphertext<D>,
        begins: &mut dyn FnMut(&'static str),
    ) -> Result<Ciphertext<D>> {
        let mut underway = self.begin(auto, a)?;
        while let Some(name) = self.next_step(&underway) {
            begins(name);
            underway = self.advance(auto, underway)?;
        }
        Ok(self.finish(auto, underway))
    }

    /// Fails, before any operation, for a ciphertext that this bootstrapper does not fit.
    fn check(&self, eval: &Evaluator<'_, D>, a: &Ciphertext<D>) -> Result<()> {
        let (op, params, needed) = (OP, eval.params(), self.levels.input_level());
        if params.bootstrapping() != Some(&self.levels) {
            return Err(BootstrapError::OtherParameters.into());
        }
        if a.slots != self.plan.slots {
            return Err(ShapeError::Slots { op, left: a.slots, right: self.plan.slots }.into());
        }
        if a.level < needed {
            return Err(LevelError::Exhausted { op, level: a.level, needed, top: params.top_level() }.into());
        }
        let most = self.largest_peak();
        if a.estimate.peak > most {
            return Err(BootstrapError::TooLarge { peak: a.estimate.peak, most }.into());
        }
        Ok(())
    }

    /// The settled input, checked to be at the level and scale of the plan.
    fn settle_input(&self, eval: &Evaluator<'_, D>, a: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        let (op, params, needed) = (OP, eval.params(), self.levels.input_level());
        linear(op, a)?;
        if a.level < needed {
            return Err(LevelError::Exhausted { op, level: a.level, needed, top: params.top_level() }.into());
        }
        let wanted = params.scale(needed);
        if (a.scale / wanted - 1.0).abs() > SCALE_TOLERANCE {
            return Err(ScaleError::Mismatch { op, left: a.scale.log2(), right: wanted.log2() }.into());
        }
        Ok(Ciphertext { shadow: None, ..a.clone() })
    }

    /// The ciphertext at level 0, its scale multiplied up to the message ratio.
    fn lift_scale(&self, eval: &Evaluator<'_, D>, a: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        let scale = a.scale * self.lift;
        let lifted = eval.mul_scalar(&Ciphertext { scale: 1.0, ..a.clone() }, 1.0, self.lift)?;
        Ok(Ciphertext { scale, estimate: a.estimate, ..lifted })
    }

    /// Reinterprets a raised ciphertext: the message is the coefficients over K·q₀, at most 1 for any encrypted value. A slot
    /// is the sum of as many of them as there are real parts of slots.
    fn in_units_of_the_range(&self, params: &crate::params::Params, a: Ciphertext<D>) -> Ciphertext<D> {
        let range = f64::from(self.levels.literal.eval_mod.range);
        let slot = self.levels.multiple_deviation() / range * noise::slot_factor(2 * self.plan.slots);
        let estimate = Estimate::exact(slot).with_peak(1.0, false);
        Ciphertext { scale: params.dropped(0) * range, estimate, ..a }
    }

    /// An error of CoeffToSlot's result as one of the slots of the message at ModRaise: EvalMod's slope on a coefficient.
    fn in_units_of_the_message(&self, error: f64) -> f64 {
        let literal = self.levels.literal;
        let slope = f64::from(literal.eval_mod.range) * f64::from(literal.message_ratio).exp2();
        error * slope * noise::slot_factor(self.plan.slots)
    }

    /// EvalMod on the batch, or on one message at a time.
    fn eval_mod(&self, auto: &Auto<'_, D>, a: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        if self.plan.halves == HalvesAt::Once || a.batch() == 1 {
            return eval_mod::eval_mod(self, auto, a);
        }
        let one = |i| eval_mod::eval_mod(self, auto, &auto.eval.split(a, i, i + 1));
        let halves = (0..a.batch()).map(one).collect::<Result<Vec<_>>>()?;
        Ok(auto.eval.stack(&halves))
    }

    /// Joins real and imaginary parts into complex slots.
    fn join_halves(&self, eval: &Evaluator<'_, D>, a: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        let exponential = matches!(self.levels.literal.eval_mod.sine, Sine::Exponential { .. });
        let half = a.batch() / 2;
        match self.halves {
            Halves::Real if exponential => {
                // (w − w̄)/i = −(iw + conj(iw))
                let turned = self.times_i(eval, a);
                Ok(eval.negate(&eval.add(&turned, &eval.conjugate(&turned)?)?))
            }
            Halves::Real => Ok(a.clone()),
            Halves::Batch if exponential => {
                // (w_re − conj w_re)/i + (w_im − conj w_im) = (w_im − i·w_re) − conj(w_im + i·w_re)
                let (real, imaginary) = (eval.split(a, 0, half), eval.split(a, half, 2 * half));
                let turned = self.times_i(eval, &real);
                let conjugate = eval.conjugate(&eval.add(&imaginary, &turned)?)?;
                eval.sub(&eval.sub(&imaginary, &turned)?, &conjugate)
            }
            Halves::Batch => {
                let imaginary = self.times_i(eval, &eval.split(a, half, 2 * half));
                eval.add(&eval.split(a, 0, half), &imaginary)
            }
            Halves::Beside => self.sum_of_blocks(eval, a, 2),
            Halves::WithOpposites => self.sum_of_blocks(eval, a, 4),
        }
    }

    /// The sum of `count` blocks of slots, a power of two.
    fn sum_of_blocks(&self, eval: &Evaluator<'_, D>, a: &Ciphertext<D>, count: usize) -> Result<Ciphertext<D>> {
        let mut sum = a.clone();
        let mut step = self.plan.slots;
        while step < count * self.plan.slots {
            sum = eval.add(&sum, &eval.rotate(&sum, step as i64)?)?;
            step *= 2;
        }
        Ok(Ciphertext { slots: self.plan.slots, ..sum })
    }

    /// The slots whose noise ends in the message's: four blocks are added, where a message of the same slots would be the
    /// mean of four times as many copies.
    fn slots_of_eval_mod(&self) -> usize {
        match self.halves {
            Halves::WithOpposites => 4 * self.plan.slots,
            Halves::Batch | Halves::Beside | Halves::Real => self.plan.slots,
        }
    }

    /// The share of the last division's rounding, at the user's scale, in one part of a slot.
    fn divisions(&self) -> f64 {
        match (self.levels.literal.order, self.levels.literal.eval_mod.sine, self.halves) {
            // The imaginary part, at half the scale.
            (Order::SlotToCoeffFirst, Sine::Exponential { .. }, _) => 2.0,
            // The real part of one half and the imaginary part of the other.
            (Order::SlotToCoeffFirst, _, Halves::Batch | Halves::Beside) => 2f64.sqrt(),
            _ => 1.0,
        }
    }

    /// `i·a`, exactly, at the level where EvalMod starts or below. Two real messages can so share one bootstrapping.
    #[must_use]
    pub fn times_i(&self, eval: &Evaluator<'_, D>, a: &Ciphertext<D>) -> Ciphertext<D> {
        eval.times_unit(a, &self.unit)
    }
}

/// The slot count as f64.
fn count(slots: usize) -> f64 {
    to_f64(slots as u64)
}
