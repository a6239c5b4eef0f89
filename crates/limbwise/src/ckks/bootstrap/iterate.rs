//! Several passes for more precision: each but the first bootstraps the error that is left, which is then subtracted.

use super::Bootstrapper;
use crate::{
    ckks::{Auto, Ciphertext, Estimate},
    error::{BootstrapError, Result},
    params::Order,
};
use limbwise_device::Device;

/// Margin, in deviations, for the error of a pass where the sine fits values up to 1.
const MARGIN: f64 = 16.0;
/// The same for refined sets, whose sine fits larger values: 2^16 parts reach 4.6 deviations, and the estimate may be half a
/// bit too small, so that values stay below [`REFINED_PEAK`].
const REFINED_MARGIN: f64 = 4.0;
/// The bound on the amplified errors of a refined set.
const REFINED_PEAK: f64 = 2.0;
/// Divisions at the user's scale whose rounding remains in the result: that of the first pass on its way to the
/// comparison, that of its other copy, and that of the correction.
const DIVISIONS: f64 = 3.0;

impl<D: Device> Bootstrapper<D> {
    /// So many passes: with o the bootstrapped message and d = (o − message)·2^p, the next result is o − 2^−p·bootstrap(d).
    /// The error of the next pass counts 2^−p times, until the rounding at the user's scale dominates.
    ///
    /// Shape:  level ≥ the input level → the output level; one below for a second pass of a set without refinement.
    /// Scale:  that of its level.   Noise: of the rescales at the user's scale.
    /// Cost:   that of so many bootstrappings.
    /// Source: \[BCCKKS22\] Differs: with SlotToCoeff first, so that constant messages come out as well as random ones;
    /// and the user's scale of a refined set is a power of two above that of EvalMod's result, so that the sum takes no
    /// level.
    ///
    /// # Errors
    /// The errors of [`Self::evaluate`]; [`BootstrapError::TwoPasses`] if SlotToCoeff comes last: there a first pass
    /// can fail on constant messages, and a second pass does not repair it.
    pub fn evaluate_in_passes(
        &self,
        auto: &Auto<'_, D>,
        a: &Ciphertext<D>,
        passes: usize,
        begins: &mut dyn FnMut(&'static str),
    ) -> Result<Ciphertext<D>> {
        let message = if passes > 1 { &self.checked_message(auto, a)? } else { a };
        let mut result = self.lifted(auto, self.one_pass(auto, message, begins)?)?;
        for _ in 1..passes {
            let error = self.one_pass(auto, &self.amplified_error(auto, a, &result)?, begins)?;
            result = self.corrected(auto, a, &result, &error)?;
        }
        Ok(result)
    }

    /// The input of the first of several passes.
    ///
    /// # Errors
    /// [`BootstrapError::TwoPasses`] if SlotToCoeff comes last or too few levels are left.
    pub fn checked_message(&self, auto: &Auto<'_, D>, a: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        if self.levels.literal.order != Order::SlotToCoeffFirst {
            return Err(BootstrapError::TwoPasses.into());
        }
        auto.scale_to(a, 1.0, self.levels.input_level())
    }

    /// The result of a first pass at the user's scale: EvalMod's times the power of two of a refined set.
    ///
    /// # Errors
    /// None for a result of [`Self::finish`].
    pub fn lifted(&self, auto: &Auto<'_, D>, a: Ciphertext<D>) -> Result<Ciphertext<D>> {
        match self.levels.log_refined() {
            0 => Ok(a),
            bits => self.shifted(auto, &a, bits),
        }
    }

    /// The same message at a scale that is a power of two larger, or the message over it at the user's scale.
    fn shifted(&self, auto: &Auto<'_, D>, a: &Ciphertext<D>, bits: u32) -> Result<Ciphertext<D>> {
        let scale = auto.eval.params().scale(self.levels.output_level());
        let unit = Ciphertext { scale: 1.0, ..a.clone() };
        let lifted = auto.eval.mul_scalar(&unit, f64::from(bits).exp2(), 1.0)?;
        Ok(Ciphertext { scale, estimate: a.estimate, shadow: a.shadow.clone(), ..lifted })
    }

    /// log₂ of the factor between the error of the passes so far and the next one's input.
    fn log_gain(&self, result: &Ciphertext<D>) -> f64 {
        let bits = |margin: f64| -(margin * result.estimate.error()).log2();
        match self.levels.log_refined() {
            0 => bits(MARGIN).floor(),
            most => bits(REFINED_MARGIN).floor().min(f64::from(most)),
        }
    }

    /// The rounding of a division at the scale of the input.
    fn division(&self, auto: &Auto<'_, D>, slots: usize) -> f64 {
        let params = auto.eval.params();
        Estimate::exact(0.0).divided(params, slots, params.scale(self.levels.input_level())).error()
    }

    /// The input of the next pass: the amplified error of the result so far.
    ///
    /// # Errors
    /// As [`Self::evaluate_in_passes`].
    pub fn amplified_error(
        &self,
        auto: &Auto<'_, D>,
        a: &Ciphertext<D>,
        result: &Ciphertext<D>,
    ) -> Result<Ciphertext<D>> {
        let _region = auto.eval.device().region("two_passes", 0);
        let (level, gain) = (self.levels.input_level(), self.log_gain(result).exp2());
        let error = auto.eval.sub(&auto.scale_to(result, 1.0, level)?, &self.checked_message(auto, a)?)?;
        // The factor is an integer, so nothing is rounded. The former error is now the message.
        let division = self.division(auto, error.slots);
        let peak = if self.levels.log_refined() == 0 { 1.0 } else { REFINED_PEAK };
        let estimate =
            Estimate::exact(gain * result.estimate.error()).with_peak(peak, false).with_error(gain * division);
        Ok(Ciphertext { estimate, ..auto.eval.mul_scalar(&error, gain, 1.0)? })
    }

    /// The result so far less the error that the next pass has bootstrapped.
    ///
    /// # Errors
    /// As [`Self::evaluate_in_passes`].
    pub fn corrected(
        &self,
        auto: &Auto<'_, D>,
        a: &Ciphertext<D>,
        result: &Ciphertext<D>,
        error: &Ciphertext<D>,
    ) -> Result<Ciphertext<D>> {
        let _region = auto.eval.device().region("two_passes", 0);
        let (log_gain, most) = (self.log_gain(result), self.levels.log_refined());
        let gain = log_gain.exp2();
        let mut corrected = if most == 0 {
            let below = self.levels.output_level() - 1;
            auto.eval.sub(&auto.scale_to(result, 1.0, below)?, &auto.scale_to(error, gain.recip(), below)?)?
        } else {
            // Over the gain, EvalMod's scale is the user's but for these bits.
            let left = (0..=most).rev().find(|&left| f64::from(left) <= f64::from(most) - log_gain).unwrap_or(0);
            auto.eval.sub(result, &self.shifted(auto, error, left)?)?
        };
        // The error of the result so far is gone; the input's and that of the divisions remain. Without a division after the
        // comparison its rounding is part of the error's own.
        let divisions = if most == 0 { DIVISIONS.sqrt() * self.division(auto, corrected.slots) } else { 0.0 };
        corrected.estimate = a.estimate.with_error(divisions.hypot(error.estimate.error() / gain));
        corrected.shadow.clone_from(&result.shadow);
        Ok(corrected)
    }
}
