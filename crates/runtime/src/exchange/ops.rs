//! The list: one operation for each ciphertext, whatever its batch.

use limbwise_device::Basis;
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
    /// Of a set with words, whose levels are not part of one another: the primes of each level, from level 0 up.
    pub levels: Option<Vec<Basis>>,
    /// In order of execution.
    pub list: Vec<Operation>,
}

/// A ciphertext or plaintext as an operation uses it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Operand {
    /// Its name. Equal names are the same value.
    pub name: String,
    /// Polynomials: 1 for a plaintext, 2 for a ciphertext, 3 for a product before relinearization.
    pub parts: usize,
    /// Primes of the chain that are read, or that the result has.
    pub limbs: usize,
    /// Of a set with words, the level whose primes these are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    pub what: What,
    /// Its name in the program: several names are one kind.
    pub op: String,
    /// Regions around the operation, outermost first, joined by `/`.
    pub region: String,
    pub out: Operand,
    /// Operands, plaintexts last.
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
    /// a·p; constants count as plaintexts.
    MultiplyPlain,
    /// a·p and the way to a lower level in one division, where that level has primes which the operand lacks.
    MultiplyRescaled,
    /// Σ p·a with one plaintext for each ciphertext.
    Combination,
    /// From three polynomials to two.
    Relinearize,
    /// Drops primes and divides by them.
    Rescale,
    /// Relinearizes and rescales in one operation.
    RelinearizeRescaled,
    /// An automorphism with its key switch.
    Galois(u32),
    /// A ciphertext plus its rotations (Galois elements), in steps: those of a step are rotations of the sum so far.
    RotatedSum(Vec<Vec<u32>>),
    /// A linear map. Each giant step (a Galois element) sums baby steps (Galois elements of rotations), each times a
    /// plaintext. The offset is the rotation of the result. Element 1 is no rotation.
    LinearMap {
        /// Giant steps with their baby steps.
        groups: Vec<(u32, Vec<u32>)>,
        /// The rotation of the result.
        offset: u32,
        /// Whether the operation includes a rescale.
        rescaled: bool,
    },
    /// Raises a ciphertext from few primes to all, for bootstrapping.
    ModRaise,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{problem}", line.map(|line| format!("line {line}: ")).unwrap_or_default())]
pub struct TraceError {
    /// Line number from 1; `None` if the problem has no line.
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
