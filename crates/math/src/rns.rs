//! Residue number systems: base conversion with exact rounding, and reconstruction.

use crate::modulus::{Modulus, Shoup, low};

/// Conversion of centered values from the primes `a_0 … a_{k-1}` (product A) to other primes.
///
/// With `y_i = x_i·(A/a_i)^{-1} mod a_i` the value is `x = Σ y_i·(A/a_i) − e·A`; here `e = ⌊Σ y_i/a_i + ½⌋`, so that x is
/// the representative in [−A/2, A/2). The fraction is summed in integers of unit 2^−48, by the same formula on every
/// device, so all agree to the last bit. It errs by less than k·2^−46: only an x within k·2^−46·A of ±A/2 may get the other
/// representative.
///
/// Source: \[HPS19\] §2.2, with integers for floating point.
#[derive(Clone, Debug)]
pub struct BaseConversion {
    /// The primes converted from.
    pub from: Vec<Modulus>,
    /// The primes converted to.
    pub to: Vec<Modulus>,
    /// `(A/a_i)^{-1} mod a_i`.
    pub inverses: Vec<Shoup>,
    /// `A/a_i mod t_j` at `[j][i]`.
    pub weights: Vec<Vec<u64>>,
    /// `−e·A mod t_j` at `[j][e]`, e = 0 … k.
    pub corrections: Vec<Vec<u64>>,
    /// The fraction y_i/a_i of each source.
    pub fractions: Vec<Fraction>,
}

/// Maps `y` in [0, q) to `⌊y'·w / 2^52⌋ ≈ 2^48·y/q`, y' being y shifted to 50 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fraction {
    /// Left shift of y (primes below 50 bits), else 0.
    pub left: u32,
    /// Right shift of y (primes above 50 bits), else 0.
    pub right: u32,
    /// `⌊2^100·2^(bits−50) / q⌋`, in (2^50, 2^51].
    pub factor: u64,
}

impl Fraction {
    /// Bits below the binary point.
    pub const BITS: u32 = 48;

    /// The fraction for a prime of 20 to 61 bits.
    #[must_use]
    pub fn new(q: Modulus) -> Self {
        let (left, right) = (50u32.saturating_sub(q.bits()), q.bits().saturating_sub(50));
        let numerator = 1u128 << (100 + right - left);
        Self { left, right, factor: low(numerator / u128::from(q.value())) }
    }

    /// `2^48·y/q`, at most two units too small.
    #[inline]
    #[must_use]
    pub fn of(self, y: u64) -> u64 {
        let shifted = y << self.left >> self.right;
        low((u128::from(shifted) * u128::from(self.factor)) >> 52)
    }

    /// Nearest integer to a sum of fractions.
    #[inline]
    #[must_use]
    pub fn round(sum: u64) -> u64 {
        (sum + (1 << (Self::BITS - 1))) >> Self::BITS
    }
}

impl BaseConversion {
    /// Precomputes the constants of a conversion; the two sets must be disjoint.
    ///
    /// # Panics
    /// If `from` is empty or shares a prime with `to`.
    #[must_use]
    pub fn new(from: &[Modulus], to: &[Modulus]) -> Self {
        assert!(!from.is_empty(), "a conversion needs a source");
        assert!(from.iter().all(|a| !to.contains(a)), "the two bases share a prime");
        let others = |skip: usize, m: Modulus| {
            from.iter().enumerate().filter(|&(i, _)| i != skip).fold(1, |p, (_, a)| m.mul(p, a.value()))
        };
        let inverses = from.iter().enumerate().map(|(i, &a)| a.shoup(a.inv(others(i, a)))).collect();
        let weights = to.iter().map(|&t| (0..from.len()).map(|i| others(i, t)).collect()).collect();
        let corrections = to
            .iter()
            .map(|&t| {
                let product = others(usize::MAX, t);
                (0..=from.len() as u64).map(|e| t.neg(t.mul(e, product))).collect()
            })
            .collect();
        let fractions = from.iter().map(|&a| Fraction::new(a)).collect();
        Self { from: from.to_vec(), to: to.to_vec(), inverses, weights, corrections, fractions }
    }

    /// The conversion of `times·x`, with each target multiplied by its own constant: `times` has a residue for each source,
    /// `by` one for each target.
    ///
    /// # Panics
    /// If there are fewer constants than primes.
    #[must_use]
    pub fn scaled(mut self, times: &[u64], by: &[u64]) -> Self {
        for (i, (a, inverse)) in self.from.iter().zip(&mut self.inverses).enumerate() {
            *inverse = a.shoup(a.mul(inverse.value, times[i]));
        }
        for (j, t) in self.to.iter().enumerate() {
            let constants = self.weights[j].iter_mut().chain(&mut self.corrections[j]);
            constants.for_each(|constant| *constant = t.mul(*constant, by[j]));
        }
        self
    }

    /// Converts one value: residues modulo `from` → residues modulo `to`. The reference for every kernel.
    ///
    /// # Panics
    /// If a residue is not reduced.
    #[must_use]
    pub fn convert(&self, x: &[u64]) -> Vec<u64> {
        let y: Vec<u64> = x.iter().zip(&self.from).zip(&self.inverses).map(|((&x, a), &w)| a.mul_shoup(x, w)).collect();
        let e = Fraction::round(y.iter().zip(&self.fractions).map(|(&y, f)| f.of(y)).sum());
        let e = usize::try_from(e).expect("at most the number of sources");
        self.to
            .iter()
            .enumerate()
            .map(|(j, &t)| {
                let sum: u128 = y.iter().zip(&self.weights[j]).map(|(&y, &w)| u128::from(y) * u128::from(w)).sum();
                t.add(t.reduce_wide(sum), self.corrections[j][e])
            })
            .collect()
    }
}

/// `words·factor + digit`, wrapping.
fn times_plus(words: &mut [u64], factor: u64, digit: u64) {
    let mut carry = u128::from(digit);
    for word in words {
        let sum = u128::from(*word) * u128::from(factor) + carry;
        *word = low_word(sum);
        carry = sum >> 64;
    }
}

/// `words − digit`, wrapping.
fn minus(words: &mut [u64], digit: u64) {
    let mut borrow = digit;
    for word in words {
        let (difference, wrapped) = word.overflowing_sub(borrow);
        *word = difference;
        borrow = u64::from(wrapped);
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the low word is what is asked for")]
fn low_word(x: u128) -> u64 {
    x as u64
}

/// Reconstruction of centered integers from their residues, by mixed radix digits (Garner).
#[derive(Clone, Debug)]
pub struct Reconstruction {
    primes: Vec<Modulus>,
    /// `(q_0 … q_{j−1})^{-1} mod q_j`.
    inverses: Vec<u64>,
    /// `q_0 … q_{i−1} mod q_j` at `[j][i]`, i < j.
    products: Vec<Vec<u64>>,
    /// `q_0 … q_{i−1}` as a float.
    weights: Vec<f64>,
    /// Mixed radix digits of ⌊Q/2⌋.
    half: Vec<u64>,
}

impl Reconstruction {
    /// Precomputes the constants for the given primes.
    ///
    /// # Panics
    /// If there is no prime.
    #[must_use]
    pub fn new(primes: &[Modulus]) -> Self {
        assert!(!primes.is_empty(), "reconstruction needs a prime");
        let products: Vec<Vec<u64>> = primes
            .iter()
            .enumerate()
            .map(|(j, &q)| {
                primes[..j]
                    .iter()
                    .scan(1, |p, a| {
                        let before = *p;
                        *p = q.mul(*p, a.value());
                        Some(before)
                    })
                    .collect()
            })
            .collect();
        let inverses = primes
            .iter()
            .enumerate()
            .map(|(j, &q)| q.inv(primes[..j].iter().fold(1, |p, a| q.mul(p, a.value()))))
            .collect();
        let weights = primes
            .iter()
            .scan(1.0, |w, q| {
                let before = *w;
                *w *= to_f64(q.value());
                // Not infinite: a digit that is 0 then gives 0 without a branch on it.
                Some(before.min(f64::MAX))
            })
            .collect();
        let mut this = Self { primes: primes.to_vec(), inverses, products, weights, half: Vec::new() };
        // (Q − 1)/2 ≡ −1/2 modulo every prime of the odd Q.
        let half: Vec<u64> = primes.iter().map(|q| q.value() / 2).collect();
        this.half = this.digits(&half);
        this
    }

    /// Digits d_j with x = Σ d_j·q_0…q_{j−1}.
    fn digits(&self, residues: &[u64]) -> Vec<u64> {
        let mut digits: Vec<u64> = Vec::with_capacity(residues.len());
        for (j, (&q, &r)) in self.primes.iter().zip(residues).enumerate() {
            let partial: u64 = digits.iter().zip(&self.products[j]).fold(0, |sum, (&d, &p)| q.add(sum, q.mul(d, p)));
            digits.push(q.mul(q.sub(r, partial), self.inverses[j]));
        }
        digits
    }

    /// 1 where the integer of these digits is above ⌊Q/2⌋, that is negative once centered, else 0.
    fn is_negative(&self, digits: &[u64]) -> u64 {
        // Lexicographic comparison from the top digit, as a borrow that runs upwards.
        digits.iter().zip(&self.half).fold(0u64, |above, (&d, &h)| {
            let (greater, equal) = (u64::from(d > h), u64::from(d == h));
            greater | (equal & above)
        })
    }

    /// The centered integer modulo `t`, exactly; no branch depends on the residues.
    ///
    /// # Panics
    /// If the number of residues is not that of primes.
    #[must_use]
    pub fn centered_modulo(&self, residues: &[u64], t: Modulus) -> u64 {
        assert_eq!(residues.len(), self.primes.len());
        let digits = self.digits(residues);
        let (mut sum, mut weight) = (0, 1);
        for (&digit, q) in digits.iter().zip(&self.primes) {
            sum = t.add(sum, t.mul(t.reduce(digit), weight));
            weight = t.mul(weight, t.reduce(q.value()));
        }
        t.sub(sum, t.mul(self.is_negative(&digits), weight)) // `weight` is Q by now
    }

    /// The centered integer modulo 2^(64·words), in two's complement, lowest word first; no branch depends on the
    /// residues.
    ///
    /// # Panics
    /// If the number of residues is not that of primes.
    pub fn centered_words(&self, residues: &[u64], words: &mut [u64]) {
        assert_eq!(residues.len(), self.primes.len());
        let digits = self.digits(residues);
        let negative = self.is_negative(&digits);
        words.fill(0);
        // Horner from the top digit: x − negative·Q = d_0 + q_0·(d_1 + q_1·(… − negative·q_last)).
        for (at, (&digit, q)) in digits.iter().zip(&self.primes).enumerate().rev() {
            let last = at + 1 == digits.len();
            let borrowed = if last { q.value().wrapping_mul(negative) } else { 0 };
            times_plus(words, q.value(), digit);
            minus(words, borrowed);
        }
    }

    /// The centered integer, rounded to a float. Exact up to 53 bits, and no more than a size from 2^1023 on; no branch
    /// depends on the residues.
    ///
    /// # Panics
    /// If the number of residues is not that of primes.
    #[must_use]
    pub fn centered_f64(&self, residues: &[u64]) -> f64 {
        assert_eq!(residues.len(), self.primes.len());
        let plus = self.digits(residues);
        let negated: Vec<u64> = residues.iter().zip(&self.primes).map(|(&r, q)| q.neg(r)).collect();
        let minus = self.digits(&negated);
        let negative = self.is_negative(&plus);
        let mask = 0u64.wrapping_sub(negative);
        let magnitude: f64 = plus
            .iter()
            .zip(&minus)
            .zip(&self.weights)
            .map(|((&p, &m), &w)| {
                let digit = p ^ (mask & (p ^ m));
                to_f64(digit) * w
            })
            .sum();
        let sign = 1.0 - 2.0 * to_f64(negative);
        sign * magnitude
    }
}

/// A word as a float, rounded to nearest.
#[inline]
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "rounding is what is asked for")]
pub fn to_f64(x: u64) -> f64 {
    x as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prime::ntt_primes_below;

    fn moduli(bits: &[u32]) -> Vec<Modulus> {
        let mut used = Vec::new();
        for &b in bits {
            used.push(ntt_primes_below(10, b, 1, &used).unwrap()[0]);
        }
        used.into_iter().map(Modulus::new).collect()
    }

    #[test]
    fn centered_words_are_two_s_complement() {
        let primes: Vec<Modulus> = crate::prime::ntt_primes_below(12, 34, 4, &[])
            .expect("four primes of 34 bits")
            .into_iter()
            .map(Modulus::new)
            .collect();
        let crt = Reconstruction::new(&primes);
        let product = |x: u64, y: u64| u128::from(x) * u128::from(y);
        for (x, y) in [(0, 0), (1, 1), (u64::MAX, u64::MAX), (u64::MAX, 1), (1 << 63, 3), (0x1234_5678_9abc_def0, 77)] {
            let residues: Vec<u64> = primes.iter().map(|q| q.mul(q.reduce(x), q.reduce(y))).collect();
            let mut words = [7; 3];
            crt.centered_words(&residues, &mut words);
            assert_eq!([u128::from(words[0]) | u128::from(words[1]) << 64, words[2].into()], [product(x, y), 0]);
            let negated: Vec<u64> = residues.iter().zip(&primes).map(|(&r, q)| q.neg(r)).collect();
            crt.centered_words(&negated, &mut words);
            let sign = if product(x, y) == 0 { 0 } else { u64::MAX };
            let wanted = product(x, y).wrapping_neg();
            assert_eq!([u128::from(words[0]) | u128::from(words[1]) << 64, words[2].into()], [wanted, sign.into()]);
            let mut low = [0];
            crt.centered_words(&negated, &mut low);
            assert_eq!(low[0], words[0], "fewer words are the low ones");
        }
    }

    #[test]
    fn constants_of_a_conversion_can_be_scaled() {
        let all = moduli(&[50, 45, 30, 61, 40, 20]);
        let (from, to) = all.split_at(3);
        let constants =
            |moduli: &[Modulus]| -> Vec<u64> { moduli.iter().map(|q| q.reduce(0x9e37_79b9_7f4a_7c15)).collect() };
        let (times, by) = (constants(from), constants(to));
        let plain = BaseConversion::new(from, to);
        let x = [1, 7, 12_345];
        let multiplied: Vec<u64> = from.iter().zip(x).zip(&times).map(|((q, x), &c)| q.mul(x, c)).collect();
        let expected: Vec<u64> =
            to.iter().zip(plain.convert(&multiplied)).zip(&by).map(|((q, y), &c)| q.mul(y, c)).collect();
        assert_eq!(plain.scaled(&times, &by).convert(&x), expected);
    }

    #[test]
    fn conversion_is_exact_on_centred_values() {
        for bits in [vec![50], vec![20, 30, 61, 45], vec![50; 12], vec![61; 5]] {
            let from = moduli(&bits);
            let to: Vec<Modulus> = moduli(&[&bits[..], &[55, 31, 20, 58]].concat())[bits.len()..].to_vec();
            let conversion = BaseConversion::new(&from, &to);
            let mut state = 1u64;
            for _ in 0..300 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let limit = from.iter().fold(1i128, |p, q| (p.saturating_mul(q.value().into())).min(1 << 100)) / 3;
                let x = i128::from(state.cast_signed()) * i128::from(state >> 30) % limit;
                let residues: Vec<u64> = from.iter().map(|q| q.from_i128(x)).collect();
                let expected: Vec<u64> = to.iter().map(|q| q.from_i128(x)).collect();
                assert_eq!(conversion.convert(&residues), expected);
            }
        }
    }

    #[test]
    fn fractions_stay_within_two_units() {
        for q in moduli(&[20, 31, 49, 50, 51, 61]) {
            let f = Fraction::new(q);
            assert!(f.factor > 1 << 50 && f.factor <= 1 << 51);
            for y in [0, 1, q.value() / 3, q.value() / 2, q.value() - 1] {
                let exact = low((u128::from(y) << Fraction::BITS) / u128::from(q.value()));
                assert!(exact.wrapping_sub(f.of(y)) <= 2, "{y} mod {q:?}");
            }
        }
    }

    #[test]
    fn reconstruction_recovers_signed_integers() {
        for bits in [vec![50], vec![40, 50, 61], vec![50; 30]] {
            let primes = moduli(&bits);
            let crt = Reconstruction::new(&primes);
            for x in [0i64, 1, -1, 123_456_789, -987_654_321, (1 << 48) - 3, 5 - (1 << 48)] {
                let residues: Vec<u64> = primes.iter().map(|q| q.from_i64(x)).collect();
                #[expect(clippy::cast_precision_loss, reason = "test values below 2^53")]
                let expected = x as f64;
                assert!((crt.centered_f64(&residues) - expected).abs() < 0.5, "{x}");
            }
        }
    }
}
