//! Base conversion and centered lifts, eight coefficients at a time, where a prime is long.

use super::{
    super::{
        Token,
        vector::{add, and, reduce_once, splat, sub, zero},
    },
    word::{Constants, HALVES, V, high, load, scale, store},
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
    __m128i, _mm_cvtsi64_si128, _mm512_cmpgt_epu64_mask, _mm512_madd52hi_epu64, _mm512_maskz_mov_epi64,
    _mm512_min_epu64, _mm512_mul_epu32 as narrow_product, _mm512_mullo_epi64 as low_product, _mm512_set1_epi32,
    _mm512_sllv_epi64 as left, _mm512_srl_epi64 as right_by, _mm512_srlv_epi64 as right,
};

/// `x` or `x + q`, whichever is not negative: (−q, q) → [0, q).
#[inline]
#[target_feature(enable = "avx512f")]
fn lift_once(x: V, q: V) -> V {
    _mm512_min_epu64(x, add(x, q))
}

/// `y` where x > than, else 0.
#[inline]
#[target_feature(enable = "avx512f")]
fn where_greater(x: V, than: V, y: V) -> V {
    _mm512_maskz_mov_epi64(_mm512_cmpgt_epu64_mask(x, than), y)
}

/// `x` in the low half of every lane, and anything above it: what `narrow_product` takes.
#[inline]
#[target_feature(enable = "avx512f")]
fn broadcast(x: u32) -> V {
    _mm512_set1_epi32(x.cast_signed())
}

/// `⌊x·y/2^52⌋`, both below 2^52.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn fraction(x: V, y: V) -> V {
    _mm512_madd52hi_epu64(zero(), x, y)
}

conversions!(Token, "avx512f,avx512dq,avx512ifma");
