//! How a program's polynomials stand on DPUs, and what a DPU takes for its part.
//!
//! A DPU has one modulus at a time, so that it needs one table of twiddles, and the residues of a ciphertext modulo that
//! stand on it together. Where the ranks divide evenly, each modulus has ranks of its own; where they do not, or where it
//! is asked for, one modulus comes after the other on all DPUs. DPUs that a small batch would leave idle take the next
//! modulus then. The fullest DPU decides, and what is begun counts whole.

use super::{
    numbers::{ModuliOrder, Numbers, System},
    slots::Demand,
};
use limbwise_graph::{Basis, Graph, NodeId, Op, Shape};

/// Tables of twiddles of a DPU: forwards and back.
const TABLES: u64 = 2;
/// Length of a polynomial, modulus, inverse, commands and their offsets.
const HEADER_BYTES: u64 = 64;

/// Layout of polynomials over DPUs.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// Residues of a polynomial with all its limbs.
    pub(super) moduli: u64,
    /// Limbs that the program has for these; more where its primes are wide.
    limbs: u64,
    /// Its primes themselves.
    primes: u64,
    /// DPUs that share the ciphertexts of one modulus.
    pub(super) dpus: u64,
    /// Moduli at work at once.
    pub(super) together: u64,
    /// Whether each modulus has ranks of its own.
    pub(super) by_rank: bool,
    /// Ciphertexts of the program's largest batch.
    pub(super) batch: u64,
    /// Whether moduli never meet, so that one may come, be worked on and go before the next.
    separable: bool,
    residue_bits: u64,
}

impl Layout {
    pub(super) fn new(graph: &Graph, numbers: &Numbers) -> Self {
        let (system, residue_bits) = (&numbers.system, numbers.assumed.residue_bits.value);
        let polynomials = || graph.ids().filter(|&id| graph.lwe_shape(id).is_none()).map(|id| graph.shape(id));
        let batch = polynomials().map(|shape| shape.batch as u64).max().unwrap_or(1);
        let limbs = polynomials().map(|shape| residues(shape, shape.basis, residue_bits)).max().unwrap_or(1);
        let widest = polynomials().max_by_key(|shape| shape.basis.len());
        let primes = widest.map_or(1, |shape| shape.basis.len() as u64);
        let source = widest.and_then(|shape| numbers.policy.source.moduli(shape.ring.n(), bits(shape)));
        let moduli = match (numbers.policy.moduli, source) {
            (0, Some(moduli)) => moduli,
            (0, None) => limbs,
            (chosen, _) => chosen,
        };
        let evenly = system.ranks.is_multiple_of(moduli);
        let by_rank = numbers.policy.moduli_order == ModuliOrder::ByRank && evenly;
        let (dpus, together) = if by_rank {
            (smallest_group(system, moduli), moduli)
        } else {
            let together = (system.dpus / batch.clamp(1, system.dpus)).clamp(1, moduli);
            (system.dpus / together, together)
        };
        let separable = !graph.ids().any(|id| matches!(graph.node(id).op(), Op::BasisConvert | Op::Reduce));
        Self { moduli, limbs, primes, dpus, together, by_rank, batch, separable, residue_bits }
    }

    /// Says where residues are not those of the program.
    pub(super) fn note(&self) -> Option<String> {
        let Self { moduli, limbs, primes, residue_bits, .. } = self;
        let wide = format!(
            "primes above 2^32: {primes} primes stand as {limbs} residues of {residue_bits} bits, as a program in such primes would have; no kernel computes with wider ones"
        );
        let chosen = format!("a polynomial counts as {moduli} residues, the program's has {limbs} (policy.moduli)");
        match (limbs > primes, moduli != limbs) {
            (true, true) => Some(format!("{wide}; {chosen}")),
            (true, false) => Some(wide),
            (false, true) => Some(chosen),
            (false, false) => None,
        }
    }

    /// Residues of some limbs.
    pub(super) fn residues(&self, shape: &Shape, basis: Basis) -> u64 {
        (residues(shape, basis, self.residue_bits) * self.moduli).div_ceil(self.limbs)
    }

    /// Rounds of all DPUs for a number of residues.
    pub(super) fn rounds(&self, residues: u64) -> u64 {
        residues.div_ceil(self.together)
    }

    /// Ciphertexts of a batch on the fullest DPU.
    pub(super) fn share(&self, batch: u64) -> u64 {
        batch.div_ceil(self.dpus)
    }

    /// DPUs that work on a batch of so many residues.
    pub(super) fn at_work(&self, batch: u64, residues: u64) -> u64 {
        batch.min(self.dpus) * residues.min(self.together)
    }

    /// Bytes that some limbs of a value take on the fullest DPU. What the whole batch reads is on each.
    pub(super) fn resident_bytes(&self, shape: &Shape, basis: Basis, word_bytes: u64) -> u64 {
        let residues = self.residues(shape, basis);
        let at_once = if self.separable { 1 } else { self.rounds(residues) };
        (self.share(shape.batch as u64) * at_once * word_bytes) << shape.ring.log_n()
    }
}

/// DPUs of the smallest of so many equal groups of ranks; DPUs are dealt out to the ranks evenly.
fn smallest_group(system: &System, groups: u64) -> u64 {
    let of_first = |ranks: u64| ranks * (system.dpus / system.ranks) + ranks.min(system.dpus % system.ranks);
    let each = system.ranks / groups;
    (0..groups).map(|i| of_first((i + 1) * each) - of_first(i * each)).min().unwrap_or(1).max(1)
}

/// Residues of primes of at most so many bits that stand for some limbs; primes below 2^32 are one each.
fn residues(shape: &Shape, basis: Basis, residue_bits: u64) -> u64 {
    let moduli = shape.ring.moduli();
    let of = |bits: u64| if bits <= 32 { 1 } else { bits.div_ceil(residue_bits) };
    basis.iter().map(|i| of(u64::from(moduli[i].bits()))).sum()
}

/// Bits of all primes of a ring together.
fn bits(shape: &Shape) -> f64 {
    shape.ring.moduli().iter().map(|q| crate::report::as_f64(q.value()).log2()).sum()
}

/// Bytes of an MRAM that sub-polynomials can have.
pub(super) fn room_bytes(numbers: &Numbers, n: u64) -> u64 {
    let mram = numbers.dpu.mram_usable_mb * 1_000_000;
    mram.saturating_sub(HEADER_BYTES + TABLES * n * numbers.word_bytes())
}

/// Cycles of a DPU for so many sub-polynomials.
///
/// Tasklets take pieces in waves. The pipeline issues one instruction a cycle, a tasklet one in so many; the DMA engine
/// serves one tasklet at a time, which waits. The slowest of the three decides: pipeline, engine, one tasklet by itself. At
/// first all tasklets wait for the engine together, which later waves hide. `crates/upmem` holds the same form to runs of
/// its interpreter.
pub(super) fn cycles(demand: &Demand, sub_polynomials: u64, numbers: &Numbers) -> u64 {
    let (tasklets, every) = (numbers.dpu.tasklets, numbers.dpu.issue_every_cycles);
    let (issue, engine) = (demand.issue / demand.pieces, demand.dma / demand.pieces);
    let wave = |active: u64| match active {
        0 => 0,
        _ => (active * issue).max(active * engine).max(every * issue + engine),
    };
    let pieces = sub_polynomials * demand.pieces;
    let first = pieces.min(tasklets) * engine * demand.pieces / demand.chunks;
    (pieces / tasklets) * wave(tasklets) + wave(pieces % tasklets) + first
}

/// Consecutive operations that one launch does side by side: transforms of one kind that do not wait for one another, so
/// that tasklets share out all their sub-polynomials; or the four products of two ciphertexts.
pub(super) fn side_by_side(graph: &Graph, ids: &[NodeId]) -> usize {
    let Some(&first) = ids.first() else { return 0 };
    let op = graph.node(first).op();
    if !matches!(op, Op::Ntt | Op::Intt) {
        return 1;
    }
    let like = graph.node(first).shape();
    let apart = |id: NodeId, before: &[NodeId]| {
        let mut apart = graph.node(id).op() == op && graph.node(id).shape() == like;
        graph.operands(id).iter().for_each(|&o| graph.for_each_piece(o, |p| apart &= !before.contains(&p.source)));
        apart
    };
    (1..ids.len()).take_while(|&i| apart(ids[i], &ids[..i])).count() + 1
}

/// Whether four operations are the products of two ciphertexts: a₀b₀, a₀b₁, + a₁b₀, a₁b₁ in any order.
pub(super) fn is_product(graph: &Graph, ids: &[NodeId]) -> bool {
    let [a, b, c, d] = ids else { return false };
    let ops = [a, b, c, d].map(|&id| graph.node(id).op());
    let sums = ops.iter().filter(|&&op| op == Op::MulAcc).count();
    if sums != 1 || !ops.iter().all(|op| matches!(op, Op::Mul | Op::MulAcc)) {
        return false;
    }
    let like = graph.node(*a).shape();
    let same = ids.iter().all(|&id| graph.node(id).shape() == like);
    let factors = |id: &NodeId| {
        let operands = graph.operands(*id);
        [operands[operands.len() - 2], operands[operands.len() - 1]]
    };
    let mut read: Vec<NodeId> = ids.iter().flat_map(factors).collect();
    let each_twice = {
        read.sort_unstable();
        read.chunk_by(|x, y| x == y).all(|same| same.len().is_multiple_of(2))
    };
    same && each_twice
}
