//! Arithmetic for [`PrimeClass::Short`](limbwise_math::prime_class::PrimeClass) in floating point: AVX2 has no product of 64-bit words, but FMA has one of 53.
//!
//! Inside a transform a word is an `f64` that holds an integer, a representative of its residue of either sign. A product
//! y·w is h + l exactly, l being what rounding h left; with c the integer next to h/q, h − c·q and its sum with l are
//! integers below 2^53, hence exact. c comes from y and w/q by three roundings and one to an integer, so it errs by at most
//! ½ + 3·|y·w/q|·2^−53 and a little, and for |w| ≤ q/2 the product is within `½·q + 3·|y|·q·2^−54`. [`fixes`] follows these
//! bounds from pass to pass.

use super::vector::{self, HALVES, LANES, lift_once, load, store};
use crate::{
    kernels::{
        factors::{Factors, LaneFactors, Pass, shape},
        passes::{Rows, quarters, transforms},
    },
    layout::{BLOCK, Line, PADDED, STRIP, blocks_mut},
};
use limbwise_math::modulus::Modulus;
use std::{
    arch::x86_64::{
        __m256d, _MM_FROUND_NO_EXC, _MM_FROUND_TO_NEAREST_INT, _mm256_add_epi64, _mm256_add_pd, _mm256_castpd_si256,
        _mm256_castsi256_pd, _mm256_fmadd_pd, _mm256_fmsub_pd, _mm256_fnmadd_pd, _mm256_mul_pd, _mm256_or_pd,
        _mm256_round_pd, _mm256_set1_pd, _mm256_sub_epi64, _mm256_sub_pd,
    },
    ops::Range,
};

/// 2^52: or-ing a smaller integer into its bits adds it.
const TWO_52: f64 = (1u64 << 52) as f64;

/// 1.5·2^52: a number of up to 2^51 added to it is rounded to an integer, which then stands in its low bits.
const ROUNDER: f64 = 1.5 * TWO_52;

/// Largest value: the integers up to it are floats.
const LIMIT: f64 = 2.0 * TWO_52;

/// Rounds to the nearest integer.
pub(super) const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

pub(super) type V = vector::V;
pub(super) type Factor = f64;
/// Four floats.
pub(super) type Float = __m256d;

/// A factor and its quotient by q, which takes one multiplication off the chain of a product.
#[derive(Clone, Copy)]
pub(super) struct Wide {
    value: Float,
    quotient: Float,
}

/// See [`passes`](crate::kernels::passes).
const OVERLAPS: bool = true;

/// Register constants of a transform.
#[derive(Clone, Copy)]
pub(super) struct Constants {
    pub(super) q: Float,
    /// 1/q.
    pub(super) inverse: Float,
    rounder: Float,
    two_52: Float,
    /// q as a word.
    pub(super) word: V,
}

impl Constants {
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn new(q: Modulus) -> Self {
        let float = q.value() as f64;
        Self {
            q: _mm256_set1_pd(float),
            inverse: _mm256_set1_pd(1.0 / float),
            rounder: _mm256_set1_pd(ROUNDER),
            two_52: _mm256_set1_pd(TWO_52),
            word: vector::splat(q.value()),
        }
    }
}

/// A factor of residue w: its representative in (−q/2, q/2].
pub(super) fn factor(q: Modulus, w: u64) -> Factor {
    q.centered(w) as f64
}

#[inline]
#[target_feature(enable = "avx2")]
fn zero() -> V {
    vector::splat(0)
}

#[inline]
#[target_feature(enable = "avx2")]
fn wide(k: Constants, w: &Factor) -> Wide {
    scaled_by(k, splat_float(*w))
}

/// A float in every lane.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn splat_float(x: f64) -> Float {
    _mm256_set1_pd(x)
}

/// A factor for products.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn scaled_by(k: Constants, value: Float) -> Wide {
    Wide { value, quotient: _mm256_mul_pd(value, k.inverse) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn lane_factor(lanes: &LaneFactors, half: usize) -> Wide {
    Wide { value: _mm256_castsi256_pd(load(&lanes[0], half)), quotient: _mm256_castsi256_pd(load(&lanes[1], half)) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn transpose(v: [V; 4]) -> [V; 4] {
    vector::transpose(v)
}

/// A word below 2^52 as a float.
#[inline]
#[target_feature(enable = "avx2")]
fn enter(k: Constants, x: V) -> V {
    _mm256_castpd_si256(float(k, x))
}

/// A word below 2^52 as a float, in a register for floats.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn float(k: Constants, x: V) -> Float {
    _mm256_sub_pd(_mm256_or_pd(_mm256_castsi256_pd(x), k.two_52), k.two_52)
}

/// A signed word of up to 51 bits and its sign as a float.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn float_signed(k: Constants, x: V) -> Float {
    let shifted = _mm256_add_epi64(x, _mm256_castpd_si256(k.rounder));
    _mm256_sub_pd(_mm256_castsi256_pd(shifted), k.rounder)
}

/// A float of residue x as its residue. Range: |x| ≤ 2^53 → [0, q).
#[inline]
#[target_feature(enable = "avx2,fma")]
fn leave(k: Constants, x: V) -> V {
    to_residue(k, _mm256_castsi256_pd(correct(k, x)))
}

/// Range: (−q, q) → [0, q).
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn to_residue(k: Constants, x: Float) -> V {
    let shifted = _mm256_castpd_si256(_mm256_add_pd(x, k.rounder));
    lift_once(_mm256_sub_epi64(shifted, _mm256_castpd_si256(k.rounder)), k.word)
}

/// Range: any → q/2 and less than one on either side of zero.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn correct(k: Constants, x: V) -> V {
    _mm256_castpd_si256(corrected(k, _mm256_castsi256_pd(x)))
}

/// Range: |x| ≤ 2^53 → q/2 and less than one on either side of zero.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn corrected(k: Constants, x: Float) -> Float {
    let c = _mm256_sub_pd(_mm256_fmadd_pd(x, k.inverse, k.rounder), k.rounder);
    _mm256_fnmadd_pd(c, k.q, x)
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn correct_sum(k: Constants, x: V) -> V {
    correct(k, x)
}

/// `a·b` of two integers modulo q.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn product_of_floats(k: Constants, a: Float, b: Float) -> Float {
    let h = _mm256_mul_pd(a, b);
    let l = _mm256_fmsub_pd(a, b, h);
    let c = _mm256_sub_pd(_mm256_fmadd_pd(h, k.inverse, k.rounder), k.rounder);
    _mm256_add_pd(_mm256_fnmadd_pd(c, k.q, h), l)
}

/// `y·w` modulo q.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn scaled(k: Constants, y: Float, w: Wide) -> Float {
    // An explicit rounding needs no copy of a constant to add to: cores are bound by what they dispatch.
    let c = _mm256_round_pd::<NEAREST>(_mm256_mul_pd(y, w.quotient));
    let h = _mm256_mul_pd(y, w.value);
    let l = _mm256_fmsub_pd(y, w.value, h);
    _mm256_add_pd(_mm256_fnmadd_pd(c, k.q, h), l)
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn product(k: Constants, y: V, w: Wide) -> V {
    _mm256_castpd_si256(scaled(k, _mm256_castsi256_pd(y), w))
}

#[inline]
#[target_feature(enable = "avx2")]
fn sum(x: V, y: V) -> V {
    _mm256_castpd_si256(_mm256_add_pd(_mm256_castsi256_pd(x), _mm256_castsi256_pd(y)))
}

#[inline]
#[target_feature(enable = "avx2")]
fn difference(_k: Constants, x: V, y: V) -> V {
    _mm256_castpd_si256(_mm256_sub_pd(_mm256_castsi256_pd(x), _mm256_castsi256_pd(y)))
}

/// `a·b mod q` of residues: the quotient is below 2^50, so it errs by less than ¾.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn mul(k: Constants, a: V, b: V) -> V {
    to_residue(k, product_of_floats(k, float(k, a), float(k, b)))
}

/// `a·w mod q`, w a factor in all lanes.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn scale(k: Constants, a: V, w: Wide) -> V {
    to_residue(k, scaled(k, float(k, a), w))
}

/// `(a − b)·w mod q`, w a factor in all lanes.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn scaled_difference(k: Constants, a: V, b: V, w: Wide) -> V {
    to_residue(k, scaled(k, float_signed(k, _mm256_sub_epi64(a, b)), w))
}

transforms!("avx2,fma");

/// A pass as bounds see it: what comes in, whether it is double, where it corrects → what comes out, if all fits.
type Step = fn(Bounds, f64, bool, u8) -> Option<f64>;

/// Bounds of values, in multiples of q.
#[derive(Clone, Copy)]
struct Bounds {
    q: f64,
    /// Bound of operands of a product.
    limit: f64,
}

impl Bounds {
    fn new(q: Modulus) -> Self {
        let q = q.value() as f64;
        Self { q, limit: LIMIT / q }
    }

    /// Bound of a product with an operand within `y`, rounded up.
    fn product(self, y: f64) -> f64 {
        0.5 + 3.0 * y * self.q / (4.0 * TWO_52) + 1e-12
    }

    /// After a correction, rounded up.
    const CORRECTED: f64 = 0.5 + 1e-12;

    /// After a forward pass on values within `x`, if all that is multiplied or stored is within the limit.
    fn forward(self, x: f64, is_double: bool, fix: u8) -> Option<f64> {
        let level = |x: f64, corrects: bool| {
            let kept = if corrects { Self::CORRECTED } else { x };
            kept + self.product(x)
        };
        let ends = level(x, fix & 1 != 0);
        let ends = if is_double { level(ends, fix & 2 != 0) } else { ends };
        (x <= self.limit && ends <= self.limit).then_some(ends)
    }

    /// After an inverse pass, likewise; the next one multiplies differences of differences.
    fn inverse(self, x: f64, is_double: bool, fix: u8) -> Option<f64> {
        let kept = |x: f64, bit: u8| if fix & bit != 0 { Self::CORRECTED } else { x };
        let (largest, ends) = if is_double {
            let (s, t) = (kept(2.0 * x, 1), self.product(2.0 * x));
            let ends = kept(2.0 * s, 2).max(kept(2.0 * t, 4)).max(self.product(2.0 * s)).max(self.product(2.0 * t));
            ((2.0 * s).max(2.0 * t).max(2.0 * x), ends)
        } else {
            (2.0 * x, kept(2.0 * x, 2).max(self.product(2.0 * x)))
        };
        (largest <= self.limit && 4.0 * ends <= self.limit).then_some(ends)
    }
}

/// Corrections of each pass of [`shape`], forward and inverse: the fewest that keep all values within their limits; and
/// the bound of what a forward transform leaves that does not end in residues, in multiples of q.
pub(super) fn fixes(q: Modulus, log_n: u32) -> ([Vec<u8>; 2], f64) {
    let (bounds, shape) = (Bounds::new(q), shape(log_n));
    let plan = |passes: &mut dyn Iterator<Item = usize>, kinds: &[u8], step: Step, twisted: usize| {
        let mut x = 1.0;
        let mut fixes = Vec::new();
        for i in passes {
            x = if i == twisted { bounds.product(x) } else { x };
            let fit = kinds.iter().find_map(|&fix| step(bounds, x, shape[i], fix).map(|ends| (fix, ends)));
            let (fix, ends) = fit.expect("one kind keeps short primes within bounds; tested");
            fixes.push(fix);
            x = ends;
        }
        (fixes, x)
    };
    // The twist comes between the last passes but one and but two.
    let count = shape.len();
    let (forward, ends) = plan(&mut (0..count), &[0, 1, 3], Bounds::forward, count - 2);
    let (mut inverse, _) = plan(&mut (0..count).rev(), &[0, 2, 6, 7], Bounds::inverse, count - 3);
    inverse.reverse();
    ([forward, inverse], ends)
}

#[cfg(test)]
mod tests {
    use super::*;
    use limbwise_math::prime_class::PrimeClass;

    #[test]
    fn every_prime_has_a_plan() {
        for bits in 20..=PrimeClass::Short.max_bits() {
            for q in [(1u64 << (bits - 1)) + 1, 3 * (1 << (bits - 2)) + 1, (1 << bits) - 1] {
                for log_n in 10..=17 {
                    let (fixes, ends) = fixes(Modulus::new(q), log_n);
                    assert!(ends * q as f64 <= LIMIT, "what is left can be corrected and multiplied");
                    assert!(bits > 31 || fixes.iter().flatten().all(|&fix| fix == 0), "{q} needs no correction");
                }
            }
        }
    }
}
