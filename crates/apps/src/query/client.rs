//! The client's side: the rows of a table, and the exact answer.

use super::{
    Query, QueryError, Table,
    answer::Figures,
    encrypted::{Found, Rows},
};
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
    /// The rows of each selection.
    selected: Vec<Vec<bool>>,
    exact: Figures,
}

impl QueryClient {
    /// Values of a table for a program that may have been made for another table.
    ///
    /// # Errors
    /// [`QueryError`]: another number of rows, or of a public group, or values outside the public domains.
    pub fn new(program: &Query, table: Table) -> Result<Self, QueryError> {
        let question = program.question();
        let table = &question.arranged(table)?;
        question.fits(table)?;
        let passing = question.passing(table)?.into_iter().filter(|&row| row).count();
        let (selected, exact) = (question.selected(table)?, question.exact(table)?);
        Ok(Self { program: program.clone(), rows: program.rows(table)?, passing, selected, exact })
    }
}

impl Client for QueryClient {
    type Scheme = Bridged;

    fn values(&self, input: usize) -> BridgedValues {
        let Rows { messages, columns } = &self.rows;
        match messages.get(input) {
            Some(messages) => BridgedValues::Messages(messages.clone()),
            None => {
                let column = &columns[input - messages.len()];
                BridgedValues::Slots(vec![column.iter().map(|&x| x.into()).collect()])
            }
        }
    }

    fn conclude(&self, results: &Vec<BridgedValues>) -> Conclusion<Bridged> {
        let Found { figures, bits } = self.program.read(results);
        let error = |(bit, &passes): (&f64, &bool)| (bit - f64::from(u8::from(passes))).abs();
        let errors = bits.iter().zip(&self.selected).flat_map(|(bits, rows)| bits.iter().zip(rows).map(error));
        let errors: Vec<f64> = errors.collect();
        let question = self.program.question();
        let (table, same_rows) = question.compared(&figures, &self.exact);
        let other_ends = figures.ends.iter().zip(&self.exact.ends).filter(|(got, wanted)| got != wanted).count();
        let found = AnswerFound {
            answer: table.worst(),
            table: (!question.results.single()).then_some(table),
            rows_passing: self.passing,
            wrong: errors.iter().filter(|&&e| e >= 0.5).count() + other_ends,
            rows: question.rows,
            compared: errors.len() + figures.ends.len(),
            largest_bit_error: errors.iter().copied().fold(0.0, f64::max),
        };
        let other = "the answer has not the exact rows in the exact order: results lie closer to each other, or to a number of \
                     HAVING, than sums are exact";
        let other = (!same_rows).then(|| other.to_owned());
        let warnings = other.into_iter().chain(self.program.decided_by_noise()).collect();
        Conclusion { found, details: Details::new(), warnings }
    }
}
