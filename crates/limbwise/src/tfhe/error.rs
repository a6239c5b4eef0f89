//! User errors of TFHE.

use super::{key::KeyTag, radix::Format};

/// Messages, tables or keys that do not match.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TfheError {
    /// A message outside the message space.
    #[error("message {got} is outside 0 to {most}: choose parameters with more message bits, or split it into digits")]
    Message {
        /// Message given.
        got: u64,
        /// Largest message.
        most: u64,
    },
    /// Decryption found the padding bit set: the phase is no message.
    #[error("the decrypted phase is no message of 0 to {most}: wrong key, or a sum that overflowed the message space")]
    Decrypted {
        /// Largest message.
        most: u64,
    },
    /// A table of the wrong length.
    #[error("a table has an entry for each of {wanted} messages, got {got}")]
    TableLength {
        /// Entries given.
        got: usize,
        /// Entries wanted.
        wanted: usize,
    },
    /// A number of tables that is neither one nor that of the ciphertexts.
    #[error("{got} tables for a batch of {batch}: give one, or one for each")]
    TableCount {
        /// Tables given.
        got: usize,
        /// Ciphertexts in the batch.
        batch: usize,
    },
    /// Operands of different keys.
    #[error("{op}: made with keys {left}, and with keys {right}: only what belongs to one client key goes together")]
    OtherKeys {
        /// Name of the operation.
        op: &'static str,
        /// Key tag of the left operand.
        left: KeyTag,
        /// Key tag of the right operand.
        right: KeyTag,
    },
    /// Operands of different parameters.
    #[error("{op}: the parameter sets differ: use the one that the keys were made for")]
    OtherParams {
        /// Name of the operation.
        op: &'static str,
    },
    /// A sum that may exceed the message space.
    #[error("{op}: the messages may reach {low} to {high}, a table takes {least} to {most}: bootstrap the parts first")]
    Range {
        /// Name of the operation.
        op: &'static str,
        /// Smallest possible message.
        low: i64,
        /// Largest possible message.
        high: i64,
        /// Smallest message that the table takes.
        least: i64,
        /// Largest message that the table takes.
        most: i64,
    },
    /// More noise than the parameters allow.
    #[error(
        "{op}: this would fail with probability 2^{got:.1}, the parameters allow 2^{wanted}: bootstrap before adding, or take fewer tables at a time"
    )]
    Noise {
        /// Name of the operation.
        op: &'static str,
        /// log₂ of the resulting failure probability.
        got: f64,
        /// log₂ of the failure probability that the parameters state.
        wanted: f64,
    },
    /// Operands with batches of different sizes.
    #[error("{op}: batches of {left} and {right} do not go together: make them equal, or one of them 1")]
    Batch {
        /// Name of the operation.
        op: &'static str,
        /// Batch size of the left operand.
        left: usize,
        /// Batch size of the right operand.
        right: usize,
    },
    /// A number of tables that cannot share a blind rotation.
    #[error("{got} tables share a blind rotation only as a power of two, at most N/2^(message bits + 1) = {most}")]
    Together {
        /// Number of tables given.
        got: usize,
        /// Largest number of tables.
        most: usize,
    },
    /// A table of encrypted indices without entries, or with too many.
    #[error("a table of {got} entries: give 1 to {most}")]
    Entries {
        /// Entries given.
        got: usize,
        /// Most entries.
        most: usize,
    },
    /// Indices with a sign.
    #[error("a table at indices of {0}: indices are unsigned; convert them, and say what negative ones are to give")]
    SignedIndex(Format),
    /// A bit width that digits of two bits do not give.
    #[error("integers of {0} bits: choose an even number from 4 to 64")]
    Width(u32),
    /// A parameter set without room for carries above a digit.
    #[error(
        "integers of several digits take parameters with 4 message bits (2 and 2 of carry), these have {0}: choose 2-2-p128 or 2-2-p64"
    )]
    Digits(u32),
    /// A value outside the format's range.
    #[error("{got} is outside {format}'s {} to {}: choose a wider format", format.range().0, format.range().1)]
    Value {
        /// Value given.
        got: String,
        /// Format that does not hold it.
        format: Format,
    },
    /// Integers of two formats.
    #[error("{op}: {left} and {right} do not go together: convert one of them")]
    Formats {
        /// Name of the operation.
        op: &'static str,
        /// Format of the left operand.
        left: Format,
        /// Format of the right operand.
        right: Format,
    },
    /// A batch that is no multiple of the digits.
    #[error("a batch of {got} messages is no number of integers of {digits} digits")]
    Rows {
        /// Messages in the batch.
        got: usize,
        /// Digits per integer.
        digits: usize,
    },
    /// A shift by the bit width or more.
    #[error("a shift by {got} of integers of {bits} bits: choose 0 to {}", bits - 1)]
    Shift {
        /// Shift given.
        got: u32,
        /// Bit width of the integers.
        bits: u32,
    },
    /// A result that the program cannot have. The message contains nothing of the decrypted values.
    #[error(
        "the decrypted messages contradict the program: wrong key, or a damaged or made-up result; they are withheld, because they would leak the key"
    )]
    Implausible,
    /// Unknown preset: the name given, and the names there are.
    #[error("there is no TFHE preset {0:?}: choose one of {1}")]
    UnknownPreset(String, String),
    /// The search found no parameter set.
    #[error(
        "no parameter set of {class} bits of security has {message_bits} message bits and p_fail <= 2^{log2_failure}: ask for fewer message bits, a smaller norm or a higher failure probability (classes are 128 and 132)"
    )]
    NothingFound {
        /// Security class wanted, in bits.
        class: u32,
        /// Message bits wanted.
        message_bits: u32,
        /// log₂ of the failure probability wanted.
        log2_failure: f64,
    },
}
