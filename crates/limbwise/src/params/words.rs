//! Levels of whole words: the modulus of a level is a product of long primes, as long as a device's words take, and of a few
//! short ones that make up what is left. A scale of 40 bits on words of 50 needs four limbs for five levels.
//!
//! The levels are not nested: a short prime leaves and comes back, so a rescale divides by the primes that the next level
//! lacks and multiplies by those that it has anew. Source: \[SS24\], \[CCKKKMN24\]. Differs: all short primes are in the modulus of
//! the keys, so that every level has the same keys (ADR 202).

use super::{
    bootstrap::Bootstrapping,
    checked::HIDES,
    error::ParamsError,
    literal::{ParamsLiteral, PrimeChoice, Words},
    primes::{bits_of, nearest, settled},
};
use limbwise_device::{Basis, Ring, RingSpec};
use limbwise_math::{prime::PrimesExhausted, rns::to_f64};

/// The share of their bits that primes have: words are chosen to make up for short primes that are a little too short or too
/// long, and must not get a bit more.
const SHARE: f64 = 1.0 - 1.0 / 8192.0;

/// Short primes at most.
const MOST_SHORT: usize = 6;

/// Largest scale in bits: a ciphertext that goes to a level that lacks a prime is multiplied by a constant of a float's bits.
const LARGEST_SCALE: u32 = 50;

/// The primes of the chain, the sets of the levels, and the scale at the user's highest level.
pub(super) struct Levels {
    pub(super) chain: Vec<u64>,
    pub(super) levels: Vec<Basis>,
    pub(super) scale: f64,
}

/// The primes of a level: the first words, and some of the short ones.
#[derive(Clone, Copy, Default)]
struct Set {
    words: usize,
    /// A bit for each short prime.
    short: u32,
}

impl Set {
    fn limbs(self) -> usize {
        self.words + self.short.count_ones() as usize
    }
}

/// The bits of a prime as a number near which primes are looked for.
fn size(bits: u32) -> f64 {
    (f64::from(bits) * SHARE).exp2()
}

/// Chooses the primes of a set with words.
pub(super) fn levels(literal: &ParamsLiteral, words: &Words, used: &mut Vec<u64>) -> Result<Levels, ParamsError> {
    check_ranges(literal, words)?;
    let top = Bootstrapping::new(literal)?.map_or(literal.levels.len() - 1, |boot| boot.output_level());
    let sets = (0..=top).map(|level| set(literal, words, level)).collect::<Result<Vec<_>, _>>()?;
    check_count(literal, words, &sets)?;
    let short = words.short.iter().map(|&bits| nearest(literal.log_n, size(bits), bits, used));
    let mut primes = Primes { literal, words, short: short.collect::<Result<_, _>>()?, long: Vec::new(), used };
    let mut scale = size(literal.log_scale);
    let mut before = Set::default();
    for (level, &now) in sets.iter().enumerate() {
        let bits: u32 = literal.levels[level].iter().map(|&choice| bits_of(choice)).sum();
        let carries_scale = level > 0 && bits == literal.log_scale;
        let target = if carries_scale { size(bits).powi(2) / scale } else { size(bits) };
        let dropped = primes.add(before, now, target)?;
        // The scale of this level, squared and divided by `dropped`, is that of the level below.
        scale = if carries_scale { (scale * dropped).sqrt() } else { size(literal.log_scale) };
        before = now;
    }
    primes.chain(&sets, scale)
}

fn check_ranges(literal: &ParamsLiteral, words: &Words) -> Result<(), ParamsError> {
    let range = |ok: bool, field: &'static str, got: String, wanted: String| {
        if ok { Ok(()) } else { Err(ParamsError::Range { field, got, wanted }) }
    };
    let least = (literal.log_n + 2).max(20);
    let bits = words.bits;
    range((least + 1..=61).contains(&bits), "words.bits", bits.to_string(), format!("{} to 61 bits", least + 1))?;
    let (short, wanted) = (&words.short, format!("1 to {MOST_SHORT} primes of {least} to {} bits", bits - 1));
    let fits = (1..=MOST_SHORT).contains(&short.len()) && short.iter().all(|short| (least..bits).contains(short));
    range(fits, "words.short", format!("{short:?}"), wanted)?;
    let (got, wanted) = (literal.log_scale.to_string(), format!("at most {LARGEST_SCALE} in a set with words"));
    range(literal.log_scale <= LARGEST_SCALE, "log_scale", got, wanted)?;
    let exact = literal.levels.iter().flatten().find(|choice| matches!(choice, PrimeChoice::Exact(_)));
    let got = exact.map(|&prime| u64::from(prime).to_string()).unwrap_or_default();
    range(exact.is_none(), "levels", got, "the bits of each level in a set with words".into())
}

/// A level may take many words of few bits, and each is a prime of the ring.
fn check_count(literal: &ParamsLiteral, words: &Words, sets: &[Set]) -> Result<(), ParamsError> {
    let above: usize = literal.levels[sets.len()..].iter().map(Vec::len).sum();
    let most = sets.iter().map(|set| set.words).max().unwrap_or(0);
    let all = most + words.short.len() + above + literal.special.len();
    if all <= 128 {
        return Ok(());
    }
    let wanted = "at most 128 primes in all, short ones and special ones included".into();
    Err(ParamsError::Range { field: "words.bits", got: format!("{} bits and {all} primes", words.bits), wanted })
}

/// The fewest limbs that have the bits of a level and of all below.
fn set(literal: &ParamsLiteral, words: &Words, level: usize) -> Result<Set, ParamsError> {
    let bits: u32 = literal.levels[..=level].iter().flatten().map(|&choice| bits_of(choice)).sum();
    let with = |short: u32| {
        let of_short: u32 = words.short.iter().enumerate().filter(|(i, _)| short >> i & 1 == 1).map(|(_, b)| b).sum();
        let left = bits.checked_sub(of_short)?;
        left.is_multiple_of(words.bits).then_some(Set { words: (left / words.bits) as usize, short })
    };
    let all = (0..1 << words.short.len()).filter_map(with);
    all.min_by_key(|set| (set.limbs(), set.short.count_ones())).ok_or_else(|| {
        let wanted = format!(
            "short primes of which some, with words of {} bits, have the {bits} bits of level {level} and those below",
            words.bits
        );
        ParamsError::Range { field: "words.short", got: format!("{:?}", words.short), wanted }
    })
}

/// The primes chosen so far.
struct Primes<'a> {
    literal: &'a ParamsLiteral,
    words: &'a Words,
    short: Vec<u64>,
    long: Vec<u64>,
    used: &'a mut Vec<u64>,
}

impl Primes<'_> {
    /// Chooses the words that a level has before any level below, so that its modulus over that of the level below is near
    /// `target`. Returns what it is.
    fn add(&mut self, before: Set, now: Set, target: f64) -> Result<f64, PrimesExhausted> {
        let product = |primes: &[u64]| primes.iter().map(|&q| to_f64(q)).product::<f64>();
        let of_short = |short: u32| {
            let primes = self.short.iter().enumerate().filter(|(i, _)| short >> i & 1 == 1);
            primes.map(|(_, &q)| to_f64(q)).product::<f64>()
        };
        let mut dropped = of_short(now.short & !before.short) / of_short(before.short & !now.short);
        let known = now.words.min(self.long.len());
        dropped *=
            product(&self.long[before.words.min(known)..known]) / product(&self.long[known..before.words.max(known)]);
        for missing in (1..=now.words.saturating_sub(self.long.len())).rev() {
            let centre = (target / dropped).powf(1.0 / to_f64(missing as u64));
            let prime = nearest(self.literal.log_n, centre, self.words.bits, self.used)?;
            if prime >> self.words.bits != 0 {
                let (bits, log_n) = (self.words.bits, self.literal.log_n);
                return Err(PrimesExhausted { bits, log_n, wanted: now.words });
            }
            dropped *= to_f64(prime);
            self.long.push(prime);
        }
        Ok(dropped)
    }

    /// The words of level 0, the short primes, the other words, and the primes of levels above the user's, which are the short
    /// ones where those are free and as long.
    fn chain(self, sets: &[Set], scale: f64) -> Result<Levels, ParamsError> {
        let Self { literal, words, short, long, used } = self;
        let first = sets[0].words;
        let place = |set: &Set| {
            let low = Basis::range(0, first.min(set.words));
            let high = Basis::range(first, first.max(set.words));
            Basis(low.0 | u128::from(set.short) << first | high.0 << short.len())
        };
        let mut levels: Vec<Basis> = sets.iter().map(place).collect();
        let mut chain = [&long[..first], &short, &long[first..]].concat();
        for choices in &literal.levels[sets.len()..] {
            let mut basis = levels.last().copied().unwrap_or_default();
            for &choice in choices {
                let free = |i: &usize| PrimeChoice::Bits(words.short[*i]) == choice && !basis.contains(first + i);
                let place = match (0..short.len()).find(free) {
                    Some(i) => first + i,
                    None => {
                        chain.push(settled(literal.log_n, choice, used)?);
                        chain.len() - 1
                    }
                };
                basis = basis | Basis::single(place);
            }
            levels.push(basis);
        }
        let all: Basis = levels.iter().copied().collect();
        if all != Basis::range(0, chain.len()) {
            let wanted = "short primes that a level has, each".into();
            return Err(ParamsError::Range { field: "words.short", got: format!("{:?}", words.short), wanted });
        }
        Ok(Levels { chain, levels, scale })
    }
}

/// At most `dnum` digits of consecutive primes: as long as P hides, so that low levels have few; where those would be too
/// many, such that the longest at any level is as short as can be.
pub(super) fn digits(ring: &Ring, levels: &[Basis], dnum: usize, log_special: f64) -> Vec<Basis> {
    let all = levels.iter().copied().collect::<Basis>().len();
    let length = |digit: Basis| levels.iter().map(|&level| ring.log_modulus(level & digit)).fold(0.0, f64::max);
    let longest: Vec<Vec<f64>> =
        (0..all).map(|from| (from + 1..=all).map(|to| length(Basis::range(from, to))).collect()).collect();
    let filled = |most: f64| {
        let mut digits = Vec::new();
        let mut from = 0;
        while from < all {
            let fitting = longest[from].iter().take_while(|&&length| length <= most).count().max(1);
            digits.push(Basis::range(from, from + fitting));
            from += fitting;
        }
        digits
    };
    let hidden = filled(log_special - HIDES);
    if hidden.len() <= dnum {
        return hidden;
    }
    let mut limits = longest.concat();
    limits.sort_by(f64::total_cmp);
    let fits = limits.partition_point(|&most| filled(most).len() > dnum);
    filled(limits.get(fits).copied().unwrap_or(f64::INFINITY))
}

/// log₂ of the longest digit of a set with words.
pub(super) fn longest_digit(literal: &ParamsLiteral, words: &Words) -> Result<f64, ParamsError> {
    let Levels { chain, levels, .. } = self::levels(literal, words, &mut Vec::new())?;
    let ring = Ring::new(&RingSpec { log_n: literal.log_n, primes: chain })?;
    let digits = digits(&ring, &levels, literal.dnum, 0.0);
    let at_levels = digits.iter().flat_map(|&digit| levels.iter().map(move |&level| level & digit));
    Ok(at_levels.map(|digit| ring.log_modulus(digit)).fold(0.0, f64::max))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{Insecure, Params};

    /// 14 levels of 40 bits on words of 50, above three of 30.
    fn literal(log_n: u32) -> ParamsLiteral {
        let mut literal = ParamsLiteral::chain(log_n, 50, 40, 14, (45, 8), 3);
        literal.levels.splice(1..1, vec![vec![PrimeChoice::Bits(30)]; 3]);
        literal.words = Some(Words { bits: 50, short: vec![30, 30, 40] });
        literal.insecure = Some(Insecure { reason: "a test".into() });
        literal
    }

    #[test]
    fn five_levels_take_four_words() {
        for log_n in [12, 15, 16, 17] {
            let params = Params::new(&literal(log_n)).unwrap();
            let limbs: Vec<usize> = (0..=params.top_level()).map(|level| params.limbs(level)).collect();
            assert_eq!(limbs, [1, 2, 3, 3, 4, 5, 6, 6, 7, 8, 9, 10, 10, 11, 12, 13, 14, 14]);
            assert!(params.ring().moduli().iter().all(|q| q.bits() <= 50));
            for level in 4..=params.top_level() {
                let (scale, below) = (params.scale(level), params.scale(level - 1));
                assert!((scale.log2() - 40.0).abs() < 0.006, "level {level}: {}", scale.log2());
                assert!((scale * scale / params.dropped(level) / below - 1.0).abs() < 1e-13, "level {level}");
            }
            // The short primes are in the first digit, which serves the low levels alone.
            assert!((0..=6).all(|level| params.digits(level).len() == 1));
            assert!((7..=16).all(|level| params.digits(level).len() == 2));
        }
    }

    #[test]
    fn what_words_cannot_make_is_refused() {
        let refused = |change: &dyn Fn(&mut ParamsLiteral)| {
            let mut literal = literal(13);
            change(&mut literal);
            Params::new(&literal).unwrap_err().to_string()
        };
        let words = |bits, short: &[u32]| Some(Words { bits, short: short.to_vec() });
        assert!(refused(&|l| l.words = words(50, &[30, 30])).contains("140 bits of level 3"));
        assert!(refused(&|l| l.words = words(50, &[])).contains("words.short = []"));
        assert!(refused(&|l| l.words = words(50, &[30, 50])).contains("1 to 6 primes of 20 to 49 bits"));
        assert!(refused(&|l| l.words = words(62, &[30])).contains("words.bits = 62"));
        assert!(refused(&|l| l.words = words(50, &[30, 30, 40, 29])).contains("that a level has"));
        assert!(refused(&|l| l.levels[2] = vec![PrimeChoice::Exact(1 << 40 | 1)]).contains("the bits of each level"));
        // Many words of few bits, and short primes beside as many levels as there can be.
        let many = |l: &mut ParamsLiteral| {
            (l.levels, l.words) = (vec![vec![PrimeChoice::Bits(60)]; 100], words(30, &[29]));
        };
        assert!(refused(&many).contains("209 primes: choose at most 128"), "{}", refused(&many));
        let full = |l: &mut ParamsLiteral| {
            (l.levels, l.words) = (vec![vec![PrimeChoice::Bits(50)]; 120], words(50, &[30; 6]));
        };
        assert!(refused(&full).contains("134 primes"), "{}", refused(&full));
        assert!(refused(&|l| l.log_scale = 51).contains("log_scale = 51"));
    }
}
