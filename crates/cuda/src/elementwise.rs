//! Element-wise operations and sums of products.

use crate::{
    device::{Cuda, CudaPoly},
    driver::Place,
    launch::{Args, ROWS, Shape as Blocks, small},
    pool::Row,
};
use limbwise_device::{Device, Region, Shape, ops::broadcast};
use std::sync::Arc;

/// The rows of an operand that broadcasts, starting at `from`.
fn cycled(rows: &[Arc<Row>], from: usize, count: usize) -> impl Iterator<Item = &Arc<Row>> {
    (from..from + count).map(move |i| &rows[i % rows.len()])
}

/// One term of each of many sums: two factors, or a factor and a constant, for each row of the result.
pub(crate) struct Term<'a> {
    pub(crate) a: &'a [Arc<Row>],
    pub(crate) b: &'a [Arc<Row>],
}

impl Cuda {
    pub(crate) fn zero_poly(&self, shape: &Shape) -> CudaPoly {
        let (out, n) = (self.fresh(shape.clone()), shape.ring.n());
        for rows in out.rows.chunks(ROWS) {
            self.launch("lw_zeros", Blocks::pairs(n, rows.len()), Args::default().rows(rows).int(small(n)));
        }
        out
    }

    /// `out = f(a, b)` with broadcast.
    pub(crate) fn combine(&self, kernel: &'static str, a: &CudaPoly, b: &CudaPoly) -> CudaPoly {
        let out = self.fresh(a.shape.with_batch(broadcast(&a.shape, &b.shape)));
        self.combine_rows(kernel, &out, &a.rows, &b.rows);
        out
    }

    fn combine_rows(&self, kernel: &'static str, out: &CudaPoly, a: &[Arc<Row>], b: &[Arc<Row>]) {
        let (tables, primes, n) = (self.tables(&out.shape.ring), Self::primes_of(&out.shape), out.shape.ring.n());
        for first in (0..out.rows.len()).step_by(ROWS) {
            let range = first..(first + ROWS).min(out.rows.len());
            let count = range.len();
            let args = Args::default()
                .rows(&out.rows[range.clone()])
                .rows(cycled(a, first, count))
                .rows(cycled(b, first, count))
                .small(primes[range].iter().copied())
                .pointer(&tables.primes)
                .int(small(n));
            self.launch(kernel, Blocks::pairs(n, count), args);
        }
    }

    /// `acc += a`, in rows that no other handle shares.
    pub(crate) fn add_to(&self, acc: &mut CudaPoly, a: &CudaPoly) {
        let owned = CudaPoly { shape: acc.shape.clone(), rows: std::mem::take(&mut acc.rows) };
        let (out, old) = self.rows_for_result(owned);
        self.combine_rows("lw_add", &out, &old, &a.rows);
        *acc = out;
    }

    /// The rows for the result of an in-place operation: those of `a` on the GPU that no other handle shares, new rows
    /// for the others.
    pub(crate) fn rows_for_result(&self, mut a: CudaPoly) -> (CudaPoly, Vec<Arc<Row>>) {
        let n = a.shape.ring.n();
        let alone: Vec<bool> =
            a.rows.iter_mut().map(|row| row.place() == Place::Device && Arc::get_mut(row).is_some()).collect();
        let old = a.rows.clone(); // held until the launches that read them have been asked for
        for (row, _) in a.rows.iter_mut().zip(alone).filter(|(_, alone)| !alone) {
            *row = self.row(n, Place::Device);
        }
        (a, old)
    }

    /// `f(a)`, with one constant per limb if given.
    pub(crate) fn change(&self, kernel: &'static str, a: CudaPoly, constants: Option<&[u64]>) -> CudaPoly {
        let (out, old) = self.rows_for_result(a);
        let (tables, primes, n) = (self.tables(&out.shape.ring), Self::primes_of(&out.shape), out.shape.ring.n());
        for first in (0..old.len()).step_by(ROWS) {
            let range = first..(first + ROWS).min(old.len());
            let mut args = Args::default().rows(&out.rows[range.clone()]).rows(&old[range.clone()]);
            if let Some(constants) = constants {
                args = args.constants(range.clone().map(|i| constants[i % constants.len()]));
            }
            let count = range.len();
            let args = args.small(primes[range].iter().copied()).pointer(&tables.primes).int(small(n));
            self.launch(kernel, Blocks::pairs(n, count), args);
        }
        out
    }

    pub(crate) fn product(&self, a: &CudaPoly, b: &CudaPoly) -> CudaPoly {
        let out = self.fresh(a.shape.with_batch(broadcast(&a.shape, &b.shape)));
        self.sum_terms(&out, &[Term { a: &a.rows, b: &b.rows }], 0);
        out
    }

    pub(crate) fn accumulate(&self, acc: &mut CudaPoly, a: &CudaPoly, b: &CudaPoly) {
        let owned = CudaPoly { shape: acc.shape.clone(), rows: std::mem::take(&mut acc.rows) };
        let (out, old) = self.rows_for_result(owned);
        let n = out.shape.ring.n();
        let shared = out.rows.iter().zip(&old).filter(|(new, old)| !Arc::ptr_eq(new, old));
        let (new, old): (Vec<Arc<Row>>, Vec<Arc<Row>>) = shared.map(|(new, old)| (new.clone(), old.clone())).unzip();
        self.copy_rows(&new, &old, n);
        self.sum_terms(&out, &[Term { a: &a.rows, b: &b.rows }], 1);
        *acc = out;
    }

    /// `out = Σ a ⊙ b` over the terms, optionally added to `out`; rows of an operand repeat cyclically.
    pub(crate) fn sum_terms(&self, out: &CudaPoly, terms: &[Term<'_>], mut onto: u32) {
        let (tables, primes, n) = (self.tables(&out.shape.ring), Self::primes_of(&out.shape), out.shape.ring.n());
        for terms in terms.chunks(ROWS) {
            let together = ROWS / terms.len();
            for first in (0..out.rows.len()).step_by(together) {
                let range = first..(first + together).min(out.rows.len());
                let pairs = || range.clone().flat_map(|i| terms.iter().map(move |t| (i, t)));
                let args = Args::default()
                    .rows(&out.rows[range.clone()])
                    .rows(pairs().map(|(i, t)| &t.a[i % t.a.len()]))
                    .rows(pairs().map(|(i, t)| &t.b[i % t.b.len()]))
                    .small(primes[range.clone()].iter().copied())
                    .pointer(&tables.primes)
                    .int(small(n))
                    .int(small(terms.len()))
                    .int(onto);
                self.launch("lw_inner", Blocks::pairs(n, range.len()), args);
            }
            onto = 1;
        }
    }

    /// [`limbwise_device::composites::linear_combination`].
    pub(crate) fn fused_linear_combination(&self, x: &[&CudaPoly], constants: &[Vec<u64>]) -> CudaPoly {
        assert!(!x.is_empty() && x.len() == constants.len(), "constants for each term, at least one");
        let _region = self.region(Region::LinearCombination, 0);
        let batch = x.iter().map(|x| x.shape.batch).max().unwrap_or(1);
        let out = self.fresh(x[0].shape.with_batch(batch));
        self.combine_into(&out, x, constants, 0);
        out
    }

    /// `out = Σ x_i·c_i`, optionally added to `out`.
    pub(crate) fn combine_into(&self, out: &CudaPoly, x: &[&CudaPoly], constants: &[Vec<u64>], onto: u32) {
        let (tables, primes, n) = (self.tables(&out.shape.ring), Self::primes_of(&out.shape), out.shape.ring.n());
        for (onto, (x, constants)) in
            [onto].into_iter().chain(std::iter::repeat(1)).zip(x.chunks(ROWS).zip(constants.chunks(ROWS)))
        {
            let together = ROWS / x.len();
            for first in (0..out.rows.len()).step_by(together) {
                let range = first..(first + together).min(out.rows.len());
                let pairs = || range.clone().flat_map(|i| x.iter().zip(constants).map(move |(x, c)| (i, x, c)));
                let args = Args::default()
                    .rows(&out.rows[range.clone()])
                    .rows(pairs().map(|(i, x, _)| &x.rows[i % x.rows.len()]))
                    .constants(pairs().map(|(i, _, c)| c[i % c.len()]))
                    .small(primes[range.clone()].iter().copied())
                    .pointer(&tables.primes)
                    .int(small(n))
                    .int(small(x.len()))
                    .int(onto);
                self.launch("lw_combination", Blocks::pairs(n, range.len()), args);
            }
        }
    }
}
