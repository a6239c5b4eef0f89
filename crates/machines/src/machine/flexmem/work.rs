//! A node as work for one chip: how many limbs of which ring are read, written, transformed, converted, moved.

use super::{numbers::Numbers, permutation::Permutation};
use crate::words::Words;
use limbwise_graph::{Graph, NodeId, Op, Piece, Role, Shape};

/// What is done.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// Nothing that takes time.
    None,
    /// Word by word: operands of so many limbs of the chip, so many cycles a word, limbs that all places want.
    Sweep { reads: Vec<u64>, cycles: u64, broadcast: u64 },
    /// A transform of limbs of so many different primes.
    Transform { primes: u64 },
    /// A conversion of each entry.
    Convert { entries: u64, sources: u64, targets: u64, scaled: bool },
    /// A known permutation.
    Permute(Permutation),
    /// A rotation by a word of a ciphertext.
    Rotate,
    /// Digits of so many entries times so many rows of a key.
    LweProduct { entries: u64, rows: u64 },
}

/// Work of one chip.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Work {
    /// Coefficients of a limb.
    pub(super) n: u64,
    /// Limbs that are worked on, of all entries.
    pub(super) limbs: u64,
    /// Limbs that are written.
    pub(super) writes: u64,
    /// Words of a residue, of vectors.
    pub(super) words: u64,
    pub(super) kind: Kind,
}

/// Reads nodes of a graph.
pub(super) struct Reader<'a> {
    graph: &'a Graph,
    numbers: &'a Numbers,
    words: Words,
    /// Limbs of one entry of each shape.
    shape_limbs: Vec<u64>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(graph: &'a Graph, numbers: &'a Numbers, words: Words) -> Self {
        let limbs = |shape: &Shape| words.limbs(shape, shape.basis) / (shape.batch as u64).max(1);
        let shape_limbs = graph.shapes().iter().map(limbs).collect();
        Self { graph, numbers, words, shape_limbs }
    }

    /// Entries of a value.
    pub(super) fn batch(&self, id: NodeId) -> u64 {
        self.graph.lwe_shape(id).map_or_else(|| self.graph.shape(id).batch, |shape| shape.batch) as u64
    }

    /// Ring degree of a value, or the power of two that holds a vector.
    pub(super) fn degree(&self, id: NodeId) -> u64 {
        match self.graph.lwe_shape(id) {
            Some(shape) => (shape.dimension as u64 + 1).next_power_of_two(),
            None => self.graph.shape(id).ring.n() as u64,
        }
    }

    /// Words of a residue of a vector.
    fn vector_words(&self, id: NodeId) -> u64 {
        let modulus = self.graph.lwe_shape(id).map_or(0, |shape| shape.modulus);
        // 0 stands for 2^64 in some moduli of words; residues below a modulus fit the bits of the largest.
        let bits = if modulus == 0 { 64 } else { u64::from((modulus - 1).max(1).ilog2()) + 1 };
        bits.div_ceil(self.words.bits)
    }

    /// Limbs of one entry, several a wide prime.
    pub(super) fn limbs(&self, id: NodeId) -> u64 {
        match self.graph.lwe_shape(id) {
            Some(_) => self.vector_words(id),
            None => self.shape_limbs[self.graph.node(id).shape().0 as usize],
        }
    }

    /// Bytes of one entry of a piece.
    pub(super) fn piece_bytes(&self, piece: &Piece) -> u64 {
        match self.graph.lwe_shape(piece.source) {
            Some(shape) => self.words.lwe_bytes(self.graph, piece.source) / (shape.batch as u64).max(1),
            None => {
                let shape: &Shape = self.graph.shape(piece.source);
                match piece.basis == shape.basis {
                    true => self.limb_bytes(shape).saturating_mul(self.limbs(piece.source)),
                    false => self.words.bytes(shape, piece.basis) / (shape.batch as u64).max(1),
                }
            }
        }
    }

    fn limb_bytes(&self, shape: &Shape) -> u64 {
        (self.words.bits << shape.ring.log_n()) / 8
    }

    /// Bytes of a whole value.
    pub(super) fn value_bytes(&self, id: NodeId) -> u64 {
        match self.graph.lwe_shape(id) {
            Some(_) => self.words.lwe_bytes(self.graph, id),
            None => self.words.bytes(self.graph.shape(id), self.graph.shape(id).basis),
        }
    }

    /// Whether the sum of an accumulation stays in registers for the next one: nothing else reads it.
    pub(super) fn stays(&self, sum: NodeId) -> bool {
        let (graph, makes) = (self.graph, |op| matches!(op, Op::Mul | Op::MulAcc));
        // A value may be freed when nothing follows.
        graph.node(sum).freed_before().filter(|next| next.index() < graph.nodes().len()).is_some_and(|next| {
            makes(graph.node(sum).op())
                && graph.node(next).op() == Op::MulAcc
                && graph.operands(next).first() == Some(&sum)
        })
    }

    /// The sum that a node accumulates onto, if it stays in registers.
    pub(super) fn work_stays_with(&self, id: NodeId) -> Option<NodeId> {
        let sum = (self.graph.node(id).op() == Op::MulAcc).then(|| self.graph.operands(id)[0]);
        sum.filter(|&sum| self.stays(sum))
    }

    /// A node with so many entries of its result on a chip.
    pub(super) fn work(&self, id: NodeId, entries: u64) -> Work {
        let graph = self.graph;
        let (op, limbs) = (graph.node(id).op(), self.limbs(id));
        let all = limbs.saturating_mul(entries);
        let work = |kind| Work { n: self.degree(id), limbs: all, writes: all, words: limbs, kind };
        let operand = |i: usize| graph.operands(id)[i];
        let batch = self.batch(id).max(1);
        // Entries of an operand on the chip: one for all, or its share.
        let read = |value: NodeId| self.limbs(value).saturating_mul(self.share(value, batch, entries));
        let sweep = |reads: Vec<u64>, cycles| Kind::Sweep { reads, cycles, broadcast: 0 };
        match op {
            Op::Upload | Op::ExpandSeed | Op::UploadLwe => work(Kind::None),
            op if op.is_view() => work(Kind::None),
            Op::Ntt | Op::Intt => work(Kind::Transform { primes: limbs }),
            Op::BasisConvert => {
                let (sources, scaled) = (self.limbs(operand(0)), graph.node(id).is_scaled());
                work(Kind::Convert { entries, sources, targets: limbs, scaled })
            }
            Op::Automorphism => work(Kind::Permute(self.permutation(id))),
            Op::MonomialMul => work(Kind::Rotate),
            Op::Mul | Op::MulAcc => {
                let carried = op == Op::MulAcc && self.stays(operand(0));
                let operands = graph.operands(id).iter().skip(usize::from(carried));
                let reads: Vec<u64> = operands.clone().map(|&value| read(value)).collect();
                let kept = self.stays(id);
                let broadcast =
                    operands.filter(|&&value| self.is_rotation_key(value)).map(|&value| self.limbs(value)).sum();
                let kind = Kind::Sweep { reads, cycles: self.numbers.assumed.modular_cycles.value, broadcast };
                Work { writes: if kept { 0 } else { all }, ..work(kind) }
            }
            Op::LweProduct => {
                let rows = graph.lwe_shape(operand(0)).map_or(0, |shape| shape.dimension as u64);
                work(Kind::LweProduct { entries, rows })
            }
            Op::Zeros => work(sweep(vec![], 0)),
            Op::Decompose | Op::LweDecompose => {
                let levels =
                    (self.degree(id) * batch / (self.degree(operand(0)) * self.batch(operand(0))).max(1)).max(1);
                work(sweep(vec![(all / levels).max(1)], 1))
            }
            _ => work(sweep(graph.operands(id).iter().map(|&value| read(value)).collect(), 1)),
        }
    }

    /// Entries of an operand where so many of the result are.
    fn share(&self, value: NodeId, batch: u64, entries: u64) -> u64 {
        let own = self.batch(value);
        if own <= 1 { own } else { own.saturating_mul(entries).div_ceil(batch).min(own) }
    }

    fn is_rotation_key(&self, value: NodeId) -> bool {
        let mut found = false;
        self.graph.for_each_piece(value, |piece| {
            found |= matches!(self.graph.node(piece.source).role(), Role::BootstrapKey(_));
        });
        found
    }

    fn permutation(&self, id: NodeId) -> Permutation {
        let shape = self.graph.shape(id);
        let (galois, domain) = (u64::from(self.graph.node(id).galois().unwrap_or(1)), shape.domain);
        let tiling = self.numbers.tiling(shape.ring.n() as u64);
        Permutation::known(&tiling, galois, domain)
    }
}
