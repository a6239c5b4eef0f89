//! Maps between ciphertexts, entry by entry: a network's linear operation has millions of them.
//!
//! For a map on n slots, an entry from slot i to slot t lies on the diagonal `i − t`. Messages repeat, so that diagonals
//! count modulo the input's period. Where the result is the smaller message, its slots up to n hold either repetitions or
//! parts of sums: with g parts an entry lies on the diagonal `i − t` modulo n/g and adds to a slot that is t modulo n/g,
//! and log₂(g) rotations add the parts (the hybrid form of \[JVC18\]).

use super::{
    packed_map::{Fold, PackedMap},
    window::{RowOfTap, Window},
};
use crate::{ckks::Diagonals, error::Result};
use std::collections::BTreeMap;

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

/// Where the elements of a value stand.
#[derive(Clone, Copy, Debug)]
pub struct Places<'a> {
    /// The place of each element, counted through all ciphertexts.
    pub of: &'a [u32],
    /// Slots of a ciphertext's message, a power of two.
    pub period: usize,
}

impl Places<'_> {
    /// Ciphertext and slot of an element.
    ///
    /// # Panics
    /// For an element beyond the last.
    #[inline]
    #[must_use]
    pub fn at(self, element: usize) -> [usize; 2] {
        let place = self.of[element] as usize;
        [place >> self.period.trailing_zeros(), place & (self.period - 1)]
    }
}

/// A convolution between two values: its filters, and a factor for each of its results, all 1 where there are none.
#[derive(Clone, Copy, Debug)]
pub struct FilterEntries<'a> {
    /// How they slide.
    pub window: &'a Window,
    /// Result channels × channels of a group × taps.
    pub weights: &'a [f64],
    /// Of each result.
    pub factors: &'a [f64],
    /// Where input and result stand.
    pub places: [Places<'a>; 2],
}

impl FilterEntries<'_> {
    /// The weight of a tap for its k-th result.
    #[inline]
    fn weight(&self, row: RowOfTap, k: usize) -> f64 {
        self.factors.get(row.out + k).map_or(row.weight, |factor| factor * row.weight)
    }

    /// The pair of ciphertexts and the slots of a tap's k-th result.
    #[inline]
    fn entry(&self, row: RowOfTap, k: usize) -> [[usize; 2]; 2] {
        let [input, output] = self.places;
        let ([from, slot], [to, target]) = (input.at(row.element + k * row.stride), output.at(row.out + k));
        [[from, to], [slot, target]]
    }

    /// Whether all results of a tap's row lie in one ciphertext each, and as far from what they read: on one diagonal.
    fn is_straight(&self, row: RowOfTap) -> bool {
        let [input, output] = self.places;
        let read = input.of[row.element..].iter().step_by(row.stride).take(row.count);
        let made = &output.of[row.out..][..row.count];
        let (first, place) = (made[0], input.of[row.element]);
        let [a, b] = [output.period, input.period].map(usize::trailing_zeros);
        read.zip(made).fold(true, |all, (read, made)| {
            all & (made.wrapping_sub(*read) == first.wrapping_sub(place))
                & (*made >> a == first >> a)
                & (*read >> b == place >> b)
        })
    }
}

/// How many diagonals the entries of a map would have in each of several frames.
///
/// A frame with g parts computes the result's slot t in all slots of n/g that are t modulo the result's period p. So an
/// entry from slot i takes all diagonals of n/g that are i − t modulo p, whatever g is: it is enough to count these
/// remainders.
#[derive(Clone, Debug)]
pub struct FrameChoice {
    frames: Vec<Frame>,
    /// By the pair of ciphertexts: a bit for each remainder. Most pairs of a large value have no entry.
    used: BTreeMap<[usize; 2], Vec<u64>>,
}

impl FrameChoice {
    /// A choice among frames of one map, whose result has the smaller period.
    ///
    /// # Panics
    /// Without a frame, or for several where the result has the larger period.
    #[must_use]
    pub fn new(frames: Vec<Frame>) -> Self {
        let [input, output] = frames[0].periods;
        assert!(frames.len() == 1 || output <= input, "only sums have parts");
        Self { frames, used: BTreeMap::new() }
    }

    /// Notes an entry between a pair of ciphertexts, from slot i to slot t.
    #[inline]
    pub fn add(&mut self, pair: [usize; 2], [i, t]: [usize; 2]) {
        let period = self.frames[0].periods[1];
        let used = self.used.entry(pair).or_insert_with(|| vec![0; period.div_ceil(64)]);
        let remainder = i.wrapping_sub(t) & (period - 1);
        used[remainder / 64] |= 1 << (remainder % 64);
    }

    /// The number of diagonals between a pair of ciphertexts in a frame, by its number.
    fn diagonals(&self, used: &[u64], at: usize) -> usize {
        let Frame { slots, folds, periods: [_, output] } = self.frames[at];
        used.iter().map(|word| word.count_ones() as usize).sum::<usize>() * (slots / folds / output)
    }

    /// Notes the entries of one filter of a convolution.
    ///
    /// # Panics
    /// For sizes that do not go together.
    pub fn add_filter(&mut self, filters: &FilterEntries<'_>, filter: usize) {
        filters.window.each_of_filter(filters.weights, filter, |row| {
            let count = if filters.is_straight(row) { 1 } else { row.count };
            for k in 0..count {
                let [pair, slots] = filters.entry(row, k);
                self.add(pair, slots);
            }
        });
    }

    /// The frame with the fewest rotations; of equals the first.
    #[must_use]
    pub fn best(&self) -> Frame {
        let rotations = |at: usize| {
            let steps = |used: &Vec<u64>| match self.diagonals(used, at) {
                0 => 0,
                count => (4 * count).isqrt() + self.frames[at].folds.ilog2() as usize,
            };
            self.used.values().map(steps).sum::<usize>()
        };
        self.frames[(0..self.frames.len()).min_by_key(|&at| rotations(at)).unwrap_or(0)]
    }
}

/// The diagonals of one pair of ciphertexts, as they are found. A diagonal is looked up by its index and not in a tree.
#[derive(Clone, Debug, Default)]
struct Found {
    /// For each diagonal its place in the list and one, or 0.
    places: Vec<u32>,
    list: Vec<(usize, Sums)>,
}

impl Found {
    /// The sums of a diagonal.
    #[inline]
    fn sums(&mut self, diagonal: usize) -> &mut Sums {
        let Self { places, list } = self;
        if places[diagonal] == 0 {
            list.push((diagonal, Sums::new(list.len(), places.len())));
            places[diagonal] = u32::try_from(list.len()).expect("a diagonal for each slot at most");
        }
        &mut list[places[diagonal] as usize - 1].1
    }
}

/// Sums on one diagonal. A row of a map adds to the same slot of hundreds of diagonals, which would all fall into one set of
/// a cache if they began alike: each begins a line later than the one before.
#[derive(Clone, Debug)]
struct Sums {
    values: Vec<f64>,
    /// Place of slot 0.
    first: usize,
}

impl Sums {
    fn new(number: usize, slots: usize) -> Self {
        const LINE: usize = 8;
        const SETS: usize = 64;
        let first = number % SETS * LINE;
        // Written here: pages of zeros that are read first cost a second fault when they are written.
        let mut values = Vec::with_capacity(first + slots);
        values.resize(first + slots, 0.0);
        Self { values, first }
    }

    fn into_slots(mut self) -> Vec<f64> {
        self.values.drain(..self.first);
        self.values.shrink_to_fit();
        self.values
    }
}

/// Maps between ciphertexts under construction.
#[derive(Clone, Debug)]
pub struct MapEntries {
    frame: Frame,
    /// The place of a pair of ciphertexts in the list.
    places: BTreeMap<[usize; 2], usize>,
    pairs: Vec<([usize; 2], Found)>,
    /// The place of the last entry's pair: most entries have that of the one before.
    last: usize,
    diagonals: usize,
}

impl MapEntries {
    /// No entry yet.
    #[must_use]
    pub fn new(frame: Frame) -> Self {
        Self { frame, places: BTreeMap::new(), pairs: Vec::new(), last: 0, diagonals: 0 }
    }

    /// Bytes of the numbers so far.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        (self.diagonals * self.frame.slots * size_of::<f64>()) as u64
    }

    /// Adds to the entry between a pair of ciphertexts, from slot i to slot t.
    pub fn add(&mut self, pair: [usize; 2], [i, t]: [usize; 2], weight: f64) {
        let frame = self.frame;
        let found = self.found(pair);
        let before = found.list.len();
        for target in frame.targets(t) {
            let [diagonal, slot] = frame.entry(i, target);
            let Sums { values, first } = found.sums(diagonal);
            values[*first + slot] += weight;
        }
        let more = found.list.len() - before;
        self.diagonals += more;
    }

    /// What was found of a pair.
    #[inline]
    fn found(&mut self, pair: [usize; 2]) -> &mut Found {
        let Self { frame, places, pairs, last, .. } = self;
        if pairs.get(*last).is_none_or(|(other, _)| *other != pair) {
            *last = *places.entry(pair).or_insert(pairs.len());
            if *last == pairs.len() {
                pairs.push((pair, Found { places: vec![0; frame.slots], list: Vec::new() }));
            }
        }
        &mut pairs[*last].1
    }

    /// Adds a tap's row that is straight: its entries lie on one diagonal, for each repetition of the result.
    fn add_row(&mut self, filters: &FilterEntries<'_>, row: RowOfTap, factor: f64) {
        let frame = self.frame;
        let ([pair, [i, t]], made) = (filters.entry(row, 0), &filters.places[1].of[row.out..][..row.count]);
        let (found, place) = (self.found(pair), made[0] as usize);
        let before = found.list.len();
        for target in frame.targets(t) {
            let [diagonal, slot] = frame.entry(i, target);
            let Sums { values, first } = found.sums(diagonal);
            let values = &mut values[*first..];
            for (k, own) in made.iter().enumerate() {
                let slot = slot.wrapping_add((*own as usize).wrapping_sub(place)) & (frame.slots - 1);
                values[slot] += filters.weight(row, k) * factor;
            }
        }
        let more = found.list.len() - before;
        self.diagonals += more;
    }

    /// Adds the entries of one filter of a convolution, times a factor.
    ///
    /// # Panics
    /// For sizes that do not go together.
    pub fn add_filter(&mut self, filters: &FilterEntries<'_>, filter: usize, factor: f64) {
        filters.window.each_of_filter(filters.weights, filter, |row| {
            if filters.is_straight(row) {
                return self.add_row(filters, row, factor);
            }
            for k in 0..row.count {
                let [pair, slots] = filters.entry(row, k);
                self.add(pair, slots, filters.weight(row, k) * factor);
            }
        });
    }

    /// The maps of all pairs that have an entry, by the ciphertexts of operand and result, in their order.
    ///
    /// # Errors
    /// [`EncodeError`](crate::error::EncodeError) for more slots than there can be, or a sum that is not finite.
    pub fn maps(self) -> Result<Vec<([usize; 2], PackedMap)>> {
        let Self { frame: Frame { slots, folds, .. }, mut pairs, .. } = self;
        pairs.sort_unstable_by_key(|(pair, _)| *pair);
        let map = |(pair, found): ([usize; 2], Found)| {
            let diagonals =
                Diagonals::real(slots, found.list.into_iter().map(|(d, sums)| (d as i64, sums.into_slots())))?;
            let fold = Fold { stride: slots / folds, count: folds };
            Ok((pair, PackedMap { diagonals, fold, bias: Vec::new() }))
        };
        pairs.into_iter().filter(|(_, found)| !found.list.is_empty()).map(map).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The diagonals that are counted are those that a map has.
    #[test]
    fn a_choice_counts_the_diagonals_of_maps() {
        for (periods, entries) in [
            ([64, 8], &[[3, 1], [60, 7], [11, 1], [5, 5], [5, 4]][..]),
            ([128, 128], &[[3, 1], [60, 7], [127, 0]]),
            ([32, 1], &[[0, 0], [31, 0], [7, 0]]),
            ([64, 32], &[[63, 0], [0, 31], [33, 1], [1, 1]]),
        ] {
            let frames = Frame::all(periods);
            let mut choice = FrameChoice::new(frames.clone());
            entries.iter().for_each(|&slots| choice.add([0, 0], slots));
            for (at, &frame) in frames.iter().enumerate() {
                let mut map = MapEntries::new(frame);
                entries.iter().for_each(|&slots| map.add([0, 0], slots, 1.0));
                let made = map.maps().unwrap()[0].1.diagonals.count();
                assert_eq!(choice.diagonals(&choice.used[&[0, 0]], at), made, "{frame:?}");
            }
        }
    }
}
