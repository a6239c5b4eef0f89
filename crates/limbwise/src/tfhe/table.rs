//! Tables: any function of a message, as the test polynomial of a blind rotation.

use super::{error::TfheError, params::TfheParams};
use crate::error::Result;

/// A function from messages to messages, or to integers of either sign that stand for them in a sum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    pub(crate) entries: Vec<i64>,
}

impl Table {
    /// From one entry for each message.
    ///
    /// # Errors
    /// [`TfheError::TableLength`], or [`TfheError::Message`] for an entry that is no message.
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
        Ok(Self { entries: entries.iter().map(|&e| e.cast_signed()).collect() })
    }

    /// From a function.
    ///
    /// # Errors
    /// [`TfheError::Message`] for a value that is no message.
    pub fn of(params: &TfheParams, f: impl Fn(u64) -> u64) -> Result<Self> {
        Self::new(params, &(0..params.space()).map(f).collect::<Vec<u64>>())
    }

    /// Of two messages below 2^`bits`, for their sum with the first one times 2^`bits`.
    ///
    /// # Errors
    /// [`TfheError::Message`] for a value that is no message.
    pub fn of_two(params: &TfheParams, bits: u32, f: impl Fn(u64, u64) -> u64) -> Result<Self> {
        Self::of(params, |m| f(m >> bits, m & ((1 << bits) - 1)))
    }

    /// Least and largest entry.
    #[must_use]
    pub fn range(&self) -> (i64, i64) {
        let least = self.entries.iter().copied().min().unwrap_or(0);
        (least, self.entries.iter().copied().max().unwrap_or(0))
    }
}

/// The test polynomial of 2^ϑ tables: coefficient j belongs to the message nearest to it, table j mod 2^ϑ. Where a phase just
/// below message 0 comes round, X^N = −1 turns the sign: those coefficients hold the negated first entries.
pub(crate) fn test_polynomial(params: &TfheParams, tables: &[&Table], out: &mut [u64]) {
    let (space, count) = (params.table_len(), tables.len());
    let (positions, q) = (out.len() / count, params.modulus());
    let width = positions / space;
    let values: Vec<Vec<u64>> = tables.iter().map(|t| t.entries.iter().map(|&e| params.encode(e)).collect()).collect();
    for (j, x) in out.iter_mut().enumerate() {
        let message = (j / count + width / 2) / width;
        let values = &values[j % count];
        *x = if message < space { values[message] } else { q.neg(values[0]) };
    }
}
