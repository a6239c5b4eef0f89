//! Encoding: complex vectors → polynomials, through the canonical embedding.

use super::{
    ciphertext::{Ciphertext, Plaintext},
    estimate::{Estimate, Promise},
};
use crate::{
    error::{EncodeError, LevelError, Result, ScaleError},
    params::Params,
    rlwe::noise,
    supply::{Made, Supply},
};
use limbwise_device::{Basis, Device, Domain, Role, Shape, Wordless};
#[cfg(feature = "client")]
use limbwise_math::rns::Reconstruction;
use limbwise_math::{embedding::Embedding, modulus::Integers};
use limbwise_taint::declassify;
use num_complex::Complex64;
use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU64, Ordering},
};

/// How values are packed into a polynomial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Packing {
    /// Slots, a power of two up to N/2.
    pub slots: usize,
    /// Level of the result.
    pub level: usize,
    /// Scale, 2 … 2^60.
    pub scale: f64,
}

/// The key of an encryption, which determines its noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noise {
    /// Under the public key.
    Public,
    /// Under the secret key: less noise.
    Secret,
}

/// A batch as values that stand somewhere.
pub(crate) fn slices(batch: &[Vec<Complex64>]) -> Vec<&[Complex64]> {
    batch.iter().map(Vec::as_slice).collect()
}

/// Encodes and decodes for one parameter set. Clones share the tables, which are built on first use.
#[derive(Clone, Debug)]
pub struct Encoder {
    params: Params,
    embeddings: Arc<[OnceLock<Embedding>; 17]>,
    /// Number of ciphertexts declared so far; names their errors.
    declared: Arc<AtomicU64>,
}

impl Encoder {
    /// An encoder whose tables are built on first use.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        Self { params: params.clone(), embeddings: Arc::default(), declared: Arc::default() }
    }

    fn embedding(&self, slots: usize) -> &Embedding {
        self.embeddings[slots.trailing_zeros() as usize].get_or_init(|| Embedding::new(slots))
    }

    /// Encodes a batch of vectors; a shorter vector is padded with zeros.
    ///
    /// The transform runs when the device asks for words; a recorder never asks.
    ///
    /// # Errors
    /// [`EncodeError`], [`ScaleError`] or [`LevelError`] for values that cannot be encoded.
    pub fn encode<D: Device>(&self, dev: &D, batch: &[Vec<Complex64>], packing: Packing) -> Result<Plaintext<D>> {
        self.encode_slices(dev, &slices(batch), packing)
    }

    /// [`Self::encode`] for values that stand somewhere else.
    pub(crate) fn encode_slices<D: Device>(
        &self,
        dev: &D,
        batch: &[&[Complex64]],
        packing: Packing,
    ) -> Result<Plaintext<D>> {
        self.supplied(dev, &Made, batch, packing)
    }

    /// [`Self::encode`] with the encoded polynomial from a supply.
    pub(crate) fn encode_from<D: Device>(
        &self,
        dev: &D,
        supply: &dyn Supply<D>,
        batch: &[Vec<Complex64>],
        packing: Packing,
    ) -> Result<Plaintext<D>> {
        self.supplied(dev, supply, &slices(batch), packing)
    }

    fn supplied<D: Device>(
        &self,
        dev: &D,
        supply: &dyn Supply<D>,
        batch: &[&[Complex64]],
        packing: Packing,
    ) -> Result<Plaintext<D>> {
        let estimate = self.estimate(batch, packing)?;
        let Packing { slots, level, scale } = packing;
        let basis = self.params.basis(level);
        let shape = Shape::eval(self.params.ring(), basis).with_batch(batch.len());
        let poly = supply.next(dev, &shape, &|| {
            dev.ntt(self.coefficients(dev, batch.len(), &|at| batch[at].to_vec(), packing, basis))
        })?;
        Ok(Plaintext { poly, level, scale, slots, estimate, shadow: None })
    }

    /// The parameter set it encodes for.
    #[must_use]
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Encoded coefficients of `batch` vectors over any basis of the ring. `values` is called when the device wants the
    /// words of an entry; the values must have passed [`Self::estimate`].
    pub(crate) fn coefficients<D: Device>(
        &self,
        dev: &D,
        batch: usize,
        values: &(dyn Fn(usize) -> Vec<Complex64> + Sync),
        packing: Packing,
        basis: Basis,
    ) -> D::Poly {
        let Packing { slots, scale, .. } = packing;
        let shape = Shape::eval(self.params.ring(), basis).with_batch(batch).with_domain(Domain::Coeff);
        let integers: Vec<OnceLock<Integers>> = (0..batch).map(|_| OnceLock::new()).collect();
        let gap = self.params.max_slots() / slots;
        dev.upload(&shape, Role::Plaintext, &|at, row| {
            let integers = integers[at.batch].get_or_init(|| self.integers(values(at.batch), slots, scale));
            at.modulus.spread(integers, gap, row);
        })
    }

    /// Encodes real vectors.
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub fn encode_real<D: Device>(&self, dev: &D, batch: &[Vec<f64>], packing: Packing) -> Result<Plaintext<D>> {
        let complex: Vec<Vec<Complex64>> =
            batch.iter().map(|row| row.iter().map(|&x| Complex64::new(x, 0.0)).collect()).collect();
        self.encode(dev, &complex, packing)
    }

    /// Size of values and error of their encoding, computed without encoding.
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub fn estimate(&self, batch: &[impl AsRef<[Complex64]>], packing: Packing) -> Result<Estimate> {
        for values in batch.iter().map(AsRef::as_ref) {
            if values.len() > packing.slots {
                return Err(EncodeError::TooMany { got: values.len(), slots: packing.slots }.into());
            }
            // Without an early exit the test takes many values at a time. Its answer is public: whoever encodes learns it.
            if !declassify(values.iter().fold(true, |all, z| all & z.is_finite())) {
                let index = values.iter().position(|z| !z.is_finite()).unwrap_or(0);
                return Err(EncodeError::NotFinite { index, value: values[index].to_string() }.into());
            }
        }
        // Public: a description has the largest value of inputs and their root mean square (SECURITY.md).
        self.bounded(declassify(Promise::of(batch, packing.slots)), packing)
    }

    /// [`Self::estimate`] for values of which only a promise is known.
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub fn bounded(&self, bounds: Promise, packing: Packing) -> Result<Estimate> {
        let Packing { slots, level, scale } = packing;
        let most = self.params.max_slots();
        if !slots.is_power_of_two() || slots > most {
            return Err(EncodeError::Slots(slots, most).into());
        }
        if level > self.params.top_level() {
            return Err(LevelError::Above { op: "encode", wanted: level, level: self.params.top_level() }.into());
        }
        if !(2.0..=2f64.powi(60)).contains(&scale) {
            return Err(ScaleError::Invalid(scale).into());
        }
        let Promise { magnitude, peak: largest, real } = bounds;
        let log_modulus = self.params.log_modulus(level);
        // Coefficients are at most the largest slot; the encoder's integers hold 126 bits.
        if largest > 0.0 && largest.log2() + scale.log2() > (log_modulus - 2.0).min(126.0) {
            return Err(EncodeError::TooLarge { magnitude: largest, log_scale: scale.log2(), log_modulus }.into());
        }
        Ok(Estimate::exact(magnitude).with_peak(largest, real).with_noise(noise::encoding(), slots, scale))
    }

    fn integers(&self, mut values: Vec<Complex64>, slots: usize, scale: f64) -> Integers {
        values.resize(slots, Complex64::default());
        Integers::nearest(&self.embedding(slots).to_coefficients(&values), scale)
    }

    /// Declares the ciphertext that encrypting the values would give, on a device that holds no words.
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub fn declare<D: Wordless>(&self, dev: &D, batch: &[Vec<Complex64>], packing: Packing) -> Result<Ciphertext<D>> {
        let encoded = self.estimate(batch, packing)?;
        Ok(self.declared(dev, batch.len(), encoded, packing, Noise::Public))
    }

    /// Declares a batch of ciphertexts whose values are known by a promise alone.
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub fn declare_bounded<D: Wordless>(
        &self,
        dev: &D,
        batch: usize,
        bounds: Promise,
        packing: Packing,
        noise: Noise,
    ) -> Result<Ciphertext<D>> {
        Ok(self.declared(dev, batch, self.bounded(bounds, packing)?, packing, noise))
    }

    fn declared<D: Wordless>(
        &self,
        dev: &D,
        batch: usize,
        encoded: Estimate,
        packing: Packing,
        noise: Noise,
    ) -> Ciphertext<D> {
        let noise = match noise {
            Noise::Public => noise::public_encryption(&self.params),
            Noise::Secret => noise::secret_encryption(&self.params),
        };
        let name = self.declared.fetch_add(1, Ordering::Relaxed);
        let estimate = encoded.encrypted(noise, packing.slots, packing.scale, name);
        let shape = Shape::eval(self.params.ring(), self.params.basis(packing.level)).with_batch(batch);
        let part = || dev.declare(&shape, Role::Ciphertext);
        let Packing { slots, level, scale } = packing;
        Ciphertext { parts: vec![part(), part()], level, scale, slots, estimate, shadow: None }
    }

    /// The slots of a polynomial whose residues (limb-major, coefficient order) are given.
    #[cfg(feature = "client")]
    pub(crate) fn decode(&self, words: &[u64], packing: Packing) -> Vec<Complex64> {
        let ring = self.params.ring();
        let moduli = ring.moduli_of(self.params.basis(packing.level));
        let crt = Reconstruction::new(&moduli);
        let n = ring.n();
        let gap = self.params.max_slots() / packing.slots;
        let mut residues = vec![0; moduli.len()];
        // Exact coefficients carry the noise, which is the key's: slots are what a caller gets.
        let coefficients = (0..2 * packing.slots)
            .map(|k| {
                for (r, limb) in residues.iter_mut().zip(words.chunks_exact(n)) {
                    *r = limb[k * gap];
                }
                crt.centered_f64(&residues) / packing.scale
            })
            .collect::<Vec<f64>>();
        let coefficients = zeroize::Zeroizing::new(coefficients);
        self.embedding(packing.slots).to_slots(&coefficients)
    }
}
