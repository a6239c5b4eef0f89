//! Tables of an open ring in GPU memory: moduli, transform tables, constants of conversions.

use crate::{nvrtc::NARROW_BITS, pool::Row};
use limbwise_device::{Basis, Ring};
use limbwise_math::{modulus::Modulus, ntt::bit_reverse, prime::primitive_root, rns::BaseConversion};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

/// Words of `Prime` in `modarith.cuh`.
pub(crate) const PRIME_WORDS: usize = 12;

/// log₂ of the words of a tile (`LOG_TILE` in `ntt.cu`), which is the largest ring that one pass over device memory
/// transforms.
pub(crate) const LOG_TILE: u32 = 12;

/// log₂ of the length of the cyclic transforms that do the last stages of a longer transform.
const CYCLIC: u32 = 4;

/// Number of stages in the pass over columns, 0 if one pass is enough; the other pass has 7 or 8.
pub(crate) fn column_stages(log_n: u32) -> u32 {
    if log_n <= LOG_TILE { 0 } else { (log_n - 8).max(6) }
}

/// A factor in the form of the prime's arithmetic: with ⌊w·2^64 / q⌋, or, for primes of up to `float_bits` bits, the
/// doubles of w in (−q/2, q/2) and of w/q.
pub(crate) fn factor(q: Modulus, float_bits: u32, w: u64) -> [u64; 2] {
    let p = q.value();
    if p >> NARROW_BITS == 0 || p >> float_bits != 0 {
        let shoup = q.shoup(w);
        return [shoup.value, shoup.quotient];
    }
    // Exact: both are below 2^50.
    let centered = if w > p / 2 { -((p - w) as f64) } else { w as f64 };
    [centered.to_bits(), (centered / p as f64).to_bits()]
}

/// Writes words to device memory.
pub(crate) type Store<'a> = &'a dyn Fn(&[u64]) -> Arc<Row>;

/// Constants of a base conversion: `Source`, weights, corrections of `basis.cu`.
pub(crate) struct Conversion {
    pub(crate) sources: Arc<Row>,
    pub(crate) weights: Arc<Row>,
    pub(crate) corrections: Arc<Row>,
}

/// The tables of one ring.
pub(crate) struct RingTables {
    pub(crate) ring: Ring,
    /// `Prime` for each prime of the list.
    pub(crate) primes: Arc<Row>,
    /// The tables that `primes` points to.
    tables: Vec<Arc<Row>>,
    conversions: Mutex<HashMap<(Basis, Basis), Arc<Conversion>>>,
}

/// `Modulus` of `modarith.cuh`: the number and ⌊2^128 / it⌋, or one less for a power of two.
pub(crate) fn modulus_words(q: u64) -> [u64; 3] {
    let ratio = u128::MAX / u128::from(q);
    let word = |x: u128| u64::try_from(x & u128::from(u64::MAX)).expect("64 bits");
    [q, word(ratio >> 64), word(ratio)]
}

/// Bits of the transform's columns and blocks before the cyclic transforms: the high ones, and six low ones.
fn stretches(log_n: u32) -> (u32, u32, u32) {
    let all = if log_n <= LOG_TILE { log_n } else { log_n - CYCLIC };
    if log_n <= LOG_TILE { (all, 0, 0) } else { (all, all - 6, 6) }
}

/// Words of the tables of one prime.
pub(crate) fn table_words(log_n: u32) -> usize {
    let (all, high, low) = stretches(log_n);
    // Each factor is two words, in both directions.
    4 * ((1 << all) + (1 << CYCLIC) + ((1 << CYCLIC) << high) + ((1 << CYCLIC) << low))
}

/// The tables of one prime as words, and the start of each of the eight; see `ntt.cuh`.
pub(crate) fn prime_tables(q: Modulus, float_bits: u32, log_n: u32) -> (Vec<u64>, [usize; 8]) {
    let psi = primitive_root(q, log_n);
    let n = 1u64 << log_n;
    let (inverse, scale) = (q.inv(psi), q.inv(q.reduce(n)));
    let (stretches, high, low) = stretches(log_n);
    let reversed = |i: u64, bits: u32| bit_reverse(usize::try_from(i).expect("an index"), bits) as u64;
    let cyclic = |i: u64| i.checked_ilog2().map_or(0, |m| reversed(i - (1 << m), m) * (n >> m));
    let powers = 1u64 << CYCLIC;
    let lows = move |c: u64, k: u64| k * (1 + 2 * reversed(c, high));
    let highs = move |k: u64, d: u64| (k * reversed(d, low)) << (high + 1);
    let mut words = Vec::new();
    let mut starts = Vec::new();
    // ψ^e for the exponents of a table, times a factor.
    let mut table = |base: u64, scale: u64, exponents: &mut dyn Iterator<Item = u64>| {
        starts.push(words.len());
        words.extend(exponents.flat_map(|e| factor(q, float_bits, q.mul(q.pow(base, e), scale))));
    };
    for base in [psi, inverse] {
        table(base, 1, &mut (0..1u64 << stretches).map(|i| reversed(i, log_n)));
    }
    for base in [psi, inverse] {
        table(base, 1, &mut (0..powers).map(cyclic));
    }
    for (base, scale) in [(psi, 1), (inverse, scale)] {
        table(base, 1, &mut (0..1 << high).flat_map(|c| (0..powers).map(move |k| lows(c, k))));
        table(base, scale, &mut (0..powers).flat_map(|k| (0..1 << low).map(move |d| highs(k, d))));
    }
    debug_assert_eq!(words.len(), table_words(log_n));
    let starts: [usize; 8] = starts.try_into().expect("eight tables");
    words[starts[1]..][..2].copy_from_slice(&factor(q, float_bits, scale));
    (words, starts)
}

impl RingTables {
    pub(crate) fn new(ring: Ring, float_bits: u32, store: Store<'_>) -> Self {
        let mut tables = Vec::new();
        let mut primes = Vec::new();
        for &q in ring.moduli() {
            let (words, starts) = prime_tables(q, float_bits, ring.log_n());
            let row = store(&words);
            primes.extend(modulus_words(q.value()));
            primes.push((1.0 / q.value() as f64).to_bits());
            primes.extend(starts.map(|start| row.at() + 8 * start as u64));
            tables.push(row);
        }
        debug_assert_eq!(primes.len(), PRIME_WORDS * ring.moduli().len());
        Self { primes: store(&primes), ring, tables, conversions: Mutex::default() }
    }

    /// Whether all allocations succeeded.
    pub(crate) fn is_whole(&self) -> bool {
        self.primes.at() != 0 && self.tables.iter().all(|row| row.at() != 0)
    }

    /// The constants of a conversion, created on first use.
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
