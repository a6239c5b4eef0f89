//! Applying a linear map: checks, parts shared by the strategies, and the dispatch between them.

use super::{
    LinearTransform, PlaintextForm, Strategy, bsgs, chained, direct, double_hoisted, hoisted,
    layout::{Group, Term},
    multi_hop,
    transform::{Encoded, Stored},
};
use crate::{
    ckks::{Auto, Ciphertext, Estimate, Evaluator, evaluator::linear, rotation::Hoisted, watch::With},
    error::{LevelError, Result, ScaleError, ShapeError},
    rlwe::KeyName,
};
use limbwise_device::{Basis, Device, Handle as _, Rotation, Terms, Weight};
use limbwise_math::galois::GaloisElement;
use std::ops::Range;

impl<D: Device> Evaluator<'_, D> {
    /// Applies a linear map to the slots: the scale is the product of both scales, the level is unchanged. Rescale
    /// afterwards.
    ///
    /// Shape:  level ℓ → level ℓ, at most the map's.
    /// Scale:  Δ → Δ·Δ_map.   Noise: carried through every rotation and product.
    /// Cost:   that of the plan's [`Strategy`].
    ///
    /// # Errors
    /// A missing key, slots or levels that do not match, a ciphertext of three polynomials, or a product that overflows
    /// the modulus. All are found before any device operation.
    pub fn linear_transform(&self, a: &Ciphertext<D>, map: &LinearTransform<D>) -> Result<Ciphertext<D>> {
        self.apply_to_level("linear_transform", a, map, a.level)
    }

    /// Applies a linear map and rescales: level −1. If the strategy ends over QP, one division drops the special primes
    /// and those of the level, which saves 2(k + ℓ) NTT limbs for ℓ limbs left and k dropped by the level.
    ///
    /// # Errors
    /// As [`Self::linear_transform`] and [`Self::rescale`].
    pub fn linear_transform_rescaled(&self, a: &Ciphertext<D>, map: &LinearTransform<D>) -> Result<Ciphertext<D>> {
        let op = "linear_transform_rescaled";
        self.needs(op, a, 1)?;
        let log_scale = (a.scale * map.plan.scale / self.params.dropped(a.level)).log2();
        if log_scale < 5.0 {
            return Err(ScaleError::TooSmall { op, log_scale }.into());
        }
        let result = self.apply_to_level(op, a, map, a.level - 1)?;
        if result.level < a.level { Ok(result) } else { self.rescale(&result) }
    }

    /// Ends at `level` if the strategy divides anyway, else at the level of `a`.
    fn apply_to_level(
        &self,
        op: &'static str,
        a: &Ciphertext<D>,
        map: &LinearTransform<D>,
        level: usize,
    ) -> Result<Ciphertext<D>> {
        // The observer sees the map as one operation, not its rotations.
        let alone = self.with_watch(None);
        let run = Run::new(op, &alone, a, map)?;
        let _region = self.dev.region("linear_transform", 0);
        let mut result = match map.plan.strategy {
            Strategy::Direct => direct::apply(&run),
            Strategy::Hoisted => hoisted::apply(&run),
            Strategy::Bsgs { .. } => bsgs::apply(&run),
            Strategy::Whole { .. } => bsgs::apply_whole(&run),
            Strategy::DoubleHoisted { .. } => double_hoisted::apply(&run, level),
            Strategy::Chained { .. } => chained::apply(&run, level),
            Strategy::MultiHop { .. } => multi_hop::apply(&run),
        }?;
        if let (Some(clear), Some(map)) = (&a.shadow, &map.shadow) {
            let values: Vec<_> = clear.values().iter().map(|x| map.apply(x)).collect();
            result.shadow = Some(crate::ckks::Shadow::new(&values, a.slots));
        }
        Ok(self.report(op, &[a], With::Map(map), result))
    }
}

impl<D: Device> Auto<'_, D> {
    /// Applies a map at its level and settles the result at the level below. The map's plan must be that of
    /// [`LinearPlan::new`](super::LinearPlan::new).
    ///
    /// # Errors
    /// A missing key, no level left, or a map at a level above the ciphertext's.
    pub fn linear_transform(&self, a: &Ciphertext<D>, map: &LinearTransform<D>) -> Result<Ciphertext<D>> {
        let a = self.settle(a)?;
        self.eval.needs("linear_transform", &a, map.plan.level.max(1))?;
        let a = self.scale_to(&a, 1.0, map.plan.level)?;
        let mut result = self.eval.linear_transform_rescaled(&a, map)?;
        let scale = self.eval.params.scale(result.level);
        if (result.scale / scale - 1.0).abs() < 1e-9 {
            result.scale = scale; // equal but for the rounding of the division
        }
        Ok(result)
    }
}

/// Diagonals that are encoded at a time where none is stored: some for each of a few threads, and little memory.
const AT_A_TIME: usize = 4;

/// One checked application of a map.
pub(super) struct Run<'r, D: Device> {
    pub(super) eval: &'r Evaluator<'r, D>,
    pub(super) dev: &'r D,
    /// The input without its shadow: the shadow of the result is computed separately.
    pub(super) input: Ciphertext<D>,
    pub(super) map: &'r LinearTransform<D>,
    /// The primes of the level plus the special primes.
    pub(super) basis: Basis,
    pub(super) special: Basis,
    op: &'static str,
}

/// Both halves of a ciphertext stacked as one batch, with their estimate.
pub(super) struct Stacked<P> {
    pub(super) poly: P,
    pub(super) estimate: Estimate,
}

impl<'r, D: Device> Run<'r, D> {
    fn new(
        op: &'static str,
        eval: &'r Evaluator<'r, D>,
        a: &Ciphertext<D>,
        map: &'r LinearTransform<D>,
    ) -> Result<Self> {
        let (params, level) = (eval.params, a.level);
        linear(op, a)?;
        if a.slots != map.slots {
            return Err(ShapeError::Slots { op, left: a.slots, right: map.slots }.into());
        }
        if level > map.plan.level {
            return Err(LevelError::Above { op, wanted: level, level: map.plan.level }.into());
        }
        if !params.basis(level).is_subset(params.basis(map.plan.level)) {
            return Err(LevelError::Mismatch { op, left: level, right: map.plan.level }.into());
        }
        let (log_scale, log_modulus) = ((a.scale * map.plan.scale).log2(), params.log_modulus(level));
        if log_scale > log_modulus - 1.0 {
            return Err(ScaleError::TooLarge { op, log_scale, log_modulus, level }.into());
        }
        for (name, level) in map.requirements(params, level) {
            eval.keys.check(op, name, level)?;
        }
        let input = Ciphertext { parts: a.parts.clone(), shadow: None, ..*a };
        let (basis, (_, special)) = (params.basis(level), params.gadget(level));
        Ok(Self { eval, dev: eval.dev, input, map, basis, special, op })
    }

    /// The Galois element of a rotation.
    pub(super) fn galois(&self, steps: i64) -> GaloisElement {
        GaloisElement::rotation(steps, self.eval.params.log_n())
    }

    /// A rotation with its key at the input's level.
    pub(super) fn rotation(&self, steps: i64) -> Result<Rotation<D::Poly>> {
        self.eval.rotation(self.op, self.galois(steps), self.input.level)
    }

    /// The input with its digits raised if they are needed.
    pub(super) fn raised(&self, needed: bool) -> Hoisted<'r, 'r, D> {
        Hoisted::new(self.eval, self.op, &self.input, needed)
    }

    /// A rotation of the raised input.
    pub(super) fn hoisted_rotation(&self, raised: &Hoisted<'r, 'r, D>, steps: i64) -> Result<Ciphertext<D>> {
        if steps == 0 { Ok(self.input.clone()) } else { raised.moved(self.galois(steps)) }
    }

    /// Whether the keys of some rotations are in memory as they are used.
    pub(super) fn keys_are_whole(&self, mut rotations: impl Iterator<Item = i64>) -> bool {
        rotations.all(|steps| self.eval.keys.is_whole(self.key_name(steps)))
    }

    /// The key of a rotation at the input's level.
    fn key_name(&self, steps: i64) -> KeyName {
        KeyName::galois(self.galois(steps), self.eval.params, self.input.level)
    }

    /// The same application to another ciphertext like the input.
    pub(super) fn at(&self, input: Ciphertext<D>) -> Self {
        Self { input, ..*self }
    }

    /// The scale of every product with a diagonal.
    pub(super) fn product_scale(&self) -> f64 {
        self.input.scale * self.map.plan.scale
    }

    /// A diagonal in evaluation domain over a basis.
    pub(super) fn values(&self, weight: &Encoded<D>, basis: Basis) -> Result<D::Poly> {
        let weight = match &weight.stored {
            Stored::Poly(poly) => poly,
            Stored::Kept(kept) => &kept.read(self.dev)?,
            Stored::Clear { diagonal, turn } => {
                return Ok(self.map.encode_now(self.dev, &[(*diagonal, *turn)], basis).remove(0));
            }
        };
        Ok(match self.map.plan.form {
            PlaintextForm::Full => self.dev.restrict(weight, basis),
            _ if weight.shape().basis.len() == 1 => self.dev.extend_limb(weight, basis),
            _ => self.extend(weight, basis),
        })
    }

    /// [`Self::values`] of some diagonals. Those that are encoded now are encoded together: the embedding of one is the work of
    /// one thread.
    fn values_of(&self, weights: &[&Encoded<D>], basis: Basis) -> Result<Vec<D::Poly>> {
        let clear = |weight: &&Encoded<D>| match weight.stored {
            Stored::Clear { diagonal, turn } => Some((diagonal, turn)),
            Stored::Poly(_) | Stored::Kept(_) => None,
        };
        match weights.iter().map(clear).collect::<Option<Vec<_>>>() {
            Some(diagonals) => Ok(self.map.encode_now(self.dev, &diagonals, basis)),
            None => weights.iter().map(|weight| self.values(weight, basis)).collect(),
        }
    }

    /// [`Device::extend_limb`], also for diagonals stored as several limbs of short primes.
    fn extend(&self, weight: &D::Poly, basis: Basis) -> D::Poly {
        let own = weight.shape().basis;
        let mut parts = vec![self.dev.basis_convert(weight, basis - own)];
        if !(own & basis).is_empty() {
            parts.push(self.dev.restrict(weight, own & basis));
        }
        self.dev.ntt(self.dev.join(&parts.iter().collect::<Vec<_>>()))
    }

    pub(super) fn stack(&self, c: &Ciphertext<D>) -> Stacked<D::Poly> {
        Stacked { poly: self.dev.stack(&[&c.parts[0], &c.parts[1]]), estimate: c.estimate }
    }

    /// The ciphertext of two stacked halves after products with diagonals.
    pub(super) fn unstack(&self, stacked: &Stacked<D::Poly>) -> Ciphertext<D> {
        let batch = self.input.batch();
        let parts = [0, 1].map(|half| self.dev.split(&stacked.poly, half * batch, (half + 1) * batch)).into();
        Ciphertext { parts, scale: self.product_scale(), estimate: stacked.estimate, shadow: None, ..self.input }
    }

    /// Whether all weights are stored as [`Device::weighted_sums`] takes them.
    pub(super) fn stores_weights(&self) -> bool {
        let full = self.map.plan.form == PlaintextForm::Full;
        self.map.weights.iter().flatten().all(|weight| match &weight.stored {
            Stored::Poly(poly) => full || poly.shape().basis.len() == 1,
            Stored::Kept(_) | Stored::Clear { .. } => false,
        })
    }

    /// The sums of some groups over a basis by `sums`, which is given the terms of those groups that have any. Weights are
    /// stored. `place` says where a baby step is among the operands, and `estimates` what is known of it; both are `None`
    /// for baby steps that are not summed.
    pub(super) fn sums_with(
        &self,
        groups: Range<usize>,
        basis: Basis,
        place: impl Fn(usize) -> Option<usize>,
        estimates: impl Fn(usize) -> Option<Estimate>,
        sums: impl FnOnce(&[Terms<'_, D::Poly>]) -> Vec<D::Poly>,
    ) -> Result<Vec<Option<Stacked<D::Poly>>>> {
        let full = self.map.plan.form == PlaintextForm::Full;
        let stored = |(group, weights): (&Group, &Vec<Encoded<D>>)| -> Vec<(usize, D::Poly)> {
            let terms = group.terms.iter().zip(weights);
            let term = |(term, weight): (&Term, &Encoded<D>)| match &weight.stored {
                Stored::Poly(poly) if full => Some((place(term.baby)?, self.dev.restrict(poly, basis))),
                Stored::Poly(poly) => Some((place(term.baby)?, poly.clone())),
                Stored::Kept(_) | Stored::Clear { .. } => unreachable!("weights are stored"),
            };
            terms.filter_map(term).collect()
        };
        let both = self.map.layout.groups[groups.clone()].iter().zip(&self.map.weights[groups.clone()]);
        let stored: Vec<Vec<(usize, D::Poly)>> = both.map(stored).collect();
        let weight = |w| if full { Weight::Values(w) } else { Weight::OneLimb(w) };
        let terms: Vec<Terms<'_, D::Poly>> = stored
            .iter()
            .filter(|terms| !terms.is_empty())
            .map(|terms| terms.iter().map(|(i, w)| (*i, weight(w))).collect())
            .collect();
        let mut sums = sums(&terms).into_iter();
        self.estimated(groups, estimates, |_| Ok(sums.next().expect("a sum for each group with terms")))
    }

    /// What `sum` makes of each group that has a term with a summed baby step, with its estimate.
    fn estimated(
        &self,
        groups: Range<usize>,
        estimates: impl Fn(usize) -> Option<Estimate>,
        mut sum: impl FnMut(usize) -> Result<D::Poly>,
    ) -> Result<Vec<Option<Stacked<D::Poly>>>> {
        let one = |at: usize| {
            let terms = self.map.layout.groups[at].terms.iter().zip(&self.map.weights[at]);
            let products = terms.filter_map(|(t, w)| Some(estimates(t.baby)?.product(w.estimate)));
            let Some(estimate) = products.reduce(Estimate::sum) else { return Ok(None) };
            Ok(Some(Stacked { poly: sum(at)?, estimate }))
        };
        groups.map(one).collect()
    }

    /// The sums of some groups over the basis of the baby steps, of which `x` are those that `find` finds.
    pub(super) fn sums(
        &self,
        x: &[D::Poly],
        groups: Range<usize>,
        find: impl Fn(usize) -> Option<usize>,
        estimates: impl Fn(usize) -> Option<Estimate>,
    ) -> Result<Vec<Option<Stacked<D::Poly>>>> {
        if self.stores_weights() {
            let basis = x[0].shape().basis;
            return self.sums_with(groups, basis, find, estimates, |terms| self.dev.weighted_sums(x, terms));
        }
        self.estimated(groups, estimates, |at| self.sum_one_by_one(x, at, &find))
    }

    /// [`Self::sums`] of all baby steps: each group has a term.
    pub(super) fn sums_of(&self, babies: Vec<Stacked<D::Poly>>, groups: Range<usize>) -> Result<Vec<Stacked<D::Poly>>> {
        let (polys, estimates): (Vec<D::Poly>, Vec<Estimate>) =
            babies.into_iter().map(|b| (b.poly, b.estimate)).unzip();
        let sums = self.sums(&polys, groups, Some, |baby| Some(estimates[baby]))?;
        Ok(sums.into_iter().map(|sum| sum.expect("each group has a term")).collect())
    }

    /// The sum of a group whose weights are of several limbs or not stored: only a few exist at a time.
    fn sum_one_by_one(&self, x: &[D::Poly], group: usize, find: impl Fn(usize) -> Option<usize>) -> Result<D::Poly> {
        let terms = self.map.layout.groups[group].terms.iter().zip(&self.map.weights[group]);
        let terms: Vec<(&D::Poly, &Encoded<D>)> =
            terms.filter_map(|(term, weight)| Some((&x[find(term.baby)?], weight))).collect();
        let mut sum: Option<D::Poly> = None;
        for terms in terms.chunks(AT_A_TIME) {
            let weights: Vec<&Encoded<D>> = terms.iter().map(|(_, weight)| *weight).collect();
            let values = self.values_of(&weights, x[0].shape().basis)?;
            for ((x, _), values) in terms.iter().zip(values) {
                match &mut sum {
                    None => sum = Some(self.dev.mul(x, &values)),
                    Some(sum) => self.dev.mul_acc(sum, x, &values),
                }
            }
        }
        Ok(sum.expect("a group has a term"))
    }

    /// The estimate after a key switch that stays over QP: the noise of the digits without the rounding.
    pub(super) fn switch_estimate(&self, estimate: Estimate, g: GaloisElement, scale: f64) -> Estimate {
        self.eval.switched_over_qp(estimate, g, &self.input, scale)
    }

    /// One group, with one baby step in memory at a time.
    pub(super) fn sum_streaming(&self, baby: impl Fn(i64) -> Result<Ciphertext<D>>) -> Result<Ciphertext<D>> {
        let mut sum: Option<Stacked<D::Poly>> = None;
        for (term, weight) in self.map.layout.groups[0].terms.iter().zip(&self.map.weights[0]) {
            let x = self.stack(&baby(self.map.layout.babies[term.baby])?);
            let values = self.values(weight, self.basis)?;
            let estimate = x.estimate.product(weight.estimate);
            match &mut sum {
                None => sum = Some(Stacked { poly: self.dev.mul(&x.poly, &values), estimate }),
                Some(sum) => {
                    self.dev.mul_acc(&mut sum.poly, &x.poly, &values);
                    sum.estimate = sum.estimate.sum(estimate);
                }
            }
        }
        Ok(self.unstack(&sum.expect("a map has a diagonal")))
    }
}
