//! Polynomial approximations of functions, with stated intervals and errors.
//!
//! A smooth function is one Chebyshev series. The sign function, and with it comparison and `max(x, 0)`, is a
//! composition of minimax polynomials: each moves values near ±1 closer, so few levels separate small differences.
//! Source: \[LLNK22\]; Differs: degrees are searched for the least depth, not taken from a table.

mod compare;
mod composed;
mod extreme;
mod function;
mod halvings;
mod inverse;
mod network;
mod parts;
mod rows;
mod selection;
mod sign;
mod smooth;
mod softmax;
mod sorter;
pub mod sorting;

pub use compare::Comparison;
pub use composed::{Composed, Ready};
pub use extreme::{Extreme, Greatest};
pub use function::Function;
pub use halvings::Halvings;
pub use inverse::{Inverse, InverseRoot};
pub use network::{Group, Network, NetworkKind, Stage};
pub use rows::{Axis, Rows};
pub use selection::Selection;
pub use sign::SignPlan;
pub use smooth::Smooth;
pub use softmax::{LayerNorm, Softmax};
pub use sorter::Sorter;
pub use sorting::{Keys, Order, Sorted, Sorting};

use limbwise_math::chebyshev::Series;

/// A polynomial approximation of a function.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// The series and its interval.
    pub series: Series,
    /// Largest absolute error on the interval.
    pub error: f64,
}

impl Fit {
    /// Interpolates a function at the Chebyshev nodes of an interval.
    ///
    /// # Panics
    /// As [`Series::interpolate`].
    #[must_use]
    pub fn new(f: impl Fn(f64) -> f64, from: f64, to: f64, degree: u32) -> Self {
        let series = Series::interpolate(&f, from, to, degree);
        let points = 32 * (degree + 1);
        let at = |i: u32| from + (to - from) * f64::from(i) / f64::from(points);
        let error = (0..=points).map(|i| (series.evaluate(at(i)) - f(at(i))).abs()).fold(0.0, f64::max);
        Self { series, error }
    }

    /// The fit of least depth with at most this error, of the highest degree that the depth allows. If none of at most
    /// `most` levels reaches the error, the deepest of them.
    #[must_use]
    pub fn within(f: impl Fn(f64) -> f64, from: f64, to: f64, error: f64, most: u32) -> Self {
        let of_depth = |depth: u32| Self::new(&f, from, to, (1 << depth.clamp(1, 12)) - 1);
        (1..most).map(of_depth).find(|fit| fit.error <= error).unwrap_or_else(|| of_depth(most))
    }
}

/// `1 / (1 + e^−x)`.
#[must_use]
pub fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fits_state_their_errors() {
        let fit = Fit::within(sigmoid, -8.0, 8.0, 1e-3, 8);
        assert_eq!(fit.series.coefficients.len(), 32);
        assert!(fit.error <= 1e-3 && Fit::new(sigmoid, -8.0, 8.0, 15).error > 1e-3);
        let at = |i: i32| f64::from(i) * 0.0137;
        let worst = (-580..=580).map(at).map(|x| (fit.series.evaluate(x) - sigmoid(x)).abs()).fold(0.0, f64::max);
        assert!(worst <= fit.error && worst > 0.9 * fit.error, "{worst} {}", fit.error);
        assert_eq!(Fit::within(f64::abs, -1.0, 1.0, 1e-9, 4).series.coefficients.len(), 16);
    }
}
