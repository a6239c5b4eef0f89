//! Sums of digits and their carries.
//!
//! Digits ripple: one blind rotation maps a digit's sum plus the carry below it (at most 7) to digit and carry, by two
//! tables side by side. That is n bootstrappings in sequence, the fewest. If the device has idle lanes, the number is
//! cut into k chunks that ripple in parallel. A chunk that does not know its carry keeps a state: 0 for no carry out, 1
//! for propagating the carry in, 2 for a carry out. A digit sum s maps state t to the state of `2s + t`: below 7, equal
//! to 7, above 7. Once the carry c into a chunk is known, its digits are `⌊(2s + t + c)/2⌋ mod 4`, all in one layer.
//! The states of three chunks and a carry add up in one message as binary digits: each carry after them is a bit of `c
//! + t₀ + 2t₁ + 4t₂`.
//!
//! Rows and lanes determine k (ADR 97): the k whose layers, each rounded up to full turns of the lanes, take the fewest
//! turns.

use super::{
    format::{BASE, Format},
    value::{Integers, Jobs, Radix},
};
use crate::{
    error::Result,
    tfhe::{Ciphertext, Table},
};
use limbwise_device::Device;

/// Chunks resolved together: their states and a carry fill a message.
const TOGETHER: usize = 3;

/// Cost of a carry propagation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CarryCost {
    /// Chunks that ripple in parallel.
    pub chunks: usize,
    /// Bootstrappings per row.
    pub bootstrappings: usize,
    /// Layers in sequence.
    pub layers: usize,
}

/// Bootstrappings per row in each layer of a propagation over n digits in k chunks; k divides n.
fn layers(n: usize, k: usize) -> Vec<usize> {
    let mut layers = vec![k; n / k];
    if k > 1 {
        *layers.last_mut().expect("n ≥ k") -= 1;
        layers.extend((0..k - 2).step_by(TOGETHER).map(|from| (k - 2 - from).min(TOGETHER)));
        layers.push(n - n / k);
    }
    layers
}

/// The cheapest propagation for `rows` rows of n digits on `lanes` lanes.
///
/// # Panics
/// Never.
#[must_use]
pub fn cost(n: usize, rows: usize, lanes: usize) -> CarryCost {
    let turns = |k: usize| layers(n, k).iter().map(|width| (rows * width).div_ceil(lanes)).sum::<usize>();
    let chunks =
        (1..=n).filter(|k| n.is_multiple_of(*k) && k.is_power_of_two()).min_by_key(|&k| (turns(k), k)).expect("1");
    let layers = layers(n, chunks);
    CarryCost { chunks, bootstrappings: layers.iter().sum(), layers: layers.len() }
}

/// The tables of one propagation.
struct Tables {
    digit: Table,
    digit_and_carry: Table,
    state: Table,
    last: Table,
}

impl<D: Device> Integers<'_, D> {
    /// Normalizes digit sums from 0 to 6, with a clear carry into the first digit.
    pub(crate) fn propagate_carries(&self, sums: &[Ciphertext<D>], carry: i32) -> Result<Vec<Ciphertext<D>>> {
        let rows = sums.iter().map(Ciphertext::batch).max().unwrap_or(1);
        let chunks = cost(sums.len(), rows, self.lanes).chunks;
        let digit = self.table(|m| m % BASE)?;
        let tables = Tables {
            digit_and_carry: Table::beside(self.params(), &[digit.clone(), self.table(|m| m / BASE)?])?,
            digit,
            state: self.table(|m| if m < 7 { 0 } else { (m - 6).min(2) })?,
            last: self.table(|m| m / 2 % BASE)?,
        };
        let (mut digits, states, carry) = self.ripple(sums, chunks, carry, &tables)?;
        if let Some(carry) = carry {
            let length = sums.len() / chunks;
            let ends: Vec<&Ciphertext<D>> = states.iter().take(chunks - 2).map(|s| &s[length - 1]).collect();
            let carries = self.resolve(carry, &ends)?;
            digits.extend(self.finish(&sums[length..], &states, &carries, &tables.last)?);
        }
        Ok(digits)
    }

    /// Ripples all chunks in parallel. Returns the digits of the first chunk, the states after each digit of the
    /// others, and the first carry.
    #[expect(clippy::type_complexity, reason = "three parts of one step")]
    fn ripple(
        &self,
        sums: &[Ciphertext<D>],
        chunks: usize,
        carry: i32,
        tables: &Tables,
    ) -> Result<(Vec<Ciphertext<D>>, Vec<Vec<Ciphertext<D>>>, Option<Ciphertext<D>>)> {
        let (eval, length) = (self.eval, sums.len() / chunks);
        let (mut digits, mut states, mut over) = (Vec::new(), vec![Vec::new(); chunks - 1], None);
        for i in 0..length {
            let first = match &over {
                None => eval.add_clear(&sums[i], carry),
                Some(over) => eval.add(&sums[i], over)?,
            };
            let alone = i + 1 == sums.len();
            let mut jobs = vec![(first, if alone { &tables.digit } else { &tables.digit_and_carry }.clone())];
            let known = if i + 1 == length { chunks.saturating_sub(2) } else { chunks - 1 };
            for (j, states) in states.iter().enumerate().take(known) {
                jobs.push((self.with_state(&sums[(j + 1) * length + i], states.last())?, tables.state.clone()));
            }
            let mut results = eval.bootstrap_jobs(&jobs)?.into_iter();
            let mut first = results.next().into_iter().flatten();
            digits.extend(first.next());
            over = first.next();
            states.iter_mut().zip(results).for_each(|(states, new)| states.extend(new));
        }
        Ok((digits, states, over))
    }

    /// `2s + t`, with t = 1 before the first digit of a chunk.
    fn with_state(&self, sum: &Ciphertext<D>, state: Option<&Ciphertext<D>>) -> Result<Ciphertext<D>> {
        let twice = self.eval.scale(sum, 2);
        match state {
            None => Ok(self.eval.add_clear(&twice, 1)),
            Some(state) => self.eval.add(&twice, state),
        }
    }

    /// The carries into each chunk, from the given carry into the second one and the states.
    fn resolve(&self, carry: Ciphertext<D>, states: &[&Ciphertext<D>]) -> Result<Vec<Ciphertext<D>>> {
        let mut carries = vec![carry];
        for states in states.chunks(TOGETHER) {
            let mut sum = carries[carries.len() - 1].clone();
            let mut jobs = Jobs::new();
            for (i, state) in (0..).zip(states) {
                sum = self.eval.add(&sum, &self.eval.scale(state, 1 << i))?;
                jobs.push((sum.clone(), self.table(|m| m >> (i + 1) & 1)?));
            }
            carries.extend(self.layer(&jobs)?);
        }
        Ok(carries)
    }

    /// The digits of all chunks but the first.
    fn finish(
        &self,
        sums: &[Ciphertext<D>],
        states: &[Vec<Ciphertext<D>>],
        carries: &[Ciphertext<D>],
        table: &Table,
    ) -> Result<Vec<Ciphertext<D>>> {
        let length = sums.len() / carries.len();
        let job = |(at, sum): (usize, &Ciphertext<D>)| {
            let (chunk, i) = (at / length, at % length);
            let below = i.checked_sub(1).map(|i| &states[chunk][i]);
            Ok((self.eval.add(&self.with_state(sum, below)?, &carries[chunk])?, table.clone()))
        };
        self.layer(&sums.iter().enumerate().map(job).collect::<Result<_>>()?)
    }
}

impl<D: Device> Radix<'_, D> {
    fn add_digits(&self, sums: Result<Vec<Ciphertext<D>>>, carry: i32) -> Result<Self> {
        Ok(self.own.with_digits(self.format, self.own.propagate_carries(&sums?, carry)?))
    }

    /// `self + other`.
    ///
    /// # Errors
    /// [`TfheError`](crate::tfhe::TfheError) for operands of different formats, rows or keys, and for parameters
    /// without enough noise margin.
    pub fn add(&self, other: &Self) -> Result<Self> {
        self.goes_with("add", other)?;
        self.add_digits(self.digits.iter().zip(&other.digits).map(|(a, b)| self.own.eval.add(a, b)).collect(), 0)
    }

    /// `self − other`, computed as the sum with the complement plus 1.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn sub(&self, other: &Self) -> Result<Self> {
        self.goes_with("sub", other)?;
        let other = other.complement();
        self.add_digits(self.digits.iter().zip(&other.digits).map(|(a, b)| self.own.eval.add(a, b)).collect(), 1)
    }

    /// `−self`.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn negated(&self) -> Result<Self> {
        self.add_digits(Ok(self.complement().digits), 1)
    }

    /// `self + value` in all rows.
    ///
    /// # Errors
    /// The errors of [`Self::add`]; [`TfheError::Value`](crate::tfhe::TfheError::Value) for a constant outside the
    /// format.
    ///
    /// # Panics
    /// Never.
    pub fn add_clear(&self, value: i128) -> Result<Self> {
        let digits = self.format.digits_of(value)?;
        let add = |(a, k): (&Ciphertext<D>, u64)| self.own.eval.add_clear(a, i32::try_from(k).expect("a digit"));
        self.add_digits(Ok(self.digits.iter().zip(digits).map(add).collect()), 0)
    }

    /// `self − value` in all rows.
    ///
    /// # Errors
    /// As [`Self::add_clear`].
    pub fn sub_clear(&self, value: i128) -> Result<Self> {
        self.format.digits_of(value)?;
        self.add_clear(Format::wrapped(self.format, -value))
    }
}
