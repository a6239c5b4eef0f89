//! Arithmetic for primes of up to 61 bits in words: 64-bit products from four of 32 bits.
//!
//! Factors are in Shoup's form. The quotient leaves out what no high half of a partial product shows, and errs by less
//! than four: products are in [0, 4q) for any word, and values in [0, 8q), below 2^64. Source: \[Har14\].

use super::vector::{HALVES, LANES, V, load, reduce_once, splat, store, transpose, zero};
use crate::{
    kernels::{
        factors::{Factors, LaneFactors, Pass},
        passes::{Rows, quarters, transforms},
    },
    layout::{BLOCK, Line, PADDED, STRIP, blocks_mut},
};
use limbwise_math::modulus::{Modulus, Shoup};
use std::{
    arch::x86_64::{
        _mm256_add_epi64, _mm256_blend_epi32, _mm256_mul_epu32, _mm256_or_si256, _mm256_slli_epi64, _mm256_sllv_epi64,
        _mm256_srli_epi64, _mm256_srlv_epi64, _mm256_sub_epi64,
    },
    ops::Range,
};

pub(super) type Factor = Shoup;

/// See [`passes`](crate::kernels::passes).
const OVERLAPS: bool = false;

/// Corrections of passes, forward and inverse, in every level: values stay in [0, 8q).
pub(super) fn fixes(_q: Modulus) -> [u8; 2] {
    [3, 7]
}

/// A factor and its quotient.
#[derive(Clone, Copy)]
struct Wide {
    value: V,
    quotient: V,
}

/// Register constants of a transform.
#[derive(Clone, Copy)]
pub(super) struct Constants {
    q: V,
    twice: V,
    /// 4q.
    step: V,
}

impl Constants {
    #[target_feature(enable = "avx2")]
    pub(super) fn new(q: Modulus) -> Self {
        let q = q.value();
        Self { q: splat(q), twice: splat(2 * q), step: splat(4 * q) }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn wide(_k: Constants, w: &Factor) -> Wide {
    Wide { value: splat(w.value), quotient: splat(w.quotient) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn lane_factor(lanes: &LaneFactors, half: usize) -> Wide {
    Wide { value: load(&lanes[0], half), quotient: load(&lanes[1], half) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn enter(_k: Constants, x: V) -> V {
    x
}

/// Range: [0, 8q) → [0, q).
#[inline]
#[target_feature(enable = "avx2")]
fn leave(k: Constants, x: V) -> V {
    reduce_once(reduce_once(reduce_once(x, k.step), k.twice), k.q)
}

/// Range: [0, 8q) → [0, 4q).
#[inline]
#[target_feature(enable = "avx2")]
fn correct(k: Constants, x: V) -> V {
    reduce_once(x, k.step)
}

#[inline]
#[target_feature(enable = "avx2")]
fn correct_sum(k: Constants, x: V) -> V {
    correct(k, x)
}

/// Upper halves, as `_mm256_mul_epu32` takes them.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn upper(x: V) -> V {
    _mm256_srli_epi64::<32>(x)
}

/// `⌊x·y/2^64⌋`, or up to 3 less.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn high(x: V, y: V) -> V {
    let (x1, y1) = (upper(x), upper(y));
    let middle = _mm256_add_epi64(upper(_mm256_mul_epu32(x1, y)), upper(_mm256_mul_epu32(x, y1)));
    _mm256_add_epi64(_mm256_mul_epu32(x1, y1), middle)
}

/// The partial products of `x·y` that reach the upper half of its low word or above.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn crossed(x: V, y: V) -> V {
    _mm256_add_epi64(_mm256_mul_epu32(upper(x), y), _mm256_mul_epu32(x, upper(y)))
}

/// `y·w` modulo q. Range: any word → [0, 4q).
#[inline]
#[target_feature(enable = "avx2")]
fn product(k: Constants, y: V, w: Wide) -> V {
    let quotient = high(y, w.quotient);
    let cross = _mm256_sub_epi64(crossed(y, w.value), crossed(quotient, k.q));
    let low = _mm256_sub_epi64(_mm256_mul_epu32(y, w.value), _mm256_mul_epu32(quotient, k.q));
    _mm256_add_epi64(low, _mm256_slli_epi64::<32>(cross))
}

#[inline]
#[target_feature(enable = "avx2")]
fn sum(x: V, y: V) -> V {
    _mm256_add_epi64(x, y)
}

/// `x − y + 4q`. Range: y in [0, 4q].
#[inline]
#[target_feature(enable = "avx2")]
fn difference(k: Constants, x: V, y: V) -> V {
    _mm256_sub_epi64(_mm256_add_epi64(x, k.step), y)
}

/// `a·w` modulo q, w in all lanes. Range: any word → [0, q).
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn scale(k: Constants, a: V, w: &Factor) -> V {
    reduce_once(reduce_once(product(k, a, wide(k, w)), k.twice), k.q)
}

transforms!("avx2");

/// Reduction of products of two residues by a quotient of one multiplication.
///
/// With c = ⌊a·b/2^s⌋, s being two less than the bits of q, and μ = ⌊2^(64+s)/q⌋, both below 2^64, c·μ/2^64 misses
/// a·b/q by less than ½ + ½, and `high` takes off less than 3 more: the remainder is in [0, 4q).
#[derive(Clone, Copy)]
pub(super) struct Barrett {
    right: V,
    left: V,
    mu: V,
}

impl Barrett {
    #[target_feature(enable = "avx2")]
    pub(super) fn new(q: Modulus) -> Self {
        let s = q.bits() - 2;
        let mu = (1u128 << (64 + s)) / u128::from(q.value());
        let mu = u64::try_from(mu).expect("2^(64+s) is at most 2^63 times q");
        Self { right: splat(s.into()), left: splat((64 - s).into()), mu: splat(mu) }
    }

    /// `a·b mod q`.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn mul(self, k: Constants, a: V, b: V) -> V {
        let (a1, b1) = (upper(a), upper(b));
        let least = _mm256_mul_epu32(a, b);
        let middle = _mm256_add_epi64(_mm256_mul_epu32(a, b1), upper(least));
        let middle_low = _mm256_blend_epi32::<0b1010_1010>(middle, splat(0));
        let other = _mm256_add_epi64(_mm256_mul_epu32(a1, b), middle_low);
        let top = _mm256_add_epi64(_mm256_add_epi64(_mm256_mul_epu32(a1, b1), upper(middle)), upper(other));
        let bottom = _mm256_blend_epi32::<0b1010_1010>(least, _mm256_slli_epi64::<32>(other));
        let c = _mm256_or_si256(_mm256_sllv_epi64(top, self.left), _mm256_srlv_epi64(bottom, self.right));
        let quotient = high(c, self.mu);
        let lost = _mm256_slli_epi64::<32>(crossed(quotient, k.q));
        let r = _mm256_sub_epi64(_mm256_sub_epi64(bottom, _mm256_mul_epu32(quotient, k.q)), lost);
        reduce_once(reduce_once(r, k.twice), k.q)
    }
}
