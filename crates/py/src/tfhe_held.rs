//! Encrypted integers and booleans as Python holds them: on a device or of a recording, and what is expected of such.

use crate::error::exception;
use limbwise::tfhe::{Ciphertext, Format, TfheExpectation};
use limbwise_device::{Device, LweHandle as _, Null};
use limbwise_runtime::AnyDevice;
use pyo3::prelude::{PyResult, pyclass, pymethods};

/// A ciphertext on the device of its session.
#[derive(Clone)]
pub(crate) enum Held {
    Live(Ciphertext<AnyDevice>),
    Trace(Ciphertext<Null>),
}

/// A device that sessions compute on.
pub(crate) trait Engine: Device + Sized {
    fn held(ciphertext: Ciphertext<Self>) -> Held;
    fn of(held: &Held) -> Option<&Ciphertext<Self>>;
}

impl Engine for AnyDevice {
    fn held(ciphertext: Ciphertext<Self>) -> Held {
        Held::Live(ciphertext)
    }

    fn of(held: &Held) -> Option<&Ciphertext<Self>> {
        if let Held::Live(ciphertext) = held { Some(ciphertext) } else { None }
    }
}

impl Engine for Null {
    fn held(ciphertext: Ciphertext<Self>) -> Held {
        Held::Trace(ciphertext)
    }

    fn of(held: &Held) -> Option<&Ciphertext<Self>> {
        if let Held::Trace(ciphertext) = held { Some(ciphertext) } else { None }
    }
}

/// Encrypted integers of a format, or booleans, in a row.
#[pyclass(frozen, module = "limbwise._limbwise")]
pub(crate) struct TfheCiphertext {
    pub(crate) held: Held,
    /// None of booleans.
    pub(crate) format: Option<Format>,
    /// Whether what it says of itself is somebody else's word: it was read from bytes, or computed from such a one.
    pub(crate) claimed: bool,
    /// Its number in a recording.
    pub(crate) number: usize,
}

impl TfheCiphertext {
    /// Refuses a number of parts that its values do not have.
    pub(crate) fn divides(&self, parts: usize) -> PyResult<()> {
        let rows = self.rows();
        if parts == 0 || !rows.is_multiple_of(parts) {
            return Err(exception("ShapeError", &format!("{rows} values have no {parts} parts of one size")));
        }
        Ok(())
    }
}

#[pymethods]
impl TfheCiphertext {
    /// Number of values.
    #[getter]
    pub(crate) fn rows(&self) -> usize {
        let batch = match &self.held {
            Held::Live(ciphertext) => ciphertext.lwe().lwe_shape().batch,
            Held::Trace(ciphertext) => ciphertext.batch(),
        };
        batch / self.format.map_or(1, Format::digits)
    }
}

/// What is expected of a result: its range, norm and format.
#[pyclass(frozen, module = "limbwise._limbwise")]
pub(crate) struct TfheExpected {
    pub(crate) expectation: TfheExpectation,
    pub(crate) format: Option<Format>,
}
