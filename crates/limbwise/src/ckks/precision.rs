//! Error of computed slots against expected ones.

use limbwise_math::rns::to_f64;
use num_complex::Complex64;
use serde::Serialize;

/// −log₂ of absolute errors over the real and imaginary parts of all slots.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Precision {
    /// −log₂ of the mean absolute error.
    pub mean: f64,
    /// −log₂ of the largest absolute error.
    pub min: f64,
}

impl Precision {
    /// Compares slots with the expected values; errors below 2^−60 count as 2^−60.
    #[must_use]
    pub fn of(got: &[Complex64], wanted: &[Complex64]) -> Self {
        let errors = || got.iter().zip(wanted).flat_map(|(a, b)| [(a.re - b.re).abs(), (a.im - b.im).abs()]);
        let count = to_f64(2 * got.len().min(wanted.len()) as u64).max(1.0);
        let floor = 2f64.powi(-60);
        Self {
            mean: -(errors().sum::<f64>() / count).max(floor).log2(),
            min: -errors().fold(0.0, f64::max).max(floor).log2(),
        }
    }
}
