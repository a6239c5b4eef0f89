//! The least or the largest value of selected rows, bit by bit in TFHE.
//!
//! From the highest bit on: where any row that is still in the race has a 1, the largest value has one, and rows with a 0
//! leave. Let y be 1 for a row in the race and at most 0 for any other, b its bit, t = \[y + b = 2\], and s whether t is 1 in
//! any row: s is the result's bit, and y + t − s is the next y. So a bit takes one bootstrapping a row; s is an OR over rows, a
//! tree of sums of as many rows as the parameters' norm allows. y is a sum of bootstrapped bits, whose noise and range grow:
//! it is renewed by one more bootstrapping, y := \[y = 1\], before it has no room. The least value is that of the complement.

use super::{field::Field, searches::Progress};
use limbwise::tfhe::{Ciphertext, Evaluator, Table, TfheParams};
use limbwise_device::Device;
use serde::Serialize;
use std::ops::Range;

/// Which end of the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Least,
    Largest,
}

/// The least or the largest value of a column among the rows of a selection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extreme {
    /// Number of the selection.
    pub selection: usize,
    pub end: End,
    pub field: Field,
}

/// What a search costs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExtremeSummary {
    pub name: String,
    pub bits: u32,
    /// Bootstrappings of all its rows.
    pub bootstrappings: usize,
}

impl Extreme {
    /// Its name in reports.
    #[must_use]
    pub fn name(&self) -> String {
        let function = match self.end {
            End::Least => "min",
            End::Largest => "max",
        };
        format!("{function} {}", self.field.name)
    }

    /// Bits of a value. A domain of one value has one bit, so that there is something to encrypt.
    #[must_use]
    pub fn bits(&self) -> u32 {
        bits(&self.field)
    }

    /// The extreme of values; without one, what a search among no rows gives.
    #[must_use]
    pub fn of(&self, values: impl Iterator<Item = i64>) -> i64 {
        match self.end {
            End::Least => values.min().unwrap_or(self.field.low + (1 << self.bits()) - 1),
            End::Largest => values.max().unwrap_or(self.field.low),
        }
    }

    /// The value of a search's bits, highest first.
    #[must_use]
    pub fn read(&self, found: &[u64]) -> i64 {
        let bit = |bit: u64| {
            i64::from(match self.end {
                End::Least => bit == 0,
                End::Largest => bit > 0,
            })
        };
        self.field.low.saturating_add(found.iter().take(40).fold(0, |value, &found| value << 1 | bit(found)))
    }
}

/// Bits of a column's values, of one at the least.
fn bits(field: &Field) -> u32 {
    field.bits().max(1)
}

/// The bits of a column's values, highest first, each of all rows: what the client encrypts.
#[must_use]
pub fn spread(field: &Field, values: &[i64]) -> Vec<u64> {
    let bit = |at: u32| values.iter().map(move |value| value.abs_diff(field.low) >> at & 1);
    (0..bits(field)).rev().flat_map(bit).collect()
}

/// A search as steps of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search {
    pub extreme: Extreme,
    /// The rows that are searched.
    pub rows: Range<usize>,
    /// Whether y is renewed before a bit.
    renewed: Vec<bool>,
    /// Rows whose bits are added for an OR.
    together: usize,
}

/// State of a search after some bits.
pub struct Race<D: Device> {
    /// 1 for rows in the race.
    pub y: Ciphertext<D>,
    /// The result's bits so far.
    pub found: Vec<Ciphertext<D>>,
}

impl Search {
    #[must_use]
    pub fn new(extreme: Extreme, rows: Range<usize>, params: &TfheParams) -> Self {
        let literal = params.literal();
        let room = literal.norm * literal.norm;
        let together = (1..params.table_len()).take_while(|&n| n as f64 <= room).last().unwrap_or(1).max(2);
        // y after j bits is a sum of 1 + 2j bootstrapped bits and lies between −j and 1. Its test adds a bit, and the y behind
        // it must be fit to be renewed.
        let fits = |j: u32| f64::from(3 + 2 * j) <= room && (j as usize) + 3 <= params.table_len();
        let mut since = 0;
        let renewed = (0..extreme.bits())
            .map(|_| {
                let renew = !fits(since);
                since = if renew { 1 } else { since + 1 };
                renew
            })
            .collect();
        Self { extreme, rows, renewed, together }
    }

    /// How many bits there are to find.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.renewed.len()
    }

    /// Bootstrappings of the OR over so many rows.
    fn or_cost(&self, rows: usize) -> usize {
        let next = rows.div_ceil(self.together);
        if rows == 1 { 0 } else { next + self.or_cost(next) }
    }

    #[must_use]
    pub fn summary(&self) -> ExtremeSummary {
        let rows = self.rows.len();
        let renewed = self.renewed.iter().filter(|&&renew| renew).count();
        // The selection's bit, each bit of the values, each renewal, and the ORs.
        let bootstrappings = rows * (1 + self.steps() + renewed) + self.steps() * self.or_cost(rows);
        ExtremeSummary { name: self.extreme.name(), bits: self.extreme.bits(), bootstrappings }
    }

    /// Finds the bits that a race has not found. Returns them, highest first, as a batch.
    ///
    /// # Errors
    /// Those of the evaluator and of the journal.
    ///
    /// # Panics
    /// Never: a column has a bit.
    pub fn evaluate<D: Device>(
        &self,
        eval: Evaluator<'_, D>,
        bits: &Ciphertext<D>,
        mut race: Race<D>,
        progress: &mut Progress<'_, D>,
    ) -> limbwise::Result<Ciphertext<D>> {
        let all = bits.batch() / self.steps();
        for number in race.found.len()..self.steps() {
            progress.begins(&self.extreme.name());
            let _region = eval.device().region("search", 0);
            if self.renewed[number] {
                race.y = self.decided(eval, &race.y, number, 1)?;
            }
            let first = number * all;
            let bit = eval.split(bits, first + self.rows.start, first + self.rows.end);
            let bit = match self.extreme.end {
                End::Least => eval.add_clear(&eval.scale(&bit, -1), 1),
                End::Largest => bit,
            };
            let both = eval.add(&race.y, &bit)?;
            let has = self.decided(eval, &both, number, 2)?;
            let any = self.any(eval, &has)?;
            race.y = eval.sub(&eval.add(&race.y, &has)?, &any)?;
            race.found.push(any);
            progress.kept(&race)?;
        }
        eval.stack(&race.found.iter().collect::<Vec<_>>())
    }

    /// Bits since y was renewed.
    fn since(&self, number: usize) -> i32 {
        let since = self.renewed[..number].iter().rev().position(|&renew| renew).map_or(number, |at| at + 1);
        i32::try_from(since).unwrap_or(i32::MAX)
    }

    /// Whether a sum with y is a number: that is y's largest, and after j bits y is −j at the least.
    fn decided<D: Device>(
        &self,
        eval: Evaluator<'_, D>,
        sum: &Ciphertext<D>,
        number: usize,
        wanted: u64,
    ) -> limbwise::Result<Ciphertext<D>> {
        let since = if self.renewed[number] && wanted == 2 { 0 } else { self.since(number) };
        let wanted = wanted + u64::from(since.unsigned_abs());
        let lifted = eval.add_clear(sum, since).at_most(wanted)?;
        eval.bootstrap(&lifted, &[Table::of(eval.params(), |m| u64::from(m == wanted))?])
    }

    /// Whether any row of a batch has a 1. A row may be added twice: an OR does not mind.
    fn any<D: Device>(&self, eval: Evaluator<'_, D>, of: &Ciphertext<D>) -> limbwise::Result<Ciphertext<D>> {
        let mut any = of.clone();
        while any.batch() > 1 {
            let rows = any.batch();
            let next = rows.div_ceil(self.together);
            let mut sum = eval.split(&any, 0, next);
            for first in (next..rows).step_by(next) {
                let first = first.min(rows - next);
                sum = eval.add(&sum, &eval.split(&any, first, first + next))?;
            }
            any = eval.bootstrap(&sum, &[Table::of(eval.params(), |m| u64::from(m > 0))?])?;
        }
        Ok(any)
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::Kind;
    use super::*;

    fn extreme(end: End, bits: u32) -> Extreme {
        let field = Field {
            name: "x".into(),
            kind: Kind::Number(0),
            low: -3,
            high: -4 + (1 << bits),
            categories: Vec::new(),
            null: false,
        };
        Extreme { selection: 0, end, field }
    }

    /// The search's own sums on clear bits: every y lies where its table expects it.
    #[test]
    fn races_end_at_the_extreme() {
        let params = limbwise::tfhe::preset("2-2-p64").unwrap();
        let params = TfheParams::new(&params).unwrap();
        for end in [End::Least, End::Largest] {
            for width in [1, 2, 7, 12, 24] {
                let search = Search::new(extreme(end, width), 0..9, &params);
                let values: Vec<i64> = (0..9).map(|i| (i * i * 977 + i * 31) % (1 << width) - 3).collect();
                let spread = spread(&search.extreme.field, &values);
                let taken = [true, false, true, true, false, true, true, false, true];
                let mut y: Vec<i64> = taken.iter().map(|&taken| i64::from(taken)).collect();
                let mut found = Vec::new();
                for number in 0..search.steps() {
                    if search.renewed[number] {
                        y.iter_mut().for_each(|y| *y = i64::from(*y == 1));
                    }
                    let since = if search.renewed[number] { 0 } else { i64::from(search.since(number)) };
                    let bit = |row: usize| {
                        let bit = spread[number * 9 + row].cast_signed();
                        if end == End::Least { 1 - bit } else { bit }
                    };
                    let has: Vec<i64> = (0..9).map(|row| i64::from(y[row] + bit(row) == 2)).collect();
                    assert!(y.iter().all(|y| (-since..=1).contains(y)), "{y:?} after {since}");
                    assert!(since + 2 < 16 && 2.0 + 2.0 * since as f64 <= 25.0, "{since}");
                    let any = has.iter().copied().max().unwrap();
                    y.iter_mut().zip(&has).for_each(|(y, has)| *y += has - any);
                    found.push(u64::from(any == 1));
                }
                let wanted = search.extreme.of(values.iter().zip(taken).filter_map(|(&v, t)| t.then_some(v)));
                assert_eq!(search.extreme.read(&found), wanted, "{end:?} {width}");
            }
            let none = vec![0; 7];
            assert_eq!(extreme(end, 7).read(&none), extreme(end, 7).of(std::iter::empty()));
        }
    }

    #[test]
    fn a_bit_takes_little_more_than_a_bootstrapping_a_row() {
        let params = TfheParams::new(&limbwise::tfhe::preset("2-2-p64").unwrap()).unwrap();
        let cost = |rows, bits| Search::new(extreme(End::Largest, bits), 0..rows, &params).summary().bootstrappings;
        assert_eq!((cost(1, 5), cost(15, 5), cost(16, 5)), (6, 15 * 6 + 5, 16 * 6 + 5 * 3));
        let each = cost(1024, 24) as f64 / 1024.0;
        assert!((27.0..29.0).contains(&each), "{each} a row");
    }
}
