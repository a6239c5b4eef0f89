//! Bitwise operations, shifts and rotations.

use super::{
    format::{BASE, DIGIT_BITS, Sign},
    value::{Jobs, Radix},
};
use crate::{
    error::Result,
    tfhe::{Ciphertext, Table, TfheError},
};
use limbwise_device::Device;

/// A bitwise function of two integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bitwise {
    /// a ∧ b.
    And,
    /// a ∨ b.
    Or,
    /// a ⊕ b.
    Xor,
}

impl Bitwise {
    /// The function on two clear words.
    #[must_use]
    pub fn apply(self, a: u64, b: u64) -> u64 {
        match self {
            Self::And => a & b,
            Self::Or => a | b,
            Self::Xor => a ^ b,
        }
    }
}

/// Direction of a shift or rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shift {
    /// To higher bits; zeros are shifted in.
    Left,
    /// To lower bits; zeros are shifted in, or sign bits for signed integers.
    Right,
    /// To higher bits, cyclically.
    RotateLeft,
    /// To lower bits, cyclically.
    RotateRight,
}

impl<D: Device> Radix<'_, D> {
    /// Complements all bits: 2^bits − 1 − a. No bootstrapping.
    #[must_use]
    pub fn complement(&self) -> Self {
        let eval = self.own.eval;
        let digit = |a: &Ciphertext<D>| eval.add_clear(&eval.scale(a, -1), 3);
        self.own.with_digits(self.format, self.digits.iter().map(digit).collect())
    }

    /// Applies a bitwise function row by row.
    ///
    /// # Errors
    /// [`TfheError`] for operands of different formats, rows or keys, and for parameters without enough noise margin.
    pub fn bitwise(&self, f: Bitwise, other: &Self) -> Result<Self> {
        self.goes_with("bitwise", other)?;
        let (a, b) = (self.clean(1.0)?, other.clean(1.0)?);
        let table = Table::of_two(self.own.params(), DIGIT_BITS, |a, b| f.apply(a, b))?;
        let job = |(a, b)| Ok((self.own.pack(a, b)?, table.clone()));
        self.map_layer(&a.digits.iter().zip(&b.digits).map(job).collect::<Result<_>>()?)
    }

    /// Applies a bitwise function to all rows and a constant.
    ///
    /// # Errors
    /// The errors of [`Self::bitwise`]; [`TfheError::Value`] for a constant outside the format.
    pub fn bitwise_clear(&self, f: Bitwise, value: i128) -> Result<Self> {
        let digits = self.format.digits_of(value)?;
        let job = |(a, k): (&Ciphertext<D>, u64)| Ok((a.clone(), self.own.table(|m| f.apply(m % BASE, k))?));
        self.map_layer(&self.digits.iter().zip(digits).map(job).collect::<Result<_>>()?)
    }

    /// The digits to shift in from above: 3 for negative integers, else 0.
    pub(crate) fn fill(&self) -> Result<Ciphertext<D>> {
        let top = &self.digits[self.digits.len() - 1];
        match self.format.sign() {
            Sign::Unsigned => self.own.eval.scale(top, 0).at_most(0),
            Sign::Signed => self.own.eval.bootstrap(top, &[self.own.table(|m| if m & 2 == 0 { 0 } else { 3 })?]),
        }
    }

    /// Shifts or rotates by a clear number of bits.
    ///
    /// # Errors
    /// [`TfheError::Shift`] for the bit width or more; those of [`Evaluator::bootstrap`](crate::tfhe::Evaluator).
    pub fn shifted(&self, shift: Shift, by: u32) -> Result<Self> {
        let bits = self.format.bits();
        if by >= bits {
            return Err(TfheError::Shift { got: by, bits }.into());
        }
        match shift {
            Shift::Left => self.move_up(by, &self.own.eval.scale(&self.digits[0], 0)),
            Shift::RotateLeft => self.rotate(by),
            Shift::RotateRight => self.rotate((bits - by) % bits),
            Shift::Right if by == 0 => Ok(self.clone()),
            Shift::Right => self.move_down(by),
        }
    }

    /// Each digit i joined with the upper bit of the digit below it, for shifts by an odd number of bits.
    fn half_up(&self, digits: &[Ciphertext<D>], below: &Ciphertext<D>) -> Result<Self> {
        let table = Table::of_two(self.own.params(), DIGIT_BITS, |a, below| (2 * a + below / 2) % BASE)?;
        let belows = std::iter::once(below).chain(digits);
        let job = |(a, below)| Ok((self.own.pack(a, below)?, table.clone()));
        self.map_layer(&digits.iter().zip(belows).map(job).collect::<Result<Jobs<D>>>()?)
    }

    fn move_up(&self, by: u32, zero: &Ciphertext<D>) -> Result<Self> {
        let clean = if by % 2 == 1 { self.clean(1.0)? } else { self.clone() };
        let whole = (by / DIGIT_BITS) as usize;
        let kept = &clean.digits[..clean.digits.len() - whole];
        let upper = if by % 2 == 1 { self.half_up(kept, zero)?.digits } else { kept.to_vec() };
        let digits = std::iter::repeat_n(zero.clone(), whole).chain(upper).collect();
        Ok(self.own.with_digits(self.format, digits))
    }

    fn rotate(&self, by: u32) -> Result<Self> {
        let mut clean = if by % 2 == 1 { self.clean(1.0)? } else { self.clone() };
        clean.digits.rotate_right((by / DIGIT_BITS) as usize);
        match by % 2 {
            0 => Ok(clean),
            _ => self.half_up(&clean.digits, &clean.digits[clean.digits.len() - 1]),
        }
    }

    fn move_down(&self, by: u32) -> Result<Self> {
        let clean = if by % 2 == 1 { self.clean(1.0)? } else { self.clone() };
        let (whole, count) = ((by / DIGIT_BITS) as usize, clean.digits.len());
        let signed = self.format.sign() == Sign::Signed;
        let mut jobs = Jobs::new();
        if by % 2 == 1 {
            let down = Table::of_two(self.own.params(), DIGIT_BITS, |above, a| a / 2 + above % 2 * 2)?;
            for i in whole..count - 1 {
                jobs.push((self.own.pack(&clean.digits[i + 1], &clean.digits[i])?, down.clone()));
            }
            let top = self.own.table(|m| (m % BASE / 2) | if signed { m & 2 } else { 0 })?;
            jobs.push((clean.digits[count - 1].clone(), top));
        }
        let fill = self.own.eval.scale(&clean.digits[count - 1], 0);
        let filled = signed && whole > 0;
        if filled {
            jobs.push((clean.digits[count - 1].clone(), self.own.table(|m| if m & 2 == 0 { 0 } else { 3 })?));
        }
        let mut made = if jobs.is_empty() { Vec::new() } else { self.own.layer(&jobs)? };
        let fill = if filled { made.pop().unwrap_or(fill) } else { fill };
        let mut digits = if by % 2 == 1 { made } else { clean.digits[whole..].to_vec() };
        digits.resize(count, fill);
        Ok(self.own.with_digits(self.format, digits))
    }
}
