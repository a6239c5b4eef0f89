//! What long calls tell while they run: to one Python function, which logs and draws progress.

use pyo3::{
    exceptions::PyKeyboardInterrupt,
    prelude::{Py, PyAny, PyAnyMethods as _, PyResult, Python, pyfunction},
    sync::PyOnceLock,
};

static REPORTER: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Sets, once, the function that is told `(kind, name, done, total, bytes, seconds)`.
#[pyfunction]
pub(crate) fn set_reporter(py: Python<'_>, function: Py<PyAny>) {
    // A second one is a reload of the package: the first goes on.
    let _ = REPORTER.set(py, function);
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct News<'n> {
    /// What kind: "key", "step", "bootstrapper".
    pub(crate) kind: &'n str,
    pub(crate) name: &'n str,
    /// Parts that are over, of all.
    pub(crate) done: usize,
    /// All parts; 0 where nobody knows.
    pub(crate) total: usize,
    pub(crate) bytes: u64,
    pub(crate) seconds: f64,
}

/// Tells it. A reporter that raises is not asked why: a computation does not fail for its log.
pub(crate) fn tell(news: News<'_>) {
    Python::attach(|py| {
        let Some(reporter) = REPORTER.get(py) else { return };
        let News { kind, name, done, total, bytes, seconds } = news;
        let told: PyResult<Py<PyAny>> = reporter.call1(py, (kind, name, done, total, bytes, seconds));
        // An interrupt that comes while the reporter runs is meant for the computation: it is raised again there.
        if told.is_err_and(|raised| raised.is_instance_of::<PyKeyboardInterrupt>(py)) {
            let _ = py.import("_thread").and_then(|thread| thread.call_method0("interrupt_main"));
        }
    });
}
