//! Automatic levels and scales: the evaluator for applications.
//!
//! Invariant: a ciphertext at level ℓ has scale `params.scale(ℓ)` (*settled*), or the square of it (*pending*) until an
//! operation needs it settled. Products are rescaled and relinearized late, so a sum of products pays once. Operands at
//! different levels are aligned by a constant that also corrects the scale, so scales are exact and never drift.
//! Source: \[KPP22\]. Bootstrapping: see [`levels`](super::levels).

use super::{
    bootstrap::{Bootstrapper, middle_monomial},
    ciphertext::{Ciphertext, Plaintext},
    encoder::{Encoder, Packing, slices},
    evaluator::Evaluator,
};
use crate::error::{BootstrapError, Result};
use limbwise_device::{Device, Region, Shape};
use num_complex::Complex64;

/// An evaluator that manages levels and scales automatically.
pub struct Auto<'a, D: Device> {
    /// The explicit evaluator underneath.
    pub eval: Evaluator<'a, D>,
    encoder: Encoder,
    bootstrapper: Option<&'a Bootstrapper<D>>,
}

impl<'a, D: Device> Auto<'a, D> {
    /// Adds automatic management to an evaluator.
    #[must_use]
    pub fn new(eval: Evaluator<'a, D>, encoder: &Encoder) -> Self {
        Self { eval, encoder: encoder.clone(), bootstrapper: None }
    }

    /// The same evaluator with a bootstrapper; `None` removes it.
    #[must_use]
    pub fn with_bootstrapper(self, bootstrapper: Option<&'a Bootstrapper<D>>) -> Self {
        Self { bootstrapper, ..self }
    }

    /// Whether it has a bootstrapper.
    pub(super) fn can_bootstrap(&self) -> bool {
        self.bootstrapper.is_some()
    }

    /// The bootstrapper.
    ///
    /// # Errors
    /// [`BootstrapError::Absent`] if there is none.
    pub fn bootstrapper(&self) -> Result<&'a Bootstrapper<D>> {
        self.bootstrapper.ok_or_else(|| BootstrapError::Absent.into())
    }

    /// Bootstraps: the same message at the bootstrapper's output level.
    ///
    /// # Errors
    /// As [`Self::bootstrapper`] and [`Bootstrapper::evaluate`].
    pub fn bootstrap(&self, a: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        self.bootstrapper()?.evaluate(self, a)
    }

    fn scale(&self, level: usize) -> f64 {
        self.eval.params().scale(level)
    }

    fn is_pending(&self, a: &Ciphertext<D>) -> bool {
        a.scale > self.scale(a.level).powf(1.5)
    }

    /// Two polynomials at the scale of their level: relinearizes and rescales a pending product.
    ///
    /// # Errors
    /// A missing key, or no level left.
    pub fn settle(&self, a: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        if self.is_pending(a) { self.eval.relinearize_rescaled(a) } else { self.eval.relinearize(a) }
    }

    /// `a·factor`, settled at a lower level. The division to that level applies the factor at no extra cost.
    ///
    /// # Errors
    /// [`LevelError`](crate::error::LevelError) unless `level` is below the settled value's, or equal with factor 1.
    pub fn scale_to(&self, a: &Ciphertext<D>, factor: f64, level: usize) -> Result<Ciphertext<D>> {
        let a = self.settle(a)?;
        #[expect(clippy::float_cmp, reason = "exactly one is a case of its own")]
        if level == a.level && factor == 1.0 {
            return Ok(a);
        }
        self.eval.needs("scale_to", &a, level + 1)?;
        let (target, params) = (self.scale(level), self.eval.params());
        if !params.basis(level + 1).is_subset(params.basis(a.level)) {
            return self.eval.times_on_the_way("scale_to", &a, factor, (level, target));
        }
        let a = self.eval.drop_level(&a, level + 1)?;
        let constant_scale = target * params.dropped(level + 1) / a.scale;
        let exact = match params.is_wide() {
            true => (params.exact_scale(target, level) * params.exact_dropped(level + 1))
                .over(params.exact_scale(a.scale, a.level)),
            false => constant_scale.into(),
        };
        let mut product = self.eval.rescale(&self.eval.mul_rounded(&a, factor, (constant_scale, exact))?)?;
        product.scale = target; // equal but for the rounding of the division above
        Ok(product)
    }

    /// Ciphertexts as one batch, settled, at the lowest of their levels.
    ///
    /// # Errors
    /// As [`Self::settle`].
    ///
    /// # Panics
    /// As [`Evaluator::stack`].
    pub fn stack(&self, all: &[Ciphertext<D>]) -> Result<Ciphertext<D>> {
        let all = all.iter().map(|c| self.settle(c)).collect::<Result<Vec<_>>>()?;
        let lowest = all.iter().map(|c| c.level).min().unwrap_or(0);
        let at_level = all.iter().map(|c| self.scale_to(c, 1.0, lowest)).collect::<Result<Vec<_>>>()?;
        Ok(self.eval.stack(&at_level))
    }

    /// Settles both at the lower of their levels.
    fn align(&self, a: &Ciphertext<D>, b: &Ciphertext<D>) -> Result<(Ciphertext<D>, Ciphertext<D>)> {
        let (a, b) = (self.settle(a)?, self.settle(b)?);
        let level = a.level.min(b.level);
        Ok((self.scale_to(&a, 1.0, level)?, self.scale_to(&b, 1.0, level)?))
    }

    /// `a·b`, pending.
    ///
    /// # Errors
    /// No level left, a missing key, or operands with different packings. The methods below fail alike.
    pub fn mul(&self, a: &Ciphertext<D>, b: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        let (a, b) = self.align(a, b)?;
        self.eval.needs("mul", &a, 1)?;
        self.eval.multiply(&a, &b)
    }

    /// `a²`, pending.
    ///
    /// # Errors
    /// As [`Self::mul`].
    pub fn square(&self, a: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        let a = self.settle(a)?;
        self.eval.needs("square", &a, 1)?;
        self.eval.square(&a)
    }

    /// `a ⊙ values`, pending; the values are encoded at the level of `a`.
    ///
    /// # Errors
    /// As [`Self::mul`], or values that cannot be encoded.
    pub fn mul_values(&self, a: &Ciphertext<D>, values: &[Complex64]) -> Result<Ciphertext<D>> {
        self.times(a, &[values])
    }

    /// [`Self::mul_values`] with one row of values per message of the batch, or one row for all.
    ///
    /// # Errors
    /// As [`Self::mul_values`].
    pub fn mul_rows(&self, a: &Ciphertext<D>, rows: &[Vec<Complex64>]) -> Result<Ciphertext<D>> {
        self.times(a, &slices(rows))
    }

    fn times(&self, a: &Ciphertext<D>, rows: &[&[Complex64]]) -> Result<Ciphertext<D>> {
        let a = self.settle(a)?;
        self.eval.needs("mul_values", &a, 1)?;
        self.eval.mul_plain(&a, &self.encode_like(rows, &a)?)
    }

    /// `a + values`.
    ///
    /// # Errors
    /// Values that cannot be encoded.
    pub fn add_values(&self, a: &Ciphertext<D>, values: &[Complex64]) -> Result<Ciphertext<D>> {
        self.plus(a, &[values])
    }

    /// [`Self::add_values`] with one row of values per message of the batch, or one row for all.
    ///
    /// # Errors
    /// As [`Self::add_values`].
    pub fn add_rows(&self, a: &Ciphertext<D>, rows: &[Vec<Complex64>]) -> Result<Ciphertext<D>> {
        self.plus(a, &slices(rows))
    }

    fn plus(&self, a: &Ciphertext<D>, rows: &[&[Complex64]]) -> Result<Ciphertext<D>> {
        let a = self.settle(a)?;
        self.eval.add_plain(&a, &self.encode_like(rows, &a)?)
    }

    fn encode_like(&self, rows: &[&[Complex64]], like: &Ciphertext<D>) -> Result<Plaintext<D>> {
        let packing = Packing { slots: like.slots, level: like.level, scale: like.scale };
        let _region = self.eval.device().region(Region::Encode, 0);
        let plain = self.encoder.encode_slices(self.eval.device(), rows, packing)?;
        let copied = || rows.iter().map(|row| row.to_vec()).collect::<Vec<_>>();
        Ok(if like.shadow.is_some() { plain.with_shadow(&copied()) } else { plain })
    }

    /// `a + value` in every slot.
    #[must_use]
    pub fn add_scalar(&self, a: &Ciphertext<D>, value: f64) -> Ciphertext<D> {
        self.eval.add_scalar(a, value)
    }

    /// `a + b`. Two pending products of one level are added without settling.
    ///
    /// # Errors
    /// As [`Self::mul`].
    pub fn add(&self, a: &Ciphertext<D>, b: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        if a.level == b.level && self.is_pending(a) && self.is_pending(b) && (a.scale / b.scale - 1.0).abs() < 1e-11 {
            return self.eval.add(a, b);
        }
        self.weighted_sum(&[(1.0, a), (1.0, b)])
    }

    /// `a − b`.
    ///
    /// # Errors
    /// As [`Self::mul`].
    pub fn sub(&self, a: &Ciphertext<D>, b: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        self.add(a, &self.eval.negate(b))
    }

    /// `Σ weight·value` at the least depth. The sum costs no level (settled result) if every value of the lowest level
    /// has weight one, otherwise one level (pending result).
    ///
    /// # Errors
    /// As [`Self::mul`].
    ///
    /// # Panics
    /// If `terms` is empty.
    pub fn weighted_sum(&self, terms: &[(f64, &Ciphertext<D>)]) -> Result<Ciphertext<D>> {
        assert!(!terms.is_empty(), "a sum has a term");
        let settled = terms.iter().map(|(w, a)| Ok((*w, self.settle(a)?))).collect::<Result<Vec<_>>>()?;
        let lowest = settled.iter().map(|(_, a)| a.level).min().unwrap_or(0);
        #[expect(clippy::float_cmp, reason = "exactly one is a case of its own")]
        let free = settled.iter().all(|(w, a)| a.level > lowest || *w == 1.0);
        let term = |(weight, a): &(f64, Ciphertext<D>)| self.scale_to(a, *weight, lowest);
        if free {
            let mut sum = term(&settled[0])?;
            for next in &settled[1..] {
                sum = self.eval.add(&sum, &term(next)?)?;
            }
            return Ok(sum);
        }
        let dropped = |(w, a): &(f64, Ciphertext<D>)| Ok((*w, self.eval.drop_level(a, lowest)?));
        let dropped = settled.iter().map(dropped).collect::<Result<Vec<_>>>()?;
        let terms: Vec<(f64, &Ciphertext<D>)> = dropped.iter().map(|(w, a)| (*w, a)).collect();
        self.eval.needs("weighted_sum", terms[0].1, 1)?;
        self.eval.combination("weighted_sum", &terms, self.scale(lowest).powi(2))
    }

    /// `i·a`, exactly and at no level.
    #[must_use]
    pub fn times_i(&self, a: &Ciphertext<D>) -> Ciphertext<D> {
        let (dev, params) = (self.eval.device(), self.eval.params());
        let unit = middle_monomial(dev, &Shape::eval(params.ring(), params.basis(a.level)));
        self.eval.times_unit(a, &unit)
    }

    /// Rotates the slots to the left by `steps`.
    ///
    /// # Errors
    /// A missing key.
    pub fn rotate(&self, a: &Ciphertext<D>, steps: i64) -> Result<Ciphertext<D>> {
        self.eval.rotate(&self.settle(a)?, steps)
    }

    /// Conjugates every slot.
    ///
    /// # Errors
    /// A missing key.
    pub fn conjugate(&self, a: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        self.eval.conjugate(&self.settle(a)?)
    }

    /// `Σ_{i < count} rotate(a, i·stride)` by doubling.
    ///
    /// # Errors
    /// A missing key.
    pub fn inner_sum(&self, a: &Ciphertext<D>, stride: i64, count: usize) -> Result<Ciphertext<D>> {
        self.eval.inner_sum(&self.settle(a)?, stride, count)
    }
}
