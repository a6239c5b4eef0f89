//! Rows longer than a message: their parts, which of the messages of a batch hold them, and what becomes of them.

use super::{Axis, Rows};
use crate::{
    ckks::{Auto, Ciphertext},
    error::Result,
};
use limbwise_device::Device;

/// What becomes of two parts of each row, slot by slot.
type Combine<'c, D> = &'c dyn Fn([&Ciphertext<D>; 2]) -> Result<Ciphertext<D>>;

/// Which messages hold the parts of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Parts {
    /// Messages from a part to the next.
    apart: usize,
    /// Parts that there is room for: 1 where a row lies in one message.
    count: usize,
}

impl Parts {
    /// Number of the row of a message, or of the messages that share its rows.
    fn row(self, message: usize) -> usize {
        message % self.apart + message / (self.apart * self.count) * self.apart
    }

    /// Number of the part that a message holds.
    fn part(self, message: usize) -> usize {
        message / self.apart % self.count
    }
}

impl Rows {
    fn parts(&self, slots: usize) -> Parts {
        let Axis { stride, extent, .. } = self.axis();
        Parts { apart: (stride / slots).max(1), count: (stride * extent / stride.max(slots)).max(1) }
    }

    /// Messages of each row which hold values of it, the first part first.
    fn messages(&self, [batch, slots]: [usize; 2]) -> Vec<Vec<usize>> {
        let parts = self.parts(slots);
        let used = self.axis().length.div_ceil(self.axis().extent / parts.count);
        let of_row = |first| (0..used).map(move |k| first + k * parts.apart).filter(|&m| m < batch).collect();
        (0..batch).filter(|&m| parts.part(m) == 0).map(of_row).collect()
    }

    /// Rounds of [`Self::fold`].
    pub(super) fn fold_rounds(&self, slots: usize) -> usize {
        let used = self.axis().length.div_ceil(self.axis().extent / self.parts(slots).count);
        used.next_power_of_two().trailing_zeros() as usize
    }

    /// The rows of a batch in which each row is one message: all of its places count.
    pub(super) fn folded(&self, slots: usize) -> Self {
        let Parts { count, .. } = self.parts(slots);
        if count == 1 {
            return self.clone();
        }
        let Axis { stride, extent, .. } = self.axis();
        let within = extent / count;
        let lower = |axis: &Axis| match axis.stride >= stride * extent {
            true => Axis { stride: axis.stride / count, ..*axis },
            false => *axis,
        };
        let axis = Axis { stride: stride.min(slots), extent: within, length: within };
        self.with_axes(axis, self.others().iter().map(lower).collect())
    }

    /// The parts of each row combined, two at a time: a message for each row. Messages without a value are left out.
    pub(super) fn fold<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        x: &Ciphertext<D>,
        combine: Combine<'_, D>,
    ) -> Result<Ciphertext<D>> {
        if self.parts(x.slots).count == 1 {
            return Ok(x.clone());
        }
        let message = |&m: &usize| auto.eval.split(x, m, m + 1);
        let messages = self.messages([x.batch(), x.slots]);
        let mut rows: Vec<Vec<_>> = messages.iter().map(|row| row.iter().map(message).collect()).collect();
        while rows.iter().any(|row| row.len() > 1) {
            let half = |row: &Vec<_>| row.len() / 2;
            let left: Vec<_> = rows.iter().flat_map(|row| row[..half(row)].iter().cloned()).collect();
            let right: Vec<_> = rows.iter().flat_map(|row| row[row.len() - half(row)..].iter().cloned()).collect();
            let combined = combine([&auto.stack(&left)?, &auto.stack(&right)?])?;
            let mut at = 0;
            for row in &mut rows {
                let (first, last) = (half(row), row.len() - half(row));
                // Of an odd number the one in the middle waits for the next round.
                let middle = row[first..last].to_vec();
                *row = (at..at + first).map(|m| auto.eval.split(&combined, m, m + 1)).chain(middle).collect();
                at += first;
            }
        }
        auto.stack(&rows.concat())
    }

    /// What was computed for each row, in each of the `batch` messages that hold a part of it.
    pub(super) fn handed_back<D: Device>(&self, auto: &Auto<'_, D>, x: &Ciphertext<D>, batch: usize) -> Ciphertext<D> {
        let parts = self.parts(x.slots);
        if parts.count == 1 {
            return x.clone();
        }
        let of_message = |m| auto.eval.split(x, parts.row(m), parts.row(m) + 1);
        auto.eval.stack(&(0..batch).map(of_message).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_rows_lie_in_these_messages() {
        // Shape (3, 2, 20) in messages of 8 slots: rows of 32 places, 20 of them in use.
        let above = [Axis { stride: 32, extent: 2, length: 2 }, Axis { stride: 64, extent: 4, length: 3 }];
        let rows = Rows::new(Axis { stride: 1, extent: 32, length: 20 }, &above).unwrap();
        let messages = rows.messages([23, 8]);
        assert_eq!(messages[..2], [vec![0, 1, 2], vec![4, 5, 6]]);
        assert_eq!((messages.len(), &messages[5], rows.fold_rounds(8)), (6, &vec![20, 21, 22], 2));
        assert_eq!(
            (0..23).map(|m| rows.parts(8).row(m)).collect::<Vec<_>>(),
            (0..23).map(|m| m / 4).collect::<Vec<_>>()
        );
        let folded = rows.folded(8);
        assert_eq!(folded.axis(), Axis { stride: 1, extent: 8, length: 8 });
        assert_eq!([folded.others()[0].stride, folded.others()[1].stride], [8, 16]);
        // Along the axis in the middle: its two parts are messages that are four apart.
        let rows = Rows::new(above[0], &[rows.axis(), above[1]]).unwrap();
        let messages = rows.messages([23, 8]);
        assert_eq!((messages.len(), &messages[1], &messages[10]), (12, &vec![1, 5], &vec![18, 22]));
        assert_eq!(rows.messages([23, 8])[11], [19], "its second part is not there");
        for (number, row) in messages.iter().enumerate() {
            assert!(row.iter().all(|&m| rows.parts(8).row(m) == number));
        }
        let folded = rows.folded(8);
        assert_eq!(folded.axis(), Axis { stride: 8, extent: 1, length: 1 });
        assert_eq!([folded.others()[0].stride, folded.others()[1].stride], [1, 32]);
        assert!(rows.go_round(8) && folded.go_round(8));
        // What lies in one message is one part.
        assert_eq!(rows.folded(64), rows);
        assert_eq!((rows.fold_rounds(64), rows.messages([3, 64])), (0, vec![vec![0], vec![1], vec![2]]));
    }
}
