//! What a user of BGV can get wrong.

/// Integers, factors and noise that do not go together.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BgvError {
    /// An integer that t does not hold.
    #[error(
        "value {index} is {got}: slots hold {least} to {most} with t = {t}; choose a larger plaintext modulus, or split it into digits",
        least = -most
    )]
    Value {
        /// Which value.
        index: usize,
        /// It.
        got: i64,
        /// The largest there is.
        most: i64,
        /// The plaintext modulus.
        t: u64,
    },
    /// More values than slots.
    #[error("{got} values do not fit {slots} slots: split them over several ciphertexts, or choose a larger ring")]
    TooMany {
        /// Values given.
        got: usize,
        /// Slots there are.
        slots: usize,
    },
    /// A result that might not decrypt.
    #[error(
        "{op} could leave noise of 2^{noise:.1} at level {level}, whose modulus holds 2^{room:.1}: a result might be wrong; choose parameters with more levels, or switch the modulus before the product (Auto does)"
    )]
    Noise {
        /// The operation.
        op: &'static str,
        /// log₂ of the bound that the result would have.
        noise: f64,
        /// log₂ of the largest that decrypts.
        room: f64,
        /// The level.
        level: usize,
    },
    /// Too much noise was found when it was decrypted.
    #[error(
        "the noise fills the modulus: what was decrypted is no message (wrong key, or a ciphertext damaged or computed with other keys)"
    )]
    Decrypted,
    /// Parameters without special primes.
    #[error(
        "{op} needs an evaluation key, and these parameters have no special primes: choose a preset that has (limbwise params show)"
    )]
    NoKeySwitching {
        /// The operation.
        op: &'static str,
    },
    /// A map of another shape.
    #[error("{op}: a matrix of {rows} rows and {columns} columns does not fit {slots} slots: {wanted}")]
    Shape {
        /// The operation.
        op: &'static str,
        /// Rows given.
        rows: usize,
        /// Columns given.
        columns: usize,
        /// Slots of a row.
        slots: usize,
        /// What would.
        wanted: &'static str,
    },
}
