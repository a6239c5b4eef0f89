//! Sums of products of limbs: halves of 52 bits summed lazily, one reduction at the end.

use super::{
    table::{Factor, factor},
    vector::{MASK, V, add, and, high, inverse_of_word, load, low, product, reduce_once, splat, store, sub, zero},
};
use crate::{
    kernels::sums::{End, Sum},
    layout::Line,
};
use limbwise_math::modulus::Modulus;
use std::arch::x86_64::_mm512_srli_epi64;

/// Products whose high halves add up to less than 2q: each is below q²/2^52 < q/4.
const CHUNK: usize = 8;

/// What the reduction keeps in registers.
#[derive(Clone, Copy)]
struct Reduction {
    q: V,
    /// q^{-1} modulo 2^52.
    inverse: V,
    /// 2^52 − q.
    negative: V,
    mask: V,
    factor: (V, V),
}

impl Reduction {
    /// The reduction multiplies by 2^−52·`factor`.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new(q: u64, factor: Factor) -> Self {
        Self {
            q: splat(q),
            inverse: splat(inverse_of_word(q)),
            negative: splat((1 << 52) - q),
            mask: splat(MASK),
            factor: (splat(factor.value), splat(factor.quotient)),
        }
    }

    /// `(highs·2^52 + lows)·2^−52·factor` in [0, q), for highs in [0, 2q): Montgomery's step leaves (0, 3q + 2^12),
    /// which is below 2^52, and Shoup's product takes any such word.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn finish(self, lows: V, highs: V) -> V {
        let m = low(zero(), lows, self.inverse);
        let r = sub(add(add(highs, self.q), _mm512_srli_epi64::<52>(lows)), high(zero(), m, self.q));
        reduce_once(and(product(zero(), r, self.factor, self.negative), self.mask), self.q)
    }
}

/// See [`crate::kernels::LimbKernels::inner_products`].
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn inner_products<const H: usize>(modulus: Modulus, out: [&mut [Line]; H], sum: &Sum<'_, H>) {
    let unit = modulus.reduce(1 << 52);
    let inverse = if let End::Divide(c) = sum.end { modulus.mul(unit, c) } else { unit };
    let k = Reduction::new(modulus.value(), factor(modulus, inverse));
    let few = sum.terms.len() + usize::from(sum.onto.is_some()) <= CHUNK;
    match (sum.end, few) {
        (End::Set, true) => limbs::<H, SET, true>(k, out, sum),
        (End::Set, false) => limbs::<H, SET, false>(k, out, sum),
        (End::Add, true) => limbs::<H, ADD, true>(k, out, sum),
        (End::Add, false) => limbs::<H, ADD, false>(k, out, sum),
        (End::Divide(_), true) => limbs::<H, DIVIDE, true>(k, out, sum),
        (End::Divide(_), false) => limbs::<H, DIVIDE, false>(k, out, sum),
    }
}

/// [`End`] without its constant.
const SET: u8 = 0;
const ADD: u8 = 1;
const DIVIDE: u8 = 2;

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn limbs<const H: usize, const END: u8, const FEW: bool>(k: Reduction, mut out: [&mut [Line]; H], sum: &Sum<'_, H>) {
    let length = out[0].len();
    let times = splat(sum.onto.map_or(0, |onto| onto.times));
    let pairs = length / 2 * 2;
    for first in (0..pairs).step_by(2) {
        block::<H, 2, END, FEW>(k, &mut out, (sum, times), first);
    }
    for first in pairs..length {
        block::<H, 1, END, FEW>(k, &mut out, (sum, times), first);
    }
}

/// L lines of each sum.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn block<const H: usize, const L: usize, const END: u8, const FEW: bool>(
    k: Reduction,
    out: &mut [&mut [Line]; H],
    (sum, times): (&Sum<'_, H>, V),
    first: usize,
) {
    let (mut lows, mut highs) = ([[zero(); L]; H], [[zero(); L]; H]);
    for h in 0..H {
        let old: &[Line; L] = out[h][first..].first_chunk().expect("lines of the limb");
        let onto = sum.onto.and_then(|onto| onto.limbs[h]);
        let onto: Option<&[Line; L]> = onto.map(|limb| limb[first..].first_chunk().expect("lines of the limb"));
        for l in 0..L {
            // What was there is taken up by the low half, which has twelve bits to spare.
            lows[h][l] = match END {
                ADD => load(&old[l]),
                DIVIDE => sub(k.q, load(&old[l])),
                _ => zero(),
            };
            if let Some(onto) = onto {
                let x = load(&onto[l]);
                (lows[h][l], highs[h][l]) = (low(lows[h][l], x, times), high(zero(), x, times));
            }
        }
    }
    for chunk in sum.terms.chunks(CHUNK) {
        for term in chunk {
            let factor: &[Line; L] = term.factor[first..].first_chunk().expect("lines of the limb");
            for h in 0..H {
                let with: &[Line; L] = term.with[h][first..].first_chunk().expect("lines of the limb");
                for l in 0..L {
                    let (x, y) = (load(&factor[l]), load(&with[l]));
                    (lows[h][l], highs[h][l]) = (low(lows[h][l], x, y), high(highs[h][l], x, y));
                }
            }
        }
        if !FEW {
            let twice = add(k.q, k.q);
            for high in highs.iter_mut().flatten() {
                *high = reduce_once(*high, twice);
            }
        }
    }
    for h in 0..H {
        let to: &mut [Line; L] = out[h][first..].first_chunk_mut().expect("lines of the limb");
        for l in 0..L {
            store(&mut to[l], k.finish(lows[h][l], highs[h][l]));
        }
    }
}
