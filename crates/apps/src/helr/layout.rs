//! Packing of a mini-batch in several ciphertexts: rows in blocks of features, rotated by one more block per
//! ciphertext.
//!
//! With F features (padded) and B rows there are C = F·B/slots ciphertexts. Each ciphertext has B places, one per row,
//! of f = F/C slots. In ciphertext k, place i holds block (i + k) mod C of row i. The weights are one ciphertext with
//! period F, so that place i holds block i mod C. Rotated by k blocks, the weights match ciphertext k. Adding up the C
//! products is cheap and leaves f partial products per row to sum. C − 1 rotations of one ciphertext, from one
//! decomposition, replace log₂(B) rotations of each of C. Differs: \[HELR\] also cuts features into blocks, but stores one
//! block per ciphertext and sums the rows of each block separately. This is the diagonal method of \[JVC18\] on blocks.
//!
//! For the gradient the rows are encrypted a second time ([`Layout::pack_for_gradient`]), where every slot has its own
//! feature: slot s holds feature s mod F, of a row that the factors of the rows reach in ciphertext k when they are rotated
//! by k blocks. So factors are rotated in place of products: again one ciphertext, by the same keys, and the C products
//! are added before relinearization. Sums over a place and copies to it run in the same direction and share their keys as
//! well: copies end f − 1 slots too far, and the second packing is shifted by as much.

use super::encrypted::HelrError;
use limbwise::Complex64;

/// Rows, features and ciphertexts of a mini-batch. All are powers of two except the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Columns of a row, bias included.
    pub columns: usize,
    /// F: the padded columns, which are the period of the weights.
    pub features: usize,
    /// B: padded rows of a mini-batch, which are the places of each ciphertext.
    pub rows: usize,
    /// C: ciphertexts of a mini-batch.
    pub ciphertexts: usize,
}

impl Layout {
    /// The layout for these columns and rows, with the fewest ciphertexts.
    ///
    /// # Errors
    /// [`HelrError::Slots`] if a row, or one feature of all rows, does not fit a ciphertext.
    pub fn new(columns: usize, rows: usize, max_slots: usize) -> Result<Self, HelrError> {
        let (features, padded) = (columns.next_power_of_two(), rows.next_power_of_two());
        if features > max_slots || padded > max_slots {
            return Err(HelrError::Slots { columns, rows, slots: max_slots });
        }
        let ciphertexts = (features * padded / max_slots).max(1);
        Ok(Self { columns, features, rows: padded, ciphertexts })
    }

    /// f: features in a place.
    pub fn block(self) -> usize {
        self.features / self.ciphertexts
    }

    pub fn slots(self) -> usize {
        self.rows * self.block()
    }

    /// Row-major values times a factor, one slot vector per ciphertext. Padding rows and columns are zero.
    pub fn pack(self, values: &[f64], factor: f64) -> Vec<Vec<Complex64>> {
        let f = self.block();
        let ciphertext = |k: usize| {
            let mut slots = vec![Complex64::default(); self.slots()];
            for ((i, row), place) in values.chunks_exact(self.columns).enumerate().zip(slots.chunks_exact_mut(f)) {
                let block = (i + k) % self.ciphertexts;
                let here = row.iter().skip(block * f);
                place.iter_mut().zip(here).for_each(|(slot, &x)| *slot = (factor * x).into());
            }
            slots
        };
        (0..self.ciphertexts).map(ciphertext).collect()
    }

    /// Row-major values times a factor, one slot vector per ciphertext: in ciphertext k, slot s holds feature s mod F of the
    /// row in whose place slot s + f − 1 is, k places further. Padding rows and columns are zero.
    pub fn pack_for_gradient(self, values: &[f64], factor: f64) -> Vec<Vec<Complex64>> {
        let (f, cols) = (self.block(), self.columns);
        let value = |k: usize, s: usize| {
            let (row, column) = ((s.div_ceil(f) + k) % self.rows, s % self.features);
            let found = if column < cols { values.get(row * cols + column) } else { None };
            Complex64::from(factor * found.copied().unwrap_or_default())
        };
        (0..self.ciphertexts).map(|k| (0..self.slots()).map(|s| value(k, s)).collect()).collect()
    }

    /// A constant in the first slot of each place, zero elsewhere.
    pub fn firsts(self, value: f64) -> Vec<Complex64> {
        let mut slots = vec![Complex64::default(); self.slots()];
        slots.iter_mut().step_by(self.block()).for_each(|slot| *slot = value.into());
        slots
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rotated(x: &[f64], steps: usize) -> Vec<f64> {
        let mut y = x.to_vec();
        y.rotate_left(steps % x.len());
        y
    }

    /// The slot arithmetic of the encrypted program: both of its products equal those of the matrix.
    #[test]
    fn blocks_meet_their_weights_and_come_back() {
        for (columns, rows, max_slots) in [(13, 16, 64), (16, 5, 32), (3, 4, 64), (8, 64, 64)] {
            let layout = Layout::new(columns, rows, max_slots).unwrap();
            let value = |i: usize| ((i * 37 + 11) % 23) as f64 - 9.0;
            let matrix: Vec<f64> = (0..rows * columns).map(value).collect();
            let packed: Vec<Vec<f64>> =
                layout.pack(&matrix, 1.0).iter().map(|v| v.iter().map(|z| z.re).collect()).collect();
            let (slots, f, c) = (layout.slots(), layout.block(), layout.ciphertexts);
            assert!(slots <= max_slots && packed.len() == c);
            let v: Vec<f64> = (0..columns).map(|i| value(i + 3)).collect();
            let weights: Vec<f64> =
                (0..slots).map(|s| v.get(s % layout.features).copied().unwrap_or_default()).collect();
            let mut sum = vec![0.0; slots];
            for (k, z) in packed.iter().enumerate() {
                let turned = rotated(&weights, k * f);
                sum.iter_mut().zip(z).zip(&turned).for_each(|((s, z), w)| *s += z * w);
            }
            for (i, row) in matrix.chunks_exact(columns).enumerate() {
                let got: f64 = sum[i * f..(i + 1) * f].iter().sum();
                let wanted: f64 = row.iter().zip(&v).map(|(z, w)| z * w).sum();
                assert!((got - wanted).abs() < 1e-9);
            }
            // Factors of the rows in the first slots of their places, copied in the direction of the sums above.
            let p = |i: usize| value(3 * i + 1);
            let firsts: Vec<f64> = (0..slots).map(|s| if s % f == 0 { p(s / f) } else { 0.0 }).collect();
            let copies: Vec<f64> = (0..slots).map(|s| (0..f).map(|t| firsts[(s + t) % slots]).sum()).collect();
            let mut gradient = vec![0.0; layout.features];
            for (k, z) in layout.pack_for_gradient(&matrix, 1.0).iter().enumerate() {
                let products = z.iter().zip(rotated(&copies, k * f)).map(|(z, p)| z.re * p);
                products.enumerate().for_each(|(s, x)| gradient[s % layout.features] += x);
            }
            for (column, got) in gradient.iter().enumerate() {
                let of_row = |(i, row): (usize, &[f64])| row.get(column).map_or(0.0, |z| z * p(i));
                let wanted: f64 = matrix.chunks_exact(columns).enumerate().map(of_row).sum();
                assert!((got - wanted).abs() < 1e-9, "column {column}: {got} for {wanted}");
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert!(Layout::new(65, 4, 64).is_err() && Layout::new(4, 65, 64).is_err());
        let full = Layout::new(197, 1024, 1 << 15).unwrap();
        assert_eq!((full.features, full.ciphertexts, full.block(), full.slots()), (256, 8, 32, 1 << 15));
    }
}
