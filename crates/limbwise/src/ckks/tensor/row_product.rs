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
//! where the mask m_r keeps the columns that a rotation by r took from their own pair. Matrices are real, so two parts share a
//! ciphertext: `B̃_a + i·B̃_b` times a real number holds both products, and times `A_a − i·A_b` the sum of both in its real part.
//! Source: the diagonals of \[HS14\], and
//! \[JKLS18\] for products of rotated matrices. Differs: one relinearization a pair of parts, and parts of any number of columns.

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

/// Levels from the left matrix to the result: one for the masks, one for the product. The right one may lie a level lower.
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

    /// Rotation of the right matrix for one step of the left one.
    fn unit(&self) -> i64 {
        let pitch = self.grid.pitch() as i64;
        if self.form == RowForm::OfRows { 1 - pitch } else { pitch }
    }

    /// Parts that share a ciphertext of complex numbers.
    fn joined(&self) -> usize {
        self.grid.parts().min(2)
    }

    /// The mask of a step for a pair of parts, on the slots of the left matrix. Where both lie in it one behind another, the
    /// second is turned by −i.
    fn mask(&self, step: i64, pair: usize) -> Vec<Complex64> {
        let Self { grid, used: [pairs, rows, columns], .. } = *self;
        let (made, read) = match self.form {
            RowForm::OfRows => (grid.width(), columns),
            RowForm::OfDiagonals => (columns, grid.width()),
        };
        let (own, factor) = (grid.slots() * self.turns, self.factor / self.joined() as f64);
        let mut mask = vec![Complex64::default(); own * self.blocks];
        let columns = (0..made).filter(|&column| (0..read as i64).contains(&(column as i64 + step)));
        let columns: Vec<usize> = columns.collect();
        let first = 2 * pair % self.blocks;
        let blocks = [(first, Complex64::from(factor)), (first + 1, Complex64::new(0.0, -factor))];
        for (block, number) in blocks.into_iter().take(self.blocks.min(2)) {
            for (row, pair) in (0..rows).flat_map(|row| (0..pairs).map(move |pair| (row, pair))) {
                for &column in &columns {
                    let slot = block * own + grid.by_rows(pair, [row, column]) * self.turns;
                    mask[slot..slot + self.turns].fill(number);
                }
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

    /// Ciphertexts of two parts each, `a + turn·i·b`.
    fn pairs<D: Device>(auto: &Auto<'_, D>, parts: &[Ciphertext<D>], turn: Turn) -> Result<Vec<Ciphertext<D>>> {
        let pair = |pair: &[Ciphertext<D>]| {
            let [a, b] = pair else { return Ok(pair[0].clone()) };
            let turned = auto.times_i(b);
            if turn == Turn::Left { auto.add(a, &turned) } else { auto.sub(a, &turned) }
        };
        parts.chunks(2).map(pair).collect()
    }

    /// The product of real matrices, settled at a level. The right matrix is skewed.
    ///
    /// Shape:  left at `level` + [`LEVELS`] or above, right one lower or above, each with the slots of its message.
    /// Cost: for s steps, l ciphertexts on the left and p pairs of parts: s·(l + p) hoisted rotations, s·p masks and products, a
    /// full rotation of each side each time as many steps are done as the strategy hoists, a relinearization and a conjugation a
    /// pair. Rotations go in hops, so that the keys are those of the hoisted steps and a few more.
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
        let [lefts, _] = self.ciphertexts();
        if left.len() != lefts {
            let got = format!("{} ciphertexts on the left", left.len());
            return Err(TensorError::shape("a product of rows", got, lefts.to_string()).into());
        }
        let mut sides = self.first_step(auto, (left, right), level)?;
        let (steps, babies) = (self.steps(), self.babies(strategy));
        let giants: Vec<i64> = steps.clone().step_by(usize::try_from(babies).unwrap_or(1)).collect();
        // Giant steps of one message share each key that is read.
        let sides_count = sides.left.len() + sides.right.len();
        let together = if right.batch() == 1 { (TOGETHER / sides_count).max(1) } else { 1 };
        let mut sums: Vec<Option<Ciphertext<D>>> = Vec::new();
        for giants in giants.chunks(together) {
            let mut stacks: Vec<Sides<D>> = Vec::new();
            for &giant in giants {
                let next = if giant > steps.start { self.moved(auto, &sides, babies)? } else { sides };
                sides = Sides { left: next.left.clone(), right: next.right.clone() };
                stacks.push(next);
            }
            let own = self.summed(auto, &stacks, (giants, babies.min(steps.end - giants[0])))?;
            sums.resize(own.len(), None);
            for (sum, own) in sums.iter_mut().zip(own) {
                add(auto, sum, own)?;
            }
        }
        let mut all = Vec::new();
        for sum in sums.into_iter().flatten() {
            all.extend(self.ended(auto, &auto.scale_to(&sum, 1.0, level)?)?);
        }
        Ok(all)
    }

    /// Both sides where the first step finds them, two parts in a ciphertext.
    fn first_step<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        (left, right): (&[Ciphertext<D>], &Ciphertext<D>),
        level: usize,
    ) -> Result<Sides<D>> {
        let (turns, start) = (self.turns as i64, self.steps().start);
        let first =
            |x: &Ciphertext<D>, level: usize, hop: i64| auto.rotate(&auto.scale_to(x, 1.0, level)?, hop * turns);
        let left: Vec<Ciphertext<D>> = left.iter().map(|x| first(x, level + LEVELS, start)).collect::<Result<_>>()?;
        let left = if self.is_apart() { Self::pairs(auto, &left, Turn::Right)? } else { left };
        let mut parts = vec![first(right, level + 1, start * self.unit())?];
        let part = (self.grid.width() * self.grid.pitch()) as i64 * turns;
        for at in 1..self.grid.parts() {
            parts.push(auto.rotate(&parts[at - 1], part)?);
        }
        Ok(Sides { left, right: Self::pairs(auto, &parts, Turn::Left)? })
    }

    /// Whether each part of the left matrix is a ciphertext of its own.
    fn is_apart(&self) -> bool {
        self.form == RowForm::OfDiagonals && self.blocks == 1
    }

    /// Both sides so many steps on.
    fn moved<D: Device>(&self, auto: &Auto<'_, D>, sides: &Sides<D>, steps: i64) -> Result<Sides<D>> {
        let steps = steps * self.turns as i64;
        let left = sides.left.iter().map(|x| auto.rotate(x, steps)).collect::<Result<_>>()?;
        let right = sides.right.iter().map(|x| auto.rotate(x, steps * self.unit())).collect::<Result<_>>()?;
        Ok(Sides { left, right })
    }

    /// The sums of products of all these giant steps, with so many baby steps each.
    fn summed<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        stacks: &[Sides<D>],
        (giants, babies): (&[i64], i64),
    ) -> Result<Vec<Ciphertext<D>>> {
        let (eval, turns) = (&auto.eval, self.turns as i64);
        let stacked = |of: &dyn Fn(&Sides<D>) -> Ciphertext<D>| eval.stack(&stacks.iter().map(of).collect::<Vec<_>>());
        let count = |of: fn(&Sides<D>) -> usize| 0..of(&stacks[0]);
        let left = count(|sides| sides.left.len()).map(|at| eval.hoisted(&stacked(&|sides| sides.left[at].clone())));
        let left = left.collect::<Result<Vec<_>>>()?;
        let right = count(|sides| sides.right.len()).map(|at| eval.hoisted(&stacked(&|sides| sides.right[at].clone())));
        let right = right.collect::<Result<Vec<_>>>()?;
        let results = if self.form == RowForm::OfRows { right.len() } else { 1 };
        let mut sums: Vec<Option<Ciphertext<D>>> = vec![None; results];
        for baby in 0..babies {
            let rotated = left.iter().map(|x| x.rotate(baby * turns)).collect::<Result<Vec<_>>>()?;
            let masked = |pair: usize| {
                let masks: Vec<_> = giants.iter().map(|giant| self.mask(giant + baby, pair)).collect();
                let at = if self.is_apart() { pair } else { 2 * pair / self.blocks };
                auto.settle(&auto.mul_rows(&rotated[at % rotated.len()], &masks)?)
            };
            // One mask serves all parts of a matrix by rows.
            let of_all = if self.form == RowForm::OfRows { Some(masked(0)?) } else { None };
            for (pair, right) in right.iter().enumerate() {
                let x = of_all.clone().map_or_else(|| masked(pair), Ok)?;
                let right = right.rotate(baby * self.unit() * turns)?.with_slots(x.slots);
                add(auto, &mut sums[pair % results], auto.mul(&x, &right)?)?;
            }
        }
        let together = |sum| if giants.len() == 1 { Ok(sum) } else { eval.batch_sum(&sum) };
        sums.into_iter().flatten().map(together).collect()
    }

    /// The results that a sum is: its blocks added up, and of two parts each its own.
    fn ended<D: Device>(&self, auto: &Auto<'_, D>, sum: &Ciphertext<D>) -> Result<Vec<Ciphertext<D>>> {
        let own = self.grid.slots() * self.turns;
        let sum = auto.inner_sum(sum, own as i64, self.blocks)?.narrowed(own);
        let real = |x: Ciphertext<D>| Ciphertext { estimate: x.estimate.with_peak(x.estimate.peak, true), ..x };
        if self.joined() == 1 {
            return Ok(vec![real(sum)]);
        }
        let conjugate = auto.conjugate(&sum)?;
        let first = real(auto.add(&sum, &conjugate)?);
        if self.form == RowForm::OfDiagonals {
            return Ok(vec![first]);
        }
        // −i·(x − x̄) is twice the imaginary part.
        Ok(vec![first, real(auto.eval.negate(&auto.times_i(&auto.sub(&sum, &conjugate)?)))])
    }
}

/// Both sides at a step.
struct Sides<D: Device> {
    left: Vec<Ciphertext<D>>,
    right: Vec<Ciphertext<D>>,
}

/// Which way the second of two parts is turned.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    Left,
    Right,
}

/// Ciphertexts whose digits are there at a time, where there are several giant steps.
const TOGETHER: usize = 16;

/// Adds a product to those before.
fn add<D: Device>(auto: &Auto<'_, D>, sum: &mut Option<Ciphertext<D>>, product: Ciphertext<D>) -> Result<()> {
    *sum = Some(match sum.take() {
        None => product,
        Some(sum) => auto.add(&sum, &product)?,
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    type Slots = Vec<Complex64>;

    fn rotated(x: &[Complex64], steps: i64) -> Slots {
        let count = x.len() as i64;
        let at = |at: i64| usize::try_from((at + steps).rem_euclid(count)).unwrap();
        (0..count).map(|slot| x[at(slot)]).collect()
    }

    /// What the encrypted product does, in the clear.
    fn multiplied(product: &RowProduct, left: &[Slots], right: &[Complex64]) -> Vec<Slots> {
        let grid = product.grid;
        let parts: Vec<Slots> =
            (0..grid.parts()).map(|part| rotated(right, (part * grid.width() * grid.pitch()) as i64)).collect();
        let pairs = |parts: &[Slots], turn: Complex64| -> Vec<Slots> {
            let sum = |pair: &[Slots]| {
                (0..pair[0].len())
                    .map(|at| pair.iter().rev().fold(Complex64::default(), |sum, x| turn * sum + x[at]))
                    .collect()
            };
            parts.chunks(2).map(sum).collect()
        };
        let rights = pairs(&parts, Complex64::I);
        let is_apart = product.form == RowForm::OfDiagonals && product.blocks == 1;
        let left = if is_apart { pairs(left, -Complex64::I) } else { left.to_vec() };
        let results = if product.form == RowForm::OfRows { rights.len() } else { 1 };
        let mut sums = vec![vec![Complex64::default(); right.len()]; results];
        for (step, pair) in product.steps().flat_map(|step| (0..rights.len()).map(move |pair| (step, pair))) {
            let at = if is_apart { pair } else { 2 * pair / product.blocks };
            let (x, mask) = (rotated(&left[at % left.len()], step), product.mask(step, pair));
            let y = rotated(&rights[pair], step * product.unit());
            let sum = &mut sums[pair % results];
            (0..x.len()).for_each(|at| sum[at % y.len()] += mask[at] * x[at] * y[at % y.len()]);
        }
        if product.joined() == 1 {
            return sums;
        }
        let of = |take: fn(&Complex64) -> f64, sum: &Slots| sum.iter().map(|z| (2.0 * take(z)).into()).collect();
        let both = |sum: &Slots| [of(|z| z.re, sum), of(|z| z.im, sum)];
        if results == 1 && product.form == RowForm::OfDiagonals {
            return vec![of(|z| z.re, &sums[0])];
        }
        sums.iter().flat_map(both).collect()
    }

    /// Against products by definition, with numbers in the slots of no entry that must not be read.
    #[test]
    fn sums_over_steps_are_products() {
        for (sizes, columns) in
            [([5, 3, 4], 4), ([8, 2, 2], 3), ([3, 1, 7], 2), ([4, 4, 16], 16), ([1, 2, 3], 1), ([9, 1, 2], 2)]
        {
            let [rows, pairs, inner] = sizes;
            let grid = RowGrid::of([rows, pairs, inner.max(columns)]);
            let entry = |seed: usize, pair: usize, [row, column]: [usize; 2]| {
                (((pair * 100 + row) * 100 + column) * 37 + seed) as f64 % 19.0 - 9.0
            };
            let mut left = vec![Complex64::from(1e6); grid.slots()];
            let (mut right, mut values) =
                (vec![Complex64::default(); grid.slots()], vec![Complex64::default(); grid.slots()]);
            for (pair, row) in (0..pairs).flat_map(|pair| (0..rows).map(move |row| (pair, row))) {
                for column in 0..inner {
                    left[grid.by_rows(pair, [row, column])] = entry(3, pair, [row, column]).into();
                    right[grid.skewed(pair, [row, column])] = entry(8, pair, [row, column]).into();
                }
                (0..columns).for_each(|f| values[grid.skewed(pair, [row, f])] = entry(12, pair, [row, f]).into());
            }
            let product = RowProduct::new(grid, RowForm::OfRows, [pairs, rows, inner], 1).unwrap();
            let parts = multiplied(&product, &[left], &right);
            assert_eq!(product.ciphertexts(), [1, parts.len()]);
            let score = |pair: usize, [i, j]: [usize; 2]| -> f64 {
                (0..inner).map(|t| entry(3, pair, [i, t]) * entry(8, pair, [j, t])).sum()
            };
            let (mut held, all) = (0.0, |pair| (0..rows * rows).map(move |at| (pair, [at / rows, at % rows])));
            for (pair, at) in (0..pairs).flat_map(all) {
                let ([part, slot], wanted) = (grid.by_diagonals(pair, at), score(pair, at));
                assert!((parts[part][slot] - wanted).norm() < 1e-6, "{sizes:?} {pair} {at:?}");
                held += wanted.abs();
            }
            let sum: f64 = parts.iter().flatten().map(|z| z.norm()).sum();
            assert!((held - sum).abs() < 1e-6, "nothing in other slots");
            for blocks in [1, 2, grid.parts()].into_iter().filter(|&blocks| blocks <= grid.parts()) {
                let product = RowProduct::new(grid, RowForm::OfDiagonals, [pairs, rows, columns], blocks).unwrap();
                let all: Vec<Slots> = parts.chunks(blocks).map(<[_]>::concat).collect();
                assert_eq!(product.ciphertexts(), [all.len(), 1]);
                let result = multiplied(&product, &all, &values).remove(0);
                for (pair, row) in (0..pairs).flat_map(|pair| (0..rows).map(move |row| (pair, row))) {
                    for f in 0..columns {
                        let wanted: f64 = (0..rows).map(|j| score(pair, [row, j]) * entry(12, pair, [j, f])).sum();
                        let got = result[grid.by_rows(pair, [row, f])];
                        assert!((got - wanted).norm() < 1e-6, "{sizes:?} {blocks} {pair} {row} {f}");
                    }
                }
            }
        }
    }
}
