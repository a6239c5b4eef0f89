//! Arithmetic for [`PrimeClass::Short`](limbwise_math::prime_class::PrimeClass) in floating point: these instruction sets
//! have no wide product of 64-bit words, but a multiply-add of 53 bits.
//!
//! Inside a transform a word is an `f64` that holds an integer, a representative of its residue of either sign. A product
//! y·w is h + l exactly, l being what rounding h left; with c the integer next to h/q, h − c·q and its sum with l are
//! integers below 2^53, hence exact. c comes from y and w/q by at most three roundings and one to an integer, so it errs by
//! at most ½ + 3·|y·w/q|·2^−53 and a little, and for |w| ≤ q/2 the product is within `½·q + 3·|y|·q·2^−54`. [`fixes`]
//! follows these bounds from pass to pass.

use crate::kernels::factors::shape;
use limbwise_math::modulus::Modulus;

/// Makes the arithmetic of a vector unit in scope: `Constants`, products, and the transforms of
/// [`passes`](crate::kernels::passes).
macro_rules! arithmetic {
    ($features:tt) => {
        use super::vector::{
            Float, HALVES, LANES, Rounding, V, add_floats, bits, floats, lift_once, load, mul_floats, mul_sub, splat,
            splat_float, store, sub, sub_floats, sub_mul, transpose, zero,
        };
        use crate::{
            kernels::{
                factors::{Factors, LaneFactors, Pass},
                passes::{Rows, quarters, transforms},
            },
            layout::{BLOCK, Line, PADDED, STRIP, blocks_mut},
        };
        use limbwise_math::modulus::Modulus;
        use std::ops::Range;

        pub(super) type Factor = f64;

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
            rounding: Rounding,
            /// q as a word.
            pub(super) word: V,
        }

        impl Constants {
            #[target_feature(enable = $features)]
            pub(super) fn new(q: Modulus) -> Self {
                let float = q.value() as f64;
                Self {
                    q: splat_float(float),
                    inverse: splat_float(1.0 / float),
                    rounding: Rounding::new(),
                    word: splat(q.value()),
                }
            }
        }

        /// A factor of residue w: its representative in (−q/2, q/2].
        pub(super) fn factor(q: Modulus, w: u64) -> Factor {
            q.centered(w) as f64
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn wide(k: Constants, w: &Factor) -> Wide {
            scaled_by(k, splat_float(*w))
        }

        /// A factor for products.
        #[inline]
        #[target_feature(enable = $features)]
        pub(super) fn scaled_by(k: Constants, value: Float) -> Wide {
            Wide { value, quotient: mul_floats(value, k.inverse) }
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn lane_factor(lanes: &LaneFactors, half: usize) -> Wide {
            Wide { value: floats(load(&lanes[0], half)), quotient: floats(load(&lanes[1], half)) }
        }

        /// A word below 2^52 as a float.
        #[inline]
        #[target_feature(enable = $features)]
        fn enter(k: Constants, x: V) -> V {
            bits(float(k, x))
        }

        /// A word below 2^52 as a float, in a register for floats.
        #[inline]
        #[target_feature(enable = $features)]
        pub(super) fn float(k: Constants, x: V) -> Float {
            k.rounding.float(x)
        }

        /// A signed word of up to 51 bits and its sign as a float.
        #[inline]
        #[target_feature(enable = $features)]
        pub(super) fn float_signed(k: Constants, x: V) -> Float {
            k.rounding.float_signed(x)
        }

        /// A float of residue x as its residue. Range: |x| ≤ 2^53 → [0, q).
        #[inline]
        #[target_feature(enable = $features)]
        fn leave(k: Constants, x: V) -> V {
            to_residue(k, floats(correct(k, x)))
        }

        /// Range: (−q, q) → [0, q).
        #[inline]
        #[target_feature(enable = $features)]
        pub(super) fn to_residue(k: Constants, x: Float) -> V {
            lift_once(k.rounding.word(x), k.word)
        }

        /// Range: any → q/2 and less than one on either side of zero.
        #[inline]
        #[target_feature(enable = $features)]
        fn correct(k: Constants, x: V) -> V {
            bits(corrected(k, floats(x)))
        }

        /// Range: |x| ≤ 2^53 → q/2 and less than one on either side of zero.
        #[inline]
        #[target_feature(enable = $features)]
        pub(super) fn corrected(k: Constants, x: Float) -> Float {
            let c = k.rounding.of_small_product(x, k.inverse);
            sub_mul(c, k.q, x)
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn correct_sum(k: Constants, x: V) -> V {
            correct(k, x)
        }

        /// `a·b` of two integers modulo q.
        #[inline]
        #[target_feature(enable = $features)]
        fn product_of_floats(k: Constants, a: Float, b: Float) -> Float {
            let h = mul_floats(a, b);
            let l = mul_sub(a, b, h);
            let c = k.rounding.of_small_product(h, k.inverse);
            add_floats(sub_mul(c, k.q, h), l)
        }

        /// `y·w` modulo q.
        #[inline]
        #[target_feature(enable = $features)]
        pub(super) fn scaled(k: Constants, y: Float, w: Wide) -> Float {
            let c = k.rounding.of_product(y, w.quotient);
            let h = mul_floats(y, w.value);
            let l = mul_sub(y, w.value, h);
            add_floats(sub_mul(c, k.q, h), l)
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn product(k: Constants, y: V, w: Wide) -> V {
            bits(scaled(k, floats(y), w))
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn sum(x: V, y: V) -> V {
            bits(add_floats(floats(x), floats(y)))
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn difference(_k: Constants, x: V, y: V) -> V {
            bits(sub_floats(floats(x), floats(y)))
        }

        /// `a·b mod q` of residues: the quotient is below 2^50, so it errs by less than ¾.
        #[inline]
        #[target_feature(enable = $features)]
        pub(super) fn mul(k: Constants, a: V, b: V) -> V {
            to_residue(k, product_of_floats(k, float(k, a), float(k, b)))
        }

        /// `a·w mod q`, w a factor in all lanes.
        #[inline]
        #[target_feature(enable = $features)]
        pub(super) fn scale(k: Constants, a: V, w: Wide) -> V {
            to_residue(k, scaled(k, float(k, a), w))
        }

        /// `(a − b)·w mod q`, w a factor in all lanes.
        #[inline]
        #[target_feature(enable = $features)]
        pub(super) fn scaled_difference(k: Constants, a: V, b: V, w: Wide) -> V {
            to_residue(k, scaled(k, float_signed(k, sub(a, b)), w))
        }

        transforms!($features);
    };
}
pub(in crate::kernels) use arithmetic;

/// The integers up to it are floats.
const TWO_53: f64 = (1u64 << 53) as f64;

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
    fn new(q: Modulus, operands: f64) -> Self {
        let q = q.value() as f64;
        Self { q, limit: operands / q }
    }

    /// Bound of a product with an operand within `y`, rounded up.
    fn product(self, y: f64) -> f64 {
        0.5 + 3.0 * y * self.q / (2.0 * TWO_53) + 1e-12
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
/// the bound of what a forward transform leaves that does not end in residues, in multiples of q. `operands` is the bound
/// of what products take, at most 2^53, which also bounds what is stored.
pub(in crate::kernels) fn fixes(q: Modulus, log_n: u32, operands: f64) -> ([Vec<u8>; 2], f64) {
    let (bounds, shape) = (Bounds::new(q, operands), shape(log_n));
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
                for (log_n, operands) in (10..=17).flat_map(|log_n| [(log_n, TWO_53), (log_n, TWO_53 / 2.0)]) {
                    let (fixes, ends) = fixes(Modulus::new(q), log_n, operands);
                    assert!(ends * q as f64 <= operands, "what is left can be corrected and multiplied");
                    assert!(bits > 31 || fixes.iter().flatten().all(|&fix| fix == 0), "{q} needs no correction");
                }
            }
        }
    }
}
