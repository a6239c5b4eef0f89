//! Functions with kinks anywhere: a polynomial for what is smooth, and a composed sign for each kink.
//!
//! At a kink a function's slope jumps. Without `rise·max(u − at, 0)` for each of them, what is left has a slope everywhere,
//! and its best polynomials come near it with the square of their degree, not with the degree. So Clip, HardSigmoid,
//! HardSwish, and Elu or Selu of any slope reach errors that no polynomial of degree 255 has.

use super::{activation::smooth, function::Expression};
use limbwise::{
    Result,
    ckks::{
        Auto, Ciphertext, Series,
        chebyshev::depth,
        functions::{Composed, Fit, SignPlan},
    },
};
use limbwise_device::Device;

/// `rise·max(u − at, 0)`, by a sign on [−1, 1] of `(u − at)/width`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Kink {
    at: f64,
    width: f64,
    rise: f64,
}

/// A function on [−1, 1] as a polynomial and kinks.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Kinked {
    smooth: Series,
    kinks: Vec<Kink>,
    step: Composed,
    /// Largest error.
    pub(super) error: f64,
}

/// Kinks that are worth a sign each.
const MOST_KINKS: usize = 4;
/// Jumps of slopes that rounding makes.
const LEAST_RISE: f64 = 1e-6;
const POINTS: u32 = 4096;

/// Finds a polynomial for a function, within an error.
pub(super) type Within<'a> = &'a dyn Fn(&dyn Fn(f64) -> f64, f64) -> Option<Fit>;

impl Kinked {
    /// Of `g(u)`, whose kinks are among those of the expression of `value(u)`; `within` finds a polynomial with an error.
    pub(super) fn new(
        g: &impl Fn(f64) -> f64,
        (expression, value): (&Expression, &dyn Fn(f64) -> f64),
        error: f64,
        within: Within<'_>,
    ) -> Option<Self> {
        let kinks: Vec<Kink> = places(expression, value).into_iter().filter_map(|at| kink(g, at)).collect();
        (1..=MOST_KINKS).contains(&kinks.len()).then_some(())?;
        let rest = |u: f64| g(u) - kinks.iter().map(|kink| kink.rise * (u - kink.at).max(0.0)).sum::<f64>();
        // Half of the error for each part. In the gap of a sign a kink is wrong by half of it at most, and outside by half
        // of the sign's error.
        let weight: f64 = kinks.iter().map(|kink| kink.rise.abs() * kink.width).sum();
        let allowed = (error / weight).min(0.5);
        let fit = within(&rest, 0.5 * error)?;
        let step = Composed::step(&SignPlan::new(allowed, allowed, 4)?);
        Some(Self { smooth: fit.series, kinks, step, error: fit.error + 0.5 * allowed * weight })
    }

    /// One level makes the argument of a sign, one multiplies with it, one gives the kink its rise.
    pub(super) fn depth(&self) -> usize {
        (self.step.depth() + 3).max(depth(self.smooth.coefficients.len() - 1))
    }

    /// As people name it.
    pub(super) fn text(&self) -> String {
        let (count, degree) = (self.kinks.len(), self.smooth.coefficients.len() - 1);
        let kinks = if count == 1 { "kink" } else { "kinks" };
        format!("degree {degree}, {count} {kinks} by a sign of depth {}", self.step.depth())
    }

    pub(super) fn evaluate(&self, u: f64) -> f64 {
        let bend = |kink: &Kink| kink.rise * (u - kink.at) * self.step.evaluate((u - kink.at) / kink.width);
        self.smooth.evaluate(u) + self.kinks.iter().map(bend).sum::<f64>()
    }

    /// The function divided by a number.
    pub(super) fn shrunk(mut self, by: f64) -> Self {
        self.smooth.coefficients.iter_mut().for_each(|c| *c /= by);
        self.kinks.iter_mut().for_each(|kink| kink.rise /= by);
        self.error /= by;
        self
    }

    /// Its values on slots in [−1, 1], settled.
    pub(super) fn apply<D: Device>(&self, auto: &Auto<'_, D>, u: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        let level = u.level - self.depth();
        let mut sum = match self.smooth.coefficients[..] {
            [constant, slope] => auto.add_scalar(&auto.scale_to(u, slope, level)?, constant),
            _ => auto.scale_to(&smooth(&self.smooth).apply(auto, u, &|x, _| auto.settle(x))?, 1.0, level)?,
        };
        for Kink { at, width, rise } in &self.kinks {
            let moved = auto.scale_to(&auto.add_scalar(u, -at), 1.0 / width, u.level - 1)?.bounded_by(1.0);
            // The plan of levels has bootstrapped before, where that was needed.
            let bend = self.step.times_argument(auto, &moved, &|x, _| auto.settle(x))?;
            sum = auto.add(&sum, &auto.scale_to(&bend, rise * width, level)?)?;
        }
        Ok(sum)
    }
}

/// Where one of the expression's parts changes its sign and bends it, in units.
fn places(expression: &Expression, value: &dyn Fn(f64) -> f64) -> Vec<f64> {
    let mut all: Vec<f64> = Vec::new();
    for bend in expression.bends() {
        let sign = |u: f64| {
            let y = bend.evaluate(value(u));
            if y > 0.0 { 1 } else { -i32::from(y < 0.0) }
        };
        let point = |at: u32| 2.0 * f64::from(at) / f64::from(POINTS) - 1.0;
        for at in 0..POINTS {
            let (mut low, mut high) = (point(at), point(at + 1));
            let before = sign(low);
            if before == sign(high) {
                continue;
            }
            for _ in 0..60 {
                let middle = low.midpoint(high);
                if sign(middle) == before { low = middle } else { high = middle }
            }
            all.push(high);
        }
    }
    all.sort_by(f64::total_cmp);
    all.dedup_by(|a, b| (*a - *b).abs() < 1e-6);
    all
}

/// The jump of the slope at a place, if it is one and far enough from the ends.
fn kink(g: &impl Fn(f64) -> f64, at: f64) -> Option<Kink> {
    const H: f64 = 1e-5;
    (at.abs() < 1.0 - 1e-3).then_some(())?;
    let slope = |h: f64| (4.0 * g(at + h) - 3.0 * g(at) - g(at + 2.0 * h)) / (2.0 * h);
    let rise = slope(H) - slope(-H);
    (rise.abs() > LEAST_RISE).then_some(Kink { at, width: 1.0 + at.abs(), rise })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::function::{Joined, Named};

    #[test]
    fn kinks_are_found_where_slopes_jump() {
        let elu = |alpha: f64| {
            let below = Expression::X.by(Joined::Min, 0.0).of(Named::Exp).by(Joined::Add, -1.0);
            let above = Expression::X.by(Joined::Max, 0.0);
            above.with(Joined::Add, below.by(Joined::Mul, alpha))
        };
        let clip = Expression::X.by(Joined::Max, -1.0).by(Joined::Min, 0.5);
        let nested = Expression::X.of(Named::Abs).by(Joined::Add, -1.0).of(Named::Relu);
        for (expression, wanted) in [
            (elu(2.0), vec![(0.0, -1.0)]),
            // Its slope is 1 on both sides.
            (elu(1.0), vec![]),
            (clip, vec![(-1.0, 1.0), (0.5, -1.0)]),
            (nested, vec![(-1.0, 1.0), (1.0, 1.0)]),
        ] {
            let value = |u: f64| 4.0 * u;
            let g = |u: f64| expression.evaluate(value(u));
            let found: Vec<Kink> = places(&expression, &value).into_iter().filter_map(|at| kink(&g, at)).collect();
            assert_eq!(found.len(), wanted.len(), "{}: {found:?}", expression.text());
            for (Kink { at, rise, .. }, (place, jump)) in found.iter().zip(wanted) {
                assert!((4.0 * at - place).abs() < 1e-8 && (rise / 4.0 - jump).abs() < 1e-5, "{found:?}");
            }
        }
    }
}
