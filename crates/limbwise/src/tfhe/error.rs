//! What a user of TFHE can get wrong.

use super::{key::KeyTag, radix::Format};

/// Messages, tables and keys that do not go together.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TfheError {
    /// A message that the space does not have.
    #[error("message {got} is outside 0 to {most}: choose parameters with more message bits, or split it into digits")]
    Message {
        /// What was given.
        got: u64,
        /// The largest there is.
        most: u64,
    },
    /// No message where errors end: the padding bit is set.
    #[error("what was decrypted is no message of 0 to {most}: wrong key, or a sum that left the space")]
    Decrypted {
        /// The largest there is.
        most: u64,
    },
    /// A table of another length.
    #[error("a table has an entry for each of {wanted} messages, got {got}")]
    TableLength {
        /// Entries given.
        got: usize,
        /// Entries wanted.
        wanted: usize,
    },
    /// Not a table, and not one for each ciphertext.
    #[error("{got} tables for a batch of {batch}: give one, or one for each")]
    TableCount {
        /// Tables given.
        got: usize,
        /// Ciphertexts.
        batch: usize,
    },
    /// Values made with other keys or parameters.
    #[error("{op}: made with keys {left}, and with keys {right}: only what belongs to one client key goes together")]
    OtherKeys {
        /// The operation.
        op: &'static str,
        /// Tag of the one.
        left: KeyTag,
        /// Tag of the other.
        right: KeyTag,
    },
    /// Other parameters than the keys'.
    #[error("{op}: the parameter sets differ: use the one that the keys were made for")]
    OtherParams {
        /// The operation.
        op: &'static str,
    },
    /// A sum that may leave the space.
    #[error("{op}: the messages may reach {low} to {high}, a table takes {least} to {most}: bootstrap the parts first")]
    Range {
        /// The operation.
        op: &'static str,
        /// Least message there may be.
        low: i64,
        /// Largest.
        high: i64,
        /// Least there may be.
        least: i64,
        /// Largest there may be.
        most: i64,
    },
    /// More noise than the parameters leave room for.
    #[error(
        "{op}: this would fail with probability 2^{got:.1}, the parameters promise 2^{wanted}: bootstrap before adding, or take fewer tables at a time"
    )]
    Noise {
        /// The operation.
        op: &'static str,
        /// log₂ of the probability.
        got: f64,
        /// log₂ of what was promised.
        wanted: f64,
    },
    /// Batches that do not go together.
    #[error("{op}: batches of {left} and {right} do not go together: make them equal, or one of them 1")]
    Batch {
        /// The operation.
        op: &'static str,
        /// Left batch.
        left: usize,
        /// Right batch.
        right: usize,
    },
    /// Not 1, 2, 4, … tables.
    #[error("{got} tables share a blind rotation only as a power of two, at most N/2^(message bits + 1) = {most}")]
    Together {
        /// Tables given.
        got: usize,
        /// Most there may be.
        most: usize,
    },
    /// Integers of a width that digits of two bits do not make.
    #[error("integers of {0} bits: choose an even number from 4 to 64")]
    Width(u32),
    /// A set whose messages are no digit with room for carries.
    #[error(
        "integers of several digits take parameters with 4 message bits (2 and 2 of carry), these have {0}: choose 2-2-p128 or 2-2-p64"
    )]
    Digits(u32),
    /// A value that the format does not have.
    #[error("{got} is outside {format}'s {} to {}: choose a wider format", format.range().0, format.range().1)]
    Value {
        /// What was given.
        got: String,
        /// Where it does not fit.
        format: Format,
    },
    /// Integers of two formats.
    #[error("{op}: {left} and {right} do not go together: convert one of them")]
    Formats {
        /// The operation.
        op: &'static str,
        /// Left format.
        left: Format,
        /// Right format.
        right: Format,
    },
    /// A batch that is no whole number of integers.
    #[error("a batch of {got} messages is no number of integers of {digits} digits")]
    Rows {
        /// Messages.
        got: usize,
        /// Digits of an integer.
        digits: usize,
    },
    /// A shift by as many bits as there are, or more.
    #[error("a shift by {got} of integers of {bits} bits: choose 0 to {}", bits - 1)]
    Shift {
        /// Bits to shift by.
        got: u32,
        /// Bits of the integers.
        bits: u32,
    },
    /// A result that the program cannot have. Nothing of what was decrypted is told.
    #[error(
        "what was decrypted contradicts the program: wrong key, or a damaged or made-up result; no message of it is told, because it would tell of the key"
    )]
    Implausible,
    /// No preset of that name.
    #[error("there is no TFHE preset {0:?}: choose one of {1}")]
    UnknownPreset(String, String),
    /// Nothing found.
    #[error(
        "no parameter set of {class} bits of security has {message_bits} message bits and p_fail <= 2^{log2_failure}: ask for fewer message bits, a smaller norm or more failures (classes are 128 and 132)"
    )]
    NothingFound {
        /// Class asked for.
        class: u32,
        /// Bits asked for.
        message_bits: u32,
        /// Probability asked for.
        log2_failure: f64,
    },
}
