//! Ring packing: many LWE ciphertexts become the coefficients of one polynomial pair.
//!
//! Each ciphertext is embedded with its phase as the constant coefficient; the other coefficients are arbitrary. A
//! stage merges pairs: `(a + X^m·b) + σ(a − X^m·b)` with σ: X → X^(2^t + 1) and m = N/2^t. It doubles the coefficients
//! of a at multiples of 2m and puts those of b next to them. After log₂(slots) stages the phases are the coefficients
//! at multiples of N/(2·slots) below N/2. CoeffToSlot discards the other coefficients.
//!
//! Source: \[CDKS21\] (PackLWEs); Differs: level by level on batches instead of a recursion, without the first stage.

use super::{BridgeParams, BridgePlan};
use crate::{
    ckks::{Ciphertext, Estimate, Evaluator},
    error::Result,
    params::Params,
    rlwe::KeyName,
};
use limbwise_device::{Basis, Device, Domain, GadgetKey, Handle as _, LweHandle as _, Role, Rounding, Shape};

const OP: &str = "pack";

/// X^m over q₀ for each stage, in evaluation domain.
pub(super) struct Monomials<D: Device>(Vec<D::Poly>);

impl<D: Device> Monomials<D> {
    /// Encodes the monomials on a device. A recorder declares them by the same calls.
    pub(super) fn new(dev: &D, params: &Params, plan: BridgePlan) -> Self {
        let shape = Shape::eval(params.ring(), params.basis(0)).with_domain(Domain::Coeff);
        let monomial = |index| {
            let (_, place) = plan.stage(params, index);
            dev.ntt(dev.upload(&shape, Role::Plaintext, &|_, row| {
                row.fill(0);
                row[place] = 1;
            }))
        };
        Self((0..plan.stages()).map(monomial).collect())
    }

    /// Their size in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.0.iter().map(|p| p.shape().bytes()).sum()
    }
}

/// State of one packing that all blocks share.
pub(super) struct Packer<'p, D: Device> {
    dev: &'p D,
    params: &'p Params,
    plan: BridgePlan,
    monomials: &'p Monomials<D>,
    from_lwe: GadgetKey<D::Poly>,
    stages: Vec<GadgetKey<D::Poly>>,
}

impl<'p, D: Device> Packer<'p, D> {
    /// Fetches each key once.
    pub(super) fn new(
        eval: &Evaluator<'p, D>,
        params: &'p BridgeParams,
        plan: BridgePlan,
        monomials: &'p Monomials<D>,
    ) -> Result<Self> {
        let (dev, params) = (eval.dev, params.ckks());
        let key = |name: KeyName| eval.keys.key(OP, name, 0)?.at(dev, params, 0);
        let stages = (0..plan.stages()).map(|index| key(plan.stage(params, index).0)).collect::<Result<_>>()?;
        Ok(Self { dev, params, plan, monomials, from_lwe: key(KeyName::FromLwe)?, stages })
    }

    /// Packs flags, given as phases of any modulus, as ±q₀/4 into the coefficients of a batch of ciphertexts at level
    /// 0. The batch is as large as the rows need; coefficients without a row are undefined.
    pub(super) fn pack(&self, flags: &D::Lwe) -> Ciphertext<D> {
        let (dev, slots) = (self.dev, self.plan.slots);
        let lwe = self.divide_by_slots(flags);
        let messages: Vec<[D::Poly; 2]> =
            (0..lwe.lwe_shape().batch).step_by(slots).map(|from| self.message(&lwe, from)).collect();
        let parts = stack_pairs(dev, &messages).into();
        let scale = self.params.dropped(0);
        Ciphertext { parts, level: 0, scale, slots, estimate: Estimate::exact(1.0), shadow: None }
    }

    /// One message: `slots` rows from `first` on.
    fn message(&self, lwe: &D::Lwe, first: usize) -> [D::Poly; 2] {
        let (dev, slots, block) = (self.dev, self.plan.slots, self.plan.block());
        let _region = dev.region(OP, u32::try_from(first / slots).unwrap_or(u32::MAX));
        let packed = |from: usize| {
            let _region = dev.region("block", u32::try_from(from / block).unwrap_or(u32::MAX));
            self.merge(self.embed(&dev.lwe_split(lwe, first + from, first + from + block)), 0)
        };
        let blocks: Vec<[D::Poly; 2]> = (0..slots).step_by(block).map(packed).collect();
        self.merge(stack_pairs(dev, &blocks), block.trailing_zeros())
    }

    /// Switches to modulus q₀, divides by the slot count (by which the stages multiply) and subtracts a quarter turn.
    fn divide_by_slots(&self, flags: &D::Lwe) -> D::Lwe {
        let (dev, q) = (self.dev, self.params.ring().moduli()[0]);
        let share = q.inv(q.reduce(self.plan.slots as u64));
        let rows = dev.lwe_mod_switch(flags, q.value(), Rounding::Nearest);
        let shape = rows.lwe_shape();
        let rows = match shape.batch.next_multiple_of(self.plan.slots) - shape.batch {
            0 => rows,
            missing => {
                let none = dev.upload_lwe(shape.with_batch(missing), Role::Temporary, &|_, words| words.fill(0));
                dev.lwe_stack(&[&rows, &none])
            }
        };
        let quarter = q.value() / 4;
        dev.lwe_shift(&dev.lwe_scale(&rows, share), &[q.neg(q.mul(quarter, share))])
    }

    /// Embeds LWE ciphertexts under the main secret, phases as constant coefficients.
    fn embed(&self, lwe: &D::Lwe) -> [D::Poly; 2] {
        let (dev, ring, basis) = (self.dev, self.params.ring(), self.params.basis(0));
        let _region = dev.region("embed", 0);
        let part = |i| dev.ntt(dev.lwe_embed(lwe, ring, basis, i));
        let (body, mask) = (part(0), part(1));
        dev.key_switch_onto(&mask, &self.from_lwe, [Some(&body), None], basis)
    }

    /// Merges a batch into one, starting at a stage.
    fn merge(&self, mut pair: [D::Poly; 2], mut stage: u32) -> [D::Poly; 2] {
        while pair[0].shape().batch > 1 {
            pair = self.merge_halves(&pair, stage);
            stage += 1;
        }
        pair
    }

    /// Merges the first half of a batch with the second.
    fn merge_halves(&self, pair: &[D::Poly; 2], stage: u32) -> [D::Poly; 2] {
        let (dev, basis): (_, Basis) = (self.dev, self.params.basis(0));
        let _region = dev.region("stage", stage);
        let index = usize::try_from(stage).expect("at most 16 stages");
        let monomial = &self.monomials.0[index];
        let (name, _) = self.plan.stage(self.params, stage);
        let KeyName::Packing(g) = name else { unreachable!("stages have packing keys") };
        let halves = pair.each_ref().map(|p| {
            let half = p.shape().batch / 2;
            let (a, b) = (dev.split(p, 0, half), dev.mul(&dev.split(p, half, 2 * half), monomial));
            (dev.add(&a, &b), dev.automorphism(&dev.sub(&a, &b), g))
        });
        let [(sum, turned), (mask_sum, turned_mask)] = halves;
        let onto = [Some(&dev.add(&sum, &turned)), Some(&mask_sum)];
        dev.key_switch_onto(&turned_mask, &self.stages[index], onto, basis)
    }
}

/// Concatenates the batches of pairs.
fn stack_pairs<D: Device>(dev: &D, pairs: &[[D::Poly; 2]]) -> [D::Poly; 2] {
    [0, 1].map(|i| dev.stack(&pairs.iter().map(|pair| &pair[i]).collect::<Vec<_>>()))
}
