//! Products of two encrypted matrices: which form each takes, and where its operands lie.
//!
//! The scores of attention are `A·Bᵀ` of matrices by rows, their result is by diagonals; what is mixed by them is a product of
//! such a matrix and one by rows ([`RowProduct`]). Which of both a product is follows from where its left operand lies.

use super::{
    Network, NetworkError,
    activation::Unit,
    layout::{Layout, Rows},
    map::{Ends, Packed, Part, packed},
    skeleton::{Operation, Skeleton},
};
use crate::memory::Room;
use limbwise::ckks::tensor::row_product::{LEVELS, RowForm, RowGrid, RowProduct};
use serde::{Deserialize, Serialize};
use std::{collections::HashMap, sync::Arc};

/// Sizes of a product of matrices, so many side by side: rows × inner times inner × columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Matrices {
    pub pairs: usize,
    pub rows: usize,
    pub inner: usize,
    pub columns: usize,
}

impl Matrices {
    /// Numbers of the left and the right matrices and of their products; `None` for more than can be counted.
    pub fn sizes(self) -> Option<[usize; 3]> {
        let Self { pairs, rows, inner, columns } = self;
        let size = |a: usize, b: usize| pairs.checked_mul(a)?.checked_mul(b);
        Some([size(rows, inner)?, size(inner, columns)?, size(rows, columns)?])
    }

    /// The products in the clear.
    pub fn product(self, [a, b]: [&[f64]; 2]) -> Vec<f64> {
        let Self { pairs, rows, inner, columns } = self;
        let mut all = vec![0.0; pairs * rows * columns];
        for (at, sums) in all.chunks_exact_mut(columns).enumerate() {
            let (pair, factors) = (at / rows, &a[at * inner..][..inner]);
            let lines = b[pair * inner * columns..].chunks_exact(columns);
            for (factor, line) in factors.iter().zip(lines) {
                sums.iter_mut().zip(line).for_each(|(sum, x)| *sum += factor * x);
            }
        }
        all
    }
}

/// Parts of a matrix by diagonals at most: where heads have so few numbers that there were more, they get more columns.
const MOST_PARTS: usize = 16;

/// How a product lies in slots.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Placed {
    matrices: Matrices,
    form: RowForm,
    /// Of those pairs that share ciphertexts.
    grid: RowGrid,
}

impl Placed {
    /// Whether it takes two matrices by rows.
    pub(super) fn is_of_rows(&self) -> bool {
        self.form == RowForm::OfRows
    }

    /// Groups of pairs, each in ciphertexts of its own.
    fn groups(&self) -> usize {
        self.matrices.pairs.div_ceil(self.grid.pairs)
    }

    /// A matrix of so many rows and columns a pair, whose entries are at these parts and slots.
    fn layout(
        &self,
        [rows, columns]: [usize; 2],
        parts: usize,
        at: impl Fn(usize, [usize; 2]) -> [usize; 2],
    ) -> Layout {
        let (grid, period) = (self.grid, self.grid.slots());
        let entries = (0..self.matrices.pairs * rows * columns)
            .map(|at| (at / columns / rows, [at / columns % rows, at % columns]));
        let place = |(pair, entry)| {
            let [part, slot] = at(pair % grid.pairs, entry);
            (pair / grid.pairs * parts + part) * period + slot
        };
        Layout::placed(entries.map(place), (period, self.groups() * parts), (parts == 1).then(|| self.rows()))
    }

    /// How rows of numbers lie in its ciphertexts.
    pub(super) fn rows(&self) -> Rows {
        Rows { count: self.grid.rows, pitch: self.grid.pitch() }
    }

    fn by_diagonals(&self, sizes: [usize; 2]) -> Layout {
        self.layout(sizes, self.grid.parts(), |pair, entry| self.grid.by_diagonals(pair, entry))
    }

    fn by_rows(&self, sizes: [usize; 2]) -> Layout {
        self.layout(sizes, 1, |pair, entry| [0, self.grid.by_rows(pair, entry)])
    }

    /// Where the left operand is to lie: by diagonals in ciphertexts of one part.
    pub(super) fn left(&self) -> Layout {
        let Matrices { rows, inner, .. } = self.matrices;
        match self.form {
            RowForm::OfRows => self.by_rows([rows, inner]),
            RowForm::OfDiagonals => self.by_diagonals([rows, inner]),
        }
    }

    /// Where the result lies.
    pub(super) fn result(&self) -> Layout {
        let Matrices { rows, columns, .. } = self.matrices;
        match self.form {
            RowForm::OfRows => self.by_diagonals([rows, columns]),
            RowForm::OfDiagonals => self.by_rows([rows, columns]),
        }
    }

    /// An entry of the right operand, which is the turned one for a product of rows.
    fn turned(&self, entry @ [row, column]: [usize; 2]) -> [usize; 2] {
        if self.is_of_rows() { [column, row] } else { entry }
    }

    /// Where the right operand lies best: its map to [`Self::skewed`] then has the fewest diagonals.
    pub(super) fn right(&self) -> Layout {
        let Matrices { inner, columns, .. } = self.matrices;
        self.layout([inner, columns], 1, |pair, entry| [0, self.grid.by_rows(pair, self.turned(entry))])
    }

    fn skewed(&self) -> Layout {
        let Matrices { inner, columns, .. } = self.matrices;
        self.layout([inner, columns], 1, |pair, entry| [0, self.grid.skewed(pair, self.turned(entry))])
    }

    /// Parts in each ciphertext of a left operand that lies so; `None` where it has to be moved.
    pub(super) fn blocks(&self, left: &Layout) -> Option<usize> {
        let wanted = self.left();
        let blocks = left.period / wanted.period.min(left.period).max(1);
        // A longer period of a matrix by rows has gaps, where the product's message repeats.
        let fits = if self.is_of_rows() { blocks == 1 } else { self.grid.parts().is_multiple_of(blocks) };
        (fits && left.same(&wanted.in_periods_of(left.period))).then_some(blocks)
    }
}

/// Where the operands of all products lie, by the values that they are; for rings of so many slots.
///
/// # Errors
/// [`NetworkError::Slots`] for one that does not fit.
pub(super) fn placed(skeleton: &Skeleton, slots: usize) -> Result<Vec<Option<Placed>>, NetworkError> {
    let alike = alike(skeleton);
    let mut all: Vec<Option<Placed>> = vec![None; skeleton.values.len()];
    // Products by rows, by the values that lie as their results do.
    let mut scores: HashMap<usize, Placed> = HashMap::new();
    for (at, value) in skeleton.values.iter().enumerate() {
        let Operation::MatrixProduct { of: [left, _], matrices } = value.operation else { continue };
        let Matrices { pairs, rows, inner, columns } = matrices;
        let mixes = |scores: &&Placed| {
            let made = scores.matrices;
            (made.pairs, made.rows, made.columns) == (pairs, rows, inner) && columns <= scores.grid.columns
        };
        if let Some(scores) = scores.get(&alike[left]).filter(mixes) {
            all[at] = Some(Placed { matrices, form: RowForm::OfDiagonals, grid: scores.grid });
            continue;
        }
        // As many columns as what is mixed by the result has.
        let mixed = skeleton.values[at..].iter().filter_map(|value| match value.operation {
            Operation::MatrixProduct { of: [left, _], matrices } if alike[left] == alike[at] => Some(matrices),
            _ => None,
        });
        let fits = |m: &Matrices| (m.pairs, m.rows, m.inner) == (pairs, rows, columns);
        let widest = mixed.filter(fits).map(|m| m.columns).fold(inner, usize::max);
        let side = rows.max(columns);
        let least = RowGrid::of([side, 1, widest.max(side / MOST_PARTS)]);
        if least.slots() > slots {
            return Err(NetworkError::Slots { layer: value.name.clone(), needed: least.slots(), slots });
        }
        let grid = RowGrid { pairs: pairs.next_power_of_two().min(slots / least.slots()), ..least };
        let placed = Placed { matrices, form: RowForm::OfRows, grid };
        scores.insert(alike[at], placed);
        all[at] = Some(placed);
    }
    Ok(all)
}

/// For each value the first of those that would lie as it does: elementwise operations keep places, and so do sums with a term
/// that is not moved.
fn alike(skeleton: &Skeleton) -> Vec<usize> {
    super::layout::classes(skeleton, |operation| match operation {
        Operation::Affine { terms, .. } => {
            terms.iter().find(|term| term.is_unmoved()).map(|term| term.of).into_iter().collect()
        }
        _ => Vec::new(),
    })
}

/// A product where each number has ciphertexts of its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct EntryStep {
    pub(super) of: [usize; 2],
    pub(super) matrices: Matrices,
    /// What products are multiplied with.
    pub(super) factor: f64,
}

/// What brings products of numbers in units to the unit of the result.
pub(super) fn factor([left, right]: [usize; 2], at: usize, units: &[Unit]) -> f64 {
    units[left].half * units[right].half / units[at].half
}

/// A product as a step of the program.
#[derive(Debug)]
pub(super) struct MatrixStep {
    pub(super) of: [usize; 2],
    pub(super) product: RowProduct,
    /// What brings the left operand to its places, where it is elsewhere.
    pub(super) left: Option<Packed>,
    /// What skews the right operand; `None` where that moves nothing.
    pub(super) right: Option<Packed>,
    pub(super) groups: usize,
}

/// Levels of a product, and one more where the left operand has to be moved.
pub(super) fn depth(placed: &Placed, left: &Layout) -> usize {
    LEVELS + usize::from(placed.blocks(left).is_none())
}

/// What a step is made of.
pub(super) struct Making<'a> {
    pub(super) network: &'a Arc<Network>,
    pub(super) layouts: &'a [Layout],
    pub(super) units: &'a [Unit],
    /// For the maps of all layers.
    pub(super) room: &'a Room,
    /// Samples that take turns.
    pub(super) turns: usize,
}

impl MatrixStep {
    /// The step of a value.
    pub(super) fn new(placed: &Placed, of: [usize; 2], at: usize, making: &Making<'_>) -> Result<Self, NetworkError> {
        let Making { network, layouts, units, room, turns } = *making;
        let moved = |from: usize, to: &Layout| -> Result<Option<Packed>, NetworkError> {
            let ends = Ends { layouts: [&layouts[from], to], units: [units[from]; 2] };
            match packed(&[], network, ends, (room, turns))? {
                Some(Packed::Factor(_)) => Ok(None),
                Some(packed) => Ok(Some(packed)),
                None => {
                    let layer = network.skeleton.values[at].name.clone();
                    Err(NetworkError::Memory { layer, room: room.bytes })
                }
            }
        };
        let [left, right] = of;
        let blocks = placed.blocks(&layouts[left]);
        let Matrices { rows, inner, columns, .. } = placed.matrices;
        let columns = if placed.is_of_rows() { inner } else { columns };
        let used = [placed.grid.pairs.min(placed.matrices.pairs), rows, columns];
        let product = RowProduct::new(placed.grid, placed.form, used, blocks.unwrap_or(1))?;
        Ok(Self {
            of,
            product: product.times(factor(of, at, units)).interleaved(turns),
            left: if blocks.is_some() { None } else { moved(left, &placed.left())? },
            right: moved(right, &placed.skewed())?,
            groups: placed.groups(),
        })
    }

    /// What moves its operands.
    pub(super) fn maps(&self) -> impl Iterator<Item = &Packed> {
        self.left.iter().chain(&self.right)
    }

    /// Its maps, each with the levels above the step's result at which it is applied.
    pub(super) fn parts(&self) -> impl Iterator<Item = (&Part, usize)> {
        let left = self.left.iter().flat_map(Packed::parts).map(|part| (part, LEVELS + 1));
        left.chain(self.right.iter().flat_map(Packed::parts).map(|part| (part, LEVELS)))
    }
}
