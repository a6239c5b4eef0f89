//! The memory that a device needs during an operation. Each device states its own; [`Null`](crate::Null) and plans ask.
//!
//! Rows are limbs of one batch entry. For a composite that it overrides, a device states how many rows its
//! implementation holds beside the result at most. For the others the default body runs and its rows are counted.

use crate::{
    lwe::{Gadget, LweShape},
    ops::{Handle, Rotation, Terms, Weight},
    region::Region,
    ring::{Basis, Ring, Shape},
};
use std::{fmt::Debug, sync::Arc};

/// How a device implements a composite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// The default body, in the device's primitives.
    Default,
    /// The device's own implementation.
    Own {
        /// Peak number of rows beyond those of the result.
        beside: usize,
    },
}

/// The shapes of a key switch.
#[derive(Clone, Copy, Debug)]
pub struct KeySwitch<'a> {
    /// Shape of the polynomial to switch.
    pub c: &'a Shape,
    /// Digits of the key.
    pub digits: &'a [Basis],
    /// Special primes of the key.
    pub special: Basis,
    /// Batch size of the result.
    pub batch: usize,
    /// For each half, whether a polynomial is added to it.
    pub onto: [bool; 2],
    /// Basis of the result.
    pub to: Basis,
}

impl KeySwitch<'_> {
    /// The primes that the key switch divides by.
    #[must_use]
    pub fn dropped(&self) -> Basis {
        (self.c.basis | self.special) - self.to
    }
}

/// Sums of rotations, as far as their memory depends on it.
#[derive(Clone, Copy, Debug)]
pub struct RotatedSums<'a> {
    /// Shape of the second half of the ciphertext.
    pub c: &'a Shape,
    /// Number of digits of the keys; 0 without a rotation.
    pub digits: usize,
    /// Whether a weight is given as one limb.
    pub one_limb: bool,
    /// Whether all entries of a batch share each weight.
    pub shared: bool,
    /// Whether rotations are added as they are.
    pub ones: Ones,
}

/// How many terms of sums are added as they are ([`Weight::One`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ones {
    /// None of them.
    None,
    /// Some of them.
    Some,
    /// All of them.
    All,
}

impl<'a> RotatedSums<'a> {
    /// The call with these operands.
    #[must_use]
    pub fn new<P: Handle>(c: &'a Shape, rotations: &[Rotation<P>], sums: &[Terms<'_, P>]) -> Self {
        let weights = || sums.iter().flatten().map(|(_, weight)| *weight);
        let ones = weights().filter(|weight| matches!(weight, Weight::One)).count();
        Self {
            c,
            digits: rotations.first().map_or(0, |r| r.key.digits.len()),
            one_limb: weights().any(|weight| matches!(weight, Weight::OneLimb(_))),
            shared: weights().filter_map(Weight::poly).all(|poly| poly.shape().batch == 1),
            ones: match ones {
                0 => Ones::None,
                all if all == weights().count() => Ones::All,
                _ => Ones::Some,
            },
        }
    }

    /// The region of the call.
    #[must_use]
    pub fn region(&self) -> Region {
        if self.ones == Ones::All { Region::AddedRotations } else { Region::RotatedSums }
    }
}

/// The shapes of a blind rotation.
#[derive(Clone, Copy, Debug)]
pub struct BlindRotation<'a> {
    /// Shape of the test polynomial.
    pub test: &'a Shape,
    /// Shape of the exponents.
    pub exponents: LweShape,
    /// Polynomials per GLWE ciphertext.
    pub components: usize,
    /// Gadget of the key.
    pub gadget: Gadget,
}

/// The memory that a device needs. The defaults describe a device that overrides nothing and stores 64-bit words.
pub trait Footprint: Debug + Send + Sync {
    /// Kind of device.
    fn name(&self) -> &'static str {
        "default bodies"
    }

    /// Size in bytes of a row of 2^`log_n` words.
    fn row_bytes(&self, log_n: u32) -> u64 {
        8 << log_n
    }

    /// Size in bytes of a batch of LWE ciphertexts.
    fn lwe_bytes(&self, shape: LweShape) -> u64 {
        shape.bytes()
    }

    /// Rows that the device's threads hold during a key switch of `digits` digits. They are allocated once and are not
    /// counted in [`Body::Own`].
    fn scratch_rows(&self, _threads: usize, _digits: usize) -> usize {
        0
    }

    /// Size in bytes of the transform tables of a ring.
    fn table_bytes(&self, _ring: &Ring) -> u64 {
        0
    }

    /// [`Device::mod_up`](crate::Device::mod_up) of `digits` digits.
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

    /// [`Device::key_switch_undivided`](crate::Device::key_switch_undivided) by a key of `digits` digits.
    fn key_switch_undivided(&self, _c: &Shape, _digits: usize) -> Body {
        Body::Default
    }

    /// [`Device::rotated_sums`](crate::Device::rotated_sums).
    fn rotated_sums(&self, _call: &RotatedSums<'_>) -> Body {
        Body::Default
    }

    /// [`Device::extend_limb`](crate::Device::extend_limb).
    fn extend_limb(&self, _a: &Shape, _to: Basis) -> Body {
        Body::Default
    }

    /// One sum of [`Device::weighted_sums`](crate::Device::weighted_sums). Each entry is a term: the rows of a weight
    /// that is extended from one limb, or 0 for a weight in evaluation domain.
    fn weighted_sum(&self, _extended: &[usize]) -> Body {
        Body::Default
    }

    /// [`Device::tensor`](crate::Device::tensor).
    fn tensor(&self) -> Body {
        Body::Default
    }

    /// [`Device::linear_combination`](crate::Device::linear_combination).
    fn linear_combination(&self) -> Body {
        Body::Default
    }

    /// [`Device::matrix_product`](crate::Device::matrix_product).
    fn matrix_product(&self) -> Body {
        Body::Default
    }

    /// [`Device::blind_rotate`](crate::Device::blind_rotate).
    fn blind_rotate(&self, _call: &BlindRotation<'_>) -> Body {
        Body::Default
    }

    /// Converts a count by the meter of [`Null`](crate::Null), in 64-bit words, to the bytes that this device stores
    /// for rows of 2^`log_n` words.
    fn stored_bytes(&self, log_n: u32, bytes: u64) -> u64 {
        bytes / (8 << log_n) * self.row_bytes(log_n)
    }
}

/// A shared footprint.
pub type SharedFootprint = Arc<dyn Footprint>;

/// The footprint of a device that overrides no composite.
#[derive(Clone, Copy, Debug, Default)]
pub struct DefaultBodies;

impl Footprint for DefaultBodies {}
