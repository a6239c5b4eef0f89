//! Shifts by encrypted numbers of bits: a choice for each bit of the number.

use super::{
    bits::Shift,
    format::{BASE, DIGIT_BITS},
    select::CHOICE,
    value::{Jobs, NORM, Radix},
};
use crate::{
    error::Result,
    tfhe::{Boolean, Ciphertext, Table},
};
use limbwise_device::Device;

impl<'a, D: Device> Radix<'a, D> {
    /// `self · 2^by` row by row; 0 from the bit width on. A negative number of bits counts as a large one.
    ///
    /// # Errors
    /// [`TfheError`](crate::tfhe::TfheError) for operands of different rows or keys, and for parameters without enough
    /// noise margin.
    pub fn shifted_left_by(&self, by: &Self) -> Result<Self> {
        self.shifted_by(Shift::Left, by)
    }

    /// `⌊self / 2^by⌋` row by row; 0, or −1 for negative integers, from the bit width on. A negative number of bits
    /// counts as a large one.
    ///
    /// # Errors
    /// As [`Self::shifted_left_by`].
    pub fn shifted_right_by(&self, by: &Self) -> Result<Self> {
        self.shifted_by(Shift::Right, by)
    }

    fn shifted_by(&self, shift: Shift, by: &Self) -> Result<Self> {
        let own = self.own;
        // Bits of the number that count; any above them shift everything out.
        let stages = (self.format.bits().next_power_of_two().ilog2() as usize).min(2 * by.digits.len());
        let bit = |m: u64, at: usize| ((m % BASE) >> (at % 2)) & 1;
        let job = |at: usize| Ok((by.digits[at / 2].clone(), own.table(|m| CHOICE * bit(m, at))?));
        let choices = own.layer(&(0..stages).map(job).collect::<Result<Jobs<D>>>()?)?;
        let mut all = match self.out_of_reach(by, stages)? {
            None => self.clone(),
            Some(out) => self.filled(shift, &out)?,
        };
        for (at, choice) in choices.iter().enumerate() {
            all = if at == 0 { all.clean(1.0)? } else { all };
            let moved = all.shifted(shift, 1 << at)?;
            let digits = own.chosen(choice, &moved.digits, &all.digits)?;
            all = own.with_digits(self.format, digits);
        }
        all.clean(NORM)
    }

    /// Whether the number of bits has one from bit `stages` on; none if it cannot.
    fn out_of_reach(&self, by: &Self, stages: usize) -> Result<Option<Boolean<'a, D>>> {
        let (own, first) = (self.own, stages / DIGIT_BITS as usize);
        let job = |at: usize| {
            let from = stages.saturating_sub(2 * at).min(2);
            Ok((by.digits[at].clone(), own.table(|m| u64::from((m % BASE) >> from > 0))?))
        };
        let flags = own.layer(&(first..by.digits.len()).map(job).collect::<Result<Jobs<D>>>()?);
        if first == by.digits.len() {
            return Ok(None);
        }
        let flags = flags?.into_iter().map(|flag| Boolean::new(own.eval, flag)).collect::<Result<Vec<_>>>()?;
        Boolean::any(&flags).map(Some)
    }

    /// What a shift leaves of all digits where everything is shifted out, the integers elsewhere.
    fn filled(&self, shift: Shift, out: &Boolean<'a, D>) -> Result<Self> {
        let own = self.own;
        let fill = match shift {
            Shift::Right => self.fill()?,
            Shift::Left | Shift::RotateLeft | Shift::RotateRight => own.eval.scale(&self.digits[0], 0).at_most(0)?,
        };
        if fill.range() == (0, 0) {
            let kept = Table::of_two(own.params(), DIGIT_BITS, |out, digit| if out > 0 { 0 } else { digit })?;
            let job = |digit: &Ciphertext<D>| Ok((own.pack(out.ciphertext(), digit)?, kept.clone()));
            return self.map_layer(&self.digits.iter().map(job).collect::<Result<_>>()?);
        }
        let choice = own.eval.bootstrap(out.ciphertext(), &[own.table(|m| CHOICE * (m % 2))?])?;
        let fill = vec![fill; self.digits.len()];
        own.with_digits(self.format, fill).select_weighted(&choice, self)
    }
}
