//! The reference negacyclic number-theoretic transform.
//!
//! Faster transforms of devices give the same residues in their own order. With ψ from [`primitive_root`], entry i of the
//! transform of a(X) is a(ψ^(2·brv(i)+1)), where brv reverses log₂N bits. Plain Cooley–Tukey and Gentleman–Sande
//! butterflies; every intermediate value is reduced.

use crate::{
    modulus::{Modulus, Shoup},
    prime::primitive_root,
};

/// Reverses the low `bits` bits of `i`.
#[inline]
#[must_use]
pub fn bit_reverse(i: usize, bits: u32) -> usize {
    if bits == 0 { 0 } else { i.reverse_bits() >> (usize::BITS - bits) }
}

/// Powers of ψ and its inverse for one prime and ring degree.
#[derive(Clone, Debug)]
pub struct NttTable {
    modulus: Modulus,
    log_n: u32,
    /// ψ^brv(i).
    roots: Vec<Shoup>,
    /// ψ^−brv(i).
    inverse_roots: Vec<Shoup>,
    n_inverse: Shoup,
}

impl NttTable {
    /// Tables for a prime that is 1 modulo 2N.
    ///
    /// # Panics
    /// If q is not 1 modulo 2N.
    #[must_use]
    pub fn new(modulus: Modulus, log_n: u32) -> Self {
        let psi = primitive_root(modulus, log_n);
        let powers = |base| {
            let mut table = vec![Shoup::default(); 1 << log_n];
            let mut power = 1;
            for i in 0..1 << log_n {
                table[bit_reverse(i, log_n)] = modulus.shoup(power);
                power = modulus.mul(power, base);
            }
            table
        };
        let n_inverse = modulus.shoup(modulus.inv(1 << log_n));
        Self { modulus, log_n, roots: powers(psi), inverse_roots: powers(modulus.inv(psi)), n_inverse }
    }

    /// The prime q.
    #[must_use]
    pub fn modulus(&self) -> Modulus {
        self.modulus
    }

    /// log₂ of the ring degree.
    #[must_use]
    pub fn log_n(&self) -> u32 {
        self.log_n
    }

    /// ψ^brv(i), i < N.
    #[must_use]
    pub fn roots(&self) -> &[Shoup] {
        &self.roots
    }

    /// ψ^−brv(i), i < N.
    #[must_use]
    pub fn inverse_roots(&self) -> &[Shoup] {
        &self.inverse_roots
    }

    /// N^{-1} mod q.
    #[must_use]
    pub fn n_inverse(&self) -> Shoup {
        self.n_inverse
    }

    /// Coefficients in natural order → values in bit-reversed order. Range: [0, q) → [0, q).
    ///
    /// # Panics
    /// If `a` has not N words.
    pub fn forward(&self, a: &mut [u64]) {
        assert_eq!(a.len(), 1 << self.log_n);
        let q = self.modulus;
        let mut half = a.len() / 2;
        while half > 0 {
            let groups = a.len() / (2 * half);
            for (pair, &w) in a.chunks_exact_mut(2 * half).zip(&self.roots[groups..]) {
                let (low, high) = pair.split_at_mut(half);
                for (x, y) in low.iter_mut().zip(high) {
                    let t = q.mul_shoup(*y, w);
                    (*x, *y) = (q.add(*x, t), q.sub(*x, t));
                }
            }
            half /= 2;
        }
    }

    /// Values in bit-reversed order → coefficients in natural order. Range: [0, q) → [0, q).
    ///
    /// # Panics
    /// If `a` has not N words.
    pub fn inverse(&self, a: &mut [u64]) {
        assert_eq!(a.len(), 1 << self.log_n);
        let q = self.modulus;
        let mut half = 1;
        while half < a.len() {
            let groups = a.len() / (2 * half);
            for (pair, &w) in a.chunks_exact_mut(2 * half).zip(&self.inverse_roots[groups..]) {
                let (low, high) = pair.split_at_mut(half);
                for (x, y) in low.iter_mut().zip(high) {
                    let t = q.sub(*x, *y);
                    (*x, *y) = (q.add(*x, *y), q.mul_shoup(t, w));
                }
            }
            half *= 2;
        }
        for x in a {
            *x = q.mul_shoup(*x, self.n_inverse);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prime::ntt_primes_below;

    #[test]
    fn is_evaluation_at_odd_powers_of_psi() {
        for bits in [20, 31, 50, 61] {
            let log_n = 10;
            let q = Modulus::new(ntt_primes_below(log_n, bits, 1, &[]).unwrap()[0]);
            let table = NttTable::new(q, log_n);
            let psi = primitive_root(q, log_n);
            let a: Vec<u64> = (0..1u64 << log_n).map(|i| q.reduce(i * i * i + 17)).collect();
            let mut values = a.clone();
            table.forward(&mut values);
            for i in [0usize, 1, 2, 511, 1000, 1023] {
                let point = q.pow(psi, 2 * bit_reverse(i, log_n) as u64 + 1);
                let horner = a.iter().rev().fold(0, |acc, &c| q.add(q.mul(acc, point), c));
                assert_eq!(values[i], horner, "entry {i} at {bits} bits");
            }
            table.inverse(&mut values);
            assert_eq!(values, a);
        }
    }

    #[test]
    fn products_are_negacyclic() {
        let log_n = 4;
        let q = Modulus::new(ntt_primes_below(log_n, 20, 1, &[]).unwrap()[0]);
        let table = NttTable::new(q, log_n);
        let n = 1usize << log_n;
        let (mut a, mut b): (Vec<u64>, Vec<u64>) = (0..n as u64).map(|i| (i * 7 + 1, 3 * i * i + 2)).unzip();
        let mut product = vec![0; n];
        for (i, &x) in a.iter().enumerate() {
            for (j, &y) in b.iter().enumerate() {
                let term = q.mul(x, y);
                let at = (i + j) % n;
                product[at] = if i + j < n { q.add(product[at], term) } else { q.sub(product[at], term) };
            }
        }
        table.forward(&mut a);
        table.forward(&mut b);
        let mut c: Vec<u64> = a.iter().zip(&b).map(|(&x, &y)| q.mul(x, y)).collect();
        table.inverse(&mut c);
        assert_eq!(c, product);
    }
}
