//! Galois elements of the 2N-th cyclotomic ring, and their action on coefficients and values.

use crate::ntt::bit_reverse;

/// An odd g modulo 2N: the automorphism X → X^g.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GaloisElement(u32);

impl GaloisElement {
    /// g modulo 2N.
    ///
    /// # Panics
    /// If g is even.
    #[must_use]
    pub fn new(g: u32, log_n: u32) -> Self {
        assert!(g % 2 == 1, "an automorphism needs an odd exponent, got {g}");
        Self(g & mask(log_n))
    }

    /// Rotation of the N/2 slots to the left by `steps` (to the right if negative): 5^steps.
    #[must_use]
    pub fn rotation(steps: i64, log_n: u32) -> Self {
        let order = 1i64 << (log_n - 1);
        let mut exponent = steps.rem_euclid(order);
        let (mut base, mut g) = (5u32, 1u32);
        while exponent > 0 {
            if exponent & 1 == 1 {
                g = g.wrapping_mul(base);
            }
            base = base.wrapping_mul(base);
            exponent >>= 1;
        }
        Self(g & mask(log_n))
    }

    /// Complex conjugation of the slots: −1.
    #[must_use]
    pub fn conjugation(log_n: u32) -> Self {
        Self(mask(log_n))
    }

    /// The exponent, odd, below 2N.
    #[must_use]
    pub fn value(self) -> u32 {
        self.0
    }

    /// The inverse automorphism.
    #[must_use]
    pub fn inverse(self, log_n: u32) -> Self {
        // Newton: each step doubles the number of right low bits; g itself is right modulo 8.
        let inverse = (0..5).fold(self.0, |x, _| x.wrapping_mul(2u32.wrapping_sub(self.0.wrapping_mul(x))));
        Self(inverse & mask(log_n))
    }

    /// The composition: first `other`, then this automorphism.
    #[must_use]
    pub fn compose(self, other: Self, log_n: u32) -> Self {
        Self(self.0.wrapping_mul(other.0) & mask(log_n))
    }

    /// The index in the transform of a(X) of entry i of the transform of a(X^g), both in bit-reversed order.
    #[must_use]
    pub fn source_of_value(self, i: usize, log_n: u32) -> usize {
        let exponent = (2 * bit_reverse(i, log_n) + 1).wrapping_mul(self.0 as usize) & mask(log_n) as usize;
        bit_reverse((exponent - 1) / 2, log_n)
    }

    /// The index in a(X^g) of coefficient k of a(X), and whether its sign changes.
    #[must_use]
    pub fn target_of_coefficient(self, k: usize, log_n: u32) -> (usize, bool) {
        let exponent = k.wrapping_mul(self.0 as usize) & mask(log_n) as usize;
        (exponent & ((1 << log_n) - 1), exponent >> log_n == 1)
    }
}

/// 2N − 1: masks an exponent modulo 2N.
fn mask(log_n: u32) -> u32 {
    u32::MAX >> (31 - log_n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{modulus::Modulus, ntt::NttTable, prime::ntt_primes_below};

    #[test]
    fn group_laws() {
        for log_n in [10, 16, 17] {
            for steps in [0i64, 1, 3, -1, 500, -511] {
                let g = GaloisElement::rotation(steps, log_n);
                assert_eq!(g.compose(GaloisElement::rotation(-steps, log_n), log_n).value(), 1);
                assert_eq!(g.inverse(log_n), GaloisElement::rotation(-steps, log_n));
                assert_eq!(
                    g.compose(GaloisElement::rotation(2, log_n), log_n),
                    GaloisElement::rotation(steps + 2, log_n)
                );
            }
            let c = GaloisElement::conjugation(log_n);
            assert_eq!(c.compose(c, log_n).value(), 1);
        }
    }

    #[test]
    fn both_domains_agree() {
        let log_n = 6;
        let q = Modulus::new(ntt_primes_below(log_n, 30, 1, &[]).unwrap()[0]);
        let table = NttTable::new(q, log_n);
        let a: Vec<u64> = (0..64).map(|i| q.reduce(i * i + 5)).collect();
        let mut values = a.clone();
        table.forward(&mut values);
        for g in [1, 5, 25, 127, 77].map(|g| GaloisElement::new(g, log_n)) {
            let mut moved = vec![0; 64];
            for (k, &c) in a.iter().enumerate() {
                let (at, negated) = g.target_of_coefficient(k, log_n);
                moved[at] = if negated { q.neg(c) } else { c };
            }
            table.forward(&mut moved);
            let permuted: Vec<u64> = (0..64).map(|i| values[g.source_of_value(i, log_n)]).collect();
            assert_eq!(moved, permuted);
        }
    }
}
