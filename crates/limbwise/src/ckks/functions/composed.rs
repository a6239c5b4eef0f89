//! Polynomials one after another on [−1, 1], with errors followed by their slopes.
//!
//! The rules of sums and products count a steep polynomial even where the composition is flat. Here each error is followed
//! point by point: it grows by the slope of every later polynomial where that one takes its argument (ADR 70).

use super::SignPlan;
use crate::{
    ckks::{Auto, Ciphertext, chebyshev::depth},
    error::{FunctionError, Result},
};
use limbwise_device::Device;
use limbwise_math::chebyshev::Series;
use std::sync::Arc;

/// Room for rounding, as a part of a bound.
pub(super) const ROOM: f64 = 1e-6;

/// Gives a value so many levels above the lowest usable one: by bootstrapping, or as it is.
pub type Ready<'r, D> = &'r dyn Fn(&Ciphertext<D>, usize) -> Result<Ciphertext<D>>;

/// A composition of polynomials. Each but the last maps [−1, 1] to itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Composed {
    stages: Vec<Series>,
    /// Largest absolute value of the last one.
    peak: f64,
    /// The points where errors are followed.
    course: Arc<[Point]>,
}

/// Each so many points count where a part of them is enough.
const SOME: usize = 32;

/// An argument on its way through the stages.
#[derive(Clone, Debug, PartialEq)]
struct Point {
    u: f64,
    /// Of each stage, its argument.
    arguments: Vec<f64>,
    /// Of each stage, where it takes its argument.
    slopes: Vec<f64>,
    /// What the last stage makes of it.
    value: f64,
}

impl Point {
    const COUNT: u32 = 4096;

    /// Points of [−1, 1] at equal distances.
    fn all(stages: &[Series]) -> Arc<[Self]> {
        const STEP: f64 = 1e-6;
        let follow = |point: u32| {
            let u = (f64::from(point) + 0.5) / f64::from(Self::COUNT) * 2.0 - 1.0;
            let (mut x, mut arguments, mut slopes) = (u, Vec::new(), Vec::with_capacity(stages.len()));
            for stage in stages {
                arguments.push(x.clamp(-1.0, 1.0));
                slopes.push((stage.evaluate(x + STEP) - stage.evaluate(x - STEP)) / (2.0 * STEP));
                x = stage.evaluate(x);
            }
            Self { u, arguments, slopes, value: x }
        };
        (0..Self::COUNT).map(follow).collect()
    }

    /// Slope of the stages from one to before another.
    fn slope(&self, from: usize, to: usize) -> f64 {
        self.slopes[from..to].iter().product()
    }
}

/// Deviations of independent errors, each with the stage before which it came in.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Entered(Vec<(usize, f64)>);

impl Entered {
    /// Those that the composition and its bootstrappings made: all but the argument's.
    pub(super) fn own(&self) -> Self {
        Self(self.0.iter().skip(1).copied().collect())
    }
}

/// A value without error, to see which error an operation makes by itself.
pub(super) fn exact<D: Device>(x: &Ciphertext<D>) -> Ciphertext<D> {
    sized(x, 1.0)
}

/// The same for a value of this size.
fn sized<D: Device>(x: &Ciphertext<D>, size: f64) -> Ciphertext<D> {
    Ciphertext { estimate: x.estimate.as_exact(size).without_errors(), ..x.clone() }
}

/// A value of its size without error, to see which error an operation makes by itself.
pub(super) fn noiseless<D: Device>(x: &Ciphertext<D>) -> Ciphertext<D> {
    Ciphertext { estimate: x.estimate.without_errors(), ..x.clone() }
}

/// Deviation of the error that came to a value on its way from one estimate to another.
pub(super) fn added<D: Device>(before: &Ciphertext<D>, after: &Ciphertext<D>) -> f64 {
    (after.estimate.error().powi(2) - before.estimate.error().powi(2)).max(0.0).sqrt()
}

/// Fails if values may lie beyond a domain that ends at `range` on both sides.
pub(super) fn inside<D: Device>(function: &'static str, x: &Ciphertext<D>, range: f64) -> Result<()> {
    let peak = x.estimate.peak;
    // Bounds are rounded sums; a part in a million is no other value.
    if peak > range * (1.0 + ROOM) {
        return Err(FunctionError::Domain { function, peak, range }.into());
    }
    Ok(())
}

/// A value of at most this size, with an error of this deviation.
pub(super) fn known<D: Device>(x: Ciphertext<D>, peak: f64, error: f64) -> Ciphertext<D> {
    let x = x.bounded_by(peak);
    Ciphertext { estimate: x.estimate.with_error_known(error), ..x }
}

impl Composed {
    /// The sign on [−1, 1], within the plan's error outside its gap.
    #[must_use]
    pub fn sign(plan: &SignPlan) -> Self {
        Self { course: Point::all(&plan.stages), stages: plan.stages.clone(), peak: 1.0 + plan.error }
    }

    /// `(1 + sign u)/2` on [−1, 1], within half of the plan's error outside its gap.
    #[must_use]
    pub fn step(plan: &SignPlan) -> Self {
        let mut stages = plan.stages.clone();
        if let Some(last) = stages.last_mut() {
            last.coefficients.iter_mut().for_each(|c| *c *= 0.5);
            last.coefficients[0] = 0.5;
        }
        Self { course: Point::all(&stages), stages, peak: 1.0 + 0.5 * plan.error }
    }

    /// The same for a program whose arguments are never this near to zero: errors are followed elsewhere only, where the
    /// composition is flat.
    #[must_use]
    pub fn beyond(self, gap: f64) -> Self {
        let course = self.course.iter().filter(|point| point.u.abs() >= gap).cloned().collect();
        Self { course, ..self }
    }

    /// Bound on its values.
    #[must_use]
    pub fn peak(&self) -> f64 {
        self.peak
    }

    /// Levels that it consumes, without those of bootstrapping.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.depths().sum()
    }

    /// Levels of each stage.
    pub fn depths(&self) -> impl Iterator<Item = usize> + '_ {
        self.stages.iter().map(|s| depth(s.coefficients.len() - 1))
    }

    /// Its value, in the clear.
    #[must_use]
    pub fn evaluate(&self, u: f64) -> f64 {
        self.stages.iter().fold(u, |x, stage| stage.evaluate(x))
    }

    /// Arguments of a stage, those of some points: sizes need no more.
    fn arguments(&self, stage: usize) -> Vec<f64> {
        self.course.iter().step_by(SOME).map(|point| point.arguments[stage]).collect()
    }

    /// Deviation of the value after `count` stages, for an argument uniform in [−1, 1].
    fn deviation(&self, Entered(entered): &Entered, count: usize) -> f64 {
        self.root_mean_square(|point| entered.iter().map(|&(at, e)| (e * point.slope(at, count)).powi(2)).sum())
    }

    /// Deviation of `u·s(u)`, for u uniform in [−1, 1] with an error of this deviation and errors of s that do not come
    /// from it. The argument's error comes by both ways, which are one.
    pub(super) fn product_deviation(&self, argument: f64, Entered(entered): &Entered) -> f64 {
        let count = self.stages.len();
        self.root_mean_square(|p| {
            let others: f64 = entered.iter().map(|&(at, e)| (e * p.u * p.slope(at, count)).powi(2)).sum();
            others + (argument * (p.value + p.u * p.slope(0, count))).powi(2)
        })
    }

    fn root_mean_square(&self, square: impl Fn(&Point) -> f64) -> f64 {
        (self.course.iter().map(square).sum::<f64>() / self.course.len().max(1) as f64).sqrt()
    }

    /// Its values on slots in [−1, 1], settled.
    ///
    /// # Errors
    /// Too few levels, a missing key, or an error of `ready`.
    pub fn apply<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        u: &Ciphertext<D>,
        ready: Ready<'_, D>,
    ) -> Result<Ciphertext<D>> {
        Ok(self.followed(auto, u, ready)?.0)
    }

    /// [`Self::apply`], with the errors that came in.
    pub(super) fn followed<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        u: &Ciphertext<D>,
        ready: Ready<'_, D>,
    ) -> Result<(Ciphertext<D>, Entered)> {
        let (mut x, mut entered) = (u.clone(), Entered(vec![(0, u.estimate.error())]));
        for (at, stage) in self.stages.iter().enumerate() {
            let ready = ready(&x, depth(stage.coefficients.len() - 1))?;
            let bootstrapped = added(&x, &ready);
            x = ready;
            let y = auto.settle(&auto.chebyshev_like(&exact(&x), &stage.coefficients, &self.arguments(at))?)?;
            entered.0.extend([(at, bootstrapped), (at + 1, y.estimate.error())]);
            let peak = if at + 1 == self.stages.len() { self.peak } else { 1.0 };
            x = known(y, peak, self.deviation(&entered, at + 1));
        }
        Ok((x, entered))
    }

    /// `u·s(u)` on slots in [−1, 1], settled, one level below what [`Self::apply`] gives.
    ///
    /// # Errors
    /// As [`Self::apply`].
    pub fn times_argument<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        u: &Ciphertext<D>,
        ready: Ready<'_, D>,
    ) -> Result<Ciphertext<D>> {
        // The argument is a factor at the end, so it is bootstrapped here where its levels do not reach the first stage.
        let u = &ready(u, self.depths().next().unwrap_or(1))?;
        self.times_scaled(auto, u, (u, 1.0), ready)
    }

    /// `x·s(u)` for `x = range·u` on slots, settled one level below what [`Self::apply`] gives.
    pub(super) fn times_scaled<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        u: &Ciphertext<D>,
        (x, range): (&Ciphertext<D>, f64),
        ready: Ready<'_, D>,
    ) -> Result<Ciphertext<D>> {
        let (value, entered) = self.followed(auto, u, ready)?;
        let product = auto.settle(&auto.mul(&sized(x, range), &sized(&ready(&value, 1)?, self.peak))?)?;
        let (argument, own) = (x.estimate.error() / range, product.estimate.error());
        let deviation = range * self.product_deviation(argument, &entered.own());
        Ok(known(product, range * self.peak, deviation.hypot(own)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_follow_slopes() {
        let plan = SignPlan::of_degrees(1.0 / 64.0, &[7, 7, 15]);
        let (sign, step) = (Composed::sign(&plan), Composed::step(&plan));
        assert_eq!((sign.depth(), sign.depths().collect::<Vec<_>>()), (10, vec![3, 3, 4]));
        for i in -1000..=1000 {
            let u = f64::from(i) / 1000.0;
            assert!((step.evaluate(u) - 0.5 * (1.0 + sign.evaluate(u))).abs() < 1e-12);
            if u.abs() >= plan.gap {
                assert!((sign.evaluate(u) - u.signum()).abs() <= plan.error * (1.0 + 1e-6));
            }
        }
        // max(u, 0) has a slope of one or nothing: what comes in, times the root of a half.
        let relu = step.product_deviation(1e-6, &Entered::default());
        assert!((relu / 1e-6 - 0.5f64.sqrt()).abs() < 0.05, "{relu}");
        // |u| has a slope of one everywhere, but for the overshoot near the gap.
        let absolute = sign.product_deviation(1e-6, &Entered::default());
        assert!((absolute / 1e-6 - 1.0).abs() < 0.1, "{absolute}");
        // An error of the last stage passes as it is; one of the argument meets a slope of 1/gap in a few places.
        assert!((sign.deviation(&Entered(vec![(3, 1e-6)]), 3) - 1e-6).abs() < 1e-12);
        let argument = sign.deviation(&Entered(vec![(0, 1e-6)]), 3);
        assert!((1e-6..64e-6).contains(&argument), "{argument}");
        // Beyond the gap it is flat.
        let beyond = sign.clone().beyond(plan.gap);
        let flat = beyond.deviation(&Entered(vec![(0, 1e-6)]), 3);
        assert!(flat < 0.2 * argument && flat > 0.0, "{flat} for {argument}");
        assert!((beyond.deviation(&Entered(vec![(3, 1e-6)]), 3) - 1e-6).abs() < 1e-12);
    }
}
