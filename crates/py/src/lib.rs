//! The native half of the Python package `limbwise`: sessions, ciphertexts, recorded programs.
//!
//! Enters: what Python cannot say itself: the schemes compiled for the CPU, the trace, reports as JSON, exceptions.
//! Stays out: arithmetic, shapes of arrays (`python/limbwise` lays them into slots), texts for people.
//!
//! Every evaluation runs without the interpreter's lock, so threads compute at a time; signals are looked at between
//! operations. Read in this order: `error`, `report`, `apart`, `params`, `buffer`, `ciphertext`, `live`, `trace`, `ways`, `share`, `session`,
//! `calls`, `timing`, `program`, `workload`, `sides`, `functions`, `planned`, `learn`, `secret`, `integers_call`, `integers`, `tfhe_call`, `tfhe`,
//! `exact`.

mod apart;
mod buffer;
mod calls;
mod ciphertext;
mod error;
mod exact;
mod functions;
mod integers;
mod integers_call;
mod integers_held;
mod learn;
mod live;
mod params;
mod planned;
mod program;
mod report;
mod secret;
mod session;
mod share;
mod sides;
mod tfhe;
mod tfhe_call;
mod tfhe_held;
mod timing;
mod trace;
mod ways;
mod workload;

use pyo3::prelude::{Bound, PyModule, PyModuleMethods, PyResult, Python, pyfunction, pymodule, wrap_pyfunction};
use std::ffi::OsString;

/// Runs the command `limbwise` with its arguments, its own name first, and returns the exit code. The executable that
/// runs is Python: `program` with the arguments `first` is this command, for work in a process of its own.
#[pyfunction]
fn command(py: Python<'_>, arguments: Vec<OsString>, program: OsString, first: Vec<OsString>) -> u8 {
    let again = limbwise_cli::Again::Command { program, arguments: first };
    py.detach(|| limbwise_cli::run(arguments, &again))
}

/// Bytes of memory that are free now, where the system tells.
#[pyfunction]
fn available_memory() -> Option<u64> {
    limbwise_runtime::host::available_memory_bytes()
}

/// The native half of `limbwise`.
#[pymodule]
fn _limbwise(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<params::PyParams>()?;
    module.add_class::<ciphertext::PyCiphertext>()?;
    module.add_class::<planned::PyFunction>()?;
    module.add_class::<session::Session>()?;
    module.add_class::<integers::IntegerSession>()?;
    module.add_class::<integers_held::IntegerCiphertext>()?;
    module.add_class::<integers_held::IntegerExpected>()?;
    module.add_class::<program::Recorded>()?;
    module.add_class::<program::Expected>()?;
    module.add_class::<workload::Workload>()?;
    module.add_class::<exact::ExactRecorded>()?;
    module.add_class::<tfhe_held::TfheCiphertext>()?;
    module.add_class::<tfhe_held::TfheExpected>()?;
    module.add_class::<tfhe::TfheSession>()?;
    module.add_function(wrap_pyfunction!(command, module)?)?;
    module.add_function(wrap_pyfunction!(available_memory, module)?)?;
    module.add_function(wrap_pyfunction!(report::set_reporter, module)?)?;
    module.add_function(wrap_pyfunction!(functions::fit, module)?)?;
    module.add_function(wrap_pyfunction!(functions::fit_sigmoid, module)?)?;
    module.add_function(wrap_pyfunction!(functions::sign_stages, module)?)?;
    module.add_function(wrap_pyfunction!(functions::power_series, module)?)?;
    module.add_function(wrap_pyfunction!(learn::train_logistic_regression, module)?)?;
    module.add_function(wrap_pyfunction!(learn::training_levels, module)?)?;
    module.add_function(wrap_pyfunction!(program::machines, module)?)?;
    module.add_function(wrap_pyfunction!(workload::workloads, module)?)?;
    module.add_function(wrap_pyfunction!(sides::keygen_files, module)?)?;
    module.add_function(wrap_pyfunction!(sides::encrypt_inputs, module)?)?;
    module.add_function(wrap_pyfunction!(sides::input_names, module)?)?;
    module.add_function(wrap_pyfunction!(sides::prepare_plaintexts, module)?)?;
    module.add_function(wrap_pyfunction!(sides::evaluate_inputs, module)?)?;
    module.add_function(wrap_pyfunction!(sides::decrypt_results, module)?)?;
    Ok(())
}
