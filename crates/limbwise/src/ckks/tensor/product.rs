//! Clear matrix × encrypted matrix; with one column, matrix × vector.
//!
//! A row of the encrypted matrix is one item, so that `A·X` is the map `A ⊗ 1` on rows: all columns of a ciphertext are
//! multiplied at once. `X·A` is the same with both matrices transposed.

use super::{Matrix, MatrixLayout, PackedMap, Spread, TensorError, matrix::check, packed_map::Builder};
use crate::error::Result;
use num_complex::Complex64;

/// `X → A·X + b`, with b repeated in each column.
#[derive(Clone, Debug)]
pub struct MatrixProduct {
    /// Layout of X.
    pub input: MatrixLayout,
    /// Layout of `A·X + b`.
    pub output: MatrixLayout,
    /// The map between the layouts.
    pub map: PackedMap,
}

impl MatrixProduct {
    /// A product with an X of `columns` columns in the layout with the fewest rotations; the result has each row once.
    ///
    /// # Errors
    /// [`TensorError::TooLarge`] if a column does not fit the slots; [`TensorError::Shape`] for no column, or a bias
    /// that is neither empty nor one value per row.
    pub fn new(matrix: &Matrix, bias: &[f64], columns: usize, slots: usize) -> Result<Self> {
        let (m, n) = (matrix.rows(), matrix.columns());
        let output = MatrixLayout::new(m, columns, n, slots)?;
        let rows = Spread::for_map(n, output.rows.unit, m, 1, slots);
        Self::between(matrix, bias, MatrixLayout { rows, columns }, output, slots)
    }

    /// A product between two given layouts, for an X from the layer before and a result for the next one.
    ///
    /// # Errors
    /// The errors of [`Self::new`], and layouts that do not match X and the result.
    pub fn between(
        matrix: &Matrix,
        bias: &[f64],
        input: MatrixLayout,
        output: MatrixLayout,
        slots: usize,
    ) -> Result<Self> {
        let got = [(input.rows.items, input.columns), (output.rows.items, output.columns)];
        let (m, n) = (matrix.rows(), matrix.columns());
        if got != [(n, input.columns), (m, input.columns)] || input.rows.unit != output.rows.unit {
            let shape = |(rows, columns): (usize, usize), unit| format!("{rows}×{columns} by {unit} columns");
            let both = format!("{} → {}", shape(got[0], input.rows.unit), shape(got[1], output.rows.unit));
            let wanted = format!("{n}×c → {m}×c by equally many columns, for a matrix of {m}×{n}");
            return Err(TensorError::shape("the layouts of a product", both, wanted).into());
        }
        for (what, spread) in [("the input", input.rows), ("the result", output.rows)] {
            if spread.slots() > slots {
                let next = "choose a larger ring, or fewer repetitions or columns a ciphertext";
                let (what, needed) = (format!("{what} of a product"), spread.slots());
                return Err(TensorError::TooLarge { what, needed, slots, next }.into());
            }
        }
        if !bias.is_empty() {
            check("a bias", bias, &[m])?;
        }
        let unit = output.rows.unit;
        let mut builder = Builder::new(input.rows, &output.rows, 1, slots);
        let given = 0..builder.given(output.rows).extent;
        for (place, row) in given.filter_map(|place| Some((place, output.rows.item(place)?))) {
            for (column, lane) in (0..n).flat_map(|column| (0..unit).map(move |lane| (column, lane))) {
                let slot = builder.output(place * unit + lane);
                builder.add(slot, column, lane, matrix.at(row, column));
            }
        }
        let bias = if bias.is_empty() { Vec::new() } else { output.rows.pack(slots, |row, _| bias[row]) };
        let map = builder.finish(bias)?;
        Ok(Self { input, output, map })
    }

    /// Slot count of every ciphertext.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.map.diagonals.slots()
    }

    /// The matrix packed into the slots of each ciphertext.
    ///
    /// # Errors
    /// As [`MatrixLayout::pack`].
    pub fn pack(&self, x: &Matrix) -> Result<Vec<Vec<Complex64>>> {
        self.input.pack(x, self.slots())
    }
}
