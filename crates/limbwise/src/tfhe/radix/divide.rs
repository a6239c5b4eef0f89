//! Quotients and remainders: long division, a digit of the quotient at a time.
//!
//! The remainder r so far takes in the next digit of the dividend, so r < 4d. Where r ≥ 2d, 2d is subtracted; then, where
//! r ≥ d, d is. Both answers are a digit of the quotient. Before the w-th digit, r has w digits at most, so r is
//! compared with w digits of the divisor, and with one bit that says whether the divisor has more. The carry out of the
//! subtraction is the comparison.
//!
//! A digit of r that a choice leaves is a sum of two. Three choices pass before it is bootstrapped.

use super::{
    bits::{Bitwise, Shift},
    compare::Comparison,
    format::{BASE, DIGIT_BITS, Format, Sign},
    multiply::SETTLED_NORM,
    select::CHOICE,
    value::{Integers, Jobs, NORM, Radix},
};
use crate::{
    error::Result,
    tfhe::{Boolean, Ciphertext, Gate, Table},
};
use limbwise_device::Device;

/// A divisor times one or two.
struct Multiple<D: Device> {
    digits: Vec<Ciphertext<D>>,
    /// At w: 1 if it has a digit at place w or above that is not 0, or if the divisor is 0.
    above: Vec<Ciphertext<D>>,
}

/// A divisor without a sign.
struct Divisor<D: Device> {
    once: Multiple<D>,
    twice: Multiple<D>,
    /// 1 if it is not 0.
    some: Ciphertext<D>,
    /// Digits that it can have.
    most: usize,
}

/// The absolute value of a divisor, and where it is negative; nowhere in the shorter cases.
struct Signed<'a, D: Device> {
    size: Divisor<D>,
    absolute: Radix<'a, D>,
    negative: Option<Boolean<'a, D>>,
}

impl<D: Device> Divisor<D> {
    fn encrypted(divisor: &Radix<'_, D>) -> Result<Self> {
        let (own, clean) = (divisor.own, divisor.clean(1.0)?);
        let n = clean.digits.len();
        // seen[w]: whether a digit at place w or above is not 0.
        let zero = own.eval.scale(&clean.digits[0], 0).at_most(0)?;
        let (mut seen, any) = (vec![zero; n + 1], own.table(|m| u64::from(m > 0))?);
        for w in (0..n).rev() {
            seen[w] = own.eval.bootstrap(&own.eval.add(&clean.digits[w], &seen[w + 1])?, std::slice::from_ref(&any))?;
        }
        let none = own.eval.add_clear(&own.eval.scale(&seen[0], -1), 1);
        // Twice the digit below place w reaches place w from 2 on.
        let reaches = Table::of_two(own.params(), DIGIT_BITS, |seen, below| u64::from(seen > 0 || below >= 2))?;
        let job = |w: usize| Ok((own.pack(&seen[w], &clean.digits[w - 1])?, reaches.clone()));
        let reaching = own.layer(&(1..=n).map(job).collect::<Result<_>>()?)?;
        let or_none = |flag: &Ciphertext<D>| own.eval.add(flag, &none)?.at_most(1);
        let twice = Multiple {
            digits: clean.shifted(Shift::Left, 1)?.digits,
            above: std::iter::once(&seen[0]).chain(&reaching).map(or_none).collect::<Result<_>>()?,
        };
        let above = seen.iter().map(or_none).collect::<Result<_>>()?;
        Ok(Self { once: Multiple { digits: clean.digits, above }, twice, some: seen[0].clone(), most: n })
    }

    /// Divisors that everybody may know, one a row.
    fn known(own: Integers<'_, D>, like: &Ciphertext<D>, format: Format, values: &[u128]) -> Result<Self> {
        let n = format.digits();
        let flag = |of: &dyn Fn(u128) -> bool| {
            own.eval.known(like, &values.iter().map(|&value| u64::from(of(value))).collect::<Vec<_>>())
        };
        let multiple = |times: u128| -> Result<Multiple<D>> {
            let wrapped = |&value: &u128| format.wrapped(i128::try_from(value * times).expect("at most 66 bits"));
            let digits = own.known(like, format, &values.iter().map(wrapped).collect::<Vec<_>>())?.digits;
            let above = |w: usize| flag(&|value| value == 0 || (value * times) >> (DIGIT_BITS as usize * w) > 0);
            Ok(Multiple { digits, above: (0..=n).map(above).collect::<Result<_>>()? })
        };
        let largest = values.iter().copied().max().unwrap_or(0);
        let most = (0..n).take_while(|w| largest >> (DIGIT_BITS as usize * w) > 0).count().max(1);
        Ok(Self { once: multiple(1)?, twice: multiple(2)?, some: flag(&|value| value > 0)?, most })
    }
}

impl<'a, D: Device> Integers<'a, D> {
    /// `r − d` where that is not negative, else r; with that answer times `worth`.
    fn subtracted(
        &self,
        r: &[Ciphertext<D>],
        d: &Multiple<D>,
        worth: u64,
    ) -> Result<(Vec<Ciphertext<D>>, Ciphertext<D>)> {
        let (eval, width) = (self.eval, r.len());
        let complement = |digit: &Ciphertext<D>| eval.add_clear(&eval.scale(digit, -1), 3);
        let mut sums: Vec<Ciphertext<D>> =
            r.iter().zip(&d.digits).map(|(r, d)| eval.add(r, &complement(d))).collect::<Result<_>>()?;
        // With the carry 4 if r ≥ d: the digit above is 0. Else it is 3, or 2 and 3 where d has digits above.
        sums.push(complement(&d.above[width]));
        let mut difference = self.propagate_carries(&sums, 1)?;
        let top = difference.split_off(width);
        let if_zero = |value: u64| self.table(|m| if m == 0 { value } else { 0 });
        let both = Table::beside(self.params(), &[if_zero(CHOICE)?, if_zero(worth)?])?;
        let mut answers = eval.bootstrap_jobs(&[(top[0].clone(), both)])?.swap_remove(0);
        let worth = answers.swap_remove(1);
        Ok((self.chosen(&answers[0], &difference, r)?, worth))
    }

    /// Bootstraps digits whose squared norm is above a limit.
    fn cleaned(&self, digits: Vec<Ciphertext<D>>, format: Format, limit: f64) -> Result<Vec<Ciphertext<D>>> {
        Ok(self.with_digits(format, digits).clean(limit)?.digits)
    }

    /// Digits of the quotient and of the remainder; both 0 where the divisor is 0.
    fn divided(&self, a: &Radix<'a, D>, d: &Divisor<D>) -> Result<(Radix<'a, D>, Radix<'a, D>)> {
        let (format, clean) = (a.format, a.clean(1.0)?);
        let (mut quotient, mut r) = (Vec::new(), Vec::new());
        for digit in clean.digits.iter().rev() {
            r.insert(0, digit.clone());
            let mut answers = Vec::with_capacity(2);
            for (multiple, worth) in [(&d.twice, 2), (&d.once, 1)] {
                let norm = multiple.digits.iter().map(Ciphertext::norm_squared).fold(0.0, f64::max);
                r = self.cleaned(r, format, SETTLED_NORM - norm)?;
                let answer;
                (r, answer) = self.subtracted(&r, multiple, worth)?;
                answers.push(answer);
            }
            quotient.insert(0, self.eval.add(&answers[0], &answers[1])?.at_most(BASE - 1)?);
            r.truncate(d.most);
        }
        // Where the divisor is 0, r is the dividend.
        let of_some = Table::of_two(self.params(), DIGIT_BITS, |some, digit| if some > 0 { digit } else { 0 })?;
        let job = |digit: &Ciphertext<D>| Ok((self.pack(&d.some, digit)?, of_some.clone()));
        let mut rest = self.layer(&r.iter().map(job).collect::<Result<Jobs<D>>>()?)?;
        let zero = self.eval.scale(&rest[0], 0).at_most(0)?;
        rest.resize(clean.digits.len(), zero);
        Ok((self.with_digits(format, quotient), self.with_digits(format, rest)))
    }
}

impl<'a, D: Device> Radix<'a, D> {
    /// Whether each row is negative.
    pub(crate) fn negative(&self) -> Result<Boolean<'a, D>> {
        let top = &self.digits[self.digits.len() - 1];
        let sign = match self.format.sign() {
            Sign::Unsigned => self.own.eval.scale(top, 0),
            Sign::Signed => self.own.eval.bootstrap(top, &[self.own.table(|m| m % BASE / 2)?])?,
        };
        Boolean::new(self.own.eval, sign)
    }

    /// All bits turned where the choice is true.
    fn complement_where(&self, choice: &Boolean<'a, D>) -> Result<Self> {
        let clean = self.clean(NORM)?;
        let turned = Table::of_two(self.own.params(), DIGIT_BITS, |choice, a| if choice > 0 { 3 - a } else { a })?;
        let job = |digit: &Ciphertext<D>| Ok((self.own.pack(choice.ciphertext(), digit)?, turned.clone()));
        clean.map_layer(&clean.digits.iter().map(job).collect::<Result<_>>()?)
    }

    /// `−self` where the choice is true, `self` elsewhere: 2n bootstrappings.
    fn negated_where(&self, choice: &Boolean<'a, D>) -> Result<Self> {
        let mut turned = self.complement_where(choice)?;
        turned.digits[0] = self.own.eval.add(&turned.digits[0], choice.ciphertext())?;
        Ok(self.own.with_digits(self.format, self.own.propagate_carries(&turned.digits, 0)?))
    }

    /// The absolute value of each row, modulo 2^bits: that of the least signed integer is itself.
    ///
    /// # Errors
    /// [`TfheError`](crate::tfhe::TfheError) for parameters without enough noise margin.
    pub fn abs(&self) -> Result<Self> {
        match self.format.sign() {
            Sign::Unsigned => Ok(self.clone()),
            Sign::Signed => self.negated_where(&self.negative()?),
        }
    }

    fn as_format(&self, format: Format) -> Self {
        self.own.with_digits(format, self.digits.clone())
    }

    /// The quotient, rounded down, and the remainder, which has the sign of the divisor. Both are 0 where the divisor
    /// is 0, and the quotient wraps where the least signed integer is divided by −1.
    ///
    /// # Errors
    /// [`TfheError`](crate::tfhe::TfheError) for operands of different formats, rows or keys, and for parameters
    /// without enough noise margin.
    pub fn div_rem(&self, divisor: &Self) -> Result<(Self, Self)> {
        self.goes_with("div_rem", divisor)?;
        let unsigned = Format::unsigned(self.format.bits())?;
        let (absolute, negative) = match self.format.sign() {
            Sign::Unsigned => (divisor.clone(), None),
            Sign::Signed => {
                let negative = divisor.negative()?;
                (divisor.negated_where(&negative)?, Some(negative))
            }
        };
        let size = Divisor::encrypted(&absolute.as_format(unsigned))?;
        self.floored(&Signed { size, absolute, negative })
    }

    /// The same for clear divisors: one for all rows, or one each. A single power of two is a shift.
    ///
    /// # Errors
    /// The errors of [`Self::div_rem`]; [`TfheError::Value`](crate::tfhe::TfheError::Value) for a divisor outside the
    /// format.
    ///
    /// # Panics
    /// If there are no divisors.
    pub fn div_rem_clear(&self, divisors: &[i128]) -> Result<(Self, Self)> {
        let (own, like, unsigned) = (self.own, &self.digits[0], Format::unsigned(self.format.bits())?);
        divisors.iter().try_for_each(|&divisor| self.format.digits_of(divisor).map(drop))?;
        if let &[divisor] = divisors
            && divisor > 0
            && divisor.count_ones() == 1
        {
            // Rounded down, a shift and the bits below it, for negative dividends too.
            return Ok((self.shifted(Shift::Right, divisor.ilog2())?, self.bitwise_clear(Bitwise::And, divisor - 1)?));
        }
        let sizes: Vec<u128> = divisors.iter().map(|divisor| divisor.unsigned_abs()).collect();
        let absolute: Vec<i128> = divisors.iter().map(|divisor| self.format.wrapped(divisor.abs())).collect();
        let signs: Vec<u64> = divisors.iter().map(|&divisor| u64::from(divisor < 0)).collect();
        let negative = signs.contains(&1).then(|| Boolean::new(own.eval, own.eval.known(like, &signs)?)).transpose()?;
        let absolute = own.known(like, self.format, &absolute)?;
        self.floored(&Signed { size: Divisor::known(own, like, unsigned, &sizes)?, absolute, negative })
    }

    /// With `a` negated where the divisor d is negative, d > 0: where a is then negative, `⌊a/d⌋ = ~⌊~a/d⌋`, and the
    /// remainder is `d − 1 − (~a mod d)`. That a is negative is told by its old sign, because the least one stays.
    fn floored(&self, d: &Signed<'a, D>) -> Result<(Self, Self)> {
        let (own, unsigned) = (self.own, Format::unsigned(self.format.bits())?);
        if self.format.sign() == Sign::Unsigned {
            return own.divided(self, &d.size);
        }
        let below = self.negative()?;
        let (a, below) = match &d.negative {
            None => (self.clone(), below),
            Some(negative) => {
                let above = self.compare_clear(Comparison::Greater, 0)?;
                (self.negated_where(negative)?, negative.mux(&above, &below)?)
            }
        };
        let some = Boolean::new(own.eval, d.size.some.clone())?;
        let below = below.gate(Gate::And, &some)?;
        let (quotient, rest) = own.divided(&a.complement_where(&below)?.as_format(unsigned), &d.size)?;
        let quotient = quotient.complement_where(&below)?.as_format(self.format);
        let rest = rest.as_format(self.format);
        let rest = Self::select(&below, &d.absolute.add(&rest.complement())?, &rest)?;
        let rest = match &d.negative {
            None => rest,
            Some(negative) => rest.negated_where(negative)?,
        };
        Ok((quotient, rest))
    }
}
