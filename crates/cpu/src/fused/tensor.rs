//! `tensor`: every operand is read once and every result written once, a tile at a time in the L1 cache.

use crate::{
    device::{Cpu, CpuPoly, new_lines},
    kernels::LimbKernels,
    layout::Line,
};
use std::ops::Range;

/// Lines of a tile: four factors, three results and a product fit the L1 cache.
const TILE: usize = 24;

/// Terms that are added at a time, listed without memory of their own. A series seldom has more.
const TOGETHER: usize = 7;

/// The row that meets the i-th of a result: a batch of one meets every entry.
fn lines(p: &CpuPoly, i: usize) -> &[Line] {
    p.rows[i % p.rows.len()].lines()
}

/// A limb of all operands.
struct Limb<'a> {
    kernels: &'a dyn LimbKernels,
    x: [&'a [Line]; 2],
    /// The same slices as x for a square.
    y: [&'a [Line]; 2],
    square: bool,
    /// 2^doublings.
    factor: u64,
    /// Of the first two results: what is added, with its constant.
    terms: [Vec<(&'a [Line], u64)>; 2],
}

impl Limb<'_> {
    /// Some lines of the results.
    fn tile(&self, out: [&mut [Line]; 3], lines: Range<usize>) {
        let kernels = self.kernels;
        let [x, y] = [self.x, self.y].map(|pair| pair.map(|limb| &limb[lines.clone()]));
        let [first, middle, last] = out;
        let mut space = [Line::default(); TILE];
        let product = &mut space[..lines.len()];
        let plain = self.factor == 1;
        let mut put = |out: &mut [Line], of: &dyn Fn(&mut [Line]), terms: &[(&[Line], u64)]| {
            if plain && terms.is_empty() {
                return of(out);
            }
            of(product);
            let (mut factor, mut rest) = (self.factor, terms);
            loop {
                let (now, later) = rest.split_at(rest.len().min(TOGETHER));
                let mut all: [(&[Line], u64); TOGETHER + 1] = [(&*product, factor); TOGETHER + 1];
                for (to, &(term, c)) in all[1..].iter_mut().zip(now) {
                    *to = (&term[lines.clone()], c);
                }
                kernels.combination(out, &all[..=now.len()]);
                if later.is_empty() {
                    return;
                }
                product.copy_from_slice(out);
                (factor, rest) = (1, later);
            }
        };
        put(first, &|out| kernels.mul(out, x[0], y[0]), &self.terms[0]);
        put(
            middle,
            &|out| {
                kernels.mul(out, x[0], y[1]);
                // Of a square both are the same product.
                if self.square { kernels.scale(out, 2) } else { kernels.mul_acc(out, x[1], y[0]) }
            },
            &self.terms[1],
        );
        put(last, &|out| kernels.mul(out, x[1], y[1]), &[]);
    }

    /// Asks for lines of the operands that come next.
    fn ask_for(&self, lines: Range<usize>) {
        let others: &[&[Line]] = if self.square { &[] } else { &self.y };
        let terms = self.terms.iter().flatten().map(|(term, _)| term);
        for limb in self.x.iter().chain(others).chain(terms) {
            self.kernels.ask_for(&limb[lines.clone()]);
        }
    }
}

impl Cpu {
    /// [`limbwise_device::composites::tensor`].
    pub(crate) fn fused_tensor(
        &self,
        x: &[&CpuPoly],
        y: &[&CpuPoly],
        doublings: usize,
        terms: &[&CpuPoly],
        constants: &[Vec<u64>],
    ) -> Vec<CpuPoly> {
        let batch = x.iter().chain(y).map(|p| p.shape.batch).max().unwrap_or(1);
        let tables = self.tables(&x[0].shape.ring);
        let limbs = tables.limbs(x[0].shape.basis);
        let shape = x[0].shape.with_batch(batch);
        let mut results: Vec<CpuPoly> = (0..3).map(|_| self.unwritten(shape.clone())).collect();
        let rows = results.iter_mut().map(|poly| poly.rows.iter_mut().map(new_lines));
        let [mut first, mut middle, mut last] =
            <[_; 3]>::try_from(rows.collect::<Vec<_>>()).ok().expect("three results");
        let items: Vec<[&mut [Line]; 3]> =
            (0..shape.rows()).filter_map(|_| Some([first.next()?, middle.next()?, last.next()?])).collect();
        let factors = if y.is_empty() { x } else { y };
        self.each(4 * shape.rows() * shape.ring.n(), items, |i, out| {
            let limb = i % limbs.len();
            let all = Limb {
                kernels: limbs[limb],
                x: [lines(x[0], i), lines(x[1], i)],
                y: [lines(factors[0], i), lines(factors[1], i)],
                square: y.is_empty(),
                factor: 1 << doublings,
                terms: [0, 1].map(|half| {
                    let halves = terms.iter().skip(half).step_by(2).zip(constants);
                    halves.map(|(term, c)| (lines(term, i), c[limb])).collect()
                }),
            };
            let [first, middle, last] = out;
            for from in (0..first.len()).step_by(TILE) {
                let to = (from + TILE).min(first.len());
                let next = to..(to + TILE).min(first.len());
                all.ask_for(next.clone());
                // A line is read before it is written.
                for out in [&*first, &*middle, &*last] {
                    limbs[limb].ask_for(&out[next.clone()]);
                }
                all.tile([&mut first[from..to], &mut middle[from..to], &mut last[from..to]], from..to);
            }
        });
        results
    }
}
