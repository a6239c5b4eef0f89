//! Where coordinates lie in slots.
//!
//! A ciphertext has `fold` blocks of `block` slots, one coordinate each; slot r of a block holds row r in its real part
//! and row `block + r` in its imaginary one. `ciphertexts` of them hold all coordinates of `2·block` rows: a group.

use limbwise::Complex64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) block: usize,
    pub(super) fold: usize,
    pub(super) groups: usize,
    pub(super) ciphertexts: usize,
}

impl Layout {
    pub(super) fn new(rows: usize, dimension: usize, slots: usize) -> Self {
        let block = rows.div_ceil(2).next_power_of_two().min(slots);
        let fold = (slots / block).min(dimension.next_power_of_two());
        Self { block, fold, groups: rows.div_ceil(2 * block), ciphertexts: dimension.div_ceil(fold) }
    }

    pub(super) fn slots(self) -> usize {
        self.block * self.fold
    }

    /// Places for rows.
    pub(super) fn capacity(self) -> usize {
        2 * self.block * self.groups
    }

    /// Messages of the database, from each row's coordinates; absent rows are zero.
    pub(super) fn database<'v>(self, row: impl Fn(usize) -> Option<&'v [f64]>) -> Vec<Vec<Complex64>> {
        let message = |at: usize| {
            let (group, ciphertext) = (at / self.ciphertexts, at % self.ciphertexts);
            let coordinate = |row: Option<&[f64]>, k: usize| row.and_then(|row| row.get(k)).copied().unwrap_or(0.0);
            let mut slots = Vec::with_capacity(self.slots());
            for k in (0..self.fold).map(|k| ciphertext * self.fold + k) {
                slots.extend((0..self.block).map(|r| {
                    let [real, imaginary] = self.rows_of(group, r);
                    Complex64::new(coordinate(row(real), k), coordinate(row(imaginary), k))
                }));
            }
            slots
        };
        (0..self.groups * self.ciphertexts).map(message).collect()
    }

    /// The rows in the two parts of slot r of a group.
    fn rows_of(self, group: usize, r: usize) -> [usize; 2] {
        let first = 2 * self.block * group + r;
        [first, first + self.block]
    }

    /// Messages of the query times a factor.
    pub(super) fn query(self, query: &[f64], factor: f64) -> Vec<Vec<Complex64>> {
        let value = |k: usize| Complex64::from(factor * query.get(k).copied().unwrap_or(0.0));
        let message = |at: usize| {
            let coordinates = (0..self.fold).map(|k| value(at * self.fold + k));
            coordinates.flat_map(|value| std::iter::repeat_n(value, self.block)).collect()
        };
        (0..self.ciphertexts).map(message).collect()
    }

    /// The row of each place of the flags, message by message: real parts of all groups, then imaginary ones.
    pub(super) fn flagged(self) -> Vec<Vec<usize>> {
        let message = |part: usize| {
            move |group: usize| (0..self.block).map(|r| self.rows_of(group, r)[part]).collect::<Vec<usize>>()
        };
        (0..2).flat_map(|part| (0..self.groups).map(message(part))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_one_place_and_every_coordinate_one_slot() {
        for (rows, dimension, slots) in [(100, 16, 1024), (700, 6, 64), (3, 5, 512), (1, 1, 8), (40, 7, 8)] {
            let layout = Layout::new(rows, dimension, slots);
            assert!(
                layout.slots() <= slots && layout.capacity() >= rows && layout.fold * layout.ciphertexts >= dimension
            );
            let mut places: Vec<usize> = layout.flagged().concat();
            places.sort_unstable();
            assert_eq!(places, (0..layout.capacity()).collect::<Vec<_>>());
            let vectors: Vec<Vec<f64>> =
                (0..rows).map(|row| (0..dimension).map(|k| (row * dimension + k + 1) as f64).collect()).collect();
            let query: Vec<f64> = (0..dimension).map(|k| (k % 3) as f64 - 1.0).collect();
            let (database, query_messages) =
                (layout.database(|row| vectors.get(row).map(Vec::as_slice)), layout.query(&query, 1.0));
            let places = layout.flagged();
            for (at, rows) in places.iter().enumerate() {
                let (part, group) = (at / layout.groups, at % layout.groups);
                for (r, &row) in rows.iter().enumerate() {
                    let sum: Complex64 = (0..layout.ciphertexts)
                        .flat_map(|i| (0..layout.fold).map(move |k| (i, k * layout.block + r)))
                        .map(|(i, slot)| database[group * layout.ciphertexts + i][slot] * query_messages[i][slot])
                        .sum();
                    let wanted: f64 =
                        vectors.get(row).map_or(0.0, |row| row.iter().zip(&query).map(|(x, y)| x * y).sum());
                    assert!(([sum.re, sum.im][part] - wanted).abs() < 1e-6, "row {row}");
                }
            }
        }
    }
}
