//! Polynomials in the Chebyshev basis: baby steps, giant steps, minimal depth.
//!
//! A series of degree d needs ⌈log₂(d+1)⌉ levels. It is divided by T_m, m a power of two, until the parts are linear
//! combinations of baby steps. Where the depth is tight (only along the leading quotients) the division continues down
//! to degree one. Source: \[PS73\], \[BMTH21\] §5.2.

use super::{auto::Auto, ciphertext::Ciphertext, evaluator::Evaluator, watch::With};
use crate::error::Result;
use limbwise_device::Device;
use limbwise_math::chebyshev::{Series, divide};
use std::{collections::BTreeMap, ops::Range};

/// Levels that a series of this degree consumes for an argument in [−1, 1].
#[must_use]
pub fn depth(degree: usize) -> usize {
    (degree + 1).next_power_of_two().trailing_zeros() as usize
}

/// T_k of the argument, computed on first use.
struct Basis<'s, 'a, D: Device> {
    auto: &'s Auto<'a, D>,
    powers: BTreeMap<usize, Ciphertext<D>>,
    /// X^(N/2) where odd coefficients are imaginary.
    imaginary: Option<&'s D::Poly>,
}

impl<D: Device> Basis<'_, '_, D> {
    /// T_k by T_{a+b} = 2·T_a·T_b − T_{a−b}, a the larger half: depth ⌈log₂ k⌉.
    fn get(&mut self, k: usize) -> Result<Ciphertext<D>> {
        if let Some(known) = self.powers.get(&k) {
            return Ok(known.clone());
        }
        let a = 1 << (k.next_power_of_two().trailing_zeros() - 1);
        let b = k - a;
        let (left, right) = (self.get(a)?, self.get(b)?);
        let auto = self.auto;
        let product = if a == b { auto.square(&left)? } else { auto.mul(&left, &right)? };
        let power = if a == b {
            auto.eval.add_scalar_in_place(auto.settle(&auto.eval.add(&product, &product)?)?, -1.0)
        } else {
            // The smaller polynomial is subtracted before the division, at the scale of the product: there it costs
            // only a constant.
            let less = auto.eval.drop_level(&auto.settle(&self.get(a - b)?)?, product.level)?;
            auto.settle(&auto.eval.combination("chebyshev", &[(2.0, &product), (-1.0, &less)], product.scale)?)?
        };
        let power = power.bounded_by(1.0); // Chebyshev polynomials map [−1, 1] to itself
        self.powers.insert(k, power.clone());
        Ok(power)
    }
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
        self.series(u, coefficients, None)
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
        self.series(u, coefficients, Some(unit))
    }

    fn series(&self, u: &Ciphertext<D>, coefficients: &[f64], imaginary: Option<&D::Poly>) -> Result<Ciphertext<D>> {
        let degree = coefficients.len().checked_sub(1).expect("a series has a coefficient");
        let _region = self.eval.device().region("chebyshev", u32::try_from(degree).unwrap_or(u32::MAX));
        let u = self.settle(u)?.bounded_by(1.0);
        self.eval.needs("chebyshev", &u, depth(degree))?;
        let mut basis = Basis { auto: self, powers: BTreeMap::from([(1, u)]), imaginary };
        // √d baby steps balance the products for powers against those of the recombination.
        let babies = 1usize << (depth(degree).div_ceil(2));
        self.evaluate(&mut basis, coefficients, babies, depth(degree))
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

    /// Evaluates a part of a series within `budget` levels of the argument; the result may be pending.
    fn evaluate(&self, basis: &mut Basis<'_, '_, D>, p: &[f64], babies: usize, budget: usize) -> Result<Ciphertext<D>> {
        let degree = p.len() - 1;
        let combination_depth = degree.next_power_of_two().trailing_zeros() as usize + 1;
        if degree <= 1 || (degree < babies && combination_depth <= budget) {
            return self.combination(basis, p);
        }
        let m = (degree + 1).next_power_of_two() / 2;
        let (quotient, remainder) = divide(p, m);
        let high = match quotient[..] {
            [constant] => self.weighted_sum(&[(constant, &basis.get(m)?)])?,
            _ => self.mul(&self.evaluate(basis, &quotient, babies, budget - 1)?, &basis.get(m)?)?,
        };
        let low = self.evaluate(basis, &remainder, babies, budget)?;
        self.add(&high, &low)
    }

    /// `Σ p_k·T_k` of a few terms, pending. Only exact zeros are omitted: the smallest coefficients still count.
    fn combination(&self, basis: &mut Basis<'_, '_, D>, p: &[f64]) -> Result<Ciphertext<D>> {
        let Some(unit) = basis.imaginary else {
            return Ok(self.eval.add_scalar_in_place(self.sum_of_terms(basis, p, 1..p.len(), 1)?, p[0]));
        };
        let odd = self.eval.times_unit(&self.sum_of_terms(basis, p, 1..p.len(), 2)?, unit);
        let even = match p.len() {
            ..=2 => odd,
            _ => self.add(&odd, &self.sum_of_terms(basis, p, 2..p.len(), 2)?)?,
        };
        Ok(self.eval.add_scalar_in_place(even, p[0]))
    }

    /// The terms at the given indices, pending at the lowest of their levels.
    fn sum_of_terms(
        &self,
        basis: &mut Basis<'_, '_, D>,
        p: &[f64],
        indices: Range<usize>,
        step: usize,
    ) -> Result<Ciphertext<D>> {
        let lowest = (1..p.len()).filter(|&k| p[k] != 0.0).max().unwrap_or(1);
        let level = basis.get(lowest)?.level;
        let mut terms = Vec::new();
        for k in indices.step_by(step).filter(|&k| p[k] != 0.0) {
            terms.push((p[k], self.eval.drop_level(&basis.get(k)?, level)?));
        }
        if terms.is_empty() {
            terms.push((0.0, basis.get(lowest)?));
        }
        let borrowed: Vec<(f64, &Ciphertext<D>)> = terms.iter().map(|(c, t)| (*c, t)).collect();
        self.weighted_sum(&borrowed)
    }
}
