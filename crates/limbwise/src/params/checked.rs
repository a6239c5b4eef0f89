//! A parameter set that passed every check: the only kind that keys are made for.

use super::{
    bootstrap::Bootstrapping,
    error::ParamsError,
    literal::{ParamsLiteral, PrimeChoice, Secret},
    primes::{Chosen, choose_primes},
    security::{SecurityReport, gate},
    sine::Sine,
    words,
};
use limbwise_device::{Basis, Ring, RingSpec};
use limbwise_math::{rns::to_f64, wide::Wide};
use std::sync::Arc;

/// log₂ of the largest scale that f64 alone serves: an encoding of 60 bits is not worse than its f64 values.
const LARGEST_NARROW: u32 = 60;
/// Relative difference within which two scales are one, up to the rounding of the operations that led to them.
const SAME_SCALE: f64 = 1e-12;

/// A checked parameter set; clones share it.
#[derive(Clone, Debug, PartialEq)]
pub struct Params(Arc<Inner>);

#[derive(Clone, Debug, PartialEq)]
struct Inner {
    literal: ParamsLiteral,
    ring: Ring,
    /// The primes of each level.
    levels: Vec<Basis>,
    /// The primes of each level and of those below.
    reached: Vec<Basis>,
    /// The scale of a settled ciphertext at each level.
    scales: Vec<f64>,
    /// The same with what f64 does not hold, for scales above [`LARGEST_NARROW`].
    exact_scales: Vec<Wide>,
    digits: Vec<Basis>,
    security: SecurityReport,
    bootstrapping: Option<Bootstrapping>,
}

impl Params {
    /// Chooses primes and checks every field.
    ///
    /// # Errors
    /// [`ParamsError`] with the field, its value and the values allowed.
    pub fn new(literal: &ParamsLiteral) -> Result<Self, ParamsError> {
        if literal.special.is_empty() {
            let (got, wanted) = ("[]".into(), "at least one special prime".into());
            return Err(ParamsError::Range { field: "special", got, wanted });
        }
        Self::with_or_without_keys(literal)
    }

    /// [`Self::new`], also for a set without special primes, which has no evaluation keys.
    pub(crate) fn with_or_without_keys(literal: &ParamsLiteral) -> Result<Self, ParamsError> {
        check_ranges(literal)?;
        let Chosen { chain, levels, special, scale } = choose_primes(literal)?;
        let total = chain.len();
        let spec = RingSpec { log_n: literal.log_n, primes: [&chain[..], &special].concat() };
        let ring = Ring::new(&spec)?;
        let digits = digits(literal, &ring, &levels);
        let special_basis = Basis::range(total, ring.moduli().len());
        let log_special = ring.log_modulus(special_basis);
        let at_levels = |&digit: &Basis| levels.iter().map(move |&level| level & digit).collect::<Vec<_>>();
        let log_digit = digits.iter().flat_map(at_levels).map(|d| ring.log_modulus(d)).fold(0.0, f64::max);
        if !literal.special.is_empty() && log_special + 2.0 < log_digit {
            return Err(ParamsError::SpecialTooSmall { special: log_special, digit: log_digit, dnum: literal.dnum });
        }
        let pass = |log_modulus, secret| {
            gate(literal.standard, literal.log_n, log_modulus, secret, literal.sigma, literal.insecure.as_ref())
        };
        let mut security = pass(ring.log_modulus(ring.full()), literal.secret)?;
        let dropped = |level: usize| dropped(&ring, &levels, level);
        let exact = match literal.log_scale > LARGEST_NARROW {
            true => exact_scales(scale, levels.len(), |level| exact_dropped(&ring, &levels, level)),
            false => Vec::new(),
        };
        let mut scales = match &exact[..] {
            [] => level_scales(scale, levels.len(), dropped),
            exact => exact.iter().map(|scale| scale.high).collect(),
        };
        check_low_level(literal, &ring, &levels)?;
        let bootstrapping = Bootstrapping::new(literal)?;
        if let Some(boot) = &bootstrapping {
            boot.leaves_room(dropped(0), scales[0])?;
            bootstrapping_scales(&mut scales, boot, dropped);
        }
        let reached = levels.iter().scan(Basis::default(), |reached, &level| {
            *reached = *reached | level;
            Some(*reached)
        });
        let (literal, reached) = (literal.clone(), reached.collect());
        let exact_scales = exact;
        let inner = Inner {
            literal,
            ring,
            levels,
            reached,
            scales,
            exact_scales,
            digits,
            security: security.clone(),
            bootstrapping,
        };
        let Some(weight) = bootstrapping.and_then(|boot| boot.literal.ephemeral_weight) else {
            return Ok(Self(Arc::new(inner)));
        };
        let this = Self(Arc::new(inner.clone()));
        let modulus = this.basis(0) | this.encapsulation_special();
        let ephemeral = pass(this.ring().log_modulus(modulus), Secret::FixedWeight(weight))?;
        security.bits = security.bits.min(ephemeral.bits);
        security.insecure_reason = security.insecure_reason.or(ephemeral.insecure_reason);
        Ok(Self(Arc::new(Inner { security, ..inner })))
    }

    /// The literal it was made from.
    #[must_use]
    pub fn literal(&self) -> &ParamsLiteral {
        &self.0.literal
    }

    /// The ring over all primes, chain first, then special.
    #[must_use]
    pub fn ring(&self) -> &Ring {
        &self.0.ring
    }

    /// log₂ N.
    #[must_use]
    pub fn log_n(&self) -> u32 {
        self.0.literal.log_n
    }

    /// Largest slot count: N/2.
    #[must_use]
    pub fn max_slots(&self) -> usize {
        self.0.ring.n() / 2
    }

    /// Level of a fresh ciphertext.
    #[must_use]
    pub fn top_level(&self) -> usize {
        self.0.levels.len() - 1
    }

    /// Number of primes at a level.
    ///
    /// # Panics
    /// Above the top level; the methods below panic alike.
    #[must_use]
    pub fn limbs(&self, level: usize) -> usize {
        self.0.levels[level].len()
    }

    /// The primes at a level.
    #[must_use]
    pub fn basis(&self, level: usize) -> Basis {
        self.0.levels[level]
    }

    /// The primes at a level and below: those that a key for ciphertexts up to this level has. More than those at the level
    /// where a set has words.
    #[must_use]
    pub fn reached(&self, level: usize) -> Basis {
        self.0.reached[level]
    }

    /// The primes that a ciphertext at one level keeps on its way to a lower one: what it is multiplied by there is rounded
    /// to a constant of at least as many bits as the scale, and all other primes are dropped before.
    pub(crate) fn on_the_way(&self, from: usize, to: usize) -> Basis {
        let ring = &self.0.ring;
        let (from, above, to) = (self.basis(from), self.basis((to + 1).min(from)), self.basis(to));
        let enough = ring.log_modulus(to) + f64::from(self.0.literal.log_scale) - 0.5;
        if above.is_subset(from) && ring.log_modulus(above) >= enough {
            return above;
        }
        let mut kept = from & to;
        for prime in (from - to).iter() {
            if ring.log_modulus(kept) >= enough {
                break;
            }
            kept = kept | Basis::single(prime);
        }
        kept
    }

    /// The special primes.
    #[must_use]
    pub fn special(&self) -> Basis {
        self.0.ring.full() - self.reached(self.top_level())
    }

    /// The nonempty digits at a level, restricted to its primes.
    #[must_use]
    pub fn digits(&self, level: usize) -> Vec<Basis> {
        self.digits_of(self.basis(level))
    }

    /// The nonempty digits of some primes.
    pub(crate) fn digits_of(&self, basis: Basis) -> Vec<Basis> {
        self.0.digits.iter().map(|&d| d & basis).filter(|d| !d.is_empty()).collect()
    }

    /// Whether ciphertexts at a level have keys of one digit and few special primes.
    #[must_use]
    pub fn is_low(&self, level: usize) -> bool {
        self.0.literal.low_level.is_some_and(|low| level <= low)
    }

    /// The fewest special primes that hide the rounding of one digit of all primes at the highest low level; all of them
    /// without low levels.
    #[must_use]
    pub fn low_special(&self) -> Basis {
        let Some(low) = self.0.literal.low_level else { return self.special() };
        covering(self.ring(), self.special(), self.log_modulus(low) + HIDES)
    }

    /// The digits and special primes of key switching at a level.
    #[must_use]
    pub fn gadget(&self, level: usize) -> (Vec<Basis>, Basis) {
        if self.is_low(level) {
            (vec![self.basis(level)], self.low_special())
        } else {
            (self.digits(level), self.special())
        }
    }

    /// What a rescale from this level divides by: the modulus over that of the level below.
    #[must_use]
    pub fn dropped(&self, level: usize) -> f64 {
        dropped(&self.0.ring, &self.0.levels, level)
    }

    /// The modulus of some primes over that of others.
    pub(crate) fn quotient(&self, from: Basis, to: Basis) -> f64 {
        quotient(&self.0.ring, from, to)
    }

    /// log₂ of the modulus at a level.
    #[must_use]
    pub fn log_modulus(&self, level: usize) -> f64 {
        self.0.ring.log_modulus(self.basis(level))
    }

    /// The largest absolute value that the modulus at a level holds at a scale.
    #[cfg(feature = "client")]
    pub(crate) fn room(&self, level: usize, scale: f64) -> f64 {
        (self.log_modulus(level) - 1.0 - scale.log2()).exp2()
    }

    /// The scale of a settled ciphertext at a level: `scale(ℓ−1) = scale(ℓ)² / dropped(ℓ)`.
    #[must_use]
    pub fn scale(&self, level: usize) -> f64 {
        self.0.scales[level]
    }

    /// Whether scales have more bits than f64 holds: values are then encoded and read, and constants rounded, by numbers of
    /// two floats.
    #[must_use]
    pub fn is_wide(&self) -> bool {
        !self.0.exact_scales.is_empty()
    }

    /// The scale that f64 stands for at a level: in a wide set the exact one of a settled ciphertext, or of a pending
    /// product of two; any other is itself.
    #[must_use]
    pub fn exact_scale(&self, scale: f64, level: usize) -> Wide {
        let near = |exact: Wide| (scale / exact.high - 1.0).abs() < SAME_SCALE;
        let Some(&settled) = self.0.exact_scales.get(level) else { return scale.into() };
        // The levels of EvalMod have scales of their own.
        let user = near(settled) || near(settled * settled);
        match user {
            true if near(settled) => settled,
            true => settled * settled,
            false => scale.into(),
        }
    }

    /// [`Self::dropped`] with what f64 does not hold.
    #[must_use]
    pub fn exact_dropped(&self, level: usize) -> Wide {
        exact_dropped(&self.0.ring, &self.0.levels, level)
    }

    /// The bootstrapping section, if the set has one.
    #[must_use]
    pub fn bootstrapping(&self) -> Option<&Bootstrapping> {
        self.0.bootstrapping.as_ref()
    }

    /// The special primes for switching a ciphertext at level 0 to the ephemeral secret: the fewest that cover q₀,
    /// because a key under a sparse secret must have a small modulus.
    #[must_use]
    pub fn encapsulation_special(&self) -> Basis {
        covering(self.ring(), self.special(), self.log_modulus(0) - 2.0)
    }

    /// The highest level of the user: the top without bootstrapping, else bootstrapping's output level.
    #[must_use]
    pub fn user_level(&self) -> usize {
        self.bootstrapping().map_or(self.top_level(), Bootstrapping::output_level)
    }

    /// Result of the security check.
    #[must_use]
    pub fn security(&self) -> &SecurityReport {
        &self.0.security
    }

    /// Expected squared norm of the secret.
    #[must_use]
    pub fn secret_norm_squared(&self) -> f64 {
        match self.0.literal.secret {
            Secret::Ternary => 2.0 / 3.0 * to_f64(self.0.ring.n() as u64),
            Secret::FixedWeight(h) => to_f64(h as u64),
        }
    }
}

/// Bits that P has above a low digit at least: a digit's error, 3.2·√N·2^(D−P)/√12, stays below that of the rounding, √N/4.2.
pub(super) const HIDES: f64 = 3.0;

/// The first special primes that have so many bits, at least one; all of them where there are too few.
fn covering(ring: &Ring, special: Basis, bits: f64) -> Basis {
    let first = special.iter().next().unwrap_or(ring.moduli().len());
    let covers = |&end: &usize| ring.log_modulus(Basis::range(first, end)) >= bits;
    let end = (first + 1..ring.moduli().len()).find(covers).unwrap_or(ring.moduli().len());
    Basis::range(first, end)
}

/// The digits of a set.
fn digits(literal: &ParamsLiteral, ring: &Ring, levels: &[Basis]) -> Vec<Basis> {
    if literal.words.is_some() {
        let chain: Basis = levels.iter().copied().collect();
        return words::digits(ring, levels, literal.dnum, ring.log_modulus(ring.full() - chain));
    }
    let total = levels.last().map_or(0, |level| level.len());
    let alpha = total.div_ceil(literal.dnum);
    (0..total).step_by(alpha).map(|at| Basis::range(at, total.min(at + alpha))).collect()
}

fn check_low_level(literal: &ParamsLiteral, ring: &Ring, levels: &[Basis]) -> Result<(), ParamsError> {
    let Some(low) = literal.low_level else { return Ok(()) };
    let chain: Basis = levels.iter().copied().collect();
    let special = ring.log_modulus(ring.full() - chain);
    let fits = |&level: &usize| ring.log_modulus(levels[level]) + HIDES <= special;
    match (0..levels.len()).take_while(fits).last() {
        Some(most) if low <= most => Ok(()),
        most => {
            let wanted = most.map_or_else(
                || "none, because P is shorter than q₀".into(),
                |most| format!("at most {most}, where one digit is {HIDES} bits shorter than P, or none"),
            );
            Err(ParamsError::Range { field: "low_level", got: low.to_string(), wanted })
        }
    }
}

fn check_ranges(literal: &ParamsLiteral) -> Result<(), ParamsError> {
    let range = |ok: bool, field: &'static str, got: String, wanted: &str| {
        if ok { Ok(()) } else { Err(ParamsError::Range { field, got, wanted: wanted.into() }) }
    };
    let count: usize = literal.levels.iter().map(Vec::len).sum();
    let n = 1usize << literal.log_n.min(17);
    range((10..=17).contains(&literal.log_n), "log_n", literal.log_n.to_string(), "10 to 17")?;
    range(!literal.levels.is_empty(), "levels", "[]".into(), "at least one level")?;
    range(
        literal.levels.iter().all(|l| !l.is_empty()),
        "levels",
        "an empty level".into(),
        "at least one prime a level",
    )?;
    let all = count + literal.special.len();
    range(all <= 128, "levels and special", format!("{all} primes"), "at most 128 primes in all")?;
    range(
        (1..=count).contains(&literal.dnum),
        "dnum",
        literal.dnum.to_string(),
        &format!("1 to {count}, the number of limbs"),
    )?;
    range((10..=100).contains(&literal.log_scale), "log_scale", literal.log_scale.to_string(), "10 to 100")?;
    let sigma = literal.sigma;
    range(
        sigma.is_finite() && sigma > 0.0 && sigma <= 100.0,
        "sigma",
        sigma.to_string(),
        "a number in (0, 100], usually 3.2",
    )?;
    if let Secret::FixedWeight(h) = literal.secret {
        range(
            (1..=n.min(4096)).contains(&h),
            "secret",
            format!("weight {h}"),
            &format!("a weight from 1 to {}", n.min(4096)),
        )?;
    }
    let least = literal.log_n + 2;
    for choice in literal.levels.iter().flatten().chain(&literal.special) {
        if let PrimeChoice::Bits(bits) = *choice {
            let wanted = format!("{} to 61 bits for N = 2^{}", least.max(20), literal.log_n);
            range((least.max(20)..=61).contains(&bits), "a prime", format!("{bits} bits"), &wanted)?;
        }
    }
    Ok(())
}

/// The modulus of some primes over that of others.
fn quotient(ring: &Ring, from: Basis, to: Basis) -> f64 {
    let product = |basis: Basis| basis.iter().map(|i| to_f64(ring.spec().primes[i])).product::<f64>();
    product(from - to) / product(to - from)
}

/// The modulus of a level over that of the level below.
fn dropped(ring: &Ring, levels: &[Basis], level: usize) -> f64 {
    quotient(ring, levels[level], if level == 0 { Basis::default() } else { levels[level - 1] })
}

/// [`dropped`] in numbers of two floats.
fn exact_dropped(ring: &Ring, levels: &[Basis], level: usize) -> Wide {
    let below = if level == 0 { Basis::default() } else { levels[level - 1] };
    let times = |product, i: usize| product * Wide::of_integer(ring.spec().primes[i].into());
    let product = |basis: Basis| basis.iter().fold(Wide::from(1.0), times);
    match below - levels[level] {
        new if new.is_empty() => product(levels[level] - below),
        new => product(levels[level] - below).over(product(new)),
    }
}

/// `scale(ℓ−1) = scale(ℓ)²/dropped(ℓ)` while that is within one bit of the scale at the top. A level whose primes are
/// longer or shorter than the scale restarts at the top scale.
fn level_scales(top: f64, levels: usize, dropped: impl Fn(usize) -> f64) -> Vec<f64> {
    let mut scales = vec![top; levels];
    for level in (1..levels).rev() {
        let next = scales[level] * scales[level] / dropped(level);
        if (next / top).log2().abs() < 1.0 {
            scales[level - 1] = next;
        }
    }
    scales
}

/// [`level_scales`] in numbers of two floats.
fn exact_scales(top: f64, levels: usize, dropped: impl Fn(usize) -> Wide) -> Vec<Wide> {
    let mut scales = vec![Wide::from(top); levels];
    for level in (1..levels).rev() {
        let next = (scales[level] * scales[level]).over(dropped(level));
        if (next.high / top).log2().abs() < 1.0 {
            scales[level - 1] = next;
        }
    }
    scales
}

/// Scales inside EvalMod follow the same rule at the size of EvalMod's primes: each scale squared and divided is that
/// of the level below. The last one is the user's scale in units of the sine if the sine fixes it, else the prime above
/// it.
fn bootstrapping_scales(scales: &mut [f64], boot: &Bootstrapping, dropped: impl Fn(usize) -> f64) {
    let end = boot.eval_mod_end();
    let last = end == boot.output_level();
    let result = scales[end] * (-f64::from(boot.log_refined())).exp2();
    let mut below = match (boot.literal.eval_mod.sine, &boot.straightening()[..]) {
        (Sine::Cosine { arcsine: ..=1 }, [gain]) if last => result * gain,
        // Divided, the square of the last level is minus the second harmonic times twice its factor.
        (Sine::Exponential { .. }, _) if last => result * boot.absorbed() / 2.0,
        _ => dropped(end + 1),
    };
    for (level, scale) in scales.iter_mut().enumerate().take(boot.eval_mod_level() + 1).skip(end + 1) {
        below = (below * dropped(level)).sqrt();
        *scale = below;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Insecure;

    fn literal() -> ParamsLiteral {
        ParamsLiteral::chain(16, 50, 40, 24, (45, 5), 5)
    }

    #[test]
    fn scales_stay_near_the_default_through_the_chain() {
        for (literal, drift) in [(literal(), 1e-3), (ParamsLiteral::chain(16, 60, 50, 20, (55, 5), 5), 1e-6)] {
            let params = Params::new(&literal).unwrap();
            let nominal = 2f64.powi(literal.log_scale.cast_signed());
            for level in 0..=params.top_level() {
                assert!((params.scale(level) / nominal - 1.0).abs() < drift, "level {level}");
            }
            // None has a bit more than was asked for: kernels are chosen by that.
            assert!(params.ring().moduli()[1..].iter().all(|q| q.bits() <= literal.log_scale + 5));
            assert!(params.ring().moduli()[1..=params.top_level()].iter().all(|q| q.bits() == literal.log_scale));
            assert_eq!((params.security().bits, params.digits(params.top_level()).len()), (128, 5));
        }
    }

    #[test]
    fn a_level_is_a_set_of_primes() {
        let mut mixed = literal();
        mixed.levels = [&[30, 30][..], &[40], &[25, 25], &[40], &[26, 24], &[40]]
            .iter()
            .map(|l| l.iter().map(|&b| PrimeChoice::Bits(b)).collect())
            .collect();
        (mixed.log_scale, mixed.dnum) = (40, 2);
        let params = Params::new(&mixed).unwrap();
        assert_eq!((0..6).map(|l| params.limbs(l)).collect::<Vec<_>>(), [2, 3, 5, 6, 8, 9]);
        assert_eq!(params.digits(1), [Basis::range(0, 3)]);
        assert_eq!(params.digits(4), [Basis::range(0, 5), Basis::range(5, 8)]);
    }

    #[test]
    fn bad_sets_are_refused_with_reasons() {
        let refused = |change: &dyn Fn(&mut ParamsLiteral)| {
            let mut l = literal();
            change(&mut l);
            Params::new(&l).unwrap_err().to_string()
        };
        assert!(refused(&|l| l.log_n = 15).contains("below 128 bits"));
        assert!(refused(&|l| l.log_n = 60).contains("log_n = 60"));
        assert!(refused(&|l| l.dnum = 0).contains("dnum = 0"));
        assert!(refused(&|l| l.dnum = 3).contains("largest digit of dnum 3"));
        assert!(refused(&|l| l.levels.clear()).contains("at least one level"));
        assert!(refused(&|l| l.sigma = f64::NAN).contains("sigma"));
        assert!(refused(&|l| l.sigma = 1.0).contains("sigma >= 3.2"));
        assert!(refused(&|l| l.secret = Secret::FixedWeight(192)).contains("weight 192"));
        assert!(refused(&|l| l.levels[1][0] = PrimeChoice::Bits(17)).contains("17 bits"));
        assert!(refused(&|l| l.levels[1][0] = PrimeChoice::Exact(u64::MAX)).contains("not a prime"));
        assert!(
            refused(&|l| l.levels[3] = vec![PrimeChoice::Exact(1_152_921_504_606_846_977); 2]).contains("listed once")
        );
        let mut small = literal();
        (small.log_n, small.insecure) = (12, Some(Insecure { reason: "a test".into() }));
        assert_eq!(Params::new(&small).unwrap().security().bits, 0);
    }
}
