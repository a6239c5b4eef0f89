//! Repetition of items in slots, which determines the number of diagonals of a map.
//!
//! A map from n items to m has an n×m matrix of blocks. If every item occurs once, the map has n + m − 1 diagonals of
//! blocks. If the items repeat with period p ≥ n, any p neighboring places hold all of them, and p diagonals are
//! enough. If there is room for g partial results, s = p/g diagonals are enough: part t of an output reads the places
//! [t·w + i, t·w + i + s), where the step w ≥ m is s times a number without a divisor in common with g, so that the
//! parts together read every item once. Then log₂(g) rotations add the parts. With w = s = m this is the hybrid form of
//! \[JVC18\].
//!
//! The results repeat with period w if the parts do: part t of output i is part t − 1 of the output's repetition at
//! i + w, because the g parts from any one on read every item once. So a result that the next map can take with few
//! diagonals costs nothing but places that are filled.

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

    /// The same repetition continued to the end of the slots, which gives a result room to repeat.
    pub(super) fn continued(self, slots: usize) -> Self {
        Self { extent: slots / self.unit, ..self }
    }

    /// How the results of a map from these items to `items` items, of `taps` diagonals for each diagonal of blocks,
    /// repeat at no cost. Each once where nothing repeats.
    #[must_use]
    pub fn of_result(&self, items: usize, taps: usize, slots: usize) -> Self {
        let once = Self::once(items, self.unit);
        match Folds::best(self, &once, taps, slots) {
            Some(folds) if folds.count > 1 => {
                let total = slots / self.unit;
                let (read, most) = if self.is_cyclic(slots) { (0, total) } else { (folds.width - 1, self.extent) };
                let round = read == 0 && total == folds.step * folds.count;
                let before = if round { 0 } else { (folds.count - 1) * folds.step + read };
                Self { period: folds.step, extent: most - before, ..once }
            }
            _ => once,
        }
    }
}

/// The partition of the sum over items into parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Folds {
    /// Number of parts, a power of two.
    pub(super) count: usize,
    /// Diagonals of blocks.
    pub(super) width: usize,
    /// Places between neighboring partial results, an odd number of widths; 0 for one part.
    pub(super) step: usize,
    /// Places that collect a sum, where results repeat with the step as their period; 0 where each output has parts of
    /// its own.
    pub(super) repeated: usize,
}

impl Folds {
    fn new(count: usize, period: usize, places: usize) -> Self {
        let width = period / count;
        let step = if count == 1 { 0 } else { width * (places.div_ceil(width) | 1) };
        Self { count, width, step, repeated: 0 }
    }

    /// The partition with the fewest rotations for a map between given spreads; `None` if reading each item from its
    /// first place is better.
    pub(super) fn best(input: &Spread, output: &Spread, taps: usize, slots: usize) -> Option<Self> {
        let counts = (0..usize::BITS).map(|k| 1usize << k).take_while(|&g| g <= input.period);
        let counts = counts.filter(|g| input.period.is_multiple_of(*g));
        let fitting = |count| {
            let folds = Self::new(count, input.period, output.extent);
            let fits = folds.fits(input, output.extent, slots).then_some(folds);
            fits.or_else(|| Self::repeating(count, input, output, slots))
        };
        let best = counts.filter_map(fitting).min_by_key(|folds| (folds.rotations(taps), folds.width))?;
        (best.rotations(taps) <= Self::without(input.items, output.extent, taps)).then_some(best)
    }

    /// The partition in which results repeat as the output does; `None` if they cannot.
    fn repeating(count: usize, input: &Spread, output: &Spread, slots: usize) -> Option<Self> {
        let (width, step) = (input.period / count, output.period);
        let possible = count > 1 && step.is_multiple_of(width) && step / width % 2 == 1 && input.unit == output.unit;
        let (total, collected) = (slots / input.unit, output.extent + (count - 1) * step);
        let read = collected + width - 1 <= input.extent;
        let round = input.is_cyclic(slots) && (collected <= total || total.is_multiple_of(step));
        let folds = Self { count, width, step, repeated: collected.min(total) };
        (possible && (read || round)).then_some(folds)
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

    /// The first part that reads an item so far ahead of an output's own place, and the diagonal of blocks.
    pub(super) fn part(&self, ahead: usize) -> (usize, usize) {
        let (window, within) = (ahead / self.width, ahead % self.width);
        if self.count == 1 {
            return (0, within);
        }
        let odd = self.step / self.width;
        // Modulo a power of two the inverse is found by Newton's iteration, which doubles its right bits, from three.
        let inverse = (0..5).fold(odd, |x, _| x.wrapping_mul(2usize.wrapping_sub(odd.wrapping_mul(x))));
        (window.wrapping_mul(inverse) & (self.count - 1), within)
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
        for (items, places) in [(1, 1), (7, 1), (1, 9), (24, 10), (16, 16), (5, 17), (100, 3), (48, 40)] {
            let spread = Spread::for_map(items, 1, places, 1, 256);
            let folds = Folds::best(&spread, &Spread::once(places, 1), 1, 256).unwrap();
            assert_eq!(folds.repeated, 0);
            for output in 0..places {
                let mut seen: Vec<usize> = (0..spread.period)
                    .map(|item| {
                        let (part, within) =
                            folds.part((item + spread.period - output % spread.period) % spread.period);
                        let place = output + part * folds.step + within;
                        assert!(part < folds.count && within < folds.width && place < spread.extent);
                        assert_eq!(place % spread.period, item, "{items} to {places}");
                        place
                    })
                    .collect();
                seen.sort_unstable();
                seen.dedup();
                assert_eq!(seen.len(), spread.period, "{items} to {places}");
            }
        }
    }

    #[test]
    fn results_repeat_where_parts_do() {
        let once = |items| Spread::for_map(items, 1, 5, 9, 32);
        // Four phases to five filters: parts five places apart, so that 17 of 32 places are results.
        let phases = once(4).continued(32);
        assert_eq!(phases.of_result(5, 9, 32), Spread { items: 5, unit: 1, period: 5, extent: 17 });
        let layer = Spread { items: 1280, unit: 1, period: 1280, extent: 4352 };
        let hidden = layer.of_result(100, 1, 8192);
        assert_eq!(hidden, Spread { items: 100, unit: 1, period: 120, extent: 593 });
        let folds = Folds::best(&layer, &hidden, 1, 8192).unwrap();
        assert_eq!((folds.count, folds.width, folds.step, folds.repeated), (32, 40, 120, 593 + 31 * 120));
        // A full cycle repeats to the end.
        let round = Spread { items: 64, unit: 1, period: 64, extent: 64 };
        assert_eq!(round.of_result(8, 1, 64), Spread { items: 8, unit: 1, period: 8, extent: 64 });
        // Items that stand there once leave their results once.
        assert_eq!(Spread::once(7, 1).of_result(3, 1, 64), Spread::once(3, 1));
    }
}
