//! Repetition of items in slots, which determines the number of diagonals of a map.
//!
//! A map from n items to m has an n×m matrix of blocks. If every item occurs once, the map has n + m − 1 diagonals of
//! blocks. If the items repeat with period p ≥ n, any p neighboring places hold all of them, and p diagonals are
//! enough. If there is room for g partial results, s = p/g diagonals are enough: part t of an output reads the places
//! [t·w + i, t·w + i + s), where the step w ≥ m is s modulo p, so that the parts together read every item once. Then
//! log₂(g) rotations add the parts. With w = s = m this is the hybrid form of \[JVC18\].

use num_complex::Complex64;

/// Items of `unit` slots each: place t starts at slot t·unit and holds item t mod `period`, or zeros if there are fewer
/// items. Slots after the last place are undefined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// Number of different items, at least 1.
    pub items: usize,
    /// Slots per item.
    pub unit: usize,
    /// Places between repetitions of an item, at least `items`.
    pub period: usize,
    /// Number of filled places.
    pub extent: usize,
}

impl Spread {
    /// Each item once, without repetition.
    #[must_use]
    pub fn once(items: usize, unit: usize) -> Self {
        Self { items, unit, period: items, extent: items }
    }

    /// Slots up to and including the last place.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.unit * self.extent
    }

    /// The item at a place.
    pub(super) fn item(&self, place: usize) -> Option<usize> {
        Some(place % self.period).filter(|&item| item < self.items)
    }

    /// Fills every place with `value(item, offset)`.
    pub(super) fn pack(&self, slots: usize, value: impl Fn(usize, usize) -> f64) -> Vec<Complex64> {
        let mut packed = vec![Complex64::default(); slots];
        for place in 0..self.extent {
            let Some(item) = self.item(place) else { continue };
            for offset in 0..self.unit {
                packed[place * self.unit + offset] = value(item, offset).into();
            }
        }
        packed
    }

    /// Whether the places continue across the end of the slots.
    fn is_cyclic(&self, slots: usize) -> bool {
        self.slots() == slots && self.extent.is_multiple_of(self.period)
    }

    /// The repetition of these items that gives a map to `places` places the fewest rotations; each diagonal of blocks
    /// has `taps` diagonals. Without room for repetition, each item once.
    pub(super) fn for_map(items: usize, unit: usize, places: usize, taps: usize, slots: usize) -> Self {
        let counts = (0..usize::BITS).map(|k| 1usize << k).take_while(|&g| g < 2 * items);
        let repeated = counts.filter_map(|count| {
            let period = items.div_ceil(count) * count;
            let folds = Folds::new(count, period, places);
            let reach = Self { items, unit, period, extent: folds.reach(places) };
            let round = Self { extent: slots / unit, ..reach };
            let spread = [reach, round].into_iter().find(|s| folds.fits(s, places, slots))?;
            Some((folds.rotations(taps), spread))
        });
        let once = (Folds::without(items, places, taps), Self::once(items, unit));
        let all: Vec<(usize, Self)> = std::iter::once(once).chain(repeated).collect();
        // Among equal counts the last one has the fewest diagonals.
        all.into_iter().rev().min_by_key(|(rotations, _)| *rotations).expect("each item once").1
    }
}

/// The partition of the sum over items into parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Folds {
    /// Number of parts, a power of two.
    pub(super) count: usize,
    /// Diagonals of blocks.
    pub(super) width: usize,
    /// Places between neighboring partial results.
    pub(super) step: usize,
}

impl Folds {
    fn new(count: usize, period: usize, places: usize) -> Self {
        let width = period / count;
        let step = if count == 1 { 0 } else { width + places.saturating_sub(width).next_multiple_of(period) };
        Self { count, width, step }
    }

    /// The partition with the fewest rotations for a map from a given spread; `None` if reading each item from its
    /// first place is better.
    pub(super) fn best(input: &Spread, places: usize, taps: usize, slots: usize) -> Option<Self> {
        let counts = (0..usize::BITS).map(|k| 1usize << k).take_while(|&g| g <= input.period);
        let all = counts.filter(|g| input.period.is_multiple_of(*g)).map(|g| Self::new(g, input.period, places));
        let fitting: Vec<Self> = all.filter(|folds| folds.fits(input, places, slots)).collect();
        let best = fitting.into_iter().rev().min_by_key(|folds| folds.rotations(taps))?;
        (best.rotations(taps) <= Self::without(input.items, places, taps)).then_some(best)
    }

    /// Number of places written.
    fn room(&self, places: usize) -> usize {
        (self.count - 1) * self.step + places
    }

    /// Number of places read.
    fn reach(&self, places: usize) -> usize {
        self.room(places) + self.width - 1
    }

    fn fits(&self, input: &Spread, places: usize, slots: usize) -> bool {
        let reached = self.reach(places) <= input.extent || input.is_cyclic(slots);
        reached && input.slots() <= slots && self.room(places) * input.unit <= slots
    }

    /// Rotations: baby and giant steps, then one per doubling of the parts.
    fn rotations(&self, taps: usize) -> usize {
        let doublings = usize::try_from(self.count.ilog2()).expect("below 64");
        baby_and_giant_steps(self.width * taps) + doublings
    }

    /// Rotations without repetition.
    fn without(items: usize, places: usize, taps: usize) -> usize {
        baby_and_giant_steps((items + places - 1) * taps)
    }
}

/// The least b + g − 2 for b·g ≥ n: `⌈2√n⌉ − 2`.
fn baby_and_giant_steps(diagonals: usize) -> usize {
    let square = 4 * diagonals;
    let root = square.isqrt();
    root + usize::from(root * root < square) - 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_the_fewest() {
        for n in 1..200usize {
            let fewest = (1..=n).map(|b| b + n.div_ceil(b) - 2).min();
            assert_eq!(Some(baby_and_giant_steps(n)), fewest, "{n}");
        }
    }

    #[test]
    fn each_output_sees_every_item_once() {
        for (items, places) in [(1, 1), (7, 1), (1, 9), (24, 10), (16, 16), (5, 17), (100, 3)] {
            let spread = Spread::for_map(items, 1, places, 1, 256);
            let folds = Folds::best(&spread, places, 1, 256).unwrap();
            for output in 0..places {
                let seen = (0..folds.count).flat_map(|t| (0..folds.width).map(move |d| output + t * folds.step + d));
                let mut seen: Vec<usize> =
                    seen.inspect(|&place| assert!(place < spread.extent)).map(|p| p % spread.period).collect();
                seen.sort_unstable();
                assert_eq!(seen, (0..spread.period).collect::<Vec<_>>(), "{items} to {places}");
            }
        }
    }
}
