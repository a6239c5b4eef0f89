//! Four words or floats at a time: loads, stores, transposition, sums modulo q, and what [`floats`](crate::kernels::floats)
//! asks of an instruction set.

use super::Token;
use crate::{
    kernels::{gadget::Wrapping, limb::Ahead},
    layout::Line,
};
use std::arch::x86_64::{
    __m128i, __m256d, __m256i, _MM_FROUND_NO_EXC, _MM_FROUND_TO_NEAREST_INT, _MM_HINT_T0, _MM_HINT_T1, _mm_prefetch,
    _mm256_add_epi64, _mm256_add_pd, _mm256_and_si256, _mm256_blendv_pd, _mm256_castpd_si256, _mm256_castsi256_pd,
    _mm256_cmpgt_epi64, _mm256_fmadd_pd, _mm256_fmsub_pd, _mm256_fnmadd_pd, _mm256_load_si256, _mm256_loadu_si256,
    _mm256_mul_pd, _mm256_or_pd, _mm256_permute2x128_si256, _mm256_round_pd, _mm256_set1_epi64x, _mm256_set1_pd,
    _mm256_sllv_epi64, _mm256_srl_epi64, _mm256_srlv_epi64, _mm256_store_si256, _mm256_sub_epi64, _mm256_sub_pd,
    _mm256_unpackhi_epi64, _mm256_unpacklo_epi64,
};

/// A vector of four words.
pub(super) type V = __m256i;

/// Four floats.
pub(super) type Float = __m256d;

/// Words of a vector.
pub(super) const LANES: usize = 4;

/// Vectors of a line.
pub(super) const HALVES: usize = 2;

/// Largest factor's operand: the integers up to it are floats, and [`Rounding::of_product`] takes any quotient of one.
pub(super) const OPERANDS: f64 = (1u64 << 53) as f64;

/// Largest number of targets of one sweep of a conversion: they take six registers of sixteen.
pub(super) const SWEEP: usize = 3;

/// Vectors of each target that such a sweep sums together, by the number of targets less one.
pub(super) const TOGETHER: [usize; 4] = [2, 2, 1, 1];

/// The line of a vector by its number in a limb, and which of the line's vectors it is.
#[inline]
pub(super) fn place(at: usize) -> (usize, usize) {
    (at / HALVES, at % HALVES)
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn load(line: &Line, half: usize) -> V {
    let words = &line.0.as_chunks::<LANES>().0[half];
    #[expect(unsafe_code, reason = "the intrinsic takes a pointer")]
    // SAFETY: half a line is 32 readable bytes, aligned to 32.
    unsafe {
        _mm256_load_si256(words.as_ptr().cast())
    }
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn store(line: &mut Line, half: usize, x: V) {
    let words = &mut line.0.as_chunks_mut::<LANES>().0[half];
    #[expect(unsafe_code, reason = "the intrinsic takes a pointer")]
    // SAFETY: half a line is 32 writable bytes, aligned to 32.
    unsafe {
        _mm256_store_si256(words.as_mut_ptr().cast(), x);
    }
}

/// Four words of a limb from one on, wherever they lie.
///
/// # Panics
/// If the limb ends before.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn load_at(limb: &[Line], word: usize) -> V {
    assert!(word + LANES <= 8 * limb.len(), "words of the limb");
    #[expect(unsafe_code, clippy::multiple_unsafe_ops_per_block, reason = "the intrinsic takes a pointer")]
    // SAFETY: the words are inside the limb, which is an array of words.
    unsafe {
        _mm256_loadu_si256(limb.as_ptr().cast::<u64>().add(word).cast())
    }
}

/// Lines between what is computed and what is asked for, where several limbs are read side by side.
pub(super) const AHEAD: usize = 8;

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
#[target_feature(enable = "avx2")]
pub(super) fn splat(x: u64) -> V {
    _mm256_set1_epi64x(x.cast_signed())
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn zero() -> V {
    splat(0)
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn add(x: V, y: V) -> V {
    _mm256_add_epi64(x, y)
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn sub(x: V, y: V) -> V {
    _mm256_sub_epi64(x, y)
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn and(x: V, y: V) -> V {
    _mm256_and_si256(x, y)
}

/// `y` where x > than, else 0; both below 2^63.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn where_greater(x: V, than: V, y: V) -> V {
    and(_mm256_cmpgt_epi64(x, than), y)
}

/// Shifts each word by a number of its own.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn left(x: V, by: V) -> V {
    _mm256_sllv_epi64(x, by)
}

/// Shifts each word by a number of its own.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn right(x: V, by: V) -> V {
    _mm256_srlv_epi64(x, by)
}

/// Shifts all words by one number.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn right_by(x: V, count: __m128i) -> V {
    _mm256_srl_epi64(x, count)
}

/// The bits of floats.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn bits(x: Float) -> V {
    _mm256_castpd_si256(x)
}

/// The floats of bits.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn floats(x: V) -> Float {
    _mm256_castsi256_pd(x)
}

/// The same float in every lane.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn splat_float(x: f64) -> Float {
    _mm256_set1_pd(x)
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn add_floats(x: Float, y: Float) -> Float {
    _mm256_add_pd(x, y)
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn sub_floats(x: Float, y: Float) -> Float {
    _mm256_sub_pd(x, y)
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn mul_floats(x: Float, y: Float) -> Float {
    _mm256_mul_pd(x, y)
}

/// `x·y + z`, rounded once.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn mul_add(x: Float, y: Float, z: Float) -> Float {
    _mm256_fmadd_pd(x, y, z)
}

/// `x·y − z`, rounded once.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn mul_sub(x: Float, y: Float, z: Float) -> Float {
    _mm256_fmsub_pd(x, y, z)
}

/// `z − x·y`, rounded once.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) fn sub_mul(x: Float, y: Float, z: Float) -> Float {
    _mm256_fnmadd_pd(x, y, z)
}

/// The nearest integers.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn nearest(x: Float) -> Float {
    _mm256_round_pd::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(x)
}

/// Register constants of what lies between words and floats.
#[derive(Clone, Copy)]
pub(super) struct Rounding {
    /// 1.5·2^52: a number of up to 2^51 added to it is rounded to an integer, which then stands in its low bits.
    rounder: Float,
    /// 2^52: or-ing a smaller integer into its bits adds it.
    two_52: Float,
}

impl Rounding {
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn new() -> Self {
        const TWO_52: f64 = (1u64 << 52) as f64;
        Self { rounder: splat_float(1.5 * TWO_52), two_52: splat_float(TWO_52) }
    }

    /// Words below 2^52 as floats.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn float(self, x: V) -> Float {
        _mm256_sub_pd(_mm256_or_pd(floats(x), self.two_52), self.two_52)
    }

    /// Signed words of up to 2^51 in magnitude as floats.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn float_signed(self, x: V) -> Float {
        _mm256_sub_pd(floats(add(x, bits(self.rounder))), self.rounder)
    }

    /// Integers of up to 2^51 in magnitude as signed words.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn word(self, x: Float) -> V {
        sub(bits(_mm256_add_pd(x, self.rounder)), bits(self.rounder))
    }

    /// The integers nearest to `x·y`, which is up to 2^51 in magnitude, by one rounding.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn of_small_product(self, x: Float, y: Float) -> Float {
        _mm256_sub_pd(_mm256_fmadd_pd(x, y, self.rounder), self.rounder)
    }

    /// The integers nearest to `x·y`, rounded, for a quotient y of a factor and x of up to [`OPERANDS`] in magnitude.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn of_product(self, x: Float, y: Float) -> Float {
        // An explicit rounding needs no copy of a constant to add to: cores are bound by what they dispatch.
        nearest(_mm256_mul_pd(x, y))
    }
}

/// `x` where the sign of `by` is clear, else `y`.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn unless_negative(by: V, x: V, y: V) -> V {
    let [x, y, by] = [_mm256_castsi256_pd(x), _mm256_castsi256_pd(y), _mm256_castsi256_pd(by)];
    _mm256_castpd_si256(_mm256_blendv_pd(x, y, by))
}

/// `x` or `x − m`, whichever is in [0, m): [0, 2m) → [0, m), m up to 2^63.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn reduce_once(x: V, m: V) -> V {
    let less = _mm256_sub_epi64(x, m);
    unless_negative(less, less, x)
}

/// `x`, or `x + q` where x is negative: (−q, q) → [0, q).
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn lift_once(x: V, q: V) -> V {
    unless_negative(x, x, _mm256_add_epi64(x, q))
}

/// Transposes four rows of four words.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn transpose([a, b, c, d]: [V; 4]) -> [V; 4] {
    let (ab0, ab1) = (_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
    let (cd0, cd1) = (_mm256_unpacklo_epi64(c, d), _mm256_unpackhi_epi64(c, d));
    [
        _mm256_permute2x128_si256::<0x20>(ab0, cd0),
        _mm256_permute2x128_si256::<0x20>(ab1, cd1),
        _mm256_permute2x128_si256::<0x31>(ab0, cd0),
        _mm256_permute2x128_si256::<0x31>(ab1, cd1),
    ]
}

/// [`crate::kernels::gadget::wrapping_sums`] in vectors of 256 bits.
pub(crate) fn wrapping_sums<W: Wrapping>(_token: Token, sums: &mut [W], factors: &[W], rows: &[&[W]]) {
    #[expect(unsafe_code, reason = "calls into code for one instruction set")]
    // SAFETY: a token proves AVX2.
    unsafe {
        wrapping_sums_loop(sums, factors, rows);
    }
}

#[target_feature(enable = "avx2")]
fn wrapping_sums_loop<W: Wrapping>(sums: &mut [W], factors: &[W], rows: &[&[W]]) {
    crate::kernels::gadget::wrapping_sums(sums, factors, rows);
}

/// Runs `12·rounds` multiply-adds with nothing in their way: the rate of this CPU, for limits printed beside times.
#[must_use]
pub(crate) fn peak_fma(_token: Token, rounds: u64) -> u64 {
    #[expect(unsafe_code, reason = "calls into code for one instruction set")]
    // SAFETY: a token proves AVX2 and FMA.
    unsafe {
        peak_fma_loop(rounds)
    }
}

#[target_feature(enable = "avx2,fma")]
fn peak_fma_loop(rounds: u64) -> u64 {
    let mut sums = [_mm256_castsi256_pd(splat(0)); 12];
    let (a, b) = (_mm256_castsi256_pd(splat(1f64.to_bits() | rounds)), _mm256_castsi256_pd(splat(1f64.to_bits())));
    for _ in 0..rounds {
        for sum in &mut sums {
            *sum = _mm256_fmadd_pd(a, b, *sum);
        }
    }
    let total = sums.into_iter().fold(splat(0), |t, s| _mm256_add_epi64(t, _mm256_castpd_si256(s)));
    let mut line = Line::default();
    store(&mut line, 0, total);
    line.0[0]
}
