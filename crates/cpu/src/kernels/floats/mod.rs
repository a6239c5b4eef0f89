//! Arithmetic for narrow and short primes in floating point, written once for vectors of four and of eight words.
//!
//! Each file has a macro that a vector unit invokes with its features, in a module of the macro's name. It takes from
//! `super::vector` what differs between units: how words become floats and integers, how a quotient is rounded, how many
//! targets a conversion sweeps at once. What is the same for all units, such as which sums are exact, stands beside the
//! macros as plain code.
//!
//! Loops over arrays of vectors count by index: constant indices keep the arrays in registers.
//!
//! Read in this order: `arithmetic`, `exact`, `sums`, `blind`, `short` (changes of basis).

pub(super) mod arithmetic;
pub(super) mod blind;
pub(super) mod exact;
pub(super) mod short;
pub(super) mod sums;
