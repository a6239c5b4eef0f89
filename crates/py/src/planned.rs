//! Planned functions: their domains, errors and levels, before any key exists.

use crate::{
    error::{exception, of_scheme},
    params::PyParams,
};
use limbwise::{
    Result,
    ckks::{
        LevelPolicy, LookupTable,
        functions::{
            Axis, Extreme, Function, Greatest, Inverse, InverseRoot, Keys, LayerNorm, Order, Rows, Smooth, Softmax,
            Sorted, Sorting,
        },
    },
};
use pyo3::prelude::{PyResult, Python, pyclass, pymethods};
use std::sync::Arc;

/// A function of encrypted values, with its numbers.
#[pyclass(frozen, name = "Function", module = "limbwise._limbwise")]
pub(crate) struct PyFunction(pub(crate) Arc<Function>);

/// Stride, extent and length of an axis.
type Place = (usize, usize, usize);

fn axis((stride, extent, length): Place) -> Axis {
    Axis { stride, extent, length }
}

fn rows(along: Place, others: Vec<Place>) -> Result<Rows> {
    Rows::new(axis(along), &others.into_iter().map(axis).collect::<Vec<_>>())
}

fn planned<F>(made: Result<F>, as_function: impl FnOnce(F) -> Function) -> PyResult<PyFunction> {
    made.map(|made| PyFunction(Arc::new(as_function(made)))).map_err(of_scheme)
}

#[pymethods]
impl PyFunction {
    /// `1/x` on an interval with a relative error.
    #[staticmethod]
    fn inverse(from: f64, to: f64, error: f64) -> PyResult<Self> {
        planned(Inverse::new(from, to, error), Function::Inverse)
    }

    /// `√x`.
    #[staticmethod]
    fn root(from: f64, to: f64, error: f64) -> PyResult<Self> {
        planned(InverseRoot::new(from, to, error), Function::Root)
    }

    /// `1/√x`.
    #[staticmethod]
    fn inverse_root(from: f64, to: f64, error: f64) -> PyResult<Self> {
        planned(InverseRoot::new(from, to, error), Function::InverseRoot)
    }

    /// `exp(x)` with an absolute error.
    #[staticmethod]
    fn exp(from: f64, to: f64, error: f64) -> PyResult<Self> {
        planned(Smooth::exp([from, to], error), Function::Smooth)
    }

    /// The natural logarithm.
    #[staticmethod]
    fn log(from: f64, to: f64, error: f64) -> PyResult<Self> {
        planned(Smooth::log([from, to], error), Function::Smooth)
    }

    /// The entries of a table for 0, 1, 2, …
    #[staticmethod]
    fn lookup(entries: Vec<f64>) -> PyResult<Self> {
        planned(LookupTable::new(&entries), Function::Lookup)
    }

    /// Softmax along an axis of an array with these other axes.
    #[staticmethod]
    fn softmax(along: Place, others: Vec<Place>, bound: f64, error: f64) -> PyResult<Self> {
        planned(rows(along, others).and_then(|rows| Softmax::new(&rows, bound, error)), Function::Softmax)
    }

    /// Rows centered and divided by their deviation.
    #[staticmethod]
    fn layer_norm(along: Place, others: Vec<Place>, variance: (f64, f64), epsilon: f64, error: f64) -> PyResult<Self> {
        let variance = [variance.0, variance.1];
        let made = rows(along, others).and_then(|rows| LayerNorm::new(&rows, variance, epsilon, error));
        planned(made, Function::LayerNorm)
    }

    /// The greatest of each row: "value", "one-hot" or "index". Values differ by at most `range`.
    #[staticmethod]
    fn extreme(along: Place, others: Vec<Place>, wanted: &str, range: f64, gap: f64, error: f64) -> PyResult<Self> {
        let wanted = match wanted {
            "value" => Greatest::Value,
            "one-hot" => Greatest::OneHot,
            _ => Greatest::Index,
        };
        let made = rows(along, others).and_then(|rows| Extreme::new(&rows, wanted, [range, gap], error));
        planned(made, Function::Extreme)
    }

    /// Rows in order: their first values ("values"), also their indices ("places"), or their medians ("median").
    #[staticmethod]
    #[pyo3(signature = (params, along, others, *, wanted, first, interval, gap, descending))]
    #[expect(clippy::too_many_arguments, reason = "keywords of one Python call")]
    fn sort(
        py: Python<'_>,
        params: &PyParams,
        along: Place,
        others: Vec<Place>,
        wanted: &str,
        first: usize,
        interval: (f64, f64),
        gap: f64,
        descending: bool,
    ) -> PyResult<Self> {
        let wanted = match wanted {
            "values" => Sorted::Values(first),
            "places" => Sorted::Places(first),
            _ => Sorted::Median,
        };
        let order = if descending { Order::Descending } else { Order::Ascending };
        let keys = Keys { interval: [interval.0, interval.1], gap, order };
        let policy = LevelPolicy::of(&params.params);
        let made = py.detach(|| rows(along, others).and_then(|rows| Sorting::new(&rows, keys, wanted, policy)));
        planned(made, Function::Sorting)
    }

    /// Levels on so many slots, without those of bootstrapping.
    fn levels(&self, slots: usize) -> usize {
        self.0.levels(slots)
    }

    /// Inputs of a sorter, positions and stages of the network, for functions that sort.
    #[getter]
    fn network(&self) -> Option<(usize, usize, usize)> {
        let Function::Sorting(sorting) = &*self.0 else { return None };
        let network = sorting.network();
        Some((network.ways, network.count, network.stages.len()))
    }

    /// The value at a number in the clear, by the same polynomials.
    fn evaluate(&self, x: f64) -> PyResult<f64> {
        let none = || exception("EncodeError", "a function of whole rows has no value at a number");
        self.0.evaluate(x).ok_or_else(none)
    }
}
