//! The domain of a polynomial: rings, sets of their primes, shapes.

use limbwise_math::{modulus::Modulus, prime::is_prime};
use std::sync::{Arc, OnceLock};

/// A set of primes of one ring, as a bit set over its prime list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Basis(pub u128);

impl Basis {
    /// The primes `from`, `from + 1`, … `to − 1` of the list.
    ///
    /// # Panics
    /// If the range exceeds 128 primes.
    #[must_use]
    pub fn range(from: usize, to: usize) -> Self {
        assert!(from <= to && to <= 128, "a basis holds at most 128 primes, got {from}..{to}");
        let below = |k: usize| if k == 128 { u128::MAX } else { (1 << k) - 1 };
        Self(below(to) & !below(from))
    }

    /// The single prime `i`.
    #[must_use]
    pub fn single(i: usize) -> Self {
        Self::range(i, i + 1)
    }

    /// Number of primes.
    #[must_use]
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether prime `i` is in the set.
    #[must_use]
    pub fn contains(self, i: usize) -> bool {
        i < 128 && self.0 >> i & 1 == 1
    }

    /// Whether every prime of the set is also in `other`.
    #[must_use]
    pub fn is_subset(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// Whether no prime of the set is in `other`.
    #[must_use]
    pub fn is_disjoint(self, other: Self) -> bool {
        self.0 & other.0 == 0
    }

    /// Indices of the primes in ascending order, which is the order of limbs everywhere.
    #[must_use]
    pub fn iter(self) -> impl DoubleEndedIterator<Item = usize> + Clone {
        Primes(self.0)
    }

    /// Index of prime `i` among the limbs, if it is in the set.
    #[must_use]
    pub fn position(self, i: usize) -> Option<usize> {
        self.contains(i).then(|| (self.0 & !(u128::MAX << i)).count_ones() as usize)
    }
}

/// The union.
impl FromIterator<Self> for Basis {
    fn from_iter<T: IntoIterator<Item = Self>>(all: T) -> Self {
        all.into_iter().fold(Self::default(), |union, basis| union | basis)
    }
}

/// The primes not yet iterated over.
#[derive(Clone)]
struct Primes(u128);

impl Iterator for Primes {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let i = self.0.trailing_zeros();
        (i < 128).then(|| {
            self.0 &= !(1 << i);
            i as usize
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.0.count_ones() as usize;
        (left, Some(left))
    }
}

impl DoubleEndedIterator for Primes {
    fn next_back(&mut self) -> Option<usize> {
        let i = 127u32.checked_sub(self.0.leading_zeros())?;
        self.0 &= !(1 << i);
        Some(i as usize)
    }
}

impl std::ops::BitOr for Basis {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl std::ops::BitAnd for Basis {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl std::ops::Sub for Basis {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

/// Reasons why a ring cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RingError {
    /// A prime too large for the device's arithmetic.
    #[error("{device} computes modulo primes of at most {largest} bits; got {prime} ({} bits): choose smaller primes or another device", 64 - prime.leading_zeros())]
    PrimeTooLarge {
        /// Name of the device.
        device: String,
        /// The prime given.
        prime: u64,
        /// Largest bit length allowed.
        largest: u32,
    },
    /// Not a prime that is 1 modulo 2N, or listed twice.
    #[error(
        "{0} is not a prime of 20 to 61 bits that is 1 modulo 2N and listed once: the negacyclic transform needs such primes"
    )]
    Prime(u64),
    /// A ring degree outside 2^10 … 2^17.
    #[error("ring degree 2^{0} is not supported: choose 2^10 to 2^17")]
    Degree(u32),
    /// More primes than a basis can name.
    #[error("a ring holds 1 to 128 primes, got {0}")]
    Count(usize),
}

/// The definition of a ring: `Z_Q[X]/(X^N + 1)`, Q the product of the listed primes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RingSpec {
    /// log₂ N, 10 … 17.
    pub log_n: u32,
    /// Distinct primes of 20–61 bits, each 1 modulo 2N: q₀ …, then the special primes.
    pub primes: Vec<u64>,
}

/// A checked ring; clones share it. Rings are equal if their specifications are.
#[derive(Clone, Debug)]
pub struct Ring(Arc<RingInner>);

#[derive(Debug)]
struct RingInner {
    spec: RingSpec,
    moduli: Vec<Modulus>,
    /// The inverse of each prime modulo each other, computed on first use; every division by primes needs some.
    inverses: OnceLock<Vec<u64>>,
}

impl PartialEq for Ring {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.spec == other.0.spec
    }
}

impl Eq for Ring {}

impl Ring {
    /// Checks a specification.
    ///
    /// # Errors
    /// [`RingError`] for a degree, prime or count out of range.
    pub fn new(spec: &RingSpec) -> Result<Self, RingError> {
        if !(10..=17).contains(&spec.log_n) {
            return Err(RingError::Degree(spec.log_n));
        }
        if spec.primes.is_empty() || spec.primes.len() > 128 {
            return Err(RingError::Count(spec.primes.len()));
        }
        for (i, &q) in spec.primes.iter().enumerate() {
            let sized = (20..=Modulus::MAX_BITS).contains(&(64 - q.leading_zeros()));
            if !sized || q % (2 << spec.log_n) != 1 || spec.primes[..i].contains(&q) || !is_prime(q) {
                return Err(RingError::Prime(q));
            }
        }
        let moduli = spec.primes.iter().map(|&q| Modulus::new(q)).collect();
        Ok(Self(Arc::new(RingInner { spec: spec.clone(), moduli, inverses: OnceLock::new() })))
    }

    /// The specification.
    #[must_use]
    pub fn spec(&self) -> &RingSpec {
        &self.0.spec
    }

    /// log₂ of the ring degree.
    #[must_use]
    pub fn log_n(&self) -> u32 {
        self.0.spec.log_n
    }

    /// The ring degree N.
    #[must_use]
    pub fn n(&self) -> usize {
        1 << self.0.spec.log_n
    }

    /// All moduli in the order of the list.
    #[must_use]
    pub fn moduli(&self) -> &[Modulus] {
        &self.0.moduli
    }

    /// `p_i^{-1}` modulo prime `j`.
    ///
    /// # Panics
    /// If `i` equals `j`.
    #[must_use]
    pub fn inverse(&self, i: usize, j: usize) -> u64 {
        assert_ne!(i, j, "a prime has no inverse modulo itself");
        let (primes, count) = (&self.0.spec.primes, self.0.moduli.len());
        let of = |(i, j): (usize, usize)| {
            let q = self.0.moduli[j];
            if i == j { 0 } else { q.inv(q.reduce(primes[i])) }
        };
        let all = || (0..count * count).map(|at| of((at / count, at % count))).collect();
        self.0.inverses.get_or_init(all)[i * count + j]
    }

    /// The moduli of a basis, in limb order.
    #[must_use]
    pub fn moduli_of(&self, basis: Basis) -> Vec<Modulus> {
        basis.iter().map(|i| self.0.moduli[i]).collect()
    }

    /// The basis of all primes.
    #[must_use]
    pub fn full(&self) -> Basis {
        Basis::range(0, self.0.moduli.len())
    }

    /// log₂ of the product of a basis.
    #[must_use]
    pub fn log_modulus(&self, basis: Basis) -> f64 {
        basis.iter().map(|i| limbwise_math::rns::to_f64(self.0.spec.primes[i]).log2()).sum()
    }
}

/// Representation of a polynomial: coefficients, or values at the odd powers of ψ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Domain {
    /// Coefficients, natural order.
    Coeff,
    /// Values; in bit-reversed order on the host.
    Eval,
}

/// The shape of a polynomial: `batch × limbs × N` words of a ring in one domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The ring.
    pub ring: Ring,
    /// The primes that have a limb.
    pub basis: Basis,
    /// Number of independent polynomials, at least 1.
    pub batch: usize,
    /// Coefficients or values.
    pub domain: Domain,
}

impl Shape {
    /// The shape of a single polynomial in evaluation domain.
    #[must_use]
    pub fn eval(ring: &Ring, basis: Basis) -> Self {
        Self { ring: ring.clone(), basis, batch: 1, domain: Domain::Eval }
    }

    /// The same shape over another basis.
    #[must_use]
    pub fn with_basis(&self, basis: Basis) -> Self {
        Self { basis, ..self.clone() }
    }

    /// The same shape with another batch size.
    #[must_use]
    pub fn with_batch(&self, batch: usize) -> Self {
        Self { batch, ..self.clone() }
    }

    /// The same shape in another domain.
    #[must_use]
    pub fn with_domain(&self, domain: Domain) -> Self {
        Self { domain, ..self.clone() }
    }

    /// Number of limbs in the whole batch.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.batch * self.basis.len()
    }

    /// Size of all rows in bytes, without padding.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        (8 * self.rows() as u64) << self.ring.log_n()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn basis_is_a_set() {
        let a = Basis::range(2, 6);
        assert_eq!(a.iter().collect::<Vec<_>>(), [2, 3, 4, 5]);
        assert_eq!((a - Basis::single(3)).position(4), Some(1));
        assert_eq!(a.position(7), None);
        assert_eq!(Basis::range(0, 128).len(), 128);
        assert_eq!((a | Basis::single(127)).iter().rev().collect::<Vec<_>>(), [127, 5, 4, 3, 2]);
        assert_eq!(Basis::range(0, 128).iter().count() + Basis::default().iter().rev().count(), 128);
        assert!(Basis::single(127).is_subset(Basis::range(100, 128)));
        assert!(a.is_disjoint(Basis::range(6, 9)) && Basis::default().is_empty());
    }

    #[test]
    fn bad_rings_are_refused() {
        let spec = |log_n, primes: &[u64]| Ring::new(&RingSpec { log_n, primes: primes.to_vec() });
        assert_eq!(spec(9, &[12289]).unwrap_err(), RingError::Degree(9));
        assert_eq!(spec(10, &[]).unwrap_err(), RingError::Count(0));
        let q = limbwise_math::prime::ntt_primes_below(10, 50, 1, &[]).unwrap()[0];
        assert_eq!(spec(10, &[q, q]).unwrap_err(), RingError::Prime(q));
        assert_eq!(spec(10, &[12289]).unwrap_err(), RingError::Prime(12289)); // 14 bits
        assert_eq!(spec(10, &[u64::MAX]).unwrap_err(), RingError::Prime(u64::MAX));
        assert!(spec(10, &[q]).is_ok());
    }
}
