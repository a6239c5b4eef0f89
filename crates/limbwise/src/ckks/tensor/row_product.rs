//! Products of encrypted matrices that lie row after row, several pairs side by side.
//!
//! Slot `(i·H + h)·d + c` holds row i of R, pair h of H and column c of d, so that a rotation by H·d slots moves whole rows in a
//! circle. Two forms of a matrix:
//!
//! - *by rows*: entry (i, t) at row i, column t;
//! - *by diagonals*: entry (i, j) at row i, column b of part a, where `(j − i) mod R = a·w + b` and w is the smaller of d and R.
//!
//! The scores of attention are a product of two matrices by rows, `A·Bᵀ`, whose result is by diagonals; its mixtures of values
//! are a product of such a matrix with one by rows, whose result is by rows again. So nothing is transposed. Both products take
//! the right matrix skewed, `B̃(i, c) = B(i + c, c)`, and are sums over steps r:
//!
//! ```text
//! A·Bᵀ:  C_a = Σ_r m_r ⊙ rot(A, r) ⊙ rot(B̃, a·w·H·d + r·(1 − H·d))
//! A·B:   C   = Σ_a Σ_r m_r ⊙ rot(A_a, r) ⊙ rot(B̃, (a·w + r)·H·d)
//! ```
//!
//! where the mask m_r keeps the columns that a rotation by r took from their own pair. Source: the diagonals of \[HS14\], and
//! \[JKLS18\] for products of rotated matrices. Differs: one relinearization a part, and parts of any number of columns.

use super::TensorError;
use crate::{
    ckks::{Auto, Ciphertext, Strategy},
    error::Result,
};
use limbwise_device::Device;
use num_complex::Complex64;
use std::ops::Range;

/// Rows, pairs and columns of the slots that matrices lie in: powers of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowGrid {
    /// Rows, R.
    pub rows: usize,
    /// Matrices side by side, H.
    pub pairs: usize,
    /// Columns of each, d.
    pub columns: usize,
}

impl RowGrid {
    /// Room for so many rows, pairs and columns.
    #[must_use]
    pub fn of([rows, pairs, columns]: [usize; 3]) -> Self {
        let [rows, pairs, columns] = [rows, pairs, columns].map(usize::next_power_of_two);
        Self { rows, pairs, columns }
    }

    /// Slots that it takes.
    #[must_use]
    pub fn slots(self) -> usize {
        self.rows * self.pitch()
    }

    /// Slots from a row to the next.
    #[must_use]
    pub fn pitch(self) -> usize {
        self.pairs * self.columns
    }

    /// Diagonals of a part.
    #[must_use]
    pub fn width(self) -> usize {
        self.columns.min(self.rows)
    }

    /// Parts of a matrix by diagonals.
    #[must_use]
    pub fn parts(self) -> usize {
        self.rows / self.width()
    }

    /// The slot of an entry of a matrix by rows.
    #[must_use]
    pub fn by_rows(self, pair: usize, [row, column]: [usize; 2]) -> usize {
        row * self.pitch() + pair * self.columns + column
    }

    /// The slot of an entry of a matrix by rows that is skewed.
    #[must_use]
    pub fn skewed(self, pair: usize, [row, column]: [usize; 2]) -> usize {
        self.by_rows(pair, [(self.rows + row - column % self.rows) % self.rows, column])
    }

    /// Part and slot of an entry of a matrix by diagonals.
    #[must_use]
    pub fn by_diagonals(self, pair: usize, [row, column]: [usize; 2]) -> [usize; 2] {
        let diagonal = (self.rows + column - row) % self.rows;
        [diagonal / self.width(), self.by_rows(pair, [row, diagonal % self.width()])]
    }
}

/// Which product of two matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowForm {
    /// `A·Bᵀ` of two matrices by rows; the result is by diagonals.
    OfRows,
    /// `A·B` of a matrix by diagonals and one by rows; the result is by rows.
    OfDiagonals,
}

/// A product of encrypted matrices that lie in a grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowProduct {
    grid: RowGrid,
    form: RowForm,
    /// Pairs, rows of the left matrix and of the result, and columns of the matrices by rows.
    used: [usize; 3],
    /// Parts that a ciphertext of a matrix by diagonals holds on the left, one behind another.
    blocks: usize,
    /// Messages that take turns in the slots.
    turns: usize,
    /// What products are multiplied with.
    factor: f64,
}

/// Levels that a product consumes below the skewed matrix: one for the masks, one for the product.
pub const LEVELS: usize = 2;

impl RowProduct {
    /// A product in a grid of which so many pairs, rows of the left matrix and columns of the matrices by rows are used. A
    /// matrix by diagonals on the left lies in ciphertexts of `blocks` parts.
    ///
    /// # Errors
    /// [`TensorError::Shape`] for more than the grid has, or parts that do not fill ciphertexts.
    pub fn new(grid: RowGrid, form: RowForm, used: [usize; 3], blocks: usize) -> Result<Self> {
        let [pairs, rows, columns] = used;
        let fits = pairs <= grid.pairs && rows <= grid.rows && columns <= grid.columns && !used.contains(&0);
        let RowGrid { rows, pairs, columns } = grid;
        let whole = match form {
            RowForm::OfRows => blocks == 1,
            RowForm::OfDiagonals => blocks > 0 && grid.parts().is_multiple_of(blocks),
        };
        if !fits || !whole || [rows, pairs, columns].into_iter().any(|side| !side.is_power_of_two()) {
            let got = format!("{used:?} used of {grid:?} in blocks of {blocks}");
            return Err(TensorError::shape("a product of rows", got, "sizes within a grid of powers of two").into());
        }
        Ok(Self { grid, form, used, blocks, turns: 1, factor: 1.0 })
    }

    /// The same with products times a factor.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self { factor, ..self }
    }

    /// The same for messages that take turns in the slots.
    #[must_use]
    pub fn interleaved(self, turns: usize) -> Self {
        Self { turns, ..self }
    }

    /// Ciphertexts of the left matrix, and of the result.
    #[must_use]
    pub fn ciphertexts(&self) -> [usize; 2] {
        match self.form {
            RowForm::OfRows => [1, self.grid.parts()],
            RowForm::OfDiagonals => [self.grid.parts() / self.blocks, 1],
        }
    }

    /// Slots of the left matrix's ciphertexts, and of the right one.
    #[must_use]
    pub fn slots(&self) -> [usize; 2] {
        let own = self.grid.slots() * self.turns;
        [own * self.blocks, own]
    }

    /// The steps of the sum: those that leave a column in its pair.
    fn steps(&self) -> Range<i64> {
        let (width, columns) = (self.grid.width() as i64, self.used[2] as i64);
        match self.form {
            RowForm::OfRows => 1 - width..columns,
            RowForm::OfDiagonals => 1 - columns..width,
        }
    }

    /// Rotations of the right matrix's rows and of the left matrix, for one step.
    fn unit(&self) -> i64 {
        let pitch = self.grid.pitch() as i64;
        if self.form == RowForm::OfRows { 1 - pitch } else { pitch }
    }

    /// The mask of a step in a block, on the slots of the left matrix.
    fn mask(&self, step: i64, block: usize) -> Vec<Complex64> {
        let Self { grid, used: [pairs, rows, columns], .. } = *self;
        let (made, read) = match self.form {
            RowForm::OfRows => (grid.width(), columns),
            RowForm::OfDiagonals => (columns, grid.width()),
        };
        let own = grid.slots() * self.turns;
        let mut mask = vec![Complex64::default(); own * self.blocks];
        let columns = (0..made).filter(|&column| (0..read as i64).contains(&(column as i64 + step)));
        let columns: Vec<usize> = columns.collect();
        for (row, pair) in (0..rows).flat_map(|row| (0..pairs).map(move |pair| (row, pair))) {
            for &column in &columns {
                let slot = block * own + grid.by_rows(pair, [row, column]) * self.turns;
                mask[slot..slot + self.turns].fill(self.factor.into());
            }
        }
        mask
    }

    /// Steps that are hoisted together.
    fn babies(&self, strategy: Strategy) -> i64 {
        let count = self.steps().count();
        let babies = match strategy {
            Strategy::Direct | Strategy::MultiHop { .. } => 1,
            Strategy::Chained { .. } => 4,
            _ => (2 * count).isqrt().next_power_of_two(),
        };
        babies as i64
    }

    /// The product, settled at a level. The right matrix is skewed.
    ///
    /// Shape:  left at `level` + [`LEVELS`] or above, right one lower or above, each with the slots of its message.
    /// Cost: for s steps, l ciphertexts on the left and p parts: s·(l + p) hoisted rotations, s·p masks and products, a full
    /// rotation each time as many steps are done as the strategy hoists, a relinearization a result. Rotations go in hops, so
    /// that the keys are those of the hoisted steps and a few more.
    ///
    /// # Errors
    /// A missing key, too few levels; [`TensorError::Shape`] for another number of ciphertexts on the left.
    pub fn multiply<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        strategy: Strategy,
        (left, right): (&[Ciphertext<D>], &Ciphertext<D>),
        level: usize,
    ) -> Result<Vec<Ciphertext<D>>> {
        let [lefts, results] = self.ciphertexts();
        if left.len() != lefts {
            let got = format!("{} ciphertexts on the left", left.len());
            return Err(TensorError::shape("a product of rows", got, lefts.to_string()).into());
        }
        let (steps, unit, turns) = (self.steps(), self.unit(), self.turns as i64);
        let part = (self.grid.width() * self.grid.pitch()) as i64 * turns;
        // Both sides where the first step finds them; the right one for each part.
        let first =
            |x: &Ciphertext<D>, level: usize, hop: i64| auto.rotate(&auto.scale_to(x, 1.0, level)?, hop * turns);
        let mut left: Vec<Ciphertext<D>> =
            left.iter().map(|x| first(x, level + LEVELS, steps.start)).collect::<Result<_>>()?;
        let mut rights = vec![first(right, level + 1, steps.start * unit)?];
        for at in 1..self.grid.parts() {
            rights.push(auto.rotate(&rights[at - 1], part)?);
        }
        let babies = self.babies(strategy);
        let mut sums: Vec<Option<Ciphertext<D>>> = vec![None; results];
        for giant in steps.clone().step_by(usize::try_from(babies).unwrap_or(1)) {
            if giant > steps.start {
                left = left.iter().map(|x| auto.rotate(x, babies * turns)).collect::<Result<_>>()?;
                rights = rights.iter().map(|x| auto.rotate(x, babies * unit * turns)).collect::<Result<_>>()?;
            }
            let lefts = left.iter().map(|x| auto.eval.hoisted(x)).collect::<Result<Vec<_>>>()?;
            let raised = rights.iter().map(|x| auto.eval.hoisted(x)).collect::<Result<Vec<_>>>()?;
            for baby in 0..babies.min(steps.end - giant) {
                let lefts = lefts.iter().map(|x| x.rotate(baby * turns)).collect::<Result<Vec<_>>>()?;
                let mut masked: Option<Ciphertext<D>> = None;
                for (at, right) in raised.iter().enumerate() {
                    let x = match (self.form, masked) {
                        // One mask serves all parts.
                        (RowForm::OfRows, Some(masked)) => masked,
                        _ => {
                            let mask = self.mask(giant + baby, at % self.blocks);
                            auto.settle(&auto.mul_values(&lefts[at / self.blocks % lefts.len()], &mask)?)?
                        }
                    };
                    let right = right.rotate(baby * unit * turns)?.with_slots(x.slots);
                    let product = auto.mul(&x, &right)?;
                    let sum = &mut sums[at % results];
                    *sum = Some(match sum.take() {
                        None => product,
                        Some(sum) => auto.add(&sum, &product)?,
                    });
                    masked = Some(x);
                }
            }
        }
        let own = self.grid.slots() * self.turns;
        let ended = |sum: Option<Ciphertext<D>>| {
            let sum = auto.scale_to(&sum.expect("each result has a step"), 1.0, level)?;
            Ok(auto.inner_sum(&sum, own as i64, self.blocks)?.narrowed(own))
        };
        sums.into_iter().map(ended).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sums of the two formulas in the clear, against products by definition.
    #[test]
    fn sums_over_steps_are_products() {
        for (sizes, columns) in [([5, 3, 4], 4), ([8, 2, 2], 3), ([3, 1, 7], 2), ([4, 4, 16], 16), ([1, 2, 3], 1)] {
            let [rows, pairs, inner] = sizes;
            let grid = RowGrid::of([rows, pairs, inner.max(columns)]);
            let number = |seed: usize| move |at: usize| ((at * 37 + seed) % 19) as f64 - 9.0;
            let (a, b, v) = (number(3), number(8), number(12));
            let entry = |of: &dyn Fn(usize) -> f64, h: usize, i: usize, c: usize| of((h * 100 + i) * 100 + c);
            let pitch = grid.pitch() as i64;
            let rotated = |x: &[f64], steps: i64| -> Vec<f64> {
                (0..x.len() as i64).map(|at| x[(at + steps).rem_euclid(x.len() as i64) as usize]).collect()
            };
            // Left by rows, right skewed, with numbers in the slots of no entry that must not be read.
            let mut left = vec![1e6; grid.slots()];
            let (mut right, mut values) = (vec![0.0; grid.slots()], vec![0.0; grid.slots()]);
            for h in 0..pairs {
                for i in 0..rows {
                    for t in 0..inner {
                        left[grid.by_rows(h, [i, t])] = entry(&a, h, i, t);
                        right[grid.skewed(h, [i, t])] = entry(&b, h, i, t);
                    }
                    (0..columns).for_each(|f| values[grid.skewed(h, [i, f])] = entry(&v, h, i, f));
                }
            }
            let product = RowProduct::new(grid, RowForm::OfRows, [pairs, rows, inner], 1).unwrap();
            let mut parts = vec![vec![0.0; grid.slots()]; grid.parts()];
            for step in product.steps() {
                let (x, mask) = (rotated(&left, step), product.mask(step, 0));
                for (a, part) in parts.iter_mut().enumerate() {
                    let y = rotated(&right, (a * grid.width()) as i64 * pitch + step * product.unit());
                    (0..x.len()).for_each(|at| part[at] += mask[at].re * x[at] * y[at]);
                }
            }
            let mut scores = vec![vec![0.0; rows * rows]; pairs];
            for (h, i, j) in (0..pairs * rows * rows).map(|at| (at / rows / rows, at / rows % rows, at % rows)) {
                scores[h][i * rows + j] = (0..inner).map(|t| entry(&a, h, i, t) * entry(&b, h, j, t)).sum();
                let [part, slot] = grid.by_diagonals(h, [i, j]);
                assert!((parts[part][slot] - scores[h][i * rows + j]).abs() < 1e-6, "{sizes:?} {h} {i} {j}");
            }
            let held: f64 = parts.iter().flatten().map(|x| x.abs()).sum();
            let wanted: f64 = scores.iter().flatten().map(|x| x.abs()).sum();
            assert!((held - wanted).abs() < 1e-6, "nothing in other slots");
            for blocks in [1, grid.parts()] {
                let used = [pairs, rows, columns];
                let product = RowProduct::new(grid, RowForm::OfDiagonals, used, blocks).unwrap();
                let all: Vec<Vec<f64>> = parts.chunks(blocks).map(<[_]>::concat).collect();
                assert_eq!(product.ciphertexts(), [all.len(), 1]);
                let mut result = vec![0.0; grid.slots()];
                for (a, step) in (0..grid.parts()).flat_map(|a| product.steps().map(move |step| (a, step))) {
                    let (x, mask) = (rotated(&all[a / blocks], step), product.mask(step, a % blocks));
                    let y = rotated(&values, ((a * grid.width()) as i64 + step) * pitch);
                    (0..x.len()).for_each(|at| result[at % y.len()] += mask[at].re * x[at] * y[at % y.len()]);
                }
                for (h, i, f) in
                    (0..pairs * rows * columns).map(|at| (at / columns / rows, at / columns % rows, at % columns))
                {
                    let wanted: f64 = (0..rows).map(|j| scores[h][i * rows + j] * entry(&v, h, j, f)).sum();
                    assert!((result[grid.by_rows(h, [i, f])] - wanted).abs() < 1e-6, "{sizes:?} {h} {i} {f}");
                }
            }
        }
    }
}
