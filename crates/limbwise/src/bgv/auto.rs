//! Automatic modulus switching: the evaluator for applications.
//!
//! Products are relinearized late, by the division that also switches their modulus, and only when an operation needs
//! two polynomials: a sum of products pays once. Before a product both operands are switched to the level whose noise
//! bounds leave the largest budget after it. That level depends on the parameters and the program alone, never on data.

use super::{ciphertext::Ciphertext, encoder::Encoder, evaluator::Evaluator, linear::LinearTransform};
use crate::error::Result;
use limbwise_device::Device;

/// An evaluator that chooses levels automatically.
pub struct Auto<'a, D: Device> {
    /// The explicit evaluator underneath.
    pub eval: Evaluator<'a, D>,
    encoder: Encoder,
}

impl<'a, D: Device> Auto<'a, D> {
    /// Adds automatic level management to an evaluator.
    #[must_use]
    pub fn new(eval: Evaluator<'a, D>, encoder: &Encoder) -> Self {
        Self { eval, encoder: encoder.clone() }
    }

    /// The same message at a lower level. The modulus is switched, or only dropped where the noise is small enough
    /// already.
    ///
    /// # Errors
    /// A missing key, or too much noise for the level.
    pub fn lower_to(&self, a: &Ciphertext<D>, level: usize) -> Result<Ciphertext<D>> {
        if a.parts.len() == 2 && a.noise <= self.eval.switched_noise(a, level) {
            return self.eval.drop_level(a, level);
        }
        self.eval.mod_switch(a, level)
    }

    /// Relinearizes and switches a pending product, so that two polynomials remain.
    fn settle(&self, a: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        if a.parts.len() == 2 {
            return Ok(a.clone());
        }
        // Where it costs no budget, the division comes free with the key switch.
        let level = self.best_level(&[a], 1.0);
        self.eval.mod_switch(a, level)
    }

    /// The level at which the product of `factors` (or of `times` copies of one) has the largest budget. Of two levels
    /// that differ by less than a tenth of a bit, the lower one is taken: it is cheaper.
    fn best_level(&self, factors: &[&Ciphertext<D>], times: f64) -> usize {
        let rlwe = self.eval.params().rlwe();
        let top = factors.iter().map(|c| c.level).min().unwrap_or(0);
        let budget = |level: usize| {
            let noise = |c: &&Ciphertext<D>| {
                let switched = self.eval.switched_noise(c, level);
                if c.parts.len() == 2 && c.noise < switched { c.noise } else { switched }
            };
            let room = rlwe.log_modulus(level) - 1.0;
            let bits = factors.iter().map(|c| noise(c).bits());
            let fits = bits.clone().all(|bits| bits <= room);
            if fits { room - times * bits.sum::<f64>() } else { f64::NEG_INFINITY }
        };
        let mut best = top;
        for level in (0..top).rev() {
            if budget(level) >= budget(best) - 0.1 && budget(level).is_finite() {
                best = level;
            }
        }
        best
    }

    /// `a ⊙ b`, not relinearized yet.
    ///
    /// # Errors
    /// A missing key, too few levels for the product, or operands with different batches. The methods below fail alike.
    pub fn mul(&self, a: &Ciphertext<D>, b: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        let level = self.best_level(&[a, b], 1.0);
        self.eval.multiply(&self.lower_to(a, level)?, &self.lower_to(b, level)?)
    }

    /// `a ⊙ a`, not relinearized yet.
    ///
    /// # Errors
    /// As [`Self::mul`].
    pub fn square(&self, a: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        let level = self.best_level(&[a], 2.0);
        self.eval.square(&self.lower_to(a, level)?)
    }

    /// Brings both operands to the lower of their levels.
    fn together(&self, a: &Ciphertext<D>, b: &Ciphertext<D>) -> Result<[Ciphertext<D>; 2]> {
        let level = a.level.min(b.level);
        let lowered = |c: &Ciphertext<D>| if c.level == level { Ok(c.clone()) } else { self.lower_to(c, level) };
        Ok([lowered(a)?, lowered(b)?])
    }

    /// `a + b`.
    ///
    /// # Errors
    /// As [`Self::mul`].
    pub fn add(&self, a: &Ciphertext<D>, b: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        let [a, b] = self.together(a, b)?;
        self.eval.add(&a, &b)
    }

    /// `a − b`.
    ///
    /// # Errors
    /// As [`Self::mul`].
    pub fn sub(&self, a: &Ciphertext<D>, b: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        let [a, b] = self.together(a, b)?;
        self.eval.sub(&a, &b)
    }

    /// `a ⊙ values`: a vector for each message of the batch, or one for all.
    ///
    /// # Errors
    /// As [`Self::mul`], or values that cannot be encoded.
    pub fn mul_values(&self, a: &Ciphertext<D>, rows: &[Vec<i64>]) -> Result<Ciphertext<D>> {
        let plain = self.encoder.at(a.modulus).encode(self.eval.device(), rows, a.level)?;
        self.eval.mul_plain(a, &plain)
    }

    /// `a + values`: a vector for each message of the batch, or one for all.
    ///
    /// # Errors
    /// As [`Self::mul_values`].
    pub fn add_values(&self, a: &Ciphertext<D>, rows: &[Vec<i64>]) -> Result<Ciphertext<D>> {
        let plain = self.encoder.at(a.modulus).encode(self.eval.device(), rows, a.level)?;
        self.eval.add_plain(a, &plain)
    }

    /// Both rows rotated to the left by `steps`.
    ///
    /// # Errors
    /// As [`Self::mul`].
    pub fn rotate_rows(&self, a: &Ciphertext<D>, steps: i64) -> Result<Ciphertext<D>> {
        self.eval.rotate_rows(&self.settle(a)?, steps)
    }

    /// The two rows exchanged.
    ///
    /// # Errors
    /// As [`Self::mul`].
    pub fn swap_rows(&self, a: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        self.eval.swap_rows(&self.settle(a)?)
    }

    /// `Σ_{i < 2^log_count} rotate_rows(a, i·stride)`.
    ///
    /// # Errors
    /// As [`Self::mul`].
    pub fn row_sums(&self, a: &Ciphertext<D>, stride: i64, log_count: u32) -> Result<Ciphertext<D>> {
        self.eval.row_sums(&self.settle(a)?, stride, log_count)
    }

    /// The sum of all slots, in every slot.
    ///
    /// # Errors
    /// As [`Self::mul`].
    pub fn slot_sum(&self, a: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        self.eval.slot_sum(&self.settle(a)?)
    }

    /// A linear map of each row.
    ///
    /// # Errors
    /// As [`Self::mul`]; a map encoded for lower levels.
    pub fn linear_transform(&self, a: &Ciphertext<D>, map: &LinearTransform<D>) -> Result<Ciphertext<D>> {
        let settled = self.settle(a)?;
        let level = settled.level.min(map.level());
        self.eval.linear_transform(&self.lower_to(&settled, level)?, map)
    }
}
