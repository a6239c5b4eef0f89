//! What an automorphism moves, counted word by word where the mapping has it.

use super::costs::Costs;
use crate::address::Tiling;
use limbwise_graph::Domain;
use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

/// Numbers of a tiling, a Galois element, and whether values are permuted.
type Asked = ([u64; 8], bool);

/// Distances of all words of a limb.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Permutation {
    /// Words times PEs that they pass.
    pub(super) pe_hops: u64,
    /// Words times pairs that they pass.
    pub(super) pair_hops: u64,
    /// Words times leaps of the bank network.
    pub(super) bank_hops: u64,
}

impl Permutation {
    /// [`Self::automorphism`], counted once a process: programs repeat few elements many times.
    pub(super) fn known(tiling: &Tiling, galois: u64, domain: Domain) -> Self {
        static KNOWN: Mutex<BTreeMap<Asked, Permutation>> = Mutex::new(BTreeMap::new());
        let site = tiling.site;
        let numbers = [tiling.n, tiling.banks, tiling.pairs, site.banks, site.pairs, site.columns, site.pes, galois];
        let key = (numbers, domain == Domain::Eval);
        let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner).get(&key).copied();
        known.unwrap_or_else(|| {
            let counted = Self::automorphism(tiling, galois, domain);
            KNOWN.lock().unwrap_or_else(PoisonError::into_inner).insert(key, counted);
            counted
        })
    }

    /// `a(X) → a(X^g)`. Values are in bit-reversed order: position i has that at the (2·rev(i) + 1)-th power of a root.
    fn automorphism(tiling: &Tiling, galois: u64, domain: Domain) -> Self {
        let (n, bits) = (tiling.n, tiling.n.ilog2());
        let reversed = |i: u64| if bits == 0 { 0 } else { i.reverse_bits() >> (64 - bits) };
        let shape = tiling.tile().clamp(tiling.site.pes, tiling.site.columns);
        let mut sum = Self::default();
        for to in 0..n {
            // Of coefficients `to` is where one comes from: a count of distances has no direction.
            let from = match domain {
                Domain::Eval => reversed((2 * reversed(to) + 1).wrapping_mul(galois) % (2 * n) / 2),
                Domain::Coeff => to.wrapping_mul(galois) % n,
            };
            let (a, b) = (tiling.word(0, from, shape), tiling.word(0, to, shape));
            sum.pe_hops += tiling.pe(a).abs_diff(tiling.pe(b));
            sum.pair_hops += a.pair.abs_diff(b.pair);
            sum.bank_hops += Costs::leaps(a.bank.abs_diff(b.bank));
        }
        sum
    }
}
