//! A parameter set that passed every check: the only kind that keys are made for.

use super::{
    bootstrap::Bootstrapping,
    error::ParamsError,
    known::Known,
    literal::{ParamsLiteral, PrimeChoice, Secret},
    security::{SecurityReport, gate},
    sine::Sine,
};
use limbwise_device::{Basis, Ring, RingSpec};
use limbwise_math::{
    prime::{PrimesExhausted, ntt_primes_below, ntt_primes_near},
    rns::to_f64,
    wide::Wide,
};
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
    /// Limbs of each level: level ℓ has the primes 0 … `limbs[ℓ] − 1`.
    limbs: Vec<usize>,
    /// The scale of a settled ciphertext at each level.
    scales: Vec<f64>,
    /// The same with what f64 does not hold, for scales above [`LARGEST_NARROW`].
    exact_scales: Vec<Wide>,
    digits: Vec<Basis>,
    security: SecurityReport,
    bootstrapping: Option<Bootstrapping>,
    known: Known,
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
        let Chosen { chain, special, scale } = choose_primes(literal)?;
        let limbs: Vec<usize> = literal
            .levels
            .iter()
            .scan(0, |sum, level| {
                *sum += level.len();
                Some(*sum)
            })
            .collect();
        let total = chain.len();
        let spec = RingSpec { log_n: literal.log_n, primes: [&chain[..], &special].concat() };
        let ring = Ring::new(&spec)?;
        let alpha = total.div_ceil(literal.dnum);
        let digits: Vec<Basis> = (0..total).step_by(alpha).map(|at| Basis::range(at, total.min(at + alpha))).collect();
        let special_basis = Basis::range(total, ring.moduli().len());
        let log_special = ring.log_modulus(special_basis);
        let log_digit = digits.iter().map(|&d| ring.log_modulus(d)).fold(0.0, f64::max);
        if !literal.special.is_empty() && log_special + 2.0 < log_digit {
            return Err(ParamsError::SpecialTooSmall { special: log_special, digit: log_digit, dnum: literal.dnum });
        }
        let pass = |log_modulus, secret| {
            gate(literal.standard, literal.log_n, log_modulus, secret, literal.sigma, literal.insecure.as_ref())
        };
        let mut security = pass(ring.log_modulus(ring.full()), literal.secret)?;
        let exact = if literal.log_scale > LARGEST_NARROW { exact_scales(scale, &chain, &limbs) } else { Vec::new() };
        let mut scales = match &exact[..] {
            [] => level_scales(scale, &chain, &limbs),
            exact => exact.iter().map(|scale| scale.high).collect(),
        };
        check_low_level(literal, &ring, &limbs)?;
        let bootstrapping = Bootstrapping::new(literal)?;
        if let Some(boot) = &bootstrapping {
            let q0 = chain[..limbs[0]].iter().map(|&q| to_f64(q)).product();
            boot.leaves_room(q0, scales[0])?;
            bootstrapping_scales(&mut scales, boot, &chain, &limbs);
        }
        let (literal, known) = (literal.clone(), Known::default());
        let exact_scales = exact;
        let inner = Inner {
            literal,
            ring,
            limbs,
            scales,
            exact_scales,
            digits,
            security: security.clone(),
            bootstrapping,
            known,
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
        self.0.limbs.len() - 1
    }

    /// Number of primes at a level.
    ///
    /// # Panics
    /// Above the top level; the methods below panic alike.
    #[must_use]
    pub fn limbs(&self, level: usize) -> usize {
        self.0.limbs[level]
    }

    /// The primes at a level.
    #[must_use]
    pub fn basis(&self, level: usize) -> Basis {
        Basis::range(0, self.0.limbs[level])
    }

    /// The special primes.
    #[must_use]
    pub fn special(&self) -> Basis {
        Basis::range(self.0.limbs[self.top_level()], self.0.ring.moduli().len())
    }

    /// The nonempty digits at a level, restricted to its primes.
    #[must_use]
    pub fn digits(&self, level: usize) -> Vec<Basis> {
        let live = self.basis(level);
        self.0.digits.iter().map(|&d| d & live).filter(|d| !d.is_empty()).collect()
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

    /// Product of the primes that a rescale from this level divides by.
    #[must_use]
    pub fn dropped(&self, level: usize) -> f64 {
        let from = if level == 0 { 0 } else { self.0.limbs[level - 1] };
        self.0.ring.spec().primes[from..self.0.limbs[level]].iter().map(|&q| to_f64(q)).product()
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
        let from = if level == 0 { 0 } else { self.0.limbs[level - 1] };
        exact_product(&self.0.ring.spec().primes[from..self.0.limbs[level]])
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

    /// The cache of type `T` for these parameters, initially empty; clones share it.
    pub(crate) fn table<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        self.0.known.table()
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

fn check_low_level(literal: &ParamsLiteral, ring: &Ring, limbs: &[usize]) -> Result<(), ParamsError> {
    let Some(low) = literal.low_level else { return Ok(()) };
    let total = limbs[limbs.len() - 1];
    let special = ring.log_modulus(Basis::range(total, ring.moduli().len()));
    let fits = |&level: &usize| ring.log_modulus(Basis::range(0, limbs[level])) + HIDES <= special;
    match (0..limbs.len()).take_while(fits).last() {
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

/// The primes chosen for a set.
struct Chosen {
    /// Primes of the chain, level 0 first.
    chain: Vec<u64>,
    special: Vec<u64>,
    /// Scale at the top level.
    scale: f64,
}

/// Chooses the primes that the literal leaves open.
///
/// Special primes, and levels whose bits do not sum to the scale's, take the largest primes below 2^bits. The other
/// levels are filled from the top down with the primes that bring the next level's scale nearest to the scale at the
/// top. The top scale is the median of twice as many candidates below 2^bits, so that no chosen prime is a bit longer.
fn choose_primes(literal: &ParamsLiteral) -> Result<Chosen, ParamsError> {
    let mut used: Vec<u64> = literal.levels.iter().flatten().chain(&literal.special).filter_map(exact).collect();
    let largest = |bits: u32, used: &mut Vec<u64>| -> Result<u64, PrimesExhausted> {
        let prime = ntt_primes_below(literal.log_n, bits, 1, used)?[0];
        used.push(prime);
        Ok(prime)
    };
    let mut special = Vec::new();
    for choice in &literal.special {
        special.push(match *choice {
            PrimeChoice::Exact(prime) => prime,
            PrimeChoice::Bits(bits) => largest(bits, &mut used)?,
        });
    }
    let carries = |(index, level): (usize, &Vec<PrimeChoice>)| {
        index > 0 && level.iter().map(|&c| bits_of(c)).sum::<u32>() == literal.log_scale
    };
    let top = scale_at_top(literal, &used, literal.levels.iter().enumerate().filter(|&l| carries(l)).count());
    let mut scale = top;
    let mut levels: Vec<Vec<u64>> = Vec::new();
    for (index, level) in literal.levels.iter().enumerate().rev() {
        let carries_scale = carries((index, level));
        let mut chosen = Vec::new();
        let mut target = scale * scale / top;
        for (at, &choice) in level.iter().enumerate() {
            let last = at + 1 == level.len();
            let prime = match choice {
                PrimeChoice::Exact(prime) => prime,
                PrimeChoice::Bits(bits) if carries_scale && last => nearest(literal.log_n, target, bits, &mut used)?,
                PrimeChoice::Bits(bits) => largest(bits, &mut used)?,
            };
            target /= to_f64(prime);
            chosen.push(prime);
        }
        if carries_scale {
            scale = scale * scale / chosen.iter().map(|&q| to_f64(q)).product::<f64>();
        }
        levels.push(chosen);
    }
    levels.reverse();
    Ok(Chosen { chain: levels.concat(), special, scale: top })
}

/// The median of the candidates for levels of one prime; 2^log_scale if the literal leaves none open.
fn scale_at_top(literal: &ParamsLiteral, used: &[u64], count: usize) -> f64 {
    let open = literal.levels.iter().skip(1).any(|l| l[..] == [PrimeChoice::Bits(literal.log_scale)]);
    let candidates = ntt_primes_below(literal.log_n, literal.log_scale, 2 * count, used);
    match candidates {
        Ok(candidates) if open => to_f64(candidates[count]),
        _ => 2f64.powi(literal.log_scale.cast_signed()),
    }
}

/// The unused prime nearest to a target.
fn nearest(log_n: u32, target: f64, bits: u32, used: &mut Vec<u64>) -> Result<u64, PrimesExhausted> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a positive target below 2^62")]
    let centre = target.round() as u64;
    let exhausted = PrimesExhausted { bits, log_n, wanted: used.len() + 1 };
    let prime = ntt_primes_near(log_n, centre).find(|q| !used.contains(q)).ok_or(exhausted)?;
    used.push(prime);
    Ok(prime)
}

fn exact(choice: &PrimeChoice) -> Option<u64> {
    match *choice {
        PrimeChoice::Exact(prime) => Some(prime),
        PrimeChoice::Bits(_) => None,
    }
}

fn bits_of(choice: PrimeChoice) -> u32 {
    match choice {
        PrimeChoice::Bits(bits) => bits,
        PrimeChoice::Exact(prime) => 64 - (prime - 1).leading_zeros(),
    }
}

/// `scale(ℓ−1) = scale(ℓ)²/dropped(ℓ)` while that is within one bit of the scale at the top. A level whose primes are
/// longer or shorter than the scale restarts at the top scale.
fn level_scales(top: f64, chain: &[u64], limbs: &[usize]) -> Vec<f64> {
    let mut scales = vec![top; limbs.len()];
    for level in (1..limbs.len()).rev() {
        let dropped: f64 = chain[limbs[level - 1]..limbs[level]].iter().map(|&q| to_f64(q)).product();
        let next = scales[level] * scales[level] / dropped;
        if (next / top).log2().abs() < 1.0 {
            scales[level - 1] = next;
        }
    }
    scales
}

/// [`level_scales`] in numbers of two floats.
fn exact_scales(top: f64, chain: &[u64], limbs: &[usize]) -> Vec<Wide> {
    let mut scales = vec![Wide::from(top); limbs.len()];
    for level in (1..limbs.len()).rev() {
        let dropped = exact_product(&chain[limbs[level - 1]..limbs[level]]);
        let next = (scales[level] * scales[level]).over(dropped);
        if (next.high / top).log2().abs() < 1.0 {
            scales[level - 1] = next;
        }
    }
    scales
}

fn exact_product(primes: &[u64]) -> Wide {
    primes.iter().fold(Wide::from(1.0), |product, &q| product * Wide::of_integer(q.into()))
}

/// Scales inside EvalMod follow the same rule at the size of EvalMod's primes: each scale squared and divided is that
/// of the level below. The last one is the user's scale in units of the sine if the sine fixes it, else the prime above
/// it.
fn bootstrapping_scales(scales: &mut [f64], boot: &Bootstrapping, chain: &[u64], limbs: &[usize]) {
    let dropped = |level: usize| chain[limbs[level - 1]..limbs[level]].iter().map(|&q| to_f64(q)).product::<f64>();
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
