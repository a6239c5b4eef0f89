//! The greatest value of each row, and where it is.
//!
//! Each round compares what stands twice as far: after log₂ n rounds place 0 of a row holds the greatest of the row, and
//! other places hold those of windows that reach into the next row, which nobody reads. Rows that lie in several messages
//! are compared message by message before, half of them with the other half.

use super::{
    Comparison, Rows,
    composed::{Ready, inside},
};
use crate::{
    ckks::{Auto, Ciphertext},
    error::{FunctionError, Result},
};
use limbwise_device::Device;

/// Deepest polynomial of the comparisons.
const MOST_DEPTH: usize = 5;
/// A value counts as the greatest from half a gap below it; the greatest itself is known to an eighth of the gap.
const THRESHOLD: f64 = 0.75;
/// An index is wrong by at most this much, for what zeros and ones differ from themselves, and as deviation of noise.
const INDEX_ERROR: f64 = 0.25;

/// What is asked of the greatest values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Greatest {
    /// The values, at place 0 of their rows; of rows in several messages in one message for each.
    Value,
    /// One where they are, zero elsewhere.
    OneHot,
    /// Their indices, as the values.
    Index,
}

/// The greatest of each row. Of two that differ by less than the gap either may win, and both count.
#[derive(Clone, Debug, PartialEq)]
pub struct Extreme {
    rows: Rows,
    wanted: Greatest,
    range: f64,
    gap: f64,
    rounds: Comparison,
    hot: Comparison,
}

impl Extreme {
    /// The greatest of values that differ by at most `range`; of those within `gap` either may win. `error` is that of
    /// the sign: each round adds half of it times the difference to a value, and ones and zeros are as near as half of it;
    /// nearer where the indices of long rows ask for it.
    ///
    /// # Errors
    /// As [`Comparison::new`].
    pub fn new(rows: &Rows, wanted: Greatest, [range, gap]: [f64; 2], error: f64) -> Result<Self> {
        if !(range > 0.0 && gap > 0.0 && gap < range) {
            return Err(FunctionError::Gap { gap, range, error, most: MOST_DEPTH }.into());
        }
        let count = f64::from(Self::count(rows));
        // A place asks for the greatest more finely, so that all rounds together miss less than an eighth of the gap.
        let (finer, of_round) = match wanted {
            Greatest::Value => (gap, error),
            Greatest::OneHot | Greatest::Index => (gap / 4.0, (error / 4.0).min(gap / range / (4.0 * count.max(1.0)))),
        };
        // A result is beyond its operands by the sign's error, round after round.
        let rounds =
            Comparison::new(range / (1.0 - (count * of_round).min(0.5)), finer, of_round, MOST_DEPTH)?.with_promise();
        let of_hot = if wanted == Greatest::Index { error.min(Self::index_error(rows)) } else { error };
        let hot = Comparison::new(range + THRESHOLD * gap, 0.25 * gap, of_hot, MOST_DEPTH)?.with_promise();
        Ok(Self { rows: rows.clone(), wanted, range, gap, rounds, hot })
    }

    /// Error of the sign that makes an index wrong by at most a quarter: every zero is as wrong as half of it, times its
    /// place.
    #[expect(clippy::cast_precision_loss, reason = "values of an axis")]
    fn index_error(rows: &Rows) -> f64 {
        let length = rows.axis().length as f64;
        2.0 * INDEX_ERROR / (0.5 * length * (length - 1.0)).max(1.0)
    }

    /// Rounds of the maximum.
    fn count(rows: &Rows) -> u32 {
        rows.axis().extent.trailing_zeros()
    }

    /// Levels on so many slots, without those of bootstrapping.
    #[must_use]
    pub fn levels(&self, slots: usize) -> usize {
        let within = Self::count(&self.rows.folded(slots)) as usize;
        let rounds = (self.rows.fold_rounds(slots) + within) * (self.rounds.levels() + 1);
        let hot = self.rows.spread_levels(slots) + self.hot.levels();
        match self.wanted {
            Greatest::Value => rounds,
            Greatest::OneHot => rounds + hot,
            Greatest::Index => rounds + hot + 1,
        }
    }

    /// Levels of the first polynomial.
    #[must_use]
    pub fn first_levels(&self) -> usize {
        self.rounds.first_levels()
    }

    /// What was asked for. Ones and zeros of places without a value mean nothing.
    ///
    /// # Errors
    /// [`FunctionError::Domain`] where places without a value are further from values than the range;
    /// [`FunctionError::Index`] for a row so long that noise hides its indices; too few levels; a missing key.
    pub fn apply<D: Device>(
        &self,
        auto: &Auto<'_, D>,
        x: &Ciphertext<D>,
        ready: Ready<'_, D>,
    ) -> Result<Ciphertext<D>> {
        self.rows.check(x)?;
        let _region = auto.eval.device().region("extreme", Self::count(&self.rows));
        if self.rows.is_padded() {
            inside("extreme", x, 0.5 * self.range)?;
        }
        // No value is less than what fills places without one.
        let x = self.rows.filled(auto, x, -x.estimate.peak)?;
        let mut greatest = self.rows.fold(auto, &x, &|both| self.rounds.maximum(auto, both, ready))?;
        let within = self.rows.folded(x.slots);
        for round in 0..Self::count(&within) {
            let away = (within.axis().stride << round) as i64;
            greatest = self.rounds.maximum(auto, [&greatest, &auto.rotate(&greatest, away)?], ready)?;
        }
        if self.wanted == Greatest::Value {
            return Ok(greatest);
        }
        let greatest = self.rows.spread(auto, &greatest, 1.0, ready)?;
        let greatest = self.rows.handed_back(auto, &greatest, x.batch());
        let near = auto.add_scalar(&greatest, -THRESHOLD * self.gap);
        let hot = self.hot.greater(auto, [&x, &near], ready)?;
        if self.wanted == Greatest::OneHot {
            return Ok(hot);
        }
        #[expect(clippy::cast_precision_loss, reason = "values of an axis")]
        let indices = auto.settle(&self.rows.masked(auto, &ready(&hot, 1)?, |i| i as f64)?)?;
        #[expect(clippy::cast_precision_loss, reason = "values of an axis")]
        let most = self.rows.axis().length as f64;
        let index = self.rows.total(auto, &indices, most * most)?;
        let error = index.estimate.error();
        if error > INDEX_ERROR {
            return Err(FunctionError::Index { length: self.rows.axis().length, error }.into());
        }
        Ok(index)
    }
}
