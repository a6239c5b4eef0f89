//! A linear map on packed tensors: diagonals, then sums of slots a stride apart, then a bias.

use super::{ImageLayout, Spread, spread::Folds};
use crate::{
    ckks::{Auto, Ciphertext, Diagonals, LinearTransform},
    error::Result,
};
use limbwise_device::Device;
use num_complex::Complex64;
use std::ops::Range;

/// `Σ_{i < count} rotate(x, i·stride)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fold {
    /// Slots between neighboring terms.
    pub stride: usize,
    /// Number of terms, a power of two.
    pub count: usize,
}

/// The map `fold(diagonals·x) + bias` on packed slots.
#[derive(Clone, Debug, PartialEq)]
pub struct PackedMap {
    /// The map that a [`LinearTransform`] evaluates.
    pub diagonals: Diagonals,
    /// The rotations and additions after the map; a count of 1 does nothing.
    pub fold: Fold,
    /// Added at the end; empty for no bias.
    pub bias: Vec<Complex64>,
}

impl PackedMap {
    /// Applies the map in the clear.
    #[must_use]
    pub fn apply_clear(&self, x: &[Complex64]) -> Vec<Complex64> {
        let y = self.diagonals.apply(x);
        let bias = |j: usize| self.bias.get(j).copied().unwrap_or_default();
        let term = |j: usize, i: usize| y[(j + i * self.fold.stride) % y.len()];
        (0..y.len()).map(|j| (0..self.fold.count).map(|i| term(j, i)).sum::<Complex64>() + bias(j)).collect()
    }

    /// The map on each of `count` interleaved messages: see [`Diagonals::interleaved`].
    #[must_use]
    pub fn interleaved(&self, count: usize) -> Self {
        let bias = self.bias.iter().flat_map(|&z| std::iter::repeat_n(z, count)).collect();
        let fold = Fold { stride: self.fold.stride * count, ..self.fold };
        Self { diagonals: self.diagonals.interleaved(count), fold, bias }
    }

    /// Applies the map to a ciphertext. The result is settled one level below the transform, which must encode
    /// [`Self::diagonals`].
    ///
    /// Cost: that of the transform's strategy, plus log₂(count) rotations one level lower.
    ///
    /// # Errors
    /// As [`Auto::linear_transform`] and [`Auto::inner_sum`].
    pub fn apply<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        transform: &LinearTransform<D>,
        x: &Ciphertext<D>,
    ) -> Result<Ciphertext<D>> {
        let y = auto.linear_transform(x, transform)?;
        let y = auto.inner_sum(&y, self.fold.stride as i64, self.fold.count)?;
        if self.bias.is_empty() { Ok(y) } else { auto.add_values(&y, &self.bias) }
    }
}

/// A slot of a map's result.
#[derive(Clone, Copy, Debug)]
pub(super) struct Output {
    slot: usize,
    /// The place that it stands in, of the input's unit.
    base: usize,
    /// The item there.
    first: usize,
}

/// Neighboring pixels of a row of an output channel.
pub(super) struct Run {
    pub(super) row: usize,
    pub(super) columns: Range<usize>,
    /// The first of them.
    output: Output,
    /// Slots from one to the next.
    step: usize,
}

/// What an output reads: an item of the input, the slot in it, and the slots to what the next output reads.
#[derive(Clone, Copy)]
pub(super) struct Read {
    pub(super) item: usize,
    pub(super) offset: usize,
    pub(super) step: usize,
}

/// Collects the diagonals of a map, entry by entry.
pub(super) struct Builder {
    slots: usize,
    input: Spread,
    folds: Option<Folds>,
    diagonals: Vec<Vec<Complex64>>,
}

impl Builder {
    /// A builder of maps from `input` to `output`, of the same unit, with `taps` diagonals per diagonal of blocks. Only
    /// for slots that are a power of two is the map finished.
    pub(super) fn new(input: Spread, output: &Spread, taps: usize, slots: usize) -> Self {
        let folds = Folds::best(&input, output, taps, slots);
        Self { slots, input, folds, diagonals: vec![Vec::new(); slots] }
    }

    /// The places of a result that are to be given: where results repeat by themselves, their first ones.
    pub(super) fn given(&self, output: Spread) -> Spread {
        let repeats = self.folds.is_some_and(|folds| folds.repeated > 0);
        if repeats { Spread { extent: output.extent.min(output.period), ..output } } else { output }
    }

    /// An output slot.
    pub(super) fn output(&self, slot: usize) -> Output {
        let base = slot / self.input.unit;
        Output { slot, base, first: base % self.input.period }
    }

    /// The pixels of an output channel in all its repetitions, as runs within one place of the input's unit.
    pub(super) fn runs(&self, layout: &ImageLayout, channel: usize) -> Vec<Run> {
        let (unit, step, mut runs) = (self.input.unit, layout.within(0, 1), Vec::new());
        for row in 0..layout.height {
            for start in layout.all_slots(channel, row, 0) {
                let mut x = 0;
                while x < layout.width {
                    let output = self.output(start + x * step);
                    let room = (output.base + 1) * unit - output.slot;
                    let columns = x..layout.width.min(x + room.div_ceil(step));
                    x = columns.end;
                    runs.push(Run { row, columns, output, step });
                }
            }
        }
        runs
    }

    /// Adds `weight` times what is read to the columns `x` of a run. Columns that are read as far apart as they are
    /// written, which is the usual case, all belong to one diagonal.
    pub(super) fn add_run(&mut self, run: &Run, x: &Range<usize>, read: Read, weight: f64) {
        for (place, output) in self.places(run.output, read.item) {
            let output = output + (x.start - run.columns.start) * run.step;
            let from = place * self.input.unit + read.offset;
            if read.step == run.step {
                let sums = self.diagonal(from.wrapping_sub(output))[output..].iter_mut();
                let sums = sums.step_by(run.step).take(x.len());
                debug_assert!(sums.len() == x.len(), "all of a run stand in the slots");
                sums.for_each(|sum| *sum += weight);
                continue;
            }
            for at in 0..x.len() {
                let output = output + at * run.step;
                self.diagonal((from + at * read.step).wrapping_sub(output))[output] += weight;
            }
        }
    }

    /// Adds `weight` times the slot at `offset` of an input item to an output.
    pub(super) fn add(&mut self, output: Output, item: usize, offset: usize, weight: f64) {
        for (place, slot) in self.places(output, item) {
            self.diagonal((place * self.input.unit + offset).wrapping_sub(slot))[slot] += weight;
        }
    }

    /// The places from which an output reads an item, each with the slot that collects it: one, or where results repeat
    /// one for each time that all items are read.
    fn places(&self, output: Output, item: usize) -> impl Iterator<Item = (usize, usize)> + use<> {
        let Spread { unit, period, extent, .. } = self.input;
        debug_assert!(item < period, "item {item} repeats after {period}");
        let ahead = if item < output.first { item + period - output.first } else { item - output.first };
        let (parts, step, within) = match self.folds {
            None => (0..1, 0, 0),
            Some(folds) => {
                let ((part, within), Folds { step, repeated, .. }) = (folds.part(ahead), folds);
                let end = if repeated == 0 { part + 1 } else { (repeated - output.base).div_ceil(step) };
                ((part..end.max(part)), step, within)
            }
        };
        let stride = self.folds.map_or(1, |folds| folds.count);
        let (folded, slots) = (self.folds.is_some(), self.slots);
        parts.step_by(stride).map(move |part| {
            let ahead = part * step;
            let place = if folded { output.base + ahead + within } else { item };
            debug_assert!(place < extent || extent * unit == slots, "place {place} is read, {extent} are filled");
            (place, output.slot + ahead * unit)
        })
    }

    /// The diagonal of a rotation, which counts modulo the slots.
    fn diagonal(&mut self, rotation: usize) -> &mut [Complex64] {
        let diagonal = &mut self.diagonals[rotation & (self.slots - 1)];
        if diagonal.is_empty() {
            diagonal.resize(self.slots, Complex64::default());
        }
        diagonal
    }

    /// The finished map.
    pub(super) fn finish(self, bias: Vec<Complex64>) -> Result<PackedMap> {
        let filled = (0i64..).zip(self.diagonals).filter(|(_, values)| !values.is_empty());
        let diagonals = Diagonals::new(self.slots, filled)?;
        let fold = match self.folds {
            Some(folds) => Fold { stride: folds.step * self.input.unit, count: folds.count },
            None => Fold { stride: 0, count: 1 },
        };
        Ok(PackedMap { diagonals, fold, bias })
    }
}
