//! Maps between ciphertexts, entry by entry: a network's linear operation has millions of them.
//!
//! For a map on n slots, an entry from slot i to slot t lies on the diagonal `i − t`. Messages repeat, so that diagonals
//! count modulo the input's period. Where the result is the smaller message, its slots up to n hold either repetitions or
//! parts of sums: with g parts an entry lies on the diagonal `i − t` modulo n/g and adds to a slot that is t modulo n/g,
//! and log₂(g) rotations add the parts (the hybrid form of \[JVC18\]).

use super::packed_map::{Fold, PackedMap};
use crate::{ckks::Diagonals, error::Result};
use num_complex::Complex64;

/// How a map lies in its slots. All numbers are powers of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Slots of the map, the larger of both periods.
    pub slots: usize,
    /// Slots until the input's message comes again, and those until the result's does.
    pub periods: [usize; 2],
    /// Parts of sums; 1 where the input's period is the smaller.
    pub folds: usize,
}

impl Frame {
    /// All frames between messages of these periods.
    #[must_use]
    pub fn all(periods: [usize; 2]) -> Vec<Self> {
        let [input, output] = periods;
        let slots = input.max(output);
        let most = if input < output { 1 } else { slots / output };
        let folds = (0..usize::BITS).map(|k| 1 << k).take_while(|&folds| folds <= most);
        folds.map(|folds| Self { slots, periods, folds }).collect()
    }

    /// The diagonal of an entry, and the slot on it, for the repetition of the result's slot.
    #[inline]
    fn entry(self, from: usize, target: usize) -> [usize; 2] {
        let Self { slots, periods: [input, _], folds } = self;
        let n = slots - 1;
        if input < slots {
            // The nearest repetition of what is read.
            let ahead = from.wrapping_sub(target) & (input - 1);
            let ahead = if ahead > input / 2 { ahead.wrapping_sub(input) } else { ahead };
            return [ahead & n, target];
        }
        let diagonal = from.wrapping_sub(target) & (slots / folds - 1);
        [diagonal, from.wrapping_sub(diagonal) & n]
    }

    /// The slots in which a result's slot is computed.
    #[inline]
    fn targets(self, slot: usize) -> impl Iterator<Item = usize> {
        (slot..self.slots / self.folds).step_by(self.periods[1])
    }
}

/// Which diagonals the entries of a map would have in each of several frames.
#[derive(Clone, Debug)]
pub struct FrameChoice {
    frames: Vec<Frame>,
    /// Ciphertexts of the result.
    results: usize,
    /// Words of a pair's bits.
    words: usize,
    /// For each frame a bit for each diagonal of each pair of ciphertexts.
    used: Vec<Vec<u64>>,
}

impl FrameChoice {
    /// A choice among frames for maps between so many ciphertexts.
    ///
    /// # Panics
    /// Without a frame.
    #[must_use]
    pub fn new(frames: Vec<Frame>, [operands, results]: [usize; 2]) -> Self {
        let words = frames[0].slots.div_ceil(64);
        Self { used: vec![vec![0; operands * results * words]; frames.len()], frames, results, words }
    }

    /// Notes an entry between ciphertexts a and b, from slot i to slot t.
    ///
    /// # Panics
    /// Beyond these.
    pub fn add(&mut self, [a, b]: [usize; 2], [i, t]: [usize; 2]) {
        let first = (a * self.results + b) * self.words;
        for (frame, used) in self.frames.iter().zip(&mut self.used) {
            // Repetitions of a result read repetitions of nothing: each has diagonals of its own.
            for target in frame.targets(t) {
                let [diagonal, _] = frame.entry(i, target);
                used[first + diagonal / 64] |= 1 << (diagonal % 64);
            }
        }
    }

    /// The frame with the fewest rotations; of equals the first.
    #[must_use]
    pub fn best(&self) -> Frame {
        let rotations = |(frame, used): (&Frame, &Vec<u64>)| {
            let steps = |pair: &[u64]| match pair.iter().map(|word| word.count_ones() as usize).sum::<usize>() {
                0 => 0,
                count => (4 * count).isqrt() + frame.folds.ilog2() as usize,
            };
            used.chunks_exact(self.words).map(steps).sum::<usize>()
        };
        let costs: Vec<usize> = self.frames.iter().zip(&self.used).map(rotations).collect();
        self.frames[(0..costs.len()).min_by_key(|&at| costs[at]).unwrap_or(0)]
    }
}

/// The diagonals of one pair of ciphertexts, as they are found. A diagonal is looked up by its index and not in a tree.
#[derive(Clone, Debug, Default)]
struct Found {
    /// For each diagonal its place in the list and one, or 0; empty until there is an entry.
    places: Vec<u32>,
    list: Vec<(usize, Vec<Complex64>)>,
}

impl Found {
    #[inline]
    fn diagonal(&mut self, index: usize, slots: usize) -> &mut [Complex64] {
        if self.places.is_empty() {
            self.places.resize(slots, 0);
        }
        let place = &mut self.places[index];
        if *place == 0 {
            self.list.push((index, vec![Complex64::default(); slots]));
            *place = u32::try_from(self.list.len()).expect("a diagonal for each slot at most");
        }
        &mut self.list[*place as usize - 1].1
    }
}

/// Maps between ciphertexts under construction.
#[derive(Clone, Debug)]
pub struct MapEntries {
    frame: Frame,
    /// Ciphertexts of the result.
    results: usize,
    pairs: Vec<Found>,
}

impl MapEntries {
    /// No entry yet, between so many ciphertexts.
    #[must_use]
    pub fn new(frame: Frame, [operands, results]: [usize; 2]) -> Self {
        Self { frame, results, pairs: vec![Found::default(); operands * results] }
    }

    /// Adds to the entry between ciphertexts a and b, from slot i to slot t.
    ///
    /// # Panics
    /// Beyond these.
    pub fn add(&mut self, [a, b]: [usize; 2], [i, t]: [usize; 2], weight: f64) {
        let found = &mut self.pairs[a * self.results + b];
        for target in self.frame.targets(t) {
            let [diagonal, slot] = self.frame.entry(i, target);
            found.diagonal(diagonal, self.frame.slots)[slot].re += weight;
        }
    }

    /// The maps of all pairs that have an entry, by the ciphertexts of operand and result.
    ///
    /// # Errors
    /// [`EncodeError`](crate::error::EncodeError) for more slots than there can be, or a sum that is not finite.
    pub fn maps(self) -> Result<Vec<([usize; 2], PackedMap)>> {
        let Self { frame: Frame { slots, folds, .. }, results, pairs } = self;
        let map = |(pair, found): (usize, Found)| {
            let diagonals = Diagonals::new(slots, found.list.into_iter().map(|(d, values)| (d as i64, values)))?;
            let fold = Fold { stride: slots / folds, count: folds };
            Ok(([pair / results, pair % results], PackedMap { diagonals, fold, bias: Vec::new() }))
        };
        pairs.into_iter().enumerate().filter(|(_, found)| !found.list.is_empty()).map(map).collect()
    }
}
