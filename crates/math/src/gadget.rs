//! Gadget decomposition and modulus switching of single words, by definition, for TFHE.

/// Splits residues modulo q against the factors `2^(w − b), 2^(w − 2b), …`, w the bits of q, into digits in [−B/2, B/2),
/// B = 2^b. The rounding error is at most half of the smallest factor.
///
/// With C = B/2·(sum of the factors) + half the least factor, a residue x stands for its lift in [−C, q − C): adding C
/// gives a number below 2^w whose plain digits, less B/2, are the signed digits. For q near 2^w the lift is centered.
///
/// Source: \[CGGI20\] Alg. 1, there for q a power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decomposition {
    modulus: u64,
    /// w, the bits of q.
    bits: u32,
    base_log: u32,
    levels: u32,
}

impl Decomposition {
    /// `levels` digits of `base_log` bits, the first of the largest weight.
    ///
    /// # Panics
    /// If the modulus is not in 2 … 2^62, or base and levels are not at least 1 and their product at most its bits.
    #[must_use]
    pub fn new(modulus: u64, base_log: u32, levels: u32) -> Self {
        assert!((2..=1 << 62).contains(&modulus), "a modulus lies in 2 … 2^62, got {modulus}");
        let bits = 64 - (modulus - 1).leading_zeros();
        let fits = base_log > 0 && levels > 0 && u64::from(base_log) * u64::from(levels) <= u64::from(bits);
        assert!(fits, "{levels} digits of {base_log} bits do not fit the {bits} bits of {modulus}");
        Self { modulus, bits, base_log, levels }
    }

    /// Number of digits of a residue.
    #[must_use]
    pub fn levels(self) -> u32 {
        self.levels
    }

    /// The base B = 2^b.
    #[must_use]
    pub fn base(self) -> u64 {
        1 << self.base_log
    }

    /// log₂ of the factor of each digit, the first digit's first.
    #[must_use]
    pub fn log_factors(self) -> impl DoubleEndedIterator<Item = u32> {
        (1..=self.levels).map(move |j| self.bits - j * self.base_log)
    }

    /// The constant C modulo q, which is added before the plain digits are taken.
    #[must_use]
    pub fn shift(self) -> u64 {
        let least = self.bits - self.levels * self.base_log;
        let halves: u64 = self.log_factors().map(|f| 1 << (f + self.base_log - 1)).sum();
        (halves + (1 << least >> 1)) % self.modulus
    }

    /// The digit at place j of a residue: `⌊((x + C) mod q) / 2^(w − (j + 1)·b)⌋ mod B − B/2`.
    #[must_use]
    pub fn digit(self, x: u64, j: u32) -> i64 {
        let shifted = (x + self.shift()) % self.modulus;
        let plain = shifted >> (self.bits - (j + 1) * self.base_log) & (self.base() - 1);
        plain.cast_signed() - (self.base() / 2).cast_signed()
    }
}

/// `⌊x·to/from⌉ mod to`, halves upwards, for x in [0, from): the word in another modulus, both at most 2^62.
///
/// Source: \[DM15\] §3.
///
/// # Panics
/// Never within these ranges.
#[must_use]
pub fn mod_switch(x: u64, from: u64, to: u64) -> u64 {
    let rounded = (2 * u128::from(x) * u128::from(to) + u128::from(from)) / (2 * u128::from(from));
    u64::try_from(rounded % u128::from(to)).expect("below the new modulus")
}

/// `⌊x·2^k/from⌉ mod 2^k`, halves upwards, for x in [0, from) and `from` at most 2^62: [`mod_switch`] to a power of two, for a
/// secret x. A bit at a time, without branches: a division of 128 bits has some.
#[must_use]
pub fn nearest_of(x: u64, from: u64, k: u32) -> u64 {
    let (mut rest, mut quotient) = (x, 0u64);
    for _ in 0..k {
        let less = (2 * rest).wrapping_sub(from);
        let below = less >> 63;
        rest = less.wrapping_add(from & 0u64.wrapping_sub(below));
        quotient = quotient << 1 | (1 - below);
    }
    let rounds_up = 1 - ((2 * rest).wrapping_sub(from) >> 63);
    (quotient + rounds_up) & ((1 << k) - 1)
}

/// `(a, b)` in another modulus, so that for a binary secret the mean of what rounding adds to the phase is zero: half the
/// sum of the mask's rounding errors is added to the body before it is rounded. The variance of the rest is that of
/// `Σ ε_i·(s_i − ½)`, half of what it is without.
///
/// With `r_i = 2·from·round(a_i) − 2·to·a_i` the body is `⌊(4·to·b − Σ r_i)/(4·from)⌉`, halves upwards.
/// Words lie in [0, from); both moduli are at most 2^62. Source: \[RDV25\] (mean compensation).
///
/// # Panics
/// Never within these ranges.
pub fn mod_switch_centered(words: &mut [u64], from: u64, to: u64) {
    let Some((body, mask)) = words.split_last_mut() else { return };
    let (wide_from, wide_to) = (i128::from(from), i128::from(to));
    let mut errors: i128 = 0;
    for a in mask {
        let old = i128::from(*a);
        let rounded = (2 * old * wide_to + wide_from).div_euclid(2 * wide_from);
        errors += 2 * (rounded * wide_from - old * wide_to);
        *a = u64::try_from(rounded.rem_euclid(wide_to)).expect("below the new modulus");
    }
    let sum = 4 * wide_to * i128::from(*body) - errors;
    let rounded = (sum + 2 * wide_from).div_euclid(4 * wide_from);
    *body = u64::try_from(rounded.rem_euclid(wide_to)).expect("below the new modulus");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_branches_the_nearest_is_the_same() {
        for from in [(1 << 48) - 59, (1 << 32), (1 << 62), 12_289, 7] {
            let mut x = 0x9e37_79b9_7f4a_7c15_u64;
            for k in 1..=11 {
                let edges = [0, 1, from / 2, from / 2 + 1, from - 1, from / 4, from / 3];
                let random = (0..200).map(|_| {
                    x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    x % from
                });
                for word in edges.into_iter().chain(random) {
                    assert_eq!(nearest_of(word, from, k), mod_switch(word, from, 1 << k), "{word} {from} {k}");
                }
            }
        }
    }

    const MODULI: [u64; 6] = [(1 << 48) - 59, (1 << 47) + 5, 1 << 32, 4096, (1 << 50) - 27, 1 << 62];

    fn words(q: u64) -> impl Iterator<Item = u64> {
        let random = (1..500u64).map(move |i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) % q);
        random.chain([0, 1, q / 2 - 1, q / 2, q / 2 + 1, q - 1])
    }

    #[test]
    fn digits_are_small_and_rebuild_the_word() {
        for q in MODULI {
            for (base_log, levels) in [(1, 1), (3, 4), (4, 3), (11, 1), (5, 2)] {
                let gadget = Decomposition::new(q, base_log, levels);
                for x in words(q) {
                    let digits: Vec<i64> = (0..levels).map(|j| gadget.digit(x, j)).collect();
                    let half = i64::try_from(gadget.base() / 2).unwrap();
                    assert!(digits.iter().all(|d| (-half..half).contains(d)), "{digits:?}");
                    let sum: i128 = digits.iter().zip(gadget.log_factors()).map(|(&d, f)| i128::from(d) << f).sum();
                    let miss = (sum - i128::from(x)).rem_euclid(i128::from(q));
                    let miss = miss.min(i128::from(q) - miss);
                    let least = gadget.log_factors().next_back().unwrap();
                    assert!(2 * miss <= 1 << least, "{x} modulo {q}: missed by {miss} with factor 2^{least}");
                }
            }
        }
    }

    #[test]
    fn switching_rounds_to_nearest() {
        for (from, to) in [((1 << 48) - 59, 4096), (1 << 32, 2048), (4096, 1 << 32), ((1 << 48) - 59, 1 << 32)] {
            for x in words(from) {
                let y = mod_switch(x, from, to);
                let miss = (i128::from(y) * i128::from(from) - i128::from(x) * i128::from(to))
                    .rem_euclid(i128::from(from) * i128::from(to));
                let miss = miss.min(i128::from(from) * i128::from(to) - miss);
                assert!(y < to && 2 * miss <= i128::from(from));
            }
        }
    }

    /// For a secret of ones and zeros in turn no error of the mask is left, only that of the body.
    #[test]
    fn the_mean_of_the_rounding_is_taken_away() {
        let (from, to) = (1u64 << 32, 4096u64);
        let pairs = words(from).flat_map(|a| [a, a]);
        let mut message: Vec<u64> = pairs.collect();
        let phase = |words: &[u64], q: u64| {
            let mask = words[..words.len() - 1].iter().step_by(2).map(|&a| u128::from(a)).sum::<u128>();
            (mask + u128::from(words[words.len() - 1])) % u128::from(q)
        };
        message.push(12_345);
        let before = phase(&message, from) * u128::from(to) / u128::from(from);
        mod_switch_centered(&mut message, from, to);
        assert!(phase(&message, to).abs_diff(before) <= 1);
    }
}
