//! Kernels for AVX2 and FMA: what most CPUs without AVX-512 have.
//!
//! Narrow and short primes are worked on in [`floats`](super::floats), long ones in words put together from 32-bit
//! products, as are base conversions and centered lifts between primes of which one is long.
//!
//! Read in this order: `vector`, `word`, `convert` (changes of basis where a prime is long), `matrix`.

mod convert;
mod matrix;
mod vector;
mod word;

crate::kernels::vector_limb::vector_modules!("avx2,fma");

pub(crate) use convert::{prepare, sweep};
pub(crate) use limb::limb;
pub(crate) use short::{ShortConversion, lift};
pub(crate) use vector::{peak_fma, wrapping_sums};

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
