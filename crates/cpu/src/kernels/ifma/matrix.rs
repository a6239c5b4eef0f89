//! Products of clear matrices with residues of narrow and short primes: one multiply-add a product where prime and weight
//! have 52 bits together, two where they have more.

use super::{
    sums::{Constants, Reduction},
    vector::{V, add, high, load, low, splat, store, sub, zero},
};
use crate::{
    kernels::matrix::{BLOCK, MOST_LINES, PackedMatrix},
    layout::Line,
};

/// Products whose low halves, each below 2^52, fit a word together with what sums begin with.
const TERMS: usize = 4094;

/// Some columns of a tile.
struct Columns<'a> {
    k: Reduction,
    lines: usize,
    /// The operands' lines, one operand after another.
    x: &'a [Line],
    /// What sums begin with: minus the shift of the weights times all operands.
    start: &'a [Line],
    /// Whether sums go on from what is in the result.
    onto: bool,
}

/// See [`crate::kernels::LimbKernels::matrix_product`].
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn matrix_product(c: &Constants, out: &mut [&mut [Line]], x: &[Line], matrix: &PackedMatrix<'_>) {
    let Some(lines) = out.first().map(|row| row.len()) else { return };
    let (q, columns) = (c.modulus, matrix.matrix.columns());
    let k = Reduction::new(c, c.unit);
    let shift = Reduction::new(c, c.times(q.reduce(1 << matrix.shift)));
    let is_wide = q.bits() + matrix.shift + 1 > 52;
    let mut start = [Line::default(); MOST_LINES];
    for first in (0..columns).step_by(TERMS) {
        let some = first..(first + TERMS).min(columns);
        let x = &x[first * lines..some.end * lines];
        for (line, start) in start[..lines].iter_mut().enumerate() {
            let mut sum = zero();
            for x in x[line..].iter().step_by(lines) {
                sum = add(sum, load(x));
            }
            store(start, sub(splat(q.value()), shift.finish(sum, zero())));
        }
        let part = Columns { k, lines, x, start: &start[..lines], onto: first > 0 };
        for (block, out) in out.chunks_mut(BLOCK).enumerate() {
            let weights = &matrix.block(block)[first * out.len()..some.end * out.len()];
            match (out.len(), is_wide) {
                (6, false) => part.rows::<6, 4, false>(out, weights),
                (5, false) => part.rows::<5, 4, false>(out, weights),
                (4, false) => part.rows::<4, 4, false>(out, weights),
                (3, false) => part.rows::<3, 4, false>(out, weights),
                (2, false) => part.rows::<2, 4, false>(out, weights),
                (1, false) => part.rows::<1, 4, false>(out, weights),
                (6, true) => part.rows::<6, 2, true>(out, weights),
                (5, true) => part.rows::<5, 2, true>(out, weights),
                (4, true) => part.rows::<4, 2, true>(out, weights),
                (3, true) => part.rows::<3, 2, true>(out, weights),
                (2, true) => part.rows::<2, 2, true>(out, weights),
                _ => part.rows::<1, 2, true>(out, weights),
            }
        }
    }
}

impl Columns<'_> {
    /// A block of R rows, L lines at a time.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn rows<const R: usize, const L: usize, const WIDE: bool>(&self, out: &mut [&mut [Line]], weights: &[u64]) {
        let whole = self.lines / L * L;
        for line in (0..whole).step_by(L) {
            self.block::<R, L, WIDE>(out, weights, line);
        }
        for line in whole..self.lines {
            self.block::<R, 1, WIDE>(out, weights, line);
        }
    }

    /// L lines of R rows. High halves of a sum stay below q: a weight has at most 32 bits, so each is below q/2^20.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn block<const R: usize, const L: usize, const WIDE: bool>(
        &self,
        out: &mut [&mut [Line]],
        weights: &[u64],
        line: usize,
    ) {
        let out: &mut [&mut [Line]; R] = out.first_chunk_mut().expect("a block of R rows");
        let (mut lows, mut highs) = ([[zero(); L]; R], [[zero(); L]; R]);
        for r in 0..R {
            for l in 0..L {
                lows[r][l] = load(&self.start[line + l]);
                if self.onto {
                    lows[r][l] = add(lows[r][l], load(&out[r][line + l]));
                }
            }
        }
        for (weights, x) in weights.as_chunks::<R>().0.iter().zip(self.x.chunks_exact(self.lines)) {
            let x: &[Line; L] = x[line..].first_chunk().expect("L lines");
            let mut words: [V; L] = [zero(); L];
            for l in 0..L {
                words[l] = load(&x[l]);
            }
            for r in 0..R {
                let w = splat(weights[r]);
                for l in 0..L {
                    lows[r][l] = low(lows[r][l], words[l], w);
                    if WIDE {
                        highs[r][l] = high(highs[r][l], words[l], w);
                    }
                }
            }
        }
        for r in 0..R {
            for l in 0..L {
                store(&mut out[r][line + l], self.k.finish(lows[r][l], highs[r][l]));
            }
        }
    }
}
