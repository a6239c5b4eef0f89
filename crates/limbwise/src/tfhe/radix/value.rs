//! A batch of encrypted integers, and the layers of bootstrappings that all operations consist of.

use super::format::{BASE, Format};
use crate::{
    error::Result,
    tfhe::{Boolean, Ciphertext, Evaluator, Table, TfheError, TfheParams},
};
use limbwise_device::Device;

/// Largest squared norm of a digit between operations.
pub(crate) const NORM: f64 = 2.0;

/// Evaluates on integers: an evaluator, and the number of bootstrappings that its device runs in parallel.
pub struct Integers<'a, D: Device> {
    pub(crate) eval: Evaluator<'a, D>,
    pub(crate) lanes: usize,
}

impl<D: Device> Clone for Integers<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Device> Copy for Integers<'_, D> {}

/// A layer: ciphertexts, each with its table.
pub(crate) type Jobs<D> = Vec<(Ciphertext<D>, Table)>;

impl<'a, D: Device> Integers<'a, D> {
    /// For a device that bootstraps two messages in parallel.
    ///
    /// # Errors
    /// [`TfheError::Digits`] for parameters without four message bits.
    pub fn new(eval: Evaluator<'a, D>) -> Result<Self> {
        match eval.params().literal().message_bits {
            4 => Ok(Self { eval, lanes: 2 }),
            other => Err(TfheError::Digits(other).into()),
        }
    }

    /// Sets the number of messages that the device bootstraps in parallel, at least 1. With more lanes, carries are
    /// propagated in fewer layers with more bootstrappings.
    #[must_use]
    pub fn with_lanes(self, lanes: usize) -> Self {
        Self { lanes: lanes.max(1), ..self }
    }

    /// The evaluator of messages.
    #[must_use]
    pub fn evaluator(&self) -> Evaluator<'a, D> {
        self.eval
    }

    pub(crate) fn params(&self) -> &'a TfheParams {
        self.eval.params()
    }

    /// Booleans as the integers 0 and 1. No bootstrapping.
    ///
    /// # Errors
    /// As [`Self::value`].
    pub fn of_boolean(&self, format: Format, boolean: &Boolean<'a, D>) -> Result<Radix<'a, D>> {
        let mut digits = vec![boolean.ciphertext().clone()];
        digits.resize(format.digits(), self.eval.scale(boolean.ciphertext(), 0).at_most(0)?);
        self.with_digits(format, digits).clean(NORM)
    }

    /// Wraps encrypted digits in the order of [`Format::messages`].
    ///
    /// # Errors
    /// [`TfheError::Rows`] if the batch is no whole number of integers.
    ///
    /// # Panics
    /// Never.
    pub fn value(&self, format: Format, ct: &Ciphertext<D>) -> Result<Radix<'a, D>> {
        let (got, digits) = (ct.batch(), format.digits());
        if got % digits != 0 {
            return Err(TfheError::Rows { got, digits }.into());
        }
        let rows = got / digits;
        let digit = |i: usize| self.eval.split(ct, i * rows, (i + 1) * rows).at_most(BASE - 1);
        self.with_digits(format, (0..digits).map(digit).collect::<Result<_>>()?).clean(NORM)
    }

    /// Clear integers, one a row, as ciphertexts without noise that go with `like`. They hide nothing.
    ///
    /// # Errors
    /// [`TfheError::Value`] for a value outside the format.
    ///
    /// # Panics
    /// If there are no values.
    pub fn known(&self, like: &Ciphertext<D>, format: Format, values: &[i128]) -> Result<Radix<'a, D>> {
        let messages = format.messages(values)?;
        let digits = messages.chunks(values.len()).map(|digits| self.eval.known(like, digits));
        Ok(self.with_digits(format, digits.collect::<Result<_>>()?))
    }

    pub(crate) fn with_digits(&self, format: Format, digits: Vec<Ciphertext<D>>) -> Radix<'a, D> {
        Radix { own: *self, format, digits }
    }

    /// Bootstraps a layer of single tables.
    pub(crate) fn layer(&self, jobs: &Jobs<D>) -> Result<Vec<Ciphertext<D>>> {
        Ok(self.eval.bootstrap_jobs(jobs)?.into_iter().flatten().collect())
    }

    pub(crate) fn table(&self, f: impl Fn(u64) -> u64) -> Result<Table> {
        Table::of(self.params(), f)
    }

    /// `4·high + low`.
    pub(crate) fn pack(&self, high: &Ciphertext<D>, low: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        self.eval.add(&self.eval.scale(high, 4), low)
    }
}

/// A batch of encrypted integers of one format, with its evaluator.
pub struct Radix<'a, D: Device> {
    pub(crate) own: Integers<'a, D>,
    pub(crate) format: Format,
    /// Digits of all rows, least significant first; 0 to 3 each.
    pub(crate) digits: Vec<Ciphertext<D>>,
}

impl<D: Device> Clone for Radix<'_, D> {
    fn clone(&self) -> Self {
        Self { digits: self.digits.clone(), ..*self }
    }
}

impl<'a, D: Device> Radix<'a, D> {
    /// Format of the integers.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// Number of integers.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.digits.iter().map(Ciphertext::batch).max().unwrap_or(0)
    }

    /// All digits in the order of [`Format::messages`], for decryption or sending.
    ///
    /// # Errors
    /// Never for integers made by this module.
    pub fn ciphertext(&self) -> Result<Ciphertext<D>> {
        self.own.eval.stack(&self.digits.iter().collect::<Vec<_>>())
    }

    /// Rows by their numbers, in any order and any number of times.
    ///
    /// # Errors
    /// Never for integers made by this module.
    ///
    /// # Panics
    /// If there are no numbers, or one is no row.
    pub fn gather(&self, rows: &[usize]) -> Result<Self> {
        let digits = self.digits.iter().map(|digit| self.own.eval.gather(digit, rows));
        Ok(self.own.with_digits(self.format, digits.collect::<Result<_>>()?))
    }

    /// All rows of several batches of one format, one batch after the other.
    ///
    /// # Errors
    /// [`TfheError`] for operands of different formats, keys or parameters.
    ///
    /// # Panics
    /// If there are none.
    pub fn stacked(all: &[Self]) -> Result<Self> {
        let first = &all[0];
        all.iter().try_for_each(|one| first.goes_with("stacked", one))?;
        let digit = |i: usize| first.own.eval.stack(&all.iter().map(|one| &one.digits[i]).collect::<Vec<_>>());
        Ok(first.own.with_digits(first.format, (0..first.digits.len()).map(digit).collect::<Result<_>>()?))
    }

    /// The same digits in another format: extended by zeros (or the sign, if signed), or truncated.
    ///
    /// Cost: one bootstrapping for a sign extension, else none.
    ///
    /// # Errors
    /// Those of [`Evaluator::bootstrap`].
    pub fn converted(&self, format: Format) -> Result<Self> {
        let mut digits = self.digits.clone();
        if format.digits() > digits.len() {
            let fill = self.fill()?;
            digits.resize(format.digits(), fill);
        }
        digits.truncate(format.digits());
        Ok(self.own.with_digits(format, digits))
    }

    /// Refuses operands of other formats.
    pub(crate) fn goes_with(&self, op: &'static str, other: &Self) -> Result<()> {
        if self.format != other.format {
            return Err(TfheError::Formats { op, left: self.format, right: other.format }.into());
        }
        Ok(())
    }

    /// Bootstraps all digits whose squared norm exceeds `norm_squared`.
    pub(crate) fn clean(&self, norm_squared: f64) -> Result<Self> {
        let noisy: Vec<usize> =
            (0..self.digits.len()).filter(|&i| self.digits[i].norm_squared() > norm_squared).collect();
        if noisy.is_empty() {
            return Ok(self.clone());
        }
        let same = self.own.table(|m| m % BASE)?;
        let jobs = noisy.iter().map(|&i| (self.digits[i].clone(), same.clone())).collect();
        let mut digits = self.digits.clone();
        noisy.iter().zip(self.own.layer(&jobs)?).for_each(|(&i, clean)| digits[i] = clean);
        Ok(self.own.with_digits(self.format, digits))
    }

    /// Replaces all digits by the results of one layer.
    pub(crate) fn map_layer(&self, jobs: &Jobs<D>) -> Result<Self> {
        Ok(self.own.with_digits(self.format, self.own.layer(jobs)?))
    }
}
