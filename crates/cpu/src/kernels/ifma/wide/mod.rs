//! Long primes, out of reach of 52-bit multiply-add: words of 64 bits, with the products of AVX-512DQ.
//!
//! Read in this order: `word` (the arithmetic and its transforms), `limb` (element-wise kernels and the way in),
//! `convert`.

mod convert;
mod limb;
mod matrix;
mod word;

pub(super) use convert::lift;
pub(crate) use convert::{prepare, sweep};
pub(super) use limb::limb;
