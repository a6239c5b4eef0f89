//! Eight words at a time: loads, constants, products, corrections.

use super::{Token, table::Factor};
use crate::{
    kernels::{gadget::Wrapping, limb::Ahead},
    layout::{Line, STRIP},
};
use std::arch::x86_64::{
    __m512i, _MM_HINT_ET0, _MM_HINT_T0, _MM_HINT_T1, _mm_prefetch, _mm512_add_epi64, _mm512_and_si512,
    _mm512_load_si512, _mm512_loadu_si512, _mm512_madd52hi_epu64, _mm512_madd52lo_epu64, _mm512_min_epu64,
    _mm512_permutex2var_epi64, _mm512_permutexvar_epi64, _mm512_set1_epi64, _mm512_setzero_si512, _mm512_shuffle_i64x2,
    _mm512_srlv_epi64, _mm512_store_si512, _mm512_sub_epi64, _mm512_unpackhi_epi64, _mm512_unpacklo_epi64,
};

/// q^{-1} modulo 2^52, by Newton's iteration: each step doubles the number of right low bits, from 3.
pub(super) fn inverse_of_word(q: u64) -> u64 {
    (0..5).fold(q, |x, _| x.wrapping_mul(2u64.wrapping_sub(q.wrapping_mul(x)))) & MASK
}

/// A vector of eight words.
pub(super) type V = __m512i;

/// `2^52 − 1`.
pub(super) const MASK: u64 = (1 << 52) - 1;

/// Lines between what is computed and what is asked for, where a conversion or a combination reads several limbs side by
/// side, which the hardware follows badly: where a conversion goes by strips, the same line of the next strip. Without, on
/// Zen 4 a key switch took a tenth longer.
pub(super) const AHEAD: usize = STRIP;

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn load(line: &Line) -> V {
    #[expect(unsafe_code, reason = "the intrinsic takes a pointer")]
    // SAFETY: a line is 64 readable bytes, aligned to 64.
    unsafe {
        _mm512_load_si512(line.0.as_ptr().cast())
    }
}

/// Eight words from any word on.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn load_words(lines: &[Line], word: usize) -> V {
    assert!(word + 8 <= 8 * lines.len());
    let words = lines.as_ptr().cast::<u64>().wrapping_add(word);
    #[expect(unsafe_code, reason = "the intrinsic takes a pointer")]
    // SAFETY: the eight words lie in the slice.
    unsafe {
        _mm512_loadu_si512(words.cast())
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn store(line: &mut Line, x: V) {
    #[expect(unsafe_code, reason = "the intrinsic takes a pointer")]
    // SAFETY: a line is 64 writable bytes, aligned to 64.
    unsafe {
        _mm512_store_si512(line.0.as_mut_ptr().cast(), x);
    }
}

/// The same reference, but what it leads to is read again: left alone the compiler keeps thirty factors of a loop in
/// vectors, for which there are no registers, where multiply-add could read each word from the table.
#[inline]
pub(super) fn reread<T>(table: &T) -> &T {
    std::hint::black_box(table)
}

/// Prefetches a line into the L1 cache; any address is valid.
#[inline]
#[target_feature(enable = "sse")]
pub(super) fn prefetch(line: *const Line) {
    _mm_prefetch::<_MM_HINT_T0>(line.cast());
}

/// Prefetches a line into the L2 cache; any address is valid.
#[inline]
#[target_feature(enable = "sse")]
pub(super) fn prefetch_later(line: *const Line) {
    _mm_prefetch::<_MM_HINT_T1>(line.cast());
}

/// Prefetches a line that is about to be written.
#[inline]
#[target_feature(enable = "sse")]
pub(super) fn prefetch_to_write(line: *const Line) {
    _mm_prefetch::<_MM_HINT_ET0>(line.cast());
}

/// Asks for the next lines of those that are read later.
#[inline]
#[target_feature(enable = "sse")]
pub(super) fn ask(ahead: &mut Ahead<'_>) {
    for line in ahead.take() {
        prefetch_later(line);
    }
}

/// The same word in every lane.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn splat(x: u64) -> V {
    _mm512_set1_epi64(x.cast_signed())
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn zero() -> V {
    _mm512_setzero_si512()
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn add(a: V, b: V) -> V {
    _mm512_add_epi64(a, b)
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn sub(a: V, b: V) -> V {
    _mm512_sub_epi64(a, b)
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

/// `x` or `x − q`, whichever is not negative: [0, 2q) → [0, q).
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn reduce_once(x: V, q: V) -> V {
    _mm512_min_epu64(x, sub(x, q))
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn and(a: V, b: V) -> V {
    _mm512_and_si512(a, b)
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

/// Transposes eight rows of eight words.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn transpose(r: [V; 8]) -> [V; 8] {
    let even = [
        _mm512_unpacklo_epi64(r[0], r[1]),
        _mm512_unpacklo_epi64(r[2], r[3]),
        _mm512_unpacklo_epi64(r[4], r[5]),
        _mm512_unpacklo_epi64(r[6], r[7]),
    ];
    let odd = [
        _mm512_unpackhi_epi64(r[0], r[1]),
        _mm512_unpackhi_epi64(r[2], r[3]),
        _mm512_unpackhi_epi64(r[4], r[5]),
        _mm512_unpackhi_epi64(r[6], r[7]),
    ];
    let ([a, e, c, g], [b, f, d, h]) = (quarters(even), quarters(odd));
    [a, b, c, d, e, f, g, h]
}

/// Transposes a 4 × 4 matrix of word pairs: returns columns 0, 2, 1, 3.
#[inline]
#[target_feature(enable = "avx512f")]
fn quarters(t: [V; 4]) -> [V; 4] {
    let a = _mm512_shuffle_i64x2::<0x88>(t[0], t[1]);
    let b = _mm512_shuffle_i64x2::<0x88>(t[2], t[3]);
    let c = _mm512_shuffle_i64x2::<0xdd>(t[0], t[1]);
    let d = _mm512_shuffle_i64x2::<0xdd>(t[2], t[3]);
    [
        _mm512_shuffle_i64x2::<0x88>(a, b),
        _mm512_shuffle_i64x2::<0xdd>(a, b),
        _mm512_shuffle_i64x2::<0x88>(c, d),
        _mm512_shuffle_i64x2::<0xdd>(c, d),
    ]
}

/// [`crate::kernels::gadget::wrapping_sums`] in vectors of 512 bits.
pub(crate) fn wrapping_sums<W: Wrapping>(_token: Token, sums: &mut [W], factors: &[W], rows: &[&[W]]) {
    #[expect(unsafe_code, reason = "calls into code for one instruction set")]
    // SAFETY: a token proves AVX-512F and DQ.
    unsafe {
        wrapping_sums_loop(sums, factors, rows);
    }
}

#[target_feature(enable = "avx512f,avx512dq")]
fn wrapping_sums_loop<W: Wrapping>(sums: &mut [W], factors: &[W], rows: &[&[W]]) {
    crate::kernels::gadget::wrapping_sums(sums, factors, rows);
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
