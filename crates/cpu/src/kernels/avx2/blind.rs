//! A step of a blind rotation in floating point, for primes of up to 50 bits and rings of one block.
//!
//! Digits are made as floats, their transforms leave floats, the product with the key sums them exactly and leaves floats,
//! and only what the inverse transforms leave is brought to residues, which the accumulator takes. The key of the next step is
//! asked for meanwhile, a few lines at a time.

use super::{
    exact::{Exact, Room, Signs, Total},
    float::{self, Constants, Factor, Float, corrected, float, float_signed},
    vector::{HALVES, LANES, V, ask, lift_once, load, load_at, splat, store},
};
use crate::{
    kernels::{
        blind::{Scratch, Step},
        factors::Factors,
        limb::Ahead,
    },
    layout::{self, BLOCK, Line},
};
use limbwise_math::modulus::Modulus;
use std::arch::x86_64::{
    _mm_cvtsi64_si128, _mm256_add_epi64, _mm256_and_si256, _mm256_castpd_si256, _mm256_castsi256_pd, _mm256_srl_epi64,
    _mm256_sub_epi64,
};

/// How digits are multiplied with the key, modulo one prime.
pub(super) struct Blind {
    /// For digits as a raw forward transform leaves them, if that leaves room for any product.
    lazy: Option<Room>,
    /// For corrected digits.
    corrected: Room,
}

/// How digits are multiplied with the key.
#[derive(Clone, Copy)]
struct Product {
    e: Exact,
    /// Whether digits are corrected before: else their products leave no room for all rows.
    corrects: bool,
    /// Products between two reductions.
    terms: usize,
}

impl Blind {
    /// What a raw forward transform leaves is bounded by `ends`, in multiples of q.
    pub(super) fn new(q: u64, ends: f64) -> Self {
        let room = |y: f64| Room::new(q, y * q as f64 * q as f64, Signs::Both);
        Self { lazy: room(ends), corrected: room(0.5 + 1e-9).expect("a product of corrected values fits; tested") }
    }

    /// Whether rings of this degree go this way.
    pub(super) fn serves(log_n: u32) -> bool {
        1 << (log_n - 3) <= BLOCK
    }

    /// See [`crate::kernels::LimbKernels::blind_step`].
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn step(
        &self,
        s: &Step<'_>,
        tables: &[Factors<Factor>; 2],
        acc: &mut [&mut [Line]],
        scratch: &mut Scratch<'_>,
    ) {
        let length = layout::lines(s.log_n);
        let (components, levels) = (acc.len(), s.gadget.levels() as usize);
        let k = Constants::new(s.modulus);
        let calls = length * (components + 1);
        let mut next = Ahead::new(s.next.limbs, &s.next.lines, s.next.lines.len().div_ceil(calls));
        for (acc, digits) in acc.iter().zip(scratch.digits.chunks_exact_mut(levels)) {
            rotated_digits(k, s, digits, acc, &mut next);
        }
        for digit in &mut scratch.digits {
            float::forward::<true>(k, &tables[0], &mut digit[..length]);
        }
        let lazy = self.lazy.filter(|room| room.terms >= scratch.digits.len());
        let room = lazy.unwrap_or(self.corrected);
        let product = Product { e: Exact::new(k, room), corrects: lazy.is_none(), terms: room.terms };
        match (scratch.digits.len(), components) {
            (2, 2) => product.lines::<2, 2>(s, scratch, length, &mut next),
            (4, 2) => product.lines::<4, 2>(s, scratch, length, &mut next),
            (6, 2) => product.lines::<6, 2>(s, scratch, length, &mut next),
            (3, 3) => product.lines::<3, 3>(s, scratch, length, &mut next),
            _ => product.any(s, scratch, length),
        }
        for (acc, sum) in acc.iter_mut().zip(&mut scratch.sums) {
            float::inverse::<true>(k, &tables[1], None, &mut sum[..length]);
            add_onto(k, &mut acc[..length], &sum[..length]);
            close(s.modulus, acc);
        }
    }
}

/// Writes the line behind an accumulator: its first one, negated.
pub(super) fn close(q: Modulus, acc: &mut [Line]) {
    let (behind, limb) = acc.split_last_mut().expect("a limb and a line");
    behind.0 = limb[0].0.map(|x| q.neg(x));
}

/// The digits of `(X^e − 1)·a` as floats, a being a limb and its first line negated.
///
/// Word i of X^e·a is word i − e of a followed by −a, read in a circle. With C the gadget's constant, `x + C − q` is
/// brought to [0, q) from (−2q, q), and its plain digits less half the base are the digits.
#[target_feature(enable = "avx2,fma")]
fn rotated_digits(k: Constants, s: &Step<'_>, digits: &mut [&mut [Line]], a: &[Line], next: &mut Ahead<'_>) {
    let (q, n) = (s.modulus.value(), 1usize << s.log_n);
    let shift = s.gadget.shift();
    let (plain, negated) = (splat(shift.wrapping_sub(q)), splat(shift));
    let (mask, half_base) = (splat(s.gadget.base() - 1), splat(s.gadget.base() / 2));
    let start = 2 * n - usize::try_from(s.exponent).expect("below 2N");
    for line in 0..n / 8 {
        ask(next);
        for half in 0..HALVES {
            let at = (start + 8 * line + LANES * half) % (2 * n);
            let (moved, own) = (load_at(a, at % n), load(&a[line], half));
            let x = if at < n {
                _mm256_sub_epi64(_mm256_add_epi64(moved, plain), own)
            } else {
                _mm256_sub_epi64(_mm256_sub_epi64(negated, moved), own)
            };
            let x = lift_once(lift_once(x, k.word), k.word);
            for (digits, weight) in digits.iter_mut().zip(s.gadget.log_factors()) {
                let shifted = _mm256_srl_epi64(x, _mm_cvtsi64_si128(weight.into()));
                let digit = _mm256_sub_epi64(_mm256_and_si256(shifted, mask), half_base);
                store(&mut digits[line], half, _mm256_castpd_si256(float_signed(k, digit)));
            }
        }
    }
}

/// `acc += a`, both residues.
#[target_feature(enable = "avx2")]
fn add_onto(k: Constants, acc: &mut [Line], a: &[Line]) {
    for (acc, a) in acc.iter_mut().zip(a) {
        for half in 0..HALVES {
            let sum: V = _mm256_add_epi64(load(acc, half), _mm256_sub_epi64(load(a, half), k.word));
            store(acc, half, lift_once(sum, k.word));
        }
    }
}

impl Product {
    /// `Σ digit·key` for each of C components, at most q/2 and a little, from R rows. Their numbers being known, limbs are
    /// checked once, sums stay in registers, and a digit is loaded once for all components.
    #[target_feature(enable = "avx2,fma")]
    fn lines<const R: usize, const C: usize>(
        self,
        s: &Step<'_>,
        scratch: &mut Scratch<'_>,
        length: usize,
        next: &mut Ahead<'_>,
    ) {
        let digits: [&[Line]; R] = std::array::from_fn(|r| &scratch.digits[r][..length]);
        let keys: [[&[Line]; C]; R] = std::array::from_fn(|r| std::array::from_fn(|c| &s.key[C * r + c][..length]));
        let sums: &mut [&mut [Line]; C] = scratch.sums.first_chunk_mut().expect("a sum for each component");
        let sums = sums.each_mut().map(|sum| &mut sum[..length]);
        for line in 0..length {
            ask(next);
            for half in 0..HALVES {
                let mut totals: [Total; C] = [self.e.zero(); C];
                for r in 0..R {
                    if r > 0 && r % self.terms == 0 {
                        for total in &mut totals {
                            *total = self.e.onto(self.e.reduced(*total));
                        }
                    }
                    let y = self.digit(&digits[r][line], half);
                    for c in 0..C {
                        totals[c].add_product(y, float(self.e.k, load(&keys[r][c][line], half)));
                    }
                }
                for c in 0..C {
                    store(&mut sums[c][line], half, _mm256_castpd_si256(self.e.reduced(totals[c])));
                }
            }
        }
    }

    /// The product for any number of digits and components, one component at a time.
    #[target_feature(enable = "avx2,fma")]
    fn any(self, s: &Step<'_>, scratch: &mut Scratch<'_>, length: usize) {
        let components = scratch.sums.len();
        for (c, sum) in scratch.sums.iter_mut().enumerate() {
            for (line, sum) in sum[..length].iter_mut().enumerate() {
                for half in 0..HALVES {
                    let mut total = self.e.zero();
                    for (r, digit) in scratch.digits.iter().enumerate() {
                        if r > 0 && r % self.terms == 0 {
                            total = self.e.onto(self.e.reduced(total));
                        }
                        let key = float(self.e.k, load(&s.key[components * r + c][line], half));
                        total.add_product(self.digit(&digit[line], half), key);
                    }
                    store(sum, half, _mm256_castpd_si256(self.e.reduced(total)));
                }
            }
        }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn digit(self, line: &Line, half: usize) -> Float {
        let y = _mm256_castsi256_pd(load(line, half));
        if self.corrects { corrected(self.e.k, y) } else { y }
    }
}
