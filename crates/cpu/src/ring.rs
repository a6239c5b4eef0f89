//! Tables of each open ring: kernels per prime, maps of automorphisms, base conversions. Built on first use.

use crate::kernels::{Converter, Isa, LimbKernels, galois::ValueMap, kernels};
use limbwise_device::{Basis, Ring};
use limbwise_math::galois::GaloisElement;
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
        Self { ring, isa, primes, maps: Cache::default(), conversions: Cache::default() }
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
}
