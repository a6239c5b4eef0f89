//! Composites in fewer launches and passes than their default bodies, with the same residues.

use crate::{
    device::{Cuda, CudaPoly},
    elementwise::Term,
    launch::{Args, ROWS, Shape as Blocks, small},
    lwe::CudaLwe,
    pool::Row,
    transform::{Division, digit_words},
};
use limbwise_device::{
    Basis, Device, Domain, GadgetKey, Ggsw, Region, Terms, Weight,
    composites::{self, inverse_product},
    footprint::BlindRotation,
    ops::broadcast,
};
use std::sync::Arc;

/// Weights of one limb that are extended together.
pub(crate) const EXTENDED: usize = 8;

impl Cuda {
    /// [`composites::mod_up`]: the rows of all digits are transformed together.
    pub(crate) fn fused_mod_up(&self, c: &CudaPoly, digits: &[Basis], full: Basis) -> Vec<CudaPoly> {
        let _region = self.region(Region::ModUp, 0);
        let coeff = self.inverse(c.clone());
        self.raise_digits(c, &coeff, digits, full)
    }

    /// Selected limbs of each digit: its own from `c`, the others converted from `coeff`, the coefficients of `c`.
    pub(crate) fn raise_digits(&self, c: &CudaPoly, coeff: &CudaPoly, digits: &[Basis], limbs: Basis) -> Vec<CudaPoly> {
        let extend = |own: &Basis| self.convert_basis(&self.restrict(coeff, *own), limbs - *own);
        let others: Vec<CudaPoly> = digits.iter().map(extend).collect();
        let rows: Vec<Arc<Row>> = others.iter().flat_map(|p| p.rows.iter().cloned()).collect();
        let primes: Vec<usize> = others.iter().flat_map(|p| Self::primes_of(&p.shape)).collect();
        self.to_values(&c.shape.ring, &primes, &rows, &rows, None);
        let whole = |(own, others): (&Basis, CudaPoly)| {
            let others = CudaPoly { shape: others.shape.with_domain(Domain::Eval), rows: others.rows };
            self.join(&[&self.restrict(c, *own & limbs), &others])
        };
        digits.iter().zip(others).map(whole).collect()
    }

    /// [`composites::gadget_product`]: reads each digit once for both halves.
    pub(crate) fn fused_gadget_product(&self, digits: &[CudaPoly], key: &GadgetKey<CudaPoly>) -> [CudaPoly; 2] {
        assert!(digits.len() == key.pairs.len() && !digits.is_empty(), "one key pair a digit, at least one");
        let _region = self.region(Region::GadgetProduct, 0);
        self.inner_products(digits, key)
    }

    /// Both halves of the sum over the limbs of the digits, all of which the key has.
    pub(crate) fn inner_products(&self, digits: &[CudaPoly], key: &GadgetKey<CudaPoly>) -> [CudaPoly; 2] {
        let shape = digits[0].shape.with_batch(broadcast(&digits[0].shape, &key.pairs[0][0].shape));
        let [b, a] = [self.fresh(shape.clone()), self.fresh(shape.clone())];
        let (tables, primes, n) = (self.tables(&shape.ring), Self::primes_of(&shape), shape.ring.n());
        let mut onto = 0;
        for (digits, pairs) in digits.chunks(ROWS / 2).zip(key.pairs.chunks(ROWS / 2)) {
            let together = ROWS / 2 / digits.len();
            for first in (0..shape.rows()).step_by(together) {
                let range = first..(first + together).min(shape.rows());
                let places = || range.clone().flat_map(|i| (0..digits.len()).map(move |t| (i, t)));
                let of = |p: &'_ CudaPoly, i: usize| i % p.rows.len();
                let factor = |half: usize| places().map(move |(i, t)| &pairs[t][half].rows[of(&pairs[t][half], i)]);
                let args = Args::default()
                    .halves([&mut b.rows[range.clone()].iter(), &mut a.rows[range.clone()].iter()])
                    .rows(places().map(|(i, t)| &digits[t].rows[of(&digits[t], i)]))
                    .halves([&mut factor(0), &mut factor(1)])
                    .small(primes[range.clone()].iter().copied())
                    .pointer(&tables.primes)
                    .int(small(n))
                    .int(small(digits.len()))
                    .int(onto);
                self.launch("lw_inner_pair", Blocks::pairs(n, range.len()), args);
            }
            onto = 1;
        }
        [b, a]
    }

    /// [`composites::mod_down`]: the last pass of the transform subtracts and divides.
    pub(crate) fn fused_mod_down(&self, a: &CudaPoly, to: Basis) -> CudaPoly {
        let _region = self.region(Region::ModDown, 0);
        let a = &composites::with_primes_of(self, a, to);
        let remainder = self.inverse(self.restrict(a, a.shape.basis - to));
        self.divide_limbs(a, self.convert_basis(&remainder, to), to)
    }

    /// [`composites::rescale`], likewise.
    pub(crate) fn fused_rescale(&self, a: &CudaPoly, to: Basis) -> CudaPoly {
        let _region = self.region(Region::Rescale, 0);
        let lifts = composites::drops_one_of(a.shape.basis, to);
        let a = &composites::with_primes_of(self, a, to);
        let remainder = self.inverse(self.restrict(a, a.shape.basis - to));
        let lifted = if lifts { self.lift_limb(&remainder, to) } else { self.convert_basis(&remainder, to) };
        self.divide_limbs(a, lifted, to)
    }

    fn divide_limbs(&self, a: &CudaPoly, remainder: CudaPoly, to: Basis) -> CudaPoly {
        let by = inverse_product(&a.shape.ring, a.shape.basis - to, to);
        let from = self.restrict(a, to);
        self.forward_and_divide(remainder, &Division { from: &from.rows, by: &by })
    }

    /// [`composites::extend_limb`], transformed in place after the lift.
    pub(crate) fn fused_extend_limb(&self, a: &CudaPoly, to: Basis) -> CudaPoly {
        let _region = self.region(Region::ExtendLimb, 0);
        let own = a.shape.basis;
        let lifted = self.lift_limb(a, to - own);
        let whole = if own.is_subset(to) { self.join(&[a, &lifted]) } else { lifted.clone() };
        drop(lifted);
        self.forward(whole)
    }

    /// [`composites::weighted_sums`]: as many terms per launch as it has rows for, one reduction per sum.
    pub(crate) fn fused_weighted_sums(&self, x: &[CudaPoly], sums: &[Terms<'_, CudaPoly>]) -> Vec<CudaPoly> {
        let _region = self.region(Region::WeightedSums, 0);
        sums.iter().map(|terms| self.weighted_sum(x, terms)).collect()
    }

    fn weighted_sum(&self, x: &[CudaPoly], terms: &Terms<'_, CudaPoly>) -> CudaPoly {
        assert!(!terms.is_empty(), "a sum has a term");
        let (weighted, ones): (Vec<_>, Vec<_>) = terms.iter().partition(|(_, weight)| !matches!(weight, Weight::One));
        let mut ones = ones.into_iter().map(|&(i, _)| &x[i]);
        let products = (!weighted.is_empty()).then(|| self.sum_of_products(x, &weighted));
        let mut sum = products.unwrap_or_else(|| self.copy(ones.next().expect("a sum has a term")));
        ones.for_each(|one| self.add_assign(&mut sum, one));
        sum
    }

    /// The terms that have a weight.
    fn sum_of_products(&self, x: &[CudaPoly], terms: &[&(usize, Weight<'_, CudaPoly>)]) -> CudaPoly {
        let shape = &x[terms[0].0].shape;
        let weight_of = |weight: &Weight<'_, CudaPoly>| weight.poly().map_or(1, |w| w.shape.batch);
        let batch = terms.iter().map(|(i, w)| x[*i].shape.batch.max(weight_of(w))).max().unwrap_or(1);
        let out = self.fresh(shape.with_batch(batch));
        let one_limb = terms.iter().any(|(_, w)| matches!(w, Weight::OneLimb(_)));
        for (group, terms) in terms.chunks(if one_limb { EXTENDED } else { ROWS }).enumerate() {
            let weights: Vec<CudaPoly> = terms
                .iter()
                .map(|(i, weight)| match weight {
                    Weight::Values(values) => (*values).clone(),
                    Weight::OneLimb(limb) => self.extend_limb(limb, x[*i].shape.basis),
                    Weight::One => unreachable!("without a weight"),
                })
                .collect();
            let terms: Vec<Term<'_>> =
                terms.iter().zip(&weights).map(|((i, _), w)| Term { a: &x[*i].rows, b: &w.rows }).collect();
            self.sum_terms(&out, &terms, u32::from(group > 0));
        }
        out
    }

    /// [`composites::blind_rotate`] in one launch, for polynomials that fit shared memory with the digits of a step.
    pub(crate) fn fused_blind_rotate(
        &self,
        test: &CudaPoly,
        exponents: &CudaLwe,
        key: &Ggsw<CudaPoly>,
    ) -> Vec<CudaPoly> {
        let (ring, parts, steps) = (&test.shape.ring, key.components(), exponents.shape.dimension);
        let (test_shape, gadget) = (&test.shape, key.gadget);
        let call = BlindRotation { test: test_shape, exponents: exponents.shape, components: parts, gadget };
        if !self.own_footprint().rotates_in_one_launch(&call) {
            return composites::blind_rotate(self, test, exponents, key);
        }
        let batch = test.shape.batch.max(exponents.shape.batch);
        let blocks = Blocks::rotations(ring.n(), batch, parts * gadget.len() + parts);
        let prime = Self::primes_of(&test.shape.with_batch(1))[0];
        let q = ring.moduli()[prime].value();
        let _region = self.region(Region::BlindRotate, 0);
        let out: Vec<CudaPoly> = (0..parts).map(|_| self.fresh(test.shape.with_batch(batch))).collect();
        let steps_rows = (0..steps).flat_map(|i| key.rows.iter().flatten().map(move |p| &p.rows[i]));
        let out_rows = (0..batch).flat_map(|e| out.iter().map(move |p| &p.rows[e]));
        let addresses = Args::default().list(steps_rows.chain(out_rows).chain(&test.rows));
        let key_rows = steps * key.rows.len() * parts;
        let both = |low: usize, high: usize| u64::from(small(low)) | u64::from(small(high)) << 32;
        self.launch_with_table("lw_blind_rotate", blocks, addresses, |table| {
            let at = |i: usize| table.at() + 8 * i as u64;
            let mut rotation = vec![at(0), exponents.words.at(), at(key_rows), at(key_rows + batch * parts)];
            rotation.extend([
                both(exponents.shape.batch, test.shape.batch),
                both(steps, parts),
                both(key.gadget.len(), key.gadget.base_log as usize),
                both((64 - (q - 1).leading_zeros()) as usize, ring.log_n() as usize),
            ]);
            rotation.extend(digit_words(key.gadget, q));
            let mut args = Args::default().structure(&rotation).pointer(&self.tables(ring).primes).int(small(prime));
            args.lacking |= exponents.words.at() == 0;
            args
        });
        out
    }
}
