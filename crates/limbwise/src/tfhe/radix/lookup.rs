//! Tables of encrypted indices.
//!
//! Two digits of the index fill a message, so a table of 16 entries is one bootstrapping for each digit of its values. A
//! table of 256 is 16 such tables, one for each value of the two upper digits: what the lower digits give is kept where
//! the upper ones have that value, and all are added, of which one is not 0. Parts of a table that are alike count once,
//! and parts of one value need no bootstrapping of the lower digits. A fifth digit chooses between four tables of 256.

use super::{
    format::{BASE, DIGIT_BITS, Format, Sign},
    value::{Jobs, NORM, Radix},
};
use crate::{
    error::Result,
    tfhe::{Boolean, Ciphertext, Table, TfheError},
};
use limbwise_device::Device;
use std::collections::{BTreeMap, BTreeSet};

/// Entries of a table at most: five digits of an index.
pub const MOST_ENTRIES: usize = 1 << 10;
/// Entries for one value of the upper digits.
const PART: usize = 16;

impl<D: Device> Radix<'_, D> {
    /// The entries of a table at the indices of all rows, in a format; 0 for indices beyond the table.
    ///
    /// # Errors
    /// [`TfheError::Entries`] for a table without entries, or with more than [`MOST_ENTRIES`]; [`TfheError::SignedIndex`]
    /// for signed indices; [`TfheError::Value`] for an entry outside the format; the errors of
    /// [`Evaluator::bootstrap`](crate::tfhe::Evaluator::bootstrap).
    ///
    /// # Panics
    /// Never.
    pub fn lookup(&self, table: &[i128], format: Format) -> Result<Self> {
        if table.is_empty() || table.len() > MOST_ENTRIES {
            return Err(TfheError::Entries { got: table.len(), most: MOST_ENTRIES }.into());
        }
        if self.format.sign() == Sign::Signed {
            return Err(TfheError::SignedIndex(self.format).into());
        }
        let rows = table.iter().map(|&entry| format.digits_of(entry)).collect::<Result<Vec<_>>>()?;
        let needed = (1..self.digits.len()).find(|&n| table.len() <= 1 << (2 * n)).unwrap_or(self.digits.len());
        let clean = self.clean(1.0)?;
        let column = |i: usize| rows.iter().map(|row| row[i]).collect();
        let columns: Vec<Vec<u64>> = (0..format.digits()).map(column).collect();
        let digits = self.looked_up(&clean.digits[..needed], &columns)?;
        self.within(&clean.digits[needed..], digits, format)
    }

    /// Digits of entries; 0 where one of these upper digits of the index is not.
    fn within(&self, above: &[Ciphertext<D>], digits: Vec<Option<Ciphertext<D>>>, format: Format) -> Result<Self> {
        let own = self.own;
        let zero = own.eval.scale(&self.digits[0], 0).at_most(0)?;
        let whole = |digits: Vec<Option<_>>| digits.into_iter().map(|d| d.unwrap_or_else(|| zero.clone())).collect();
        if above.is_empty() || digits.iter().all(Option::is_none) {
            return Ok(own.with_digits(format, whole(digits)));
        }
        let any = own.table(|m| u64::from(m > 0))?;
        let flags = own.layer(&above.iter().map(|digit| (digit.clone(), any.clone())).collect())?;
        let flags = flags.into_iter().map(|flag| Boolean::new(own.eval, flag)).collect::<Result<Vec<_>>>()?;
        let beyond = Boolean::any(&flags)?;
        let kept = Table::of_two(own.params(), DIGIT_BITS, |beyond, digit| if beyond > 0 { 0 } else { digit })?;
        let job = |digit: &Ciphertext<D>| Ok((own.pack(beyond.ciphertext(), digit)?, kept.clone()));
        let some: Jobs<D> = digits.iter().flatten().map(job).collect::<Result<_>>()?;
        let mut some = own.layer(&some)?.into_iter();
        let digits = digits.into_iter().map(|digit| digit.and_then(|_| some.next())).collect();
        Ok(own.with_digits(format, whole(digits)))
    }

    /// Each digit of the entries, of a norm that later operations take; none if it is 0 in all of them.
    fn looked_up(&self, index: &[Ciphertext<D>], columns: &[Vec<u64>]) -> Result<Vec<Option<Ciphertext<D>>>> {
        let own = self.own;
        match index {
            [low] => self.one(low, columns),
            [low, high] => self.one(&own.pack(high, low)?, columns),
            [low, high, upper] => self.by_parts(&own.pack(high, low)?, upper, columns),
            [low, high, upper, top] => self.by_parts(&own.pack(high, low)?, &own.pack(top, upper)?, columns),
            [lower @ .., top] => {
                let length = 1 << (2 * lower.len());
                let part = |at: usize| -> Vec<Vec<u64>> {
                    columns.iter().map(|column| column.chunks(length).nth(at).unwrap_or(&[]).to_vec()).collect()
                };
                let count = columns.iter().map(|column| column.len().div_ceil(length)).max().unwrap_or(0);
                let found = (0..count).map(|at| self.looked_up(lower, &part(at))).collect::<Result<Vec<_>>>()?;
                let flag = |at: usize| Ok((top.clone(), self.flag(&[at as u64])?));
                let flags = own.layer(&(0..count).map(flag).collect::<Result<Jobs<D>>>()?)?;
                let digit = |i: usize| {
                    let some = found.iter().zip(&flags).filter_map(|(found, flag)| Some((found[i].as_ref()?, flag)));
                    let job = |(found, flag)| Ok((own.eval.add(flag, found)?, self.kept()?));
                    let jobs = some.map(job).collect::<Result<Jobs<D>>>()?;
                    if jobs.is_empty() { Ok(None) } else { self.only_one(own.layer(&jobs)?).map(Some) }
                };
                (0..columns.len()).map(digit).collect()
            }
            [] => unreachable!("an index has two digits at least"),
        }
    }

    /// Digits of the entries at a message.
    fn one(&self, message: &Ciphertext<D>, columns: &[Vec<u64>]) -> Result<Vec<Option<Ciphertext<D>>>> {
        let some = columns.iter().filter(|column| column.iter().any(|&digit| digit > 0));
        let jobs = some.map(|column| Ok((message.clone(), self.own.table(|m| entry(column, m))?)));
        let jobs = jobs.collect::<Result<Jobs<D>>>()?;
        let mut found = if jobs.is_empty() { Vec::new() } else { self.own.layer(&jobs)? }.into_iter();
        let digit = |column: &Vec<u64>| if column.iter().any(|&digit| digit > 0) { found.next() } else { None };
        Ok(columns.iter().map(digit).collect())
    }

    /// Four if the message is one of these.
    fn flag(&self, values: &[u64]) -> Result<Table> {
        self.own.table(|m| if values.contains(&m) { BASE } else { 0 })
    }

    /// The digit of a message of a flag times four and a digit: the digit where the flag is set.
    fn kept(&self) -> Result<Table> {
        Table::of_two(self.own.params(), DIGIT_BITS, |flag, digit| if flag > 0 { digit } else { 0 })
    }

    /// The sum of digits of which at most one is not 0.
    fn only_one(&self, mut parts: Vec<Ciphertext<D>>) -> Result<Ciphertext<D>> {
        let (own, same) = (self.own, self.own.table(|m| m % BASE)?);
        // Two bootstrapped ones are always added, as in `Boolean::any`.
        let most = own.params().literal().norm.powi(2).max(2.0);
        loop {
            let mut sums: Vec<Ciphertext<D>> = Vec::new();
            for part in parts {
                match sums.last_mut() {
                    Some(sum) if sum.norm_squared() + part.norm_squared() <= most => {
                        *sum = own.eval.add(sum, &part)?.at_most(BASE - 1)?;
                    }
                    _ => sums.push(part),
                }
            }
            if sums.len() == 1 && sums[0].norm_squared() <= NORM {
                return Ok(sums.swap_remove(0));
            }
            parts = own.layer(&sums.into_iter().map(|sum| (sum, same.clone())).collect())?;
        }
    }

    /// Digits of the entries at a lower and an upper message.
    fn by_parts(
        &self,
        low: &Ciphertext<D>,
        high: &Ciphertext<D>,
        columns: &[Vec<u64>],
    ) -> Result<Vec<Option<Ciphertext<D>>>> {
        let own = self.own;
        let divided: Vec<Parts<'_>> = columns.iter().map(|column| Parts::of(column)).collect();
        // What is read of either message, each once.
        let lows: BTreeSet<&[u64]> = divided.iter().flat_map(|one| one.parts.keys().copied()).collect();
        let flags: BTreeSet<&[u64]> = divided.iter().flat_map(|one| one.parts.values().map(|at| &at[..])).collect();
        let constants: BTreeSet<&[u64]> = divided.iter().filter_map(Parts::constant).collect();
        let mut jobs = Jobs::new();
        for part in &lows {
            jobs.push((low.clone(), own.table(|m| entry(part, m))?));
        }
        for uppers in &flags {
            jobs.push((high.clone(), self.flag(uppers)?));
        }
        for constants in &constants {
            jobs.push((high.clone(), own.table(|m| entry(constants, m))?));
        }
        let mut found = if jobs.is_empty() { Vec::new() } else { own.layer(&jobs)? }.into_iter();
        let lows: BTreeMap<_, _> = lows.into_iter().zip(&mut found).collect();
        let flags: BTreeMap<_, _> = flags.into_iter().zip(&mut found).collect();
        let constants: BTreeMap<_, _> = constants.into_iter().zip(found).collect();
        let digit = |one: &Parts<'_>| {
            let job = |(part, uppers): (&&[u64], &Vec<u64>)| {
                Ok((own.eval.add(&flags[&uppers[..]], &lows[part])?, self.kept()?))
            };
            let masked: Jobs<D> = one.parts.iter().map(job).collect::<Result<_>>()?;
            let mut all = if masked.is_empty() { Vec::new() } else { own.layer(&masked)? };
            all.extend(one.constant().map(|entries| constants[entries].clone()));
            if all.is_empty() { Ok(None) } else { self.only_one(all).map(Some) }
        };
        divided.iter().map(digit).collect()
    }
}

/// The entry at a message; 0 beyond.
fn entry(entries: &[u64], m: u64) -> u64 {
    usize::try_from(m).ok().and_then(|m| entries.get(m)).copied().unwrap_or(0)
}

/// A column in parts of 16 entries.
struct Parts<'c> {
    /// Of each part that is not one value, the values of the upper message where it stands.
    parts: BTreeMap<&'c [u64], Vec<u64>>,
    /// For each value of the upper message the value of the others.
    constants: [u64; PART],
}

impl<'c> Parts<'c> {
    fn of(column: &'c [u64]) -> Self {
        let (mut parts, mut constants) = (BTreeMap::<&[u64], Vec<u64>>::new(), [0; PART]);
        for (upper, part) in column.chunks(PART).enumerate() {
            if part.len() == PART && part.iter().all(|digit| *digit == part[0]) {
                constants[upper] = part[0];
            } else if part.iter().any(|&digit| digit > 0) {
                parts.entry(part).or_default().push(upper as u64);
            }
        }
        Self { parts, constants }
    }

    /// What the parts of one value give; none if that is 0 everywhere.
    fn constant(&self) -> Option<&[u64]> {
        self.constants.iter().any(|&digit| digit > 0).then_some(&self.constants[..])
    }
}
