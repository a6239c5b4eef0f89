//! Encrypted integers as Python holds them: numbers on a device or of a recording, and what is expected of such.

use crate::integers_call::Numbers;
use limbwise::{
    bgv::{BgvExpectation, Ciphertext, Magnitude},
    wire::Fingerprint,
};
use limbwise_cpu::Cpu;
use limbwise_device::Null;
use pyo3::prelude::{pyclass, pymethods};

/// Ciphertexts on the device of their session.
pub(crate) enum Held {
    Live(Numbers<Cpu>),
    Trace(Numbers<Null>),
}

/// Applies one expression to the numbers on either device.
macro_rules! on_held {
    ($held:expr, $numbers:ident => $does:expr) => {
        match $held {
            Held::Live($numbers) => $does,
            Held::Trace($numbers) => $does,
        }
    };
}

/// A batch of encrypted messages.
#[pyclass(frozen, name = "IntegerCiphertext", module = "limbwise._limbwise")]
pub(crate) struct IntegerCiphertext {
    pub(crate) held: Held,
    /// The keys that it belongs to.
    pub(crate) keys: Fingerprint,
    /// Whether what it says of itself is somebody else's word: it was read from bytes, or computed from such a one.
    pub(crate) claimed: bool,
    /// Its number in a recording.
    pub(crate) number: usize,
}

#[pymethods]
impl IntegerCiphertext {
    #[getter]
    fn level(&self) -> usize {
        on_held!(&self.held, numbers => numbers.first().level)
    }

    #[getter]
    fn batch(&self) -> usize {
        on_held!(&self.held, numbers => numbers.first().batch())
    }

    #[getter]
    fn noise_bits(&self) -> f64 {
        on_held!(&self.held, numbers => numbers.residues.iter().map(|one| one.noise.bits()).fold(0.0, f64::max))
    }

    #[getter]
    fn bytes(&self) -> u64 {
        on_held!(&self.held, numbers => numbers.residues.iter().map(Ciphertext::bytes).sum())
    }

    /// log₂ of the largest absolute value of words; none for integers modulo t.
    #[getter]
    fn word_bits(&self) -> Option<f64> {
        on_held!(&self.held, numbers => numbers.magnitude.map(Magnitude::bits))
    }
}

/// What is expected of a result: the shape and noise of each residue, and how large the integers are.
#[pyclass(frozen, module = "limbwise._limbwise")]
pub(crate) struct IntegerExpected(pub(crate) Vec<BgvExpectation>, pub(crate) Option<Magnitude>);
