//! Exponential and logarithm: one polynomial on an interval, of the least depth for an error.

use super::{
    Fit,
    composed::{Ready, inside, known, noiseless},
};
use crate::{
    ckks::{Auto, Ciphertext, Series, chebyshev::depth},
    error::{FunctionError, Result},
};
use limbwise_device::Device;

/// Degrees: the largest of each depth.
const DEGREES: [u32; 6] = [3, 7, 15, 31, 63, 127];

/// A smooth function on an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Smooth {
    name: &'static str,
    fit: Fit,
    /// Largest absolute value.
    peak: f64,
    /// Root mean square of the slope.
    slope: f64,
    /// Largest slope.
    steepest: f64,
}

impl Smooth {
    /// A function on [from, to] with at most this error, by the polynomial of least depth.
    ///
    /// # Errors
    /// [`FunctionError::Degree`] if no polynomial of degree 127 has so little error, or the interval is none;
    /// [`FunctionError::Error`] for an error that is none.
    pub fn new(name: &'static str, f: impl Fn(f64) -> f64, [from, to]: [f64; 2], error: f64) -> Result<Self> {
        let refused = |reached| FunctionError::Degree { function: name, from, to, reached, error };
        if !(error > 0.0 && error.is_finite()) {
            return Err(FunctionError::Error { function: name, error }.into());
        }
        if !(from < to && (to - from).is_finite()) {
            return Err(refused(f64::INFINITY).into());
        }
        let mut reached = f64::INFINITY;
        for degree in DEGREES {
            let fit = Fit::new(&f, from, to, degree);
            if fit.error <= error {
                return Ok(Self::of(name, fit));
            }
            reached = fit.error;
        }
        Err(refused(reached).into())
    }

    fn of(name: &'static str, fit: Fit) -> Self {
        const POINTS: u32 = 1024;
        let step = (fit.series.to - fit.series.from) / f64::from(POINTS);
        let at = |i: u32| fit.series.evaluate(fit.series.from + step * f64::from(i));
        let peak = (0..=POINTS).map(|i| at(i).abs()).fold(0.0, f64::max);
        let slopes = || (0..POINTS).map(|i| ((at(i + 1) - at(i)) / step).abs());
        let squares: f64 = slopes().map(|slope| slope * slope).sum();
        let steepest = slopes().fold(0.0, f64::max);
        // Between the points a smooth function does not go further than its error.
        Self { name, peak: peak + fit.error, slope: (squares / f64::from(POINTS)).sqrt(), steepest, fit }
    }

    /// A polynomial on [−1, 1] that is there already; its error is what it is fitted with elsewhere.
    #[must_use]
    pub fn of_series(name: &'static str, series: Series) -> Self {
        Self::of(name, Fit { series, error: 0.0 })
    }

    /// The same for arguments where the root mean square of its slope is said to be `slope`: without it they are expected to
    /// be uniform in the interval. It is believed up to the largest slope there is, since a larger one would make any error
    /// look plausible, and down to 1/64 of that of uniform arguments, since other data may not be as flat.
    #[must_use]
    pub fn with_slope(self, slope: f64) -> Self {
        Self { slope: slope.max(self.slope / 64.0).min(self.steepest), ..self }
    }

    /// `exp(x)` with at most this absolute error.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn exp(interval: [f64; 2], error: f64) -> Result<Self> {
        Self::new("exp", f64::exp, interval, error)
    }

    /// The natural logarithm with at most this absolute error, on an interval of positive numbers.
    ///
    /// # Errors
    /// As [`Self::new`]; [`FunctionError::Positive`] for an interval that is not one of positive numbers.
    pub fn log([from, to]: [f64; 2], error: f64) -> Result<Self> {
        if from.is_nan() || from <= 0.0 {
            return Err(FunctionError::Positive { function: "log", from, to, error }.into());
        }
        Self::new("log", f64::ln, [from, to], error)
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Levels: the polynomial, and the interval unless it is [−1, 1].
    #[must_use]
    pub fn levels(&self) -> usize {
        let series = &self.fit.series;
        let unit = (series.from + 1.0).abs() < f64::EPSILON && (series.to - 1.0).abs() < f64::EPSILON;
        depth(series.coefficients.len() - 1) + usize::from(!unit)
    }

    /// Largest absolute error on the interval.
    #[must_use]
    pub fn error(&self) -> f64 {
        self.fit.error
    }

    /// The value in the clear, by the same polynomial.
    #[must_use]
    pub fn evaluate(&self, x: f64) -> f64 {
        self.fit.series.evaluate(x)
    }

    /// The function, settled [`Self::levels`] lower. Bounds tell whether values lie further from zero than the interval;
    /// whether they lie inside, no bound says.
    ///
    /// # Errors
    /// [`FunctionError::Domain`] for values that may lie beyond the interval; too few levels; a missing key.
    pub fn apply<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        x: &Ciphertext<D>,
        ready: Ready<'_, D>,
    ) -> Result<Ciphertext<D>> {
        let series = &self.fit.series;
        inside(self.name, x, series.from.abs().max(series.to.abs()))?;
        let x = &ready(x, self.levels())?;
        let _region = auto.eval.device().region(self.name, 0);
        let y = auto.settle(&auto.chebyshev(&noiseless(x), series)?)?;
        let error = (x.estimate.error() * self.slope).hypot(y.estimate.error());
        Ok(known(y, self.peak, error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polynomials_keep_their_error_and_are_of_least_depth() {
        let (exp, log) = (Smooth::exp([-1.0, 1.0], 1e-4).unwrap(), Smooth::log([0.02, 1.0], 1e-3).unwrap());
        assert_eq!((exp.levels(), log.levels()), (3, 6));
        for i in 0..=999 {
            let t = f64::from(i) / 999.0;
            let (x, y) = (2.0 * t - 1.0, 0.02 + 0.98 * t);
            assert!((exp.evaluate(x) - x.exp()).abs() <= 1e-4 && (log.evaluate(y) - y.ln()).abs() <= 1e-3);
        }
        // The mean of e^2x on [−1, 1] is sinh(2)/2.
        let said = |slope: f64| exp.clone().with_slope(slope).slope;
        for (slope, believed) in [(1.0, 1.0), (1e300, exp.steepest), (0.0, exp.slope / 64.0)] {
            assert!((said(slope) - believed).abs() < 1e-12, "{slope}: {}", said(slope));
        }
        assert!((exp.steepest - 1f64.exp()).abs() < 1e-2);
        assert!(exp.peak >= 1f64.exp() && (exp.slope - (2f64.sinh() / 2.0).sqrt()).abs() < 1e-2);
        let refused = Smooth::log([1e-6, 1.0], 1e-3).unwrap_err().to_string();
        assert!(refused.contains("degree 127") && refused.contains("narrower interval"), "{refused}");
        for error in [f64::NAN, 0.0, -1.0, f64::INFINITY] {
            let refused = Smooth::exp([-1.0, 1.0], error).unwrap_err().to_string();
            assert!(refused.contains("finite number above 0"), "{refused}");
        }
        assert!(Smooth::log([0.0, 1.0], 1e-3).is_err() && Smooth::exp([1.0, 1.0], 1e-3).is_err());
    }
}
