//! Products of a clear matrix of integers with rows of residues, a tile of lines at a time.
//!
//! A tile holds the same few lines of all operands, one operand after another, so that it stays in the cache while all
//! rows of the matrix meet it. Sums are reduced once.
//!
//! Two forms. With multiply-add of 52 bits, weights are shifted by a power of two until none is negative, and the shift
//! times the sum of all operands is taken off at the start: where prime and weight have 52 bits together a product is one
//! instruction, else two. Without it residues are split at 31 bits and multiplied with signed weights, two products each,
//! for primes of any width.

use crate::layout::Line;
use limbwise_device::IntegerMatrix;
use limbwise_math::modulus::Modulus;

/// Rows of a block: with four lines each their sums fill the registers of AVX-512.
pub const BLOCK: usize = 6;

/// Rows of a block in the other form, whose sums fill the registers of AVX2.
pub(super) const SIGNED: usize = 4;

/// Largest number of lines of a tile.
pub const MOST_LINES: usize = 16;

/// Where the other form splits a residue: both halves are positive as signed words of 32 bits.
pub(super) const SPLIT: u32 = 31;

/// A matrix with its entries in the order in which kernels read them.
pub struct PackedMatrix<'a> {
    /// The matrix.
    pub matrix: &'a IntegerMatrix,
    /// Each weight plus 2^`shift`: by blocks of [`BLOCK`] rows, then columns, then rows.
    shifted: Vec<u64>,
    /// Weights as they are: by blocks of [`SIGNED`] rows, then columns, then rows; zeros behind the last row.
    signed: Vec<[i32; SIGNED]>,
    /// log₂ of what is added to each weight.
    pub shift: u32,
}

impl<'a> PackedMatrix<'a> {
    /// Packs a matrix.
    #[must_use]
    pub fn new(matrix: &'a IntegerMatrix) -> Self {
        let shift = matrix.largest().max(1).next_power_of_two().trailing_zeros();
        let mut shifted = Vec::with_capacity(matrix.rows() * matrix.columns());
        for first in (0..matrix.rows()).step_by(BLOCK) {
            let rows: Vec<&[i32]> = (first..(first + BLOCK).min(matrix.rows())).map(|j| matrix.row(j)).collect();
            for i in 0..matrix.columns() {
                shifted.extend(rows.iter().map(|row| ((1i64 << shift) + i64::from(row[i])).cast_unsigned()));
            }
        }
        let weight = |j: usize, i: usize| if j < matrix.rows() { matrix.row(j)[i] } else { 0 };
        let blocks = (0..matrix.rows()).step_by(SIGNED);
        let signed = blocks.flat_map(|first| (0..matrix.columns()).map(move |i| (first, i)));
        let signed = signed.map(|(first, i)| std::array::from_fn(|r| weight(first + r, i))).collect();
        Self { matrix, shifted, signed, shift }
    }

    /// The shifted weights from the first row of a block on.
    #[must_use]
    pub fn block(&self, block: usize) -> &[u64] {
        &self.shifted[block * BLOCK * self.matrix.columns()..]
    }

    /// The weights of a block of [`SIGNED`] rows.
    pub(super) fn signed_block(&self, block: usize) -> &[[i32; SIGNED]] {
        &self.signed[block * self.matrix.columns()..][..self.matrix.columns()]
    }

    /// Number of signed products that fit a word when they are summed: below 2^63 in magnitude.
    pub(super) fn signed_terms(&self) -> usize {
        usize::try_from(u32::MAX / self.matrix.largest().max(1)).unwrap_or(usize::MAX)
    }
}

/// The products in plain Rust, for any prime.
pub(super) fn by_words(q: Modulus, out: &mut [&mut [Line]], x: &[Line], matrix: &PackedMatrix<'_>) {
    let terms = matrix.signed_terms();
    for (j, out) in out.iter_mut().enumerate() {
        let (weights, lines) = (matrix.matrix.row(j), out.len());
        for (l, out) in out.iter_mut().enumerate() {
            let mut total = [0; 8];
            for (first, weights) in (0..).step_by(terms).zip(weights.chunks(terms)) {
                let mut sums = [[0i64; 2]; 8];
                for (i, &w) in (first..).zip(weights) {
                    for (sum, &x) in sums.iter_mut().zip(&x[i * lines + l].0) {
                        sum[0] += (x & ((1 << SPLIT) - 1)).cast_signed() * i64::from(w);
                        sum[1] += (x >> SPLIT).cast_signed() * i64::from(w);
                    }
                }
                total
                    .iter_mut()
                    .zip(sums)
                    .for_each(|(total, [low, high])| *total = q.add(*total, joined(q, low, high)));
            }
            out.0 = total;
        }
    }
}

/// `low + high·2^31` modulo q.
pub(super) fn joined(q: Modulus, low: i64, high: i64) -> u64 {
    q.from_i128(i128::from(low) + (i128::from(high) << SPLIT))
}

/// Makes `matrix_product` of a vector unit in scope: `V`, `HALVES`, `load`, `store`, `splat`, `broadcast` (a signed word of
/// 32 bits in every lane), `add`, `and`, `right` (by [`SPLIT`]), `signed_product` (of the low signed 32 bits).
#[cfg(target_arch = "x86_64")]
macro_rules! signed_products {
    ($features:tt) => {
        #[target_feature(enable = $features)]
        pub(super) fn matrix_product(q: Modulus, out: &mut [&mut [Line]], x: &[Line], matrix: &PackedMatrix<'_>) {
            let Some(lines) = out.first().map(|row| row.len()) else { return };
            let terms = matrix.signed_terms();
            for (block, out) in out.chunks_mut(SIGNED).enumerate() {
                let parts = matrix.signed_block(block).chunks(terms).zip(x.chunks(terms.saturating_mul(lines)));
                for (part, (weights, x)) in parts.enumerate() {
                    for line in 0..lines {
                        add_line(q, out, line, (x, lines), weights, part > 0);
                    }
                }
            }
        }

        /// The sums of one line over some columns, added to what was there before; operands are `lines` apart.
        #[target_feature(enable = $features)]
        fn add_line(
            q: Modulus,
            out: &mut [&mut [Line]],
            line: usize,
            (x, lines): (&[Line], usize),
            weights: &[[i32; SIGNED]],
            onto: bool,
        ) {
            let mask = splat((1 << SPLIT) - 1);
            let mut sums = [[Line::default(); 2]; SIGNED];
            for half in 0..HALVES {
                let (mut lows, mut highs) = ([splat(0); SIGNED], [splat(0); SIGNED]);
                for (x, weights) in x.chunks_exact(lines).zip(weights) {
                    let x = load(&x[line], half);
                    let (low, high) = (and(x, mask), right(x));
                    for r in 0..SIGNED {
                        let w = broadcast(weights[r]);
                        lows[r] = add(lows[r], signed_product(low, w));
                        highs[r] = add(highs[r], signed_product(high, w));
                    }
                }
                for r in 0..SIGNED {
                    store(&mut sums[r][0], half, lows[r]);
                    store(&mut sums[r][1], half, highs[r]);
                }
            }
            for (out, [lows, highs]) in out.iter_mut().zip(&sums) {
                for (out, (low, high)) in out[line].0.iter_mut().zip(lows.0.iter().zip(&highs.0)) {
                    let sum = joined(q, low.cast_signed(), high.cast_signed());
                    *out = if onto { q.add(*out, sum) } else { sum };
                }
            }
        }
    };
}
#[cfg(target_arch = "x86_64")]
pub(super) use signed_products;
