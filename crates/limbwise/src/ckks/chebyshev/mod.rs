//! Polynomials in the Chebyshev basis, or in powers on the unit circle: baby steps, giant steps, minimal depth.
//!
//! A series of degree d needs ⌈log₂(d+1)⌉ levels. It is divided by T_m, m a power of two, until the parts are linear
//! combinations of few polynomials. Every part is evaluated at the level of the sum that it belongs to, and at the scale
//! that makes its terms meet: nothing is brought to another scale on the way, and a product is relinearized only where it
//! is a factor. Source: \[PS73\], \[BMTH21\] §5.2. Differs: how far a series is divided follows from the number of
//! relinearizations.

mod basis;
mod sizes;
mod split;

use super::{
    auto::Auto,
    ciphertext::Ciphertext,
    evaluator::{Evaluator, Weighted},
    watch::With,
};
use crate::error::Result;
use basis::{Basis, Scaled};
use limbwise_device::Device;
use limbwise_math::{chebyshev::Series, wide::Wide};
use num_complex::Complex64;
use sizes::Sizes;
use split::{Kind, Part};

/// Levels that a series of this degree consumes for an argument in [−1, 1].
#[must_use]
pub fn depth(degree: usize) -> usize {
    (degree + 1).next_power_of_two().trailing_zeros() as usize
}

impl<D: Device> Evaluator<'_, D> {
    /// `i·a`, exactly; `unit` is X^(N/2) over the primes of `a` or more.
    pub(crate) fn times_unit(&self, a: &Ciphertext<D>, unit: &D::Poly) -> Ciphertext<D> {
        let unit = self.dev.restrict(unit, self.params.basis(a.level));
        let parts = a.parts.iter().map(|p| self.dev.mul(p, &unit)).collect();
        let estimate = a.estimate.with_peak(a.estimate.peak, false);
        let shadow = a.shadow.as_ref().map(|s| s.map(|z| z * num_complex::Complex64::i()));
        self.report("times_i", &[a], With::Constants, Ciphertext { parts, estimate, shadow, ..*a })
    }
}

impl<D: Device> Auto<'_, D> {
    /// Evaluates a series at `u`, which must be in [−1, 1]; [`Self::chebyshev`] maps other intervals.
    ///
    /// # Errors
    /// No level left, or a missing relinearization key.
    ///
    /// # Panics
    /// If `coefficients` is empty.
    pub fn chebyshev_unit(&self, u: &Ciphertext<D>, coefficients: &[f64]) -> Result<Ciphertext<D>> {
        self.chebyshev_like(u, coefficients, &[])
    }

    /// [`Self::chebyshev_unit`] of slots that are mostly like some arguments: the expected error goes by these. Without any the
    /// factors of products are taken to be as large as they can be.
    ///
    /// # Errors
    /// As [`Self::chebyshev_unit`].
    ///
    /// # Panics
    /// If `coefficients` is empty.
    pub(crate) fn chebyshev_like(
        &self,
        u: &Ciphertext<D>,
        coefficients: &[f64],
        arguments: &[f64],
    ) -> Result<Ciphertext<D>> {
        let sizes = Sizes::new(arguments, coefficients.len().saturating_sub(1));
        let coefficients: Vec<Complex64> = coefficients.iter().map(|&c| c.into()).collect();
        self.series(u, &coefficients, (Kind::Chebyshev, None), sizes)
    }

    /// Evaluates `Σ c_k·T_k(u)` for real u, with real even coefficients and imaginary odd ones: for example exp(iαu).
    /// `unit` is X^(N/2), whose slots are all i, over the primes of `u` or more.
    ///
    /// # Errors
    /// As [`Self::chebyshev_unit`].
    ///
    /// # Panics
    /// If `coefficients` is empty.
    pub fn chebyshev_odd_imaginary(
        &self,
        u: &Ciphertext<D>,
        coefficients: &[f64],
        unit: &D::Poly,
    ) -> Result<Ciphertext<D>> {
        // i·c_k·T_k for odd k and c_k·T_k for even k, with T_k = i^−k·(i^k·T_k).
        let turned = |(k, &c): (usize, &f64)| Complex64::from(if k % 4 < 2 { c } else { -c });
        let coefficients: Vec<Complex64> = coefficients.iter().enumerate().map(turned).collect();
        self.series(u, &coefficients, (Kind::Turned, Some(unit)), None)
    }

    /// Evaluates `Σ c_k·z^k` for z on the unit circle. `unit` is X^(N/2), whose slots are all i, over the primes of `z`
    /// or more.
    ///
    /// # Errors
    /// As [`Self::chebyshev_unit`].
    ///
    /// # Panics
    /// If `coefficients` is empty.
    pub fn circle_series(
        &self,
        z: &Ciphertext<D>,
        coefficients: &[Complex64],
        unit: &D::Poly,
    ) -> Result<Ciphertext<D>> {
        self.series(z, coefficients, (Kind::Power, Some(unit)), None)
    }

    fn series(
        &self,
        u: &Ciphertext<D>,
        coefficients: &[Complex64],
        (kind, unit): (Kind, Option<&D::Poly>),
        sizes: Option<Sizes>,
    ) -> Result<Ciphertext<D>> {
        let degree = coefficients.len().checked_sub(1).expect("a series has a coefficient");
        let (eval, params) = (&self.eval, self.eval.params());
        let _region = eval.device().region("chebyshev", u32::try_from(degree).unwrap_or(u32::MAX));
        let u = self.settle(u)?.bounded_by(1.0);
        let below = depth(degree).max(1) - 1;
        eval.needs("chebyshev", &u, below + 1)?;
        let (level, scale) = (u.level - below, params.exact_scale(u.scale, u.level));
        let first = match (kind, unit) {
            (Kind::Turned, Some(unit)) => eval.times_unit(&u, unit),
            _ => u,
        };
        let mut basis = Basis::new(eval, kind, Scaled::new(first, scale), unit).on(sizes);
        let settled = params.exact_scale(params.scale(level), level);
        let part = Part::of(kind, coefficients, below);
        Ok(evaluate(&mut basis, &part, (level, settled * settled))?.value)
    }

    /// Evaluates a series on its interval. Mapping the argument to [−1, 1] costs one level unless it is that interval.
    ///
    /// # Errors
    /// As [`Self::chebyshev_unit`].
    pub fn chebyshev(&self, x: &Ciphertext<D>, series: &Series) -> Result<Ciphertext<D>> {
        let (half_width, middle) = (0.5 * (series.to - series.from), series.from.midpoint(series.to));
        if (half_width - 1.0).abs() < f64::EPSILON && middle.abs() < f64::EPSILON {
            return self.chebyshev_unit(x, &series.coefficients);
        }
        let unit = self.settle(&self.weighted_sum(&[(1.0 / half_width, x)])?)?;
        self.chebyshev_unit(&self.add_scalar(&unit, -middle / half_width), &series.coefficients)
    }
}

/// A part of a series at a level and a scale; of three polynomials where it is a product.
fn evaluate<D: Device>(basis: &mut Basis<'_, '_, D>, part: &Part, (level, scale): (usize, Wide)) -> Result<Scaled<D>> {
    let (high, by, low) = match part {
        Part::Sum(p) => return sum(basis, p, (level, scale)),
        Part::Product { high, by, low } => (high, basis.get(*by)?, low),
    };
    let eval = basis.eval;
    let wanted = scale.over(by.scale);
    let size = basis.sizes.as_ref().map(|sizes| sizes.of_part(high));
    let high = evaluate(basis, high, (level + 1, wanted * eval.params().exact_dropped(level + 1)))?;
    let mut high = Scaled::new(high.rescaled(eval)?.value, wanted);
    high.value.estimate = size.map_or(high.value.estimate, |size| high.value.estimate.with_magnitude(size));
    let product = |terms: &[(f64, Scaled<D>)]| -> Result<Scaled<D>> {
        Ok(Scaled::new(high.product(eval, Some(&by), (false, terms))?.value, scale))
    };
    match &**low {
        Part::Sum(p) => Ok(product(&terms_of(basis, p, (level, scale))?)?.plus(eval, p[0].re)),
        low => {
            let low = evaluate(basis, low, (level, scale))?;
            Ok(Scaled::new(eval.add(&product(&[])?.value, &low.value)?, scale))
        }
    }
}

/// `Σ p_k·B_k` at a level and a scale.
fn sum<D: Device>(basis: &mut Basis<'_, '_, D>, p: &[Complex64], at: (usize, Wide)) -> Result<Scaled<D>> {
    let (eval, (level, scale)) = (basis.eval, at);
    let mut terms = terms_of(basis, p, at)?;
    if terms.is_empty() {
        terms.push((0.0, basis.get(1)?.at(eval, level)?));
    }
    let weighted: Vec<Weighted<'_, D>> = terms.iter().map(|(factor, term)| term.times(*factor)).collect();
    Ok(Scaled::new(eval.weighted("chebyshev", &weighted, scale)?, scale).plus(eval, p[0].re))
}

/// The terms of `Σ p_k·B_k` at a level, but for the real constant. Only exact zeros are omitted: the smallest coefficients
/// still count.
fn terms_of<D: Device>(
    basis: &mut Basis<'_, '_, D>,
    p: &[Complex64],
    at: (usize, Wide),
) -> Result<Vec<(f64, Scaled<D>)>> {
    let (eval, (level, scale)) = (basis.eval, at);
    let mut terms = Vec::new();
    if let Some(unit) = basis.unit.filter(|_| p.iter().any(|c| c.im != 0.0)) {
        let imaginary: Vec<Complex64> = p.iter().map(|c| c.im.into()).collect();
        let turned = eval.times_unit(&sum(basis, &imaginary, at)?.value, unit);
        terms.push((1.0, Scaled::new(turned, scale)));
    }
    for (k, c) in p.iter().enumerate().skip(1).filter(|(_, c)| c.re != 0.0) {
        terms.push((c.re, basis.get(k)?.at(eval, level)?));
    }
    Ok(terms)
}
