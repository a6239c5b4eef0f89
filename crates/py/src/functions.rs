//! Polynomials in the place of functions, with their errors.

use crate::error::exception;
use limbwise::ckks::{
    Series,
    functions::{Fit, SignPlan, sigmoid},
};
use pyo3::prelude::{Bound, PyAny, PyAnyMethods as _, PyErr, PyResult, pyfunction};
use std::cell::RefCell;

/// Coefficients in the Chebyshev basis and the largest error on the interval.
type Fitted = (Vec<f64>, f64);

fn interval(from: f64, to: f64) -> PyResult<()> {
    if from < to && (to - from).is_finite() {
        return Ok(());
    }
    let text = format!("[{from}, {to}] is no interval: give two finite numbers, the smaller first");
    Err(exception("EncodeError", &text))
}

/// Interpolates a Python function.
#[pyfunction]
pub(crate) fn fit(function: &Bound<'_, PyAny>, from: f64, to: f64, degree: u32) -> PyResult<Fitted> {
    interval(from, to)?;
    if !(1..=1023).contains(&degree) {
        return Err(exception("EncodeError", &format!("degree {degree}: choose 1 to 1023")));
    }
    let failed: RefCell<Option<PyErr>> = RefCell::new(None);
    let at = |x: f64| {
        if failed.borrow().is_some() {
            return 0.0;
        }
        match function.call1((x,)).and_then(|y| y.extract::<f64>()) {
            Ok(y) if y.is_finite() => y,
            Ok(y) => {
                let text = format!("the function is {y} at {x}: it must be finite on all of [{from}, {to}]");
                failed.replace(Some(exception("EncodeError", &text)));
                0.0
            }
            Err(e) => {
                failed.replace(Some(e));
                0.0
            }
        }
    };
    let Fit { series, error } = Fit::new(at, from, to, degree);
    match failed.into_inner() {
        Some(error) => Err(error),
        None => Ok((series.coefficients, error)),
    }
}

/// The sigmoid on an interval by a polynomial of least depth with an error, at most so deep.
#[pyfunction]
pub(crate) fn fit_sigmoid(from: f64, to: f64, error: f64, most_depth: u32) -> PyResult<Fitted> {
    interval(from, to)?;
    let Fit { series, error } = Fit::within(sigmoid, from, to, error, most_depth.clamp(1, 10));
    Ok((series.coefficients, error))
}

/// The stages of the sign on [−1, 1], outside a gap, each on [−1, 1]; and its error.
#[pyfunction]
pub(crate) fn sign_stages(gap: f64, error: f64, most_depth: usize) -> PyResult<(Vec<Vec<f64>>, f64)> {
    if !(gap > 0.0 && gap < 1.0 && error > 0.0 && error < 1.0) {
        let text = format!("gap {gap} and error {error}: choose both between 0 and 1; smaller ones take more levels");
        return Err(exception("EncodeError", &text));
    }
    let Some(plan) = SignPlan::new(gap, error, most_depth) else {
        let text = format!(
            "no composition of eight polynomials of depth up to {most_depth} tells {gap} from zero with error {error}: widen the gap, allow more error, or choose parameters with more levels"
        );
        return Err(exception("LevelError", &text));
    };
    Ok((plan.stages.into_iter().map(|s| s.coefficients).collect(), plan.error))
}

/// Chebyshev coefficients on an interval of a polynomial by powers, constant first.
#[pyfunction]
pub(crate) fn power_series(coefficients: Vec<f64>, from: f64, to: f64) -> PyResult<Vec<f64>> {
    interval(from, to)?;
    if coefficients.is_empty() || coefficients.iter().any(|c| !c.is_finite()) {
        return Err(exception("EncodeError", "a polynomial has at least one coefficient, all finite"));
    }
    Ok(Series::from_monomials(&coefficients, from, to).coefficients)
}
