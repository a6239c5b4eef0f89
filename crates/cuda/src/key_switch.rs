//! `key_switch` and `key_switch_onto`, a group of limbs at a time: all digits of these limbs are computed, multiplied
//! with the key and dropped before the next group.
//!
//! The default bodies hold all digits and both halves over QP for the whole batch. Limbs depend on each other only
//! through the dropped ones, so these are computed first and become the remainder; then each limb of the result goes
//! from its digits to its division. No sum is read twice. A group of limbs is as large as fills the launches of its
//! transforms, so the number of launches hardly grows. Small rings, whose limbs do not fill a launch, process several
//! batch entries together.
//!
//! `onto` is added to the sum as P·onto (P the product of the special primes), which is divisible by P.

use crate::{
    device::{Cuda, CudaPoly},
    launch::ROWS,
    transform::Division,
};
use limbwise_device::{
    Basis, Device, GadgetKey,
    composites::{inverse_product, product},
    footprint::KeySwitch,
    ops::broadcast,
};
use std::ops::Range;

/// The groups of a key switch.
#[derive(Debug, PartialEq, Eq)]
struct Cut {
    /// Batch entries per group.
    entries: usize,
    /// Groups of dropped limbs.
    dropped: Vec<Basis>,
    /// Groups of limbs of the result.
    kept: Vec<Basis>,
}

/// Splits a basis into the fewest parts of at most `most` primes, all of similar size.
fn parts(basis: Basis, most: usize) -> Vec<Basis> {
    let primes: Vec<usize> = basis.iter().collect();
    let (len, count) = (primes.len(), primes.len().div_ceil(most));
    let some = |g: usize| primes[g * len / count..(g + 1) * len / count].iter();
    (0..count).map(|g| some(g).fold(Basis::default(), |all, &i| all | Basis::single(i))).collect()
}

impl Cut {
    fn of(call: &KeySwitch<'_>) -> Self {
        let full = call.c.basis | call.special;
        let entries = (ROWS / (call.digits.len() * full.len())).clamp(1, call.batch);
        let limbs = (ROWS / (call.digits.len() * entries)).max(1);
        Self { entries, dropped: parts(call.dropped(), limbs), kept: parts(call.to, limbs) }
    }

    fn ranges(&self, batch: usize) -> impl Iterator<Item = Range<usize>> {
        let entries = self.entries;
        (0..batch).step_by(entries).map(move |first| first..(first + entries).min(batch))
    }
}

/// Peak of the rows beside the result, counted over the same steps.
pub(crate) fn rows_beside(call: &KeySwitch<'_>) -> usize {
    let cut = Cut::of(call);
    let raised = |limbs: Basis| call.digits.iter().map(|&own| (limbs - own).len()).sum::<usize>();
    let (mut made, mut most) = (0, 0);
    for entries in cut.ranges(call.batch) {
        let own = entries.len().min(call.c.batch);
        let mut coefficients = own * call.c.basis.len();
        let mut remainders = 0;
        for &limbs in &cut.dropped {
            let sums = 2 * entries.len() * limbs.len();
            remainders += sums;
            most = most.max(made + coefficients + remainders + own * raised(limbs));
        }
        for (left, &limbs) in (0..cut.kept.len()).rev().zip(&cut.kept) {
            let (sums, digits) = (2 * entries.len() * limbs.len(), own * raised(limbs));
            most = most.max(made + remainders + coefficients + digits);
            coefficients *= usize::from(left > 0);
            // Sums beside the digits, then beside the result.
            most = most.max(made + remainders + coefficients + sums + digits.max(sums));
            made += sums;
        }
    }
    most.saturating_sub(made)
}

/// The state of a key switch that is independent of the batch entries.
struct Switch<'a> {
    dev: &'a Cuda,
    c: &'a CudaPoly,
    key: &'a GadgetKey<CudaPoly>,
    onto: [Option<&'a CudaPoly>; 2],
    /// The product of the special primes modulo each prime of `c`.
    factors: Vec<u64>,
    dropped: Basis,
    cut: Cut,
}

impl Cuda {
    /// [`limbwise_device::composites::key_switch`].
    pub(crate) fn fused_key_switch(&self, c: &CudaPoly, key: &GadgetKey<CudaPoly>) -> [CudaPoly; 2] {
        let _region = self.region("key_switch", 0);
        self.switch_key(c, key, [None; 2], c.shape.basis)
    }

    /// [`limbwise_device::composites::key_switch_onto`].
    pub(crate) fn fused_key_switch_onto(
        &self,
        c: &CudaPoly,
        key: &GadgetKey<CudaPoly>,
        onto: [Option<&CudaPoly>; 2],
        to: Basis,
    ) -> [CudaPoly; 2] {
        let _region = self.region("key_switch_onto", 0);
        self.switch_key(c, key, onto, to)
    }

    /// Key switch with addition and rescale; without addends and with all limbs of `c` a plain key switch.
    fn switch_key(
        &self,
        c: &CudaPoly,
        key: &GadgetKey<CudaPoly>,
        onto: [Option<&CudaPoly>; 2],
        to: Basis,
    ) -> [CudaPoly; 2] {
        assert!(key.digits.len() == key.pairs.len() && !key.digits.is_empty(), "one key pair a digit, at least one");
        let batch = broadcast(&c.shape, &key.pairs[0][0].shape);
        let (digits, special) = (&key.digits[..], key.special);
        let call = KeySwitch { c: &c.shape, digits, special, batch, onto: onto.map(|half| half.is_some()), to };
        let factors = product(&c.shape.ring, special, c.shape.basis);
        let switch = Switch { dev: self, c, key, onto, factors, dropped: call.dropped(), cut: Cut::of(&call) };
        let made: Vec<[CudaPoly; 2]> = switch.cut.ranges(batch).map(|entries| switch.entries(entries)).collect();
        [0, 1].map(|half| self.stack(&made.iter().map(|pair| &pair[half]).collect::<Vec<_>>()))
    }

    /// Selected batch entries; a batch of one stands for each.
    fn entries_of(&self, a: &CudaPoly, entries: &Range<usize>) -> CudaPoly {
        if a.shape.batch == 1 { a.clone() } else { self.split(a, entries.start, entries.end) }
    }
}

impl Switch<'_> {
    /// Both halves of selected batch entries.
    fn entries(&self, entries: Range<usize>) -> [CudaPoly; 2] {
        let (dev, count) = (self.dev, entries.len());
        let c = dev.entries_of(self.c, &entries);
        let mut coefficients = Some(dev.inverse(c.clone()));
        let sums = |coefficients: &mut Option<CudaPoly>, limbs: Basis, last: bool| {
            let from = coefficients.as_ref().expect("kept until the last limbs");
            let raised = dev.raise_digits(&c, from, &self.key.digits, limbs);
            if last {
                *coefficients = None; // before there are sums
            }
            self.sums(&entries, &raised, limbs)
        };
        let remainder = |&limbs: &Basis| dev.inverse(sums(&mut coefficients, limbs, false));
        let remainders: Vec<CudaPoly> = self.cut.dropped.iter().map(remainder).collect();
        let remainder = dev.join(&remainders.iter().collect::<Vec<_>>());
        drop(remainders);
        let mut left = self.cut.kept.len();
        let quotient = |&limbs: &Basis| {
            left -= 1;
            let sums = sums(&mut coefficients, limbs, left == 0);
            let by = inverse_product(&c.shape.ring, self.dropped, limbs);
            dev.forward_and_divide(dev.convert_basis(&remainder, limbs), &Division { from: &sums.rows, by: &by })
        };
        let made: Vec<CudaPoly> = self.cut.kept.iter().map(quotient).collect();
        let both = dev.join(&made.iter().collect::<Vec<_>>());
        [dev.split(&both, 0, count), dev.split(&both, count, 2 * count)]
    }

    /// Selected limbs of the product with the key plus `onto`: all entries of one half, then of the other.
    fn sums(&self, entries: &Range<usize>, raised: &[CudaPoly], limbs: Basis) -> CudaPoly {
        let dev = self.dev;
        let part = |half: &CudaPoly| dev.restrict(&dev.entries_of(half, entries), limbs);
        let pairs = self.key.pairs.iter().map(|pair| pair.each_ref().map(part)).collect();
        let key = GadgetKey { digits: self.key.digits.clone(), special: self.key.special, pairs };
        let halves = dev.inner_products(raised, &key);
        let basis = self.c.shape.basis;
        let common = limbs & basis;
        if !common.is_empty() {
            let factors: Vec<u64> =
                common.iter().filter_map(|i| basis.position(i)).map(|at| self.factors[at]).collect();
            for (half, onto) in halves.iter().zip(self.onto) {
                let Some(onto) = onto else { continue };
                let onto = dev.restrict(&dev.entries_of(onto, entries), common);
                dev.combine_into(&dev.restrict(half, common), &[&onto], std::slice::from_ref(&factors), 1);
            }
        }
        dev.stack(&halves.each_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use limbwise_device::{Ring, RingSpec, Shape};
    use limbwise_math::prime::ntt_primes_below;

    fn call<'a>(c: &'a Shape, digits: &'a [Basis]) -> KeySwitch<'a> {
        KeySwitch { c, digits, special: Basis::range(25, 30), batch: c.batch, onto: [false; 2], to: c.basis }
    }

    /// At 25 limbs, 5 special primes and 5 digits, in the second of two groups: the first 12 limbs of both halves, the
    /// remainder, and of 13 limbs the digits and the sums. All digits and both halves over QP would be 185 rows.
    #[test]
    fn a_cut_fills_launches() {
        let primes = ntt_primes_below(10, 40, 30, &[]).unwrap();
        let ring = Ring::new(&RingSpec { log_n: 10, primes }).unwrap();
        let digits: Vec<Basis> = (0..5).map(|i| Basis::range(5 * i, 5 * i + 5)).collect();
        let c = Shape::eval(&ring, Basis::range(0, 25));
        let one = 2 * 12 + 2 * 5 + 4 * 13 + 2 * 13;
        for (batch, rows) in [(1, one), (8, 7 * 50 + one)] {
            let c = c.with_batch(batch);
            let (call, cut) = (call(&c, &digits), Cut::of(&call(&c, &digits)));
            assert_eq!((cut.entries, cut.dropped.len(), cut.kept.len()), (1, 1, 2));
            assert_eq!(2 * batch * 25 + rows_beside(&call), rows);
        }
        // With few limbs, many entries are processed together.
        let few = c.with_basis(Basis::range(0, 4)).with_batch(64);
        assert_eq!(Cut::of(&call(&few, &[Basis::range(0, 4)])).entries, 96 / 9);
    }
}
