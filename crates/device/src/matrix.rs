//! A clear matrix of small integers: the operand of [`Device::matrix_product`](crate::Device::matrix_product).

use std::sync::Arc;

/// A matrix of signed integers below 2^31 in magnitude, by rows. Copies share the entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntegerMatrix {
    rows: usize,
    columns: usize,
    entries: Arc<[i32]>,
    largest: u32,
}

/// Numbers that are no matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{got} integers are no matrix of {rows} × {columns}: give {rows}·{columns} of them, at least one, above −2^31")]
pub struct MatrixError {
    /// Rows asked for.
    pub rows: usize,
    /// Columns asked for.
    pub columns: usize,
    /// Integers given.
    pub got: usize,
}

impl IntegerMatrix {
    /// A matrix from its entries, row after row.
    ///
    /// # Errors
    /// [`MatrixError`] if there is no entry, another number of them than `rows·columns`, or one that is −2^31.
    pub fn new(rows: usize, columns: usize, entries: Vec<i32>) -> Result<Self, MatrixError> {
        let fits = rows.checked_mul(columns) == Some(entries.len()) && !entries.is_empty();
        if !fits || entries.contains(&i32::MIN) {
            return Err(MatrixError { rows, columns, got: entries.len() });
        }
        let largest = entries.iter().map(|w| w.unsigned_abs()).max().unwrap_or(0);
        Ok(Self { rows, columns, entries: entries.into(), largest })
    }

    /// Number of results.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of operands.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// One row.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn row(&self, row: usize) -> &[i32] {
        &self.entries[row * self.columns..][..self.columns]
    }

    /// Magnitude of the largest entry.
    #[must_use]
    pub fn largest(&self) -> u32 {
        self.largest
    }

    /// Largest sum of magnitudes in a row: how much a product may grow.
    #[must_use]
    pub fn norm(&self) -> u64 {
        (0..self.rows).map(|j| self.row(j).iter().map(|w| u64::from(w.unsigned_abs())).sum()).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_checked() {
        let matrix = IntegerMatrix::new(2, 3, vec![1, -2, 3, 4, 5, -7]).unwrap();
        assert_eq!((matrix.row(1), matrix.largest(), matrix.norm()), (&[4, 5, -7][..], 7, 16));
        for (rows, columns, entries) in [(2, 2, vec![1; 3]), (0, 3, vec![]), (1, 1, vec![i32::MIN])] {
            assert!(IntegerMatrix::new(rows, columns, entries).is_err());
        }
        assert!(IntegerMatrix::new(usize::MAX, 2, vec![1; 4]).is_err());
    }
}
