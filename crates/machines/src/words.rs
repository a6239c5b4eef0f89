//! Machine words: how many of them a residue takes.
//!
//! A machine whose word is narrower than a prime cannot hold a residue of it in a word. It refuses the program, or
//! works on ⌈bits / word⌉ words in place of one, each counted as a limb in data and in units: the least that any
//! arithmetic of several words takes.

use crate::error::MachineError;
use limbwise_graph::{Basis, Graph, NodeId, Piece, Role, Shape};

/// Treatment of primes wider than a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wide {
    /// Refuse the program.
    Refuse,
    /// Take several words a residue.
    Split,
}

/// The words of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words {
    /// Bits of a word.
    pub bits: u64,
    /// Treatment of wider primes.
    pub wide: Wide,
}

/// Words as the graph has them: any prime fits.
impl Default for Words {
    fn default() -> Self {
        Self { bits: 64, wide: Wide::Refuse }
    }
}

impl Words {
    /// Limbs of some primes of a shape, over the whole batch; those of wide primes count for each of their words.
    #[must_use]
    pub fn limbs(&self, shape: &Shape, basis: Basis) -> u64 {
        if self.bits >= WIDEST {
            return (shape.batch * basis.len()) as u64;
        }
        let moduli = shape.ring.moduli();
        shape.batch as u64 * basis.iter().map(|i| u64::from(moduli[i].bits()).div_ceil(self.bits)).sum::<u64>()
    }

    /// Bytes of the same.
    #[must_use]
    pub fn bytes(&self, shape: &Shape, basis: Basis) -> u64 {
        (self.limbs(shape, basis).saturating_mul(self.bits) << shape.ring.log_n()) / 8
    }

    /// Bytes of some limbs of a value. An LWE ciphertext is one limb: it comes and goes whole.
    #[must_use]
    pub fn of_value(&self, graph: &Graph, value: NodeId, basis: Basis) -> u64 {
        match graph.lwe_shape(value) {
            None => self.bytes(graph.shape(value), basis),
            Some(_) if basis.is_empty() => 0,
            Some(_) => self.lwe_bytes(graph, value),
        }
    }

    /// Bytes of a piece of a value.
    #[must_use]
    pub fn of_piece(&self, graph: &Graph, piece: &Piece) -> u64 {
        let entries = (piece.to - piece.from) as u64;
        match graph.lwe_shape(piece.source) {
            None => self.bytes(&graph.shape(piece.source).with_batch(piece.to - piece.from), piece.basis),
            Some(shape) => self.lwe_bytes(graph, piece.source) / (shape.batch as u64).max(1) * entries,
        }
    }

    /// Bytes of an LWE value.
    pub(crate) fn lwe_bytes(&self, graph: &Graph, value: NodeId) -> u64 {
        graph.lwe_shape(value).map_or(0, |shape| {
            let wide = u64::from(64 - (shape.modulus - 1).leading_zeros()).div_ceil(self.bits).max(1);
            (shape.bytes() / 8).saturating_mul(wide * self.bits) / 8
        })
    }

    /// The widest prime that a program computes with.
    #[must_use]
    pub fn widest_prime_bits(graph: &Graph) -> u64 {
        let widest = |shape: &Shape| shape.basis.iter().map(|i| u64::from(shape.ring.moduli()[i].bits())).max();
        graph.shapes().iter().filter_map(widest).max().unwrap_or(0)
    }

    /// The most words that a residue of a program takes; 1 where all primes fit.
    #[must_use]
    pub fn split(&self, graph: &Graph) -> u64 {
        Self::widest_prime_bits(graph).div_ceil(self.bits).max(1)
    }

    /// Refuses a program whose primes are wider than a word, unless they are to be split.
    ///
    /// # Errors
    /// [`MachineError::NarrowWord`].
    pub fn admit(&self, machine: &str, graph: &Graph) -> Result<(), MachineError> {
        match self.wide {
            Wide::Refuse if self.split(graph) > 1 => Err(MachineError::NarrowWord {
                machine: machine.into(),
                word_bits: self.bits,
                prime_bits: Self::widest_prime_bits(graph),
                words: self.split(graph),
            }),
            _ => Ok(()),
        }
    }
}

/// All limbs of a value. An LWE ciphertext counts as one limb. A key that passes by ([`streams`]) has none that is kept.
#[must_use]
pub fn whole(graph: &Graph, value: NodeId) -> Basis {
    match graph.lwe_shape(value) {
        None => graph.shape(value).basis,
        Some(_) if streams(graph, value) => Basis::default(),
        Some(_) => Basis::single(0),
    }
}

/// Whether a value is a key between LWE secrets: it is larger than chips and every row of it is read once, so it passes by
/// from off-chip memory while it is used.
#[must_use]
pub fn streams(graph: &Graph, value: NodeId) -> bool {
    let node = graph.node(value);
    graph.lwe_shape(value).is_some() && node.op().is_input() && matches!(node.role(), Role::EvaluationKey(_))
}

/// Rows of some limbs of a value, over its batch.
pub(crate) fn rows(graph: &Graph, value: NodeId, basis: Basis) -> usize {
    graph.lwe_shape(value).map_or_else(|| graph.shape(value).batch * basis.len(), |shape| shape.batch)
}

/// The values with rows of their own that an operand shows, and which of their limbs.
pub(crate) fn for_each_read(graph: &Graph, operand: NodeId, mut found: impl FnMut(NodeId, Basis)) {
    graph.for_each_piece(operand, |piece| {
        let lwe = graph.lwe_shape(piece.source).is_some();
        found(piece.source, if lwe { whole(graph, piece.source) } else { piece.basis });
    });
}

/// No prime of the seam is wider.
const WIDEST: u64 = 62;
