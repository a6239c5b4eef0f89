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
        Self::of_errors(got.iter().zip(wanted).map(|(a, b)| a - b), 60)
    }

    /// Compares slots of two floats each, the nearest and what is left, with exact values; errors below 2^−100 count as
    /// 2^−100.
    #[must_use]
    pub fn of_wide(got: &[Complex64], rest: &[Complex64], wanted: &[Complex64]) -> Self {
        // The difference of near floats is exact.
        Self::of_errors(got.iter().zip(rest).zip(wanted).map(|((a, low), b)| (a - b) + low), 100)
    }

    fn of_errors(errors: impl Iterator<Item = Complex64>, floor: i32) -> Self {
        let parts = |z: Complex64| [z.re.abs(), z.im.abs()];
        let (mut count, mut sum, mut largest) = (0u64, 0.0, 0.0f64);
        for part in errors.flat_map(parts) {
            (count, sum, largest) = (count + 1, sum + part, largest.max(part));
        }
        let floor = 2f64.powi(-floor);
        Self { mean: -(sum / to_f64(count).max(1.0)).max(floor).log2(), min: -largest.max(floor).log2() }
    }
}
