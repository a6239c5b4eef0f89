//! The bootstrapping section of a parameter set: its literal, the levels of each step, and the failure probability.

use super::{
    error::ParamsError,
    literal::{ParamsLiteral, Secret},
    sine::{Sine, turn},
};
use limbwise_math::{
    rns::to_f64,
    uniform_sum::{log2_sub_gaussian_tail, two_sided_tail},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::f64::consts::TAU;

/// Order of the two linear steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// SlotToCoeff, ModRaise, CoeffToSlot, EvalMod. EvalMod acts on the slots themselves, so no later transform spreads
    /// its noise. The input level is that of SlotToCoeff.
    #[default]
    SlotToCoeffFirst,
    /// ModRaise, CoeffToSlot, EvalMod, SlotToCoeff. The input level is 0.
    SlotToCoeffLast,
}

/// The approximate reduction modulo q₀.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct EvalModLiteral {
    /// K: multiples of q₀ from −(K−1) to K−1 are removed.
    pub range: u32,
    /// Degree of the Chebyshev series.
    pub degree: usize,
    /// r: the series is evaluated at 2^−r of the angle, then r double angles or squarings follow.
    pub double_angles: usize,
    /// The function that the series approximates, and the straightening after it.
    pub sine: Sine,
}

impl EvalModLiteral {
    /// Levels that EvalMod consumes.
    #[must_use]
    pub fn depth(&self) -> usize {
        let series = |degree: usize| (degree + 1).next_power_of_two().trailing_zeros() as usize;
        let straight = match self.sine {
            Sine::Cosine { arcsine: ..=1 } => 0,
            Sine::Cosine { arcsine } => series(arcsine),
            Sine::Exponential { harmonics } => harmonics.next_power_of_two().trailing_zeros() as usize,
        };
        series(self.degree) + self.double_angles + straight
    }
}

/// How ciphertexts under these parameters are bootstrapped. Its levels are, from level 0 up: q₀, the steps below the
/// user's levels, the user's levels, the steps above.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct BootstrapLiteral {
    /// The order of the steps.
    #[serde(default)]
    pub order: Order,
    /// Levels, and maps, of SlotToCoeff.
    pub slot_to_coeff: usize,
    /// Levels, and maps, of CoeffToSlot.
    pub coeff_to_slot: usize,
    /// log₂(q₀/Δ₀): the ratio of q₀ to the coefficient of a slot value 1 at ModRaise.
    pub message_ratio: u32,
    /// Weight of the ephemeral secret for ModRaise; `None` uses the main secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ephemeral_weight: Option<usize>,
    /// The approximate reduction.
    pub eval_mod: EvalModLiteral,
    /// Passes for scales of more bits than one pass gives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refinement: Option<Refinement>,
}

/// Several passes in one bootstrapping: each but the first bootstraps the error that is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Refinement {
    /// Number of passes.
    pub passes: usize,
    /// log₂ of the user's scale over that of EvalMod's result. The result is brought to the user's scale by this power of
    /// two, exactly and without a level; the errors of later passes are within these bits.
    pub bits: u32,
}

/// The levels of each bootstrapping step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bootstrapping {
    /// The literal it was made from.
    pub literal: BootstrapLiteral,
    /// Levels between two bootstrappings.
    pub levels: usize,
    top: usize,
    /// Number of nonzero coefficients of the secret at ModRaise: expected, and at most.
    weight: [usize; 2],
    n: usize,
}

impl Bootstrapping {
    /// Level of the input; higher ciphertexts are dropped to it.
    #[must_use]
    pub fn input_level(&self) -> usize {
        match self.literal.order {
            Order::SlotToCoeffFirst => self.literal.slot_to_coeff,
            Order::SlotToCoeffLast => 0,
        }
    }

    /// Level of a bootstrapped ciphertext.
    #[must_use]
    pub fn output_level(&self) -> usize {
        self.input_level() + self.levels
    }

    /// Level at which EvalMod starts.
    #[must_use]
    pub fn eval_mod_level(&self) -> usize {
        self.top - self.literal.coeff_to_slot
    }

    /// Level at which EvalMod ends.
    #[must_use]
    pub fn eval_mod_end(&self) -> usize {
        self.eval_mod_level() - self.literal.eval_mod.depth()
    }

    /// Level at which SlotToCoeff starts.
    #[must_use]
    pub fn slot_to_coeff_level(&self) -> usize {
        match self.literal.order {
            Order::SlotToCoeffFirst => self.literal.slot_to_coeff,
            Order::SlotToCoeffLast => self.eval_mod_end(),
        }
    }

    /// The straightening of the sine: coefficients of its powers or harmonics. A single one is the gain.
    #[must_use]
    pub fn straightening(&self) -> Vec<f64> {
        self.literal.eval_mod.sine.straighten(turn(self.literal.message_ratio))
    }

    /// The factor that the scale takes up after an exponential: that of the second or the fourth harmonic, which is a square
    /// before its division, or else of the first, the gain of the sine.
    #[must_use]
    pub(crate) fn absorbed(&self) -> f64 {
        match self.straightening()[..] {
            [_, last] | [_, _, _, last] => last.abs(),
            [first, ..] => first,
            [] => 1.0,
        }
    }

    /// log₂ of the factor between the user's scale and that of EvalMod's result.
    pub(crate) fn log_refined(&self) -> u32 {
        self.literal.refinement.map_or(0, |refinement| refinement.bits)
    }

    /// Passes of one bootstrapping.
    #[must_use]
    pub fn passes(&self) -> usize {
        self.literal.refinement.map_or(1, |refinement| refinement.passes)
    }

    /// Root mean square of the difference between z and the straightened sine of z, for z uniform in ±`width`.
    #[must_use]
    pub fn sine_error(&self, width: f64) -> f64 {
        const POINTS: u32 = 64;
        let (sine, factors) = (self.literal.eval_mod.sine, self.straightening());
        let turn = turn(self.literal.message_ratio);
        let square = |i: u32| {
            let z = width * (f64::from(i) + 0.5) / f64::from(POINTS);
            (sine.straightened(turn, &factors, z) - z).powi(2)
        };
        ((0..POINTS).map(square).sum::<f64>() / f64::from(POINTS)).sqrt()
    }

    /// log₂ of the probability that a bootstrapping of `slots` slots exceeds EvalMod's range in some coefficient, by
    /// the union bound.
    ///
    /// The multiple of q₀ is the rounded sum of the secret's nonzero coefficients, each times a uniform variable. The
    /// series is fitted up to K − 1, so a sum that rounds to K fails: the tail starts at K − ½. The result is a bound: it
    /// is that of one variable more, which covers messages that are not small beside q₀. Sampled at short ranges, failures
    /// are as frequent as the sum without it says (`tests/ckks/bootstrap_range.rs`). For a uniform secret it is Chernoff's
    /// bound at a weight six deviations above the mean.
    /// Source: \[BTH22\]; Differs: counts from K − ½, the source from K.
    #[must_use]
    pub fn log2_failure(&self, slots: usize) -> f64 {
        let edge = f64::from(self.literal.eval_mod.range) - 0.5;
        let coefficients = 2.0 * to_f64(slots.min(self.n / 2) as u64);
        (self.log2_beyond(edge) + coefficients.log2()).min(0.0)
    }

    /// log₂ of a bound on the probability that a coefficient of a lookup is beyond ±K, where the series of the interval
    /// ends. The multiple and the fraction, which is the entry, are together at most ½ away from the sum of the secret's
    /// nonzero coefficients, each times a uniform variable; the bound is for one variable more.
    #[must_use]
    pub fn log2_lookup_failure(&self) -> f64 {
        self.log2_beyond(f64::from(self.literal.eval_mod.range) - 0.5).min(0.0)
    }

    /// log₂ of the probability that the sum behind a coefficient is beyond ±`edge`.
    fn log2_beyond(&self, edge: f64) -> f64 {
        let [_, most] = self.weight;
        match u32::try_from(most + 1) {
            Ok(count) if count <= 1024 => two_sided_tail(count, edge).log2(),
            _ => log2_sub_gaussian_tail(to_f64(most as u64 + 1) / 12.0, edge),
        }
    }

    /// Slots at most for which both halves of the coefficients fit into one message: an exponential needs four times the
    /// slots, an arcsine twice; a cosine without an arcsine cannot separate the halves, and more than two harmonics turn
    /// them by different angles.
    #[must_use]
    pub fn slots_beside(&self) -> usize {
        match self.literal.eval_mod.sine {
            Sine::Exponential { harmonics: 3.. } => 0,
            Sine::Exponential { .. } => self.n / 8,
            Sine::Cosine { arcsine: 2.. } => self.n / 4,
            Sine::Cosine { .. } => 0,
        }
    }

    /// Standard deviation of the multiple of q₀ in a coefficient.
    #[must_use]
    pub fn multiple_deviation(&self) -> f64 {
        (to_f64(self.weight[0] as u64 + 1) / 12.0).sqrt()
    }

    /// Fails if a ciphertext raised directly from level 0 leaves less than the message ratio below q₀.
    pub(super) fn leaves_room(&self, q0: f64, scale: f64) -> Result<(), ParamsError> {
        let (ratio, most) = (self.literal.message_ratio, (q0 / scale).log2());
        if self.literal.order == Order::SlotToCoeffFirst || f64::from(ratio) <= most {
            return Ok(());
        }
        let wanted = format!("at most {:.0}, which q0 leaves above the scale, or a larger q0", most.floor().max(0.0));
        Err(ParamsError::Range { field: "bootstrapping.message-ratio", got: ratio.to_string(), wanted })
    }

    /// Checks the literal against the chain.
    pub(super) fn new(literal: &ParamsLiteral) -> Result<Option<Self>, ParamsError> {
        let Some(boot) = literal.bootstrapping else { return Ok(None) };
        check_ranges(&boot, literal.log_n)?;
        let top = literal.levels.len() - 1;
        let taken = boot.slot_to_coeff + boot.coeff_to_slot + boot.eval_mod.depth();
        if top <= taken {
            return Err(ParamsError::BootstrappingTooDeep { taken, top });
        }
        let n = 1usize << literal.log_n;
        let weight = match (boot.ephemeral_weight, literal.secret) {
            (Some(h), _) | (None, Secret::FixedWeight(h)) => [h, h],
            // 2N/3, and six deviations √(2N/9) above it.
            (None, Secret::Ternary) => [2 * n / 3, 2 * n / 3 + 6 * (2 * n / 9).isqrt()],
        };
        Ok(Some(Self { literal: boot, levels: top - taken, top, weight, n }))
    }
}

fn check_ranges(boot: &BootstrapLiteral, log_n: u32) -> Result<(), ParamsError> {
    let range = |ok: bool, field: &'static str, got: String, wanted: &str| {
        if ok { Ok(()) } else { Err(ParamsError::Range { field, got, wanted: wanted.into() }) }
    };
    let maps = |field, got: usize| {
        let most = log_n as usize - 1;
        range((1..=most).contains(&got), field, got.to_string(), &format!("1 to {most} levels, one a map"))
    };
    maps("bootstrapping.slot-to-coeff", boot.slot_to_coeff)?;
    maps("bootstrapping.coeff-to-slot", boot.coeff_to_slot)?;
    let ratio = boot.message_ratio;
    range(
        (2..=20).contains(&ratio),
        "bootstrapping.message-ratio",
        ratio.to_string(),
        "2 to 20 bits, usually 5 to 10",
    )?;
    if let Some(h) = boot.ephemeral_weight {
        let most = 4096.min(1usize << log_n);
        let ok = (1..=most).contains(&h);
        range(ok, "bootstrapping.ephemeral-weight", h.to_string(), &format!("a weight from 1 to {most}, usually 32"))?;
    }
    if let Some(Refinement { passes, bits }) = boot.refinement {
        range((2..=4).contains(&passes), "bootstrapping.refinement.passes", passes.to_string(), "2 to 4")?;
        range((1..=60).contains(&bits), "bootstrapping.refinement.bits", bits.to_string(), "1 to 60")?;
        let first = boot.order == Order::SlotToCoeffFirst;
        let wanted = "no refinement with SlotToCoeff last, where a first pass can fail on constant messages";
        range(first, "bootstrapping.refinement", format!("{passes} passes"), wanted)?;
    }
    let EvalModLiteral { range: k, degree, double_angles, sine } = boot.eval_mod;
    range((2..=4096).contains(&k), "bootstrapping.eval-mod.range", k.to_string(), "2 to 4096; 16 for weight 32")?;
    range((7..=511).contains(&degree), "bootstrapping.eval-mod.degree", degree.to_string(), "7 to 511, usually 31")?;
    let angles = double_angles;
    range(angles <= 12, "bootstrapping.eval-mod.double-angles", angles.to_string(), "0 to 12, usually 3")?;
    match sine {
        Sine::Cosine { arcsine } => {
            let odd = matches!(arcsine, 0 | 1 | 3 | 5 | 7);
            let wanted = "0 (for flags), 1 (none), 3, 5 or 7";
            range(odd, "bootstrapping.eval-mod.sine.cosine.arcsine", arcsine.to_string(), wanted)?;
        }
        Sine::Exponential { harmonics } => {
            let some = matches!(harmonics, 1..=4);
            range(some, "bootstrapping.eval-mod.sine.exponential.harmonics", harmonics.to_string(), "1 to 4")?;
        }
    }
    // The series must oscillate at least as often as the cosine between its farthest multiples.
    let turns = 2.0 * f64::from(k) / (double_angles as f64).exp2();
    let least = 0.5 * TAU * turns / 2.0 + 1.0;
    let wanted = format!("at least {least:.0} for range {k} with {double_angles} double angles, or more double angles");
    range(to_f64(degree as u64) >= least, "bootstrapping.eval-mod.degree", degree.to_string(), &wanted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{Params, ParamsError, presets::presets};

    fn literal() -> ParamsLiteral {
        presets().into_iter().find(|p| p.name == "boot-cosine").unwrap().literal
    }

    #[test]
    fn levels_are_shared_out() {
        let params = Params::new(&literal()).unwrap();
        let boot = params.bootstrapping().unwrap();
        assert_eq!((boot.levels, boot.input_level(), boot.output_level()), (13, 3, 16));
        assert_eq!((boot.eval_mod_end(), boot.eval_mod_level(), params.top_level()), (16, 26, 30));
        let mut last = literal();
        last.bootstrapping.as_mut().unwrap().order = Order::SlotToCoeffLast;
        let boot = *Params::new(&last).unwrap().bootstrapping().unwrap();
        assert_eq!((boot.input_level(), boot.output_level(), boot.slot_to_coeff_level()), (0, 13, 16));
    }

    #[test]
    fn failure_counts_from_the_last_fitted_multiple() {
        let boot = *Params::new(&literal()).unwrap().bootstrapping().unwrap();
        assert!((boot.log2_failure(1 << 15) + 105.7).abs() < 0.06, "{}", boot.log2_failure(1 << 15));
        assert!((boot.log2_failure(1 << 14) + 106.7).abs() < 0.06);
    }

    #[test]
    fn nonsense_is_refused_with_reasons() {
        let refused = |change: &dyn Fn(&mut BootstrapLiteral)| {
            let mut l = literal();
            change(l.bootstrapping.as_mut().unwrap());
            Params::new(&l).unwrap_err().to_string()
        };
        assert!(
            refused(&|b| b.eval_mod.sine = Sine::Cosine { arcsine: 4 }).contains("0 (for flags), 1 (none), 3, 5 or 7")
        );
        assert!(refused(&|b| b.eval_mod.double_angles = 0).contains("more double angles"));
        assert!(refused(&|b| b.coeff_to_slot = 0).contains("coeff-to-slot"));
        assert!(refused(&|b| b.ephemeral_weight = Some(16)).contains("weight 16"));
        assert!(refused(&|b| b.ephemeral_weight = Some(70_000)).contains("ephemeral-weight = 70000: choose a weight"));
        assert!(refused(&|b| b.ephemeral_weight = Some(0)).contains("ephemeral-weight = 0"));
        let mut narrow = literal();
        let boot = narrow.bootstrapping.as_mut().unwrap();
        (boot.order, boot.message_ratio) = (Order::SlotToCoeffLast, 11); // 50 bits of q₀ above a scale of 40
        let refused = Params::new(&narrow).unwrap_err().to_string();
        assert!(refused.contains("message-ratio = 11: choose at most"), "{refused}");
        let mut short = literal();
        short.levels.truncate(10);
        assert_eq!(Params::new(&short).unwrap_err(), ParamsError::BootstrappingTooDeep { taken: 17, top: 9 });
    }
}
