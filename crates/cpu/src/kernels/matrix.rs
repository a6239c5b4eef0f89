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
        Self { matrix, shifted, shift }
    }

    /// The shifted weights from the first row of a block on.
    #[must_use]
    pub fn block(&self, block: usize) -> &[u64] {
        &self.shifted[block * BLOCK * self.matrix.columns()..]
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
        /// Rows whose sums fit the registers together.
        const ROWS: usize = 4;

        #[target_feature(enable = $features)]
        pub(super) fn matrix_product(q: Modulus, out: &mut [&mut [Line]], x: &[Line], matrix: &PackedMatrix<'_>) {
            let Some(lines) = out.first().map(|row| row.len()) else { return };
            let (last, columns) = (matrix.matrix.rows() - 1, matrix.matrix.columns());
            let terms = matrix.signed_terms().min(columns);
            for (block, out) in out.chunks_mut(ROWS).enumerate() {
                // Behind the last row it stands for those that are missing.
                let rows: [&[i32]; ROWS] = std::array::from_fn(|r| matrix.matrix.row((ROWS * block + r).min(last)));
                for first in (0..columns).step_by(terms) {
                    let some = first..(first + terms).min(columns);
                    let weights = rows.map(|row| &row[some.clone()]);
                    for line in 0..lines {
                        let operands = x[first * lines + line..].iter().step_by(lines);
                        add_line(q, out, line, operands, weights, first > 0);
                    }
                }
            }
        }

        /// The sums of one line over some columns, added to what was there before.
        #[target_feature(enable = $features)]
        fn add_line<'x>(
            q: Modulus,
            out: &mut [&mut [Line]],
            line: usize,
            operands: impl Iterator<Item = &'x Line> + Clone,
            weights: [&[i32]; ROWS],
            onto: bool,
        ) {
            let mask = splat((1 << SPLIT) - 1);
            let mut sums = [[Line::default(); 2]; ROWS];
            for half in 0..HALVES {
                let (mut lows, mut highs) = ([splat(0); ROWS], [splat(0); ROWS]);
                for (i, x) in operands.clone().take(weights[0].len()).enumerate() {
                    let x = load(x, half);
                    let (low, high) = (and(x, mask), right(x));
                    for r in 0..ROWS {
                        let w = broadcast(weights[r][i]);
                        lows[r] = add(lows[r], signed_product(low, w));
                        highs[r] = add(highs[r], signed_product(high, w));
                    }
                }
                for r in 0..ROWS {
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
