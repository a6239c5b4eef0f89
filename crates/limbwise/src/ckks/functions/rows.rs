//! Rows of values in slots, along which functions work.
//!
//! An array lies in slots axis by axis: value i of an axis stands `i·stride` places from value 0, and an axis has room for
//! `extent` values. Places are counted through all messages of a batch. A row is what one axis runs through while the
//! indices of the other axes stay. Places without a value are zero in what a function takes; each function keeps them
//! out of what it computes.
//!
//! A row longer than a message lies in several, each of which holds a part of it. Parts are reduced with each other, slot by
//! slot; the rest is done on a batch with one message for each row, and its results are handed back to all parts.

use super::composed::{Ready, known, noiseless};
use crate::{
    ckks::{Auto, Ciphertext},
    error::{Error, FunctionError, Result},
};
use limbwise_device::Device;
use num_complex::Complex64;

/// Where the values of an axis stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Places from a value to the next: a power of two.
    pub stride: usize,
    /// Values that there is room for: a power of two.
    pub extent: usize,
    /// Values that there are.
    pub length: usize,
}

impl Axis {
    fn index(self, place: usize) -> usize {
        place / self.stride % self.extent
    }

    fn is_possible(self) -> bool {
        let powers = self.stride.is_power_of_two() && self.extent.is_power_of_two();
        powers && (1..=self.extent).contains(&self.length) && self.stride.checked_mul(self.extent).is_some()
    }
}

/// The rows of an array along one axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows {
    axis: Axis,
    others: Vec<Axis>,
}

impl Rows {
    /// Rows along an axis of an array that has other axes too. An axis that holds leftovers counts as one of length 1.
    ///
    /// # Errors
    /// [`FunctionError::Axis`] unless strides and extents are powers of two and lengths from 1 to the extent.
    pub fn new(axis: Axis, others: &[Axis]) -> Result<Self> {
        match std::iter::once(&axis).chain(others).find(|axis| !axis.is_possible()) {
            Some(&Axis { stride, extent, length }) => Err(FunctionError::Axis { stride, extent, length }.into()),
            None => Ok(Self { axis, others: others.to_vec() }),
        }
    }

    /// The axis along which rows run.
    #[must_use]
    pub fn axis(&self) -> Axis {
        self.axis
    }

    /// The other axes.
    pub(super) fn others(&self) -> &[Axis] {
        &self.others
    }

    /// These axes in the place of those.
    pub(super) fn with_axes(&self, axis: Axis, others: Vec<Axis>) -> Self {
        Self { axis, others }
    }

    /// The index in its row of the value at a place; `None` where no value is.
    #[must_use]
    pub fn index(&self, place: usize) -> Option<usize> {
        let index = self.axis.index(place);
        let inside = self.others.iter().all(|axis| axis.index(place) < axis.length);
        (inside && index < self.axis.length).then_some(index)
    }

    /// Whether places of these axes hold no value.
    #[must_use]
    pub fn is_padded(&self) -> bool {
        std::iter::once(&self.axis).chain(&self.others).any(|axis| axis.length < axis.extent)
    }

    /// A value for each place, by its index in its row: a message for each of the batch, or one for all.
    pub(super) fn values(&self, [batch, slots]: [usize; 2], of: impl Fn(Option<usize>) -> f64) -> Vec<Vec<Complex64>> {
        let mut axes = std::iter::once(&self.axis).chain(&self.others);
        let above = axes.any(|axis| axis.extent > 1 && axis.stride * axis.extent > slots);
        let message = |m: usize| (0..slots).map(|slot| of(self.index(m * slots + slot)).into()).collect();
        (0..if above { batch } else { 1 }).map(message).collect()
    }

    /// Whether a row is all slots, which go round, or whole messages: a sum over it is the same in each of its places.
    pub(super) fn go_round(&self, slots: usize) -> bool {
        self.axis.stride * self.axis.extent >= slots
    }

    /// Fails unless the messages have a place for every value.
    pub(super) fn check<D: Device>(&self, x: &Ciphertext<D>) -> Result<()> {
        let axes = std::iter::once(&self.axis).chain(&self.others);
        let last = axes.fold(0usize, |last, axis| last.saturating_add((axis.length - 1) * axis.stride));
        if last < x.slots * x.batch() { Ok(()) } else { Err(self.refused()) }
    }

    /// Fails unless each row lies in one message.
    pub(super) fn check_whole<D: Device>(&self, x: &Ciphertext<D>) -> Result<()> {
        if self.axis.stride * self.axis.extent <= x.slots { self.check(x) } else { Err(self.refused()) }
    }

    fn refused(&self) -> Error {
        let Axis { stride, extent, length } = self.axis;
        FunctionError::Axis { stride, extent, length }.into()
    }

    /// The sum of each row at its place 0; at its other places too if rows go round. A message for each row.
    pub(super) fn total<D: Device>(&self, auto: &Auto<'_, D>, x: &Ciphertext<D>, peak: f64) -> Result<Ciphertext<D>> {
        let x = self.fold(auto, x, &|[a, b]| auto.add(a, b))?;
        let Axis { stride, extent, .. } = self.folded(x.slots).axis;
        Ok(auto.inner_sum(&x, stride as i64, extent)?.bounded_by(peak))
    }

    /// Levels of [`Self::spread`] with a factor of one.
    pub(super) fn spread_levels(&self, slots: usize) -> usize {
        usize::from(!self.go_round(slots))
    }

    /// What is at place 0 of each row, times a factor, at all places of the row, which is one message. One level, or none
    /// for a factor of one where rows go round and the value is at all places already.
    pub(super) fn spread<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        x: &Ciphertext<D>,
        factor: f64,
        ready: Ready<'_, D>,
    ) -> Result<Ciphertext<D>> {
        #[expect(clippy::float_cmp, reason = "exactly one is a case of its own")]
        let stays = factor == 1.0;
        if self.go_round(x.slots) && stays {
            return auto.settle(x);
        }
        let x = ready(x, 1)?;
        let y = if self.go_round(x.slots) {
            auto.settle(&auto.weighted_sum(&[(factor, &noiseless(&x))])?)?
        } else {
            let first = Self { axis: Axis { length: 1, ..self.axis }, others: Vec::new() };
            let mask = first.values([1, x.slots], |index| index.map_or(0.0, |_| factor));
            let first = auto.settle(&auto.mul_rows(&noiseless(&x), &mask)?)?;
            auto.inner_sum(&first, -(self.axis.stride as i64), self.axis.extent)?
        };
        let error = (x.estimate.error() * factor).hypot(y.estimate.error());
        Ok(known(y, x.estimate.peak * factor.abs(), error))
    }

    /// The same with a value in the places that hold none, which are zero.
    pub(super) fn filled<D: Device>(&self, auto: &Auto<'_, D>, x: &Ciphertext<D>, value: f64) -> Result<Ciphertext<D>> {
        if value == 0.0 || !self.is_padded() {
            return auto.settle(x);
        }
        let rows = self.values([x.batch(), x.slots], |index| if index.is_some() { 0.0 } else { value });
        let peak = x.estimate.peak.max(value.abs());
        Ok(auto.add_rows(x, &rows)?.bounded_by(peak))
    }

    /// A message for each row, with a value added in all places of rows that hold no value at all.
    pub(super) fn without_rows<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        x: &Ciphertext<D>,
        value: f64,
    ) -> Result<Ciphertext<D>> {
        let Self { axis, others } = self.folded(x.slots);
        Self { axis: Axis { length: axis.extent, ..axis }, others }.filled(auto, x, value)
    }

    /// Values where there are some, zero elsewhere; pending.
    pub(super) fn masked<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        x: &Ciphertext<D>,
        of: impl Fn(usize) -> f64,
    ) -> Result<Ciphertext<D>> {
        auto.mul_rows(x, &self.values([x.batch(), x.slots], |index| index.map_or(0.0, &of)))
    }

    /// The rows whose places 0 alone count.
    pub(super) fn firsts(&self) -> Self {
        self.shortened(1)
    }

    /// The rows whose first places alone count.
    pub(super) fn shortened(&self, length: usize) -> Self {
        Self { axis: Axis { length: length.min(self.axis.length), ..self.axis }, others: self.others.clone() }
    }

    /// The rows in one message of a batch.
    pub(super) fn in_message(&self, message: usize, slots: usize) -> Option<Self> {
        let place = message * slots;
        let inside = |axis: &&Axis| axis.extent > 1 && axis.stride < slots;
        let above = self.others.iter().filter(|axis| !inside(axis));
        let there = above.clone().all(|axis| axis.index(place) < axis.length);
        there.then(|| Self { axis: self.axis, others: self.others.iter().filter(inside).copied().collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_have_the_indices_of_their_axes() {
        // Shape (3, 5): five of eight places, three of four rows.
        let axis = Axis { stride: 1, extent: 8, length: 5 };
        let other = Axis { stride: 8, extent: 4, length: 3 };
        let rows = Rows::new(axis, &[other]).unwrap();
        for place in 0..32 {
            let (row, index) = (place / 8, place % 8);
            assert_eq!(rows.index(place), (row < 3 && index < 5).then_some(index));
        }
        // In messages of 16 slots: row 3, the second half of message 1, is none.
        let values = rows.values([2, 16], |index| index.map_or(-1.0, |i| i as f64));
        assert_eq!((values.len(), values[1][2].re, values[1][10].re), (2, 2.0, -1.0));
        assert!(rows.is_padded() && rows.go_round(8) && !rows.go_round(16));
        assert_eq!(rows.shortened(9).axis().length, 5);
        assert_eq!(rows.firsts().axis().length, 1);
        for (stride, extent, length) in [(3, 8, 5), (1, 6, 5), (1, 8, 0), (1, 8, 9)] {
            assert!(Rows::new(Axis { stride, extent, length }, &[]).is_err());
        }
    }
}
