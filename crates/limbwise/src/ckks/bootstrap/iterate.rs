//! Two passes for more precision: the second bootstraps the error of the first, which is then subtracted.

use super::Bootstrapper;
use crate::{
    ckks::{Auto, Ciphertext, Estimate},
    error::{BootstrapError, Result},
    params::Order,
};
use limbwise_device::Device;

/// Margin, in deviations, for the error of a first pass.
const MARGIN: f64 = 16.0;
/// Divisions at the user's scale whose rounding remains in the result: that of the first pass on its way to the
/// comparison, that of its other copy, and that of the correction.
const DIVISIONS: f64 = 3.0;

impl<D: Device> Bootstrapper<D> {
    /// Two passes: with o₁ the bootstrapped message and d = (o₁ − message)·2^p, the result is o₁ − 2^−p·bootstrap(d).
    /// The error of the second pass counts 2^−p times, so the rounding at the user's scale dominates.
    ///
    /// Shape:  level ≥ the input level → one below the output level.
    /// Scale:  that of its level.   Noise: of the rescales at the user's scale.
    /// Cost:   two bootstrappings.
    /// Source: \[BCCKKS22\] Differs: with SlotToCoeff first, so that constant messages come out as well as random ones.
    ///
    /// # Errors
    /// The errors of [`Self::evaluate`]; [`BootstrapError::TwoPasses`] if SlotToCoeff comes last: there a first pass
    /// can fail on constant messages, and a second pass does not repair it.
    pub fn evaluate_twice(
        &self,
        auto: &Auto<'_, D>,
        a: &Ciphertext<D>,
        begins: &mut dyn FnMut(&'static str),
    ) -> Result<Ciphertext<D>> {
        let first = self.evaluate_in_steps(auto, &self.checked_message(auto, a)?, begins)?;
        let second = self.evaluate_in_steps(auto, &self.amplified_error(auto, a, &first)?, begins)?;
        self.corrected(auto, a, &first, &second)
    }

    /// The input of the first pass.
    ///
    /// # Errors
    /// [`BootstrapError::TwoPasses`] if SlotToCoeff comes last or too few levels are left.
    pub fn checked_message(&self, auto: &Auto<'_, D>, a: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        if self.levels.literal.order != Order::SlotToCoeffFirst {
            return Err(BootstrapError::TwoPasses.into());
        }
        auto.scale_to(a, 1.0, self.levels.input_level())
    }

    /// The factor between the first pass's error and the second's input.
    fn gain(first: &Ciphertext<D>) -> f64 {
        (MARGIN * first.estimate.error()).recip().log2().floor().exp2()
    }

    /// The rounding of a division at the scale of the input.
    fn division(&self, auto: &Auto<'_, D>, slots: usize) -> f64 {
        let params = auto.eval.params();
        Estimate::exact(0.0).divided(params, slots, params.scale(self.levels.input_level())).error()
    }

    /// The input of the second pass: the amplified error of the first.
    ///
    /// # Errors
    /// As [`Self::evaluate_twice`].
    pub fn amplified_error(
        &self,
        auto: &Auto<'_, D>,
        a: &Ciphertext<D>,
        first: &Ciphertext<D>,
    ) -> Result<Ciphertext<D>> {
        let _region = auto.eval.device().region("two_passes", 0);
        let (level, gain) = (self.levels.input_level(), Self::gain(first));
        let error = auto.eval.sub(&auto.scale_to(first, 1.0, level)?, &self.checked_message(auto, a)?)?;
        // The factor is an integer, so nothing is rounded. The former error is now the message.
        let division = self.division(auto, error.slots);
        let estimate = Estimate::exact(gain * first.estimate.error()).with_peak(1.0, false).with_error(gain * division);
        Ok(Ciphertext { estimate, ..auto.eval.mul_scalar(&error, gain, 1.0)? })
    }

    /// The result of the first pass less the error that the second has bootstrapped.
    ///
    /// # Errors
    /// As [`Self::evaluate_twice`].
    pub fn corrected(
        &self,
        auto: &Auto<'_, D>,
        a: &Ciphertext<D>,
        first: &Ciphertext<D>,
        second: &Ciphertext<D>,
    ) -> Result<Ciphertext<D>> {
        let _region = auto.eval.device().region("two_passes", 0);
        let gain = Self::gain(first);
        let below = self.levels.output_level() - 1;
        let correction = auto.scale_to(second, gain.recip(), below)?;
        let mut result = auto.eval.sub(&auto.scale_to(first, 1.0, below)?, &correction)?;
        // The first pass's error is gone; the input's error and that of the divisions remain.
        let divisions = DIVISIONS.sqrt() * self.division(auto, result.slots);
        result.estimate = a.estimate.with_error(divisions.hypot(second.estimate.error() / gain));
        result.shadow.clone_from(&first.shadow);
        Ok(result)
    }
}
