//! Small encrypted integers: half of the message bits hold the integer, the other half the carries of sums.

use super::{bootstrap::Evaluator, ciphertext::Ciphertext, error::TfheError, table::Table};
use crate::error::Result;
use limbwise_device::Device;
use std::ops::{Add, Mul, Sub};

/// A batch of integers modulo 2^bits with its evaluator; `bits` is half of the parameters' message bits. Sums leave
/// their carries in the upper half until an operation needs the room.
pub struct Integer<'a, D: Device> {
    eval: Evaluator<'a, D>,
    ct: Ciphertext<D>,
    bits: u32,
}

impl<D: Device> Clone for Integer<'_, D> {
    fn clone(&self) -> Self {
        Self { eval: self.eval, ct: self.ct.clone(), ..*self }
    }
}

impl<'a, D: Device> Integer<'a, D> {
    /// Wraps messages below 2^bits.
    ///
    /// # Errors
    /// [`TfheError::Message`] if the message bits are odd: then no half is left for carries.
    pub fn new(eval: Evaluator<'a, D>, ct: Ciphertext<D>) -> Result<Self> {
        let all = eval.params().literal().message_bits;
        if all % 2 == 1 {
            return Err(TfheError::Message { got: 1 << all, most: eval.params().space() - 1 }.into());
        }
        Ok(Self { eval, ct: ct.at_most((1 << (all / 2)) - 1)?, bits: all / 2 })
    }

    /// The underlying ciphertext.
    #[must_use]
    pub fn ciphertext(&self) -> &Ciphertext<D> {
        &self.ct
    }

    /// Bit width of the integers.
    #[must_use]
    pub fn bits(&self) -> u32 {
        self.bits
    }

    fn modulus(&self) -> u64 {
        1 << self.bits
    }

    fn most(&self) -> i64 {
        self.modulus().cast_signed() - 1
    }

    fn with(&self, ct: Ciphertext<D>) -> Self {
        Self { ct, ..self.clone() }
    }

    /// Applies a function to each integer.
    ///
    /// # Errors
    /// Those of [`Evaluator::bootstrap`]; [`TfheError::Message`] for a function value beyond the message space.
    pub fn map(&self, f: impl Fn(u64) -> u64) -> Result<Self> {
        let modulus = self.modulus();
        let table = Table::of(self.eval.params(), |m| f(m % modulus))?;
        Ok(self.with(self.eval.bootstrap(&self.ct, &[table])?))
    }

    /// The carry of a sum, and the integer without it: one blind rotation if the noise allows, else two.
    ///
    /// # Errors
    /// Those of [`Evaluator::bootstrap`].
    pub fn carry(&self) -> Result<(Self, Self)> {
        let (params, bits, modulus) = (self.eval.params(), self.bits, self.modulus());
        let tables = [Table::of(params, |m| m >> bits)?, Table::of(params, |m| m % modulus)?];
        let both = match self.eval.bootstrap_many(&self.ct, &tables) {
            Ok(both) => both,
            Err(crate::Error::Tfhe(TfheError::Noise { .. } | TfheError::Together { .. })) => {
                let one = |table: &Table| self.eval.bootstrap(&self.ct, std::slice::from_ref(table));
                vec![one(&tables[0])?, one(&tables[1])?]
            }
            Err(other) => return Err(other),
        };
        let [carry, rest] = <[_; 2]>::try_from(both).map_err(|_| TfheError::Together { got: 2, most: 1 })?;
        Ok((self.with(carry), self.with(rest)))
    }

    /// The same integers with empty carry bits.
    ///
    /// # Errors
    /// Those of [`Evaluator::bootstrap`].
    pub fn extract_message(&self) -> Result<Self> {
        if self.ct.range().1 <= self.most() && self.ct.norm_squared() <= 1.0 {
            Ok(self.clone())
        } else {
            self.map(|m| m)
        }
    }

    /// Applies a function to pairs of integers.
    ///
    /// # Errors
    /// As [`Self::map`].
    ///
    /// # Panics
    /// Never.
    pub fn map_two(&self, other: &Self, f: impl Fn(u64, u64) -> u64) -> Result<Self> {
        let (a, b) = (self.extract_message()?, other.extract_message()?);
        let table = Table::of_two(self.eval.params(), self.bits, f)?;
        let weight = i32::try_from(self.modulus()).expect("at most 5 bits");
        let pair = self.eval.add(&self.eval.scale(&a.ct, weight), &b.ct)?;
        Ok(self.with(self.eval.bootstrap(&pair, &[table])?))
    }

    /// 1 where the integers are equal, else 0.
    ///
    /// # Errors
    /// As [`Self::map`].
    pub fn equals(&self, other: &Self) -> Result<Self> {
        self.map_two(other, |a, b| u64::from(a == b))
    }

    /// 1 where this integer is less, else 0.
    ///
    /// # Errors
    /// As [`Self::map`].
    pub fn less_than(&self, other: &Self) -> Result<Self> {
        self.map_two(other, |a, b| u64::from(a < b))
    }
}

/// The sum with its carries. Operands are cleaned first if the sum would not fit.
impl<'a, D: Device> Add for &Integer<'a, D> {
    type Output = Result<Integer<'a, D>>;
    fn add(self, other: Self) -> Self::Output {
        let room = self.eval.params().space() - 1;
        let sum = self.eval.add(&self.ct, &other.ct)?;
        let norm = self.eval.params().literal().norm;
        let fits = sum.range().1.cast_unsigned() <= room && sum.norm_squared() <= norm * norm;
        if fits {
            return Ok(self.with(sum));
        }
        Ok(self.with(self.eval.add(&self.extract_message()?.ct, &other.extract_message()?.ct)?))
    }
}

/// The difference modulo 2^bits with its carries: a + 2^bits − b.
impl<'a, D: Device> Sub for &Integer<'a, D> {
    type Output = Result<Integer<'a, D>>;
    fn sub(self, other: Self) -> Self::Output {
        let (a, b) = (self.extract_message()?, other.extract_message()?);
        let lifted = self.eval.add_clear(&a.ct, i32::try_from(self.modulus()).expect("at most 5 bits"));
        Ok(self.with(self.eval.sub(&lifted, &b.ct)?))
    }
}

/// The product modulo 2^bits.
impl<'a, D: Device> Mul for &Integer<'a, D> {
    type Output = Result<Integer<'a, D>>;
    fn mul(self, other: Self) -> Self::Output {
        let modulus = self.modulus();
        self.map_two(other, |a, b| a * b % modulus)
    }
}
