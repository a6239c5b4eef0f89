//! Moving slots: rotations, conjugation, and sums built from them.

use super::{
    ciphertext::Ciphertext,
    evaluator::{Evaluator, linear},
    watch::With,
};
use crate::{
    error::Result,
    rlwe::{
        DivisionRounding, KeyName,
        operations::{self, KeyedAutomorphism},
    },
};
use limbwise_device::{Device, Region};
use limbwise_math::galois::GaloisElement;

const ROTATE: &str = Region::Rotate.name();

impl<D: Device> Evaluator<'_, D> {
    /// Rotates the slots to the left by `steps` (to the right if negative), taken modulo the slot count.
    ///
    /// # Errors
    /// [`KeyError`](crate::error::KeyError) without the rotation's key, or for a ciphertext of three polynomials.
    pub fn rotate(&self, a: &Ciphertext<D>, steps: i64) -> Result<Ciphertext<D>> {
        let slots = a.slots as i64;
        let left = steps.rem_euclid(slots);
        if left == 0 {
            return Ok(a.clone());
        }
        // The shorter of two equivalent rotations: with few slots many Galois elements act alike, and then they share
        // one key.
        let shorter = if left > slots / 2 { left - slots } else { left };
        let g = GaloisElement::rotation(shorter, self.params.log_n());
        let mut rotated = self.automorphism(ROTATE, a, g)?;
        rotated.shadow = a.shadow.as_ref().map(|s| s.rotated(usize::try_from(left).unwrap_or(0)));
        Ok(self.report(ROTATE, &[a], With::Galois(g), rotated))
    }

    /// Conjugates all slots.
    ///
    /// # Errors
    /// As [`Self::rotate`].
    pub fn conjugate(&self, a: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        let g = GaloisElement::conjugation(self.params.log_n());
        let mut conjugated = self.automorphism("conjugate", a, g)?;
        conjugated.shadow = a.shadow.as_ref().map(|s| s.map(|z| z.conj()));
        Ok(self.report("conjugate", &[a], With::Galois(g), conjugated))
    }

    /// The automorphism X → X^g: rotation, conjugation, or both at once. The result has no shadow.
    ///
    /// # Errors
    /// As [`Self::rotate`].
    pub fn galois(&self, a: &Ciphertext<D>, g: GaloisElement) -> Result<Ciphertext<D>> {
        let moved = self.automorphism(ROTATE, a, g)?;
        Ok(self.report(ROTATE, &[a], With::Galois(g), moved))
    }

    /// The automorphism with its key switch; the caller updates the shadow.
    fn automorphism(&self, op: &'static str, a: &Ciphertext<D>, g: GaloisElement) -> Result<Ciphertext<D>> {
        let (c0, c1) = linear(op, a)?;
        let key = self.keys.key(op, KeyName::galois(g, self.params, a.level), a.level)?;
        let with = KeyedAutomorphism { op, g, key: &key, level: a.level, rounding: DivisionRounding::Nearest };
        let parts = operations::apply_automorphism(self.dev, self.params, [c0, c1], &with)?;
        let estimate = a.estimate.after_automorphism(g, self.params.log_n()).after_key_switch(
            self.params,
            a.level,
            a.slots,
            a.scale,
        );
        Ok(Ciphertext { estimate, shadow: None, parts, ..*a })
    }

    /// `Σ_{i < count} rotate(a, i·stride)` by doubling: at most 2·log₂(count) rotations, log₂ for powers of two.
    ///
    /// # Errors
    /// As [`Self::rotate`].
    pub fn inner_sum(&self, a: &Ciphertext<D>, stride: i64, count: usize) -> Result<Ciphertext<D>> {
        let _region = self.dev.region("inner_sum", 0);
        let mut power = a.clone(); // the sum of 2^k terms
        let mut sum: Option<Ciphertext<D>> = None;
        let (mut left, mut length, mut done) = (count.max(1), 1i64, 0i64);
        loop {
            if left & 1 == 1 {
                let shifted = self.rotate(&power, done * stride)?;
                sum = Some(match sum {
                    None => shifted,
                    Some(sum) => self.add(&sum, &shifted)?,
                });
                done += length;
            }
            left >>= 1;
            if left == 0 {
                return Ok(sum.unwrap_or(power));
            }
            power = self.add(&power, &self.rotate(&power, length * stride)?)?;
            length *= 2;
        }
    }

    /// The sum of all messages of a batch, as a batch of one.
    ///
    /// # Errors
    /// None: levels and scales are equal within a batch.
    pub fn batch_sum(&self, a: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        let batch = a.batch();
        if batch == 1 {
            return Ok(a.clone());
        }
        let left = self.batch_sum(&self.split(a, 0, batch / 2))?;
        let right = self.batch_sum(&self.split(a, batch / 2, batch))?;
        self.add(&left, &right)
    }
}
