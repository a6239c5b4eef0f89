//! Integers of 4 to 64 bits in digits of two bits, in batches of rows.
//!
//! A set with four message bits holds a digit and two bits for sums. Between operations every digit is 0 to 3 and the
//! sum of at most two bootstrapped ciphertexts. The digits of all rows go through one batch of bootstrappings, a layer.
//! Results are taken modulo 2^bits.
//!
//! The table lists bootstrappings per row and layers in sequence, for n digits; `d` is the depth of [`compare`]'s tree.
//! The last column names operands that are bootstrapped once more if a selection left them as a sum of two: n
//! bootstrappings each, and a layer.
//!
//! | operation | bootstrappings | layers | cleans |
//! |---|---|---|---|
//! | `+`, `−`, negation, with ciphertexts or constants, in k chunks | k = 1: n; else 2n − n/k + k − 3 | k = 1: n; else n/k + ⌈(k − 2)/3⌉ + 1 | |
//! | comparison with a ciphertext | n + 1; signed the same | d | the sign digit |
//! | comparison with a constant | [`compare::constant_cost`] | d | all digits |
//! | selection | n + 1 | 2 | the `no` side |
//! | minimum, maximum | 2n + 1 | d + 1 | as both |
//! | and, or, xor with a ciphertext; shifts by an odd number of bits | n | 1 | both |
//! | and, or, xor with a constant | n | 1 | |
//! | complement; shifts and rotations by whole digits | 0; signed to the right 1 | 0; 1 | |
//! | shift by an encrypted number of bits | [`shift`] | | |
//! | quotient and remainder | [`divide`] | | both |
//! | the smaller and the larger of two | 2n + 1 | d + 1 | noisy digits |
//! | table of up to 1024 entries | [`lookup`] | | the index |
//! | product | 26, 105, 412, 1634 for 4, 8, 16, 32 digits, carries rippling | 7, 13, 21, 38 | both |
//!
//! Enters: formats, digits, layers of bootstrappings.
//! Stays out: keys, encryption (messages of a [`Format`] are encrypted like others), noise formulas.
//!
//! Read in this order: [`format`](mod@format), [`value`], [`carry`], [`compare`], [`select`], [`bits`], [`shift`], [`multiply`],
//! [`sum`], [`divide`], [`lookup`], [`sort`].

pub mod bits;
pub mod carry;
pub mod compare;
pub mod divide;
pub mod format;
pub mod lookup;
pub mod multiply;
mod operators;
pub mod select;
pub mod shift;
pub mod sort;
pub mod sum;
pub mod value;

pub use compare::Comparison;
pub use format::Format;
pub use value::{Integers, Radix};
