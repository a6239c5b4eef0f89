//! The canonical embedding: n complex slots ↔ 2n real coefficients of a polynomial modulo X^{2n} + 1.
//!
//! Slot j is the value at ζ^(5^j), ζ = exp(iπ/2n). A ring of degree N carries n ≤ N/2 slots in the coefficients at
//! multiples of N/2n: such a polynomial is one in X^{N/2n}, and all rings agree on its slots.
//! Source: \[CKKS17\] §3.2; the transform is the one of its reference code (HEAAN), in double precision.

use num_complex::Complex64;
use std::f64::consts::PI;

/// Tables for one number of slots.
#[derive(Clone, Debug)]
pub struct Embedding {
    slots: usize,
    /// exp(2πi·k/4n), k < 4n.
    roots: Vec<Complex64>,
    /// 5^j mod 4n.
    powers_of_five: Vec<usize>,
}

impl Embedding {
    /// Tables for `slots`, a power of two.
    ///
    /// # Panics
    /// If `slots` is not a power of two below 2^17.
    #[must_use]
    pub fn new(slots: usize) -> Self {
        assert!(slots.is_power_of_two() && slots < 1 << 17, "slots are a power of two below 2^17, got {slots}");
        let order = 4 * slots;
        let angle = |k: usize| 2.0 * PI * small(k) / small(order);
        let roots = (0..order).map(|k| Complex64::from_polar(1.0, angle(k))).collect();
        let powers_of_five = (0..slots)
            .scan(1, |p, _| {
                let power = *p;
                *p = *p * 5 % order;
                Some(power)
            })
            .collect();
        Self { slots, roots, powers_of_five }
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
    pub fn to_coefficients(&self, values: &[Complex64]) -> Vec<f64> {
        assert_eq!(values.len(), self.slots);
        let mut v = values.to_vec();
        let mut len = self.slots;
        while len >= 2 {
            for block in v.chunks_exact_mut(len) {
                let (low, high) = block.split_at_mut(len / 2);
                for (j, (x, y)) in low.iter_mut().zip(high).enumerate() {
                    (*x, *y) = (*x + *y, (*x - *y) * self.twiddle(len, j).conj());
                }
            }
            len /= 2;
        }
        bit_reverse_permute(&mut v);
        let scale = 1.0 / small(self.slots);
        v.iter().map(|z| z.re * scale).chain(v.iter().map(|z| z.im * scale)).collect()
    }

    /// The n slots of 2n real coefficients.
    ///
    /// # Panics
    /// If there are not 2n coefficients.
    #[must_use]
    pub fn to_slots(&self, coefficients: &[f64]) -> Vec<Complex64> {
        assert_eq!(coefficients.len(), 2 * self.slots);
        let (re, im) = coefficients.split_at(self.slots);
        let mut v: Vec<Complex64> = re.iter().zip(im).map(|(&re, &im)| Complex64::new(re, im)).collect();
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
    pub fn twiddle(&self, len: usize, j: usize) -> Complex64 {
        let order = 4 * len;
        self.roots[self.powers_of_five[j] % order * (self.roots.len() / order)]
    }
}

fn bit_reverse_permute(v: &mut [Complex64]) {
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
            let embedding = Embedding::new(n);
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
        let embedding = Embedding::new(1 << 15);
        let x = values(1 << 15);
        let back = embedding.to_slots(&embedding.to_coefficients(&x));
        let worst = x.iter().zip(&back).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
        assert!(worst < 1e-14, "{worst}");
    }
}
