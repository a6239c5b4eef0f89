//! `weighted_sums` and `extend_limb`: one limb of all operands at a time.
//!
//! Operands are read from memory once for all sums: a stretch of their limb short enough for the cache meets all weights,
//! which stream by; products are summed lazily and reduced once. A weight of one limb is lifted and transformed in a row
//! of the thread's own, meets all entries of the batch and is overwritten by the next.

use crate::{
    device::{Cpu, CpuPoly, HEAVY, new_lines},
    footprint::TOGETHER,
    kernels::{
        convert::lift,
        sums::{End, Sum, Term},
    },
    layout::{self, Line},
    pool::Row,
    ring::RingTables,
    threads,
};
use limbwise_device::{Basis, Domain, Handle as _, Terms, Weight};
use std::{
    ops::Range,
    sync::{Mutex, PoisonError},
};

/// Lines of all operands that stay in the cache while weights stream by: 4 MiB, of the L3 cache. Stretches that would
/// fit the L2 cache are so short that the hardware does not follow the streams (measured on Zen 4: a third slower).
const CACHED: usize = 65536;

/// Operands by index, each with its weight.
type Products<'a> = Vec<(usize, &'a CpuPoly)>;

/// The terms of one sum by the kind of their weights.
struct Sorted<'a> {
    values: Products<'a>,
    one_limb: Products<'a>,
    /// Operands that are added as they are.
    ones: Vec<usize>,
    /// Whether all entries of the batch have the same weights.
    shared: bool,
}

impl<'a> Sorted<'a> {
    fn new(terms: &Terms<'a, CpuPoly>) -> Self {
        let mut sorted = Self { values: Vec::new(), one_limb: Vec::new(), ones: Vec::new(), shared: true };
        for &(i, weight) in terms {
            match weight {
                Weight::Values(values) => sorted.values.push((i, values)),
                Weight::OneLimb(limb) => sorted.one_limb.push((i, limb)),
                Weight::One => sorted.ones.push(i),
            }
            sorted.shared &= weight.poly().is_none_or(|poly| poly.shape.batch == 1);
        }
        sorted
    }
}

/// Position of a limb in a polynomial.
#[derive(Clone, Copy)]
pub(super) struct Limb {
    /// Entry of the batch.
    pub(super) entry: usize,
    /// Index of the prime in the ring.
    pub(super) prime: usize,
}

/// One limb of one sum, one row per entry.
struct Part<'a> {
    sum: &'a Sorted<'a>,
    out: Vec<&'a mut [Line]>,
}

/// State that is independent of the limb.
struct Weighted<'a> {
    dev: &'a Cpu,
    tables: &'a RingTables,
    x: &'a [CpuPoly],
    /// Rows for [`TOGETHER`] weights, a set a thread.
    scratch: Vec<Mutex<Vec<Row>>>,
}

impl Cpu {
    /// [`limbwise_device::composites::extend_limb`].
    pub(crate) fn fused_extend_limb(&self, a: &CpuPoly, to: Basis) -> CpuPoly {
        let tables = self.tables(&a.shape.ring);
        let primes: Vec<usize> = to.iter().collect();
        let mut result = self.unwritten(a.shape.with_basis(to).with_domain(Domain::Eval));
        let work = HEAVY * result.shape.rows() * a.shape.ring.n();
        self.each(work, result.rows.iter_mut().collect(), |i, row: &mut Row| {
            let limb = Limb { entry: i / primes.len(), prime: primes[i % primes.len()] };
            self.extend(&tables, a, limb, new_lines(row));
        });
        result
    }

    /// [`limbwise_device::composites::weighted_sums`].
    pub(crate) fn fused_weighted_sums(&self, x: &[CpuPoly], sums: &[Terms<'_, CpuPoly>]) -> Vec<CpuPoly> {
        let sorted: Vec<Sorted<'_>> = sums.iter().map(Sorted::new).collect();
        let like = |terms: &Terms<'_, CpuPoly>| &x[terms.first().expect("a sum has a term").0];
        let mut results: Vec<CpuPoly> = sums.iter().map(|terms| self.unwritten(like(terms).shape.clone())).collect();
        let Some(ring) = results.first().map(|first| first.shape.ring.clone()) else { return results };
        let tables = self.tables(&ring);
        let length = layout::lines(ring.log_n());
        let set = |rows| Mutex::new((0..rows).map(|_| self.scratch.take(length)).collect());
        let rows = if sorted.iter().any(|sum| !sum.one_limb.is_empty()) { TOGETHER } else { 0 };
        let scratch = (0..self.threads()).map(|_| set(rows)).collect();
        let work = Weighted { dev: self, tables: &tables, x, scratch };
        let rows: usize = sums.iter().map(|terms| terms.len() * like(terms).shape.rows()).sum();
        self.each(rows * ring.n(), limbs(&mut results, &sorted, self.threads()), |_, (prime, parts)| {
            work.limb(prime, parts);
        });
        results
    }

    /// One limb of the result of [`Cpu::fused_extend_limb`].
    pub(super) fn extend(&self, tables: &RingTables, a: &CpuPoly, limb: Limb, out: &mut [Line]) {
        let Limb { entry, prime } = limb;
        let own = a.shape.basis.iter().next().expect("one limb is extended");
        let moduli = a.shape.ring.moduli();
        if own == prime {
            out.copy_from_slice(a.limb(entry, own));
        } else {
            lift(self.isa(), moduli[own], moduli[prime], out, a.limb(entry, own));
        }
        tables.prime(prime).ntt(out);
    }
}

/// Work items by prime. With few primes for the number of threads, the sums of a prime are split too.
fn limbs<'a>(results: &'a mut [CpuPoly], sums: &'a [Sorted<'a>], threads: usize) -> Vec<(usize, Vec<Part<'a>>)> {
    let all = results.iter().fold(Basis::default(), |all, result| all | result.shape().basis);
    let mut limbs: Vec<(usize, Vec<Part<'a>>)> = all.iter().map(|prime| (prime, Vec::new())).collect();
    for (result, sum) in results.iter_mut().zip(sums) {
        let basis = result.shape.basis;
        let places: Vec<usize> = basis.iter().filter_map(|prime| all.position(prime)).collect();
        places.iter().for_each(|&place| limbs[place].1.push(Part { sum, out: Vec::new() }));
        for (row, &place) in result.rows.iter_mut().zip(places.iter().cycle()) {
            limbs[place].1.last_mut().expect("just pushed").out.push(new_lines(row));
        }
    }
    if limbs.len() >= 4 * threads || limbs.len().is_multiple_of(threads) {
        return limbs;
    }
    let split = |(prime, mut parts): (usize, Vec<Part<'a>>)| {
        let rest = parts.split_off(parts.len() / 2);
        [(prime, parts), (prime, rest)]
    };
    limbs.into_iter().flat_map(split).filter(|(_, parts)| !parts.is_empty()).collect()
}

impl Weighted<'_> {
    /// One limb of some sums.
    fn limb(&self, prime: usize, mut parts: Vec<Part<'_>>) {
        let Some(first) = parts.first() else { return };
        let length = first.out[0].len();
        let stretch = (CACHED / (self.x.len() * first.out.len())).clamp(1, length);
        for start in (0..length).step_by(stretch) {
            let range = start..(start + stretch).min(length);
            parts.iter_mut().for_each(|part| self.add_ones(prime, part, &range));
            for part in parts.iter_mut().filter(|part| !part.sum.values.is_empty()) {
                let width = if part.sum.shared { 2 } else { 1 };
                let end = if part.sum.ones.is_empty() { End::Set } else { End::Add };
                for (entry, out) in (0..).step_by(width).zip(part.out.chunks_mut(width)) {
                    let weights = part.sum.values.iter().map(|(i, w)| (*i, &w.limb(entry, prime)[range.clone()]));
                    self.products(Limb { entry, prime }, weights, &range, out, end);
                }
            }
        }
        for part in parts.iter_mut().filter(|part| !part.sum.one_limb.is_empty()) {
            self.one_limb_weights(prime, part);
        }
    }

    /// Begins a sum with the operands that are added as they are.
    fn add_ones(&self, prime: usize, part: &mut Part<'_>, range: &Range<usize>) {
        let Some((first, rest)) = part.sum.ones.split_first() else { return };
        for (entry, out) in part.out.iter_mut().enumerate() {
            let (out, x) = (&mut out[range.clone()], |i: usize| &self.x[i].limb(entry, prime)[range.clone()]);
            out.copy_from_slice(x(*first));
            rest.iter().for_each(|&i| self.tables.prime(prime).add_assign(out, x(i)));
        }
    }

    /// Adds the products with weights of one limb, [`TOGETHER`] at a time.
    fn one_limb_weights(&self, prime: usize, part: &mut Part<'_>) {
        let thread = threads::index();
        let mut scratch = self.scratch[thread % self.scratch.len()].lock().unwrap_or_else(PoisonError::into_inner);
        let (entries, range) = (part.out.len(), 0..part.out[0].len());
        // Entries with weights of their own go one by one.
        let alike = if part.sum.shared { entries } else { 1 };
        for (first, out) in (0..).step_by(alike).zip(part.out.chunks_mut(alike)) {
            let begun = !part.sum.values.is_empty() || !part.sum.ones.is_empty();
            let mut end = if begun { End::Add } else { End::Set };
            for weights in part.sum.one_limb.chunks(TOGETHER) {
                for ((_, weight), row) in weights.iter().zip(scratch.iter_mut()) {
                    self.dev.extend(self.tables, weight, Limb { entry: first, prime }, new_lines(row));
                }
                for (entry, out) in (first..).step_by(2).zip(out.chunks_mut(2)) {
                    let weights = weights.iter().zip(scratch.iter()).map(|((i, _), row)| (*i, row.lines()));
                    self.products(Limb { entry, prime }, weights, &range, out, end);
                }
                end = End::Add;
            }
        }
    }

    /// The products of one entry, or of two with the same weights, within a range of lines.
    fn products<'w>(
        &self,
        limb: Limb,
        weights: impl Iterator<Item = (usize, &'w [Line])>,
        range: &Range<usize>,
        out: &mut [&mut [Line]],
        end: End,
    ) {
        let Limb { entry, prime } = limb;
        let x = |i: usize, entry| &self.x[i].limb(entry, prime)[range.clone()];
        let kernels = self.tables.prime(prime);
        match out {
            [out] => {
                let terms: Vec<_> = weights.map(|(i, factor)| Term { factor, with: [x(i, entry)] }).collect();
                kernels.inner_product(&mut out[range.clone()], &Sum::of(&terms, end));
            }
            [b, a] => {
                let term = |(i, factor)| Term { factor, with: [x(i, entry), x(i, entry + 1)] };
                let terms: Vec<_> = weights.map(term).collect();
                kernels.inner_products([&mut b[range.clone()], &mut a[range.clone()]], &Sum::of(&terms, end));
            }
            _ => unreachable!("entries go by one or two"),
        }
    }
}
