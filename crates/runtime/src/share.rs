//! Sharing decrypted results: noise that hides the errors of CKKS, which tell of the secret key. Only under the feature
//! `client`.
//!
//! Who sees a ciphertext, what was encrypted, and the decrypted numbers, sees the error: enough of them give the key away
//! \[LM21\]. Gaussian noise on what is shared hides it: with τ shared results and deviation `√(12τ)·2^(s/2)·t`, where t
//! bounds the norm of all errors of one, an attacker's advantage is that against the scheme, but for 2^−s. Source:
//! \[LMSS22\] Theorem 3 and its corollary, for a discrete Gaussian \[CKS20\].
//!
//! The error must be what the client expects by its own recording, never what a result says of itself: whoever evaluates
//! could name an error so small that the noise hides nothing. The theorem is about others who see honest evaluations; it
//! promises nothing against an evaluator that returns made-up ciphertexts (`SECURITY.md`).
//!
//! Differs: t is not proven. It is `MARGIN·e·(√m + √(2·ln 2·(s + 1)))` for m shared numbers whose errors are expected to
//! have deviation e: a Gaussian vector's norm exceeds it with probability 2^−(s+1) at most, if the expectation is right
//! within the margin.

use crate::error::{Error, Result};
use limbwise::{Complex64, ckks::Estimate};
use limbwise_apps::{Array, program::Numbers};
use limbwise_math::sampling::{GaussianTable, Seed, Stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// By how much an error may be larger than was expected. Most workloads stay within 2; ResNet-20's scores had 4.3 times the
/// error that was expected of them, so there is room above that. Each doubling costs what is shared one bit.
pub const MARGIN: f64 = 8.0;
/// Deviation of the base samples.
const BASE: f64 = 64.0;
/// From one base sample to the next in units: far below [`BASE`], so that their sum is a discrete Gaussian.
const STRIDE: f64 = 8.0;
/// Base samples of a number: units are then 2^−24 of the deviation and less.
const SAMPLES: usize = 8;

/// How results are shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sharing {
    /// s: what an attacker gains is at most 2^−s.
    pub statistical_bits: u32,
    /// τ: results that are shared under one key in its life.
    pub results: u32,
}

/// What was done to the numbers of a result.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Flooded {
    /// s and τ.
    #[serde(flatten)]
    pub sharing: Sharing,
    /// Deviation of the noise on each number, real and imaginary part alike.
    pub noise: f64,
    /// Bits of precision before: what is expected.
    pub precision_bits_before: f64,
    /// Bits of precision after.
    pub precision_bits: f64,
    /// Numbers are multiples of this.
    pub unit: f64,
}

/// Numbers with noise, as they may be shared.
///
/// # Errors
/// [`Error::Shared`] where not a bit would be left.
pub fn shared(array: &Array, estimate: Estimate, sharing: Sharing, seed: &Seed) -> Result<(Array, Flooded)> {
    let error = estimate.error();
    let parts = if array.numbers != Numbers::Complex { 1 } else { 2 };
    let count = (parts * array.values.len()).max(1);
    let noise = deviation(error, count, sharing);
    let before = estimate.precision_bits();
    let after = estimate.with_error(noise).precision_bits();
    if after < 1.0 || !noise.is_finite() {
        let (statistical, cost) = (sharing.statistical_bits, before - after);
        return Err(Error::Shared { precision: before, cost, statistical });
    }
    let unit = noise.log2().floor().exp2();
    let mut sampler = Sampler::new(noise, seed);
    let mut flooded = |x: f64| ((x + sampler.draw()) / unit).round() * unit;
    let value = |z: &Complex64| {
        Complex64::new(flooded(z.re), if array.numbers != Numbers::Complex { 0.0 } else { flooded(z.im) })
    };
    let values = array.values.iter().map(value).collect();
    let report = Flooded { sharing, noise, precision_bits_before: before, precision_bits: after, unit };
    Ok((Array { values, ..array.clone() }, report))
}

/// The deviation of the noise for so many numbers with this expected error.
pub fn deviation(error: f64, count: usize, sharing: Sharing) -> f64 {
    let s = f64::from(sharing.statistical_bits);
    let tail = (2.0 * std::f64::consts::LN_2 * (s + 1.0)).sqrt();
    let norm = MARGIN * error * ((count as f64).sqrt() + tail);
    (12.0 * f64::from(sharing.results)).sqrt() * (s / 2.0).exp2() * norm
}

/// Discrete Gaussian noise of a large deviation, as a weighted sum of small ones; in constant time.
struct Sampler {
    table: GaussianTable,
    stream: Stream,
    unit: f64,
}

impl Sampler {
    fn new(deviation: f64, seed: &Seed) -> Self {
        let squares: f64 = (0..SAMPLES).map(|_| 1.0).fold(0.0, |sum, one: f64| sum * STRIDE * STRIDE + one);
        let unit = deviation / (BASE * squares.sqrt());
        Self { table: GaussianTable::new(BASE), stream: Stream::new(seed, b"limbwise flooding"), unit }
    }

    fn draw(&mut self) -> f64 {
        let mut samples = [0; SAMPLES];
        self.stream.gaussian(&self.table, &mut samples);
        samples.iter().fold(0.0, |sum, &x| sum * STRIDE + x as f64) * self.unit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARING: Sharing = Sharing { statistical_bits: 20, results: 1 };

    fn array(count: usize) -> Array {
        let values = vec![Complex64::new(0.25, 0.5); count];
        Array { name: "x".into(), shape: vec![count], values, numbers: Numbers::Complex }
    }

    #[test]
    fn noise_has_its_deviation_and_hides_the_error() {
        let estimate = Estimate::exact(1.0).with_error(2f64.powi(-50));
        let (got, report) = shared(&array(4096), estimate, SHARING, &Seed([3; 32])).unwrap();
        let errors: Vec<f64> = got.values.iter().flat_map(|z| [z.re - 0.25, z.im - 0.5]).collect();
        let count = errors.len() as f64;
        let variance = errors.iter().map(|x| x * x).sum::<f64>() / count;
        // Rounding to multiples of the unit adds 1/12 of its square; five standard errors of a variance are allowed.
        let wanted = report.noise.powi(2) + report.unit.powi(2) / 12.0;
        assert!((variance / wanted - 1.0).abs() < 5.0 * (2.0 / count).sqrt(), "{variance:e} for {wanted:e}");
        let mean = errors.iter().sum::<f64>() / count;
        assert!(mean.abs() < 5.0 * report.noise / count.sqrt(), "{mean:e}");
        let fourth = errors.iter().map(|x| (x * x / wanted).powi(2)).sum::<f64>() / count;
        assert!((fourth - 3.0).abs() < 5.0 * (96.0 / count).sqrt(), "{fourth}");
        // √12·2^10·8·(√8192 + √(2·21·ln 2)) times the error.
        let factor = 12f64.sqrt() * 1024.0 * 8.0 * (8192f64.sqrt() + (42.0 * 2f64.ln()).sqrt());
        assert!((report.noise / (factor * 2f64.powi(-50)) - 1.0).abs() < 1e-12);
        assert!((report.precision_bits_before - report.precision_bits - factor.log2()).abs() < 1e-6);
        assert!(got.values.iter().all(|z| (z.re / report.unit).fract() == 0.0));
        let (again, _) = shared(&array(4096), estimate, SHARING, &Seed([4; 32])).unwrap();
        assert_ne!(got, again);
    }

    #[test]
    fn more_results_and_more_security_take_more_noise() {
        let base = deviation(1.0, 100, SHARING);
        let four = deviation(1.0, 100, Sharing { results: 4, ..SHARING });
        assert!((four / base - 2.0).abs() < 1e-12);
        assert!(deviation(1.0, 100, Sharing { statistical_bits: 22, ..SHARING }) > 2.0 * base);
    }

    #[test]
    fn what_would_be_noise_alone_is_refused() {
        let estimate = Estimate::exact(1.0).with_error(2f64.powi(-20));
        let error = shared(&array(64), estimate, Sharing { statistical_bits: 40, results: 1 }, &Seed([3; 32]));
        assert!(error.unwrap_err().to_string().contains("40 bits of statistical security"));
        let real = Array { numbers: Numbers::Real, ..array(64) };
        let estimate = Estimate::exact(1.0).with_error(2f64.powi(-50));
        let (got, _) = shared(&real, estimate, SHARING, &Seed([3; 32])).unwrap();
        assert!(got.values.iter().all(|z| z.im == 0.0), "nothing is told of parts that should be zero");
    }
}
