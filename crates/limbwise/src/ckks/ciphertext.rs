//! Plaintexts and ciphertexts: polynomials in evaluation domain with their level, scale and packing.

use super::{
    encoder::Packing,
    estimate::{Estimate, Promise},
    shadow::Shadow,
};
use crate::error::{EncodeError, Result};
use limbwise_device::{Device, Handle};
use num_complex::Complex64;

/// Encoded clear values, one polynomial a batch entry.
pub struct Plaintext<D: Device> {
    /// The polynomial, evaluation domain, over the primes of the level.
    pub poly: D::Poly,
    /// Level of the polynomial.
    pub level: usize,
    /// Scale: the polynomial encodes the slot values times this.
    pub scale: f64,
    /// Slots packed, a power of two up to N/2.
    pub slots: usize,
    /// Size of the values and error of the encoding.
    pub estimate: Estimate,
    /// The clear values, if shadows are enabled.
    pub shadow: Option<Shadow>,
}

/// Encrypted values: `Σ parts[i]·s^i ≈ scale·message`. A batch holds independent messages of one shape.
pub struct Ciphertext<D: Device> {
    /// Two polynomials, or three after a multiplication; evaluation domain, over the primes of the level.
    pub parts: Vec<D::Poly>,
    /// Level: how many rescales are left.
    pub level: usize,
    /// Scale: the phase encodes the slot values times this.
    pub scale: f64,
    /// Slots packed, a power of two up to N/2.
    pub slots: usize,
    /// Expected size and error.
    pub estimate: Estimate,
    /// Clear values that the slots should have, if the operands had shadows.
    pub shadow: Option<Shadow>,
}

impl<D: Device> Clone for Ciphertext<D> {
    /// Another handle on the same polynomials; no words are copied.
    fn clone(&self) -> Self {
        self.with_parts(self.parts.clone())
    }
}

impl<D: Device> Clone for Plaintext<D> {
    /// Another handle on the same polynomial.
    fn clone(&self) -> Self {
        Self { poly: self.poly.clone(), shadow: self.shadow.clone(), ..*self }
    }
}

impl<D: Device> Plaintext<D> {
    /// Attaches the encoded values as a shadow; later operations compute on both.
    #[must_use]
    pub fn with_shadow(self, batch: &[Vec<Complex64>]) -> Self {
        let shadow = Some(Shadow::new(batch, self.slots));
        Self { shadow, ..self }
    }

    /// Level, scale and slot count.
    #[must_use]
    pub fn packing(&self) -> Packing {
        Packing { slots: self.slots, level: self.level, scale: self.scale }
    }
}

impl<D: Device> Ciphertext<D> {
    /// The same metadata with other polynomials.
    #[must_use]
    pub fn with_parts(&self, parts: Vec<D::Poly>) -> Self {
        Self { parts, shadow: self.shadow.clone(), ..*self }
    }

    /// The same polynomials read with another slot count. With fewer slots the message must repeat with that period;
    /// with more it repeats by itself, and shows more of the noise.
    #[must_use]
    pub fn with_slots(self, slots: usize) -> Self {
        let shadow = self.shadow.as_ref().map(|s| s.with_slots(slots));
        let estimate = self.estimate.read_with_slots(self.slots, slots);
        Self { slots, shadow, estimate, ..self }
    }

    /// [`Self::with_slots`] for copies that meet in sums: the error is what they have in common. What each copy's noise has of
    /// its own averages out, where a sum of rows multiplies it as if it were the same in all.
    #[must_use]
    pub fn as_copies(self, slots: usize) -> Self {
        let estimate = self.estimate;
        Self { estimate, ..self.with_slots(slots) }
    }

    /// What [`Self::with_slots`] widened, read with its own slots again ([`Estimate::narrowed`]).
    #[must_use]
    pub fn narrowed(self, slots: usize) -> Self {
        let estimate = self.estimate.narrowed(self.slots, slots);
        Self { estimate, ..self.with_slots(slots) }
    }

    /// Number of independent messages.
    #[must_use]
    pub fn batch(&self) -> usize {
        self.parts[0].shape().batch
    }

    /// Tightens the bound on the slots' absolute values to `most`. If the bound is wrong, so is the estimate, and
    /// decryption may refuse the result.
    #[must_use]
    pub fn bounded_by(mut self, most: f64) -> Self {
        self.estimate = self.estimate.bounded_by(most);
        self
    }

    /// States the root mean square of the values where the program knows it better than the rules of sums; the expected
    /// error of what is computed from them follows.
    #[must_use]
    pub fn with_magnitude(mut self, magnitude: f64) -> Self {
        self.estimate = self.estimate.with_magnitude(magnitude);
        self
    }

    /// Replaces the measured size of the values by the promise. Only a promise is independent of the data, so only this
    /// is written to files.
    ///
    /// # Errors
    /// [`EncodeError::Promise`] if the values break the promise, or if errors already depend on the values through
    /// products.
    pub fn with_promise(mut self, promise: Promise) -> Result<Self> {
        let measured = self.estimate;
        let broken =
            || EncodeError::Promise { magnitude: measured.magnitude, peak: measured.peak, real: measured.real };
        self.estimate = measured.with_promise(promise).ok_or_else(broken)?;
        Ok(self)
    }

    /// Size of the polynomials in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.parts.iter().map(|p| p.shape().bytes()).sum()
    }
}
