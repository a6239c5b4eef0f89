//! Products modulo 2^bits: products of digits, sums of columns in layers, then one carry propagation.
//!
//! A product of digits takes two bootstrappings, for its low and high digit. A column sums as many digits into one
//! message as fit, five of them. The sum goes through two tables, digit and carry, in one bootstrapping if it is at
//! most 7. Layers repeat until every column sum is at most 6.

use super::{
    format::{BASE, DIGIT_BITS},
    value::{Integers, Jobs, Radix},
};
use crate::{
    error::Result,
    tfhe::{Ciphertext, Table},
};
use limbwise_device::Device;

/// Largest column sum that the carry propagation takes.
const SETTLED: i64 = 6;
/// Largest squared norm of such a sum: the propagation bootstraps twice the sum plus a state and a carry.
pub(crate) const SETTLED_NORM: f64 = 5.0;
/// Largest squared norm of a partial sum in a column.
const COLUMN_NORM: f64 = 24.0;

/// The summands at each digit.
pub(crate) type Columns<D> = Vec<Vec<Ciphertext<D>>>;

/// The columns that receive the outputs of each job.
type Places = Vec<Vec<usize>>;

fn range<D: Device>(items: &[Ciphertext<D>]) -> i64 {
    items.iter().map(|item| item.range().1).sum()
}

fn norm<D: Device>(items: &[Ciphertext<D>]) -> f64 {
    items.iter().map(Ciphertext::norm_squared).sum()
}

impl<D: Device> Integers<'_, D> {
    fn sum(&self, items: &[Ciphertext<D>]) -> Result<Ciphertext<D>> {
        items.iter().skip(1).try_fold(items[0].clone(), |sum, item| self.eval.add(&sum, item))
    }

    /// One layer over all columns that are not settled.
    fn reduce(&self, columns: Columns<D>) -> Result<Columns<D>> {
        let count = columns.len();
        let (digit, carry) = (self.table(|m| m % BASE)?, self.table(|m| m / BASE)?);
        let both = Table::beside(self.params(), &[digit.clone(), carry.clone()])?;
        let (mut jobs, mut places, mut next) = (Jobs::new(), Places::new(), vec![Vec::new(); count]);
        for (at, items) in columns.into_iter().enumerate() {
            if range(&items) <= SETTLED && norm(&items) <= SETTLED_NORM {
                next[at].extend(items);
                continue;
            }
            for group in self.groups(items) {
                let most = range(&group);
                if most <= SETTLED && norm(&group) <= SETTLED_NORM {
                    next[at].extend(group);
                } else if at + 1 == count || most < BASE.cast_signed() {
                    jobs.push((self.sum(&group)?, digit.clone()));
                    places.push(vec![at]);
                } else if most <= 7 {
                    jobs.push((self.sum(&group)?, both.clone()));
                    places.push(vec![at, at + 1]);
                } else {
                    let sum = self.sum(&group)?;
                    jobs.extend([(sum.clone(), digit.clone()), (sum, carry.clone())]);
                    places.extend([vec![at], vec![at + 1]]);
                }
            }
        }
        for (places, results) in places.iter().zip(self.eval.bootstrap_jobs(&jobs)?) {
            places.iter().zip(results).for_each(|(&at, result)| next[at].push(result));
        }
        Ok(next)
    }

    /// Groups items so that each sum fits a message, largest first.
    fn groups(&self, mut items: Vec<Ciphertext<D>>) -> Columns<D> {
        items.sort_by_key(|item| std::cmp::Reverse(item.range().1));
        let room = i64::try_from(self.params().space() - 1).expect("4 message bits");
        let mut groups: Columns<D> = Vec::new();
        for item in items {
            let fits = |group: &&mut Vec<Ciphertext<D>>| {
                range(group) + item.range().1 <= room && norm(group) + item.norm_squared() <= COLUMN_NORM
            };
            match groups.iter_mut().find(fits) {
                Some(group) => group.push(item),
                None => groups.push(vec![item]),
            }
        }
        groups
    }

    /// The number whose column sums these are.
    pub(crate) fn settle(&self, mut columns: Columns<D>, zero: &Ciphertext<D>) -> Result<Vec<Ciphertext<D>>> {
        while columns.iter().any(|items| range(items) > SETTLED || norm(items) > SETTLED_NORM) {
            columns = self.reduce(columns)?;
        }
        let sums = columns.iter().map(|items| if items.is_empty() { Ok(zero.clone()) } else { self.sum(items) });
        self.propagate_carries(&sums.collect::<Result<Vec<_>>>()?, 0)
    }
}

impl<D: Device> Radix<'_, D> {
    /// Multiplies row by row.
    ///
    /// # Errors
    /// [`TfheError`](crate::tfhe::TfheError) for operands of different formats, rows or keys, and for parameters
    /// without enough noise margin.
    pub fn mul(&self, other: &Self) -> Result<Self> {
        self.goes_with("mul", other)?;
        let (own, n) = (self.own, self.digits.len());
        let (a, b) = (self.clean(1.0)?, other.clean(1.0)?);
        let low = Table::of_two(own.params(), DIGIT_BITS, |a, b| a * b % BASE)?;
        let high = Table::of_two(own.params(), DIGIT_BITS, |a, b| a * b / BASE)?;
        let (mut jobs, mut places) = (Jobs::new(), Vec::new());
        for (i, j) in (0..n).flat_map(|i| (0..n - i).map(move |j| (i, j))) {
            let pair = own.pack(&a.digits[i], &b.digits[j])?;
            jobs.push((pair.clone(), low.clone()));
            places.push(i + j);
            if i + j + 1 < n {
                jobs.push((pair, high.clone()));
                places.push(i + j + 1);
            }
        }
        let mut columns: Columns<D> = vec![Vec::new(); n];
        places.into_iter().zip(own.layer(&jobs)?).for_each(|(at, digit)| columns[at].push(digit));
        let zero = own.eval.scale(&a.digits[0], 0);
        Ok(own.with_digits(self.format, own.settle(columns, &zero)?))
    }

    /// Multiplies all rows by a constant: products with clear digits need no bootstrapping.
    ///
    /// # Errors
    /// The errors of [`Self::mul`]; [`TfheError::Value`](crate::tfhe::TfheError::Value) for a constant outside the
    /// format.
    ///
    /// # Panics
    /// Never.
    pub fn mul_clear(&self, value: i128) -> Result<Self> {
        self.format.digits_of(value)?;
        Self::weighted_sum(&[(self, value)])
    }
}
