//! The client's side: numbers to sort, and what became of their order.

use super::{Sort, Task};
use crate::{
    client::{Client, Conclusion},
    family::SlotsFound,
    program::{Ckks, fields},
};
use limbwise::{Complex64, ckks::Precision};
use serde_json::json;

/// Numbers with the columns that move along.
#[derive(Clone, Debug)]
pub struct SortClient {
    program: Sort,
    /// `columns[column][number]`; the first is sorted.
    columns: Vec<Vec<f64>>,
}

impl SortClient {
    /// Numbers for a program.
    pub fn new(program: &Sort, columns: Vec<Vec<f64>>) -> Result<Self, String> {
        let Task { count, least, most, sizes, .. } = program.task();
        let (got, wanted) = ((columns.first().map_or(0, Vec::len), columns.len()), (*count, 1 + sizes.len()));
        if got != wanted || columns.iter().any(|column| column.len() != *count) {
            return Err(format!(
                "got {} rows of {} columns; the program is for {count} of {}",
                got.0,
                got.1,
                1 + sizes.len()
            ));
        }
        for (at, column) in columns.iter().enumerate() {
            let (least, most) = if at == 0 { (*least, *most) } else { (-sizes[at - 1], sizes[at - 1]) };
            if let Some(row) = column.iter().position(|x| !(least..=most).contains(x)) {
                return Err(format!(
                    "row {}, column {}: {} is not in the range from {least} to {most}; give a range with --from and --to that holds all numbers, or clean the data",
                    row + 1,
                    at + 1,
                    column[row]
                ));
            }
        }
        Ok(Self { program: program.clone(), columns })
    }

    /// The order in which the rows should come.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.columns[0].len()).collect();
        let key = |&row: &usize| self.columns[0][row];
        order.sort_by(|a, b| key(a).total_cmp(&key(b)));
        if self.program.task().descending {
            order.reverse();
        }
        order
    }
}

/// Pairs of positions whose numbers differ by more than the gap and came in the wrong order.
fn wrong_pairs(sorted: &[f64], got: &[f64], gap: f64) -> usize {
    let pairs = |i: usize| (i + 1..sorted.len()).filter(move |&j| (sorted[i] - sorted[j]).abs() > gap);
    let wrong = |i: usize, j: usize| (got[j] - got[i]) * (sorted[j] - sorted[i]) <= 0.0;
    (0..sorted.len()).map(|i| pairs(i).filter(|&j| wrong(i, j)).count()).sum()
}

impl Client for SortClient {
    type Scheme = Ckks;

    fn values(&self, _input: usize) -> Vec<Vec<Complex64>> {
        let rows = self.program.pack(&self.columns);
        rows.into_iter().map(|row| row.into_iter().map(Complex64::from).collect()).collect()
    }

    fn conclude(&self, results: &Vec<Vec<Vec<Complex64>>>) -> Conclusion<Ckks> {
        let mut twin = self.program.pack(&self.columns);
        self.program.in_clear(&mut twin);
        let twin: Vec<Complex64> = twin.into_iter().flatten().map(Complex64::from).collect();
        let rows: Vec<Vec<f64>> = results[0].iter().map(|row| row.iter().map(|z| z.re).collect()).collect();
        let (got, order) = (self.program.unpack(&rows), self.order());
        let sorted: Vec<Vec<f64>> =
            self.columns.iter().map(|column| order.iter().map(|&row| column[row]).collect()).collect();
        let worst = |(got, wanted): (&Vec<f64>, &Vec<f64>)| {
            got.iter().zip(wanted).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
        };
        let errors: Vec<f64> = got.iter().zip(&sorted).map(worst).collect();
        let wrong = wrong_pairs(&sorted[0], &got[0], self.program.task().gap);
        let mut warnings = Vec::new();
        if wrong > 0 {
            warnings.push(format!("{wrong} pairs of numbers further apart than the gap are in the wrong order"));
        }
        Conclusion {
            found: SlotsFound { precision: Precision::of(&results[0].concat(), &twin), accuracy: None },
            details: fields(json!({ "wrong_pairs": wrong, "largest_error": errors[0], "largest_errors": errors })),
            warnings,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_within_the_gap_may_change_places() {
        let sorted = [0.1, 0.2, 0.21, 0.9];
        assert_eq!(wrong_pairs(&sorted, &[0.1, 0.21, 0.2, 0.9], 0.05), 0);
        assert_eq!(wrong_pairs(&sorted, &[0.1, 0.21, 0.2, 0.9], 0.001), 1);
        assert_eq!(wrong_pairs(&sorted, &[0.2, 0.1, 0.21, 0.9], 0.05), 1);
        let down = [0.9, 0.2, 0.1];
        assert_eq!((wrong_pairs(&down, &down, 0.05), wrong_pairs(&down, &[0.1, 0.2, 0.9], 0.05)), (0, 3));
    }
}
