//! The client's side: database and query as slots, and what results say.

use super::{LARGEST, MESSAGES, PAYLOAD, READABLE, Similarity, UNIT, Wanted, data::Rows};
use crate::{
    client::{Client, Conclusion},
    family::SlotsFound,
    program::{Ckks, fields},
};
use limbwise::{Complex64, ckks::Precision};
use serde_json::json;
use std::sync::{Arc, OnceLock};

/// Decrypted matches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    pub count: usize,
    /// The rows that match, in order; none where they are only counted.
    pub rows: Vec<usize>,
    pub payloads: Vec<[i16; PAYLOAD]>,
}

/// A whole number that a decrypted one is near to.
fn whole(x: f64) -> Option<i64> {
    let nearest = x.round();
    let near = (x - nearest).abs() <= READABLE && nearest.abs() < 1e9;
    #[expect(clippy::cast_possible_truncation, reason = "a whole number below 10^9")]
    near.then_some(nearest as i64)
}

impl Similarity {
    /// What decrypted slots say.
    ///
    /// # Errors
    /// More matches than were asked for; a row or a count that is between two answers.
    pub(super) fn read(&self, messages: &[Vec<Complex64>]) -> Result<Found, String> {
        match self.task.wanted {
            Wanted::Count => self.read_count(messages),
            Wanted::Payloads => self.read_payloads(messages),
        }
    }

    fn read_count(&self, messages: &[Vec<Complex64>]) -> Result<Found, String> {
        let value = messages[0][0].re * self.layout.capacity() as f64;
        let count = whole(value).and_then(|count| usize::try_from(count).ok());
        let count = count.filter(|&count| count <= self.task.rows).ok_or_else(|| {
            format!(
                "the matches add up to {value:.2}: rows lie within {} of the threshold, and nobody can say whether they match; ask with another threshold or a narrower --margin",
                self.task.margin
            )
        })?;
        Ok(Found { count, ..Found::default() })
    }

    fn read_payloads(&self, messages: &[Vec<Complex64>]) -> Result<Found, String> {
        let flagged = self.layout.flagged();
        let parts = flagged.len();
        let (mut found, undecided) = (Vec::new(), self.task.margin);
        for (part, rows) in flagged.iter().enumerate() {
            for (place, &row) in rows.iter().enumerate() {
                let number = |at: usize| {
                    let z = messages[at / 2 * parts + part][place];
                    if at.is_multiple_of(2) { z.re } else { z.im }
                };
                match whole(number(PAYLOAD)) {
                    Some(0) => {}
                    Some(1) if row < self.task.rows => {
                        let payload: [Option<i16>; PAYLOAD] = std::array::from_fn(|at| {
                            let value = whole(UNIT * number(at)).and_then(|value| i16::try_from(value).ok());
                            value.filter(|value| (0..=LARGEST).contains(value))
                        });
                        if payload.contains(&None) {
                            return Err(format!("row {row} matches, and its payload is no row of whole numbers"));
                        }
                        found.push((row, payload.map(Option::unwrap_or_default)));
                    }
                    _ => {
                        return Err(format!(
                            "row {row} lies within {undecided} of the threshold, and nobody can say whether it matches; ask with another threshold or a narrower --margin"
                        ));
                    }
                }
            }
        }
        let (got, most) = (found.len(), self.task.most);
        if got > most {
            return Err(format!(
                "{got} rows match, and at most {most} were asked for: make keys for more (--matches), or ask with a higher threshold"
            ));
        }
        found.sort_unstable();
        let (rows, payloads) = found.into_iter().unzip();
        Ok(Found { count: got, rows, payloads })
    }

    /// The slots of a payload, as they are encrypted: the flag's place holds one.
    fn packed_payloads(&self, payload: impl Fn(usize) -> Option<[i16; PAYLOAD]>) -> Vec<Vec<Complex64>> {
        let flagged = self.layout.flagged();
        let number = |row: usize, at: usize| match payload(row) {
            Some(_) if at == PAYLOAD => 1.0,
            Some(payload) => f64::from(payload[at]) / UNIT,
            None => 0.0,
        };
        let message = |at: usize| {
            let rows = &flagged[at % flagged.len()];
            let first = at / flagged.len() * 2;
            let mut slots: Vec<Complex64> =
                rows.iter().map(|&row| Complex64::new(number(row, first), number(row, first + 1))).collect();
            slots.resize(self.layout.slots(), Complex64::default());
            slots
        };
        (0..MESSAGES * flagged.len()).map(message).collect()
    }

    /// The clear twin: the results' slots for these cosines, with the same polynomials.
    fn in_clear(&self, rows: &Rows) -> Vec<Vec<Complex64>> {
        let flag = |row: usize| self.step.evaluate(self.task.argument(rows.cosine(row).unwrap_or(0.0)));
        let flagged = self.layout.flagged();
        match self.task.wanted {
            Wanted::Count => {
                let count: f64 = flagged.iter().flatten().map(|&row| flag(row)).sum();
                vec![vec![Complex64::from(count / self.layout.capacity() as f64); self.layout.slots()]]
            }
            Wanted::Payloads => {
                let mut messages = self.packed_payloads(|row| rows.payload(row));
                for (at, message) in messages.iter_mut().enumerate() {
                    for (z, &row) in message.iter_mut().zip(&flagged[at % flagged.len()]) {
                        *z *= flag(row);
                    }
                }
                messages
            }
        }
    }

    /// The rows above the threshold, exactly.
    fn matches(&self, rows: &Rows) -> Vec<usize> {
        (0..self.task.rows).filter(|&row| rows.cosine(row).is_some_and(|cosine| cosine > self.task.threshold)).collect()
    }
}

/// Database and query for a program.
#[derive(Clone, Debug)]
pub struct SearchClient {
    program: Similarity,
    rows: Source,
}

#[derive(Clone, Debug)]
enum Source {
    Given(Arc<Rows>),
    /// Made when they are asked for, because a plan asks for none.
    Seed(u64, Arc<OnceLock<Rows>>),
}

impl SearchClient {
    /// Of rows as many and as long as the program's.
    pub(super) fn new(program: &Similarity, rows: Rows) -> Self {
        Self { program: program.clone(), rows: Source::Given(Arc::new(rows)) }
    }

    /// Of rows from a seed.
    pub(super) fn seeded(program: &Similarity, seed: u64) -> Self {
        Self { program: program.clone(), rows: Source::Seed(seed, Arc::default()) }
    }

    fn rows(&self) -> &Rows {
        match &self.rows {
            Source::Given(rows) => rows,
            Source::Seed(seed, rows) => rows.get_or_init(|| Rows::generated(&self.program.task, *seed)),
        }
    }
}

impl Client for SearchClient {
    type Scheme = Ckks;

    fn values(&self, input: usize) -> Vec<Vec<Complex64>> {
        let (program, rows) = (&self.program, self.rows());
        match input {
            0 => program.layout.database(|row| rows.vector(row)),
            1 => program.layout.query(rows.query(), 0.5 / program.task.range()),
            _ => program.packed_payloads(|row| rows.payload(row)),
        }
    }

    fn conclude(&self, results: &Vec<Vec<Vec<Complex64>>>) -> Conclusion<Ckks> {
        let (program, rows) = (&self.program, self.rows());
        let (wanted, found) = (program.matches(rows), program.read(&results[0]));
        let right = |row: usize, payload: &[i16; PAYLOAD]| rows.payload(row).as_ref() == Some(payload);
        let wrong = match &found {
            Err(_) => program.task.rows,
            Ok(found) if program.task.wanted == Wanted::Count => found.count.abs_diff(wanted.len()),
            Ok(found) => {
                let missing = wanted.iter().filter(|row| !found.rows.contains(row)).count();
                let extra = found.rows.iter().filter(|row| !wanted.contains(row)).count();
                let changed = found.rows.iter().zip(&found.payloads).filter(|(row, p)| !right(**row, p)).count();
                missing + extra + changed
            }
        };
        let clear = program.in_clear(rows).concat();
        Conclusion {
            found: SlotsFound { precision: Precision::of(&results[0].concat(), &clear), accuracy: None },
            details: fields(json!({ "matches": wanted.len(), "compared": program.task.rows, "wrong": wrong })),
            warnings: found.err().into_iter().collect(),
        }
    }
}
