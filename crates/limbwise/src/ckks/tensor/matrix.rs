//! Clear matrices, and the layout of an encrypted matrix in slots.

use super::{Spread, TensorError};
use crate::error::{EncodeError, Result};
use num_complex::Complex64;

/// A real matrix in row-major order; a vector is a matrix of one column.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    rows: usize,
    columns: usize,
    values: Vec<f64>,
}

/// Fails unless the values match the shape, are at least one, and are all finite.
pub(super) fn check(what: &'static str, values: &[f64], shape: &[usize]) -> Result<()> {
    let wanted = shape.iter().try_fold(1usize, |n, &side| n.checked_mul(side)).unwrap_or(usize::MAX);
    if values.len() != wanted || values.is_empty() {
        let sides: Vec<String> = shape.iter().map(ToString::to_string).collect();
        let wanted = format!("{} of them, at least one", sides.join("×"));
        return Err(TensorError::shape(what, format!("{} values", values.len()), wanted).into());
    }
    match values.iter().position(|x| !x.is_finite()) {
        Some(index) => Err(EncodeError::NotFinite { index, value: values[index].to_string() }.into()),
        None => Ok(()),
    }
}

impl Matrix {
    /// A matrix from its values in row-major order.
    ///
    /// # Errors
    /// [`TensorError::Shape`] unless there are rows × columns values and at least one; [`EncodeError::NotFinite`].
    pub fn new(rows: usize, columns: usize, values: Vec<f64>) -> Result<Self> {
        check("a matrix", &values, &[rows, columns])?;
        Ok(Self { rows, columns, values })
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// All values in row-major order.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The value at a row and column.
    ///
    /// # Panics
    /// If the index is outside the matrix.
    #[must_use]
    pub fn at(&self, row: usize, column: usize) -> f64 {
        assert!(column < self.columns, "column {column} of {}", self.columns);
        self.values[row * self.columns + column]
    }

    /// `self·other` in the clear: the reference for encrypted products.
    ///
    /// # Errors
    /// [`TensorError::Shape`] unless `other` has as many rows as this has columns.
    pub fn product(&self, other: &Self) -> Result<Self> {
        if self.columns != other.rows {
            let got = format!("{}×{} and {}×{}", self.rows, self.columns, other.rows, other.columns);
            return Err(TensorError::shape("a product", got, "as many rows right as columns left").into());
        }
        let entry = |at: usize| {
            let (row, column) = (at / other.columns, at % other.columns);
            (0..self.columns).map(|k| self.at(row, k) * other.at(k, column)).sum()
        };
        Ok(Self {
            rows: self.rows,
            columns: other.columns,
            values: (0..self.rows * other.columns).map(entry).collect(),
        })
    }
}

/// Layout of an encrypted matrix in slots. A row is an item of the [`Spread`]; a ciphertext holds as many columns as
/// fit side by side, and further columns are in further ciphertexts of the batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatrixLayout {
    /// Arrangement of the rows; its unit is the columns of one ciphertext.
    pub rows: Spread,
    /// Number of columns in all ciphertexts.
    pub columns: usize,
}

impl MatrixLayout {
    /// Each row once, the columns distributed evenly over the fewest ciphertexts. Room for `most_rows` rows is
    /// reserved.
    ///
    /// # Errors
    /// [`TensorError::TooLarge`] if one column does not fit; [`TensorError::Shape`] without rows or columns.
    pub fn new(rows: usize, columns: usize, most_rows: usize, slots: usize) -> Result<Self> {
        if rows == 0 || columns == 0 {
            return Err(
                TensorError::shape("a matrix", format!("{rows}×{columns}"), "at least one row and column").into()
            );
        }
        let needed = rows.max(most_rows);
        if needed > slots {
            let next = "choose a larger ring (limbwise params show), or cut the matrix";
            return Err(
                TensorError::TooLarge { what: format!("a column of {needed} values"), needed, slots, next }.into()
            );
        }
        let ciphertexts = columns.div_ceil(slots / needed);
        let rows = Spread { items: rows, unit: columns.div_ceil(ciphertexts), period: rows, extent: rows };
        Ok(Self { rows, columns })
    }

    /// The slots of each ciphertext of the batch.
    ///
    /// # Errors
    /// [`TensorError::Shape`] for a matrix of another shape.
    pub fn pack(&self, matrix: &Matrix, slots: usize) -> Result<Vec<Vec<Complex64>>> {
        if (matrix.rows, matrix.columns) != (self.rows.items, self.columns) {
            let (got, wanted) =
                (format!("{}×{}", matrix.rows, matrix.columns), format!("{}×{}", self.rows.items, self.columns));
            return Err(TensorError::shape("a packed matrix", got, wanted).into());
        }
        let one = |entry: usize| {
            let value = |row, lane| {
                let column = entry * self.rows.unit + lane;
                if column < self.columns { matrix.at(row, column) } else { 0.0 }
            };
            self.rows.pack(slots, value)
        };
        Ok((0..self.ciphertexts()).map(one).collect())
    }

    /// The matrix from decrypted slots: real parts of each row's first place.
    ///
    /// # Errors
    /// [`TensorError::Shape`] for another number of ciphertexts, or too few slots.
    pub fn unpack(&self, batch: &[Vec<Complex64>]) -> Result<Matrix> {
        let (items, unit) = (self.rows.items, self.rows.unit);
        if batch.len() != self.ciphertexts() || batch.iter().any(|slots| slots.len() < items * unit) {
            let got = format!("{} vectors", batch.len());
            let wanted = format!("{} of at least {} slots", self.ciphertexts(), items * unit);
            return Err(TensorError::shape("a decrypted matrix", got, wanted).into());
        }
        let value = |at: usize| {
            let (row, column) = (at / self.columns, at % self.columns);
            batch[column / unit][row * unit + column % unit].re
        };
        Matrix::new(items, self.columns, (0..items * self.columns).map(value).collect())
    }

    /// Number of ciphertexts in the batch.
    #[must_use]
    pub fn ciphertexts(&self) -> usize {
        self.columns.div_ceil(self.rows.unit)
    }
}
