//! Kernels in plain Rust, for any CPU and primes of up to 61 bits.

use super::{
    Isa, LimbKernels,
    limb::Ahead,
    matrix::{PackedMatrix, by_words},
};
use crate::layout::{BLOCK, Line, PADDED, STRIP, blocks_mut};
use limbwise_math::{
    modulus::{Modulus, Shoup},
    ntt::NttTable,
};
use std::ops::Range;

/// Scalar kernels for one prime and ring degree.
pub struct ScalarLimb {
    table: NttTable,
    q: Modulus,
}

impl ScalarLimb {
    /// The stages between blocks, on some columns.
    fn ntt_columns(&self, a: &mut [Line], columns: Range<usize>) {
        for (stage, half) in self.halves().filter(|&(_, half)| half >= BLOCK) {
            self.outer_stage(a, half, columns.clone(), &self.table.roots()[1 << stage..], Self::forward);
        }
    }

    /// Tables for a prime that is 1 modulo 2N.
    #[must_use]
    pub fn new(modulus: Modulus, log_n: u32) -> Self {
        Self { table: NttTable::new(modulus, log_n), q: modulus }
    }

    /// Cooley–Tukey. Range: x, y in [0, 4q) → [0, 4q).
    #[inline]
    fn forward(&self, x: &mut u64, y: &mut u64, w: Shoup) {
        let twice = 2 * self.q.value();
        let a = (*x).min(x.wrapping_sub(twice));
        let t = self.q.mul_shoup_lazy(*y, w);
        (*x, *y) = (a + t, a + twice - t);
    }

    /// Gentleman–Sande. Range: x, y in [0, 2q) → [0, 2q).
    #[inline]
    fn inverse(&self, x: &mut u64, y: &mut u64, w: Shoup) {
        let twice = 2 * self.q.value();
        let (sum, difference) = (*x + *y, *x + twice - *y);
        (*x, *y) = (sum.min(sum.wrapping_sub(twice)), self.q.mul_shoup_lazy(difference, w));
    }

    /// A stage on pairs of lines of different blocks, `half` lines apart (counted without padding), some columns of each.
    fn outer_stage(&self, a: &mut [Line], half: usize, columns: Range<usize>, roots: &[Shoup], f: Butterfly) {
        let span = half / BLOCK * PADDED;
        for (pair, &w) in a.chunks_exact_mut(2 * span).zip(roots) {
            let (low, high) = pair.split_at_mut(span);
            for (low, high) in blocks_mut(low).zip(blocks_mut(high)) {
                self.apply(&mut low[columns.clone()], &mut high[columns.clone()], w, f);
            }
        }
    }

    /// A stage on pairs of lines of one block, `half` lines apart.
    fn inner_stage(&self, block: &mut [Line], half: usize, roots: &[Shoup], f: Butterfly) {
        for (pair, &w) in block.chunks_exact_mut(2 * half).zip(roots) {
            let (low, high) = pair.split_at_mut(half);
            self.apply(low, high, w, f);
        }
    }

    #[inline]
    fn apply(&self, low: &mut [Line], high: &mut [Line], w: Shoup, f: Butterfly) {
        for (x, y) in low.iter_mut().zip(high) {
            x.0.iter_mut().zip(&mut y.0).for_each(|(x, y)| f(self, x, y, w));
        }
    }

    /// Lines between the operands of each stage on whole lines, with the stage's number.
    fn halves(&self) -> impl DoubleEndedIterator<Item = (u32, usize)> {
        let log_n = self.table.log_n();
        (0..log_n - 3).map(move |stage| (stage, 1 << (log_n - 4 - stage)))
    }
}

/// A butterfly in place.
type Butterfly = fn(&ScalarLimb, &mut u64, &mut u64, Shoup);

/// One stage inside a tile of 128 words in bit-reversed order.
fn tile_stage(tile: &mut [u64; 128], half: usize, roots: &[Shoup], f: impl Fn(&mut u64, &mut u64, Shoup)) {
    for (pair, &w) in tile.chunks_exact_mut(2 * half).zip(roots) {
        let (low, high) = pair.split_at_mut(half);
        low.iter_mut().zip(high).for_each(|(x, y)| f(x, y, w));
    }
}

/// Each output line from the lines of two operands.
fn map2(out: &mut [Line], a: &[Line], b: &[Line], f: impl Fn(u64, u64) -> u64) {
    assert!(out.len() == a.len() && a.len() == b.len());
    for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
        out.0.iter_mut().zip(a.0.iter().zip(&b.0)).for_each(|(out, (&a, &b))| *out = f(a, b));
    }
}

fn update(acc: &mut [Line], a: &[Line], f: impl Fn(u64, u64) -> u64) {
    assert_eq!(acc.len(), a.len());
    for (acc, a) in acc.iter_mut().zip(a) {
        acc.0.iter_mut().zip(&a.0).for_each(|(acc, &a)| *acc = f(*acc, a));
    }
}

fn each(a: &mut [Line], f: impl Fn(u64) -> u64) {
    a.iter_mut().flat_map(|line| &mut line.0).for_each(|x| *x = f(*x));
}

impl LimbKernels for ScalarLimb {
    fn isa(&self) -> Isa {
        Isa::Scalar
    }

    fn matrix_product(&self, out: &mut [&mut [Line]], x: &[Line], matrix: &PackedMatrix<'_>) {
        by_words(self.q, out, x, matrix);
    }

    fn ntt(&self, a: &mut [Line]) {
        self.ntt_columns(a, 0..BLOCK);
        blocks_mut(a).enumerate().for_each(|(number, block)| self.ntt_block(block, number, &mut Ahead::nothing()));
    }

    fn ntt_strip(&self, a: &mut [Line], first: usize) {
        self.ntt_columns(a, first..first + STRIP);
    }

    fn ntt_block(&self, block: &mut [Line], number: usize, _ahead: &mut Ahead<'_>) {
        let (log_n, roots, lines) = (self.table.log_n(), self.table.roots(), block.len());
        for (stage, half) in self.halves().filter(|&(_, half)| half < BLOCK) {
            self.inner_stage(block, half, &roots[(1 << stage) + number * (lines / (2 * half))..], Self::forward);
        }
        let q = self.q.value();
        for (t, tile) in (number * (lines / 16)..).zip(block.chunks_exact_mut(16)) {
            let mut words = [0; 128];
            words.chunks_exact_mut(8).zip(&*tile).for_each(|(to, line)| to.copy_from_slice(&line.0));
            for half in [4, 2, 1] {
                let first = (1 << (log_n - 1)) / half + t * (64 / half);
                tile_stage(&mut words, half, &roots[first..], |x, y, w| self.forward(x, y, w));
            }
            for (i, &x) in words.iter().enumerate() {
                let x = x.min(x.wrapping_sub(2 * q));
                tile[i % 16].0[i / 16] = x.min(x.wrapping_sub(q));
            }
        }
    }

    fn intt(&self, a: &mut [Line]) {
        let (log_n, roots) = (self.table.log_n(), self.table.inverse_roots());
        for (t, tile) in blocks_mut(a).flat_map(|block| block.chunks_exact_mut(16)).enumerate() {
            let mut words: [u64; 128] = std::array::from_fn(|i| tile[i % 16].0[i / 16]);
            for half in [1, 2, 4] {
                let first = (1 << (log_n - 1)) / half + t * (64 / half);
                tile_stage(&mut words, half, &roots[first..], |x, y, w| self.inverse(x, y, w));
            }
            words.chunks_exact(8).zip(tile).for_each(|(from, line)| line.0.copy_from_slice(from));
        }
        for (stage, half) in self.halves().rev() {
            let roots = &roots[1 << stage..];
            if half >= BLOCK {
                self.outer_stage(a, half, 0..BLOCK, roots, Self::inverse);
                continue;
            }
            for (number, block) in blocks_mut(a).enumerate() {
                self.inner_stage(block, half, &roots[number * (block.len() / (2 * half))..], Self::inverse);
            }
        }
        let n_inverse = self.table.n_inverse();
        each(a, |x| self.q.mul_shoup(x, n_inverse));
    }

    fn add(&self, out: &mut [Line], a: &[Line], b: &[Line]) {
        map2(out, a, b, |a, b| self.q.add(a, b));
    }

    fn sub(&self, out: &mut [Line], a: &[Line], b: &[Line]) {
        map2(out, a, b, |a, b| self.q.sub(a, b));
    }

    fn mul(&self, out: &mut [Line], a: &[Line], b: &[Line]) {
        map2(out, a, b, |a, b| self.q.mul(a, b));
    }

    fn add_assign(&self, acc: &mut [Line], a: &[Line]) {
        update(acc, a, |acc, a| self.q.add(acc, a));
    }

    fn mul_acc(&self, acc: &mut [Line], a: &[Line], b: &[Line]) {
        assert!(acc.len() == a.len() && a.len() == b.len());
        for ((acc, a), b) in acc.iter_mut().zip(a).zip(b) {
            for ((acc, &a), &b) in acc.0.iter_mut().zip(&a.0).zip(&b.0) {
                *acc = self.q.reduce_wide(u128::from(a) * u128::from(b) + u128::from(*acc));
            }
        }
    }

    fn neg(&self, a: &mut [Line]) {
        each(a, |x| self.q.neg(x));
    }

    fn scale(&self, a: &mut [Line], c: u64) {
        let c = self.q.shoup(c);
        each(a, |x| self.q.mul_shoup(x, c));
    }

    fn shift(&self, a: &mut [Line], c: u64) {
        each(a, |x| self.q.add(x, c));
    }
}
