//! Encrypted values as Python holds them.

use crate::error::exception;
use limbwise::ckks::Ciphertext;
use limbwise_device::{Device, Null};
use limbwise_math::sampling::Seed;
use limbwise_runtime::AnyDevice;
use limbwise_runtime::tape::Value;
use pyo3::prelude::{PyErr, pyclass, pymethods};
use std::sync::Arc;

/// A ciphertext of one session: real, or the trace of one.
#[derive(Clone)]
pub(crate) enum Held {
    Live(Arc<Value<AnyDevice>>),
    /// Its number on the tape, and its shape, level and estimate.
    Trace(usize, Arc<Value<Null>>),
}

/// Encrypted values: a batch of messages.
#[pyclass(frozen, name = "Ciphertext", module = "limbwise._limbwise")]
pub(crate) struct PyCiphertext {
    /// Number of the session it belongs to.
    pub(crate) session: u64,
    pub(crate) held: Held,
    /// For one that was just encrypted: the seed of its second half, which makes its file half as long.
    pub(crate) seed: Option<Seed>,
    /// Whether what it says of itself is somebody else's word: it was read from bytes, or computed from such a one.
    pub(crate) claimed: bool,
}

struct Facts {
    level: usize,
    log_scale: f64,
    slots: usize,
    batch: usize,
    bytes: u64,
    peak: f64,
    precision_bits: f64,
    parts: usize,
    has_shadow: bool,
}

fn facts<D: Device>(value: &Value<D>) -> Facts {
    let c: Ciphertext<D> = value.get();
    Facts {
        level: c.level,
        log_scale: c.scale.log2(),
        slots: c.slots,
        batch: c.batch(),
        bytes: c.bytes(),
        peak: c.estimate.peak,
        precision_bits: c.estimate.precision_bits(),
        parts: c.parts.len(),
        has_shadow: c.shadow.is_some(),
    }
}

impl PyCiphertext {
    /// Messages of the batch.
    pub(crate) fn batch_size(&self) -> usize {
        self.facts().batch
    }

    /// Slots of a message.
    pub(crate) fn slot_count(&self) -> usize {
        self.facts().slots
    }

    fn facts(&self) -> Facts {
        match &self.held {
            Held::Live(value) => facts(value),
            Held::Trace(_, value) => facts(value),
        }
    }
}

#[pymethods]
impl PyCiphertext {
    /// Rescales left, as it is held now.
    #[getter]
    fn level(&self) -> usize {
        self.facts().level
    }

    #[getter]
    fn log_scale(&self) -> f64 {
        self.facts().log_scale
    }

    #[getter]
    fn slots(&self) -> usize {
        self.facts().slots
    }

    #[getter]
    fn batch(&self) -> usize {
        self.facts().batch
    }

    #[getter]
    fn nbytes(&self) -> u64 {
        self.facts().bytes
    }

    /// No slot is larger in absolute value.
    #[getter]
    fn peak(&self) -> f64 {
        self.facts().peak
    }

    /// Expected mean precision.
    #[getter]
    fn precision_bits(&self) -> f64 {
        self.facts().precision_bits
    }

    /// Polynomials: two, or three after a product that is not relinearized.
    #[getter]
    fn parts(&self) -> usize {
        self.facts().parts
    }

    /// Whether what it says of itself is somebody else's word.
    #[getter]
    fn claimed(&self) -> bool {
        self.claimed
    }

    #[getter]
    fn has_shadow(&self) -> bool {
        self.facts().has_shadow
    }

    /// Refused: bytes that run code when they are read have no place here.
    fn __reduce_ex__(&self, _protocol: i32) -> Result<(), PyErr> {
        let text = "ciphertexts are not pickled, because unpickling runs code of whoever wrote the bytes: use x.to_bytes() and context.from_bytes(data), or x.save(path) and context.load(path)";
        Err(exception("PickleRefused", text))
    }
}
