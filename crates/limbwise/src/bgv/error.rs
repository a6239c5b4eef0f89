//! User errors of BGV.

/// Integers, factors or noise that an operation cannot accept.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BgvError {
    /// An integer outside the plaintext modulus.
    #[error(
        "value {index} is {got}: slots hold {least} to {most} with t = {t}; choose a larger plaintext modulus, or split it into digits",
        least = -most
    )]
    Value {
        /// Index of the value.
        index: usize,
        /// The value.
        got: i64,
        /// Largest absolute value of a slot, (t − 1)/2.
        most: i64,
        /// The plaintext modulus.
        t: u64,
    },
    /// More values than slots.
    #[error("{got} values do not fit {slots} slots: split them over several ciphertexts, or choose a larger ring")]
    TooMany {
        /// Number of values given.
        got: usize,
        /// Number of slots.
        slots: usize,
    },
    /// The noise bound of a result exceeds its modulus.
    #[error(
        "{op} could leave noise of 2^{noise:.1} at level {level}, whose modulus holds 2^{room:.1}: a result might be wrong; choose parameters with more levels, or switch the modulus before the product (Auto does)"
    )]
    Noise {
        /// Name of the operation.
        op: &'static str,
        /// log₂ of the result's noise bound.
        noise: f64,
        /// log₂ of the largest noise that decrypts.
        room: f64,
        /// Level of the result.
        level: usize,
    },
    /// Decryption measured noise that fills the modulus.
    #[error(
        "the noise fills the modulus, so the decrypted values are no message (wrong key, or a ciphertext damaged or computed with other keys)"
    )]
    Decrypted,
    /// Residues modulo different plaintext moduli.
    #[error(
        "{op}: residues modulo plaintext moduli {left} and {right} of the set do not go together; combine those of one modulus"
    )]
    Modulus {
        /// Name of the operation.
        op: &'static str,
        /// Index of the left operand's modulus.
        left: usize,
        /// Index of the right operand's modulus.
        right: usize,
    },
    /// Integers modulo t where residues of wide integers are wanted, or the other way round.
    #[error(
        "{op} takes operands of one kind, integers modulo t or 64-bit words, and of words only sums, differences and products: encrypt both alike"
    )]
    Mixed {
        /// Name of the operation.
        op: &'static str,
    },
    /// Integers that the residues modulo all plaintext moduli do not tell apart.
    #[error(
        "{op} could give integers of {bits:.1} bits, and the plaintext moduli of this set tell apart {room:.1} bits: a result might wrap round their product; choose a set with more moduli (limbwise params show), or decrypt in between"
    )]
    Magnitude {
        /// Name of the operation.
        op: &'static str,
        /// log₂ of the largest absolute value of a result.
        bits: f64,
        /// log₂ of the largest absolute value that is told apart.
        room: f64,
    },
    /// Parameters without special primes.
    #[error(
        "{op} needs an evaluation key, and these parameters have no special primes: choose a preset with some, such as bgv-n13, or zn64-n13 for 64-bit words (limbwise params show)"
    )]
    NoKeySwitching {
        /// Name of the operation.
        op: &'static str,
    },
    /// A matrix that does not fit the slots.
    #[error("{op}: a matrix of {rows} rows and {columns} columns does not fit {slots} slots: {wanted}")]
    Shape {
        /// Name of the operation.
        op: &'static str,
        /// Rows of the matrix.
        rows: usize,
        /// Columns of the matrix.
        columns: usize,
        /// Slots of a row.
        slots: usize,
        /// The shapes that fit.
        wanted: &'static str,
    },
}
