//! Kernels for AVX2 and FMA: what most CPUs without AVX-512 have.
//!
//! Narrow and short primes are worked on in floating point, long ones in words put together from 32-bit products;
//! base conversions and centered lifts in such words for all primes. Automorphisms are scalar.
//!
//! Read in this order: `vector`, `float`, `word`, `limb` (element-wise kernels and the way in), `convert`.

mod convert;
mod float;
mod limb;
mod matrix;
mod vector;
mod word;

pub(crate) use convert::{lift, prepare, sweep};
pub(crate) use limb::limb;

/// Proof that this CPU has AVX2 and FMA. Only [`Token::detect`] makes one.
#[derive(Clone, Copy, Debug)]
pub struct Token(());

impl Token {
    /// The token if this CPU has the features.
    #[must_use]
    pub fn detect() -> Option<Self> {
        (is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")).then_some(Self(()))
    }
}
