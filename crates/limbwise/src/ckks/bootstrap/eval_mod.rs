//! EvalMod: the multiples of q₀ go.
//!
//! x = I + z/2^m with I an integer: sin 2πx = sin(2π·z/2^m) forgets I. The sine is the cosine a quarter turn earlier; that
//! is a Chebyshev series at 2^−r of the angle and r double angles. A short odd polynomial then undoes the sine's curve.
//!
//! Source: \[HK20\], \[LLLKN21\] (the arcsine) Differs: the series is a least-squares fit near the integers.

use super::Bootstrapper;
use crate::{
    ckks::{Auto, Ciphertext, Plaintext},
    error::Result,
    params::{Bootstrapping, Params},
};
use limbwise_device::Device;
use limbwise_math::chebyshev::Series;
use std::f64::consts::TAU;

/// Points around each integer on which the series is fitted.
const POINTS: usize = 7;

/// Coefficients in T_k(u), u = (x − ¼)/K, of cos(2π(x − ¼)/2^r): within `spread` of the integers up to K − 1.
pub(super) fn cosine(boot: &Bootstrapping) -> Vec<f64> {
    let eval_mod = boot.literal.eval_mod;
    let range = f64::from(eval_mod.range);
    let spread = (-f64::from(boot.literal.message_ratio)).exp2();
    let last = i64::from(eval_mod.range) - 1;
    let near = |integer: i64| {
        let node = move |j: usize| (std::f64::consts::PI * (j as f64 + 0.5) / POINTS as f64).cos();
        (0..POINTS).map(move |j| (integer as f64 + spread * node(j) - 0.25) / range)
    };
    let points: Vec<f64> = (-last..=last).flat_map(near).collect();
    let slow = TAU * range / (eval_mod.double_angles as f64).exp2();
    if points.len() <= eval_mod.degree {
        return Series::interpolate(|u| (slow * u).cos(), -1.0, 1.0, u32::try_from(eval_mod.degree).unwrap_or(31))
            .coefficients;
    }
    Series::fit(|u| (slow * u).cos(), -1.0, 1.0, eval_mod.degree, &points).coefficients
}

/// z from x·K^−1 in real slots, at the user's scale where EvalMod is the last step.
///
/// Shape:  its first level → its last.
/// Noise:  the law of `noise::eval_mod`, which the caller sets.
/// Cost:   the products of the series, of r squares and of the arcsine.
pub(super) fn eval_mod<D: Device>(
    boot: &Bootstrapper<D>,
    auto: &Auto<'_, D>,
    u: &Ciphertext<D>,
) -> Result<Ciphertext<D>> {
    let _region = auto.eval.device().region("eval_mod", 0);
    let eval_mod = boot.levels.literal.eval_mod;
    let mut value = auto.add_scalar(u, -0.25 / f64::from(eval_mod.range)).bounded_by(1.0);
    value = auto.settle(&auto.chebyshev_unit(&value, &boot.cosine)?)?.bounded_by(1.0);
    for index in 0..u32::try_from(eval_mod.double_angles).unwrap_or(0) {
        let _region = auto.eval.device().region("double_angle", index);
        let square = auto.square(&value)?;
        let twice = auto.settle(&auto.eval.add(&square, &square)?)?;
        value = auto.add_scalar(&twice, -1.0).bounded_by(1.0);
    }
    match boot.levels.arcsine()[..] {
        // In units of the message the scale is smaller by what the sine has to be multiplied with.
        [gain] => Ok(Ciphertext { scale: value.scale / gain, ..value }),
        _ => arcsine(boot, auto, &value),
    }
}

/// A coefficient of the arcsine: what s is multiplied with, where, and the scale that the product gains.
pub(super) struct Term<D: Device> {
    coefficient: f64,
    level: usize,
    scale: f64,
    /// With the halves side by side: the coefficient, and i times it, encoded.
    turned: Option<Plaintext<D>>,
}

/// `a·s + (b·s)·s²` at the level and scale that the sum of both has before it is divided.
pub(super) struct Cubic<D: Device> {
    terms: [Term<D>; 2],
    level: usize,
    scale: f64,
}

/// Which values are met on the way, in levels and scales: of s and s², and of s⁴ where there is one.
pub(super) struct ArcsinePlan<'p> {
    pub(super) params: &'p Params,
    pub(super) boot: &'p Bootstrapping,
    /// The scale of the result.
    pub(super) target: f64,
}

impl ArcsinePlan<'_> {
    /// The cubic parts of the polynomial, lowest first.
    pub(super) fn cubics<D: Device>(
        &self,
        encode: impl Fn(f64, usize, f64) -> Result<Option<Plaintext<D>>>,
    ) -> Result<Vec<Cubic<D>>> {
        let odd = self.boot.arcsine();
        if odd.len() < 2 {
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

/// `Σ odd[k]·s^(2k+1)`, and where the halves lie side by side the imaginary one times i.
///
/// Depth: 2 for two coefficients, 3 for more. The parts that straighten the sine are small, so they are computed at a
/// scale that the last division brings to the wanted one.
fn arcsine<D: Device>(boot: &Bootstrapper<D>, auto: &Auto<'_, D>, s: &Ciphertext<D>) -> Result<Ciphertext<D>> {
    let _region = auto.eval.device().region("arcsine", 0);
    let eval = &auto.eval;
    let square = auto.settle(&eval.square(s)?)?;
    let sum = match &boot.cubics[..] {
        [low, high] => {
            let fourth = auto.settle(&eval.square(&square)?)?;
            let high = eval.rescale(&high.of(auto, s, &square)?)?;
            let product = eval.relinearize(&eval.multiply(&high, &fourth)?)?;
            eval.add(&aligned(product, low.scale), &low.of(auto, s, &square)?)?
        }
        cubics => cubics[0].of(auto, s, &square)?,
    };
    Ok(aligned(eval.rescale(&sum)?, boot.target))
}

impl<D: Device> Cubic<D> {
    fn of(&self, auto: &Auto<'_, D>, s: &Ciphertext<D>, square: &Ciphertext<D>) -> Result<Ciphertext<D>> {
        let eval = &auto.eval;
        let [first, second] = &self.terms;
        let inner = eval.rescale(&second.times(auto, s)?)?;
        let product = eval.relinearize(&eval.multiply(&inner, &eval.drop_level(square, self.level)?)?)?;
        eval.add(&aligned(product, self.scale), &aligned(first.times(auto, s)?, self.scale))
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

/// The scale without the rounding of the divisions that led to it.
fn aligned<D: Device>(a: Ciphertext<D>, scale: f64) -> Ciphertext<D> {
    debug_assert!((a.scale / scale - 1.0).abs() < 1e-9, "scale 2^{} is not 2^{}", a.scale.log2(), scale.log2());
    Ciphertext { scale, ..a }
}
