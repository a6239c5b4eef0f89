//! A step of a blind rotation with everything round the transforms inside their passes, for N = 1024 and 2048.
//!
//! Three sweeps: rotation, difference and digits in the first pass of the forward transforms; then, for each tile of 128
//! words, the other passes of all digits, the product with the key and the first passes of the inverse transforms; last the
//! inverse pass that adds to the accumulator. A digit is written once and read once between, a sum as well, and no
//! transform is reduced before it is multiplied.
//!
//! The product leaves 2^−52 times the sum, which the last pass takes back with 1/N. Range of a sum: each high half is below
//! q, pairs of them are brought below 2q, and Montgomery's step adds q and less than one a row: below 4q.

use super::{
    forward::{self, Constants, DigitSource, Digits, Forward, digits8, digits16},
    inverse::{self, Inverse, SUMMED, adding8, adding16},
    table::Twiddles,
    vector::{V, add, ask, high, inverse_of_word, load, low, reduce_once, splat, store, sub, zero},
};
use crate::{
    kernels::{
        blind::{Scratch, Step},
        limb::Ahead,
    },
    layout::Line,
};
use limbwise_math::modulus::Modulus;
use std::{arch::x86_64::_mm512_srli_epi64, ops::Deref};

/// Whether rings of this degree go this way.
pub(super) fn serves(log_n: u32) -> bool {
    matches!(log_n, 10 | 11)
}

/// Writes the line behind an accumulator: its first one, negated.
pub(super) fn close(q: Modulus, acc: &mut [Line]) {
    let (behind, limb) = acc.split_last_mut().expect("a limb and a line");
    behind.0 = limb[0].0.map(|x| q.neg(x));
}

/// Register constants of the product with the key.
#[derive(Clone, Copy)]
struct Product {
    q: V,
    twice: V,
    /// q^{-1} modulo 2^52.
    inverse: V,
}

impl Product {
    /// 2^−52·Σ digit·key for each line of a tile and the components from `component` on, in [0, 4q).
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn tile<D: Deref<Target = [Line]>>(
        self,
        s: &Step<'_>,
        component: usize,
        digits: &[D],
        sums: &mut [&mut [Line]],
        first: usize,
    ) {
        match (digits.len(), sums.len()) {
            (2, 2) => self.known_tile::<2, 2, D>(s, component, digits, sums, first),
            (2, 1) => self.known_tile::<2, 1, D>(s, component, digits, sums, first),
            (4, 2) => self.known_tile::<4, 2, D>(s, component, digits, sums, first),
            (4, 1) => self.known_tile::<4, 1, D>(s, component, digits, sums, first),
            (6, 2) => self.known_tile::<6, 2, D>(s, component, digits, sums, first),
            (6, 1) => self.known_tile::<6, 1, D>(s, component, digits, sums, first),
            (3, 3) => self.known_tile::<3, 3, D>(s, component, digits, sums, first),
            (3, 1) => self.known_tile::<3, 1, D>(s, component, digits, sums, first),
            _ => self.any_tile(s, component, digits, sums, first),
        }
    }

    /// The sums of C components from R rows. The number of both being known, sums stay in registers and a digit is loaded
    /// once for all components.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn known_tile<const R: usize, const C: usize, D: Deref<Target = [Line]>>(
        self,
        s: &Step<'_>,
        component: usize,
        digits: &[D],
        sums: &mut [&mut [Line]],
        first: usize,
    ) {
        let components = s.key.len() / R;
        let digits: [&[Line; 16]; R] = std::array::from_fn(|r| sixteen(&digits[r], first));
        let keys: [[&[Line; 16]; C]; R] =
            std::array::from_fn(|r| std::array::from_fn(|c| sixteen(s.key[components * r + component + c], first)));
        for line in 0..16 {
            let (mut lows, mut highs) = ([zero(); C], [zero(); C]);
            for r in 0..R {
                let digit = load(&digits[r][line]);
                for c in 0..C {
                    let key = load(&keys[r][c][line]);
                    (lows[c], highs[c]) = (low(lows[c], digit, key), high(highs[c], digit, key));
                    if r % 2 == 1 && r > 1 {
                        highs[c] = reduce_once(highs[c], self.twice);
                    }
                }
            }
            for c in 0..C {
                store(&mut sums[c][first + line], self.end(lows[c], highs[c]));
            }
        }
    }

    /// The sums for any number of digits and components, one line and component at a time.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn any_tile<D: Deref<Target = [Line]>>(
        self,
        s: &Step<'_>,
        component: usize,
        digits: &[D],
        sums: &mut [&mut [Line]],
        first: usize,
    ) {
        let components = s.key.len() / digits.len();
        for (c, sum) in (component..).zip(sums) {
            for line in first..first + 16 {
                let (mut lows, mut highs) = (zero(), zero());
                for (r, digit) in digits.iter().enumerate() {
                    let (digit, key) = (load(&digit[line]), load(&s.key[components * r + c][line]));
                    (lows, highs) = (low(lows, digit, key), high(highs, digit, key));
                    if r % 2 == 1 && r > 1 {
                        highs = reduce_once(highs, self.twice);
                    }
                }
                store(&mut sum[line], self.end(lows, highs));
            }
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn end(self, lows: V, highs: V) -> V {
        let m = low(zero(), lows, self.inverse);
        sub(add(add(highs, self.q), _mm512_srli_epi64::<52>(lows)), high(zero(), m, self.q))
    }
}

/// The sixteen lines of a tile.
#[inline]
fn sixteen(limb: &[Line], first: usize) -> &[Line; 16] {
    limb[first..].first_chunk().expect("a tile has sixteen lines")
}

/// Register constants of a step.
#[derive(Clone, Copy)]
struct Registers<const KIND: u32> {
    forward: Forward,
    digits: Digits,
    inverse: Inverse,
    product: Product,
}

impl<const KIND: u32> Registers<KIND> {
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn new(s: &Step<'_>, constants: &Constants) -> Self {
        let q = s.modulus.value();
        Self {
            forward: Forward::new(constants),
            digits: Digits::new(KIND, s.modulus, s.gadget),
            inverse: Inverse::new(KIND, s.modulus),
            product: Product { q: splat(q), twice: splat(2 * q), inverse: splat(inverse_of_word(q)) },
        }
    }

    /// The first sweep for one component: rotation, difference, digits and the first pass of their transforms.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn first(
        self,
        s: &Step<'_>,
        source: DigitSource<'_>,
        forward: &Twiddles,
        digits: &mut [&mut [Line]],
        next: &mut Ahead<'_>,
    ) {
        let (k, d) = (self.forward, self.digits);
        match (s.log_n, digits.len()) {
            (10, 1) => digits8::<KIND, true>(k, d, source, digits, &forward.first, next),
            (10, _) => digits8::<KIND, false>(k, d, source, digits, &forward.first, next),
            (_, 1) => digits16::<KIND, true>(k, d, source, digits, &forward.first, next),
            _ => digits16::<KIND, false>(k, d, source, digits, &forward.first, next),
        }
    }

    /// The last sweep for one component: the last pass of its inverse transform, onto the accumulator.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn last(self, s: &Step<'_>, inverse: &Twiddles, acc: &mut [Line], sum: &[Line], next: &mut Ahead<'_>) {
        match s.log_n {
            10 => adding8::<KIND>(self.inverse, acc, sum, &inverse.summed, next),
            _ => adding16::<KIND>(self.inverse, acc, sum, &inverse.summed, next),
        }
        close(s.modulus, acc);
    }
}

/// See [`crate::kernels::LimbKernels::blind_step`].
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn step<const KIND: u32>(
    s: &Step<'_>,
    constants: &Constants,
    [forward, inverse]: [&Twiddles; 2],
    acc: &mut [&mut [Line]],
    scratch: &mut Scratch<'_>,
) {
    let (components, levels, tiles) = (acc.len(), s.gadget.levels() as usize, 1 << (s.log_n - 7));
    let mut next = s.next.ahead(2 * 16 * components + tiles * scratch.digits.len());
    let k = Registers::<KIND>::new(s, constants);
    let weights: [u64; 64] = weights(s);
    for (acc, digits) in acc.iter().zip(scratch.digits.chunks_exact_mut(levels)) {
        k.first(s, source(s, acc, &weights), forward, digits, &mut next);
    }
    // Three tiles are under way at a time, so that neighbors in the code do not wait for each other: the processor looks
    // ahead by half a tile, and a tile alone waits for its own latencies (ADR 216).
    let lines = |tile: usize| 16 * tile..16 * (tile + 1);
    for entering in 0..tiles + 2 {
        let multiplied = entering.checked_sub(1).filter(|&tile| tile < tiles);
        if let Some(tile) = multiplied {
            for digit in &mut scratch.digits {
                ask(&mut next);
                forward::lower_tile::<KIND>(k.forward, &mut digit[lines(tile)], &forward.tiles[tile]);
            }
        }
        if entering < tiles {
            for digit in &mut scratch.digits {
                forward::upper_tile::<KIND>(k.forward, &mut digit[lines(entering)], &forward.tiles[entering]);
            }
        }
        if let Some(tile) = multiplied {
            k.product.tile(s, 0, &scratch.digits, &mut scratch.sums, 16 * tile);
        }
        if let Some(tile) = entering.checked_sub(2) {
            for sum in &mut scratch.sums {
                inverse::upper_tile::<KIND>(k.inverse, &mut sum[lines(tile)], &inverse.tiles[tile]);
            }
        }
        if let Some(tile) = multiplied {
            for sum in &mut scratch.sums {
                inverse::lower_tile::<KIND, SUMMED>(k.inverse, &mut sum[lines(tile)], &inverse.tiles[tile]);
            }
        }
    }
    for (acc, sum) in acc.iter_mut().zip(&scratch.sums) {
        k.last(s, inverse, acc, sum, &mut next);
    }
}

/// See [`crate::kernels::LimbKernels::blind_digits`].
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn digits<const KIND: u32>(
    s: &Step<'_>,
    constants: &Constants,
    forward: &Twiddles,
    acc: &[Line],
    digits: &mut [&mut [Line]],
) {
    let mut next = s.next.ahead(16 + (digits.len() << (s.log_n - 7)));
    let k = Registers::<KIND>::new(s, constants);
    k.first(s, source(s, acc, &weights(s)), forward, digits, &mut next);
    for digit in digits {
        for (tile, factors) in digit.chunks_exact_mut(16).zip(&forward.tiles) {
            ask(&mut next);
            forward::upper_tile::<KIND>(k.forward, tile, factors);
            forward::lower_tile::<KIND>(k.forward, tile, factors);
        }
    }
}

/// See [`crate::kernels::LimbKernels::blind_sum`].
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn sum<const KIND: u32>(
    s: &Step<'_>,
    constants: &Constants,
    inverse: &Twiddles,
    component: usize,
    digits: &[&[Line]],
    (sum, acc): (&mut [Line], &mut [Line]),
) {
    let mut next = s.next.ahead(16 + (1 << (s.log_n - 7)));
    let k = Registers::<KIND>::new(s, constants);
    for (t, factors) in inverse.tiles.iter().enumerate() {
        ask(&mut next);
        k.product.tile(s, component, digits, &mut [&mut *sum], 16 * t);
        inverse::lower_tile::<KIND, SUMMED>(k.inverse, &mut sum[16 * t..16 * (t + 1)], factors);
        inverse::upper_tile::<KIND>(k.inverse, &mut sum[16 * t..16 * (t + 1)], factors);
    }
    k.last(s, inverse, acc, sum, &mut next);
}

/// Where the digits of a component come from.
fn source<'a>(s: &Step<'_>, acc: &'a [Line], weights: &'a [u64; 64]) -> DigitSource<'a> {
    let start = ((2usize << s.log_n) - usize::try_from(s.exponent).expect("below 2N")) % (2 << s.log_n);
    DigitSource { a: acc, start, weights: &weights[..s.gadget.levels() as usize] }
}

/// log₂ of the factor of each digit.
fn weights(s: &Step<'_>) -> [u64; 64] {
    let mut all = [0; 64];
    all.iter_mut().zip(s.gadget.log_factors()).for_each(|(weight, factor)| *weight = factor.into());
    all
}
