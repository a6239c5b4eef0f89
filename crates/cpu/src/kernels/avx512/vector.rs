//! Eight words or floats at a time: loads, stores, transposition, sums modulo q, and what
//! [`floats`](crate::kernels::floats) asks of an instruction set.

use super::Token;
use crate::{
    kernels::{gadget::Wrapping, limb::Ahead},
    layout::Line,
};
use std::arch::x86_64::{
    __m128i, __m512d, __m512i, _MM_FROUND_NO_EXC, _MM_FROUND_TO_NEAREST_INT, _MM_HINT_T0, _MM_HINT_T1, _mm_prefetch,
    _mm512_add_epi64, _mm512_add_pd, _mm512_and_si512, _mm512_castpd_si512, _mm512_castsi512_pd,
    _mm512_cmpgt_epu64_mask, _mm512_cvtepi64_pd, _mm512_cvtepu64_pd, _mm512_cvtpd_epi64, _mm512_fmadd_pd,
    _mm512_fmsub_pd, _mm512_fnmadd_pd, _mm512_load_si512, _mm512_loadu_si512, _mm512_mask_add_epi64,
    _mm512_maskz_mov_epi64, _mm512_min_epu64, _mm512_movepi64_mask, _mm512_mul_pd, _mm512_roundscale_pd,
    _mm512_set1_epi64, _mm512_set1_pd, _mm512_setzero_si512, _mm512_shuffle_i64x2, _mm512_sllv_epi64, _mm512_srl_epi64,
    _mm512_srlv_epi64, _mm512_store_si512, _mm512_sub_epi64, _mm512_sub_pd, _mm512_unpackhi_epi64,
    _mm512_unpacklo_epi64,
};

/// A vector of eight words.
pub(in crate::kernels) type V = __m512i;

/// Eight floats.
pub(super) type Float = __m512d;

/// Words of a vector.
pub(super) const LANES: usize = 8;

/// Vectors of a line.
pub(super) const HALVES: usize = 1;

/// Largest factor's operand: its product with a quotient, which is at most ½, is within what [`Rounding`] takes.
pub(super) const OPERANDS: f64 = (1u64 << 52) as f64;

/// Largest number of targets of one sweep of a conversion.
pub(super) const SWEEP: usize = 4;

/// Vectors of each target that such a sweep sums together, by the number of targets less one.
pub(super) const TOGETHER: [usize; 4] = [4, 4, 2, 2];

/// Lines between what is computed and what is asked for, where several limbs are read side by side.
pub(super) const AHEAD: usize = 8;

/// The line of a vector by its number in a limb, and which of the line's vectors it is.
#[inline]
pub(super) fn place(at: usize) -> (usize, usize) {
    (at, 0)
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(in crate::kernels) fn load(line: &Line, _half: usize) -> V {
    #[expect(unsafe_code, reason = "the intrinsic takes a pointer")]
    // SAFETY: a line is 64 readable bytes, aligned to 64.
    unsafe {
        _mm512_load_si512(line.0.as_ptr().cast())
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(in crate::kernels) fn store(line: &mut Line, _half: usize, x: V) {
    #[expect(unsafe_code, reason = "the intrinsic takes a pointer")]
    // SAFETY: a line is 64 writable bytes, aligned to 64.
    unsafe {
        _mm512_store_si512(line.0.as_mut_ptr().cast(), x);
    }
}

/// Eight words of a limb from one on, wherever they lie.
///
/// # Panics
/// If the limb ends before.
#[inline]
#[target_feature(enable = "avx512f")]
pub(in crate::kernels) fn load_at(limb: &[Line], word: usize) -> V {
    assert!(word + LANES <= 8 * limb.len(), "words of the limb");
    let words = limb.as_ptr().cast::<u64>().wrapping_add(word);
    #[expect(unsafe_code, reason = "the intrinsic takes a pointer")]
    // SAFETY: the eight words lie in the slice.
    unsafe {
        _mm512_loadu_si512(words.cast())
    }
}

/// Prefetches a line into the L1 cache; any address is valid.
#[inline]
#[target_feature(enable = "sse")]
pub(in crate::kernels) fn prefetch(line: *const Line) {
    _mm_prefetch::<_MM_HINT_T0>(line.cast());
}

/// Prefetches a line into the L2 cache; any address is valid.
#[inline]
#[target_feature(enable = "sse")]
pub(in crate::kernels) fn prefetch_later(line: *const Line) {
    _mm_prefetch::<_MM_HINT_T1>(line.cast());
}

/// Asks for the next lines of those that are read later.
#[inline]
#[target_feature(enable = "sse")]
pub(in crate::kernels) fn ask(ahead: &mut Ahead<'_>) {
    for line in ahead.take() {
        prefetch_later(line);
    }
}

/// The same word in every lane.
#[inline]
#[target_feature(enable = "avx512f")]
pub(in crate::kernels) fn splat(x: u64) -> V {
    _mm512_set1_epi64(x.cast_signed())
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(in crate::kernels) fn zero() -> V {
    _mm512_setzero_si512()
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(in crate::kernels) fn add(a: V, b: V) -> V {
    _mm512_add_epi64(a, b)
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(in crate::kernels) fn sub(a: V, b: V) -> V {
    _mm512_sub_epi64(a, b)
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(in crate::kernels) fn and(a: V, b: V) -> V {
    _mm512_and_si512(a, b)
}

/// `x` or `x − q`, whichever is not negative: [0, 2q) → [0, q).
#[inline]
#[target_feature(enable = "avx512f")]
pub(in crate::kernels) fn reduce_once(x: V, q: V) -> V {
    _mm512_min_epu64(x, sub(x, q))
}

/// `x`, or `x + q` where x is negative: (−q, q) → [0, q).
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
pub(super) fn lift_once(x: V, q: V) -> V {
    _mm512_mask_add_epi64(x, _mm512_movepi64_mask(x), x, q)
}

/// `y` where x > than, else 0.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn where_greater(x: V, than: V, y: V) -> V {
    _mm512_maskz_mov_epi64(_mm512_cmpgt_epu64_mask(x, than), y)
}

/// Shifts each word by a number of its own.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn left(x: V, by: V) -> V {
    _mm512_sllv_epi64(x, by)
}

/// Shifts each word by a number of its own.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn right(x: V, by: V) -> V {
    _mm512_srlv_epi64(x, by)
}

/// Shifts all words by one number.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn right_by(x: V, count: __m128i) -> V {
    _mm512_srl_epi64(x, count)
}

/// The bits of floats.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn bits(x: Float) -> V {
    _mm512_castpd_si512(x)
}

/// The floats of bits.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn floats(x: V) -> Float {
    _mm512_castsi512_pd(x)
}

/// The same float in every lane.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn splat_float(x: f64) -> Float {
    _mm512_set1_pd(x)
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn add_floats(x: Float, y: Float) -> Float {
    _mm512_add_pd(x, y)
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn sub_floats(x: Float, y: Float) -> Float {
    _mm512_sub_pd(x, y)
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn mul_floats(x: Float, y: Float) -> Float {
    _mm512_mul_pd(x, y)
}

/// `x·y + z`, rounded once.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn mul_add(x: Float, y: Float, z: Float) -> Float {
    _mm512_fmadd_pd(x, y, z)
}

/// `x·y − z`, rounded once.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn mul_sub(x: Float, y: Float, z: Float) -> Float {
    _mm512_fmsub_pd(x, y, z)
}

/// `z − x·y`, rounded once.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn sub_mul(x: Float, y: Float, z: Float) -> Float {
    _mm512_fnmadd_pd(x, y, z)
}

/// The nearest integers.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn nearest(x: Float) -> Float {
    _mm512_roundscale_pd::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(x)
}

/// Register constants of what lies between words and floats.
#[derive(Clone, Copy)]
pub(super) struct Rounding {
    /// 1.5·2^52: a number of up to 2^51 added to it is rounded to an integer.
    rounder: Float,
}

impl Rounding {
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn new() -> Self {
        Self { rounder: splat_float(1.5 * (1u64 << 52) as f64) }
    }

    /// Words of up to 2^53 as floats.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq")]
    pub(super) fn float(self, x: V) -> Float {
        _mm512_cvtepu64_pd(x)
    }

    /// Signed words of up to 2^53 in magnitude as floats.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq")]
    pub(super) fn float_signed(self, x: V) -> Float {
        _mm512_cvtepi64_pd(x)
    }

    /// Integers as signed words.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq")]
    pub(super) fn word(self, x: Float) -> V {
        _mm512_cvtpd_epi64(x)
    }

    /// The integers nearest to `x·y`, which is up to 2^51 in magnitude, by one rounding.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn of_small_product(self, x: Float, y: Float) -> Float {
        _mm512_sub_pd(_mm512_fmadd_pd(x, y, self.rounder), self.rounder)
    }

    /// The integers nearest to `x·y`, for a quotient y of a factor and x of up to [`OPERANDS`] in magnitude.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn of_product(self, x: Float, y: Float) -> Float {
        // An explicit rounding is two instructions of the multiplier beside the product, where these are two in all.
        self.of_small_product(x, y)
    }
}

/// Transposes eight rows of eight words.
#[inline]
#[target_feature(enable = "avx512f")]
pub(in crate::kernels) fn transpose(r: [V; 8]) -> [V; 8] {
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
pub(crate) fn peak_fma(_token: Token, rounds: u64) -> u64 {
    #[expect(unsafe_code, reason = "calls into code for one instruction set")]
    // SAFETY: a token proves AVX-512F and DQ.
    unsafe {
        peak_fma_loop(rounds)
    }
}

#[target_feature(enable = "avx512f,avx512dq")]
fn peak_fma_loop(rounds: u64) -> u64 {
    let mut sums = [floats(zero()); 16];
    let (a, b) = (splat_float(f64::from_bits(1f64.to_bits() | rounds)), splat_float(1.0));
    for _ in 0..rounds {
        for sum in &mut sums {
            *sum = mul_add(a, b, *sum);
        }
    }
    let total = sums.into_iter().fold(zero(), |t, s| add(t, bits(s)));
    let mut line = Line::default();
    store(&mut line, 0, total);
    line.0[0]
}
