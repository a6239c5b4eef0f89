//! Where the numbers of values lie in slots, and in which ciphertexts.
//!
//! A layout is a table: element by element a place. Places are counted through all ciphertexts of a value, which have
//! equally many slots and repeat their message in all others. So reshaping, transposing or cutting costs nothing where the
//! next map reads the elements from where they are.
//!
//! Images lie in rasters whose sides are powers of two. A stride leaves gaps in the raster, which other channels fill
//! (multiplexed packing \[LLL22\]). Values that are multiplied with each other, and what functions make of values, lie
//! alike.

use super::skeleton::{Operation, Skeleton, Term, Value};
use limbwise::ckks::tensor::Places;
use std::sync::Arc;

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
        Self { places: Arc::new(places), period, count, raster }
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
        Self::of(places, blocks * unit, slots, Some(raster))
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

/// The layouts of all values of a network, for ciphertexts of so many slots.
pub fn layouts(skeleton: &Skeleton, slots: usize) -> Vec<Layout> {
    let class = classes(skeleton);
    let mut of_class: Vec<Option<Layout>> = vec![None; skeleton.values.len()];
    let mut all: Vec<Layout> = Vec::new();
    for (at, value) in skeleton.values.iter().enumerate() {
        let layout = match &of_class[class[at]] {
            Some(layout) => layout.clone(),
            None => chosen(value, &all, slots),
        };
        of_class[class[at]] = Some(layout.clone());
        all.push(layout);
    }
    all
}

/// For each value the first of those that must lie as it does.
fn classes(skeleton: &Skeleton) -> Vec<usize> {
    let mut class: Vec<usize> = (0..skeleton.values.len()).collect();
    let find = |class: &[usize], mut at: usize| {
        while class[at] != at {
            at = class[at];
        }
        at
    };
    for (at, value) in skeleton.values.iter().enumerate() {
        if matches!(value.operation, Operation::Input | Operation::Affine { .. }) {
            continue;
        }
        for of in value.operation.operands() {
            let (a, b) = (find(&class, at), find(&class, of));
            class[a.max(b)] = a.min(b);
        }
    }
    (0..class.len()).map(|at| find(&class, at)).collect()
}

fn chosen(value: &Value, all: &[Layout], slots: usize) -> Layout {
    let Operation::Affine { terms, .. } = &value.operation else { return fresh(value, slots) };
    // What is added as it is should not move.
    let unmoved = |term: &&Term| term.chain.iter().all(|map| matches!(map, super::linear::Linear::Factor { .. }));
    if let Some(term) = terms.iter().find(unmoved) {
        return all[term.of].clone();
    }
    let strided = |term: &Term| {
        let raster = all[term.of].raster?;
        let shape @ [_, height, width] = image(&value.shape).or_else(|| flattened(value.size(), term))?;
        let strides = term.chain.iter().map(super::linear::Linear::strides);
        let [down, across] = strides.fold(raster.gaps, |gaps, strides| [gaps[0] * strides[0], gaps[1] * strides[1]]);
        let [down, across] = [down, across].map(usize::next_power_of_two);
        let fits = |[down, across]: &[usize; 2]| {
            (1..=raster.sides[0]).contains(&(height * down)) && (1..=raster.sides[1]).contains(&(width * across))
        };
        let gaps = [[down, across], [down / 2, across / 2]].into_iter().find(fits)?;
        Some(Layout::image(shape, Raster { gaps, ..raster }, slots))
    };
    terms.iter().find_map(strided).unwrap_or_else(|| fresh(value, slots))
}

/// The image that a list of so many numbers was before it was flattened: the results of the last window lie beside each
/// other.
fn flattened(size: usize, term: &Term) -> Option<[usize; 3]> {
    let [height, width] = term.chain.iter().rev().find_map(super::linear::Linear::windows)?;
    (height * width > 1 && size.is_multiple_of(height * width)).then(|| [size / (height * width), height, width])
}

/// The layout of what does not come from a raster.
fn fresh(value: &Value, slots: usize) -> Layout {
    match image(&value.shape) {
        Some(shape @ [_, height, width]) => {
            let raster = Raster { gaps: [1, 1], sides: [height.next_power_of_two(), width.next_power_of_two()] };
            Layout::image(shape, raster, slots)
        }
        None => Layout::dense(value.size(), slots),
    }
}
