//! Errors of the engine as exceptions of `limbwise.errors`, with the same text.

use limbwise::{Error as Scheme, bgv::BgvError, error::FunctionError, tfhe::TfheError};
use limbwise_runtime::Error as Runtime;
use pyo3::{
    exceptions::PyKeyboardInterrupt,
    prelude::{PyAnyMethods as _, PyErr, PyResult, Python},
};
use std::cell::RefCell;

thread_local! {
    /// What a signal handler raised while this thread computed.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Lets signal handlers run, if this is the main thread.
///
/// # Errors
/// [`Scheme::Interrupted`] if one raises; [`of_scheme`] gives back what it raised.
pub(crate) fn look_at_signals() -> limbwise::Result<()> {
    Python::attach(|py| py.check_signals()).map_err(|raised| {
        RAISED.with(|held| held.replace(Some(raised)));
        Scheme::Interrupted
    })
}

/// An exception of a class of `limbwise.errors`.
pub(crate) fn exception(class: &str, text: &str) -> PyErr {
    let make = |py: Python<'_>| -> PyResult<PyErr> {
        let made = py.import("limbwise.errors")?.getattr(class)?.call1((text,))?;
        Ok(PyErr::from_value(made))
    };
    Python::attach(|py| make(py).unwrap_or_else(|failed| failed))
}

/// `MemoryBudgetError`, with the smallest limit that would do.
pub(crate) fn budget_error(text: &str, least_bytes: u64) -> PyErr {
    let error = exception("MemoryBudgetError", text);
    Python::attach(|py| error.value(py).setattr("least_bytes", least_bytes)).err().unwrap_or(error)
}

/// The exception for a mistake in a call that the engine never sees.
pub(crate) fn shape_error(text: &str) -> PyErr {
    exception("ShapeError", text)
}

/// The exception of a scheme's error.
pub(crate) fn of_scheme(error: Scheme) -> PyErr {
    if matches!(error, Scheme::Interrupted) {
        let raised = RAISED.with(|held| held.take());
        return raised.unwrap_or_else(|| PyKeyboardInterrupt::new_err(error.to_string()));
    }
    exception(class(&error), &error.to_string())
}

fn class(error: &Scheme) -> &'static str {
    match error {
        Scheme::Params(_) | Scheme::Ring(_) => "ParamsError",
        Scheme::Level(_) => "LevelError",
        Scheme::Scale(_) => "ScaleError",
        Scheme::Function(FunctionError::Degree { .. }) => "LevelError",
        Scheme::Function(FunctionError::Axis { .. }) => "ShapeError",
        // The room's other errors: ciphertexts of different shapes in one operation.
        Scheme::Shape(_) => "ShapeError",
        Scheme::Key(_) => "KeyMissing",
        Scheme::Encode(_) | Scheme::Function(_) => "EncodeError",
        Scheme::Tensor(_) | Scheme::Bgv(BgvError::Shape { .. }) => "ShapeError",
        Scheme::Bgv(BgvError::Value { .. } | BgvError::TooMany { .. }) => "EncodeError",
        Scheme::Bgv(BgvError::Noise { .. } | BgvError::Magnitude { .. }) => "LevelError",
        Scheme::Bgv(BgvError::Mixed { .. } | BgvError::Modulus { .. }) => "DtypeError",
        Scheme::Bgv(BgvError::NoKeySwitching { .. }) => "KeyMissing",
        Scheme::Bgv(BgvError::Decrypted) => "DecryptError",
        Scheme::Tfhe(TfheError::Width(_) | TfheError::Digits(_) | TfheError::UnknownPreset(..)) => "ParamsError",
        Scheme::Tfhe(TfheError::Value { .. } | TfheError::Message { .. }) => "EncodeError",
        Scheme::Tfhe(
            TfheError::Formats { .. } | TfheError::Batch { .. } | TfheError::Shift { .. } | TfheError::Entries { .. },
        ) => "ShapeError",
        Scheme::Tfhe(TfheError::SignedIndex(_)) => "DtypeError",
        Scheme::Tfhe(TfheError::OtherKeys { .. } | TfheError::OtherParams { .. }) => "ContextError",
        Scheme::Tfhe(TfheError::Implausible) => "DecryptError",
        Scheme::Bootstrap(_) => "BootstrapError",
        Scheme::Decrypt(_) => "DecryptError",
        Scheme::Wire(_) => "WireError",
        Scheme::Device(_) | Scheme::Entropy(_) => "DeviceFault",
        _ => "LimbwiseError",
    }
}

/// The exception of an error of a reading.
pub(crate) fn of_runtime(error: Runtime) -> PyErr {
    match error {
        Runtime::Scheme(error) => of_scheme(error),
        Runtime::File { ref cause, .. } => exception(class(cause), &error.to_string()),
        Runtime::Likely { .. } => exception("DecryptError", &error.to_string()),
        Runtime::Refused(_) => exception("ParamsError", &error.to_string()),
        Runtime::OtherInputs { .. } | Runtime::Damaged { .. } => exception("WireError", &error.to_string()),
        // No limit that would do is known: the host's memory is too small, or not all configurations were looked at.
        Runtime::Memory { .. } | Runtime::Sizes { .. } => exception("MemoryBudgetError", &error.to_string()),
        Runtime::Machine(_) => exception("MachineError", &error.to_string()),
        other => exception("LimbwiseError", &other.to_string()),
    }
}
