//! Polynomials in the Chebyshev basis, or in powers on the unit circle: baby steps, giant steps, minimal depth.
//!
//! A series of degree d needs ⌈log₂(d+1)⌉ levels. It is divided by T_m, m a power of two, until the parts are linear
//! combinations of baby steps. Where the depth is tight (only along the leading quotients) the division continues down
//! to degree one. Source: \[PS73\], \[BMTH21\] §5.2.

use super::{auto::Auto, ciphertext::Ciphertext, evaluator::Evaluator, watch::With};
use crate::error::Result;
use limbwise_device::Device;
use limbwise_math::chebyshev::{Series, divide};
use num_complex::Complex64;
use std::collections::BTreeMap;

/// Levels that a series of this degree consumes for an argument in [−1, 1].
#[must_use]
pub fn depth(degree: usize) -> usize {
    (degree + 1).next_power_of_two().trailing_zeros() as usize
}

/// The polynomials that a sum is made of.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// T_k, for real arguments in [−1, 1].
    Chebyshev,
    /// z^k, for arguments on the unit circle.
    Power,
}

/// T_k or z^k of the argument, computed on first use.
struct Basis<'s, 'a, D: Device> {
    auto: &'s Auto<'a, D>,
    kind: Kind,
    powers: BTreeMap<usize, Ciphertext<D>>,
    /// X^(N/2) where coefficients have imaginary parts.
    imaginary: Option<&'s D::Poly>,
}

impl<D: Device> Basis<'_, '_, D> {
    /// T_k by T_{a+b} = 2·T_a·T_b − T_{a−b}, z^k by z^a·z^b, a the larger half: depth ⌈log₂ k⌉.
    fn get(&mut self, k: usize) -> Result<Ciphertext<D>> {
        if let Some(known) = self.powers.get(&k) {
            return Ok(known.clone());
        }
        let a = 1 << (k.next_power_of_two().trailing_zeros() - 1);
        let b = k - a;
        let (left, right) = (self.get(a)?, self.get(b)?);
        let auto = self.auto;
        let product = if a == b { auto.square(&left)? } else { auto.mul(&left, &right)? };
        let power = match self.kind {
            Kind::Power => auto.settle(&product)?,
            Kind::Chebyshev if a == b => {
                auto.eval.add_scalar_in_place(auto.settle(&auto.eval.add(&product, &product)?)?, -1.0)
            }
            Kind::Chebyshev => {
                // The smaller polynomial is subtracted before the division, at the scale of the product: there it costs
                // only a constant.
                let less = auto.eval.drop_level(&auto.settle(&self.get(a - b)?)?, product.level)?;
                auto.settle(&auto.eval.combination("chebyshev", &[(2.0, &product), (-1.0, &less)], product.scale)?)?
            }
        };
        let power = power.bounded_by(1.0); // the interval and the circle are mapped to themselves
        self.powers.insert(k, power.clone());
        Ok(power)
    }

    /// Quotient and remainder by the m-th polynomial.
    fn divided(&self, p: &[Complex64], m: usize) -> (Vec<Complex64>, Vec<Complex64>) {
        if self.kind == Kind::Power {
            return (p[m..].to_vec(), p[..m].to_vec());
        }
        let [real, imaginary] = [real_parts(p), imaginary_parts(p)].map(|part| divide(&part, m));
        let join = |re: Vec<f64>, im: Vec<f64>| re.into_iter().zip(im).map(|(re, im)| Complex64::new(re, im)).collect();
        (join(real.0, imaginary.0), join(real.1, imaginary.1))
    }
}

fn real_parts(p: &[Complex64]) -> Vec<f64> {
    p.iter().map(|c| c.re).collect()
}

fn imaginary_parts(p: &[Complex64]) -> Vec<f64> {
    p.iter().map(|c| c.im).collect()
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
        let coefficients: Vec<Complex64> = coefficients.iter().map(|&c| c.into()).collect();
        self.series(u, &coefficients, Kind::Chebyshev, None)
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
        let complex = |(k, &c): (usize, &f64)| if k % 2 == 0 { c.into() } else { Complex64::new(0.0, c) };
        let coefficients: Vec<Complex64> = coefficients.iter().enumerate().map(complex).collect();
        self.series(u, &coefficients, Kind::Chebyshev, Some(unit))
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
        self.series(z, coefficients, Kind::Power, Some(unit))
    }

    fn series(
        &self,
        u: &Ciphertext<D>,
        coefficients: &[Complex64],
        kind: Kind,
        imaginary: Option<&D::Poly>,
    ) -> Result<Ciphertext<D>> {
        let degree = coefficients.len().checked_sub(1).expect("a series has a coefficient");
        let _region = self.eval.device().region("chebyshev", u32::try_from(degree).unwrap_or(u32::MAX));
        let u = self.settle(u)?.bounded_by(1.0);
        self.eval.needs("chebyshev", &u, depth(degree))?;
        let mut basis = Basis { auto: self, kind, powers: BTreeMap::from([(1, u)]), imaginary };
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
    fn evaluate(
        &self,
        basis: &mut Basis<'_, '_, D>,
        p: &[Complex64],
        babies: usize,
        budget: usize,
    ) -> Result<Ciphertext<D>> {
        let degree = p.len() - 1;
        let combination_depth = degree.next_power_of_two().trailing_zeros() as usize + 1;
        if degree <= 1 || (degree < babies && combination_depth <= budget) {
            return self.combination(basis, p);
        }
        let m = (degree + 1).next_power_of_two() / 2;
        let (quotient, remainder) = basis.divided(p, m);
        let high = match quotient[..] {
            [constant] if constant.im == 0.0 => self.weighted_sum(&[(constant.re, &basis.get(m)?)])?,
            [constant] => {
                let mut alone = vec![Complex64::default(); m + 1];
                alone[m] = constant;
                self.combination(basis, &alone)?
            }
            _ => self.mul(&self.evaluate(basis, &quotient, babies, budget - 1)?, &basis.get(m)?)?,
        };
        let low = self.evaluate(basis, &remainder, babies, budget)?;
        self.add(&high, &low)
    }

    /// `Σ p_k·T_k` of a few terms, pending. Only exact zeros are omitted: the smallest coefficients still count.
    fn combination(&self, basis: &mut Basis<'_, '_, D>, p: &[Complex64]) -> Result<Ciphertext<D>> {
        let (real, imaginary) = (real_parts(p), imaginary_parts(p));
        let is_there = |part: &[f64]| part[1..].iter().any(|&c| c != 0.0);
        let lowest = (1..p.len()).filter(|&k| p[k] != Complex64::default()).max().unwrap_or(1);
        let sum = match basis.imaginary {
            Some(unit) if imaginary.iter().any(|&c| c != 0.0) => {
                let sum = self.sum_of_terms(basis, &imaginary, lowest)?;
                let sum = if imaginary[0] == 0.0 { sum } else { self.eval.add_scalar_in_place(sum, imaginary[0]) };
                let turned = self.eval.times_unit(&sum, unit);
                if is_there(&real) { self.add(&turned, &self.sum_of_terms(basis, &real, lowest)?)? } else { turned }
            }
            _ => self.sum_of_terms(basis, &real, lowest)?,
        };
        Ok(self.eval.add_scalar_in_place(sum, real[0]))
    }

    /// The terms of real coefficients that are not zero, pending at the level of the `lowest`-th.
    fn sum_of_terms(&self, basis: &mut Basis<'_, '_, D>, p: &[f64], lowest: usize) -> Result<Ciphertext<D>> {
        let level = basis.get(lowest)?.level;
        let mut terms = Vec::new();
        for k in (1..p.len()).filter(|&k| p[k] != 0.0) {
            terms.push((p[k], self.eval.drop_level(&basis.get(k)?, level)?));
        }
        if terms.is_empty() {
            terms.push((0.0, basis.get(lowest)?));
        }
        let borrowed: Vec<(f64, &Ciphertext<D>)> = terms.iter().map(|(c, t)| (*c, t)).collect();
        self.weighted_sum(&borrowed)
    }
}
