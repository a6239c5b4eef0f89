//! The client's side: the rows of a table, and the exact answer.

use super::{Query, QueryError, Table, encrypted::Rows, table::Kind};
use crate::{
    client::{Client, Conclusion},
    family::{AnswerFound, Compared},
    program::Details,
};
use limbwise::scheme::{Bridged, BridgedValues};

/// Data of a query.
#[derive(Clone, Debug)]
pub struct QueryClient {
    program: Query,
    rows: Rows,
    passing: Vec<bool>,
    /// The exact answer, in units of its last digit.
    answer: i128,
}

impl QueryClient {
    /// Values of a table for a program that may have been made for another table.
    ///
    /// # Errors
    /// [`QueryError`]: another number of rows, or values outside the public domains.
    pub fn new(program: &Query, table: &Table) -> Result<Self, QueryError> {
        let question = program.question();
        question.fits(table)?;
        let (rows, passing, answer) = (program.rows(table)?, question.passing(table)?, question.answer(table)?);
        Ok(Self { program: program.clone(), rows, passing, answer })
    }

    /// Compares a decrypted sum with the exact one, which is printed from integers.
    fn compared(&self, sum: f64) -> Compared {
        let (exact, digits) = (self.answer, self.program.question().digits());
        let units = sum * self.program.unit();
        let wanted = exact as f64;
        let relative_error = (units - wanted).abs() / if exact == 0 { 1.0 } else { wanted.abs() };
        let written = i64::try_from(exact).map_or_else(|_| exact.to_string(), |exact| Kind::Number(digits).show(exact));
        Compared { decrypted: units * 10f64.powi(-digits.cast_signed()), exact: written, relative_error }
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
        let [BridgedValues::Slots(sum), BridgedValues::Slots(bits)] = &results[..] else {
            unreachable!("a question has two results on slots")
        };
        let bits = self.program.by_row(&bits[0]);
        let error = |(bit, &passes): (&f64, &bool)| (bit - f64::from(u8::from(passes))).abs();
        let errors: Vec<f64> = bits.iter().zip(&self.passing).map(error).collect();
        let found = AnswerFound {
            answer: self.compared(sum[0][0].re),
            rows_passing: self.passing.iter().filter(|&&row| row).count(),
            wrong: errors.iter().filter(|&&e| e >= 0.5).count(),
            rows: errors.len(),
            largest_bit_error: errors.iter().copied().fold(0.0, f64::max),
        };
        Conclusion { found, details: Details::new(), warnings: Vec::new() }
    }
}
