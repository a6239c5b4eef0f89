//! The list: one operation a ciphertext, whatever batch it was in.

use serde::Serialize;

/// Operations on ciphertexts of one ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operations {
    /// log₂ of the ring degree.
    pub log_n: u32,
    /// Primes of the chain at the top level.
    pub limbs: usize,
    /// Special primes of key switching.
    pub special: usize,
    /// Digits of key switching at the top level.
    pub dnum: usize,
    /// In the order they are done.
    pub list: Vec<Operation>,
}

/// A ciphertext or plaintext where an operation meets it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Operand {
    /// Its name; what has the same name is the same value.
    pub name: String,
    /// Its polynomials: 1 of a plaintext, 2 of a ciphertext, 3 of a product that is not relinearized.
    pub parts: usize,
    /// Primes of the chain that are read of it, or that the result has.
    pub limbs: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    pub what: What,
    /// Its name in the program: several names are one kind.
    pub op: String,
    /// Regions that it was done in, outermost first, joined by `/`.
    pub region: String,
    pub out: Operand,
    /// What it was done to, plaintexts last.
    pub operands: Vec<Operand>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    Add,
    Sub,
    /// a·b of two ciphertexts: three polynomials.
    Multiply,
    Square,
    AddPlain,
    /// a·p; constants are plaintexts here.
    MultiplyPlain,
    /// Σ p·a, a plaintext for each.
    Combination,
    /// Three polynomials to two.
    Relinearize,
    /// Drops primes and divides by them.
    Rescale,
    /// Both at once.
    RelinearizeRescaled,
    /// An automorphism with its key switch.
    Galois(u32),
    /// A linear map: for each giant step (a Galois element) the Galois elements of the rotations that it sums, each times
    /// a plaintext; then the element of the result's rotation. 1 is no rotation.
    LinearMap {
        /// Giant steps with their baby steps.
        groups: Vec<(u32, Vec<u32>)>,
        /// The rotation of the result.
        offset: u32,
        /// Whether it is rescaled at once.
        rescaled: bool,
    },
    /// From few primes to all: bootstrapping.
    ModRaise,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{problem}", line.map(|line| format!("line {line}: ")).unwrap_or_default())]
pub struct TraceError {
    /// Where, from 1; `None`: nowhere in particular.
    pub line: Option<usize>,
    pub problem: String,
}

impl TraceError {
    pub(super) fn at(line: usize, problem: impl Into<String>) -> Self {
        Self { line: Some(line), problem: problem.into() }
    }

    pub(super) fn of_all(problem: impl Into<String>) -> Self {
        Self { line: None, problem: problem.into() }
    }
}
