//! Arithmetic for primes of up to 61 bits in words of 64 bits.
//!
//! Factors are in Shoup's form. The quotient leaves out what no high half of a partial product shows, and errs by less
//! than four: products are in [0, 4q) for any word. Forward, primes of up to 60 bits let values grow to 16q before they
//! are corrected, others to 8q. Source: \[Har14\].

use super::vector::{HALVES, LANES, V, add, and, load, reduce_once, splat, store, sub, transpose, zero};
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
        _mm512_mul_epu32, _mm512_mullo_epi64, _mm512_or_si512, _mm512_sllv_epi64, _mm512_srli_epi64, _mm512_srlv_epi64,
    },
    ops::Range,
};

pub(super) type Factor = Shoup;

/// See [`passes`](crate::kernels::passes).
const OVERLAPS: bool = true;

/// Corrections of passes, forward and inverse: every second level if values may reach 16q, else every level.
pub(super) fn fixes(q: Modulus) -> [u8; 2] {
    [if q.bits() <= 60 { 1 } else { 3 }, 7]
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
    four: V,
    /// 8q for primes of up to 60 bits, else 4q: what forward corrections take away.
    step: V,
}

impl Constants {
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn new(q: Modulus) -> Self {
        let (word, step) = (q.value(), if q.bits() <= 60 { 8 } else { 4 });
        Self { q: splat(word), twice: splat(2 * word), four: splat(4 * word), step: splat(step * word) }
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn wide(_k: Constants, w: &Factor) -> Wide {
    Wide { value: splat(w.value), quotient: splat(w.quotient) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn lane_factor(lanes: &LaneFactors, half: usize) -> Wide {
    Wide { value: load(&lanes[0], half), quotient: load(&lanes[1], half) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn enter(_k: Constants, x: V) -> V {
    x
}

/// Range: [0, 2·step) → [0, q).
#[inline]
#[target_feature(enable = "avx512f")]
fn leave(k: Constants, x: V) -> V {
    below_q(k, reduce_once(reduce_once(x, k.step), k.four))
}

/// Range: [0, 4q) → [0, q).
#[inline]
#[target_feature(enable = "avx512f")]
fn below_q(k: Constants, x: V) -> V {
    reduce_once(reduce_once(x, k.twice), k.q)
}

/// Range: [0, 2·step) → [0, step).
#[inline]
#[target_feature(enable = "avx512f")]
fn correct(k: Constants, x: V) -> V {
    reduce_once(x, k.step)
}

/// Range: [0, 8q) → [0, 4q).
#[inline]
#[target_feature(enable = "avx512f")]
fn correct_sum(k: Constants, x: V) -> V {
    reduce_once(x, k.four)
}

/// Upper halves, as `_mm512_mul_epu32` takes them.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn upper(x: V) -> V {
    _mm512_srli_epi64::<32>(x)
}

/// `⌊x·y/2^64⌋`, or up to 3 less.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn high(x: V, y: V) -> V {
    let (x1, y1) = (upper(x), upper(y));
    let middle = add(upper(_mm512_mul_epu32(x1, y)), upper(_mm512_mul_epu32(x, y1)));
    add(_mm512_mul_epu32(x1, y1), middle)
}

/// `y·w` modulo q. Range: any word → [0, 4q).
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn product(k: Constants, y: V, w: Wide) -> V {
    let quotient = high(y, w.quotient);
    sub(_mm512_mullo_epi64(y, w.value), _mm512_mullo_epi64(quotient, k.q))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn sum(x: V, y: V) -> V {
    add(x, y)
}

/// `x − y + 4q`. Range: y in [0, 4q].
#[inline]
#[target_feature(enable = "avx512f")]
fn difference(k: Constants, x: V, y: V) -> V {
    sub(add(x, k.four), y)
}

transforms!("avx512f,avx512dq");

/// `a·w` modulo q, w in all lanes. Range: any word → [0, q).
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
pub(super) fn scale(k: Constants, a: V, w: &Factor) -> V {
    below_q(k, product(k, a, wide(k, w)))
}

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
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn new(q: Modulus) -> Self {
        let s = q.bits() - 2;
        let mu = (1u128 << (64 + s)) / u128::from(q.value());
        let mu = u64::try_from(mu).expect("2^(64+s) is at most 2^63 times q");
        Self { right: splat(s.into()), left: splat((64 - s).into()), mu: splat(mu) }
    }

    /// `a·b mod q`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq")]
    pub(super) fn mul(self, k: Constants, a: V, b: V) -> V {
        let (a1, b1) = (upper(a), upper(b));
        let middle = add(_mm512_mul_epu32(a, b1), upper(_mm512_mul_epu32(a, b)));
        let other = add(_mm512_mul_epu32(a1, b), and(middle, splat(u64::from(u32::MAX))));
        let top = add(add(_mm512_mul_epu32(a1, b1), upper(middle)), upper(other));
        let bottom = _mm512_mullo_epi64(a, b);
        let c = _mm512_or_si512(_mm512_sllv_epi64(top, self.left), _mm512_srlv_epi64(bottom, self.right));
        let quotient = high(c, self.mu);
        below_q(k, sub(bottom, _mm512_mullo_epi64(quotient, k.q)))
    }
}
