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
#[cfg(feature = "client")]
use limbwise_math::wide::Wide;
use limbwise_math::{embedding::Embedding, modulus::Integers, wide::WideComplex};
use limbwise_taint::declassify;
use num_complex::Complex64;
use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU64, Ordering},
};

/// Largest scale of an encoding whose transform is computed in double precision: that errs by 2^−51 of the largest value,
/// which above is more than the rounding to integers.
const MOST_IN_F64: f64 = (1u64 << 57) as f64;
/// Largest scale of an encoding in a set that is not wide: a little more than its scales have, for maps that also divide.
const MOST_NARROW: f64 = (1u128 << 64) as f64;
/// Largest scale of an encoding in numbers of two floats: 26 bits below the encoder's integers.
const MOST_WIDE: f64 = (1u128 << 100) as f64;

/// How values are packed into a polynomial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Packing {
    /// Slots, a power of two up to N/2.
    pub slots: usize,
    /// Level of the result.
    pub level: usize,
    /// Scale, 2 … 2^64, in wide sets to 2^100.
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

/// Share of what a modulus holds that a message may use, where it is not known to fit.
#[cfg(feature = "client")]
const FULL: f64 = 0.75;

/// The slots of a message.
#[cfg(feature = "client")]
pub(crate) struct Decoded {
    /// The nearest f64 numbers.
    pub(crate) slots: Vec<Complex64>,
    /// What these leave of the values at a wide set's scale; else nothing.
    pub(crate) rest: Vec<Complex64>,
    /// Whether a coefficient comes near the largest that the modulus holds.
    pub(crate) full: bool,
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
    /// The same in numbers of two floats, for wide sets.
    wide: Arc<[OnceLock<Embedding<WideComplex>>; 17]>,
    /// Number of ciphertexts declared so far; names their errors.
    declared: Arc<AtomicU64>,
}

impl Encoder {
    /// An encoder whose tables are built on first use.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        Self { params: params.clone(), embeddings: Arc::default(), wide: Arc::default(), declared: Arc::default() }
    }

    fn wide_embedding(&self, slots: usize) -> &Embedding<WideComplex> {
        self.wide[slots.trailing_zeros() as usize].get_or_init(|| Embedding::new(slots))
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
        let slots = packing.slots;
        let shape = Shape::eval(self.params.ring(), basis).with_batch(batch).with_domain(Domain::Coeff);
        let integers: Vec<OnceLock<Integers>> = (0..batch).map(|_| OnceLock::new()).collect();
        let gap = self.params.max_slots() / slots;
        dev.upload(&shape, Role::Plaintext, &|at, row| {
            let integers = integers[at.batch].get_or_init(|| self.integers(values(at.batch), packing));
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
        let largest_scale = if self.params.is_wide() { MOST_WIDE } else { MOST_NARROW };
        if !(2.0..=largest_scale).contains(&scale) {
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

    fn integers(&self, mut values: Vec<Complex64>, Packing { slots, level, scale }: Packing) -> Integers {
        values.resize(slots, Complex64::default());
        if scale <= MOST_IN_F64 {
            return Integers::nearest(&self.embedding(slots).to_coefficients(&values), scale);
        }
        let values: Vec<WideComplex> =
            values.iter().map(|z| WideComplex { re: z.re.into(), im: z.im.into() }).collect();
        let coefficients = self.wide_embedding(slots).to_coefficients(&values);
        Integers::nearest_wide(&coefficients, self.params.exact_scale(scale, level))
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
    pub(crate) fn decode(&self, words: &[u64], packing: Packing) -> Decoded {
        if self.params.is_wide() && packing.scale > MOST_IN_F64 {
            return self.decode_wide(words, packing);
        }
        let crt = self.reconstruction(packing.level);
        // Exact coefficients carry the noise, which is the key's: slots are what a caller gets.
        let coefficients: Vec<f64> =
            self.residues(words, packing).map(|residues| crt.centered_f64(&residues) / packing.scale).collect();
        let coefficients = zeroize::Zeroizing::new(coefficients);
        let full = self.full(coefficients.iter().copied(), packing);
        Decoded { slots: self.embedding(packing.slots).to_slots(&coefficients), rest: Vec::new(), full }
    }

    /// Whether a coefficient is near where it would wrap. All are looked at, without branches.
    #[cfg(feature = "client")]
    fn full(&self, coefficients: impl Iterator<Item = f64>, packing: Packing) -> bool {
        let most = FULL * self.params.room(packing.level, packing.scale);
        coefficients.fold(false, |any, x| any | (x.abs() > most))
    }

    #[cfg(feature = "client")]
    fn decode_wide(&self, words: &[u64], packing: Packing) -> Decoded {
        let crt = self.reconstruction(packing.level);
        let scale = self.params.exact_scale(packing.scale, packing.level);
        let coefficient = |residues: zeroize::Zeroizing<Vec<u64>>| {
            // Larger integers than 127 bits lie above any message that can be encoded.
            let mut words = zeroize::Zeroizing::new([0; 2]);
            crt.centered_words(&residues, &mut *words);
            let integer = (u128::from(words[1]) << 64 | u128::from(words[0])).cast_signed();
            Wide::of_integer(integer).over(scale)
        };
        let coefficients: Vec<Wide> = self.residues(words, packing).map(coefficient).collect();
        let full = self.full(coefficients.iter().map(|x| x.high), packing);
        let slots = self.wide_embedding(packing.slots).to_slots(&coefficients);
        let part = |of: fn(Wide) -> f64| slots.iter().map(|z| Complex64::new(of(z.re), of(z.im))).collect();
        Decoded { slots: part(|x| x.high), rest: part(|x| x.low), full }
    }

    #[cfg(feature = "client")]
    fn reconstruction(&self, level: usize) -> Reconstruction {
        Reconstruction::new(&self.params.ring().moduli_of(self.params.basis(level)))
    }

    /// The residues of each coefficient that a packing uses.
    #[cfg(feature = "client")]
    fn residues<'w>(
        &self,
        words: &'w [u64],
        packing: Packing,
    ) -> impl Iterator<Item = zeroize::Zeroizing<Vec<u64>>> + 'w {
        let n = self.params.ring().n();
        let gap = self.params.max_slots() / packing.slots;
        let residues = move |k: usize| words.chunks_exact(n).map(|limb| limb[k * gap]).collect::<Vec<u64>>();
        (0..2 * packing.slots).map(move |k| zeroize::Zeroizing::new(residues(k)))
    }
}
