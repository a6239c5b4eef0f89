//! What each scheme adds to plans and reports: everything else in this crate is written once for all of them.

mod bgv;

pub use bgv::{BudgetFound, IntegersPlan, IntegersRun};

use crate::record::Recording;
#[cfg(not(feature = "client"))]
use limbwise::scheme::Scheme as ClientScheme;
#[cfg(feature = "client")]
use limbwise::scheme::{BridgedValues, ClientScheme};
#[cfg(feature = "client")]
use limbwise::{ckks::ShadowReport, tfhe::TfheReading};
use limbwise::{
    ckks::{BootstrapPlan, Estimate},
    params::Params,
    scheme::{Bridged, BridgedEstimate, Ckks, SlotsEstimate, Tfhe},
    tfhe::{TfheParams, noise},
};
use limbwise_apps::{
    Accuracy, Family, Program,
    family::{AnswerTable, Compared},
    registry::{Clients, Registered},
};
#[cfg(feature = "client")]
use limbwise_math::rns::to_f64;
use schemars::JsonSchema;
use serde::Serialize;

/// A scheme that the pipeline plans, runs and reports.
pub trait Piped: Family + ClientScheme {
    /// Whether shadow mode means something: where results are exact, a run compares all of them with the clear twin.
    const HAS_SHADOWS: bool = false;

    fn planned<P: Program<Scheme = Self>>(program: &P, recording: &Recording<Self>) -> SchemePlan;

    /// What is expected of the results, in short.
    fn forecast(params: &Self::Params, results: &[Self::Estimate], rotations: u64) -> Forecast;

    /// Sizes and errors of results that are approximate; none where they are exact.
    fn errors(_results: &[Self::Estimate]) -> Option<Vec<Estimate>> {
        None
    }

    /// Its section of a run's report.
    #[cfg(feature = "client")]
    fn found<P: Program<Scheme = Self>>(program: &P, of: Ran<'_, Self>) -> SchemeRun;
}

/// A scheme with everything that a workload may be asked for.
pub trait Whole: Piped + Registered + Clients {}

impl<S: Piped + Registered + Clients> Whole for S {}

/// What a run's section is made of.
#[cfg(feature = "client")]
pub struct Ran<'a, S: Family + ClientScheme> {
    pub planned: &'a SchemePlan,
    /// The comparison with the clear twin.
    pub found: &'a S::Found,
    pub reading: &'a S::Reading,
    pub results: &'a [S::Estimate],
    pub seconds: f64,
    pub shadow: Option<ShadowReport>,
}

/// A scheme's section of a plan.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum SchemePlan {
    /// On slots.
    #[schemars(extend("properties" = { "scheme": { "const": "ckks" } }))]
    Ckks(SlotsPlan),
    /// On messages.
    #[schemars(extend("properties" = { "scheme": { "const": "tfhe" } }))]
    Tfhe(MessagesPlan),
    /// On integers.
    #[schemars(extend("properties" = { "scheme": { "const": "bgv" } }))]
    Bgv(IntegersPlan),
    /// Of two schemes.
    #[schemars(extend("properties" = { "scheme": { "const": "tfhe+ckks" } }))]
    Bridged(BridgedPlan),
}

/// What is expected of results, for reports that say no more.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Forecast {
    /// On slots.
    Ckks {
        /// Precision of the first result that is expected, in bits.
        precision_bits_predicted: f64,
        /// Rescales left in the lowest result.
        levels_left: usize,
    },
    /// On messages.
    Tfhe {
        /// log₂ of the probability that any bootstrapping fails.
        log2_failure: f64,
    },
    /// On integers.
    Bgv {
        /// Bits that the noise leaves free in the result that has fewest, by its bound.
        budget_bits_predicted: f64,
    },
    /// Of two schemes.
    Bridged {
        /// log₂ of the probability that any bootstrapping fails.
        log2_failure: f64,
        /// Precision of the first result that is expected, in bits.
        precision_bits_predicted: f64,
        /// Rescales left in the lowest result.
        levels_left: usize,
    },
}

impl Forecast {
    /// What of it is known of results without a recording: not how often bootstrappings fail, whose number is not.
    #[must_use]
    pub fn of_results(self) -> Option<Self> {
        match self {
            Self::Tfhe { .. } => None,
            Self::Bridged { precision_bits_predicted, levels_left, .. } => {
                Some(Self::Ckks { precision_bits_predicted, levels_left })
            }
            Self::Ckks { .. } | Self::Bgv { .. } => Some(self),
        }
    }
}

/// A scheme's section of a run's report.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum SchemeRun {
    /// On slots.
    #[schemars(extend("properties" = { "scheme": { "const": "ckks" } }))]
    Ckks(SlotsRun),
    /// On messages.
    #[schemars(extend("properties" = { "scheme": { "const": "tfhe" } }))]
    Tfhe(MessagesRun),
    /// On integers.
    #[schemars(extend("properties" = { "scheme": { "const": "bgv" } }))]
    Bgv(IntegersRun),
    /// Of two schemes.
    #[schemars(extend("properties" = { "scheme": { "const": "tfhe+ckks" } }))]
    Bridged(BridgedRun),
}

impl SchemeRun {
    /// How many results are wrong, and of how many, where they are exact.
    pub fn wrong(&self) -> Option<[usize; 2]> {
        match self {
            Self::Ckks(_) => None,
            Self::Tfhe(run) => Some([run.wrong, run.messages]),
            Self::Bgv(run) => Some([run.wrong, run.compared]),
            Self::Bridged(run) => Some([run.wrong, run.rows]),
        }
    }
}

/// The ring and chain in numbers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RingSummary {
    /// log₂ N.
    pub log_n: u32,
    /// log₂ of the product of all primes.
    pub log_qp: f64,
    /// Primes of the chain and special primes.
    pub limbs: [usize; 2],
    /// Digits of key switching at the top.
    pub dnum: usize,
}

impl RingSummary {
    fn of(params: &Params) -> Self {
        Self {
            log_n: params.log_n(),
            log_qp: params.security().log_qp,
            limbs: [params.limbs(params.top_level()), params.special().len()],
            dnum: params.digits(params.top_level()).len(),
        }
    }
}

/// A plan's section of CKKS.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SlotsPlan {
    /// The ring and chain.
    pub ring: RingSummary,
    /// Levels the program uses and leaves.
    pub levels: Levels,
    /// Rescales left in the lowest result.
    pub levels_left: usize,
    /// How the program bootstraps, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bootstrapping: Option<BootstrapSummary>,
    /// Expected precision of the first result.
    pub precision_bits: crate::plan::Predicted<f64>,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct Levels {
    /// Of a fresh ciphertext.
    pub fresh: usize,
    /// That the program takes.
    pub used: usize,
}

/// How a program bootstraps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BootstrapSummary {
    #[serde(flatten)]
    pub plan: BootstrapPlan,
    /// Levels between two bootstrappings.
    pub levels: usize,
    /// log₂ of the probability that a coefficient of one of them leaves EvalMod's range.
    pub log2_failure: f64,
}

/// A report's section of CKKS.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SlotsRun {
    /// Measured against the clear twin, and predicted.
    pub precision_bits: PrecisionBits,
    /// Rescales left in the lowest result.
    pub levels_left: usize,
    /// For programs that classify.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<Accuracy>,
    /// What shadow mode found.
    #[cfg(feature = "client")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shadow: Option<ShadowReport>,
}

/// Bits of precision of the first result.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct PrecisionBits {
    /// −log₂ of the mean absolute error.
    pub mean: f64,
    /// −log₂ of the largest absolute error.
    pub min: f64,
    /// The mean, predicted.
    pub predicted: f64,
}

/// Level and precision of results on slots.
fn lowest<'a>(results: impl Iterator<Item = &'a SlotsEstimate> + Clone) -> (f64, usize) {
    let first = results.clone().next().map_or(0.0, |first| first.estimate.precision_bits());
    (first, results.map(|result| result.level).min().unwrap_or(0))
}

impl Piped for Ckks {
    const HAS_SHADOWS: bool = true;

    fn planned<P: Program<Scheme = Self>>(program: &P, recording: &Recording<Self>) -> SchemePlan {
        let params = program.params();
        let (predicted, left) = lowest(recording.results.iter());
        let bootstrapping = program.model().bootstrapping.zip(params.bootstrapping()).map(|(plan, levels)| {
            // Certain to succeed is 2^−∞, which JSON does not have.
            let log2_failure = levels.log2_failure(plan.slots).max(NEVER);
            BootstrapSummary { plan, levels: levels.levels, log2_failure }
        });
        SchemePlan::Ckks(SlotsPlan {
            ring: RingSummary::of(params),
            levels: Levels { fresh: params.top_level(), used: params.top_level() - left },
            levels_left: left,
            bootstrapping,
            precision_bits: crate::plan::Predicted { predicted },
        })
    }

    fn forecast(_: &Params, results: &[SlotsEstimate], _: u64) -> Forecast {
        let (precision_bits_predicted, levels_left) = lowest(results.iter());
        Forecast::Ckks { precision_bits_predicted, levels_left }
    }

    fn errors(results: &[SlotsEstimate]) -> Option<Vec<Estimate>> {
        Some(results.iter().map(|result| result.estimate).collect())
    }

    #[cfg(feature = "client")]
    fn found<P: Program<Scheme = Self>>(_: &P, of: Ran<'_, Self>) -> SchemeRun {
        let (predicted, levels_left) = lowest(of.results.iter());
        let precision = of.found.precision;
        SchemeRun::Ckks(SlotsRun {
            precision_bits: PrecisionBits { mean: precision.mean, min: precision.min, predicted },
            levels_left,
            accuracy: of.found.accuracy,
            shadow: of.shadow,
        })
    }
}

/// The keys of a parameter set of TFHE.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LweSummary {
    /// log₂ N.
    pub log_n: u32,
    /// Masks k.
    pub masks: usize,
    pub prime_bits: u32,
    /// Dimension n of the narrow key: steps of a blind rotation.
    pub dimension: usize,
    /// log₂ of the narrow key's modulus.
    pub log_modulus: u32,
    /// Bits of a message, carries included, the padding bit not.
    pub message_bits: u32,
}

impl LweSummary {
    fn of(params: &TfheParams) -> Self {
        let l = params.literal();
        Self {
            log_n: l.log_n,
            masks: l.masks,
            prime_bits: l.prime_bits(),
            dimension: l.lwe_dimension,
            log_modulus: l.log_lwe_modulus,
            message_bits: l.message_bits,
        }
    }
}

/// log₂ of deviations over the modulus.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct NoiseSummary {
    /// Of a fresh encryption.
    pub fresh: f64,
    /// That a blind rotation leaves.
    pub blind_rotation: f64,
    /// That a key switch adds.
    pub key_switch: f64,
    /// That the switch of the modulus to 2N adds.
    pub mod_switch: f64,
    /// What a blind rotation meets at the largest norm.
    pub worst: f64,
}

impl NoiseSummary {
    fn of(params: &TfheParams) -> Self {
        let l = params.literal();
        let log = |variance: f64| variance.log2() / 2.0;
        Self {
            fresh: log(noise::fresh(l)),
            blind_rotation: log(noise::blind_rotation(l)),
            key_switch: log(noise::key_switch(l)),
            mod_switch: log(noise::mod_switch(l, 0)),
            worst: log(noise::before_rotation(l, l.norm * l.norm, 0)),
        }
    }
}

/// Probabilities as log₂.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FailureSummary {
    /// Norm of the sums before a bootstrapping that all this holds for.
    pub norm: f64,
    /// What the parameters promise of one bootstrapping.
    pub promised: f64,
    /// One bootstrapping at the worst input.
    pub bootstrapping: f64,
    /// Any of the program's, at most; −999 where nothing is bootstrapped.
    pub program: f64,
}

/// What stands for the logarithm of no probability.
pub const NEVER: f64 = -999.0;

impl FailureSummary {
    fn of(params: &TfheParams, rotations: u64) -> Self {
        let (l, one) = (params.literal(), params.log2_failure());
        let program = (one + (rotations as f64).log2()).clamp(NEVER, 0.0);
        Self { norm: l.norm, promised: l.log2_failure, bootstrapping: one, program }
    }
}

/// A plan's section of TFHE.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MessagesPlan {
    /// Both keys in numbers.
    pub lwe: LweSummary,
    /// Noise of each step, as log₂ of its deviation over the modulus.
    pub noise: NoiseSummary,
    /// How often it may fail.
    pub failure: FailureSummary,
    /// Programmable bootstrappings of the whole program.
    pub bootstrappings: u64,
    /// Bytes of both keys as they are published: bodies, and one seed.
    pub published_key_bytes: u64,
}

/// A report's section of TFHE.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MessagesRun {
    /// Time of the evaluation for each bootstrapping, in milliseconds.
    pub ms_per_bootstrapping: f64,
    pub bootstrappings: u64,
    /// Messages that came out.
    pub messages: usize,
    /// Messages that are not the clear twin's.
    pub wrong: usize,
    /// Noise of the results, measured against the clear twin's phases, and predicted.
    pub noise_found: NoiseFound,
    /// log₂ of the probability that any bootstrapping of the program fails.
    pub log2_failure: f64,
    /// Bytes of both keys as they are published.
    pub published_key_bytes: u64,
}

/// log₂ of deviations over the modulus.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct NoiseFound {
    /// Root of the mean square over all results.
    pub measured: f64,
    /// Of one bootstrapping, which the results of a program may be sums of.
    pub bootstrapping: f64,
}

/// log₂ of the root mean square of `phase − encode(message)`, over the modulus; no noise at all is −999.
#[cfg(feature = "client")]
fn log2_noise(params: &TfheParams, reading: &[TfheReading], wanted: &[Vec<u64>]) -> f64 {
    let q = params.modulus();
    let error = |(&phase, &message): (&u64, &u64)| {
        let error = q.sub(phase, params.encode(message.cast_signed()));
        let size = to_f64(error.min(q.value() - error)) / to_f64(q.value());
        size * size
    };
    let phases = || reading.iter().flat_map(|result| &result.phases);
    let sum: f64 = phases().zip(wanted.iter().flatten()).map(error).sum();
    ((sum / phases().count().max(1) as f64).log2() / 2.0).max(-999.0)
}

impl Piped for Tfhe {
    fn planned<P: Program<Scheme = Self>>(program: &P, recording: &Recording<Self>) -> SchemePlan {
        let params = program.params();
        SchemePlan::Tfhe(MessagesPlan {
            lwe: LweSummary::of(params),
            noise: NoiseSummary::of(params),
            failure: FailureSummary::of(params, recording.rotations),
            bootstrappings: recording.rotations,
            published_key_bytes: params.published_key_bytes(),
        })
    }

    fn forecast(params: &TfheParams, _: &[Self::Estimate], rotations: u64) -> Forecast {
        Forecast::Tfhe { log2_failure: FailureSummary::of(params, rotations).program }
    }

    #[cfg(feature = "client")]
    fn found<P: Program<Scheme = Self>>(program: &P, of: Ran<'_, Self>) -> SchemeRun {
        let SchemePlan::Tfhe(planned) = of.planned else { unreachable!("a plan of the same program") };
        let measured = log2_noise(program.params(), of.reading, &of.found.wanted);
        SchemeRun::Tfhe(MessagesRun {
            ms_per_bootstrapping: of.seconds * 1e3 / planned.bootstrappings.max(1) as f64,
            bootstrappings: planned.bootstrappings,
            messages: of.found.wanted.iter().map(Vec::len).sum(),
            wrong: of.found.wrong,
            noise_found: NoiseFound { measured, bootstrapping: planned.noise.blind_rotation },
            log2_failure: planned.failure.program,
            published_key_bytes: planned.published_key_bytes,
        })
    }
}

/// A plan's section of a program of TFHE and CKKS.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BridgedPlan {
    /// TFHE's keys in numbers.
    pub lwe: LweSummary,
    /// The CKKS ring and chain.
    pub ring: RingSummary,
    /// How often the comparisons may fail.
    pub failure: FailureSummary,
    /// log₂ of the probability that a coefficient leaves EvalMod's range on the bridge.
    pub log2_bridge_failure: f64,
    /// Programmable bootstrappings of all rows.
    pub bootstrappings: u64,
    /// Levels behind the bridge: there are, and are left by the first result.
    pub levels: [usize; 2],
}

/// A report's section of a program of TFHE and CKKS.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BridgedRun {
    /// The answer; of a table, the number in it that is off most.
    pub answer: Compared,
    /// The answer as rows, where it is more than one sum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<AnswerTable>,
    pub rows_passing: usize,
    /// Flags of rows that were decided otherwise than by the clear twin: one a row for every group and CASE.
    pub wrong: usize,
    /// Rows there are; the workload says it too.
    #[serde(skip)]
    pub rows: usize,
    /// Largest error of a bit that a row was multiplied with.
    pub largest_bit_error: f64,
    pub bootstrappings: u64,
    /// log₂ of the probability that any bootstrapping fails.
    pub log2_failure: f64,
}

/// Those of the results that are on slots.
fn slots(results: &[BridgedEstimate]) -> impl Iterator<Item = &SlotsEstimate> + Clone {
    results.iter().filter_map(|result| match result {
        BridgedEstimate::Slots(slots) => Some(slots),
        BridgedEstimate::Messages(_) => None,
    })
}

impl Piped for Bridged {
    fn planned<P: Program<Scheme = Self>>(program: &P, recording: &Recording<Self>) -> SchemePlan {
        let (ckks, tfhe) = (program.params().ckks(), program.params().tfhe());
        let used = program.model().slots;
        let bridge = ckks.bootstrapping().map_or(NEVER, |boot| boot.log2_failure(used).max(NEVER));
        let left = slots(&recording.results).next().map_or(0, |first| first.level);
        SchemePlan::Bridged(BridgedPlan {
            lwe: LweSummary::of(tfhe),
            ring: RingSummary::of(ckks),
            failure: FailureSummary::of(tfhe, recording.rotations),
            log2_bridge_failure: bridge,
            bootstrappings: recording.rotations,
            levels: [ckks.user_level(), left],
        })
    }

    fn forecast(params: &Self::Params, results: &[BridgedEstimate], rotations: u64) -> Forecast {
        let (precision_bits_predicted, levels_left) = lowest(slots(results));
        let log2_failure = FailureSummary::of(params.tfhe(), rotations).program;
        Forecast::Bridged { log2_failure, precision_bits_predicted, levels_left }
    }

    fn errors(results: &[BridgedEstimate]) -> Option<Vec<Estimate>> {
        Some(slots(results).map(|result| result.estimate).collect())
    }

    #[cfg(feature = "client")]
    fn found<P: Program<Scheme = Self>>(_: &P, of: Ran<'_, Self>) -> SchemeRun {
        let SchemePlan::Bridged(planned) = of.planned else { unreachable!("a plan of the same program") };
        let (_, found): (&Vec<BridgedValues>, _) = (of.reading, of.found);
        SchemeRun::Bridged(BridgedRun {
            answer: found.answer.clone(),
            table: found.table.clone(),
            rows_passing: found.rows_passing,
            wrong: found.wrong,
            rows: found.rows,
            largest_bit_error: found.largest_bit_error,
            bootstrappings: planned.bootstrappings,
            log2_failure: planned.failure.program,
        })
    }
}
