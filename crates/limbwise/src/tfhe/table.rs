//! Tables: any function of a message, as the test polynomial of a blind rotation.

use super::{error::TfheError, params::TfheParams};
use crate::error::Result;

/// A function from messages to messages, or to signed integers that become messages in a sum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    pub(crate) entries: Vec<i64>,
    reading: Reading,
}

/// The messages that a table accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    /// 0 to space − 1.
    Whole,
    /// −(space − 1) to space − 1: X^N = −1 negates the entries.
    Signed,
    /// This many tables side by side, each for the first messages only.
    Parts(usize),
    /// The common value of all entries for messages from 0 on, 0 for negative ones: half the value is negated, half is
    /// added.
    Step,
}

impl Table {
    /// A table from one entry per message.
    ///
    /// # Errors
    /// [`TfheError::TableLength`], or [`TfheError::Message`] for an entry outside the message space.
    ///
    /// # Panics
    /// Never.
    pub fn new(params: &TfheParams, entries: &[u64]) -> Result<Self> {
        let (wanted, most) = (params.space(), params.space() - 1);
        if entries.len() as u64 != wanted {
            let wanted = usize::try_from(wanted).expect("at most 2^10");
            return Err(TfheError::TableLength { got: entries.len(), wanted }.into());
        }
        if let Some(&got) = entries.iter().find(|&&e| e > most) {
            return Err(TfheError::Message { got, most }.into());
        }
        Ok(Self { entries: entries.iter().map(|&e| e.cast_signed()).collect(), reading: Reading::Whole })
    }

    /// A table from a function.
    ///
    /// # Errors
    /// [`TfheError::Message`] for a value outside the message space.
    pub fn of(params: &TfheParams, f: impl Fn(u64) -> u64) -> Result<Self> {
        Self::new(params, &(0..params.space()).map(f).collect::<Vec<u64>>())
    }

    /// A table of two messages below 2^`bits`, applied to their sum with the first one times 2^`bits`.
    ///
    /// # Errors
    /// [`TfheError::Message`] for a value outside the message space.
    pub fn of_two(params: &TfheParams, bits: u32, f: impl Fn(u64, u64) -> u64) -> Result<Self> {
        Self::of(params, |m| f(m >> bits, m & ((1 << bits) - 1)))
    }

    /// A table from a function to signed integers, which become messages after an addition.
    ///
    /// # Errors
    /// [`TfheError::Message`] for a value outside −(space − 1) … space − 1.
    pub fn integers(params: &TfheParams, f: impl Fn(u64) -> i64) -> Result<Self> {
        let most = params.space() - 1;
        let entries: Vec<i64> = (0..params.space()).map(f).collect();
        match entries.iter().map(|e| e.unsigned_abs()).find(|&e| e > most) {
            Some(got) => Err(TfheError::Message { got, most }.into()),
            None => Ok(Self { entries, reading: Reading::Whole }),
        }
    }

    /// A table for messages from −(space − 1) to space − 1: `f(m)` from 0 on, and `−f(space + m)` below, because the
    /// padding bit negates. A constant c gives c times the sign, and c at 0.
    ///
    /// # Errors
    /// As [`Self::integers`].
    pub fn signed(params: &TfheParams, f: impl Fn(u64) -> i64) -> Result<Self> {
        Ok(Self { reading: Reading::Signed, ..Self::integers(params, f)? })
    }

    /// `value` for messages with the property, 0 for the others; values beyond the message space are for the bridge
    /// alone.
    pub(crate) fn flags(params: &TfheParams, value: i64, property: impl Fn(u64) -> bool) -> Self {
        let entries = (0..params.space()).map(|m| if property(m) { value } else { 0 }).collect();
        Self { entries, reading: Reading::Whole }
    }

    /// `value` for messages from 0 to space − 1, 0 for those from −(space − 1) to −1: the step function of a neuron.
    ///
    /// # Errors
    /// [`TfheError::Message`] for a value outside the message space.
    pub fn step(params: &TfheParams, value: u64) -> Result<Self> {
        Ok(Self { reading: Reading::Step, ..Self::of(params, |_| value)? })
    }

    /// Joins 2, 4, … tables that share a blind rotation, for messages below the space divided by their number. The
    /// unused boxes hold the other tables, and each result is extracted at the start of its boxes. It costs no noise.
    ///
    /// # Errors
    /// [`TfheError::Together`] for a number of tables that is no power of two.
    pub fn beside(params: &TfheParams, tables: &[Self]) -> Result<Self> {
        let (count, space) = (tables.len(), params.table_len());
        if !count.is_power_of_two() || count > space {
            return Err(TfheError::Together { got: count, most: space }.into());
        }
        let entries = tables.iter().flat_map(|t| t.entries[..space / count].iter().copied()).collect();
        Ok(Self { entries, reading: Reading::Parts(count) })
    }

    /// Number of tables side by side.
    #[must_use]
    pub fn parts(&self) -> usize {
        match self.reading {
            Reading::Parts(count) => count,
            Reading::Whole | Reading::Signed | Reading::Step => 1,
        }
    }

    /// Smallest and largest message that it takes.
    ///
    /// # Panics
    /// Never.
    #[must_use]
    pub fn takes(&self) -> (i64, i64) {
        let most = i64::try_from(self.entries.len() / self.parts()).expect("at most 2^10") - 1;
        match self.reading {
            Reading::Whole | Reading::Parts(_) => (0, most),
            Reading::Signed | Reading::Step => (-most, most),
        }
    }

    /// The constant added to the body after extraction.
    pub(crate) fn lift(&self, params: &TfheParams) -> u64 {
        if self.reading == Reading::Step { params.encode_half(self.entries[0]) } else { 0 }
    }

    fn encoded(&self, params: &TfheParams) -> Vec<u64> {
        let half = self.reading == Reading::Step;
        let encode = |&e: &i64| if half { params.encode_half(e) } else { params.encode(e) };
        self.entries.iter().map(encode).collect()
    }

    /// Smallest and largest value.
    #[must_use]
    pub fn range(&self) -> (i64, i64) {
        let all = (0..self.parts()).map(|part| self.part_range(part));
        all.reduce(|all, r| (all.0.min(r.0), all.1.max(r.1))).unwrap_or((0, 0))
    }

    /// Smallest and largest value of one of the side-by-side tables.
    pub(crate) fn part_range(&self, part: usize) -> (i64, i64) {
        let own = &self.entries[part * self.entries.len() / self.parts()..][..self.entries.len() / self.parts()];
        let least = own.iter().copied().min().unwrap_or(0);
        let most = own.iter().copied().max().unwrap_or(0);
        match self.reading {
            Reading::Signed => (least.min(-most), most.max(-least)),
            Reading::Step => (0, most),
            Reading::Whole | Reading::Parts(_) => (least, most),
        }
    }
}

/// The test polynomial of 2^ϑ tables: coefficient j belongs to the message nearest to it, in table j mod 2^ϑ. A phase
/// just below message 0 meets the last coefficients, where X^N = −1 negates: those hold the negated first entries.
pub(crate) fn test_polynomial(params: &TfheParams, tables: &[&Table], out: &mut [u64]) {
    let (space, count) = (params.table_len(), tables.len());
    let (positions, q) = (out.len() / count, params.modulus());
    let width = positions / space;
    let values: Vec<Vec<u64>> = tables.iter().map(|t| t.encoded(params)).collect();
    for (j, x) in out.iter_mut().enumerate() {
        let message = (j / count + width / 2) / width;
        let values = &values[j % count];
        *x = if message < space { values[message] } else { q.neg(values[0]) };
    }
}
