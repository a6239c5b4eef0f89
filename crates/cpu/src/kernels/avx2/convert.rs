//! Base conversion and centered lifts, four coefficients at a time, for primes of any width; [`floats`](crate::kernels::floats)
//! has those of narrow and short ones.

use super::{
    Token,
    vector::{
        HALVES, V, add, and, left, lift_once, load, reduce_once, right, right_by, splat, store, sub, where_greater,
    },
    word::{Constants, crossed, high, scale, upper},
};
use crate::{
    kernels::{
        convert::{Sources, Target as Swept},
        unroll::unroll,
        words::{SWEEP, Target, WordConversion, conversions},
    },
    layout::Line,
};
use limbwise_math::{modulus::Modulus, rns::Fraction};
use std::arch::x86_64::{
    __m128i, _mm_cvtsi64_si128, _mm256_mul_epu32 as narrow_product, _mm256_set1_epi32, _mm256_slli_epi64,
    _mm256_srli_epi64,
};

/// `x·y mod 2^64`.
#[inline]
#[target_feature(enable = "avx2")]
fn low_product(x: V, y: V) -> V {
    add(narrow_product(x, y), _mm256_slli_epi64::<32>(crossed(x, y)))
}

/// `x` in the low half of every lane, and anything above it: what `narrow_product` takes.
#[inline]
#[target_feature(enable = "avx2")]
fn broadcast(x: u32) -> V {
    _mm256_set1_epi32(x.cast_signed())
}

/// `⌊x·y/2^52⌋`, x below 2^50 and y at most 2^51: no sum of partial products exceeds a word.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn fraction(x: V, y: V) -> V {
    let (x1, y1) = (upper(x), upper(y));
    let middle = add(add(narrow_product(x1, y), narrow_product(x, y1)), upper(narrow_product(x, y)));
    add(_mm256_slli_epi64::<12>(narrow_product(x1, y1)), _mm256_srli_epi64::<20>(middle))
}

conversions!(Token, "avx2");
