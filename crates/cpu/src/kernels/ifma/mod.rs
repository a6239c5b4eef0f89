//! Kernels for AVX-512 with 52-bit multiply-add, for [`PrimeClass::Short`](limbwise_math::prime_class::PrimeClass);
//! longer primes without it, in [`avx512`].
//!
//! Inside a transform only the low 52 bits of a word are significant: multiply-add ignores the upper 12, so products
//! leave arbitrary bits there. A value must lie in [0, 2^52) when it is multiplied or looked up. `range` decides at
//! compile time where that needs a correction, and proves that it suffices.
//!
//! Read in this order: `vector` (the arithmetic), `range`, `table` (twiddles), `forward`, `inverse`,
//! `limb` (element-wise kernels and the way in), `sums`, `blind`, `convert`.

mod blind;
mod convert;
mod forward;
mod inverse;
mod limb;
mod macros;
mod matrix;
mod range;
mod sums;
mod table;
mod vector;

use super::avx512;

pub(crate) use convert::{IfmaConversion, lift};
pub(crate) use limb::limb;
pub(crate) use vector::peak_madd;

/// Proof that this CPU has AVX-512F, DQ and IFMA. Only [`Token::detect`] makes one.
#[derive(Clone, Copy, Debug)]
pub struct Token(());

impl Token {
    /// The token if this CPU has the features.
    #[must_use]
    pub fn detect() -> Option<Self> {
        let has = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512ifma");
        has.then_some(Self(()))
    }
}

impl From<Token> for avx512::Token {
    fn from(_: Token) -> Self {
        Self::detect().expect("a CPU with IFMA that was detected has what AVX-512 needs")
    }
}
