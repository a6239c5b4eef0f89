//! Choices between integers.

use super::{
    compare::Comparison,
    format::BASE,
    value::{Integers, Radix},
};
use crate::{
    error::Result,
    tfhe::{Boolean, Ciphertext, Table},
};
use limbwise_device::Device;

/// Weight of a choice bit beside a difference of digits, which is 0 to 6 after 3 is added.
pub(crate) const CHOICE: u64 = 8;

/// `yes − no`, digit by digit, where the choice is 8; 0 where it is 0.
pub(crate) fn difference_of<D: Device>(
    own: Integers<'_, D>,
    choice: &Ciphertext<D>,
    (yes, no): (&[Ciphertext<D>], &[Ciphertext<D>]),
) -> Result<Vec<Ciphertext<D>>> {
    let difference = Table::integers(own.params(), |m| match m.checked_sub(CHOICE) {
        Some(m) => m.cast_signed() - 3,
        None => 0,
    })?;
    let job = |(yes, no): (&Ciphertext<D>, &Ciphertext<D>)| {
        let sum = own.eval.add(&own.eval.sub(yes, no)?, choice)?;
        Ok((own.eval.add_clear(&sum, 3), difference.clone()))
    };
    own.layer(&yes.iter().zip(no).map(job).collect::<Result<_>>()?)
}

impl<D: Device> Integers<'_, D> {
    /// Digits of `yes` where the choice is 8, of `no` where it is 0: `no + (choice ? yes − no : 0)`. Their squared norms
    /// are those of `no`, plus 1.
    pub(crate) fn chosen(
        &self,
        choice: &Ciphertext<D>,
        yes: &[Ciphertext<D>],
        no: &[Ciphertext<D>],
    ) -> Result<Vec<Ciphertext<D>>> {
        let parts = difference_of(*self, choice, (yes, no))?;
        no.iter().zip(&parts).map(|(no, part)| self.eval.add(no, part)?.at_most(BASE - 1)).collect()
    }
}

impl<'a, D: Device> Radix<'a, D> {
    /// `choice ? yes : no`, row by row.
    ///
    /// # Errors
    /// [`TfheError`](crate::tfhe::TfheError) for operands of different formats, rows or keys, and for parameters
    /// without enough noise margin.
    pub fn select(choice: &Boolean<'a, D>, yes: &Self, no: &Self) -> Result<Self> {
        yes.goes_with("select", no)?;
        let table = yes.own.table(|m| CHOICE * (m % 2))?;
        yes.select_weighted(&yes.own.eval.bootstrap(choice.ciphertext(), &[table])?, no)
    }

    /// `self` where the choice is 8, `no` where it is 0.
    pub(crate) fn select_weighted(&self, choice: &Ciphertext<D>, no: &Self) -> Result<Self> {
        let digits = self.own.chosen(choice, &self.digits, &no.clean(1.0)?.digits)?;
        Ok(self.own.with_digits(self.format, digits))
    }

    /// The smaller operand, row by row.
    ///
    /// # Errors
    /// As [`Self::select`].
    pub fn min(&self, other: &Self) -> Result<Self> {
        self.select_weighted(&self.compare_weighted(Comparison::Less, other, CHOICE)?, other)
    }

    /// The smaller of each row and a constant.
    ///
    /// # Errors
    /// As [`Self::compare_clear`].
    pub fn min_clear(&self, value: i128) -> Result<Self> {
        self.or_clear(&self.compare_clear_weighted(Comparison::Less, value, CHOICE)?, value)
    }

    /// The larger of each row and a constant.
    ///
    /// # Errors
    /// As [`Self::compare_clear`].
    pub fn max_clear(&self, value: i128) -> Result<Self> {
        self.or_clear(&self.compare_clear_weighted(Comparison::Greater, value, CHOICE)?, value)
    }

    /// `self` where the choice is 8, the constant where it is 0.
    fn or_clear(&self, choice: &Ciphertext<D>, value: i128) -> Result<Self> {
        let (own, clean) = (self.own, self.clean(1.0)?);
        let job = |(a, k): (&Ciphertext<D>, u64)| {
            let table = own.table(|m| m.checked_sub(CHOICE).map_or(k, |digit| digit % BASE))?;
            Ok((own.eval.add(a, choice)?, table))
        };
        clean.map_layer(&clean.digits.iter().zip(self.format.digits_of(value)?).map(job).collect::<Result<_>>()?)
    }

    /// The larger operand, row by row.
    ///
    /// # Errors
    /// As [`Self::select`].
    pub fn max(&self, other: &Self) -> Result<Self> {
        self.select_weighted(&self.compare_weighted(Comparison::Greater, other, CHOICE)?, other)
    }
}
