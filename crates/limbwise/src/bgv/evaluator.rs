//! The explicit evaluator: each operation does what its name says, and the caller switches the modulus.
//!
//! Every user error, excess noise included, is found before the first device operation.

use super::{
    ciphertext::{Ciphertext, Plaintext},
    error::BgvError,
    noise::NoiseBound,
    params::BgvParams,
};
use crate::{
    error::{LevelError, Result, ShapeError},
    rlwe::{
        DivisionRounding, EvaluationKey, KeyName, KeyStore,
        operations::{self, LevelDrop, MatrixSizes},
    },
};
use limbwise_device::{Device, Handle as _};
use limbwise_math::modulus::Modulus;

/// Evaluates on ciphertexts with public keys only.
pub struct Evaluator<'a, D: Device> {
    pub(crate) dev: &'a D,
    pub(crate) params: &'a BgvParams,
    pub(crate) keys: &'a dyn KeyStore<D>,
}

impl<D: Device> Clone for Evaluator<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Device> Copy for Evaluator<'_, D> {}

impl<'a, D: Device> Evaluator<'a, D> {
    /// An evaluator on a device with keys from a store; the keys are those of [`BgvParams::rlwe`].
    #[must_use]
    pub fn new(dev: &'a D, params: &'a BgvParams, keys: &'a dyn KeyStore<D>) -> Self {
        Self { dev, params, keys }
    }

    /// The device that computes.
    #[must_use]
    pub fn device(&self) -> &'a D {
        self.dev
    }

    /// The parameter set of all operands.
    #[must_use]
    pub fn params(&self) -> &'a BgvParams {
        self.params
    }

    /// The parameters seen with the plaintext modulus of a ciphertext.
    pub(crate) fn of(&self, a: &Ciphertext<D>) -> BgvParams {
        self.params.at(a.modulus)
    }

    /// The rounding of every division: to a multiple of t, so that messages stay exact.
    pub(crate) fn rounding(&self, a: &Ciphertext<D>) -> DivisionRounding {
        DivisionRounding::MultipleOf(self.of(a).t())
    }

    /// `a + b`: levels must be equal, degrees may differ. Where factors differ, both operands are multiplied by
    /// constants of about √t.
    ///
    /// # Errors
    /// [`LevelError`], [`ShapeError`] or [`BgvError`] where the operands do not go together.
    pub fn add(&self, a: &Ciphertext<D>, b: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        self.combine("add", a, b, 1)
    }

    /// `a − b`.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn sub(&self, a: &Ciphertext<D>, b: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        self.combine("sub", a, b, -1)
    }

    fn combine(&self, op: &'static str, a: &Ciphertext<D>, b: &Ciphertext<D>, sign: i64) -> Result<Ciphertext<D>> {
        same_shape(op, a, b)?;
        if a.parts.len() != b.parts.len() && a.batch() != b.batch() {
            return Err(ShapeError::Batch { op, left: a.batch(), right: b.batch() }.into());
        }
        let t = self.of(a).t();
        let [left, right] = align_factors(t, [a.factor, b.factor], [a.noise, b.noise]);
        let noise = scale_noise(a.noise, left).sum(scale_noise(b.noise, right));
        self.fits(op, noise, a.level)?;
        let right = sign * right;
        let dev = self.dev;
        let part = |i: usize| match (a.parts.get(i), b.parts.get(i)) {
            (Some(x), Some(y)) if left == 1 && right == 1 => dev.add(x, y),
            (Some(x), Some(y)) if left == 1 && right == -1 => dev.sub(x, y),
            (Some(x), Some(y)) => {
                dev.linear_combination(&[x, y], &[self.constant(left, a.level), self.constant(right, a.level)])
            }
            (Some(x), None) => self.scale(x, left, a.level),
            (None, y) => self.scale(y.expect("one operand has part i"), right, a.level),
        };
        let parts = (0..a.parts.len().max(b.parts.len())).map(part).collect();
        Ok(Ciphertext { parts, factor: t.mul(a.factor, t.from_i64(left)), noise, ..*a })
    }

    /// `−a`.
    #[must_use]
    pub fn negate(&self, a: &Ciphertext<D>) -> Ciphertext<D> {
        let parts = a.parts.iter().map(|p| self.dev.neg(p.clone())).collect();
        Ciphertext { parts, ..*a }
    }

    /// `a + p`.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn add_plain(&self, a: &Ciphertext<D>, p: &Plaintext<D>) -> Result<Ciphertext<D>> {
        plain_goes("add_plain", a, p, false)?;
        // The plaintext is multiplied by the ciphertext's factor, so that both carry it.
        let params = self.of(a);
        let factor = params.t().centered(a.factor);
        let noise = a.noise.sum(scale_noise(NoiseBound::plaintext(&params), factor));
        self.fits("add_plain", noise, a.level)?;
        let mut parts = a.parts.clone();
        parts[0] = self.dev.add(&parts[0], &self.scale(&p.poly, factor, a.level));
        Ok(Ciphertext { parts, noise, ..*a })
    }

    /// `a − p`.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn sub_plain(&self, a: &Ciphertext<D>, p: &Plaintext<D>) -> Result<Ciphertext<D>> {
        self.add_plain(&self.negate(a), p).map(|difference| self.negate(&difference))
    }

    /// `a ⊙ p`.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn mul_plain(&self, a: &Ciphertext<D>, p: &Plaintext<D>) -> Result<Ciphertext<D>> {
        plain_goes("mul_plain", a, p, true)?;
        let noise = a.noise.product(NoiseBound::plaintext(&self.of(a)));
        self.fits("mul_plain", noise, a.level)?;
        let _region = self.dev.region("mul_plain", 0);
        let parts = a.parts.iter().map(|c| self.dev.mul(c, &p.poly)).collect();
        Ok(Ciphertext { parts, noise, ..*a })
    }

    /// `a·value`, the same in every slot; the value is taken modulo t.
    ///
    /// # Errors
    /// [`BgvError::Noise`].
    pub fn mul_scalar(&self, a: &Ciphertext<D>, value: i64) -> Result<Ciphertext<D>> {
        let t = self.of(a).t();
        let value = t.centered(t.from_i64(value));
        let noise = scale_noise(a.noise, value);
        self.fits("mul_scalar", noise, a.level)?;
        let parts = a.parts.iter().map(|c| self.scale(c, value, a.level)).collect();
        Ok(Ciphertext { parts, noise, ..*a })
    }

    /// `a + value` in every slot; the value is taken modulo t.
    ///
    /// # Errors
    /// [`BgvError::Noise`].
    pub fn add_scalar(&self, a: &Ciphertext<D>, value: i64) -> Result<Ciphertext<D>> {
        let t = self.of(a).t();
        let value = t.centered(t.mul(t.from_i64(value), a.factor));
        let noise = a.noise.sum(NoiseBound::constant(value));
        self.fits("add_scalar", noise, a.level)?;
        let mut parts = a.parts.clone();
        parts[0] = self.dev.shift_limbs(parts[0].clone(), &self.constant(value, a.level));
        Ok(Ciphertext { parts, noise, ..*a })
    }

    /// `a ⊙ b` as a ciphertext of three polynomials.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn multiply(&self, a: &Ciphertext<D>, b: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        same_shape("multiply", a, b)?;
        let (left, right) = (linear("multiply", a)?, linear("multiply", b)?);
        let noise = a.noise.product(b.noise);
        self.fits("multiply", noise, a.level)?;
        let parts = operations::product(self.dev, left, right);
        Ok(Ciphertext { parts, factor: self.of(a).t().mul(a.factor, b.factor), noise, ..*a })
    }

    /// The product of two encrypted matrices with one value of many messages a slot, as ciphertexts of three
    /// polynomials: all products of a sum are added up first, so that each result is relinearized once. Batches of
    /// rows·inner and inner·columns messages, row after row, give rows·columns.
    ///
    /// # Errors
    /// [`ShapeError::Columns`] if a batch is no multiple of `inner`; otherwise as [`Self::multiply`].
    pub fn multiply_matrices(&self, a: &Ciphertext<D>, b: &Ciphertext<D>, inner: usize) -> Result<Ciphertext<D>> {
        let op = "multiply_matrices";
        same_modulus(op, a.modulus, b.modulus)?;
        same_level(op, a, b)?;
        let (left, right) = (linear(op, a)?, linear(op, b)?);
        let sizes = MatrixSizes::of(op, inner, [a.batch(), b.batch()])?;
        let terms = NoiseBound::constant(i64::try_from(inner).unwrap_or(i64::MAX));
        let noise = a.noise.product(b.noise).product(terms);
        self.fits(op, noise, a.level)?;
        let parts = operations::matrix_product(self.dev, left, right, sizes);
        Ok(Ciphertext { parts, factor: self.of(a).t().mul(a.factor, b.factor), noise, ..*a })
    }

    /// `a ⊙ a`, with one ring product fewer than [`Self::multiply`].
    ///
    /// # Errors
    /// As [`Self::multiply`].
    pub fn square(&self, a: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        let halves = linear("square", a)?;
        let noise = a.noise.product(a.noise);
        self.fits("square", noise, a.level)?;
        let parts = operations::square(self.dev, halves);
        Ok(Ciphertext { parts, factor: self.of(a).t().mul(a.factor, a.factor), noise, ..*a })
    }

    /// Three polynomials → two, by the relinearization key. A ciphertext of two is returned unchanged.
    ///
    /// # Errors
    /// [`KeyError`](crate::error::KeyError) without the key, [`BgvError::NoKeySwitching`] without special primes.
    pub fn relinearize(&self, a: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        if a.parts.len() == 2 { Ok(a.clone()) } else { self.relinearize_to("relinearize", a, a.level) }
    }

    /// Divides by the primes above `level`; the message stays exact. A ciphertext of three polynomials is relinearized
    /// by the same division if the parameters have special primes.
    ///
    /// # Errors
    /// [`LevelError`] if the ciphertext is below `level`; a missing key; [`BgvError::Noise`] if the result would not
    /// decrypt.
    pub fn mod_switch(&self, a: &Ciphertext<D>, level: usize) -> Result<Ciphertext<D>> {
        let op = "mod_switch";
        if level > a.level {
            return Err(LevelError::Above { op, wanted: level, level: a.level }.into());
        }
        if a.parts.len() > 2 && self.params.switches_keys() {
            return self.relinearize_to(op, a, level);
        }
        self.divide(a, level)
    }

    /// Divides every polynomial by the primes above `level`, without a key: three polynomials stay three.
    ///
    /// # Errors
    /// [`LevelError`] if the ciphertext is below `level`; [`BgvError::Noise`] if the result would not decrypt.
    pub fn divide(&self, a: &Ciphertext<D>, level: usize) -> Result<Ciphertext<D>> {
        let op = "mod_switch";
        if level > a.level {
            return Err(LevelError::Above { op, wanted: level, level: a.level }.into());
        }
        if level == a.level {
            return Ok(a.clone());
        }
        let noise = a.noise.divided(&self.of(a), LevelDrop { from: a.level, to: level }, a.parts.len());
        self.fits(op, noise, level)?;
        let (rounding, to) = (self.rounding(a), self.params.rlwe().basis(level));
        let parts = a.parts.iter().map(|p| rounding.divide(self.dev, p, to)).collect();
        Ok(Ciphertext { parts, level, factor: self.switched_factor(a, level), noise, ..*a })
    }

    /// Drops the primes above `level` without dividing: message, factor and noise stay.
    ///
    /// # Errors
    /// [`LevelError`] if the ciphertext is below `level`; [`BgvError::Noise`] if its noise does not fit there.
    pub fn drop_level(&self, a: &Ciphertext<D>, level: usize) -> Result<Ciphertext<D>> {
        if level > a.level {
            return Err(LevelError::Above { op: "drop_level", wanted: level, level: a.level }.into());
        }
        self.fits("drop_level", a.noise, level)?;
        let basis = self.params.rlwe().basis(level);
        Ok(Ciphertext { parts: a.parts.iter().map(|p| self.dev.restrict(p, basis)).collect(), level, ..*a })
    }

    /// The noise bound after [`Self::mod_switch`].
    pub(crate) fn switched_noise(&self, a: &Ciphertext<D>, level: usize) -> NoiseBound {
        let levels = LevelDrop { from: a.level, to: level };
        match a.parts.len() {
            3 if self.params.switches_keys() => a.noise.relinearized(&self.of(a), levels),
            parts if level < a.level => a.noise.divided(&self.of(a), levels, parts),
            _ => a.noise,
        }
    }

    fn switched_factor(&self, a: &Ciphertext<D>, level: usize) -> u64 {
        let params = self.of(a);
        params.t().mul(a.factor, params.switched_factor(a.level, level))
    }

    fn relinearize_to(&self, op: &'static str, a: &Ciphertext<D>, level: usize) -> Result<Ciphertext<D>> {
        let [c0, c1, c2] = &a.parts[..] else { return Ok(a.clone()) };
        let key = self.key(op, KeyName::Relinearization, a.level)?;
        let noise = self.switched_noise(a, level);
        self.fits(op, noise, level)?;
        let (rlwe, levels) = (self.params.rlwe(), LevelDrop { from: a.level, to: level });
        let parts = operations::relinearize(self.dev, rlwe, [c0, c1, c2], &key, levels, self.rounding(a))?;
        Ok(Ciphertext { parts, level, factor: self.switched_factor(a, level), noise, ..*a })
    }

    /// The named key, prepared for ciphertexts at `level`.
    pub(crate) fn key(&self, op: &'static str, name: KeyName, level: usize) -> Result<EvaluationKey<D>> {
        if !self.params.switches_keys() {
            return Err(BgvError::NoKeySwitching { op }.into());
        }
        self.keys.key(op, name, level)
    }

    /// Fails if a phase of this size might not decrypt.
    pub(crate) fn fits(&self, op: &'static str, noise: NoiseBound, level: usize) -> Result<()> {
        let room = self.params.rlwe().log_modulus(level) - 1.0;
        if noise.bits() > room {
            return Err(BgvError::Noise { op, noise: noise.bits(), room, level }.into());
        }
        Ok(())
    }

    /// The residues of an integer modulo the primes of a level.
    fn constant(&self, value: i64, level: usize) -> Vec<u64> {
        let rlwe = self.params.rlwe();
        rlwe.ring().moduli_of(rlwe.basis(level)).into_iter().map(|q| q.from_i64(value)).collect()
    }

    fn scale(&self, x: &D::Poly, value: i64, level: usize) -> D::Poly {
        match value {
            1 => x.clone(),
            -1 => self.dev.neg(x.clone()),
            _ => self.dev.scale_limbs(x.clone(), &self.constant(value, level)),
        }
    }

    /// Concatenates the batches of ciphertexts of one level and factor; no words are copied. The noise bound is the
    /// largest of theirs.
    ///
    /// # Errors
    /// [`LevelError`], [`ShapeError::Degree`] or [`BgvError::Modulus`] if they differ.
    ///
    /// # Panics
    /// If the list is empty or the factors differ: the ciphertexts of one computation share one factor.
    pub fn stack(&self, ciphertexts: &[Ciphertext<D>]) -> Result<Ciphertext<D>> {
        let op = "stack";
        let first = ciphertexts.first().expect("a batch has a ciphertext");
        for c in ciphertexts {
            if c.level != first.level {
                return Err(LevelError::Mismatch { op, left: first.level, right: c.level }.into());
            }
            let (got, wanted) = (c.parts.len(), first.parts.len());
            if got != wanted {
                return Err(ShapeError::Degree { op, got, wanted, next: "relinearize all" }.into());
            }
            same_modulus(op, first.modulus, c.modulus)?;
            assert!(c.factor == first.factor, "ciphertexts of one batch have one factor");
        }
        let part = |i: usize| self.dev.stack(&ciphertexts.iter().map(|c| &c.parts[i]).collect::<Vec<_>>());
        let noise = ciphertexts.iter().map(|c| c.noise).fold(first.noise, |a, b| if b > a { b } else { a });
        Ok(Ciphertext { parts: (0..first.parts.len()).map(part).collect(), noise, ..*first })
    }

    /// The messages `from … to − 1` of a batch; no words are copied.
    #[must_use]
    pub fn split(&self, a: &Ciphertext<D>, from: usize, to: usize) -> Ciphertext<D> {
        Ciphertext { parts: a.parts.iter().map(|p| self.dev.split(p, from, to)).collect(), ..*a }
    }

    /// The sum of all messages of a batch, as a batch of one.
    ///
    /// # Errors
    /// [`BgvError::Noise`].
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

fn scale_noise(noise: NoiseBound, value: i64) -> NoiseBound {
    noise.product(NoiseBound::constant(value))
}

/// Small l and r with l·left ≡ r·right modulo t: the pair that leaves the least noise among the convergents of
/// right/left.
///
/// Source: \[SEAL\] (balanced correction factors). Differs: weighs both by the noise they meet.
fn align_factors(t: Modulus, [left, right]: [u64; 2], noise: [NoiseBound; 2]) -> [i64; 2] {
    if left == right {
        return [1, 1];
    }
    let ratio = t.mul(right, t.inv(left));
    // Invariant of Euclid's algorithm: each remainder ≡ its multiplier·ratio modulo t.
    let (mut above, mut here) = ((t.value().cast_signed(), 0i64), (ratio.cast_signed(), 1i64));
    let cost = |&(l, r): &(i64, i64)| scale_noise(noise[0], l).sum(scale_noise(noise[1], r)).bits();
    let mut best = here;
    while here.0 != 0 {
        if cost(&here) < cost(&best) {
            best = here;
        }
        let quotient = above.0 / here.0;
        (above, here) = (here, (above.0 - quotient * here.0, above.1 - quotient * here.1));
    }
    [best.0, best.1]
}

pub(crate) fn same_modulus(op: &'static str, left: usize, right: usize) -> Result<()> {
    if left == right { Ok(()) } else { Err(BgvError::Modulus { op, left, right }.into()) }
}

fn same_level<D: Device>(op: &'static str, a: &Ciphertext<D>, b: &Ciphertext<D>) -> Result<()> {
    let (left, right) = (a.level, b.level);
    if left == right { Ok(()) } else { Err(LevelError::Mismatch { op, left, right }.into()) }
}

fn same_shape<D: Device>(op: &'static str, a: &Ciphertext<D>, b: &Ciphertext<D>) -> Result<()> {
    same_modulus(op, a.modulus, b.modulus)?;
    same_level(op, a, b)?;
    let (left, right) = (a.batch(), b.batch());
    if left != right && left != 1 && right != 1 {
        return Err(ShapeError::Batch { op, left, right }.into());
    }
    Ok(())
}

fn plain_goes<D: Device>(op: &'static str, a: &Ciphertext<D>, p: &Plaintext<D>, may_grow: bool) -> Result<()> {
    same_modulus(op, a.modulus, p.modulus)?;
    let (left, right) = (a.level, p.level);
    if left != right {
        return Err(LevelError::Mismatch { op, left, right }.into());
    }
    let (left, right) = (a.batch(), p.poly.shape().batch);
    if left != right && right != 1 && !(may_grow && left == 1) {
        return Err(ShapeError::Batch { op, left, right }.into());
    }
    Ok(())
}

/// The two polynomials of a ciphertext of degree 1.
pub(crate) fn linear<'c, D: Device>(op: &'static str, a: &'c Ciphertext<D>) -> Result<[&'c D::Poly; 2]> {
    match &a.parts[..] {
        [c0, c1] => Ok([c0, c1]),
        parts => Err(ShapeError::Degree { op, got: parts.len(), wanted: 2, next: "relinearize first" }.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_aligned_by_small_constants() {
        for (t, left, right) in
            [(65537u64, 3u64, 40001u64), (65537, 65536, 1), (12289, 7000, 11), (786_433, 5, 700_001)]
        {
            let modulus = Modulus::new(t);
            let [l, r] = align_factors(modulus, [left, right], [NoiseBound::of_bits(30.0); 2]);
            let scaled = |value: i64, factor: u64| modulus.mul(modulus.from_i64(value), factor);
            assert_eq!(scaled(l, left), scaled(r, right));
            let most = 2 * t.isqrt().cast_signed();
            assert!(l != 0 && l.abs() <= most && r.abs() <= most, "{l}, {r} for t = {t}");
        }
        // The noisier operand gets the smaller constant.
        let [l, r] =
            align_factors(Modulus::new(65537), [3, 40001], [NoiseBound::of_bits(60.0), NoiseBound::of_bits(20.0)]);
        assert!(l.abs() == 1 && r.abs() > 256, "{l}, {r}");
    }
}
