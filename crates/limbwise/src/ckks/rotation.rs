//! Moving slots: rotations, conjugation, and sums built from them.

use super::{
    Estimate,
    ciphertext::Ciphertext,
    evaluator::{Evaluator, linear},
    watch::With,
};
use crate::{
    error::Result,
    rlwe::{
        DivisionRounding, KeyName, noise,
        operations::{self, KeyedAutomorphism},
    },
};
use limbwise_device::{Device, Handle as _, Region, Rotation, Terms, Weight, composites::product};
use limbwise_math::galois::GaloisElement;

const ROTATE: &str = Region::Rotate.name();
const INNER_SUM: &str = "inner_sum";

/// How many terms a step of [`Evaluator::inner_sum_in`] adds up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SumSteps {
    /// Two terms: the fewest keys.
    OfTwo,
    /// Four terms, of one decomposition: half the steps, and half as many keys more. For counts that are powers of two.
    OfFour,
}

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

    /// Rotations of one ciphertext, of which it is decomposed once for all.
    ///
    /// Cost: for r rotations one mod_up, r gadget products and 2r mod_downs.   Source: \[HS18\]
    ///
    /// # Errors
    /// As [`Self::rotate`].
    pub fn rotations(&self, a: &Ciphertext<D>, steps: &[i64]) -> Result<Vec<Ciphertext<D>>> {
        let moves: Vec<_> = steps.iter().map(|&steps| self.shorter(a, steps)).collect();
        let elements: Vec<GaloisElement> = moves.iter().flatten().map(|&(_, g)| g).collect();
        if elements.len() < 2 || !self.keys_are_whole(&elements, a.level) {
            return steps.iter().map(|&steps| self.rotate(a, steps)).collect();
        }
        let (c0, c1) = linear(ROTATE, a)?;
        let (dev, basis) = (self.dev, self.params.basis(a.level));
        let _region = dev.region("rotations", 0);
        let keyed = elements.iter().map(|&g| self.rotation(ROTATE, g, a.level)).collect::<Result<Vec<_>>>()?;
        let sums: Vec<Terms<'_, D::Poly>> = (0..keyed.len()).map(|i| vec![(i, Weight::One)]).collect();
        let made = dev.rotated_sums(c1, &self.times_special(c0, a.level), &keyed, &[], &sums);
        let moved = |((left, g), pair): (&(usize, GaloisElement), D::Poly)| {
            let divided = dev.mod_down(&pair, basis);
            let parts = [0, 1].map(|half| dev.split(&divided, half * a.batch(), (half + 1) * a.batch())).into();
            let estimate = a.estimate.after_automorphism(*g, self.params.log_n());
            let estimate = estimate.after_key_switch(self.params, a.level, a.slots, a.scale);
            let shadow = a.shadow.as_ref().map(|s| s.rotated(*left));
            self.report(ROTATE, &[a], With::Galois(*g), Ciphertext { parts, estimate, shadow, ..*a })
        };
        let mut moved = moves.iter().flatten().zip(made).map(moved);
        Ok(moves.iter().map(|turn| turn.and_then(|_| moved.next()).unwrap_or_else(|| a.clone())).collect())
    }

    /// P·half over Q.
    fn times_special(&self, half: &D::Poly, level: usize) -> D::Poly {
        let ((_, special), basis) = (self.params.gadget(level), half.shape().basis);
        self.dev.scale_limbs(half.clone(), &product(self.params.ring(), special, basis))
    }

    /// Whether the keys of some rotations are in memory as they are used.
    fn keys_are_whole(&self, elements: &[GaloisElement], level: usize) -> bool {
        elements.iter().all(|&g| self.keys.is_whole(KeyName::galois(g, self.params, level)))
    }

    /// The estimate after a key switch that stays over QP: the noise of the digits without the rounding.
    pub(super) fn switched_over_qp(&self, of: Estimate, g: GaloisElement, at: &Ciphertext<D>, scale: f64) -> Estimate {
        let params = self.params;
        let [whole, rounding] = [noise::key_switch(params, at.level), noise::division(params)];
        let digits = (whole * whole - rounding * rounding).max(0.0).sqrt();
        of.after_automorphism(g, params.log_n()).with_noise(digits, at.slots, scale)
    }

    /// [`Self::inner_sum`] in steps of two terms or of four.
    ///
    /// Cost: a power of four takes for each factor of four a mod_up, three gadget products and a mod_down of one half, and one
    /// mod_down at the end.   Source: \[BMTH21\] §4 (sums over QP).
    ///
    /// # Errors
    /// As [`Self::rotate`].
    pub fn inner_sum_in(&self, steps: SumSteps, a: &Ciphertext<D>, stride: i64, count: usize) -> Result<Ciphertext<D>> {
        if steps == SumSteps::OfTwo || !count.is_power_of_two() {
            return self.inner_sum(a, stride, count);
        }
        let odd = 1 << (count.ilog2() % 2);
        self.by_fours(&self.inner_sum(a, stride, odd)?, stride * odd as i64, count / odd)
    }

    /// `Σ_{i < count} rotate(a, i·stride)` by doubling: at most 2·log₂(count) rotations, log₂ for powers of two.
    ///
    /// # Errors
    /// As [`Self::rotate`].
    pub fn inner_sum(&self, a: &Ciphertext<D>, stride: i64, count: usize) -> Result<Ciphertext<D>> {
        let _region = self.dev.region(INNER_SUM, 0);
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

    /// [`Self::inner_sum`] of 4^k terms. Between steps the first half stays over QP; the second half is divided, for the
    /// next step decomposes it.
    fn by_fours(&self, a: &Ciphertext<D>, stride: i64, count: usize) -> Result<Ciphertext<D>> {
        if count == 1 {
            return Ok(a.clone());
        }
        let _region = self.dev.region(INNER_SUM, 0);
        let (c0, c1) = linear(INNER_SUM, a)?;
        let (dev, basis) = (self.dev, self.params.basis(a.level));
        let (mut first, mut second) = (self.times_special(c0, a.level), c1.clone());
        let (mut estimate, mut shadow) = (a.estimate, a.shadow.clone());
        let mut elements = Vec::new();
        for step in 0..count.ilog2() / 2 {
            let moves = [1, 2, 3].map(|i| self.shorter(a, (i * stride) << (2 * step)));
            let sum = self.with_rotations([&first, &second], a.level, &moves)?;
            let before = estimate;
            for turn in &moves {
                let moved = turn.map_or(before, |(_, g)| self.switched_over_qp(before, g, a, a.scale));
                estimate = estimate.sum(moved);
            }
            estimate = estimate.divided(self.params, a.slots, a.scale);
            shadow = shadow.map(|x| {
                let turned = moves.iter().map(|turn| turn.map_or_else(|| x.clone(), |(left, _)| x.rotated(left)));
                turned.fold(x.clone(), |sum, turned| sum.zip(&turned, |x, y| x + y))
            });
            let unmoved = GaloisElement::rotation(0, self.params.log_n());
            elements.push(moves.map(|turn| turn.map_or(unmoved, |(_, g)| g)).to_vec());
            second = dev.mod_down(&dev.split(&sum, a.batch(), 2 * a.batch()), basis);
            first = dev.split(&sum, 0, a.batch());
        }
        let parts = vec![dev.mod_down(&first, basis), second];
        let sum = Ciphertext { parts, estimate, shadow, ..*a };
        Ok(self.report(INNER_SUM, &[a], With::Rotations(&elements), sum))
    }

    /// P times a ciphertext, whose first half comes with this factor, plus its rotations, both halves over QP. Rotations whose
    /// keys are not in memory as they are used come one after the other.
    fn with_rotations(
        &self,
        [first, second]: [&D::Poly; 2],
        level: usize,
        moves: &[Option<(usize, GaloisElement)>],
    ) -> Result<D::Poly> {
        let (dev, (_, special)) = (self.dev, self.params.gadget(level));
        let over_qp = |half: &D::Poly| {
            let lacks = special - half.shape().basis;
            match lacks.is_empty() {
                true => half.clone(),
                false => dev.join(&[half, &dev.zeros(&half.shape().with_basis(lacks))]),
            }
        };
        let itself = dev.stack(&[&over_qp(first), &over_qp(&self.times_special(second, level))]);
        let elements: Vec<GaloisElement> = moves.iter().flatten().map(|&(_, g)| g).collect();
        let unmoved = elements.len()..moves.len();
        let mut sum = unmoved.fold(itself.clone(), |sum, _| dev.add(&sum, &itself));
        drop(itself);
        let together = if self.keys_are_whole(&elements, level) { elements.len() } else { 1 };
        for elements in elements.chunks(together.max(1)) {
            let keyed = elements.iter().map(|&g| self.rotation(INNER_SUM, g, level)).collect::<Result<Vec<_>>>()?;
            // The sum so far comes after the rotations.
            let terms: Terms<'_, D::Poly> = (0..=keyed.len()).map(|i| (i, Weight::One)).collect();
            sum = dev.rotated_sums(second, first, &keyed, std::slice::from_ref(&sum), &[terms]).remove(0);
        }
        Ok(sum)
    }

    /// The sum of all messages of a batch, as a batch of one. Their errors count as independent: a batch has one estimate,
    /// by which those of its messages cannot be told apart.
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
        Ok(Ciphertext { estimate: a.estimate.summed(batch), ..self.add(&left, &right)? })
    }
}
