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
    /// Its level.
    pub level: usize,
    /// Its scale: slot values times this are the polynomial's.
    pub scale: f64,
    /// Slots packed, a power of two up to N/2.
    pub slots: usize,
    /// Size of the values and error of encoding.
    pub estimate: Estimate,
    /// The values themselves, where they were asked for.
    pub shadow: Option<Shadow>,
}

/// Encrypted values: `Σ parts[i]·s^i ≈ scale·message`. A batch holds independent messages of one shape.
pub struct Ciphertext<D: Device> {
    /// Two polynomials, or three after a multiplication; evaluation domain, over the primes of the level.
    pub parts: Vec<D::Poly>,
    /// Rescales left.
    pub level: usize,
    /// The scale.
    pub scale: f64,
    /// Slots packed.
    pub slots: usize,
    /// Expected size and error.
    pub estimate: Estimate,
    /// What the slots should be, where the operands had shadows.
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
    /// The same with its values beside it, as they were encoded; what it meets then computes on both.
    #[must_use]
    pub fn with_shadow(self, batch: &[Vec<Complex64>]) -> Self {
        let shadow = Some(Shadow::new(batch, self.slots));
        Self { shadow, ..self }
    }

    /// How it is laid out.
    #[must_use]
    pub fn packing(&self) -> Packing {
        Packing { slots: self.slots, level: self.level, scale: self.scale }
    }
}

impl<D: Device> Ciphertext<D> {
    /// The same value in other polynomials.
    #[must_use]
    pub fn with_parts(&self, parts: Vec<D::Poly>) -> Self {
        Self { parts, shadow: self.shadow.clone(), ..*self }
    }

    /// The same polynomials read with another number of slots. With fewer the message must repeat with that period; with
    /// more it does.
    #[must_use]
    pub fn with_slots(self, slots: usize) -> Self {
        let shadow = self.shadow.as_ref().map(|s| s.with_slots(slots));
        Self { slots, shadow, ..self }
    }

    /// Independent messages in it.
    #[must_use]
    pub fn batch(&self) -> usize {
        self.parts[0].shape().batch
    }

    /// The same with what the program knows of the values: no slot is larger than `most` in absolute value. If that
    /// is wrong, the estimate is, and decryption may refuse the result.
    #[must_use]
    pub fn bounded_by(mut self, most: f64) -> Self {
        self.estimate = self.estimate.bounded_by(most);
        self
    }

    /// The same with what was promised of its values, in place of what was measured from them: only this may be told,
    /// so only this is written to files.
    ///
    /// # Errors
    /// [`EncodeError::Promise`] if the values break it, or if products have made errors depend on them.
    pub fn promised(mut self, promise: Promise) -> Result<Self> {
        let measured = self.estimate;
        let broken =
            || EncodeError::Promise { magnitude: measured.magnitude, peak: measured.peak, real: measured.real };
        self.estimate = measured.promised(promise).ok_or_else(broken)?;
        Ok(self)
    }

    /// Bytes of its polynomials.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.parts.iter().map(|p| p.shape().bytes()).sum()
    }
}
