//! Where the numbers of values lie in slots, and in which ciphertexts.
//!
//! A layout is a table: element by element a place. Places are counted through all ciphertexts of a value, which have
//! equally many slots and repeat their message in all others. So reshaping, transposing or cutting costs nothing where the
//! next map reads the elements from where they are.
//!
//! Images lie in rasters whose sides are powers of two. A stride leaves gaps in the raster, which other channels fill
//! (multiplexed packing \[LLL22\]). Values that are multiplied with each other, and what functions make of values, lie
//! alike.

use super::{
    linear::{Linear, chain_row},
    matrices::Placed,
    skeleton::{Operation, Skeleton, Term, Value},
};
use limbwise::ckks::tensor::Places;
use std::{collections::BTreeMap, sync::Arc};

#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// The place of each element.
    places: Arc<Vec<u32>>,
    /// Slots of a message, a power of two.
    pub period: usize,
    /// Ciphertexts that it takes.
    pub count: usize,
    /// For images.
    raster: Option<Raster>,
    /// For matrices that lie row after row.
    rows: Option<Rows>,
    /// Whether it is that of a matrix by diagonals.
    by_diagonals: bool,
}

/// Rows of a matrix in slots, or of several that share the slots of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rows {
    /// A power of two.
    pub(super) count: usize,
    /// Slots from one to the next, a power of two.
    pub(super) pitch: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Raster {
    /// Slots from a row to the next, in rows of the raster, and from a column to the next.
    gaps: [usize; 2],
    sides: [usize; 2],
}

impl Layout {
    /// Elements one after another.
    fn dense(size: usize, slots: usize) -> Self {
        let places = (0..size).map(place).collect();
        Self::of(places, size.next_power_of_two(), slots, None)
    }

    fn of(places: Vec<u32>, length: usize, slots: usize, raster: Option<Raster>) -> Self {
        let period = length.min(slots);
        // Ciphertexts behind the last element are left out.
        let count = places.iter().max().map_or(1, |&last| last as usize / period + 1);
        Self { places: Arc::new(places), period, count, raster, rows: None, by_diagonals: false }
    }

    /// Elements at places of so many ciphertexts, in rows or by diagonals.
    pub(super) fn placed(
        places: impl Iterator<Item = usize>,
        (period, count): (usize, usize),
        rows: Option<Rows>,
    ) -> Self {
        let (places, by_diagonals) = (Arc::new(places.map(place).collect()), rows.is_none());
        Self { places, period, count, raster: None, rows, by_diagonals }
    }

    /// Each sum at the first place of what is summed.
    fn of_sums(&self, chain: &[Linear], size: usize, slots: usize) -> Self {
        let first = |out: usize| {
            let mut first = u32::MAX;
            chain_row(chain, &[], out, &mut |at, _| first = first.min(self.places[at]));
            first
        };
        let places: Vec<u32> = (0..size).map(first).collect();
        let length = places.iter().max().map_or(1, |&last| (last as usize + 1).next_power_of_two());
        Self::of(places, length, slots, None)
    }

    /// Rows of numbers where those of another matrix lie: columns that a row has no room for lie behind all rows.
    fn in_rows([count, columns]: [usize; 2], rows: Rows, slots: usize) -> Self {
        let Rows { count: height, pitch } = rows;
        let at = |row: usize, column: usize| column / pitch * height * pitch + row * pitch + column % pitch;
        let places = (0..count).flat_map(|row| (0..columns).map(move |column| place(at(row, column)))).collect();
        let length = height * pitch * columns.div_ceil(pitch).next_power_of_two();
        Self { rows: Some(rows), ..Self::of(places, length, slots, None) }
    }

    /// The same places in ciphertexts of a longer period, and so in fewer.
    pub(super) fn in_periods_of(self, period: usize) -> Self {
        let count = (self.count * self.period).div_ceil(period.max(self.period));
        Self { count, period: period.max(self.period), ..self }
    }

    /// In as few ciphertexts as they fit into without moving.
    fn packed(self, slots: usize) -> Self {
        let all = self.period * self.count.next_power_of_two();
        self.in_periods_of(all.min(slots))
    }

    /// Channels in blocks of rasters, as many a block as the gaps have room for.
    fn image([channels, height, width]: [usize; 3], raster: Raster, slots: usize) -> Self {
        let Raster { gaps: [down, across], sides: [rows, pitch] } = raster;
        let (unit, each) = (rows * pitch, down * across);
        let mut places = Vec::with_capacity(channels * height * width);
        for channel in 0..channels {
            let (block, within) = (channel / each, channel % each);
            let first = block * unit + within / across * pitch + within % across;
            for y in 0..height {
                places.extend((0..width).map(|x| place(first + y * down * pitch + x * across)));
            }
        }
        let blocks = channels.div_ceil(each).next_power_of_two();
        let is_matrix = channels == 1 && each == 1;
        let own = Rows { count: rows, pitch };
        Self { rows: is_matrix.then_some(own), ..Self::of(places, blocks * unit, slots, Some(raster)) }
    }

    /// Elements of a value.
    pub fn size(&self) -> usize {
        self.places.len()
    }

    /// The places of all elements.
    pub fn places(&self) -> Places<'_> {
        Places { of: &self.places, period: self.period }
    }

    /// Ciphertext and slot of an element.
    pub fn at(&self, element: usize) -> [usize; 2] {
        self.places().at(element)
    }

    /// Whether two values can be added slot by slot.
    pub fn same(&self, other: &Self) -> bool {
        let places = Arc::ptr_eq(&self.places, &other.places) || self.places == other.places;
        places && self.period == other.period && self.count == other.count
    }
}

fn place(at: usize) -> u32 {
    u32::try_from(at).expect("networks have fewer elements than 2^32")
}

/// Channels, rows and columns, if that is what the sides are.
fn image(shape: &[usize]) -> Option<[usize; 3]> {
    let first = shape.iter().position(|&side| side != 1).unwrap_or(0).min(shape.len().saturating_sub(3));
    match shape[first..] {
        [channels, height, width] if height * width > 1 => Some([channels, height, width]),
        _ => None,
    }
}

/// The layouts of all values of a network, for ciphertexts of so many slots. Products of encrypted matrices and their left
/// operands lie as these products are planned.
pub(super) fn layouts(skeleton: &Skeleton, products: &[Option<Placed>], slots: usize) -> Vec<Layout> {
    let class = classes(skeleton, |_| Vec::new());
    let mut of_class: Vec<Option<Layout>> = vec![None; skeleton.values.len()];
    let planned = |value: &Value, at: usize| Some((value.operation.operands(), products.get(at)?.as_ref()?));
    // A matrix by diagonals is the left operand of no other product than one that was planned for it.
    for (at, value) in skeleton.values.iter().enumerate() {
        let Some((of, placed)) = planned(value, at) else { continue };
        of_class[class[at]] = Some(placed.result());
        if placed.is_of_rows() {
            of_class[class[of[0]]].get_or_insert_with(|| placed.left());
        }
    }
    let mut wished: Vec<Option<Layout>> = vec![None; skeleton.values.len()];
    for (at, value) in skeleton.values.iter().enumerate() {
        let Some((of, placed)) = planned(value, at) else { continue };
        wished[class[of[1]]].get_or_insert_with(|| placed.right());
    }
    let mut pitches = BTreeMap::new();
    for Rows { count, pitch } in products.iter().flatten().map(Placed::rows) {
        let widest: &mut usize = pitches.entry(count).or_default();
        *widest = pitch.max(*widest);
    }
    let choice = Choice { skeleton, slots, pitches };
    let mut all: Vec<Layout> = Vec::new();
    for (at, &own) in class.iter().enumerate() {
        let layout = of_class[own].get_or_insert_with(|| choice.of(at, &all, wished[own].take()));
        all.push(layout.clone());
    }
    all
}

/// For each value the first of those that must lie as it does, or as more operands than those of elementwise operations do.
pub(super) fn classes(skeleton: &Skeleton, more: impl Fn(&Operation) -> Vec<usize>) -> Vec<usize> {
    let mut class: Vec<usize> = (0..skeleton.values.len()).collect();
    let find = |class: &[usize], mut at: usize| {
        while class[at] != at {
            at = class[at];
        }
        at
    };
    for (at, value) in skeleton.values.iter().enumerate() {
        let alike = if value.operation.is_elementwise() { value.operation.operands() } else { more(&value.operation) };
        for of in alike {
            let (a, b) = (find(&class, at), find(&class, of));
            class[a.max(b)] = a.min(b);
        }
    }
    (0..class.len()).map(|at| find(&class, at)).collect()
}

/// What the layout of a value is chosen by, where no product of encrypted matrices decides.
struct Choice<'s> {
    skeleton: &'s Skeleton,
    slots: usize,
    /// Slots of a row in the products of so many rows.
    pitches: BTreeMap<usize, usize>,
}

impl Choice<'_> {
    /// The layout of a value, behind those before it. A class may wish for one.
    fn of(&self, at: usize, all: &[Layout], wished: Option<Layout>) -> Layout {
        let (value, slots) = (&self.skeleton.values[at], self.slots);
        let Operation::Affine { terms, .. } = &value.operation else {
            let patches = || if value.operation == Operation::Input { self.patches(at) } else { None };
            return wished.or_else(patches).unwrap_or_else(|| self.fresh(value));
        };
        // What is added as it is should not move.
        if let Some(term) = terms.iter().find(|term| term.is_unmoved()) {
            return all[term.of].clone().packed(slots);
        }
        if let Some(wished) = wished {
            return wished;
        }
        // Sums over columns lie in their rows, where those of a softmax are spread again.
        let summed = |term: &Term| {
            let sums = |map: &Linear| matches!(map, Linear::Sum { .. } | Linear::Factor { .. });
            let is_sum = all[term.of].by_diagonals && term.chain.iter().all(sums);
            is_sum.then(|| all[term.of].of_sums(&term.chain, value.size(), slots))
        };
        if let Some(layout) = terms.iter().find_map(summed) {
            return layout;
        }
        // What is a function of each row lies where the row does.
        let by_rows = |term: &Term| {
            let (rows, sides) = (all[term.of].rows?, matrix(&value.shape)?);
            let keeps = |map: &Linear| matches!(map, Linear::Dense { lead: 2.., trail: 1, .. });
            let is_alike = sides[0].next_power_of_two() == rows.count && term.chain.iter().any(keeps);
            is_alike.then(|| Layout::in_rows(sides, rows, slots))
        };
        let strided = |term: &Term| {
            let raster = all[term.of].raster?;
            let shape @ [_, height, width] = image(&value.shape).or_else(|| flattened(value.size(), term))?;
            let strides = term.chain.iter().map(Linear::strides);
            let [down, across] =
                strides.fold(raster.gaps, |gaps, strides| [gaps[0] * strides[0], gaps[1] * strides[1]]);
            let [down, across] = [down, across].map(usize::next_power_of_two);
            let fits = |[down, across]: &[usize; 2]| {
                (1..=raster.sides[0]).contains(&(height * down)) && (1..=raster.sides[1]).contains(&(width * across))
            };
            let gaps = [[down, across], [down / 2, across / 2]].into_iter().find(fits)?;
            Some(Layout::image(shape, Raster { gaps, ..raster }, slots))
        };
        let derived = terms.iter().find_map(by_rows).or_else(|| terms.iter().find_map(strided));
        derived.unwrap_or_else(|| self.fresh(value))
    }

    /// The layout of what does not come from a raster.
    fn fresh(&self, value: &Value) -> Layout {
        if let Some((sides, rows)) = matrix(&value.shape).and_then(|sides| Some((sides, self.rows(sides)?))) {
            return Layout::in_rows(sides, rows, self.slots);
        }
        match image(&value.shape) {
            Some(shape @ [_, height, width]) => {
                let raster = Raster { gaps: [1, 1], sides: [height.next_power_of_two(), width.next_power_of_two()] };
                Layout::image(shape, raster, self.slots)
            }
            None => Layout::dense(value.size(), self.slots),
        }
    }

    /// The rows of a matrix that products of encrypted matrices read, or give: as theirs are.
    fn rows(&self, [rows, columns]: [usize; 2]) -> Option<Rows> {
        let count = rows.next_power_of_two();
        let widest = columns.next_power_of_two().max(*self.pitches.get(&count)?);
        Some(Rows { count, pitch: widest.min(self.slots / count) })
    }

    /// Where an image lies best that is read patch by patch, each of which becomes a row: a patch in a row as well.
    fn patches(&self, at: usize) -> Option<Layout> {
        let of_value = |value: &Value| {
            let Operation::Affine { terms, .. } = &value.operation else { return None };
            let read = |term: &Term| match term.chain.first() {
                Some(Linear::Convolution { window, .. }) if term.of == at => Some((window.patches()?, window.clone())),
                _ => None,
            };
            let ([count, size], window) = terms.iter().find_map(read)?;
            let [rows, columns] = matrix(&value.shape)?;
            // A few rows beside those of patches, as that of a class, leave them as they are.
            let height = rows.next_power_of_two();
            if columns != window.channels[1] || rows < count || height > 2 * count.next_power_of_two() {
                return None;
            }
            let usual = Rows { count: height, pitch: columns.next_power_of_two() };
            let own = self.rows([rows, columns]).unwrap_or(usual);
            let places = Layout::in_rows([count, size], own, self.slots);
            let of = |element: usize| {
                let [patch, within] = window.patch_of(element);
                places.places[patch * size + within] as usize
            };
            let elements = (0..count * size).map(of);
            Some(Layout::placed(elements, (places.period, places.count), Some(own)))
        };
        self.skeleton.values.iter().find_map(of_value)
    }
}

/// Rows and columns, if that is what the sides are.
fn matrix(shape: &[usize]) -> Option<[usize; 2]> {
    let first = shape.iter().position(|&side| side != 1).unwrap_or(0);
    <[usize; 2]>::try_from(&shape[first..]).ok()
}

/// The image that a list of so many numbers was before it was flattened: the results of the last window lie beside each
/// other.
fn flattened(size: usize, term: &Term) -> Option<[usize; 3]> {
    let [height, width] = term.chain.iter().rev().find_map(Linear::windows)?;
    (height * width > 1 && size.is_multiple_of(height * width)).then(|| [size / (height * width), height, width])
}
