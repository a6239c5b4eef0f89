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
use limbwise_device::{Device, Region, Rotation};
use limbwise_math::galois::GaloisElement;

const ROTATE: &str = Region::Rotate.name();

/// A ciphertext with the digits of its second half, raised to QP once: all rotations share them.
pub struct Hoisted<'e, 'a, D: Device> {
    eval: &'e Evaluator<'a, D>,
    op: &'static str,
    input: Ciphertext<D>,
    digits: Vec<D::Poly>,
}

impl<'e, 'a, D: Device> Hoisted<'e, 'a, D> {
    /// Raises the digits of a ciphertext of two polynomials if they are needed.
    pub(super) fn new(eval: &'e Evaluator<'a, D>, op: &'static str, input: &Ciphertext<D>, needed: bool) -> Self {
        let params = eval.params;
        let (digits, special) = params.gadget(input.level);
        let full = params.basis(input.level) | special;
        let digits = if needed { eval.dev.mod_up(&input.parts[1], &digits, full) } else { Vec::new() };
        Self { eval, op, input: input.clone(), digits }
    }

    /// The raised digits; none if no rotation uses them.
    pub(super) fn digits(&self) -> &[D::Poly] {
        &self.digits
    }

    /// [`Evaluator::rotate`] of the ciphertext.
    ///
    /// Cost: a gadget product and two mod_downs.
    ///
    /// # Errors
    /// As [`Evaluator::rotate`].
    pub fn rotate(&self, steps: i64) -> Result<Ciphertext<D>> {
        let Some((left, g)) = self.eval.shorter(&self.input, steps) else { return Ok(self.input.clone()) };
        let mut rotated = self.moved(g)?;
        rotated.shadow = self.input.shadow.as_ref().map(|s| s.rotated(left));
        Ok(self.eval.report(self.op, &[&self.input], With::Galois(g), rotated))
    }

    /// An automorphism of the ciphertext, without its shadow.
    pub(super) fn moved(&self, g: GaloisElement) -> Result<Ciphertext<D>> {
        let (Evaluator { dev, params, .. }, input) = (self.eval, &self.input);
        let basis = params.basis(input.level);
        let rotation = self.eval.rotation(self.op, g, input.level)?;
        let _region = dev.region("hoisted_rotation", g.value());
        // Permuting raised digits equals raising permuted ones.
        let digits: Vec<D::Poly> = self.digits.iter().map(|digit| dev.automorphism(digit, g)).collect();
        let product = dev.gadget_product(&digits, &rotation.key);
        drop(digits);
        let [d0, d1] = product.map(|half| dev.mod_down(&half, basis));
        let parts = vec![dev.add(&dev.automorphism(&input.parts[0], g), &d0), d1];
        let moved = input.estimate.after_automorphism(g, params.log_n());
        let estimate = moved.after_key_switch(params, input.level, input.slots, input.scale);
        Ok(Ciphertext { parts, estimate, shadow: None, ..*input })
    }
}

impl<D: Device> Evaluator<'_, D> {
    /// Rotates the slots to the left by `steps` (to the right if negative), taken modulo the slot count.
    ///
    /// # Errors
    /// [`KeyError`](crate::error::KeyError) without the rotation's key, or for a ciphertext of three polynomials.
    pub fn rotate(&self, a: &Ciphertext<D>, steps: i64) -> Result<Ciphertext<D>> {
        let Some((left, g)) = self.shorter(a, steps) else { return Ok(a.clone()) };
        let mut rotated = self.automorphism(ROTATE, a, g)?;
        rotated.shadow = a.shadow.as_ref().map(|s| s.rotated(left));
        Ok(self.report(ROTATE, &[a], With::Galois(g), rotated))
    }

    /// The steps to the left of a rotation and its Galois element, unless it moves nothing. Of two equivalent rotations it is
    /// the shorter: with few slots many Galois elements act alike, and then they share one key.
    fn shorter(&self, a: &Ciphertext<D>, steps: i64) -> Option<(usize, GaloisElement)> {
        let slots = a.slots as i64;
        let left = steps.rem_euclid(slots);
        let shorter = if left > slots / 2 { left - slots } else { left };
        let g = GaloisElement::rotation(shorter, self.params.log_n());
        usize::try_from(left).ok().filter(|&left| left != 0).map(|left| (left, g))
    }

    /// Decomposes a ciphertext once for several rotations.
    ///
    /// Cost: one mod_up. Source: \[HS18\]
    ///
    /// # Errors
    /// For a ciphertext of three polynomials.
    pub fn hoisted<'e>(&'e self, a: &Ciphertext<D>) -> Result<Hoisted<'e, 'e, D>> {
        linear(ROTATE, a)?;
        Ok(Hoisted::new(self, ROTATE, a, true))
    }

    /// A rotation with its key at a level.
    pub(super) fn rotation(&self, op: &'static str, galois: GaloisElement, level: usize) -> Result<Rotation<D::Poly>> {
        let key = self.keys.key(op, KeyName::galois(galois, self.params, level), level)?;
        Ok(Rotation { galois, key: key.at(self.dev, self.params, level)? })
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
