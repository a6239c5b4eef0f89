//! Sums of many integers: their digits are columns, added up as those of a product are.

use super::{
    format::{BASE, Format},
    multiply::Columns,
    value::{Integers, Radix},
};
use crate::{
    error::Result,
    tfhe::{Boolean, Ciphertext},
};
use limbwise_device::Device;

impl<'a, D: Device> Integers<'a, D> {
    /// The number of booleans that are true, row by row, modulo 2^bits.
    ///
    /// # Errors
    /// [`TfheError`](crate::tfhe::TfheError) for operands of different rows or keys, and for parameters without enough
    /// noise margin.
    ///
    /// # Panics
    /// If there are no booleans.
    pub fn count(&self, format: Format, booleans: &[Boolean<'a, D>]) -> Result<Radix<'a, D>> {
        let bits: Vec<Ciphertext<D>> = booleans.iter().map(|one| one.ciphertext().clone()).collect();
        let zero = self.eval.scale(&bits[0], 0).at_most(0)?;
        // So many digits hold the number.
        let needed = (1..format.digits()).find(|&n| bits.len() < 1 << (2 * n)).unwrap_or(format.digits());
        let mut columns: Columns<D> = vec![Vec::new(); needed];
        columns[0] = bits;
        let mut digits = self.settle(columns, &zero)?;
        digits.resize(format.digits(), zero);
        Ok(self.with_digits(format, digits))
    }
}

impl<D: Device> Radix<'_, D> {
    /// `Σ weightᵢ·xᵢ`, row by row, modulo 2^bits. A weight of 0 costs nothing, one of few bits little.
    ///
    /// # Errors
    /// [`TfheError`](crate::tfhe::TfheError) for operands of different formats, rows or keys, for weights outside the
    /// format, and for parameters without enough noise margin.
    ///
    /// # Panics
    /// If there are no terms.
    pub fn weighted_sum(terms: &[(&Self, i128)]) -> Result<Self> {
        let (first, _) = terms[0];
        let (own, format, n) = (first.own, first.format, first.digits.len());
        let mut columns: Columns<D> = vec![Vec::new(); n];
        let mut constant = 0_i128;
        for &(term, weight) in terms {
            first.goes_with("weighted_sum", term)?;
            format.digits_of(weight)?;
            // −w·x = w·~x + w, so that −1 is as cheap as 1.
            let term = if weight < 0 { term.complement() } else { term.clone() };
            constant = format.wrapped(constant + weight.min(0).abs());
            for (i, factor) in (0..n).map(|i| (i, weight.unsigned_abs() >> (2 * i) & 3)).filter(|(_, f)| *f > 0) {
                let factor = i32::try_from(factor).expect("a digit");
                for (j, digit) in term.digits[..n - i].iter().enumerate() {
                    columns[i + j].push(own.eval.scale(digit, factor));
                }
            }
        }
        for (column, digit) in columns.iter_mut().zip(format.digits_of(constant)?).filter(|(_, digit)| *digit > 0) {
            column.push(own.eval.known(&first.digits[0], &vec![digit; first.rows()])?);
        }
        let zero = own.eval.scale(&first.digits[0], 0).at_most(BASE - 1)?;
        Ok(own.with_digits(format, own.settle(columns, &zero)?))
    }
}
