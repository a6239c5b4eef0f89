//! The client's side: the rows of a table, and the exact answer.

use super::{Query, QueryError, Table, answer::Exact, encrypted::Rows};
use crate::{
    client::{Client, Conclusion},
    family::AnswerFound,
    program::Details,
};
use limbwise::scheme::{Bridged, BridgedValues};

/// Data of a query.
#[derive(Clone, Debug)]
pub struct QueryClient {
    program: Query,
    rows: Rows,
    passing: usize,
    /// The rows of each flag.
    flagged: Vec<Vec<bool>>,
    /// The exact sums.
    sums: Vec<Exact>,
}

impl QueryClient {
    /// Values of a table for a program that may have been made for another table.
    ///
    /// # Errors
    /// [`QueryError`]: another number of rows, or values outside the public domains.
    pub fn new(program: &Query, table: &Table) -> Result<Self, QueryError> {
        let question = program.question();
        question.fits(table)?;
        let passing = question.passing(table)?.into_iter().filter(|&row| row).count();
        let (flagged, sums) = (question.flagged(table)?, question.exact(&question.sums(table)?));
        Ok(Self { program: program.clone(), rows: program.rows(table)?, passing, flagged, sums })
    }
}

impl Client for QueryClient {
    type Scheme = Bridged;

    fn values(&self, input: usize) -> BridgedValues {
        let Rows { digits, columns } = &self.rows;
        match digits.get(input) {
            Some(digit) => BridgedValues::Messages(digit.clone()),
            None => {
                let column = &columns[input - digits.len()];
                BridgedValues::Slots(vec![column.iter().map(|&x| x.into()).collect()])
            }
        }
    }

    fn conclude(&self, results: &Vec<BridgedValues>) -> Conclusion<Bridged> {
        let (sums, bits) = self.program.read(results);
        let error = |(bit, &passes): (&f64, &bool)| (bit - f64::from(u8::from(passes))).abs();
        let errors = bits.iter().zip(&self.flagged).flat_map(|(bits, flags)| bits.iter().zip(flags).map(error));
        let errors: Vec<f64> = errors.collect();
        let question = self.program.question();
        let (table, same_rows) = question.compared(&sums, &self.sums);
        let found = AnswerFound {
            answer: table.worst(),
            table: (!question.results.single()).then_some(table),
            rows_passing: self.passing,
            wrong: errors.iter().filter(|&&e| e >= 0.5).count(),
            rows: question.rows,
            compared: errors.len(),
            largest_bit_error: errors.iter().copied().fold(0.0, f64::max),
        };
        let other = "the rows of the answer are not in the exact order: two of them lie closer than the sums are exact, so \
                     ORDER BY and LIMIT may choose another one";
        let warnings = if same_rows { Vec::new() } else { vec![other.into()] };
        Conclusion { found, details: Details::new(), warnings }
    }
}
