//! The second kind of value: LWE ciphertexts, plain vectors of words, and what TFHE's composites are given.

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
    /// The same with another batch.
    #[must_use]
    pub fn with_batch(self, batch: usize) -> Self {
        Self { batch, ..self }
    }

    /// The same with a mask of another length.
    #[must_use]
    pub fn with_dimension(self, dimension: usize) -> Self {
        Self { dimension, ..self }
    }

    /// The same modulo another number.
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

    /// Whether this is the shape of something.
    #[must_use]
    pub fn is_valid(self) -> bool {
        self.dimension > 0 && self.batch > 0 && (2..=1 << 62).contains(&self.modulus)
    }
}

/// LWE ciphertexts on a device.
pub trait LweHandle: Clone {
    /// Their shape.
    fn lwe_shape(&self) -> LweShape;
}

/// Writes the words of one entry of a batch, each below the modulus: mask, then body. Called once an entry, from any
/// thread, in any order; never by a device that holds no words.
pub type LweFill<'a> = &'a (dyn Fn(usize, &mut [u64]) + Sync);

/// How [`Device::lwe_mod_switch`] rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// Each word to the nearest: [`limbwise_math::gadget::mod_switch`].
    Nearest,
    /// And the body so that the phase under a binary secret gets no mean: [`limbwise_math::gadget::mod_switch_centred`].
    CentredForBinary,
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
    /// The decomposition of words of a modulus.
    ///
    /// # Panics
    /// If the digits do not fit the modulus.
    #[must_use]
    pub fn of(self, modulus: u64) -> Decomposition {
        Decomposition::new(modulus, self.base_log, self.levels)
    }

    /// Whether the digits fit the bits of a modulus.
    #[must_use]
    pub fn fits(self, modulus: u64) -> bool {
        let bits = u64::from(64 - modulus.saturating_sub(1).leading_zeros());
        self.base_log > 0 && self.levels > 0 && u64::from(self.base_log) * u64::from(self.levels) <= bits
    }

    /// Number of digits as a length.
    #[must_use]
    pub fn len(self) -> usize {
        self.levels as usize
    }

    /// Whether there are no digits.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.levels == 0
    }
}

/// GGSW ciphertexts, as many as the batch of the polynomials, under a key of k polynomials: row `c·levels + j` encrypts
/// the message times the j-th factor of the gadget times component c of the key, where component 0 is 1. Each row has a
/// body and k masks, one limb, evaluation domain.
#[derive(Clone, Debug)]
pub struct Ggsw<P> {
    /// Base and levels.
    pub gadget: Gadget,
    /// `(k + 1)·levels` rows of `k + 1` polynomials, body first.
    pub rows: Vec<Vec<P>>,
}

impl<P> Ggsw<P> {
    /// k + 1: polynomials of a ciphertext.
    #[must_use]
    pub fn components(&self) -> usize {
        self.rows.first().map_or(0, Vec::len)
    }
}

impl<P: Clone> Ggsw<P> {
    /// One of the batch, as views.
    pub fn entry<D: Device<Poly = P> + ?Sized>(&self, dev: &D, i: usize) -> Self {
        let cut = |row: &Vec<P>| row.iter().map(|p| dev.split(p, i, i + 1)).collect();
        Self { gadget: self.gadget, rows: self.rows.iter().map(cut).collect() }
    }
}

/// A key that switches LWE ciphertexts from one secret to another: entry `i·levels + j` of the rows encrypts word i of the
/// old secret times the j-th factor of the gadget, under the new one.
#[derive(Clone, Debug)]
pub struct LweSwitchKey<L> {
    /// Base and levels.
    pub gadget: Gadget,
    /// `dimension·levels` ciphertexts under the new secret.
    pub rows: L,
}
