//! The sine of EvalMod: its series, its straightening, its error, and the cheapest series for a precision.

use super::bootstrap::EvalModLiteral;
use limbwise_math::{
    chebyshev::{Series, least_squares},
    rns::to_f64,
    wide::Wide,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::f64::consts::TAU;

/// Fitting points around each integer.
const POINTS: usize = 7;
/// Degrees in the search: the largest of each depth first, then smaller ones, which save products.
const DEGREES: std::ops::RangeInclusive<usize> = 7..=127;
/// Largest number of double angles in the search.
const MOST_DOUBLE_ANGLES: usize = 7;

/// How the sine is computed and straightened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Sine {
    /// A cosine a quarter turn earlier, double angles, then an odd polynomial (the arcsine) of degree 1 (none), 3, 5 or
    /// 7. With degree 0 the result is half the sine itself: ±½ a quarter turn from a multiple of q₀. The sine is flat
    /// there, so the output error of a flag is quadratic in its input error. Source: \[BCKS24\].
    Cosine {
        /// Degree of the arcsine.
        arcsine: usize,
    },
    /// exp(ix), squarings, then the imaginary part of the first one to four harmonics.
    ///
    /// A squaring doubles the error, where a double angle may multiply it by four. A second harmonic costs one level,
    /// where an equally good arcsine of degree 3 costs two; three and four cost two.
    Exponential {
        /// Number of harmonics, 1 to 4.
        harmonics: usize,
    },
}

impl Sine {
    /// Shift of the series' argument, in turns.
    #[must_use]
    pub fn shift(self) -> f64 {
        match self {
            Self::Cosine { .. } => 0.25,
            Self::Exponential { .. } => 0.0,
        }
    }

    /// What the blocks x, −x, x, −x of an exponential are turned by before it, in turns. After one harmonic they are turned
    /// by −i, i, 1 and −1; for two harmonics by half as much, which the second doubles.
    #[must_use]
    pub(crate) fn turns_of_blocks(self) -> [f64; 4] {
        match self {
            Self::Cosine { .. } => [0.0; 4],
            Self::Exponential { harmonics: 2 } => [-0.125, 0.125, 0.0, 0.25],
            Self::Exponential { .. } => [-0.25, 0.25, 0.0, 0.5],
        }
    }

    /// Coefficients that map the sine of `turn`·z to z for |z| ≤ 1, by interpolation at Chebyshev nodes: of s, s³, …
    /// for a cosine with an arcsine; of sin t, sin 2t, … for an exponential. A single coefficient is the gain of the
    /// sine.
    pub(super) fn straighten(self, turn: f64) -> Vec<f64> {
        if self == (Self::Cosine { arcsine: 0 }) {
            return vec![0.5];
        }
        let count = match self {
            Self::Cosine { arcsine } => arcsine / 2 + 1,
            Self::Exponential { harmonics } => harmonics,
        };
        // The positive zeros of T_2count: odd functions also agree at the negative ones.
        let node = |j: usize| (0.25 * TAU * (j as f64 + 0.5) / count as f64).cos();
        let row = |z: f64| (0..count).map(|k| self.basis(turn, k, z)).chain([z]).collect();
        least_squares(&mut (0..count).map(node).map(row).collect::<Vec<Vec<f64>>>())
    }

    /// The k-th function of the straightening.
    fn basis(self, turn: f64, k: usize, z: f64) -> f64 {
        match self {
            Self::Cosine { .. } => (0..2 * k + 1).fold(1.0, |power, _| power * (turn * z).sin()),
            Self::Exponential { .. } => ((k as f64 + 1.0) * turn * z).sin(),
        }
    }

    pub(super) fn straightened(self, turn: f64, factors: &[f64], z: f64) -> f64 {
        factors.iter().enumerate().map(|(k, c)| c * self.basis(turn, k, z)).sum()
    }
}

/// Largest half angle whose Bessel functions the power series gives to more than 60 bits: its terms reach e^{2·16} = 2^46,
/// and wide numbers have 106 bits.
const MOST_HALF_ANGLE: f64 = 16.0;
/// log₂ of the rest of an expansion that double precision does not hold.
const LEAST_REST: f64 = -56.0;

/// J_k(2h) by its power series, Σ (−1)ⁱ·h^(2i+k)/(i!·(i+k)!).
fn bessel(k: usize, half: Wide) -> Wide {
    let mut term = (1..=k).fold(Wide::from(1.0), |product, i| product * half.over(to_f64(i as u64).into()));
    let (square, mut sum) = (half * half, term);
    // Past i = 2h the terms fall by four at each step.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most twice MOST_HALF_ANGLE")]
    let past = (2.0 * half.high) as usize;
    for i in 1..=past + 64 {
        let divisor = to_f64(i as u64) * to_f64((i + k) as u64);
        term = -(term * square).over(divisor.into());
        sum = sum + term;
    }
    sum
}

/// The angle of z = 1: 2π/2^m.
pub(super) fn turn(message_ratio: u32) -> f64 {
    TAU * (-f64::from(message_ratio)).exp2()
}

impl EvalModLiteral {
    /// Chebyshev coefficients fitted near the integers up to K − 1. For a cosine: cos(2π(x − ¼)/2^r), u = (x − ¼)/K.
    /// For an exponential: cos(2πx/2^r) in the even and sin(2πx/2^r) in the odd coefficients, u = x/K.
    #[must_use]
    pub fn series(&self, message_ratio: u32) -> Vec<f64> {
        self.series_at(&self.points(message_ratio))
    }

    /// [`Self::series`], also fitted where the turns of blocks bring the arguments.
    #[must_use]
    pub(crate) fn series_of_blocks(&self, message_ratio: u32) -> Vec<f64> {
        self.series_at(&self.points_of_blocks(message_ratio))
    }

    fn series_at(&self, points: &[f64]) -> Vec<f64> {
        // Over a wide range an interval fits as well as its integers, and interpolation is fast.
        if points.len() <= 2 * self.degree || points.len() > 64 * self.degree {
            return self.series_of_the_interval();
        }
        self.series_by(|f| Series::fit(f, -1.0, 1.0, self.degree, points).coefficients)
    }

    /// The series that is good on all of [−K, K], where the values of a table lie: the one that interpolates at
    /// Chebyshev's nodes.
    #[must_use]
    pub fn series_of_the_interval(&self) -> Vec<f64> {
        let degree = u32::try_from(self.degree).unwrap_or(u32::MAX);
        self.series_by(|f| Series::interpolate(f, -1.0, 1.0, degree).coefficients)
    }

    fn series_by(&self, fitted: impl Fn(&dyn Fn(f64) -> f64) -> Vec<f64>) -> Vec<f64> {
        if let Some(expansion) = self.expansion() {
            return expansion;
        }
        let slow = TAU * f64::from(self.range) / (self.double_angles as f64).exp2();
        let cosine = fitted(&|u| (slow * u).cos());
        match self.sine {
            Sine::Cosine { .. } => cosine,
            Sine::Exponential { .. } => {
                let sine = fitted(&|u| (slow * u).sin());
                cosine.into_iter().zip(sine).enumerate().map(|(k, (c, s))| if k % 2 == 0 { c } else { s }).collect()
            }
        }
    }

    /// The first terms of the expansion in Bessel functions, exp(iau) = J₀(a) + 2·Σ iᵏ·J_k(a)·T_k(u), where the rest is
    /// below what double precision holds; `None` elsewhere. A fit in double precision ends near 2^−49, which squarings and
    /// the gain of the sine amplify to 2^−39 of a message.
    ///
    /// Source: \[AS64\] 9.1.10, 9.1.44.
    fn expansion(&self) -> Option<Vec<f64>> {
        let angle = f64::from(self.range) / (self.double_angles as f64).exp2();
        let half = Wide::TAU.shifted(0.5) * angle.into();
        // The leading term of the first function that is left out; all others are smaller.
        let rest = (1..=self.degree + 1).map(|k| (half.high / to_f64(k as u64)).log2()).sum::<f64>();
        // One or two harmonics end before a fit does.
        let straight = matches!(self.sine, Sine::Exponential { harmonics: 3.. });
        let kept = straight && half.high <= MOST_HALF_ANGLE && rest <= LEAST_REST;
        let coefficient = |k: usize| match k {
            0 => bessel(0, half).high,
            // iᵏ: the sign changes from one even term to the next, and from one odd term to the next.
            k => bessel(k, half).high * if k % 4 < 2 { 2.0 } else { -2.0 },
        };
        kept.then(|| (0..=self.degree).map(coefficient).collect())
    }

    /// The fitting points: values of u around each integer.
    fn points(&self, message_ratio: u32) -> Vec<f64> {
        let spread = (-f64::from(message_ratio)).exp2();
        let last = i64::from(self.range) - 1;
        let near = |integer: i64| {
            let node = move |j: usize| (0.5 * TAU * (j as f64 + 0.5) / POINTS as f64).cos();
            let at = move |j| integer as f64 + spread * node(j) - self.sine.shift();
            (0..POINTS).map(move |j| at(j) / f64::from(self.range))
        };
        (-last..=last).flat_map(near).collect()
    }

    /// The fitting points of all blocks.
    fn points_of_blocks(&self, message_ratio: u32) -> Vec<f64> {
        let (points, range) = (self.points(message_ratio), f64::from(self.range));
        self.sine.turns_of_blocks().iter().flat_map(|turn| points.iter().map(move |u| u + turn / range)).collect()
    }

    /// Largest error of the series in z over all multiples, amplified by double angles and the gain.
    #[must_use]
    pub fn series_error(&self, message_ratio: u32) -> f64 {
        let points = self.points(message_ratio);
        self.error_at(&self.series(message_ratio), &points) / turn(message_ratio)
    }

    /// Largest error of the exponential, or of the sine, by the series of the interval.
    #[must_use]
    pub fn interval_error(&self) -> f64 {
        let steps = 64 * self.range;
        let points: Vec<f64> = (0..=2 * steps).map(|i| f64::from(i) / f64::from(steps) - 1.0).collect();
        self.error_at(&self.series_of_the_interval(), &points)
    }

    /// Largest error of the sine at the points u, amplified by double angles.
    fn error_at(&self, coefficients: &[f64], points: &[f64]) -> f64 {
        let part = |parity: usize| {
            let kept = coefficients.iter().enumerate().map(|(k, &c)| if k % 2 == parity { c } else { 0.0 });
            Series { coefficients: kept.collect(), from: -1.0, to: 1.0 }
        };
        let (even, odd) = (part(0), part(1));
        let error = |&u: &f64| {
            let x = u * f64::from(self.range) + self.sine.shift();
            let (a, b) = (even.evaluate(u), odd.evaluate(u));
            let sine = match self.sine {
                Sine::Cosine { .. } => (0..self.double_angles).fold(a + b, |c, _| 2.0 * c * c - 1.0),
                Sine::Exponential { .. } => {
                    let square = |(re, im): (f64, f64)| (re * re - im * im, 2.0 * re * im);
                    (0..self.double_angles).fold((a, b), |e, _| square(e)).1
                }
            };
            (sine - (TAU * x).sin()).abs()
        };
        points.iter().map(error).fold(0.0, f64::max)
    }

    /// The series of least depth, then of least degree, whose error in z stays below `most_error`; `None` if no degree
    /// up to 127 with 7 double angles does.
    #[must_use]
    pub fn cheapest(range: u32, sine: Sine, message_ratio: u32, most_error: f64) -> Option<Self> {
        let good = |candidate: &Self| candidate.series_error(message_ratio) <= most_error;
        let with = |double_angles, degree| Self { range, degree, double_angles, sine };
        // The largest degree of each depth decides whether the depth suffices; then the degree is lowered while the
        // error allows.
        let largest = DEGREES.filter(|d| (d + 1).is_power_of_two());
        let candidates = largest.flat_map(|degree| (0..=MOST_DOUBLE_ANGLES).map(move |r| with(r, degree)));
        let mut candidates: Vec<Self> = candidates.collect();
        candidates.sort_by_key(|c| (c.depth(), c.degree));
        let found = candidates.into_iter().find(good)?;
        let smaller = (found.degree / 2 + 1..found.degree).map(|degree| with(found.double_angles, degree)).find(good);
        Some(smaller.unwrap_or(found))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sine_is_made_straight() {
        let cosine = |arcsine| Sine::Cosine { arcsine };
        let exponential = |harmonics| Sine::Exponential { harmonics };
        for (sine, bits) in [
            (cosine(1), 12.0),
            (cosine(3), 23.0),
            (cosine(5), 34.0),
            (cosine(7), 44.0),
            (exponential(1), 12.0),
            (exponential(2), 24.0),
            (exponential(3), 35.0),
            (exponential(4), 45.0),
        ] {
            let factors = sine.straighten(turn(7));
            let error = |z: f64| sine.straightened(turn(7), &factors, z) - z;
            let worst = (-100..=100).map(|i| error(f64::from(i) / 100.0).abs()).fold(0.0, f64::max);
            assert!(-worst.log2() > bits, "{sine:?}: {}", -worst.log2());
        }
    }

    /// What is computed from the expansion meets the exponential where a fit in double precision does not.
    #[test]
    fn an_expansion_is_as_good_as_double_precision() {
        let sine = Sine::Exponential { harmonics: 4 };
        let series = EvalModLiteral { range: 16, degree: 63, double_angles: 2, sine };
        let coefficients = series.expansion().unwrap();
        assert!(EvalModLiteral { degree: 31, double_angles: 3, ..series }.expansion().is_none());
        // The recurrence J_{k−1} + J_{k+1} = (k/h)·J_k at 8π holds to the 60 bits that the series is to give.
        let half = Wide::TAU.shifted(2.0);
        for k in [1, 7, 30, 60] {
            let sum = bessel(k - 1, half) + bessel(k + 1, half);
            let wanted = bessel(k, half) * Wide::from(k as f64).over(half);
            // Terms of up to 2^30 cancel, each known to 2^−104 of itself.
            assert!((sum - wanted).high.abs() < 1e-20, "{k}: {}", (sum - wanted).high);
        }
        let part = |parity: usize| {
            let kept = coefficients.iter().enumerate().map(|(k, &c)| if k % 2 == parity { c } else { 0.0 });
            Series { coefficients: kept.collect(), from: -1.0, to: 1.0 }
        };
        let (even, odd) = (part(0), part(1));
        for i in -40i32..=40 {
            // At multiples of 1/64 the angle is a multiple of π/16, known without a reduction.
            let (u, turns) = (f64::from(i) / 64.0, f64::from((4 * i).rem_euclid(64)) / 64.0);
            let wanted = [(TAU * turns).cos(), (TAU * turns).sin()];
            let errors = [even.evaluate(u) - wanted[0], odd.evaluate(u) - wanted[1]];
            assert!(errors.iter().all(|e| e.abs() < 1e-14), "{u}: {errors:?}");
        }
    }

    #[test]
    fn the_cheapest_series_is_the_one_in_use() {
        let sine = Sine::Exponential { harmonics: 2 };
        let cheapest = |bits: i32| EvalModLiteral::cheapest(16, sine, 7, 2f64.powi(-bits)).unwrap();
        // The presets': of depth 8, and no smaller degree would do for 30 bits.
        let usual = EvalModLiteral { range: 16, degree: 31, double_angles: 3, sine };
        assert!(usual.series_error(7) < 2f64.powi(-30), "2^{}", usual.series_error(7).log2());
        let found = cheapest(30);
        assert!(
            found.depth() <= usual.depth() && found.series_error(7) <= 2f64.powi(-30),
            "{found:?} 2^{}",
            found.series_error(7).log2()
        );
        let rough = cheapest(12);
        assert!((rough.depth(), rough.degree) < (found.depth(), found.degree), "fewer bits cost less: {rough:?}");
        assert!(cheapest(38).depth() >= found.depth());
        let cosine = EvalModLiteral::cheapest(16, Sine::Cosine { arcsine: 3 }, 7, 2f64.powi(-26)).unwrap();
        assert_eq!((cosine.double_angles, cosine.depth()), (3, 10));
        assert!(EvalModLiteral::cheapest(4096, sine, 7, 1e-12).is_none());
    }
}
