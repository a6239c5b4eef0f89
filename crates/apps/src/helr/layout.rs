//! Packing of a mini-batch in several ciphertexts: rows in blocks of features, rotated by one more block per
//! ciphertext.
//!
//! With F features (padded) and B rows there are C = F·B/slots ciphertexts. Each ciphertext has B places, one per row,
//! of f = F/C slots. In ciphertext k, place i holds block (i + k) mod C of row i. The weights are one ciphertext with
//! period F, so that place i holds block i mod C. Rotated by k blocks, the weights match ciphertext k. Adding up the C
//! products is cheap and leaves f partial products per row to sum. The gradient uses the same scheme backwards: the
//! contribution of ciphertext k is rotated by −k blocks. C − 1 rotations of one ciphertext replace log₂(B) rotations of
//! each of C. Differs: \[HELR\] also cuts features into blocks, but stores one block per ciphertext and sums the rows
//! of each block separately. This is the diagonal method of \[JVC18\] on blocks.

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
            let p: Vec<f64> = (0..slots).map(|s| value(s / f)).collect();
            let mut gradient = vec![0.0; layout.features];
            for (k, z) in packed.iter().enumerate() {
                let product: Vec<f64> = z.iter().zip(&p).map(|(z, p)| z * p).collect();
                let back = rotated(&product, slots - k * f % slots);
                back.iter().enumerate().for_each(|(s, x)| gradient[s % layout.features] += x);
            }
            for (column, got) in gradient.iter().enumerate() {
                let of_row = |(i, row): (usize, &[f64])| row.get(column).map_or(0.0, |z| z * value(i));
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
