//! Eight words at a time: loads, constants, products, corrections.

use super::{Token, table::Factor};
use crate::{
    kernels::avx512,
    layout::{Line, STRIP},
};
use std::arch::x86_64::{
    _MM_HINT_ET0, _mm_prefetch, _mm512_madd52hi_epu64, _mm512_madd52lo_epu64, _mm512_permutex2var_epi64,
    _mm512_permutexvar_epi64, _mm512_srlv_epi64,
};

pub(super) use crate::kernels::avx512::vector::{
    V, add, and, ask, load_at, prefetch, prefetch_later, reduce_once, splat, sub, transpose, zero,
};

/// q^{-1} modulo 2^52, by Newton's iteration: each step doubles the number of right low bits, from 3.
pub(super) fn inverse_of_word(q: u64) -> u64 {
    (0..5).fold(q, |x, _| x.wrapping_mul(2u64.wrapping_sub(q.wrapping_mul(x)))) & MASK
}

/// `2^52 − 1`.
pub(super) const MASK: u64 = (1 << 52) - 1;

/// Lines between what is computed and what is asked for, where a conversion or a combination reads several limbs side by
/// side, which the hardware follows badly: where a conversion goes by strips, the same line of the next strip. Without, on
/// Zen 4 a key switch took a tenth longer.
pub(super) const AHEAD: usize = STRIP;

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn load(line: &Line) -> V {
    avx512::vector::load(line, 0)
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn store(line: &mut Line, x: V) {
    avx512::vector::store(line, 0, x);
}

/// The same reference, but what it leads to is read again: left alone the compiler keeps thirty factors of a loop in
/// vectors, for which there are no registers, where multiply-add could read each word from the table.
#[inline]
pub(super) fn reread<T>(table: &T) -> &T {
    std::hint::black_box(table)
}

/// Prefetches a line that is about to be written.
#[inline]
#[target_feature(enable = "sse")]
pub(super) fn prefetch_to_write(line: *const Line) {
    _mm_prefetch::<_MM_HINT_ET0>(line.cast());
}

/// `acc + (a·b mod 2^52)`, of the low 52 bits of a and b.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn low(acc: V, a: V, b: V) -> V {
    _mm512_madd52lo_epu64(acc, a, b)
}

/// `acc + ⌊a·b / 2^52⌋`, of the low 52 bits of a and b.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn high(acc: V, a: V, b: V) -> V {
    _mm512_madd52hi_epu64(acc, a, b)
}

/// One [`Factor`] per lane.
#[derive(Clone, Copy)]
pub(super) struct FactorVector {
    /// w in [0, q).
    pub(super) value: V,
    /// ⌊w·2^52/q⌋.
    pub(super) quotient: V,
}

impl FactorVector {
    /// The same factor in every lane.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn splat(w: Factor) -> Self {
        Self { value: splat(w.value), quotient: splat(w.quotient) }
    }
}

/// `start + y·w` modulo q and modulo 2^52: `start + [0, 2q)` for y in [0, 2^52).
///
/// `negative` is `2^52 − q`. Source: \[Har14\], with 52-bit words.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn product(start: V, y: V, w: FactorVector, negative: V) -> V {
    low(low(start, y, w.value), high(zero(), y, w.quotient), negative)
}

/// `x − table[⌊x / 2^shift⌋ mod 8]`.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn look_up8(x: V, shift: V, table: V) -> V {
    sub(x, _mm512_permutexvar_epi64(_mm512_srlv_epi64(x, shift), table))
}

/// `x − table[⌊x / 2^shift⌋ mod 16]`.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn look_up16(x: V, shift: V, table: [V; 2]) -> V {
    sub(x, _mm512_permutex2var_epi64(table[0], _mm512_srlv_epi64(x, shift), table[1]))
}

/// Runs `16·rounds` multiply-adds with nothing in their way: the rate of this CPU, for limits printed beside times.
#[must_use]
pub(crate) fn peak_madd(token: Token, rounds: u64) -> u64 {
    let _ = token;
    #[expect(unsafe_code, reason = "calls into code for one instruction set")]
    // SAFETY: a token proves AVX-512F and IFMA.
    unsafe {
        peak_madd_loop(rounds)
    }
}

#[target_feature(enable = "avx512f,avx512ifma")]
fn peak_madd_loop(rounds: u64) -> u64 {
    let mut sums = [zero(); 16];
    let (a, b) = (splat(rounds | 3), splat(MASK - rounds));
    for _ in 0..rounds {
        for sum in &mut sums {
            *sum = low(*sum, a, b);
        }
    }
    let total = sums.into_iter().fold(zero(), |t, s| add(t, s));
    let mut line = Line::default();
    store(&mut line, total);
    line.0[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn word_inverses() {
        for q in [3u64, (1 << 50) - 27, 1_048_573] {
            assert_eq!(inverse_of_word(q).wrapping_mul(q) & MASK, 1);
        }
    }
}
