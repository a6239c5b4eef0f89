//! Tables of each open ring: kernels per prime, maps of automorphisms, base conversions, divisions. Built on first use.

use crate::kernels::{Converter, Isa, LimbKernels, galois::ValueMap, kernels};
use limbwise_device::{
    Basis, Ring,
    composites::{inverse_product, product},
};
use limbwise_math::{galois::GaloisElement, rns::BaseConversion};
use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

/// The tables of one ring.
pub(crate) struct RingTables {
    pub(crate) ring: Ring,
    isa: Isa,
    primes: Vec<OnceLock<Box<dyn LimbKernels>>>,
    maps: Cache<GaloisElement, ValueMap>,
    conversions: Cache<(Basis, Basis), Converter>,
    divisions: Cache<(Basis, Basis), Division>,
}

/// A division from a basis to another: `round(x·Π(to)/Π(from))`, with those primes of both that the other lacks.
///
/// With D the product of the dropped primes, g that of the new ones and r the centered remainder of g·x modulo D, the
/// quotient is (g·x − r)/D. A kept limb is `(x − r/g)·(g/D)`: the conversion gives r/g, [`Self::factor`] is g/D. A new limb is
/// −r/D, which the conversion gives.
pub(crate) struct Division {
    /// The primes that are divided by.
    pub(crate) dropped: Basis,
    /// The primes of the result that the operand lacks.
    pub(crate) new: Basis,
    /// The primes of the result.
    pub(crate) to: Basis,
    /// From the dropped primes to those of the result.
    pub(crate) converter: Arc<Converter>,
    /// g/D modulo each prime of the result.
    factors: Vec<u64>,
}

impl Division {
    fn new(tables: &RingTables, from: Basis, to: Basis) -> Self {
        let (ring, dropped, new) = (&tables.ring, from - to, to - from);
        let inverses = inverse_product(ring, dropped, to);
        if new.is_empty() {
            return Self { dropped, new, to, converter: tables.conversion(dropped, to), factors: inverses };
        }
        let grown = |basis| product(ring, new, basis);
        let targets = to.iter().zip(ring.moduli_of(to)).zip(inverses.iter().zip(grown(to)));
        let (by, factors): (Vec<u64>, Vec<u64>) = targets
            .map(|((prime, q), (&inverse, grown))| match new.contains(prime) {
                true => (q.neg(inverse), 0),
                false => (q.inv(grown), q.mul(inverse, grown)),
            })
            .unzip();
        let base = BaseConversion::new(&ring.moduli_of(dropped), &ring.moduli_of(to));
        let converter = Arc::new(Converter::of(tables.isa, base.scaled(&grown(dropped), &by)));
        Self { dropped, new, to, converter, factors }
    }

    /// The primes of the result that the operand has.
    pub(crate) fn kept(&self) -> Basis {
        self.to - self.new
    }

    /// g/D modulo a prime; `None` for one that is not kept.
    pub(crate) fn factor(&self, prime: usize) -> Option<u64> {
        self.kept().contains(prime).then(|| self.factors[self.to.position(prime).unwrap_or_default()])
    }
}

type Cache<K, V> = Mutex<HashMap<K, Arc<V>>>;

/// The cached value of a key; two threads may build the same one, and the first stays.
fn cached<K: Eq + Hash + Copy, V>(cache: &Cache<K, V>, key: K, build: impl FnOnce() -> V) -> Arc<V> {
    let lock = || cache.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = lock().get(&key) {
        return found.clone();
    }
    let built = Arc::new(build()); // outside the lock: tables of a large ring take milliseconds
    lock().entry(key).or_insert(built).clone()
}

impl RingTables {
    pub(crate) fn new(ring: Ring, isa: Isa) -> Self {
        let primes = ring.moduli().iter().map(|_| OnceLock::new()).collect();
        Self { ring, isa, primes, maps: Cache::default(), conversions: Cache::default(), divisions: Cache::default() }
    }

    /// The kernels of the ring's prime `i`.
    pub(crate) fn prime(&self, i: usize) -> &dyn LimbKernels {
        let kernels = || kernels(self.isa, self.ring.moduli()[i], self.ring.log_n());
        #[cfg(test)]
        let kernels = || crate::traffic::watched(kernels(), self.ring.log_n());
        self.primes[i].get_or_init(kernels).as_ref()
    }

    /// The kernels of a basis, in limb order.
    pub(crate) fn limbs(&self, basis: Basis) -> Vec<&dyn LimbKernels> {
        basis.iter().map(|i| self.prime(i)).collect()
    }

    pub(crate) fn value_map(&self, g: GaloisElement) -> Arc<ValueMap> {
        cached(&self.maps, g, || ValueMap::new(g, self.ring.log_n()))
    }

    pub(crate) fn conversion(&self, from: Basis, to: Basis) -> Arc<Converter> {
        let moduli = |basis| self.ring.moduli_of(basis);
        cached(&self.conversions, (from, to), || Converter::new(self.isa, &moduli(from), &moduli(to)))
    }

    pub(crate) fn division(&self, from: Basis, to: Basis) -> Arc<Division> {
        cached(&self.divisions, (from, to), || Division::new(self, from, to))
    }
}
