//! Machine words: how many of them a residue takes.
//!
//! A machine whose word is narrower than a prime cannot hold a residue of it in a word. It refuses the program, or
//! works on ⌈bits / word⌉ words in place of one, each counted as a limb in data and in units: the least that any
//! arithmetic of several words takes.

use crate::error::MachineError;
use limbwise_graph::{Basis, Graph, Shape};

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

/// No prime of the seam is wider.
const WIDEST: u64 = 62;
