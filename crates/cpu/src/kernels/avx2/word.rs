//! Arithmetic for primes of up to 61 bits in words: 64-bit products from four of 32 bits.
//!
//! Factors are in Shoup's form. The quotient leaves out what no high half of a partial product shows, and errs by less
//! than four: products are in [0, 4q) for any word, and values in [0, 8q), below 2^64. Source: \[Har14\].

use super::vector::{self, HALVES, LANES, load, reduce_once, splat, store};
use crate::{
    kernels::{
        factors::{Factors, LaneFactors, Pass},
        passes::{STRIP, quarters, transforms},
    },
    layout::{BLOCK, Line, PADDED},
};
use limbwise_math::modulus::{Modulus, Shoup};
use std::{
    arch::x86_64::{_mm256_add_epi64, _mm256_mul_epu32, _mm256_slli_epi64, _mm256_srli_epi64, _mm256_sub_epi64},
    ops::Range,
};

pub(super) type V = vector::V;
pub(super) type Factor = Shoup;

/// Corrections in every level: values stay in [0, 8q).
pub(super) const FIXES: [u8; 2] = [3, 7];

/// A factor and its quotient.
#[derive(Clone, Copy)]
struct Wide {
    value: V,
    quotient: V,
}

/// What stays in registers.
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
fn zero() -> V {
    splat(0)
}

#[inline]
#[target_feature(enable = "avx2")]
fn wide(w: &Factor) -> Wide {
    Wide { value: splat(w.value), quotient: splat(w.quotient) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn lane_factor(lanes: &LaneFactors, half: usize) -> Wide {
    Wide { value: load(&lanes[0], half), quotient: load(&lanes[1], half) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn transpose(v: [V; 4]) -> [V; 4] {
    vector::transpose(v)
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
fn upper(x: V) -> V {
    _mm256_srli_epi64::<32>(x)
}

/// `y·w` modulo q. Range: any word → [0, 4q).
#[inline]
#[target_feature(enable = "avx2")]
fn product(k: Constants, y: V, w: Wide) -> V {
    let (y1, w1, r1, q1) = (upper(y), upper(w.value), upper(w.quotient), upper(k.q));
    let middle = _mm256_add_epi64(upper(_mm256_mul_epu32(y1, w.quotient)), upper(_mm256_mul_epu32(y, r1)));
    let quotient = _mm256_add_epi64(_mm256_mul_epu32(y1, r1), middle);
    let gained = _mm256_add_epi64(_mm256_mul_epu32(y1, w.value), _mm256_mul_epu32(y, w1));
    let lost = _mm256_add_epi64(_mm256_mul_epu32(upper(quotient), k.q), _mm256_mul_epu32(quotient, q1));
    let low = _mm256_sub_epi64(_mm256_mul_epu32(y, w.value), _mm256_mul_epu32(quotient, k.q));
    _mm256_add_epi64(low, _mm256_slli_epi64::<32>(_mm256_sub_epi64(gained, lost)))
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
    reduce_once(reduce_once(product(k, a, wide(w)), k.twice), k.q)
}

transforms!("avx2");
