//! Transforms, automorphisms, change of basis, gadget digits.

use crate::{
    device::{Cuda, CudaPoly},
    launch::{Args, ROWS, SOURCES, Shape as Blocks, small},
    lwe::CudaLwe,
    pool::Row,
    ring::column_stages,
};
use limbwise_device::{Basis, Domain, Gadget, Ring, ops::transformed};
use limbwise_math::galois::GaloisElement;
use std::sync::Arc;

/// A division fused into a transform to values: each row becomes `(from − value)·c`.
pub(crate) struct Division<'a> {
    pub(crate) from: &'a [Arc<Row>],
    /// A constant a limb.
    pub(crate) by: &'a [u64],
}

impl Cuda {
    pub(crate) fn forward(&self, a: CudaPoly) -> CudaPoly {
        let (out, old) = self.rows_for_result(a);
        self.to_values(&out.shape.ring, &Self::primes_of(&out.shape), &out.rows, &old, None);
        CudaPoly { shape: transformed(&out.shape), rows: out.rows }
    }

    /// Coefficients to values, divided where they are written.
    pub(crate) fn forward_and_divide(&self, a: CudaPoly, division: &Division<'_>) -> CudaPoly {
        let (out, old) = self.rows_for_result(a);
        self.to_values(&out.shape.ring, &Self::primes_of(&out.shape), &out.rows, &old, Some(division));
        CudaPoly { shape: transformed(&out.shape), rows: out.rows }
    }

    /// Transforms rows of the given primes from `old` to `out`, which may be the same.
    pub(crate) fn to_values(
        &self,
        ring: &Ring,
        primes: &[usize],
        out: &[Arc<Row>],
        old: &[Arc<Row>],
        division: Option<&Division<'_>>,
    ) {
        let (tables, log_n) = (self.tables(ring), ring.log_n());
        let s1 = column_stages(log_n);
        for first in (0..old.len()).step_by(ROWS) {
            let range = first..(first + ROWS).min(old.len());
            let (blocks, to) = (Blocks::tiles(log_n, range.len()), &out[range.clone()]);
            let mut from = &old[range.clone()];
            let ends = |args: Args| {
                args.small(primes[range.clone()].iter().copied()).pointer(&tables.primes).int(log_n).int(s1)
            };
            if s1 > 0 {
                let args = ends(Args::default().rows(to).rows(from));
                self.launch("lw_ntt_columns", blocks, args);
                from = to;
            }
            let args = Args::default().rows(to).rows(from);
            let args = match division {
                None => args.rows([]).constants([]),
                Some(Division { from, by }) => {
                    args.rows(&from[range.clone()]).constants(range.clone().map(|i| by[i % by.len()]))
                }
            };
            self.launch("lw_ntt_blocks", blocks, ends(args));
        }
    }

    pub(crate) fn inverse(&self, a: CudaPoly) -> CudaPoly {
        let (out, old) = self.rows_for_result(a);
        let (tables, primes, log_n) =
            (self.tables(&out.shape.ring), Self::primes_of(&out.shape), out.shape.ring.log_n());
        let s1 = column_stages(log_n);
        for first in (0..old.len()).step_by(ROWS) {
            let range = first..(first + ROWS).min(old.len());
            let (blocks, to) = (Blocks::tiles(log_n, range.len()), &out.rows[range.clone()]);
            let ends = |args: Args| {
                args.small(primes[range.clone()].iter().copied()).pointer(&tables.primes).int(log_n).int(s1)
            };
            let args = ends(Args::default().rows(to).rows(&old[range.clone()]));
            self.launch("lw_intt_blocks", blocks, args);
            if s1 > 0 {
                let args = ends(Args::default().rows(to).rows(to));
                self.launch("lw_intt_columns", blocks, args);
            }
        }
        CudaPoly { shape: transformed(&out.shape), rows: out.rows }
    }

    pub(crate) fn apply_automorphism(&self, a: &CudaPoly, g: GaloisElement) -> CudaPoly {
        let out = self.fresh(a.shape.clone());
        let (tables, primes, log_n) = (self.tables(&a.shape.ring), Self::primes_of(&a.shape), a.shape.ring.log_n());
        for first in (0..out.rows.len()).step_by(ROWS) {
            let range = first..(first + ROWS).min(out.rows.len());
            let blocks = Blocks::words(a.shape.ring.n(), range.len());
            let args = Args::default().rows(&out.rows[range.clone()]).rows(&a.rows[range.clone()]);
            match a.shape.domain {
                Domain::Eval => self.launch("lw_automorphism_values", blocks, args.int(log_n).int(g.value())),
                Domain::Coeff => {
                    let args = args.small(primes[range].iter().copied()).pointer(&tables.primes).int(log_n);
                    self.launch("lw_automorphism_coefficients", blocks, args.int(g.inverse(log_n).value()));
                }
            }
        }
        out
    }

    pub(crate) fn convert_basis(&self, a: &CudaPoly, to: Basis) -> CudaPoly {
        let out = self.fresh(a.shape.with_basis(to));
        self.convert_rows(a, &out);
        out
    }

    /// Rows of a base conversion, all sources and as many targets of as many entries as a launch takes.
    pub(crate) fn convert_rows(&self, a: &CudaPoly, out: &CudaPoly) {
        let (sources, targets, n) = (a.shape.basis.len(), out.shape.basis.len(), a.shape.ring.n());
        if targets == 0 {
            return;
        }
        let tables = self.tables(&a.shape.ring);
        let conversion = tables.conversion(a.shape.basis, out.shape.basis, &|words| self.store(words));
        let primes: Vec<usize> = out.shape.basis.iter().collect();
        let width = targets.min(ROWS);
        let together = (SOURCES / sources).min(ROWS / width);
        for entry in (0..a.shape.batch).step_by(together) {
            let entries = entry..(entry + together).min(a.shape.batch);
            for first in (0..targets).step_by(width) {
                let some = first..(first + width).min(targets);
                let places = || entries.clone().flat_map(|e| some.clone().map(move |j| (e, j)));
                let args = Args::default()
                    .rows(places().map(|(e, j)| &out.rows[e * targets + j]))
                    .sources(&a.rows[entries.start * sources..entries.end * sources])
                    .small(places().map(|(_, j)| primes[j]))
                    .pointer(&tables.primes)
                    .pointer(&conversion.sources)
                    .pointer(&conversion.weights)
                    .pointer(&conversion.corrections)
                    .int(small(n))
                    .int(small(sources))
                    .int(small(some.len()))
                    .int(small(first));
                let blocks = Blocks::conversion(n, entries.len(), sources, some.len());
                self.launch("lw_basis_convert", blocks, args);
            }
        }
    }

    pub(crate) fn lift_limb(&self, a: &CudaPoly, to: Basis) -> CudaPoly {
        let out = self.fresh(a.shape.with_basis(to));
        let (tables, primes, n) = (self.tables(&a.shape.ring), Self::primes_of(&out.shape), a.shape.ring.n());
        let p = a.shape.ring.moduli_of(a.shape.basis)[0].value();
        for first in (0..out.rows.len()).step_by(ROWS) {
            let range = first..(first + ROWS).min(out.rows.len());
            let args = Args::default()
                .rows(&out.rows[range.clone()])
                .rows(range.clone().map(|i| &a.rows[i / to.len()]))
                .small(primes[range.clone()].iter().copied())
                .pointer(&tables.primes)
                .word(p)
                .int(small(n));
            self.launch("lw_reduce", Blocks::words(n, range.len()), args);
        }
        out
    }

    pub(crate) fn multiply_by_monomial(&self, a: &CudaPoly, exponents: &CudaLwe, word: usize) -> CudaPoly {
        let out = self.fresh(a.shape.with_batch(a.shape.batch.max(exponents.shape.batch)));
        let (n, q) = (a.shape.ring.n(), a.shape.ring.moduli_of(a.shape.basis)[0].value());
        for first in (0..out.rows.len()).step_by(ROWS) {
            let range = first..(first + ROWS).min(out.rows.len());
            let args = Args::default()
                .rows(&out.rows[range.clone()])
                .rows(range.clone().map(|i| &a.rows[i % a.rows.len()]))
                .pointer(&exponents.words)
                .word(q)
                .int(a.shape.ring.log_n())
                .int(small(first))
                .int(small(exponents.shape.batch))
                .int(small(exponents.shape.words()))
                .int(small(word));
            self.launch("lw_monomial", Blocks::words(n, range.len()), args);
        }
        out
    }

    pub(crate) fn decompose_digits(&self, a: &CudaPoly, gadget: Gadget) -> CudaPoly {
        let (batch, n, q) = (a.shape.batch, a.shape.ring.n(), a.shape.ring.moduli_of(a.shape.basis)[0].value());
        let out = self.fresh(a.shape.with_batch(batch * gadget.len()));
        let weights: Vec<usize> = gadget.of(q).log_factors().map(|f| f as usize).collect();
        for first in (0..out.rows.len()).step_by(ROWS) {
            let range = first..(first + ROWS).min(out.rows.len());
            let args = Args::default()
                .rows(&out.rows[range.clone()])
                .rows(range.clone().map(|i| &a.rows[i % batch]))
                .small(range.clone().map(|i| weights[i / batch]))
                .structure(&digit_words(gadget, q))
                .word(q)
                .int(small(n));
            self.launch("lw_decompose", Blocks::words(n, range.len()), args);
        }
        out
    }
}

/// `Digits` of `modarith.cuh`.
pub(crate) fn digit_words(gadget: Gadget, modulus: u64) -> [u64; 3] {
    let split = gadget.of(modulus);
    [split.shift(), split.base() - 1, split.base() / 2]
}
