//! The explicit evaluator: each operation does what its name says, and the caller rescales.
//!
//! Every user error is found before the first device operation.

use super::{
    ciphertext::{Ciphertext, Plaintext},
    estimate::Estimate,
    shadow::{self, Shadow},
    watch::{Done, Watch, With},
};
use crate::{
    error::{EncodeError, LevelError, Result, ScaleError, ShapeError},
    params::Params,
    rlwe::{
        DivisionRounding, KeyName, KeyStore, noise,
        operations::{self, LevelDrop},
    },
};
use limbwise_device::{Basis, Device, Handle as _};
use limbwise_math::{modulus::Modulus, wide::Wide};

/// Largest relative difference between scales that an addition accepts as equal.
const SCALE_TOLERANCE: f64 = 3e-11;

/// Evaluates on ciphertexts with public keys only.
pub struct Evaluator<'a, D: Device> {
    pub(crate) dev: &'a D,
    pub(crate) params: &'a Params,
    pub(crate) keys: &'a dyn KeyStore<D>,
    watch: Option<&'a dyn Watch<D>>,
}

impl<D: Device> Clone for Evaluator<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Device> Copy for Evaluator<'_, D> {}

/// Operation, levels and packings that an error message names.
pub(super) struct Site {
    op: &'static str,
    levels: [usize; 2],
    scales: [f64; 2],
    slots: [usize; 2],
    batches: [usize; 2],
}

impl Site {
    fn same_level_and_packing(&self) -> Result<()> {
        self.same_level_and_slots()?;
        let [left, right] = self.batches;
        if left != right && left != 1 && right != 1 {
            return Err(ShapeError::Batch { op: self.op, left, right }.into());
        }
        Ok(())
    }

    pub(super) fn same_level_and_slots(&self) -> Result<()> {
        let [left, right] = self.levels;
        if left != right {
            return Err(LevelError::Mismatch { op: self.op, left, right }.into());
        }
        let [left, right] = self.slots;
        if left != right {
            return Err(ShapeError::Slots { op: self.op, left, right }.into());
        }
        Ok(())
    }

    fn same_scale(&self) -> Result<()> {
        let [left, right] = self.scales;
        if (left / right - 1.0).abs() > SCALE_TOLERANCE {
            return Err(ScaleError::Mismatch { op: self.op, left: left.log2(), right: right.log2() }.into());
        }
        Ok(())
    }
}

impl<'a, D: Device> Evaluator<'a, D> {
    /// An evaluator on a device with keys from a store.
    #[must_use]
    pub fn new(dev: &'a D, params: &'a Params, keys: &'a dyn KeyStore<D>) -> Self {
        Self { dev, params, keys, watch: None }
    }

    /// The same evaluator with an observer.
    #[must_use]
    pub fn with_watch(self, watch: Option<&'a dyn Watch<D>>) -> Self {
        Self { watch, ..self }
    }

    /// Whether it has an observer.
    pub(crate) fn has_watch(&self) -> bool {
        self.watch.is_some()
    }

    /// Reports an operation to the observer and returns its result.
    pub(crate) fn report(
        &self,
        op: &'static str,
        operands: &[&Ciphertext<D>],
        with: With<'_, D>,
        result: Ciphertext<D>,
    ) -> Ciphertext<D> {
        if let Some(watch) = self.watch {
            watch.after(&Done { op, operands, with, result: &result });
        }
        result
    }

    /// The device that computes.
    #[must_use]
    pub fn device(&self) -> &'a D {
        self.dev
    }

    /// The parameter set of all operands.
    #[must_use]
    pub fn params(&self) -> &'a Params {
        self.params
    }

    /// `a + b`. Scales and levels must be equal; degrees may differ.
    ///
    /// # Errors
    /// [`LevelError`], [`ScaleError`] or [`ShapeError`] if the operands do not match.
    pub fn add(&self, a: &Ciphertext<D>, b: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        let mut sum = self.combine("add", a, b, |x, y| self.dev.add(x, y), Clone::clone)?;
        sum.shadow = shadow::zip(a.shadow.as_ref(), b.shadow.as_ref(), |x, y| x + y);
        Ok(self.report("add", &[a, b], With::Nothing, sum))
    }

    /// `a − b`.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn sub(&self, a: &Ciphertext<D>, b: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        let mut difference = self.combine("sub", a, b, |x, y| self.dev.sub(x, y), |y| self.dev.neg(y.clone()))?;
        difference.shadow = shadow::zip(a.shadow.as_ref(), b.shadow.as_ref(), |x, y| x - y);
        Ok(self.report("sub", &[a, b], With::Nothing, difference))
    }

    fn combine(
        &self,
        op: &'static str,
        a: &Ciphertext<D>,
        b: &Ciphertext<D>,
        both: impl Fn(&D::Poly, &D::Poly) -> D::Poly,
        right_only: impl Fn(&D::Poly) -> D::Poly,
    ) -> Result<Ciphertext<D>> {
        let site = pair_site(op, a, b);
        site.same_level_and_packing()?;
        site.same_scale()?;
        if a.parts.len() != b.parts.len() && a.batch() != b.batch() {
            return Err(ShapeError::Batch { op, left: a.batch(), right: b.batch() }.into());
        }
        let parts = (0..a.parts.len().max(b.parts.len()))
            .map(|i| match (a.parts.get(i), b.parts.get(i)) {
                (Some(x), Some(y)) => both(x, y),
                (Some(x), None) => x.clone(),
                (None, y) => right_only(y.expect("one operand has part i")),
            })
            .collect();
        Ok(Ciphertext { parts, estimate: a.estimate.sum(b.estimate), shadow: None, ..*a })
    }

    /// `−a`.
    #[must_use]
    pub fn negate(&self, a: &Ciphertext<D>) -> Ciphertext<D> {
        let parts = a.parts.iter().map(|p| self.dev.neg(p.clone())).collect();
        let negated = Ciphertext { parts, shadow: a.shadow.as_ref().map(|s| s.map(|z| -z)), ..*a };
        self.report("negate", &[a], With::Nothing, negated)
    }

    /// `a + p`.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn add_plain(&self, a: &Ciphertext<D>, p: &Plaintext<D>) -> Result<Ciphertext<D>> {
        let site = plain_site("add_plain", a, p);
        site.same_level_and_packing()?;
        site.same_scale()?;
        let [left, right] = site.batches;
        if right > left {
            return Err(ShapeError::Batch { op: site.op, left, right }.into());
        }
        let mut parts = a.parts.clone();
        parts[0] = self.dev.add(&parts[0], &p.poly);
        let shadow = shadow::zip(a.shadow.as_ref(), p.shadow.as_ref(), |x, y| x + y);
        let sum = Ciphertext { parts, estimate: a.estimate.sum(p.estimate), shadow, ..*a };
        Ok(self.report("add_plain", &[a], With::Plaintext(p), sum))
    }

    /// `a − p`.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn sub_plain(&self, a: &Ciphertext<D>, p: &Plaintext<D>) -> Result<Ciphertext<D>> {
        self.add_plain(&self.negate(a), p).map(|difference| self.negate(&difference))
    }

    /// `a + value` in every slot.
    #[must_use]
    pub fn add_scalar(&self, a: &Ciphertext<D>, value: f64) -> Ciphertext<D> {
        self.add_scalar_in_place(a.clone(), value)
    }

    /// [`Self::add_scalar`], in place if no other handle shares the polynomials.
    pub(crate) fn add_scalar_in_place(&self, a: Ciphertext<D>, value: f64) -> Ciphertext<D> {
        let exact = self.params.exact_scale(a.scale, a.level);
        self.add_rounded(a, value, exact)
    }

    /// [`Self::add_scalar_in_place`] at a scale of more bits than f64 holds.
    pub(super) fn add_rounded(&self, mut a: Ciphertext<D>, value: f64, scale: Wide) -> Ciphertext<D> {
        // A shared handle would prevent the in-place update.
        let before = self.watch.map(|_| a.clone());
        let first = a.parts.remove(0);
        a.parts.insert(0, self.dev.shift_limbs(first, &self.rounded(value, scale, self.params.basis(a.level))));
        let shadow = a.shadow.as_ref().map(|s| s.map(|z| z + value));
        let sum = Ciphertext { estimate: a.estimate.sum(Estimate::constant(value)), shadow, ..a };
        let operands: Vec<&Ciphertext<D>> = before.iter().collect();
        self.report("add_scalar", &operands, With::Constants, sum)
    }

    /// `a·p`: the scale is the product of both scales, the level is unchanged. Rescale afterwards.
    ///
    /// # Errors
    /// Operands that do not match, or a product that overflows the modulus.
    pub fn mul_plain(&self, a: &Ciphertext<D>, p: &Plaintext<D>) -> Result<Ciphertext<D>> {
        plain_site("mul_plain", a, p).same_level_and_packing()?;
        let scale = self.product_scale("mul_plain", a.scale, p.scale, a.level)?;
        let _region = self.dev.region("mul_plain", 0);
        let parts = a.parts.iter().map(|c| self.dev.mul(c, &p.poly)).collect();
        let shadow = shadow::zip(a.shadow.as_ref(), p.shadow.as_ref(), |x, y| x * y);
        let product = Ciphertext { parts, scale, estimate: a.estimate.product(p.estimate), shadow, ..*a };
        Ok(self.report("mul_plain", &[a], With::Plaintext(p), product))
    }

    /// `a·value` with the constant rounded at `scale`: the result's scale is the product. Rescale afterwards.
    ///
    /// # Errors
    /// [`ScaleError`] if the product overflows the modulus or the constant is not finite.
    pub fn mul_scalar(&self, a: &Ciphertext<D>, value: f64, scale: f64) -> Result<Ciphertext<D>> {
        self.mul_rounded(a, value, (scale, self.params.exact_scale(scale, a.level)))
    }

    /// [`Self::mul_scalar`] at a scale of more bits than f64 holds.
    pub(crate) fn mul_rounded(
        &self,
        a: &Ciphertext<D>,
        value: f64,
        (scale, exact): (f64, Wide),
    ) -> Result<Ciphertext<D>> {
        valid_constant(value, scale, self.params.log_modulus(a.level))?;
        let product = self.product_scale("mul_scalar", a.scale, scale, a.level)?;
        let constants = self.rounded(value, exact, self.params.basis(a.level));
        let parts = a.parts.iter().map(|c| self.dev.scale_limbs(c.clone(), &constants)).collect();
        let shadow = a.shadow.as_ref().map(|s| s.map(|z| z * value));
        let estimate = a.estimate.scaled(value, scale);
        let product = Ciphertext { parts, scale: product, estimate, shadow, ..*a };
        Ok(self.report("mul_scalar", &[a], With::Constants, product))
    }

    /// [`Self::weighted`] of terms whose scales are those of their levels, or products of them.
    pub(crate) fn combination(
        &self,
        op: &'static str,
        terms: &[(f64, &Ciphertext<D>)],
        scale: f64,
    ) -> Result<Ciphertext<D>> {
        let exact = |scale: f64, a: &Ciphertext<D>| self.params.exact_scale(scale, a.level);
        let weighted = |&(factor, value)| Weighted { factor, value, scale: exact(value.scale, value) };
        let level = terms.first().map_or(scale.into(), |(_, a)| exact(scale, a));
        self.weighted(op, &terms.iter().map(weighted).collect::<Vec<_>>(), level)
    }

    /// `Σ factor·value` at one scale, to which each constant brings its term. A missing third polynomial counts as zero.
    ///
    /// # Errors
    /// As [`Self::add`] and [`Self::mul_scalar`].
    ///
    /// # Panics
    /// If `terms` is empty.
    pub(super) fn weighted(&self, op: &'static str, terms: &[Weighted<'_, D>], exact: Wide) -> Result<Ciphertext<D>> {
        let scale = exact.high;
        let widest = terms.iter().map(|term| term.value).max_by_key(|a| (a.parts.len(), a.batch()));
        let widest = widest.expect("a sum has a term");
        self.product_scale(op, scale, 1.0, widest.level)?;
        let constants = self.constants_of(op, widest, terms, exact)?;
        let part = |i: usize| {
            let with = terms.iter().zip(&constants).filter_map(|(term, c)| Some((term.value.parts.get(i)?, c.clone())));
            let (polys, constants): (Vec<&D::Poly>, Vec<Vec<u64>>) = with.unzip();
            self.dev.linear_combination(&polys, &constants)
        };
        let parts = (0..widest.parts.len()).map(part).collect();
        let mut sums = terms.iter().map(|term| term.expected(scale));
        let first = sums.next().expect("a sum has a term");
        let Expected { estimate, shadow } = sums.fold(first, Expected::plus);
        let operands: Vec<&Ciphertext<D>> = terms.iter().map(|term| term.value).collect();
        Ok(self.report(op, &operands, With::Constants, Ciphertext { parts, scale, estimate, shadow, ..*widest }))
    }

    /// `a·b + Σ factor·value` of three polynomials at the scale of the product, which is doubled if `doubled`; without `b`
    /// the square of a. In one pass over the operands.
    ///
    /// # Errors
    /// As [`Self::multiply`] and [`Self::weighted`].
    pub(super) fn multiply_onto(
        &self,
        (a, b): (&Ciphertext<D>, Option<&Ciphertext<D>>),
        doubled: bool,
        terms: &[Weighted<'_, D>],
        exact: Wide,
    ) -> Result<Ciphertext<D>> {
        let (op, other) = (if b.is_some() { "multiply" } else { "square" }, b.unwrap_or(a));
        pair_site(op, a, other).same_level_and_packing()?;
        let ((a0, a1), (b0, b1)) = (linear(op, a)?, linear(op, other)?);
        let scale = self.product_scale(op, a.scale, other.scale, a.level)?;
        let widest = if a.batch() < other.batch() { other } else { a };
        let constants = self.constants_of(op, widest, terms, exact)?;
        let pairs = terms.iter().map(|term| linear(op, term.value)).collect::<Result<Vec<_>>>()?;
        let added: Vec<&D::Poly> = pairs.into_iter().flat_map(|(c0, c1)| [c0, c1]).collect();
        let parts = {
            let _region = self.dev.region(op, 0);
            let factor: &[&D::Poly] = if b.is_some() { &[b0, b1] } else { &[] };
            self.dev.tensor(&[a0, a1], factor, usize::from(doubled), &added, &constants)
        };
        let product = Expected {
            estimate: b.map_or_else(|| a.estimate.squared(), |b| a.estimate.product(b.estimate)),
            shadow: shadow::zip(a.shadow.as_ref(), other.shadow.as_ref(), |x, y| x * y),
        };
        let product = if doubled { product.doubled() } else { product };
        let sums = terms.iter().map(|term| term.expected(scale));
        let Expected { estimate, shadow } = sums.fold(product, Expected::plus);
        let with = if terms.is_empty() && !doubled { With::Nothing } else { With::Onto { doubled } };
        let operands: Vec<&Ciphertext<D>> =
            [a].into_iter().chain(b).chain(terms.iter().map(|term| term.value)).collect();
        Ok(self.report(op, &operands, with, Ciphertext { parts, scale, estimate, shadow, ..*widest }))
    }

    /// The constants that bring terms to a scale.
    fn constants_of(
        &self,
        op: &'static str,
        widest: &Ciphertext<D>,
        terms: &[Weighted<'_, D>],
        exact: Wide,
    ) -> Result<Vec<Vec<u64>>> {
        let constants = |&Weighted { factor, value: a, scale: own }: &Weighted<'_, D>| {
            pair_site(op, widest, a).same_level_and_packing()?;
            if a.batch() > widest.batch() {
                return Err(ShapeError::Batch { op, left: widest.batch(), right: a.batch() }.into());
            }
            valid_constant(factor, exact.high / a.scale, self.params.log_modulus(a.level))?;
            let basis = self.params.basis(a.level);
            Ok(match self.params.is_wide() {
                true => self.rounded(factor, exact.over(own), basis),
                false => self.rounded(factor, (exact.high / a.scale).into(), basis),
            })
        };
        terms.iter().map(constants).collect()
    }

    /// `a·b` as a ciphertext of three polynomials; the scale is the product of both scales.
    ///
    /// # Errors
    /// Operands that do not match, or a product that overflows the modulus.
    pub fn multiply(&self, a: &Ciphertext<D>, b: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        self.multiply_onto((a, Some(b)), false, &[], (a.scale * b.scale).into())
    }

    /// `a²`, with one ring product fewer than [`Self::multiply`].
    ///
    /// # Errors
    /// As [`Self::multiply`].
    pub fn square(&self, a: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        self.multiply_onto((a, None), false, &[], (a.scale * a.scale).into())
    }

    /// Three polynomials → two, by the relinearization key. A ciphertext of two is returned unchanged.
    ///
    /// # Errors
    /// [`KeyError`](crate::error::KeyError) without the key.
    pub fn relinearize(&self, a: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        let [c0, c1, c2] = &a.parts[..] else { return Ok(a.clone()) };
        let key = self.keys.key("relinearize", KeyName::relinearization(self.params, a.level), a.level)?;
        let (dev, params, levels) = (self.dev, self.params, LevelDrop::none(a.level));
        let parts = operations::relinearize(dev, params, [c0, c1, c2], &key, levels, DivisionRounding::Nearest)?;
        let estimate = a.estimate.after_key_switch(self.params, a.level, a.slots, a.scale);
        let shadow = a.shadow.clone();
        Ok(self.report("relinearize", &[a], With::Nothing, Ciphertext { parts, estimate, shadow, ..*a }))
    }

    /// [`Self::relinearize`] and [`Self::rescale`] fused: one division with one rounding drops the special primes and
    /// those of the level, which saves 2ℓ transforms at ℓ limbs. A ciphertext of two polynomials is only rescaled.
    ///
    /// # Errors
    /// As [`Self::relinearize`] and [`Self::rescale`].
    pub fn relinearize_rescaled(&self, a: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        let [c0, c1, c2] = &a.parts[..] else { return self.rescale(a) };
        let op = "relinearize_rescaled";
        let (params, scale) = (self.params, self.scale_after_rescale(op, a)?);
        let key = self.keys.key(op, KeyName::relinearization(params, a.level), a.level)?;
        let level = a.level - 1;
        let levels = LevelDrop { from: a.level, to: level };
        let parts = operations::relinearize(self.dev, params, [c0, c1, c2], &key, levels, DivisionRounding::Nearest)?;
        let [whole, rounding] = [noise::key_switch(params, a.level), noise::division(params)];
        let digits = (whole * whole - rounding * rounding).max(0.0).sqrt();
        let estimate = a.estimate.with_noise(digits, a.slots, a.scale).divided(params, a.slots, scale);
        let shadow = a.shadow.clone();
        Ok(self.report(op, &[a], With::Nothing, Ciphertext { parts, level, scale, estimate, shadow, ..*a }))
    }

    /// Divides by the primes of the level: level ℓ → ℓ − 1, scale ÷ their product.
    ///
    /// # Errors
    /// [`LevelError::Exhausted`] at level 0; [`ScaleError::TooSmall`] if less than 2^5 of scale would remain.
    pub fn rescale(&self, a: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        let scale = self.scale_after_rescale("rescale", a)?;
        let level = a.level - 1;
        let to = self.params.basis(level);
        let parts = a.parts.iter().map(|p| DivisionRounding::Nearest.divide(self.dev, p, to)).collect();
        let estimate = a.estimate.with_noise(self.rounding_of(a), a.slots, scale);
        let shadow = a.shadow.clone();
        Ok(self.report("rescale", &[a], With::Nothing, Ciphertext { parts, level, scale, estimate, shadow, ..*a }))
    }

    /// The noise of a division of all polynomials of a ciphertext.
    fn rounding_of(&self, a: &Ciphertext<D>) -> f64 {
        match a.parts.len() {
            3 => noise::division_of_product(self.params),
            _ => noise::division(self.params),
        }
    }

    /// The scale after a rescale.
    fn scale_after_rescale(&self, op: &'static str, a: &Ciphertext<D>) -> Result<f64> {
        self.needs(op, a, 1)?;
        let scale = a.scale / self.params.dropped(a.level);
        if scale < 32.0 {
            return Err(ScaleError::TooSmall { op, log_scale: scale.log2() }.into());
        }
        Ok(scale)
    }

    /// Drops the primes above `level`; value and scale are unchanged. A level with a prime that the ciphertext lacks costs a
    /// division.
    ///
    /// # Errors
    /// [`LevelError::Above`] if the ciphertext is already below that level.
    pub fn drop_level(&self, a: &Ciphertext<D>, level: usize) -> Result<Ciphertext<D>> {
        if level > a.level {
            return Err(LevelError::Above { op: "drop_level", wanted: level, level: a.level }.into());
        }
        let basis = self.params.basis(level);
        if !basis.is_subset(self.params.basis(a.level)) {
            return self.times_on_the_way("drop_level", a, 1.0, (level, a.scale));
        }
        let parts = a.parts.iter().map(|p| self.dev.restrict(p, basis)).collect();
        Ok(Ciphertext { level, ..a.with_parts(parts) })
    }

    /// `a·factor` at a lower level and another scale: the constant that brings it there, and one division of the few primes
    /// that are left to do it with.
    ///
    /// # Errors
    /// [`ScaleError`] or [`EncodeError`] for a factor that does not fit.
    pub(crate) fn times_on_the_way(
        &self,
        op: &'static str,
        a: &Ciphertext<D>,
        factor: f64,
        (level, scale): (usize, f64),
    ) -> Result<Ciphertext<D>> {
        let _region = self.dev.region(op, 0);
        let (params, to) = (self.params, self.params.basis(level));
        let from = params.on_the_way(a.level, level);
        let constant_scale = scale * params.quotient(from, to) / a.scale;
        valid_constant(factor, constant_scale, params.ring().log_modulus(from))?;
        let constants = self.rounded(factor, constant_scale.into(), from);
        let lowered = |part: &D::Poly| {
            let times = self.dev.scale_limbs(self.dev.restrict(part, from), &constants);
            DivisionRounding::Nearest.divide(self.dev, &times, to)
        };
        let parts = a.parts.iter().map(lowered).collect();
        let estimate = a.estimate.scaled(factor, constant_scale).with_noise(self.rounding_of(a), a.slots, scale);
        let shadow = a.shadow.as_ref().map(|s| s.map(|z| z * factor));
        Ok(self.report(op, &[a], With::Constants, Ciphertext { parts, level, scale, estimate, shadow, ..*a }))
    }

    /// Fails unless `needed` rescales are left.
    pub(crate) fn needs(&self, op: &'static str, a: &Ciphertext<D>, needed: usize) -> Result<()> {
        if a.level < needed {
            return Err(LevelError::Exhausted { op, level: a.level, needed, top: self.params.top_level() }.into());
        }
        Ok(())
    }

    pub(super) fn product_scale(&self, op: &'static str, left: f64, right: f64, level: usize) -> Result<f64> {
        let (scale, log_modulus) = (left * right, self.params.log_modulus(level));
        if scale.log2() > log_modulus - 1.0 {
            return Err(ScaleError::TooLarge { op, log_scale: scale.log2(), log_modulus, level }.into());
        }
        Ok(scale)
    }

    /// The residues of `value·scale`, rounded, modulo some primes.
    fn rounded(&self, value: f64, scale: Wide, basis: Basis) -> Vec<u64> {
        let moduli = self.params.ring().moduli_of(basis);
        if !self.params.is_wide() {
            return moduli.into_iter().map(residue_of((value * scale.high).round())).collect();
        }
        // Each float is an integer but for a fraction, and the fractions are rounded together.
        let product = Wide::from(value) * scale;
        let whole = product.high.round();
        let rest = ((product.high - whole) + product.low).round();
        let (high, low) = (residue_of(whole), residue_of(rest));
        moduli.into_iter().map(|q| q.add(high(q), low(q))).collect()
    }
}

/// A term of a sum at one scale.
pub(super) struct Weighted<'c, D: Device> {
    pub(super) factor: f64,
    pub(super) value: &'c Ciphertext<D>,
    /// The value's, to more bits than f64 holds.
    pub(super) scale: Wide,
}

impl<D: Device> Weighted<'_, D> {
    /// Of the term at a scale.
    fn expected(&self, scale: f64) -> Expected {
        let Self { factor, value, .. } = *self;
        Expected {
            estimate: value.estimate.scaled(factor, scale / value.scale),
            shadow: value.shadow.as_ref().map(|s| s.map(|z| z * factor)),
        }
    }
}

/// What is expected of a value.
struct Expected {
    estimate: Estimate,
    shadow: Option<Shadow>,
}

impl Expected {
    fn doubled(self) -> Self {
        Self { estimate: self.estimate.scaled(2.0, 1.0), shadow: self.shadow.map(|s| s.map(|z| 2.0 * z)) }
    }

    fn plus(self, other: Self) -> Self {
        let shadow = shadow::zip(self.shadow.as_ref(), other.shadow.as_ref(), |x, y| x + y);
        Self { estimate: self.estimate.sum(other.estimate), shadow }
    }
}

/// Fails unless a constant can be rounded at a scale, and is then within the modulus.
fn valid_constant(value: f64, scale: f64, log_modulus: f64) -> Result<()> {
    if !((1.0..=2f64.powi(120)).contains(&scale) && value.is_finite()) {
        return Err(ScaleError::Invalid(scale).into());
    }
    let (magnitude, log_scale) = (value.abs(), scale.log2());
    if magnitude > 0.0 && magnitude.log2() + log_scale > log_modulus - 1.0 {
        return Err(EncodeError::TooLarge { magnitude, log_scale, log_modulus }.into());
    }
    Ok(())
}

/// The residue of an integral float of any magnitude.
fn residue_of(value: f64) -> impl Fn(Modulus) -> u64 {
    let exponent = if value == 0.0 { 0.0 } else { (value.abs().log2().floor() - 62.0).max(0.0) };
    #[expect(clippy::cast_possible_truncation, reason = "below 2^63 in magnitude")]
    let mantissa = (value / exponent.exp2()) as i64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 1023")]
    let exponent = exponent as u64;
    move |q| q.mul(q.from_i64(mantissa), q.pow(2, exponent))
}

pub(super) fn pair_site<D: Device>(op: &'static str, a: &Ciphertext<D>, b: &Ciphertext<D>) -> Site {
    let (levels, scales) = ([a.level, b.level], [a.scale, b.scale]);
    Site { op, levels, scales, slots: [a.slots, b.slots], batches: [a.batch(), b.batch()] }
}

fn plain_site<D: Device>(op: &'static str, a: &Ciphertext<D>, p: &Plaintext<D>) -> Site {
    let (levels, scales) = ([a.level, p.level], [a.scale, p.scale]);
    Site { op, levels, scales, slots: [a.slots, p.slots], batches: [a.batch(), p.poly.shape().batch] }
}

/// The two polynomials of a ciphertext of degree 1.
pub(crate) fn linear<'c, D: Device>(op: &'static str, a: &'c Ciphertext<D>) -> Result<(&'c D::Poly, &'c D::Poly)> {
    match &a.parts[..] {
        [c0, c1] => Ok((c0, c1)),
        parts => Err(ShapeError::Degree { op, got: parts.len(), wanted: 2, next: "relinearize first" }.into()),
    }
}
