//! Comparisons: which of two values is greater, their maximum, minimum, and whether they are equal.
//!
//! All are the sign of a difference. Domain: `|a − b| ≤ range`. Values further apart than the gap are told apart within
//! the error; nearer ones give something between the two answers. Two values that may differ by more than the range are
//! refused before anything is computed, from the bounds that both carry.

use super::{
    SignPlan,
    composed::{Composed, Ready, inside, known},
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
    /// Whether the range is the caller's word, which goes beyond the bounds that values carry.
    promised: bool,
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
        Ok(Self {
            sign: Composed::sign(&plan),
            step: Composed::step(&plan),
            range,
            gap,
            error: plan.error,
            promised: false,
        })
    }

    /// The same for values that differ by at most the range, although each may be larger: nobody looks at their bounds.
    #[must_use]
    pub fn with_promise(self) -> Self {
        Self { promised: true, ..self }
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

    /// Levels of the first polynomial and of what comes before it.
    #[must_use]
    pub fn first_levels(&self) -> usize {
        self.step.depths().next().unwrap_or(0) + usize::from(self.is_scaled())
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
        if !self.promised {
            inside("compare", &difference, self.range)?;
        }
        self.in_units(auto, &difference, ready)
    }

    /// A difference divided by the range.
    fn in_units<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        difference: &Ciphertext<D>,
        ready: Ready<'_, D>,
    ) -> Result<Ciphertext<D>> {
        if !self.is_scaled() {
            return Ok(difference.clone().bounded_by(1.0));
        }
        let scaled = auto.weighted_sum(&[(1.0 / self.range, &ready(difference, 1)?)])?;
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
        let [_, distance] = self.times_difference(auto, (&self.sign, operands), ready)?;
        Ok(distance)
    }

    /// `a − b`, and that times a composition of it; one operation after the composition.
    fn times_difference<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        (of, [a, b]): (&Composed, [&Ciphertext<D>; 2]),
        ready: Ready<'_, D>,
    ) -> Result<[Ciphertext<D>; 2]> {
        let difference = auto.settle(&auto.sub(&ready(a, 1)?, &ready(b, 1)?)?)?;
        if !self.promised {
            inside("compare", &difference, self.range)?;
        }
        let unit = self.in_units(auto, &difference, ready)?;
        let product = of.times_scaled(auto, &unit, (&difference, self.range), ready)?;
        Ok([difference, product])
    }

    /// The greater of both: `b + (a − b)·step(a − b)`.
    ///
    /// # Errors
    /// As [`Self::greater`].
    pub fn maximum<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        operands: [&Ciphertext<D>; 2],
        ready: Ready<'_, D>,
    ) -> Result<Ciphertext<D>> {
        self.extreme(auto, operands, Which::Greater, ready)
    }

    /// The smaller of both: `a − (a − b)·step(a − b)`.
    ///
    /// # Errors
    /// As [`Self::greater`].
    pub fn minimum<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        operands: [&Ciphertext<D>; 2],
        ready: Ready<'_, D>,
    ) -> Result<Ciphertext<D>> {
        self.extreme(auto, operands, Which::Smaller, ready)
    }

    fn extreme<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        [a, b]: [&Ciphertext<D>; 2],
        which: Which,
        ready: Ready<'_, D>,
    ) -> Result<Ciphertext<D>> {
        let [_, product] = self.times_difference(auto, (&self.step, [a, b]), ready)?;
        let sum = match which {
            Which::Greater => auto.add(b, &product)?,
            Which::Smaller => auto.sub(a, &product)?,
        };
        // Of two values with errors the greater has the error of one of them, and what the sign made.
        let error = a.estimate.error().max(b.estimate.error()).hypot(product.estimate.error());
        let peak = a.estimate.peak.max(b.estimate.peak);
        // Beyond the greater of both goes what the step is beyond one.
        Ok(known(auto.settle(&sum)?, peak + self.range * (self.step.peak() - 1.0), error))
    }
}

/// Which of two values.
#[derive(Clone, Copy)]
enum Which {
    Greater,
    Smaller,
}
