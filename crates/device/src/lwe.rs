//! The second kind of value: LWE ciphertexts, which are vectors of words, and the keys of TFHE's composites.

use crate::ops::Device;
use limbwise_math::gadget::Decomposition;

/// The shape of a batch of LWE ciphertexts: `batch × (dimension + 1)` words modulo `modulus`, mask first, body last. The
/// phase is `b + Σ a_i·s_i`, as that of a pair of polynomials is `b + a·s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LweShape {
    /// Words of the mask, at least 1.
    pub dimension: usize,
    /// Any number from 2 to 2^62, powers of two included.
    pub modulus: u64,
    /// Number of independent ciphertexts, at least 1.
    pub batch: usize,
}

impl LweShape {
    /// The same shape with another batch size.
    #[must_use]
    pub fn with_batch(self, batch: usize) -> Self {
        Self { batch, ..self }
    }

    /// The same shape with another mask length.
    #[must_use]
    pub fn with_dimension(self, dimension: usize) -> Self {
        Self { dimension, ..self }
    }

    /// The same shape modulo another number.
    #[must_use]
    pub fn with_modulus(self, modulus: u64) -> Self {
        Self { modulus, ..self }
    }

    /// Words of one ciphertext.
    #[must_use]
    pub fn words(self) -> usize {
        self.dimension + 1
    }

    /// Bytes of all words.
    #[must_use]
    pub fn bytes(self) -> u64 {
        8 * (self.batch * self.words()) as u64
    }

    /// Whether all fields are in range.
    #[must_use]
    pub fn is_valid(self) -> bool {
        self.dimension > 0 && self.batch > 0 && (2..=1 << 62).contains(&self.modulus)
    }
}

/// LWE ciphertexts on a device.
pub trait LweHandle: Clone {
    /// Shape of the ciphertexts.
    fn lwe_shape(&self) -> LweShape;
}

/// Writes the words of one batch entry, each below the modulus: mask, then body. Called once per entry, from any
/// thread, in any order; a device that holds no words never calls it.
pub type LweFill<'a> = &'a (dyn Fn(usize, &mut [u64]) + Sync);

/// Rounding of [`Device::lwe_mod_switch`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// Rounds each word to the nearest: [`limbwise_math::gadget::mod_switch`].
    Nearest,
    /// Also corrects the body so that the phase's error has mean zero under a binary secret:
    /// [`limbwise_math::gadget::mod_switch_centered`].
    CenteredForBinary,
}

/// A small signed base: digits in [−2^(base_log − 1), 2^(base_log − 1)), see [`Decomposition`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Gadget {
    /// log₂ of the base.
    pub base_log: u32,
    /// Number of digits.
    pub levels: u32,
}

impl Gadget {
    /// The decomposition of words below a modulus.
    ///
    /// # Panics
    /// If the digits do not fit the modulus.
    #[must_use]
    pub fn of(self, modulus: u64) -> Decomposition {
        Decomposition::new(modulus, self.base_log, self.levels)
    }

    /// Whether the digits fit the bit length of a modulus.
    #[must_use]
    pub fn fits(self, modulus: u64) -> bool {
        let bits = u64::from(64 - modulus.saturating_sub(1).leading_zeros());
        self.base_log > 0 && self.levels > 0 && u64::from(self.base_log) * u64::from(self.levels) <= bits
    }

    /// Number of digits.
    #[must_use]
    pub fn len(self) -> usize {
        self.levels as usize
    }

    /// Whether the number of digits is zero.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.levels == 0
    }
}

/// A batch of GGSW ciphertexts under a key of k polynomials. Row `c·levels + j` encrypts the message times the j-th
/// factor of the gadget times component c of the key, where component 0 is 1. Each row has a body and k masks of one
/// limb, in evaluation domain.
#[derive(Clone, Debug)]
pub struct Ggsw<P> {
    /// Base and number of digits.
    pub gadget: Gadget,
    /// `(k + 1)·levels` rows of `k + 1` polynomials, body first.
    pub rows: Vec<Vec<P>>,
}

impl<P> Ggsw<P> {
    /// Polynomials per ciphertext: k + 1.
    #[must_use]
    pub fn components(&self) -> usize {
        self.rows.first().map_or(0, Vec::len)
    }
}

impl<P: Clone> Ggsw<P> {
    /// One batch entry, as views.
    pub fn entry<D: Device<Poly = P> + ?Sized>(&self, dev: &D, i: usize) -> Self {
        let cut = |row: &Vec<P>| row.iter().map(|p| dev.split(p, i, i + 1)).collect();
        Self { gadget: self.gadget, rows: self.rows.iter().map(cut).collect() }
    }
}

/// A key that switches LWE ciphertexts between secrets: row `i·levels + j` encrypts word i of the old secret times the
/// j-th factor of the gadget, under the new secret.
#[derive(Clone, Debug)]
pub struct LweSwitchKey<L> {
    /// Base and number of digits.
    pub gadget: Gadget,
    /// `dimension·levels` ciphertexts under the new secret.
    pub rows: L,
}
