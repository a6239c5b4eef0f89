//! Kernels for AVX-512F and DQ: what server CPUs had before 52-bit multiply-add (Skylake to Cooper Lake), and what those
//! with it use for long primes.
//!
//! Narrow and short primes are worked on in [`floats`](super::floats), long ones in words of 64 bits, as are base
//! conversions and centered lifts between primes of which one is long.
//!
//! Read in this order: `vector`, `word`, `convert` (changes of basis where a prime is long), `matrix`, `galois`.

#![expect(clippy::reversed_empty_ranges, reason = "a line is one vector here, so that it has no other halves")]

mod convert;
mod galois;
mod matrix;
pub(super) mod vector;
mod word;

crate::kernels::vector_limb::vector_modules!("avx512f,avx512dq");

pub(crate) use convert::{prepare, sweep};
pub(crate) use galois::map_values;
pub(crate) use limb::limb;
pub(crate) use short::{ShortConversion, lift};
pub(crate) use vector::{peak_fma, wrapping_sums};

/// Proof that this CPU has AVX-512F and DQ. Only [`Token::detect`] makes one.
#[derive(Clone, Copy, Debug)]
pub struct Token(());

impl Token {
    /// The token if this CPU has the features.
    #[must_use]
    pub fn detect() -> Option<Self> {
        (is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq")).then_some(Self(()))
    }
}
