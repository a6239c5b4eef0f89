//! EvalMod: removes the multiples of q₀.
//!
//! With x = I + z/2^m and I an integer, sin 2πx = sin(2π·z/2^m) is independent of I. There are two ways to the sine.
//! The first is a cosine a quarter turn earlier: a Chebyshev series at 2^−r of the angle, then r double angles; a short
//! odd polynomial (the arcsine) removes the sine's curvature. The second is the imaginary part of an exponential: a
//! series with imaginary odd coefficients, then r squarings; several harmonics together are straighter than one.
//!
//! Source: \[HK20\], \[LLLKN21\] (the arcsine) Differs: the series is a least-squares fit near the integers; harmonics
//! after an exponential are ours.

use super::Bootstrapper;
use crate::{
    ckks::{Auto, Ciphertext, Plaintext},
    error::Result,
    params::{Bootstrapping, Params, Sine},
};
use limbwise_device::Device;

/// z from x·K^−1 in real slots. With an exponential the result is a value whose imaginary part is 2z.
///
/// Shape:  its first level → its last.
/// Scale:  in units of z: the user's where EvalMod is the last step.
/// Noise:  the law of `noise::eval_mod`, which the caller applies.
/// Cost:   the products of the series, of r squarings and of the straightening polynomial.
pub(super) fn eval_mod<D: Device>(
    boot: &Bootstrapper<D>,
    auto: &Auto<'_, D>,
    u: &Ciphertext<D>,
) -> Result<Ciphertext<D>> {
    let _region = auto.eval.device().region("eval_mod", 0);
    let eval_mod = boot.levels.literal.eval_mod;
    let shift = eval_mod.sine.shift() / f64::from(eval_mod.range);
    let u = auto.add_scalar(u, -shift);
    let u = match &boot.turns {
        Some(turns) => auto.eval.add_plain(&with_exact_scale(u, turns.added.scale), &turns.added)?,
        None => u,
    };
    let u = u.bounded_by(1.0);
    let steps = u32::try_from(eval_mod.double_angles).unwrap_or(0);
    match eval_mod.sine {
        Sine::Cosine { .. } => {
            let mut cosine = auto.settle(&auto.chebyshev_unit(&u, &boot.series)?)?.bounded_by(1.0);
            for index in 0..steps {
                cosine = double_angle(auto, &cosine, index)?;
            }
            match boot.straightening[..] {
                // In units of z the scale is smaller by the sine's gain.
                [gain] => Ok(Ciphertext { scale: cosine.scale / gain, ..cosine }),
                _ => arcsine(boot, auto, &cosine),
            }
        }
        Sine::Exponential { .. } => harmonics(boot, auto, &exponential(boot, auto, &u, &boot.series)?),
    }
}

/// exp(2πix) for u = x/K, from the series of 2^−r of the angle.
///
/// Shape:  EvalMod's first level → its last, less the levels of the harmonics.
/// Scale:  that of its level.
pub(super) fn exponential<D: Device>(
    boot: &Bootstrapper<D>,
    auto: &Auto<'_, D>,
    u: &Ciphertext<D>,
    series: &[f64],
) -> Result<Ciphertext<D>> {
    let mut power = auto.chebyshev_odd_imaginary(u, series, &boot.unit)?;
    let squares = u32::try_from(boot.levels.literal.eval_mod.double_angles).unwrap_or(0);
    for index in 0..squares {
        let _region = auto.eval.device().region("square", index);
        power = auto.square(&auto.settle(&power)?.bounded_by(1.0))?;
    }
    Ok(auto.settle(&power)?.bounded_by(1.0))
}

/// 2c² − 1.
fn double_angle<D: Device>(auto: &Auto<'_, D>, cosine: &Ciphertext<D>, index: u32) -> Result<Ciphertext<D>> {
    let _region = auto.eval.device().region("double_angle", index);
    let square = auto.square(cosine)?;
    let twice = auto.settle(&auto.eval.add(&square, &square)?)?;
    Ok(auto.eval.add_scalar_in_place(twice, -1.0).bounded_by(1.0))
}

/// `2·Σ g_k·e^k` for e = exp(2πix): its imaginary part is 2z. The second harmonic is the square before its division, so
/// it costs one level; the scale absorbs its factor.
fn harmonics<D: Device>(boot: &Bootstrapper<D>, auto: &Auto<'_, D>, e: &Ciphertext<D>) -> Result<Ciphertext<D>> {
    let eval = &auto.eval;
    match boot.straightening[..] {
        [gain] => Ok(Ciphertext { scale: e.scale * 2.0 / gain, ..e.clone() }),
        [first, second] => {
            let _region = eval.device().region("harmonics", 0);
            let square = eval.square(e)?;
            let sum = match boot.turns.as_ref().and_then(|turns| turns.first.as_ref()) {
                Some(factor) => {
                    let first = with_exact_scale(eval.mul_plain(e, factor)?, square.scale);
                    eval.rescale(&eval.sub(&first, &eval.relinearize(&square)?)?)?
                }
                None => {
                    let terms = [(first / second.abs(), e), (-1.0, &square)];
                    eval.relinearize_rescaled(&eval.combination("harmonics", &terms, square.scale)?)?
                }
            };
            Ok(with_exact_scale(Ciphertext { scale: sum.scale * 2.0 / second.abs(), ..sum }, boot.target))
        }
        ref factors => four_harmonics(boot, auto, e, factors),
    }
}

/// `2·Σ g_k·e^k` for three or four harmonics, as `(g₁·e + g₂·e²) + e²·(g₃·e + g₄·e²)`: two levels. A square before its
/// division takes no other factor than ±1, so the scale absorbs |g₄|; for three harmonics it absorbs g₁.
fn four_harmonics<D: Device>(
    boot: &Bootstrapper<D>,
    auto: &Auto<'_, D>,
    e: &Ciphertext<D>,
    factors: &[f64],
) -> Result<Ciphertext<D>> {
    let eval = &auto.eval;
    let _region = eval.device().region("harmonics", 0);
    let absorbed = boot.levels.absorbed();
    let square = eval.square(e)?;
    let third = (factors[2] / absorbed, e);
    let above = match factors.get(3) {
        None => eval.rescale(&eval.combination("harmonics", &[third], square.scale)?)?,
        Some(fourth) => {
            let terms = [third, (fourth.signum(), &square)];
            eval.relinearize_rescaled(&eval.combination("harmonics", &terms, square.scale)?)?
        }
    };
    let square = auto.settle(&square)?;
    let product = eval.multiply(&with_exact_scale(above, square.scale), &square)?;
    let e = eval.drop_level(e, square.level)?;
    let terms = [(factors[0] / absorbed, &e), (factors[1] / absorbed, &square), (1.0, &product)];
    let sum = eval.relinearize_rescaled(&eval.combination("harmonics", &terms, product.scale)?)?;
    Ok(with_exact_scale(Ciphertext { scale: sum.scale * 2.0 / absorbed, ..sum }, boot.target))
}

/// What turns the blocks of [`Halves::WithOpposites`](super::Halves): with w = exp(2πix) of the blocks' arguments, the
/// sum of −i·w, i·w̄, w and −w̄ is the sine of the real parts plus i times that of the imaginary ones.
pub(super) struct Turns<D: Device> {
    /// Added to the arguments, in units of EvalMod's range.
    pub(super) added: Plaintext<D>,
    /// The factor of the first of two harmonics. The added turns are half of those above, because the second harmonic,
    /// a square, doubles them; the factor makes the first harmonic's whole.
    pub(super) first: Option<Plaintext<D>>,
}

/// A coefficient of the arcsine: the constant that multiplies s, the level, and the scale that the product gains.
pub(super) struct Term<D: Device> {
    coefficient: f64,
    level: usize,
    scale: f64,
    /// If the halves are side by side: the coefficient in the first half and i times it in the second, encoded.
    turned: Option<Plaintext<D>>,
}

/// `a·s + (b·s)·s²`, both terms at the level and scale of their sum before its division.
pub(super) struct Cubic<D: Device> {
    terms: [Term<D>; 2],
    level: usize,
    scale: f64,
}

/// Levels and scales of s and s² on the way, and of s⁴ if it is used.
pub(super) struct ArcsinePlan<'p> {
    pub(super) params: &'p Params,
    pub(super) boot: &'p Bootstrapping,
    /// Scale of the result.
    pub(super) target: f64,
}

impl ArcsinePlan<'_> {
    /// The cubic parts of the polynomial, lowest degree first.
    pub(super) fn cubics<D: Device>(
        &self,
        encode: impl Fn(f64, usize, f64) -> Result<Option<Plaintext<D>>>,
    ) -> Result<Vec<Cubic<D>>> {
        let odd = self.boot.straightening();
        if odd.len() < 2 || matches!(self.boot.literal.eval_mod.sine, Sine::Exponential { .. }) {
            return Ok(Vec::new());
        }
        let (params, last) = (self.params, self.boot.eval_mod_end() + 1);
        let start = if odd.len() > 2 { last + 2 } else { last + 1 };
        let s = params.scale(start);
        let square = s * s / params.dropped(start);
        let term = |coefficient, level, scale| -> Result<Term<D>> {
            Ok(Term { coefficient, level, scale, turned: encode(coefficient, level, scale)? })
        };
        let cubic = |pair: &[f64], level: usize, scale: f64| -> Result<Cubic<D>> {
            let second = pair.get(1).copied().unwrap_or(0.0);
            let inner = scale / square * params.dropped(level + 1) / s;
            let terms = [term(pair[0], level, scale / s)?, term(second, level + 1, inner)?];
            Ok(Cubic { terms, level, scale })
        };
        let pending = self.target * params.dropped(last);
        let mut cubics = vec![cubic(&odd[..2], last, pending)?];
        if odd.len() > 2 {
            let fourth = square * square / params.dropped(last + 1);
            cubics.push(cubic(&odd[2..], last + 1, pending / fourth * params.dropped(last + 1))?);
        }
        Ok(cubics)
    }
}

/// `Σ odd[k]·s^(2k+1)`; if the halves are side by side, the imaginary half is multiplied by i.
///
/// Depth: 2 for two coefficients, 3 for more. The higher terms are small, so they are computed at a scale that the last
/// division brings to the wanted one.
fn arcsine<D: Device>(boot: &Bootstrapper<D>, auto: &Auto<'_, D>, s: &Ciphertext<D>) -> Result<Ciphertext<D>> {
    let _region = auto.eval.device().region("arcsine", 0);
    let eval = &auto.eval;
    let square = auto.settle(&eval.square(s)?)?;
    let sum = match &boot.cubics[..] {
        [low, high] => {
            let fourth = auto.settle(&eval.square(&square)?)?;
            let high = eval.rescale(&high.of(auto, s, &square)?)?;
            let product = eval.relinearize(&eval.multiply(&high, &fourth)?)?;
            eval.add(&with_exact_scale(product, low.scale), &low.of(auto, s, &square)?)?
        }
        cubics => cubics[0].of(auto, s, &square)?,
    };
    Ok(with_exact_scale(eval.rescale(&sum)?, boot.target))
}

impl<D: Device> Cubic<D> {
    fn of(&self, auto: &Auto<'_, D>, s: &Ciphertext<D>, square: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        let eval = &auto.eval;
        let [first, second] = &self.terms;
        let inner = eval.rescale(&second.times(auto, s)?)?;
        let product = eval.relinearize(&eval.multiply(&inner, &eval.drop_level(square, self.level)?)?)?;
        eval.add(&with_exact_scale(product, self.scale), &with_exact_scale(first.times(auto, s)?, self.scale))
    }
}

impl<D: Device> Term<D> {
    fn times(&self, auto: &Auto<'_, D>, s: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        let s = auto.eval.drop_level(s, self.level)?;
        match &self.turned {
            None => auto.eval.mul_scalar(&s, self.coefficient, self.scale),
            Some(plain) => auto.eval.mul_plain(&s, plain),
        }
    }
}

/// Sets the scale to its exact value, without the f64 rounding of the divisions that led to it.
fn with_exact_scale<D: Device>(a: Ciphertext<D>, scale: f64) -> Ciphertext<D> {
    debug_assert!((a.scale / scale - 1.0).abs() < 1e-9, "scale 2^{} is not 2^{}", a.scale.log2(), scale.log2());
    Ciphertext { scale, ..a }
}
