//! Width and sign of encrypted integers, and their digits.

use crate::{error::Result, tfhe::TfheError};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Bits of a digit.
pub const DIGIT_BITS: u32 = 2;
/// Values of a digit.
pub(crate) const BASE: u64 = 1 << DIGIT_BITS;

/// Whether a format has negative values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Sign {
    /// 0 to 2^bits − 1.
    Unsigned,
    /// −2^(bits − 1) to 2^(bits − 1) − 1, in two's complement.
    Signed,
}

/// The format of an integer: 4 to 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Format {
    bits: u32,
    sign: Sign,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}int{}", if self.sign == Sign::Signed { "" } else { "u" }, self.bits)
    }
}

impl Format {
    /// A format with an even number of bits.
    ///
    /// # Errors
    /// [`TfheError::Width`] for fewer than 4 bits, more than 64, or an odd number.
    pub fn new(bits: u32, sign: Sign) -> Result<Self> {
        if !(4..=64).contains(&bits) || !bits.is_multiple_of(DIGIT_BITS) {
            return Err(TfheError::Width(bits).into());
        }
        Ok(Self { bits, sign })
    }

    /// An unsigned format.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn unsigned(bits: u32) -> Result<Self> {
        Self::new(bits, Sign::Unsigned)
    }

    /// A signed format in two's complement.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn signed(bits: u32) -> Result<Self> {
        Self::new(bits, Sign::Signed)
    }

    /// Bit width.
    #[must_use]
    pub fn bits(self) -> u32 {
        self.bits
    }

    /// Signedness.
    #[must_use]
    pub fn sign(self) -> Sign {
        self.sign
    }

    /// Number of digits.
    #[must_use]
    pub fn digits(self) -> usize {
        (self.bits / DIGIT_BITS) as usize
    }

    /// Smallest and largest value.
    #[must_use]
    pub fn range(self) -> (i128, i128) {
        match self.sign {
            Sign::Unsigned => (0, (1 << self.bits) - 1),
            Sign::Signed => (-(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1),
        }
    }

    /// The value of the format that is congruent modulo 2^bits.
    #[must_use]
    pub fn wrapped(self, value: i128) -> i128 {
        let (least, _) = self.range();
        (value - least).rem_euclid(1 << self.bits) + least
    }

    /// The digits of a value, least significant first.
    ///
    /// # Errors
    /// [`TfheError::Value`] for a value outside the range.
    ///
    /// # Panics
    /// Never.
    pub fn digits_of(self, value: i128) -> Result<Vec<u64>> {
        let (least, most) = self.range();
        if !(least..=most).contains(&value) {
            return Err(TfheError::Value { got: value.to_string(), format: self }.into());
        }
        let digit = |i: usize| (value >> (DIGIT_BITS as usize * i)).rem_euclid(BASE.into());
        Ok((0..self.digits()).map(|i| u64::try_from(digit(i)).expect("a digit")).collect())
    }

    /// Messages to encrypt: the least digits of all rows, then the next digits of all rows.
    ///
    /// # Errors
    /// As [`Self::digits_of`].
    pub fn messages(self, values: &[i128]) -> Result<Vec<u64>> {
        let rows = values.iter().map(|&v| self.digits_of(v)).collect::<Result<Vec<_>>>()?;
        Ok((0..self.digits()).flat_map(|i| rows.iter().map(move |row| row[i])).collect())
    }

    /// The values from decrypted messages in that order, each digit reduced modulo the base.
    ///
    /// # Errors
    /// [`TfheError::Rows`] if the messages are no whole number of integers.
    pub fn values(self, messages: &[u64]) -> Result<Vec<i128>> {
        let (got, digits) = (messages.len(), self.digits());
        if got == 0 || got % digits != 0 {
            return Err(TfheError::Rows { got, digits }.into());
        }
        let rows = got / digits;
        let value = |row: usize| {
            (0..digits).rev().fold(0, |sum, i| sum * i128::from(BASE) + i128::from(messages[i * rows + row] % BASE))
        };
        Ok((0..rows).map(|row| self.wrapped(value(row))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_and_back() {
        for (format, values) in [
            (Format::unsigned(64).unwrap(), vec![0, u64::MAX.into(), 0x0123_4567_89ab_cdef]),
            (Format::signed(64).unwrap(), vec![i64::MIN.into(), -1, i64::MAX.into()]),
            (Format::signed(8).unwrap(), vec![-128, -1, 0, 127]),
        ] {
            assert_eq!(format.values(&format.messages(&values).unwrap()).unwrap(), values, "{format}");
        }
        assert_eq!(Format::signed(8).unwrap().digits_of(-2).unwrap(), [2, 3, 3, 3]);
        assert_eq!(Format::unsigned(8).unwrap().messages(&[1, 0x40]).unwrap(), [1, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(Format::signed(8).unwrap().wrapped(200), -56);
    }

    #[test]
    fn mistakes_are_named() {
        let says = |e: crate::Error, wanted: &str| assert!(e.to_string().contains(wanted), "{e}");
        says(Format::unsigned(7).unwrap_err(), "integers of 7 bits: choose an even number from 4 to 64");
        says(Format::signed(8).unwrap().digits_of(128).unwrap_err(), "128 is outside int8's -128 to 127");
        says(Format::unsigned(8).unwrap().values(&[1; 7]).unwrap_err(), "7 messages is no number of integers of 4");
    }
}
