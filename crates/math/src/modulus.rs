//! Arithmetic modulo one word-sized prime.

use crate::wide::Wide;
use limbwise_taint::declassify;

/// A prime modulus `2 < q < 2^62` with its Barrett constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Modulus {
    q: u64,
    /// `⌊2^128 / q⌋`, high and low word.
    ratio: [u64; 2],
}

/// A constant operand `w` with `w' = ⌊w·2^64 / q⌋`, for multiplication without a division.
///
/// Source: \[Har14\], after Shoup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shoup {
    /// The operand, in `[0, q)`.
    pub value: u64,
    /// `⌊value·2^64 / q⌋`.
    pub quotient: u64,
}

#[inline]
pub(crate) fn low(x: u128) -> u64 {
    #[expect(clippy::cast_possible_truncation, reason = "the low word is what is asked for")]
    {
        x as u64
    }
}

#[inline]
pub(crate) fn high(x: u128) -> u64 {
    low(x >> 64)
}

impl Modulus {
    /// Largest number of bits of a modulus.
    pub const MAX_BITS: u32 = 61;

    /// A modulus.
    ///
    /// # Panics
    /// If `q` is even, below 3, or has more than [`Self::MAX_BITS`] bits.
    #[must_use]
    pub fn new(q: u64) -> Self {
        assert!(q > 2 && q % 2 == 1 && q >> Self::MAX_BITS == 0, "{q} is not an odd modulus of 2 to 61 bits");
        let ratio = u128::MAX / u128::from(q); // q is odd, so this is ⌊2^128 / q⌋
        Self { q, ratio: [high(ratio), low(ratio)] }
    }

    /// The value of q.
    #[inline]
    #[must_use]
    pub fn value(self) -> u64 {
        self.q
    }

    /// Number of bits of the modulus.
    #[inline]
    #[must_use]
    pub fn bits(self) -> u32 {
        64 - self.q.leading_zeros()
    }

    /// `a + b mod q`. Range: [0, q) → [0, q).
    #[inline]
    #[must_use]
    pub fn add(self, a: u64, b: u64) -> u64 {
        let s = a + b;
        s.min(s.wrapping_sub(self.q))
    }

    /// `a − b mod q`. Range: [0, q) → [0, q).
    #[inline]
    #[must_use]
    pub fn sub(self, a: u64, b: u64) -> u64 {
        let d = a.wrapping_sub(b);
        d.min(d.wrapping_add(self.q))
    }

    /// `−a mod q`. Range: [0, q) → [0, q).
    #[inline]
    #[must_use]
    pub fn neg(self, a: u64) -> u64 {
        self.sub(0, a)
    }

    /// `x mod q` for any word, without a branch.
    #[inline]
    #[must_use]
    pub fn reduce(self, x: u64) -> u64 {
        let quotient = high(u128::from(x) * u128::from(self.ratio[0]));
        let r = x.wrapping_sub(quotient.wrapping_mul(self.q));
        r.min(r.wrapping_sub(self.q))
    }

    /// `x mod q` for any double word, without a branch (Barrett).
    #[inline]
    #[must_use]
    pub fn reduce_wide(self, x: u128) -> u64 {
        let (x1, x0) = (u128::from(high(x)), u128::from(low(x)));
        let [r1, r0] = self.ratio.map(u128::from);
        let middle = x1 * r0 + u128::from(high(x0 * r0));
        let sum = middle.wrapping_add(x0 * r1); // a lost carry weighs 2^64 in the quotient, which is needed modulo 2^64
        let quotient = low(x1 * r1).wrapping_add(high(sum));
        let r = low(x).wrapping_sub(quotient.wrapping_mul(self.q));
        let r = r.min(r.wrapping_sub(self.q));
        r.min(r.wrapping_sub(self.q))
    }

    /// `a·b mod q`. Range: any words → [0, q).
    #[inline]
    #[must_use]
    pub fn mul(self, a: u64, b: u64) -> u64 {
        self.reduce_wide(u128::from(a) * u128::from(b))
    }

    /// Prepares the constant operand `w` in [0, q).
    #[inline]
    #[must_use]
    pub fn shoup(self, w: u64) -> Shoup {
        debug_assert!(w < self.q);
        Shoup { value: w, quotient: low((u128::from(w) << 64) / u128::from(self.q)) }
    }

    /// `a·w` modulo q. Range: any word → [0, 2q).
    #[inline]
    #[must_use]
    pub fn mul_shoup_lazy(self, a: u64, w: Shoup) -> u64 {
        let quotient = high(u128::from(a) * u128::from(w.quotient));
        a.wrapping_mul(w.value).wrapping_sub(quotient.wrapping_mul(self.q))
    }

    /// `a·w mod q`. Range: any word → [0, q).
    #[inline]
    #[must_use]
    pub fn mul_shoup(self, a: u64, w: Shoup) -> u64 {
        let r = self.mul_shoup_lazy(a, w);
        r.min(r.wrapping_sub(self.q))
    }

    /// `a^e mod q`. The time depends on `e`: for public exponents only.
    #[must_use]
    pub fn pow(self, a: u64, mut e: u64) -> u64 {
        let (mut base, mut result) = (self.reduce(a), 1);
        while e > 0 {
            if e & 1 == 1 {
                result = self.mul(result, base);
            }
            base = self.mul(base, base);
            e >>= 1;
        }
        result
    }

    /// `a^{-1} mod q`, for prime q and a ≢ 0.
    #[must_use]
    pub fn inv(self, a: u64) -> u64 {
        self.pow(a, self.q - 2)
    }

    /// The residue of a signed integer, without a branch on its sign.
    #[inline]
    #[must_use]
    pub fn from_i64(self, x: i64) -> u64 {
        let magnitude = self.reduce(x.unsigned_abs());
        let negative = 0u64.wrapping_sub(x.cast_unsigned() >> 63);
        let r = magnitude ^ (negative & (magnitude ^ (self.q - magnitude)));
        r.min(r.wrapping_sub(self.q))
    }

    /// The residue of a wide signed integer, without a branch on its sign.
    #[inline]
    #[must_use]
    pub fn from_i128(self, x: i128) -> u64 {
        let magnitude = self.reduce_wide(x.unsigned_abs());
        let negative = 0u64.wrapping_sub(high(x.cast_unsigned()) >> 63);
        let r = magnitude ^ (negative & (magnitude ^ (self.q - magnitude)));
        r.min(r.wrapping_sub(self.q))
    }

    /// The residues of signed integers, one every `gap` words of a row, and zeros between. Not generic: callers that are
    /// generic over devices are compiled where they are used, with less optimisation.
    ///
    /// # Panics
    /// If the row has no room for them.
    pub fn spread(self, integers: &Integers, gap: usize, row: &mut [u64]) {
        if gap > 1 {
            row.fill(0);
        }
        assert!(integers.len() * gap <= row.len(), "{} integers {gap} words apart in {}", integers.len(), row.len());
        let places = row.iter_mut().step_by(gap);
        match integers {
            Integers::Narrow(all) => places.zip(all).for_each(|(to, &x)| *to = self.from_i64(x)),
            Integers::Wide(all) => places.zip(all).for_each(|(to, &x)| *to = self.from_i128(x)),
        }
    }

    /// The representative of a residue in (−q/2, q/2], without a branch.
    #[inline]
    #[must_use]
    pub fn centered(self, x: u64) -> i64 {
        let upper = 0i64.wrapping_sub((self.q / 2).wrapping_sub(x).cast_signed() >> 63 & 1);
        x.cast_signed() - (upper & self.q.cast_signed())
    }
}

/// A float whose integer part is the nearest integer of x, halves away from zero. `round` is a function with branches, and
/// what is encoded is secret. The largest float below ½ is added: ½ itself would round numbers up that are just below a
/// half, and all that are odd above 2^52.
#[inline]
fn half_away(x: f64) -> f64 {
    x + (0.5 - f64::EPSILON / 4.0).copysign(x)
}

/// The integer part of a float below 2^126 in magnitude, without the branches of a conversion to 128 bits.
#[inline]
#[expect(clippy::cast_sign_loss, reason = "clamped to few bits")]
fn wide(x: f64) -> i128 {
    let bits = x.to_bits();
    let exponent = i64::from((bits >> 52 & 0x7ff) as u16) - 1075;
    let mantissa = u128::from(bits & ((1 << 52) - 1) | 1 << 52);
    // One of both shifts is by 0; what is below 1 loses all of its 53 bits.
    let (up, down) = (exponent.clamp(0, 74) as u32, (-exponent).clamp(0, 63) as u32);
    let magnitude = ((mantissa << up) >> down).cast_signed();
    let negative = -i128::from(bits >> 63);
    (magnitude ^ negative) - negative
}

/// Signed integers in words that hold them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Integers {
    /// Below 2^63 in magnitude.
    Narrow(Vec<i64>),
    /// Below 2^126.
    Wide(Vec<i128>),
}

impl Integers {
    /// The nearest integers of values times a scale, all below 2^126 in magnitude.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "the magnitude is looked at first")]
    pub fn nearest(values: &[f64], scale: f64) -> Self {
        // As integers, which order finite floats of one sign the same: a largest float is found with a branch on NaN.
        let largest = f64::from_bits(values.iter().fold(0, |most, x| most.max(x.abs().to_bits()))) * scale;
        // Public: whether the scale and the largest value together pass 62 bits, which both are known for.
        if declassify(largest < 2f64.powi(62)) {
            return Self::Narrow(values.iter().map(|x| half_away(x * scale) as i64).collect());
        }
        Self::Wide(values.iter().map(|x| wide(half_away(x * scale))).collect())
    }

    /// The nearest integers of wide values times a wide scale, all below 2^126 in magnitude.
    #[must_use]
    pub fn nearest_wide(values: &[Wide], scale: Wide) -> Self {
        Self::Wide(values.iter().map(|&x| (x * scale).nearest_integer()).collect())
    }

    /// Number of integers.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Narrow(all) => all.len(),
            Self::Wide(all) => all.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::Modulus;

    const PRIMES: [u64; 4] = [1_048_573, (1 << 31) - 1, (1 << 50) - 27, (1 << 61) - 1];

    #[test]
    fn agrees_with_wide_remainders() {
        for q in PRIMES {
            let m = Modulus::new(q);
            let mut x = 0x9e37_79b9_7f4a_7c15_u64;
            for _ in 0..2000 {
                x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let y = x.rotate_left(29) ^ 0xabcd;
                let (a, b) = (x % q, y % q);
                assert_eq!(m.reduce(x), a);
                assert_eq!(u128::from(m.add(a, b)), (u128::from(a) + u128::from(b)) % u128::from(q));
                assert_eq!(m.add(m.sub(a, b), b), a);
                assert_eq!(u128::from(m.mul(x, y)), u128::from(x) * u128::from(y) % u128::from(q));
                assert_eq!(m.mul_shoup(x, m.shoup(b)), m.mul(x, b));
                let wide = u128::from(x) << 64 | u128::from(y);
                assert_eq!(u128::from(m.reduce_wide(wide)), wide % u128::from(q));
                let signed = x.cast_signed();
                assert_eq!(i128::from(m.from_i64(signed)), i128::from(signed).rem_euclid(i128::from(q)));
                let signed = wide.cast_signed() >> 1;
                assert_eq!(i128::from(m.from_i128(signed)), signed.rem_euclid(i128::from(q)));
                assert_eq!(m.from_i64(m.centered(a)), a);
                assert!(m.centered(a).unsigned_abs() <= q / 2);
                if a != 0 {
                    assert_eq!(m.mul(a, m.inv(a)), 1);
                }
            }
            for edge in [0, 1, q / 2, q / 2 + 1, q - 1] {
                assert_eq!(m.from_i64(m.centered(edge)), edge);
            }
            assert_eq!(m.reduce_wide(u128::MAX), low_remainder(u128::MAX, q));
        }
    }

    #[test]
    fn integers_are_spread_whatever_their_width() {
        use super::Integers;
        let q = Modulus::new((1 << 50) - 27);
        let values = [0.4, -1.5, 3.0, -2f64.powi(40)];
        for shift in [0, 21, 23, 80] {
            let integers = Integers::nearest(&values, 2f64.powi(shift));
            assert_eq!((matches!(integers, Integers::Narrow(_)), integers.len()), (shift <= 21, 4));
            let scaled =
                |numerator: i128| q.from_i128(if shift == 0 { numerator / 2 } else { numerator << (shift - 1) });
            for gap in [1, 2, 4] {
                let mut row = vec![7; 4 * gap];
                q.spread(&integers, gap, &mut row);
                // Twice −1.5 and its fellows; 0.4 rounds by itself, and −1.5 to −2.
                let first = (shift == 0).then_some(-2);
                assert_eq!(row[gap], first.map_or_else(|| scaled(-3), |x| q.from_i128(x)));
                assert_eq!((row[2 * gap], row[3 * gap]), (scaled(6), scaled(-(1 << 41))));
                assert!(row.iter().enumerate().all(|(i, &x)| i.is_multiple_of(gap) || x == 0));
            }
        }
        assert!(Integers::nearest(&[], 1.0).is_empty());
    }

    #[test]
    fn rounding_without_branches_is_that_of_the_library() {
        let mut x = 0x9e37_79b9_7f4a_7c15_u64;
        let edges =
            [0.0, 0.5, 0.499_999_999_999_999_94, 1.5, 2.5, 4_503_599_627_370_497.0, 2_251_799_813_685_248.5, 1e-310];
        let random = (0..20_000).map(|_| {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // Any mantissa, exponents from 2^−70 to 2^125.
            f64::from_bits(x & ((1 << 52) - 1) | (953 + (x >> 55) % 196) << 52)
        });
        for value in edges.into_iter().chain(random).flat_map(|x| [x, -x]) {
            #[expect(clippy::cast_possible_truncation, reason = "below 2^126")]
            let wanted = value.round() as i128;
            assert_eq!(super::wide(super::half_away(value)), wanted, "{value:e}");
        }
    }

    fn low_remainder(x: u128, q: u64) -> u64 {
        u64::try_from(x % u128::from(q)).unwrap()
    }
}
