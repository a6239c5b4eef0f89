//! What a device takes while it computes. Each device answers for itself; [`Null`](crate::Null) and plans ask.
//!
//! Rows are limbs of one batch entry. A device answers for the composites it overrides: how many rows its own form holds
//! beside the result at most. For the others the default body is run, whose rows are counted as it takes them.

use crate::{
    lwe::{Gadget, LweShape},
    ring::{Basis, Ring, Shape},
};
use std::{fmt::Debug, sync::Arc};

/// How a device runs a composite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// The default body, on the device's own operations.
    Default,
    /// A form of its own.
    Own {
        /// Rows held at most beyond those of the result.
        beside: usize,
    },
}

/// A key switch in shapes.
#[derive(Clone, Copy, Debug)]
pub struct KeySwitch<'a> {
    /// Of the polynomial that is switched.
    pub c: &'a Shape,
    /// Of the key.
    pub digits: &'a [Basis],
    /// Special primes of the key.
    pub special: Basis,
    /// Batch of the result.
    pub batch: usize,
    /// Whether each half is added to something.
    pub onto: [bool; 2],
    /// Basis of the result.
    pub to: Basis,
}

impl KeySwitch<'_> {
    /// Primes that the switch divides by.
    #[must_use]
    pub fn dropped(&self) -> Basis {
        (self.c.basis | self.special) - self.to
    }
}

/// A blind rotation in shapes.
#[derive(Clone, Copy, Debug)]
pub struct BlindRotation<'a> {
    /// Of the test polynomial.
    pub test: &'a Shape,
    /// Of the exponents.
    pub exponents: LweShape,
    /// Polynomials of a GLWE ciphertext.
    pub components: usize,
    /// Digits of the key.
    pub gadget: Gadget,
}

/// What a device takes. Everything has an answer: that of a device which overrides nothing and stores 64-bit words.
pub trait Footprint: Debug + Send + Sync {
    /// The kind of device.
    fn name(&self) -> &'static str {
        "default bodies"
    }

    /// Bytes of a row of 2^`log_n` words.
    fn row_bytes(&self, log_n: u32) -> u64 {
        8 << log_n
    }

    /// Bytes of LWE ciphertexts.
    fn lwe_bytes(&self, shape: LweShape) -> u64 {
        shape.bytes()
    }

    /// Rows that the threads of a device hold in a key switch of so many digits: taken once, and not among those of
    /// [`Body::Own`].
    fn scratch_rows(&self, _threads: usize, _digits: usize) -> usize {
        0
    }

    /// Bytes of the tables of a ring's transforms.
    fn table_bytes(&self, _ring: &Ring) -> u64 {
        0
    }

    /// [`Device::mod_up`](crate::Device::mod_up) of so many digits.
    fn mod_up(&self, _c: &Shape, _digits: usize) -> Body {
        Body::Default
    }

    /// [`Device::mod_down`](crate::Device::mod_down).
    fn mod_down(&self, _a: &Shape, _to: Basis) -> Body {
        Body::Default
    }

    /// [`Device::rescale`](crate::Device::rescale).
    fn rescale(&self, _a: &Shape, _to: Basis) -> Body {
        Body::Default
    }

    /// [`Device::key_switch`](crate::Device::key_switch): nothing is added, and `to` is the basis of `c`.
    fn key_switch(&self, _call: &KeySwitch<'_>) -> Body {
        Body::Default
    }

    /// [`Device::key_switch_onto`](crate::Device::key_switch_onto).
    fn key_switch_onto(&self, _call: &KeySwitch<'_>) -> Body {
        Body::Default
    }

    /// [`Device::extend_limb`](crate::Device::extend_limb).
    fn extend_limb(&self, _a: &Shape, _to: Basis) -> Body {
        Body::Default
    }

    /// One sum of [`Device::weighted_sums`](crate::Device::weighted_sums), by its terms: rows of each weight that is
    /// extended from one limb, 0 for a weight of values.
    fn weighted_sum(&self, _extended: &[usize]) -> Body {
        Body::Default
    }

    /// [`Device::linear_combination`](crate::Device::linear_combination).
    fn linear_combination(&self) -> Body {
        Body::Default
    }

    /// [`Device::blind_rotate`](crate::Device::blind_rotate).
    fn blind_rotate(&self, _call: &BlindRotation<'_>) -> Body {
        Body::Default
    }

    /// Bytes of rows of 2^`log_n` words as this device stores them, of so many as 64-bit words: what a meter of [`Null`](crate::Null)
    /// has counted.
    fn stored_bytes(&self, log_n: u32, bytes: u64) -> u64 {
        bytes / (8 << log_n) * self.row_bytes(log_n)
    }
}

/// A footprint that many may hold.
pub type SharedFootprint = Arc<dyn Footprint>;

/// That of a device which overrides no composite.
#[derive(Clone, Copy, Debug, Default)]
pub struct DefaultBodies;

impl Footprint for DefaultBodies {}
