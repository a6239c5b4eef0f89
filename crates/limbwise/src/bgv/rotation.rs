//! Moving slots: rotations of both rows, their exchange, and sums built from them.

use super::{
    ciphertext::Ciphertext,
    evaluator::{Evaluator, linear},
};
use crate::{
    error::Result,
    rlwe::{
        KeyName,
        operations::{self, KeyedAutomorphism},
    },
};
use limbwise_device::Device;
use limbwise_math::galois::GaloisElement;

impl<D: Device> Evaluator<'_, D> {
    /// Rotates both rows to the left by `steps` (to the right if negative), taken modulo N/2.
    ///
    /// # Errors
    /// A missing key, a ciphertext of three polynomials, or too much noise.
    pub fn rotate_rows(&self, a: &Ciphertext<D>, steps: i64) -> Result<Ciphertext<D>> {
        let row = self.params.row() as i64;
        match steps.rem_euclid(row) {
            0 => Ok(a.clone()),
            left => self.galois("rotate_rows", a, GaloisElement::rotation(left, self.params.rlwe().log_n())),
        }
    }

    /// Exchanges the two rows.
    ///
    /// # Errors
    /// As [`Self::rotate_rows`].
    pub fn swap_rows(&self, a: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        self.galois("swap_rows", a, GaloisElement::conjugation(self.params.rlwe().log_n()))
    }

    /// Applies the automorphism X → X^g, with its key switch.
    ///
    /// # Errors
    /// As [`Self::rotate_rows`].
    pub fn automorphism(&self, a: &Ciphertext<D>, g: GaloisElement) -> Result<Ciphertext<D>> {
        self.galois("automorphism", a, g)
    }

    fn galois(&self, op: &'static str, a: &Ciphertext<D>, g: GaloisElement) -> Result<Ciphertext<D>> {
        let halves = linear(op, a)?;
        let key = self.key(op, KeyName::Galois(g), a.level)?;
        let noise = a.noise.after_key_switch(&self.of(a), a.level);
        self.fits(op, noise, a.level)?;
        let with = KeyedAutomorphism { op, g, key: &key, level: a.level, rounding: self.rounding(a) };
        let parts = operations::apply_automorphism(self.dev, self.params.rlwe(), halves, &with)?;
        Ok(Ciphertext { parts, noise, ..*a })
    }

    /// `Σ_{i < 2^log_count} rotate_rows(a, i·stride)` by doubling, in `log_count` rotations.
    ///
    /// # Errors
    /// As [`Self::rotate_rows`].
    pub fn row_sums(&self, a: &Ciphertext<D>, stride: i64, log_count: u32) -> Result<Ciphertext<D>> {
        let _region = self.dev.region("row_sums", 0);
        (0..log_count).try_fold(a.clone(), |sum, k| self.add(&sum, &self.rotate_rows(&sum, stride << k)?))
    }

    /// The sum of all N slots, in every slot.
    ///
    /// # Errors
    /// As [`Self::rotate_rows`].
    pub fn slot_sum(&self, a: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        let rows = self.row_sums(a, 1, self.params.rlwe().log_n() - 1)?;
        self.add(&rows, &self.swap_rows(&rows)?)
    }
}
