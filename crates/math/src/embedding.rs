//! The canonical embedding: n complex slots ↔ 2n real coefficients of a polynomial modulo X^{2n} + 1.
//!
//! Slot j is the value at ζ^(5^j), ζ = exp(iπ/2n). A ring of degree N carries n ≤ N/2 slots in the coefficients at
//! multiples of N/2n: such a polynomial is one in X^{N/2n}, and all rings agree on its slots.
//! Source: \[CKKS17\] §3.2; the transform is the one of its reference code (HEAAN), in double precision or in
//! numbers of two floats.

use crate::wide::{Wide, WideComplex};
use num_complex::Complex64;
use std::{
    f64::consts::PI,
    ops::{Add, Mul, Sub},
};

/// A complex number that the embedding computes with.
pub trait Point: Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> {
    /// A real or imaginary part.
    type Part: Copy;
    /// exp(2πi·k/order) for k < order.
    fn roots(order: usize) -> Vec<Self>;
    /// The number of these parts.
    fn of(parts: [Self::Part; 2]) -> Self;
    /// Its parts, each times a power of two.
    fn parts(self, factor: f64) -> [Self::Part; 2];
    /// The complex conjugate.
    #[must_use]
    fn conjugate(self) -> Self;
}

impl Point for Complex64 {
    type Part = f64;

    fn roots(order: usize) -> Vec<Self> {
        let angle = |k: usize| 2.0 * PI * small(k) / small(order);
        (0..order).map(|k| Self::from_polar(1.0, angle(k))).collect()
    }

    fn of([re, im]: [f64; 2]) -> Self {
        Self::new(re, im)
    }

    fn parts(self, factor: f64) -> [f64; 2] {
        [self.re * factor, self.im * factor]
    }

    fn conjugate(self) -> Self {
        self.conj()
    }
}

impl Point for WideComplex {
    type Part = Wide;

    fn roots(order: usize) -> Vec<Self> {
        Self::roots(order)
    }

    fn of([re, im]: [Wide; 2]) -> Self {
        Self { re, im }
    }

    fn parts(self, factor: f64) -> [Wide; 2] {
        [self.re.shifted(factor), self.im.shifted(factor)]
    }

    fn conjugate(self) -> Self {
        Self { im: -self.im, ..self }
    }
}

/// Tables for one number of slots, in double precision unless said otherwise.
#[derive(Clone, Debug)]
pub struct Embedding<P: Point = Complex64> {
    slots: usize,
    /// exp(2πi·k/4n), k < 4n.
    roots: Vec<P>,
    /// 5^j mod 4n.
    powers_of_five: Vec<usize>,
}

impl<P: Point> Embedding<P> {
    /// Tables for `slots`, a power of two.
    ///
    /// # Panics
    /// If `slots` is not a power of two below 2^17.
    #[must_use]
    pub fn new(slots: usize) -> Self {
        assert!(slots.is_power_of_two() && slots < 1 << 17, "slots are a power of two below 2^17, got {slots}");
        let order = 4 * slots;
        let powers_of_five = (0..slots)
            .scan(1, |p, _| {
                let power = *p;
                *p = *p * 5 % order;
                Some(power)
            })
            .collect();
        Self { slots, roots: P::roots(order), powers_of_five }
    }

    /// Number of slots n.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// The 2n real coefficients whose slots are `values`.
    ///
    /// # Panics
    /// If there are not n values.
    #[must_use]
    pub fn to_coefficients(&self, values: &[P]) -> Vec<P::Part> {
        assert_eq!(values.len(), self.slots);
        let mut v = values.to_vec();
        let mut len = self.slots;
        while len >= 2 {
            for block in v.chunks_exact_mut(len) {
                let (low, high) = block.split_at_mut(len / 2);
                for (j, (x, y)) in low.iter_mut().zip(high).enumerate() {
                    (*x, *y) = (*x + *y, (*x - *y) * self.twiddle(len, j).conjugate());
                }
            }
            len /= 2;
        }
        bit_reverse_permute(&mut v);
        let scale = 1.0 / small(self.slots);
        let part = |at: usize| v.iter().map(move |z| z.parts(scale)[at]);
        part(0).chain(part(1)).collect()
    }

    /// The n slots of 2n real coefficients.
    ///
    /// # Panics
    /// If there are not 2n coefficients.
    #[must_use]
    pub fn to_slots(&self, coefficients: &[P::Part]) -> Vec<P> {
        assert_eq!(coefficients.len(), 2 * self.slots);
        let (re, im) = coefficients.split_at(self.slots);
        let mut v: Vec<P> = re.iter().zip(im).map(|(&re, &im)| P::of([re, im])).collect();
        bit_reverse_permute(&mut v);
        let mut len = 2;
        while len <= self.slots {
            for block in v.chunks_exact_mut(len) {
                let (low, high) = block.split_at_mut(len / 2);
                for (j, (x, y)) in low.iter_mut().zip(high).enumerate() {
                    let t = *y * self.twiddle(len, j);
                    (*x, *y) = (*x + t, *x - t);
                }
            }
            len *= 2;
        }
        v
    }

    /// exp(2πi·5^j/4len): the factor of butterfly j < len/2 in the stage of blocks of `len` ≤ n values. A stage takes
    /// (x, y), len/2 apart, to (x + w·y, x − w·y); stages of length 2, 4, … n take bit-reversed coefficients to slots.
    ///
    /// # Panics
    /// Outside these ranges.
    #[must_use]
    pub fn twiddle(&self, len: usize, j: usize) -> P {
        let order = 4 * len;
        self.roots[self.powers_of_five[j] % order * (self.roots.len() / order)]
    }
}

fn bit_reverse_permute<P>(v: &mut [P]) {
    let bits = v.len().trailing_zeros();
    for i in 0..v.len() {
        let j = crate::ntt::bit_reverse(i, bits);
        if i < j {
            v.swap(i, j);
        }
    }
}

fn small(x: usize) -> f64 {
    crate::rns::to_f64(x as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(n: usize) -> Vec<Complex64> {
        (0..n).map(|i| Complex64::new((small(i) * 0.7).sin(), (small(i) * 1.3).cos())).collect()
    }

    #[test]
    fn slots_are_values_at_powers_of_five() {
        for n in [1, 2, 8, 64] {
            let embedding = Embedding::<Complex64>::new(n);
            let x = values(n);
            let coefficients = embedding.to_coefficients(&x);
            let mut power = 1;
            for slot in &x {
                let angle = PI * small(power) / small(2 * n);
                let sum: Complex64 =
                    (0..2 * n).map(|k| coefficients[k] * Complex64::from_polar(1.0, angle * small(k))).sum();
                assert!((sum - slot).norm() < 1e-12, "n = {n}");
                power = power * 5 % (4 * n);
            }
        }
    }

    #[test]
    fn round_trips_at_full_size() {
        let embedding = Embedding::<Complex64>::new(1 << 15);
        let x = values(1 << 15);
        let back = embedding.to_slots(&embedding.to_coefficients(&x));
        let worst = x.iter().zip(&back).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
        assert!(worst < 1e-14, "{worst}");
    }

    #[test]
    fn wide_numbers_go_the_same_way_with_twice_the_digits() {
        let n = 1 << 8;
        let (narrow, wide) = (Embedding::<Complex64>::new(n), Embedding::<WideComplex>::new(n));
        let x: Vec<WideComplex> = values(n).iter().map(|z| WideComplex::of([z.re.into(), z.im.into()])).collect();
        let coefficients = wide.to_coefficients(&x);
        for (a, b) in coefficients.iter().zip(narrow.to_coefficients(&values(n))) {
            assert!((a.high - b).abs() < 1e-15);
        }
        let back = wide.to_slots(&coefficients);
        let worst = x.iter().zip(&back).map(|(a, b)| ((*a - *b).re.high).hypot((*a - *b).im.high)).fold(0.0, f64::max);
        assert!(worst < 2f64.powi(-97), "{worst}");
    }
}
