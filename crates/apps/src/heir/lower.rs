//! The steps of a program on ciphertexts: exact scales, and levels that may lie higher than the text says.
//!
//! HEIR writes scales as logarithms and takes scales as equal that differ by the primes it divides by. Here they are exact:
//! where the text has Δ^k at a level, a ciphertext has the scale that k − 1 divisions turn into that of its level. Plaintexts
//! are encoded at the scale that leads there, and a ciphertext that loses levels is multiplied by a constant that corrects it.

use super::{
    act::{Act, Step},
    source::{Header, Source},
};
use limbwise::{
    Complex64, Error, Result,
    ckks::{Auto, Ciphertext, Encoder, LevelPolicy, Packing, Plaintext, Series, chebyshev::depth},
    params::Params,
};
use limbwise_device::{Device, Region};

/// Largest difference of scales that is the primes' and not the program's.
const APART: f64 = 1e-3;
/// Scales that differ by less are equal: the rounding of their own logarithms.
const SAME: f64 = 3e-11;
/// log₂ of the largest scale that a vector is encoded at; beyond it the vector is multiplied by a whole number.
const MOST_LOG_SCALE: f64 = 55.0;

/// What is the same for every step.
pub(super) struct Lowering<'a, 'p, D: Device> {
    pub(super) auto: &'p Auto<'a, D>,
    pub(super) encoder: &'p Encoder,
    pub(super) source: &'p Source,
    pub(super) slack: usize,
    /// The largest difference of scales that were taken as equal.
    pub(super) apart: f64,
}

/// The level of this program for a level of the text.
pub(super) fn mapped(params: &Params, level: usize, slack: usize) -> usize {
    LevelPolicy::of(params).floor + level + slack
}

/// The scale of Δ^power at a level: the one that divisions turn into the scale of a level.
pub(super) fn canonical(params: &Params, level: usize, power: u32) -> f64 {
    match (level, power) {
        (_, 0 | 1) => params.scale(level),
        (0, _) => params.scale(0).powf(f64::from(power)),
        _ => canonical(params, level - 1, power - 1) * params.dropped(level),
    }
}

/// The k for which a text's scale is Δ^k.
pub(super) fn power(header: &Header, log_scale: u32) -> u32 {
    let (scale, base) = (f64::from(log_scale), f64::from(header.log_scale.max(1)));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most the larger of two u32")]
    let power = (scale / base).round() as u32;
    power.max(1)
}

impl<D: Device> Lowering<'_, '_, D> {
    fn params(&self) -> &Params {
        self.auto.eval.params()
    }

    fn power_of(&self, a: &Ciphertext<D>) -> u32 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small positive quotient")]
        let power = (a.scale.log2() / self.params().scale(a.level).log2()).round() as u32;
        power.max(1)
    }

    /// Levels that an operation of the text takes.
    fn taken(&self, from: &Step, levels: &[usize]) -> usize {
        let before = levels[from.operands[0] as usize];
        before.saturating_sub(from.nominal.level.unwrap_or(before))
    }

    /// The same at a lower level, with its scale corrected.
    fn lowered(&self, a: &Ciphertext<D>, level: usize) -> Result<Ciphertext<D>> {
        if a.level <= level {
            return Ok(a.clone());
        }
        let target = canonical(self.params(), level, self.power_of(a));
        let above = self.auto.eval.drop_level(a, level + 1)?;
        let constant = target * self.params().dropped(level + 1) / a.scale;
        let mut lowered = self.auto.eval.rescale(&self.auto.eval.mul_scalar(&above, 1.0, constant)?)?;
        lowered.scale = target; // equal but for the rounding of the division above
        Ok(lowered)
    }

    /// Both at the lower of their levels.
    fn level(&self, a: &Ciphertext<D>, b: &Ciphertext<D>) -> Result<(Ciphertext<D>, Ciphertext<D>)> {
        let level = a.level.min(b.level);
        Ok((self.lowered(a, level)?, self.lowered(b, level)?))
    }

    /// Both at one level and one scale.
    fn aligned(&mut self, a: &Ciphertext<D>, b: &Ciphertext<D>) -> Result<(Ciphertext<D>, Ciphertext<D>)> {
        let (a, mut b) = self.level(a, b)?;
        let apart = (b.scale / a.scale - 1.0).abs();
        if apart > SAME && apart < APART {
            self.apart = self.apart.max(apart);
            b.scale = a.scale;
        }
        Ok((a, b))
    }

    fn encoded(&self, values: &[f64], a: &Ciphertext<D>, scale: f64) -> Result<Plaintext<D>> {
        let row: Vec<Complex64> = values.iter().map(|&x| x.into()).collect();
        let packing = Packing { slots: a.slots, level: a.level, scale };
        let _region = self.auto.eval.device().region(Region::Encode, 0);
        let plain = self.encoder.encode(self.auto.eval.device(), std::slice::from_ref(&row), packing)?;
        Ok(if a.shadow.is_some() { plain.with_shadow(&[row]) } else { plain })
    }

    /// `a + values`, at any scale.
    fn plus(&self, a: &Ciphertext<D>, values: &[f64]) -> Result<Ciphertext<D>> {
        let eval = &self.auto.eval;
        if let Some(value) = all_equal(values) {
            return Ok(eval.add_scalar(a, value));
        }
        if a.scale.log2() <= MOST_LOG_SCALE {
            return eval.add_plain(a, &self.encoded(values, a, a.scale)?);
        }
        let factor = (a.scale / MOST_LOG_SCALE.exp2()).round();
        let Plaintext { poly, level, scale, slots, estimate, shadow } = self.encoded(values, a, a.scale / factor)?;
        let trivial = Ciphertext { parts: vec![poly], level, scale, slots, estimate, shadow };
        let wide = eval.mul_scalar(&trivial, 1.0, factor)?;
        eval.add(a, &Ciphertext { scale: a.scale, ..wide })
    }

    /// `a ⊙ values`, of the power that the text gives the product.
    fn times(&self, a: &Ciphertext<D>, values: &[f64], log_scale: u32) -> Result<Ciphertext<D>> {
        let power = self.power_of(a) + power(&self.source.header, log_scale);
        let target = canonical(self.params(), a.level, power);
        let eval = &self.auto.eval;
        let product = match all_equal(values) {
            Some(value) => eval.mul_scalar(a, value, target / a.scale)?,
            None => eval.mul_plain(a, &self.encoded(values, a, target / a.scale)?)?,
        };
        Ok(Ciphertext { scale: target, ..product })
    }

    /// Carries out a step; `levels` are those that the text gives the ciphertexts.
    pub(super) fn apply(
        &mut self,
        step: &Step,
        operands: &[&Ciphertext<D>],
        levels: &[usize],
    ) -> Result<Ciphertext<D>> {
        let (auto, eval, a) = (self.auto, &self.auto.eval, operands[0]);
        let plain = step.plain.map(|at| &self.source.plains[at as usize]);
        let level = mapped(self.params(), step.nominal.level.unwrap_or(0), self.slack);
        match (&step.act, plain) {
            (Act::Add, _) => self.aligned(a, operands[1]).and_then(|(a, b)| eval.add(&a, &b)),
            (Act::Sub, _) => self.aligned(a, operands[1]).and_then(|(a, b)| eval.sub(&a, &b)),
            (Act::Mul, _) if step.operands[0] == step.operands[1] => eval.square(a),
            (Act::Mul, _) => self.level(a, operands[1]).and_then(|(a, b)| eval.multiply(&a, &b)),
            (Act::AddPlain, Some(p)) => self.plus(a, &p.values),
            (Act::SubPlain, Some(p)) => Ok(eval.negate(&self.plus(&eval.negate(a), &p.values)?)),
            (Act::PlainSub, Some(p)) => self.plus(&eval.negate(a), &p.values),
            (Act::MulPlain, Some(p)) => self.times(a, &p.values, p.log_scale),
            (Act::Negate, _) => Ok(eval.negate(a)),
            (Act::Rotate(steps), _) => eval.rotate(a, *steps),
            (Act::Relinearize, _) => eval.relinearize(a),
            (Act::Rescale, _) => {
                let mut divided = eval.rescale(a)?;
                for _ in 1..self.taken(step, levels).max(1) {
                    divided = eval.rescale(&divided)?;
                }
                Ok(divided)
            }
            (Act::LevelReduce, _) => self.lowered(a, level),
            (Act::Bootstrap, _) => self.lowered(&auto.bootstrap_with(auto.bootstrapper()?, a)?, level),
            (Act::Chebyshev { coefficients, from, to }, _) => {
                let series = Series { coefficients: coefficients.to_vec(), from: *from, to: *to };
                self.lowered(&auto.settle(&auto.chebyshev(a, &series)?)?, level)
            }
            (_, None) => Err(Error::State),
        }
    }
}

/// The value of a vector that has only one.
fn all_equal(values: &[f64]) -> Option<f64> {
    let (&first, rest) = values.split_first()?;
    rest.iter().all(|x| x.to_bits() == first.to_bits()).then_some(first)
}

/// Levels that a step takes here and not in the text: of series, whose evaluation differs.
pub(super) fn extra(step: &Step, before: usize) -> usize {
    let Act::Chebyshev { coefficients, from, to } = &step.act else { return 0 };
    let unit = (from + 1.0).abs() < f64::EPSILON && (to - 1.0).abs() < f64::EPSILON;
    let here = depth(coefficients.len() - 1) + usize::from(!unit);
    here.saturating_sub(before.saturating_sub(step.nominal.level.unwrap_or(before)))
}
