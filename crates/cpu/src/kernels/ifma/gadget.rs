//! Sums of products over the digits of a gadget: halves of 52 bits summed lazily, one reduction at the end.

use super::{
    table::{Factor, factor},
    vector::{MASK, V, add, and, high, inverse_of_word, load, low, product, reduce_once, splat, store, sub, zero},
};
use crate::{kernels::limb::Term, layout::Line};
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

/// `out_h = Σ digit·key_h`, or `(Σ digit·key_h − out_h)·c`: see [`crate::kernels::LimbKernels::inner_products`].
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn inner_products(modulus: Modulus, out: [&mut [Line]; 2], terms: &[Term<'_>], divide: Option<u64>) {
    let unit = modulus.reduce(1 << 52);
    let k = Reduction::new(modulus.value(), factor(modulus, divide.map_or(unit, |c| modulus.mul(unit, c))));
    match (divide.is_some(), terms.len() <= CHUNK) {
        (false, true) => sums::<false, true>(k, out, terms),
        (false, false) => sums::<false, false>(k, out, terms),
        (true, true) => sums::<true, true>(k, out, terms),
        (true, false) => sums::<true, false>(k, out, terms),
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn sums<const DIVIDE: bool, const FEW: bool>(k: Reduction, [out_b, out_a]: [&mut [Line]; 2], terms: &[Term<'_>]) {
    let twice = add(k.q, k.q);
    for (i, (out_b, out_a)) in out_b.iter_mut().zip(out_a).enumerate() {
        // A remainder is taken off in the low half, which has twelve bits to spare.
        let start = |out: &Line| if DIVIDE { sub(k.q, load(out)) } else { zero() };
        let (mut lows, mut highs) = ([start(out_b), start(out_a)], [zero(); 2]);
        for chunk in terms.chunks(CHUNK) {
            for term in chunk {
                let (digit, b, a) = (load(&term.digit[i]), load(&term.key[0][i]), load(&term.key[1][i]));
                (lows[0], highs[0]) = (low(lows[0], digit, b), high(highs[0], digit, b));
                (lows[1], highs[1]) = (low(lows[1], digit, a), high(highs[1], digit, a));
            }
            if !FEW {
                highs = [reduce_once(highs[0], twice), reduce_once(highs[1], twice)];
            }
        }
        store(out_b, k.finish(lows[0], highs[0]));
        store(out_a, k.finish(lows[1], highs[1]));
    }
}
