//! A table as a polynomial on the unit circle.
//!
//! With t entries, a power of two, entry m lies at the angle 2πm/t. Fejér's kernel
//! K(θ) = (sin(tθ/2)/(t·sin(θ/2)))² is one at zero, has double zeros at all other of these angles, and its Fourier
//! coefficients are (1 − |k|/t)/t for |k| < t. So f(θ) = Σ_m y_m·K(θ − 2πm/t) has the value y_m and slope zero at each
//! entry: Hermite interpolation. Because y is real, f = 2·Re Σ_{k<t} c_k·e^{ikθ} with c_k = (1 − k/t)·ŷ_k, ŷ the discrete
//! Fourier transform over t, and half of it for c_0. K is positive and its copies add up to one, so f never leaves the
//! range of y, and at δ of the distance between two entries it is at most (π²/3)·δ² of that range away from the nearer
//! one. Source: \[AKP24\] Differs: errors and failures are derived here.

use crate::error::{BootstrapError, Result};
use limbwise_math::{rns::to_f64, tail::log2_two_sided};
use num_complex::Complex64;
use std::f64::consts::{PI, TAU};

/// Entries at most: their polynomial takes ten levels.
const MOST_ENTRIES: usize = 1 << 10;
/// log₂ of the failure probability of a lookup that is accepted, a slot.
const LOG2_ACCEPTED: f64 = -60.0;
/// Deviation of EvalMod's noise at the multiple of q₀ where it is largest, over that of all: measured 2.5 at K = 16.
const WORST_MULTIPLE: f64 = 3.0;

/// A function of the integers 0 … t − 1, planned as a polynomial on the unit circle.
#[derive(Clone, Debug)]
pub struct LookupTable {
    /// The entries as given.
    values: Vec<f64>,
    coefficients: Vec<Complex64>,
    /// What an error along the radius is multiplied by: root mean square over the entries, and at most.
    radial: [f64; 2],
    /// Half the second derivative by δ, root mean square over the entries.
    curvature: f64,
    log2_accepted: f64,
}

/// Deviations of what a lookup adds up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LookupNoise {
    /// Of an argument, in units of the distance between two entries.
    pub argument: f64,
    /// Of each part of a point on the circle.
    pub circle: f64,
    /// Of a rounding at the user's scale.
    pub rounding: f64,
}

impl LookupTable {
    /// The table of entries for 0, 1, 2, … Up to the next power of two the last one repeats; arguments are taken modulo
    /// that power.
    ///
    /// # Errors
    /// [`BootstrapError::TableLength`] unless there are 2 to 1024 entries; [`BootstrapError::TableEntry`] for one that is
    /// not finite.
    pub fn new(values: &[f64]) -> Result<Self> {
        if !(2..=MOST_ENTRIES).contains(&values.len()) {
            return Err(BootstrapError::TableLength { got: values.len(), most: MOST_ENTRIES }.into());
        }
        let usual = |y: f64| y.abs() <= 1e15;
        if let Some(index) = values.iter().position(|&y| !usual(y)) {
            return Err(BootstrapError::TableEntry { index, value: values[index] }.into());
        }
        let last = values[values.len() - 1];
        let entries = values.len().next_power_of_two();
        let padded: Vec<f64> = values.iter().copied().chain(std::iter::repeat(last)).take(entries).collect();
        let coefficients = coefficients(&padded);
        let count = to_f64(entries as u64);
        let nodes = |power: i32| -> Vec<f64> {
            let weighted: Vec<Complex64> =
                (0..).zip(&coefficients).map(|(k, c)| c * f64::from(k).powi(power)).collect();
            transformed(&weighted, 1.0).into_iter().map(|z| 2.0 * z.re).collect()
        };
        let mean_square = |of: &[f64]| (of.iter().map(|x| x * x).sum::<f64>() / count).sqrt();
        let slopes = nodes(1);
        let most = slopes.iter().fold(0.0, |most, s| f64::max(most, s.abs()));
        Ok(Self {
            values: values.to_vec(),
            radial: [mean_square(&slopes), most],
            curvature: 0.5 * (TAU / count).powi(2) * mean_square(&nodes(2)),
            coefficients,
            log2_accepted: LOG2_ACCEPTED,
        })
    }

    /// The same table, looked up where the failure probability of a slot is at most 2^`log2`; the usual is 2^−60.
    #[must_use]
    pub fn accepting(self, log2: f64) -> Self {
        Self { log2_accepted: log2, ..self }
    }

    /// The entries as given.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Number of entries, with those that fill up to a power of two.
    #[must_use]
    pub fn entries(&self) -> usize {
        self.coefficients.len()
    }

    /// Coefficients of the powers; twice the real part of their sum is the entry.
    #[must_use]
    pub fn coefficients(&self) -> &[Complex64] {
        &self.coefficients
    }

    /// Levels that the polynomial takes.
    #[must_use]
    pub fn levels(&self) -> usize {
        crate::ckks::chebyshev::depth(self.entries() - 1)
    }

    /// The entry of the nearest integer.
    #[must_use]
    pub fn entry(&self, x: f64) -> f64 {
        let count = to_f64(self.entries() as u64);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 ≤ the remainder ≤ 1024")]
        let index = x.round().rem_euclid(count) as usize;
        self.values[index.min(self.values.len() - 1)]
    }

    /// What a lookup without noise gives for any number: the polynomial.
    #[must_use]
    pub fn evaluate(&self, x: f64) -> f64 {
        let z = Complex64::from_polar(1.0, TAU * x / to_f64(self.entries() as u64));
        2.0 * self.coefficients.iter().rev().fold(Complex64::default(), |sum, c| sum * z + c).re
    }

    /// Largest absolute entry.
    #[must_use]
    pub fn peak(&self) -> f64 {
        self.values.iter().fold(0.0, |most, y| f64::max(most, y.abs()))
    }

    /// Half the smallest difference between two entries: a result that is nearer to its entry is read right. Infinite
    /// for a constant table.
    #[must_use]
    pub fn margin(&self) -> f64 {
        let mut sorted = self.values.clone();
        sorted.sort_by(f64::total_cmp);
        let gaps = sorted.windows(2).map(|pair| pair[1] - pair[0]).filter(|&gap| gap > 0.0);
        0.5 * gaps.fold(f64::INFINITY, f64::min)
    }

    /// Deviation of a result from its entry: the argument's error squared away, errors along the radius, and the
    /// roundings of the last products.
    #[must_use]
    pub fn expected_error(&self, noise: LookupNoise) -> f64 {
        // E e⁴ = 3σ⁴.
        let flat = 3f64.sqrt() * self.curvature * noise.argument.powi(2);
        flat.hypot(self.radial[0] * noise.circle.hypot(noise.rounding)).hypot(2.0 * noise.rounding)
    }

    /// log₂ of a bound on the probability that a slot is read wrong, given that of a multiple of q₀ out of range. The
    /// margin is shared: one half is left to the square of the argument's error, one half to the noise of computing.
    #[must_use]
    pub fn log2_failure(&self, noise: LookupNoise, log2_out_of_range: f64) -> f64 {
        let sorted = |pick: fn(f64, f64) -> f64, from| self.values.iter().copied().fold(from, pick);
        let range = sorted(f64::max, f64::NEG_INFINITY) - sorted(f64::min, f64::INFINITY);
        if range <= 0.0 {
            return log2_out_of_range.min(0.0);
        }
        let half = 0.5 * self.margin();
        let farthest = (3.0 * half / range).sqrt() / PI;
        let computed =
            (self.radial[1] * (WORST_MULTIPLE * noise.circle).hypot(noise.rounding)).hypot(2.0 * noise.rounding);
        let beyond = |most: f64, deviation: f64| if deviation > 0.0 { log2_two_sided(most / deviation) } else { -1e9 };
        let all = [beyond(farthest, noise.argument), beyond(half, computed), log2_out_of_range];
        let most = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (most + all.iter().map(|p| (p - most).exp2()).sum::<f64>().log2()).min(0.0)
    }

    /// Fails if a lookup would fail too often.
    pub(super) fn vouch(&self, noise: LookupNoise, log2_out_of_range: f64) -> Result<()> {
        let got = self.log2_failure(noise, log2_out_of_range);
        let safe = got <= self.log2_accepted;
        if safe {
            return Ok(());
        }
        let (argument, value) = (noise.argument, self.expected_error(noise));
        Err(BootstrapError::TableNoise { got, accepted: self.log2_accepted, argument, value }.into())
    }
}

/// Σ_m x_m·e^{±2πikm/t} for all k; t is a power of two.
fn transformed(x: &[Complex64], sign: f64) -> Vec<Complex64> {
    let t = x.len();
    let root = |i: usize| Complex64::from_polar(1.0, sign * TAU * to_f64(i as u64) / to_f64(t as u64));
    let roots: Vec<Complex64> = (0..t).map(root).collect();
    let at = |k: usize| x.iter().enumerate().map(|(m, x)| x * roots[k * m % t]).sum();
    (0..t).map(at).collect()
}

/// c_k = (1 − k/t)·ŷ_k, c_0 halved. What is zero but for rounding is exactly zero, so that it costs nothing.
fn coefficients(y: &[f64]) -> Vec<Complex64> {
    let count = to_f64(y.len() as u64);
    let complex: Vec<Complex64> = y.iter().map(|&y| y.into()).collect();
    let tiny = 1e-14 * y.iter().fold(0.0, |most, y| f64::max(most, y.abs()));
    let clean = |part: f64| if part.abs() <= tiny { 0.0 } else { part };
    let scaled = |(k, y): (usize, Complex64)| {
        let k = to_f64(k as u64);
        let share = if k == 0.0 { 0.5 } else { 1.0 - k / count };
        Complex64::new(clean(y.re / count * share), clean(y.im / count * share))
    };
    transformed(&complex, -1.0).into_iter().enumerate().map(scaled).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    fn tables() -> Vec<Vec<f64>> {
        let random = |t: usize| (0..t).map(|m| ((m * m * 37 + m * 11 + 5) % t) as f64).collect();
        let alternating = |t: usize| (0..t).map(|m| (m % 2) as f64).collect();
        vec![vec![0.0, 1.0], vec![0.0, 1.0, 1.0], random(16), random(256), alternating(256), random(1024)]
    }

    #[test]
    fn entries_are_met_with_slope_zero_and_nothing_leaves_their_range() {
        for values in tables() {
            let table = LookupTable::new(&values).unwrap();
            let (least, most) = (values.iter().copied().fold(1e9, f64::min), table.peak());
            let range = most - least;
            for (m, &y) in values.iter().enumerate() {
                let x = m as f64;
                assert!((table.evaluate(x) - y).abs() < 1e-9 * range, "{} entries at {m}", values.len());
                assert!((table.entry(x) - y).abs() < 1e-12);
                for delta in [-0.4, -0.1, 0.01, 0.3] {
                    let got = table.evaluate(x + delta);
                    assert!((got - y).abs() <= PI * PI / 3.0 * delta * delta * range * (1.0 + 1e-6) + 1e-9 * range);
                    assert!(got > least - 1e-9 * range && got < most + 1e-9 * range);
                }
            }
        }
        assert!((LookupTable::new(&[3.0, 5.0, 8.0]).unwrap().entry(3.0) - 8.0).abs() < 1e-12, "the last one repeats");
    }

    #[test]
    fn small_errors_grow_as_was_derived() {
        // Along the circle by the curvature, along the radius by the radial slope.
        for values in tables() {
            let table = LookupTable::new(&values).unwrap();
            let t = table.entries();
            let mean = |of: &dyn Fn(f64) -> f64| ((0..t).map(|m| of(m as f64).powi(2)).sum::<f64>() / t as f64).sqrt();
            let quadratic = mean(&|x| (table.evaluate(x + 1e-3) - table.evaluate(x)) / 1e-6);
            assert!((quadratic / table.curvature - 1.0).abs() < 1e-2, "{t}: {quadratic} for {}", table.curvature);
            let wide = |x: f64, radius: f64| {
                let z = Complex64::from_polar(radius, TAU * x / t as f64);
                2.0 * table.coefficients.iter().rev().fold(Complex64::default(), |sum, c| sum * z + c).re
            };
            let radial = mean(&|x| (wide(x, 1.0 + 1e-9) - wide(x, 1.0 - 1e-9)) / 2e-9);
            assert!((radial / table.radial[0] - 1.0).abs() < 1e-3, "{t}: {radial} for {}", table.radial[0]);
            assert!(table.radial[1] >= table.radial[0]);
        }
    }

    #[test]
    fn failures_follow_the_noise() {
        let table = LookupTable::new(&(0..256).map(f64::from).collect::<Vec<_>>()).unwrap();
        let quiet = LookupNoise { argument: 1e-4, circle: 2f64.powi(-28), rounding: 2f64.powi(-26) };
        assert!((table.margin() - 0.5).abs() < 1e-12);
        assert!(table.log2_failure(quiet, -120.0) < -119.0);
        let loud = LookupNoise { argument: 0.01, ..quiet };
        assert!((-10.0..-3.0).contains(&table.log2_failure(loud, -120.0)), "{}", table.log2_failure(loud, -120.0));
        assert!(table.log2_failure(LookupNoise { argument: 1.0, ..quiet }, -120.0) > -0.1);
        assert!(table.log2_failure(LookupNoise { circle: 1e-3, ..quiet }, -120.0) > -2.0);
        assert!(matches!(
            table.clone().accepting(-60.0).vouch(loud, -120.0),
            Err(Error::Bootstrap(BootstrapError::TableNoise { .. }))
        ));
        assert!(table.accepting(-1.0).vouch(loud, -120.0).is_ok());
    }

    #[test]
    fn what_is_no_table_is_refused() {
        let refused = |values: &[f64]| LookupTable::new(values).unwrap_err().to_string();
        assert!(refused(&[]).contains("2 to 1024"), "{}", refused(&[]));
        assert!(refused(&[1.0; 1025]).contains("1025"));
        assert!(refused(&[0.0, f64::NAN]).contains("entry 1"));
        assert!(refused(&[f64::INFINITY, 0.0]).contains("entry 0"));
    }
}
