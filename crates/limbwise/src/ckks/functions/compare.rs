//! Comparisons: which of two values is greater, their maximum, minimum, and whether they are equal.
//!
//! All are the sign of a difference. Domain: `|a − b| ≤ range`. Values further apart than the gap are told apart within
//! the error; nearer ones give something between the two answers. Two values that may differ by more than the range are
//! refused before anything is computed, from the bounds that both carry.

use super::{
    SignPlan,
    composed::{Composed, Ready},
};
use crate::{
    ckks::{Auto, Ciphertext},
    error::{FunctionError, Result},
};
use limbwise_device::Device;

/// Comparisons of values that differ by at most a range.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    sign: Composed,
    step: Composed,
    range: f64,
    gap: f64,
    error: f64,
}

impl Comparison {
    /// Comparisons that tell apart what differs by `gap` or more, of values that differ by at most `range`. `error`
    /// bounds the distance of the sign from ±1. No polynomial is deeper than `most` levels, of which each must fit between
    /// two bootstrappings.
    ///
    /// # Errors
    /// [`FunctionError::Gap`] if eight such polynomials are not enough, or if the numbers do not go together.
    pub fn new(range: f64, gap: f64, error: f64, most: usize) -> Result<Self> {
        let relative = gap / range;
        let possible = range.is_finite() && relative > 0.0 && relative < 1.0 && error > 0.0 && error < 1.0;
        let plan = if possible { SignPlan::new(relative, error, most) } else { None };
        let Some(plan) = plan else { return Err(FunctionError::Gap { gap, range, error, most }.into()) };
        Ok(Self { sign: Composed::sign(&plan), step: Composed::step(&plan), range, gap, error: plan.error })
    }

    /// Largest difference.
    #[must_use]
    pub fn range(&self) -> f64 {
        self.range
    }

    /// Least difference that is told.
    #[must_use]
    pub fn gap(&self) -> f64 {
        self.gap
    }

    /// Largest error of [`Self::greater`] outside the gap. That of [`Self::maximum`] is this times the difference, and
    /// within the gap at most half of the gap.
    #[must_use]
    pub fn error(&self) -> f64 {
        0.5 * self.error
    }

    /// Levels of [`Self::greater`]: one maps the difference to [−1, 1] unless the range is one. [`Self::maximum`] and
    /// [`Self::equal`] take one more.
    #[must_use]
    pub fn levels(&self) -> usize {
        self.step.depth() + usize::from(self.is_scaled())
    }

    pub(super) fn composed_step(&self) -> &Composed {
        &self.step
    }

    #[expect(clippy::float_cmp, reason = "exactly one is a case of its own")]
    fn is_scaled(&self) -> bool {
        self.range != 1.0
    }

    /// `(a − b)/range`.
    fn difference<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        [a, b]: [&Ciphertext<D>; 2],
        ready: Ready<'_, D>,
    ) -> Result<Ciphertext<D>> {
        let difference = auto.sub(a, b)?;
        let peak = difference.estimate.peak;
        // Bounds are rounded sums; a part in a million is no other value.
        if peak > self.range * (1.0 + 1e-6) {
            return Err(FunctionError::Domain { function: "compare", peak, range: self.range }.into());
        }
        if !self.is_scaled() {
            return Ok(difference.bounded_by(1.0));
        }
        let scaled = auto.weighted_sum(&[(1.0 / self.range, &ready(&difference, 1)?)])?;
        Ok(auto.settle(&scaled)?.bounded_by(1.0))
    }

    /// 1 where a > b, 0 where a < b, ½ where they are equal.
    ///
    /// # Errors
    /// [`FunctionError::Domain`] for values that may differ by more than the range; too few levels; a missing key.
    pub fn greater<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        operands: [&Ciphertext<D>; 2],
        ready: Ready<'_, D>,
    ) -> Result<Ciphertext<D>> {
        self.step.apply(auto, &self.difference(auto, operands, ready)?, ready)
    }

    /// 1 where a = b, 0 where they differ by the gap or more, something between elsewhere: `1 − sign²`.
    ///
    /// # Errors
    /// As [`Self::greater`].
    pub fn equal<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        operands: [&Ciphertext<D>; 2],
        ready: Ready<'_, D>,
    ) -> Result<Ciphertext<D>> {
        let sign = self.sign.apply(auto, &self.difference(auto, operands, ready)?, ready)?;
        let square = auto.settle(&auto.square(&ready(&sign, 1)?)?)?;
        let peak = self.sign.peak();
        Ok(auto.add_scalar(&auto.eval.negate(&square), 1.0).bounded_by(f64::max(1.0, peak * peak - 1.0)))
    }

    /// `|a − b|`.
    ///
    /// # Errors
    /// As [`Self::greater`].
    pub fn distance<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        operands: [&Ciphertext<D>; 2],
        ready: Ready<'_, D>,
    ) -> Result<Ciphertext<D>> {
        let unit = self.sign.times_argument(auto, &self.difference(auto, operands, ready)?, ready)?;
        if !self.is_scaled() {
            return Ok(unit);
        }
        auto.settle(&auto.weighted_sum(&[(self.range, &ready(&unit, 1)?)])?)
    }

    /// The greater of both: `(a + b + |a − b|)/2`.
    ///
    /// # Errors
    /// As [`Self::greater`].
    pub fn maximum<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        operands: [&Ciphertext<D>; 2],
        ready: Ready<'_, D>,
    ) -> Result<Ciphertext<D>> {
        self.extreme(auto, operands, 0.5, ready)
    }

    /// The smaller of both: `(a + b − |a − b|)/2`.
    ///
    /// # Errors
    /// As [`Self::greater`].
    pub fn minimum<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        operands: [&Ciphertext<D>; 2],
        ready: Ready<'_, D>,
    ) -> Result<Ciphertext<D>> {
        self.extreme(auto, operands, -0.5, ready)
    }

    fn extreme<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        [a, b]: [&Ciphertext<D>; 2],
        half: f64,
        ready: Ready<'_, D>,
    ) -> Result<Ciphertext<D>> {
        let peak = a.estimate.peak.max(b.estimate.peak);
        let [a, b] = [&ready(a, 1)?, &ready(b, 1)?];
        let unit = self.sign.times_argument(auto, &self.difference(auto, [a, b], ready)?, ready)?;
        let sum = auto.weighted_sum(&[(0.5, a), (0.5, b), (half * self.range, &ready(&unit, 1)?)])?;
        // Of two values with errors the greater has the error of one of them, and what the sign made.
        let error = a.estimate.error().max(b.estimate.error()).hypot(self.range * unit.estimate.error());
        // Beyond the greater of both goes half of the sign's error.
        let extreme = auto.settle(&sum)?.bounded_by(peak + 0.5 * self.range * (self.sign.peak() - 1.0));
        Ok(Ciphertext { estimate: extreme.estimate.with_error_known(error), ..extreme })
    }
}
