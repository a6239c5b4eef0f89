//! What a device keeps for each open ring, in its own memory: moduli, tables of transforms, constants of conversions.

use crate::pool::Row;
use limbwise_device::{Basis, Ring};
use limbwise_math::{modulus::Modulus, ntt::bit_reverse, prime::primitive_root, rns::BaseConversion};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

/// Words of `Prime` in `modarith.cuh`.
const PRIME_WORDS: usize = 11;

/// log₂ of the largest ring that is transformed in one pass over device memory.
const ONE_PASS: u32 = 12;

/// How a transform of degree 2^log_n is cut: (s1 stages over columns, log₂ of the words of a tile of the rest).
pub(crate) fn passes(log_n: u32) -> (u32, u32) {
    let columns = if log_n <= ONE_PASS { 0 } else { (log_n - 8).min(8) };
    (columns, (log_n - columns).max(log_n.min(11)))
}

/// Puts words into the device's memory.
pub(crate) type Store<'a> = &'a dyn Fn(&[u64]) -> Arc<Row>;

/// Constants of a base conversion: `Source`, weights, corrections of `basis.cu`.
pub(crate) struct Conversion {
    pub(crate) sources: Arc<Row>,
    pub(crate) weights: Arc<Row>,
    pub(crate) corrections: Arc<Row>,
}

/// One ring's.
pub(crate) struct RingTables {
    pub(crate) ring: Ring,
    /// `Prime` for each prime of the list.
    pub(crate) primes: Arc<Row>,
    /// What these point to.
    tables: Vec<Arc<Row>>,
    conversions: Mutex<HashMap<(Basis, Basis), Arc<Conversion>>>,
}

/// `Modulus` of `modarith.cuh`: the number and ⌊2^128 / it⌋, or one less for a power of two.
pub(crate) fn modulus_words(q: u64) -> [u64; 3] {
    let ratio = u128::MAX / u128::from(q);
    let word = |x: u128| u64::try_from(x & u128::from(u64::MAX)).expect("64 bits");
    [q, word(ratio >> 64), word(ratio)]
}

/// The tables of one prime as words, and where each of the eight begins.
pub(crate) fn prime_tables(q: Modulus, log_n: u32) -> (Vec<u64>, [usize; 8]) {
    let psi = primitive_root(q, log_n);
    let (s1, split) = (passes(log_n).0, (log_n + 2) / 2);
    let s2 = log_n - s1;
    let mut words = Vec::new();
    let mut starts = Vec::new();
    // ψ^e for the exponents of a table, times a factor.
    let mut table = |base: u64, factor: u64, exponents: &mut dyn Iterator<Item = u64>| {
        starts.push(words.len());
        for e in exponents {
            let power = q.shoup(q.mul(q.pow(base, e), factor));
            words.extend([power.value, power.quotient]);
        }
    };
    let n = 1u64 << log_n;
    let inverse = q.inv(psi);
    let rank = |i: usize| bit_reverse(i, log_n) as u64;
    // Entry 2^m + g of the cyclic table: N·brv_m(g) / 2^m; entry 0 is not used.
    let cyclic = |i: usize| {
        let m = i.checked_ilog2().unwrap_or(0);
        (bit_reverse(i.saturating_sub(1 << m), m) as u64) * (n >> m)
    };
    for base in [psi, inverse] {
        table(base, 1, &mut (0..1usize << s1).map(rank));
    }
    for base in [psi, inverse] {
        table(base, 1, &mut (0..1usize << s2).map(cyclic));
    }
    for (base, scale) in [(psi, 1), (inverse, q.inv(q.reduce(n)))] {
        table(base, 1, &mut (0..1u64 << split));
        table(base, scale, &mut (0..(2 * n) >> split).map(|e| e << split));
    }
    (words, starts.try_into().expect("eight tables"))
}

impl RingTables {
    pub(crate) fn new(ring: Ring, store: Store<'_>) -> Self {
        let mut tables = Vec::new();
        let mut primes = Vec::new();
        for &q in ring.moduli() {
            let (words, starts) = prime_tables(q, ring.log_n());
            let row = store(&words);
            primes.extend(modulus_words(q.value()));
            primes.extend(starts.map(|start| row.at() + 8 * start as u64));
            tables.push(row);
        }
        debug_assert_eq!(primes.len(), PRIME_WORDS * ring.moduli().len());
        Self { primes: store(&primes), ring, tables, conversions: Mutex::default() }
    }

    /// Whether there was memory for all of it.
    pub(crate) fn is_whole(&self) -> bool {
        self.primes.at() != 0 && self.tables.iter().all(|row| row.at() != 0)
    }

    /// The constants of a conversion, made when first asked for.
    pub(crate) fn conversion(&self, from: Basis, to: Basis, store: Store<'_>) -> Arc<Conversion> {
        let mut open = self.conversions.lock().unwrap_or_else(PoisonError::into_inner);
        let build =
            || {
                let base = BaseConversion::new(&self.ring.moduli_of(from), &self.ring.moduli_of(to));
                let sources =
                    base.from.iter().zip(&base.inverses).zip(&base.fractions).flat_map(|((q, w), f)| {
                        [w.value, w.quotient, q.value(), f.factor, f.left.into(), f.right.into()]
                    });
                Arc::new(Conversion {
                    sources: store(&sources.collect::<Vec<u64>>()),
                    weights: store(&base.weights.concat()),
                    corrections: store(&base.corrections.concat()),
                })
            };
        if let Some(found) = open.get(&(from, to)) {
            return found.clone();
        }
        let built = build();
        if [&built.sources, &built.weights, &built.corrections].iter().all(|row| row.at() != 0) {
            open.insert((from, to), built.clone());
        }
        built
    }
}
