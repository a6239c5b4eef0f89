//! Running a program for real, with every measurement beside its prediction.

use crate::{
    any_device::AnyDevice,
    clock::{Clock, Event, MEMORY_STEP, PeakMemory, Step, evaluation_seconds},
    error::{Error, Result},
    head::Head,
    host::{peak_memory_bytes, reserve},
    keys::{Ask, InMemory, OnDisk, Traffic},
    offload::{Division, arrange, sentences},
    plan::{KeyReads, Plan},
    profile::{RegionSeconds, profile},
    record::Recording,
    scheme::{Piped, Ran, SchemeRun},
    session::{Of, Reader, Sides, session},
    shadow::{Onlooker, Shadowing},
};
use limbwise::{
    ckks::{ShadowBound, ShadowReport},
    rlwe::KeyForm,
    scheme::{ClientScheme, Scheme},
};
use limbwise_apps::{Client, Details, Journal, Observer, Program, program::Results};
use limbwise_machines::{Spec, time};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::PathBuf;

/// What a run found: the JSON contract of `limbwise run`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RunReport {
    /// What every report begins with.
    #[serde(flatten)]
    pub head: Head,
    /// Why the parameters may be insecure, if the security check was overridden.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insecure_reason: Option<String>,
    /// Keys and ciphertexts came from randomness that anybody can repeat.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub insecure_randomness: bool,
    /// Time of the evaluation: the program between encryption and decryption.
    pub seconds: f64,
    /// Every step with its time, keys, encryption and decryption included.
    pub steps: Vec<Step>,
    #[serde(flatten)]
    pub scheme: SchemeRun,
    /// How evaluation keys are kept.
    pub key_form: KeyForm,
    /// Bytes of all keys as a server has them.
    pub key_bytes: u64,
    /// How keys on disk were read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_reads: Option<KeyReading>,
    /// Bytes of encoded clear values that the program used.
    pub plaintext_bytes: u64,
    /// Most memory of the process.
    pub peak_memory_bytes: PeakMemory,
    /// Page faults during the evaluation; absent where the system does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minor_faults: Option<u64>,
    /// Time of the evaluation, predicted before the run.
    pub seconds_predicted: f64,
    /// The interval in which it was expected nine times of ten; absent for a divided program, whose parts are predicted one
    /// by one, and in shadow mode, which computes everything a second time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds_interval: Option<[f64; 2]>,
    /// Where the evaluation's time went, region by region; absent if nobody asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<Vec<RegionSeconds>>,
    /// How the program was divided; absent on one device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offload: Option<Division>,
    /// What the workload adds.
    #[serde(flatten)]
    pub details: Details,
    /// Sentences to read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// How keys on disk were read: as planned, and what became of it.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct KeyReading {
    #[serde(flatten)]
    pub planned: KeyReads,
    pub measured: Traffic,
}

/// What a run is given beside a plan.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Where keys on disk are kept for as long as it takes.
    pub key_dir: PathBuf,
    /// Shadow mode: every result is compared with its clear twin, against this bound. Its memory and time are not planned.
    pub shadow: Option<ShadowBound>,
    /// Times the regions of the evaluation, beside those of this model of the host. Only the CPU has times of regions.
    pub profile: Option<Spec>,
    /// Asked now and then whether to go on, while keys are made and used in memory; an error ends the run.
    pub ask: Option<Ask>,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self { key_dir: std::env::temp_dir(), shadow: None, profile: None, ask: None }
    }
}

/// Decrypted results, and what was known of them before.
struct Read<S: ClientScheme> {
    reading: S::Reading,
    estimates: Vec<S::Estimate>,
    traffic: Option<Traffic>,
}

/// A session with its keys where they were planned to be, and what was read of them.
fn evaluated<P: Program<Scheme: Piped>, C: Client<Scheme = P::Scheme>>(
    (dev, sides): (&AnyDevice, &Sides<'_, P, Of<'_, C>>),
    recording: &Recording<P::Scheme>,
    options: &RunOptions,
    (observer, journal): (&mut dyn Observer, &mut dyn Journal<AnyDevice, P::Scheme>),
    onlooker: &impl Onlooker<P::Scheme, AnyDevice>,
) -> limbwise::Result<Read<P::Scheme>> {
    let read =
        |reader: &Reader<'_, P::Scheme, AnyDevice>, inputs: Results<P, AnyDevice>, results: Results<P, AnyDevice>| {
            let estimates = results.iter().map(|result| P::Scheme::estimate(reader.params, result)).collect();
            let reading = P::Scheme::open(reader.setup(), reader.secrets, &inputs, &results)?;
            Ok(Read { reading, estimates, traffic: None })
        };
    let Some(reads) = &recording.reads else {
        let home = InMemory { ask: options.ask };
        return session(dev, sides, (&recording.keys, &home), (observer, journal), onlooker, read);
    };
    let home = OnDisk::new(reads, &options.key_dir);
    let results = session(dev, sides, (&recording.keys, &home), (observer, journal), onlooker, read)?;
    Ok(Read { traffic: Some(home.traffic()), ..results })
}

/// The same in shadow mode, with what was found.
fn shadowed<P: Program<Scheme: Piped>, C: Client<Scheme = P::Scheme>>(
    (dev, sides): (&AnyDevice, &Sides<'_, P, Of<'_, C>>),
    recording: &Recording<P::Scheme>,
    options: &RunOptions,
    watch: (&mut dyn Observer, &mut dyn Journal<AnyDevice, P::Scheme>),
    bound: ShadowBound,
) -> Result<(Read<P::Scheme>, ShadowReport)> {
    dev.keep_regions();
    let shadowing = Shadowing::new(bound);
    let run = evaluated((dev, sides), recording, options, watch, &shadowing);
    let report = shadowing.report();
    // A value that its modulus does not hold is the cause only where nothing was wrong before the results were read.
    match (run, report.first.as_ref().or(report.beyond.as_ref())) {
        (Ok(read), _) => Ok((read, report)),
        (Err(cause), None) => Err(cause.into()),
        (Err(cause), Some(first)) => Err(Error::Shadow { finding: Box::new(first.clone()), cause: Box::new(cause) }),
    }
}

/// Runs a program that was recorded and planned.
pub fn run<P: Program<Scheme: Piped>, C: Client<Scheme = P::Scheme>>(
    dev: &AnyDevice,
    sides: &Sides<'_, P, Of<'_, C>>,
    (recording, plan): (&Recording<P::Scheme>, &Plan),
    options: &RunOptions,
    journal: &mut dyn Journal<AnyDevice, P::Scheme>,
    tell: &mut dyn FnMut(Event),
) -> Result<RunReport> {
    let program = sides.program;
    let mut clock = Clock::new(tell);
    clock.step(MEMORY_STEP, 0, 1);
    reserve::<P::Scheme>(dev, program.params(), plan.peak_memory_bytes.predicted, recording)?;
    let division = arrange(dev, &recording.graph)?;
    let watch: (&mut dyn Observer, &mut dyn Journal<AnyDevice, P::Scheme>) = (&mut clock, journal);
    // Before anything is computed that an error would lose.
    let modelled = options.profile.as_ref().map(|host| time(&recording.graph, host)).transpose()?;
    if modelled.is_some() {
        dev.time_regions();
    }
    let (read, shadow) = match options.shadow {
        None => (evaluated((dev, sides), recording, options, watch, &())?, None),
        Some(bound) => {
            let (read, report) = shadowed((dev, sides), recording, options, watch, bound)?;
            (read, Some(report))
        }
    };
    let Read { reading, estimates, traffic } = read;
    let measured = peak_memory_bytes();
    let (steps, minor_faults) = clock.finish();
    let conclusion = sides.client.0.conclude(&reading);
    let named: Vec<(&str, f64)> = steps.iter().map(|s| (s.name.as_str(), s.seconds)).collect();
    let mut details = plan.details.clone();
    details.extend(conclusion.details);
    details.extend(program.timed(&named));
    let mut warnings = conclusion.warnings;
    warnings.extend(sentences(dev, division.as_ref()));
    let seconds = evaluation_seconds(&steps);
    let profile = modelled.map(|host| profile(&recording.graph, &dev.region_times(), seconds, &host));
    let (planned, found) = (&plan.scheme, &conclusion.found);
    let ran = Ran { planned, found, reading: &reading, results: &estimates, seconds, shadow };
    Ok(RunReport {
        head: plan.head.clone(),
        insecure_reason: plan.security.insecure_reason.clone(),
        insecure_randomness: sides.seeds.is_insecure(),
        seconds,
        steps,
        scheme: P::Scheme::found(program, ran),
        key_form: plan.key_form,
        key_bytes: plan.key_bytes,
        key_reads: plan.key_reads.zip(traffic).map(|(planned, measured)| KeyReading { planned, measured }),
        plaintext_bytes: plan.plaintext_bytes,
        peak_memory_bytes: PeakMemory { measured, predicted: plan.peak_memory_bytes.predicted },
        minor_faults,
        seconds_predicted: division.as_ref().map_or(plan.seconds_predicted, Division::seconds),
        seconds_interval: (division.is_none() && options.shadow.is_none()).then_some(plan.seconds_interval),
        profile,
        offload: division,
        details,
        warnings,
    })
}
