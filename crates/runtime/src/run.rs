//! Running a program for real, with every measurement beside its prediction.

use crate::{
    any_device::AnyDevice,
    clock::{Clock, Event, MEMORY_STEP, PeakMemory, Step, evaluation_seconds},
    error::{Error, Result},
    head::Head,
    host::{peak_memory_bytes, reserve},
    keys::{Ask, InMemory, OnDisk, Traffic},
    plan::{KeyReads, Plan},
    record::Recording,
    session::{Reader, Sides, session},
    shadow::{Onlooker, Shadowing},
};
use limbwise::{
    Complex64,
    ckks::{Ciphertext, ShadowBound, ShadowReport, decrypt},
    rlwe::KeyForm,
};
use limbwise_apps::{Accuracy, Client, Journal, Observer, Program};
use serde::Serialize;
use std::path::PathBuf;

/// What a run found: the JSON contract of `limbwise run`.
#[derive(Clone, Debug, Serialize)]
pub struct RunReport {
    /// What every report begins with.
    #[serde(flatten)]
    pub head: Head,
    /// Why it may be insecure, where leave was taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insecure_reason: Option<String>,
    /// Keys and ciphertexts came from randomness that anybody can repeat.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub insecure_randomness: bool,
    /// Time of the evaluation: the program between encryption and decryption.
    pub seconds: f64,
    /// Every step with its time, keys, encryption and decryption included.
    pub steps: Vec<Step>,
    /// Measured against the clear twin, and predicted.
    pub precision_bits: PrecisionBits,
    /// Rescales left in the lowest result.
    pub levels_left: usize,
    /// For programs that classify.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<Accuracy>,
    /// How evaluation keys are kept.
    pub key_form: KeyForm,
    /// Bytes of all evaluation keys.
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
    /// What shadow mode found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shadow: Option<ShadowReport>,
    /// What the workload adds.
    #[serde(flatten)]
    pub details: serde_json::Map<String, serde_json::Value>,
    /// Sentences to read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// How keys on disk were read: as planned, and what became of it.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct KeyReading {
    /// The plan.
    #[serde(flatten)]
    pub planned: KeyReads,
    /// What was done.
    pub measured: Traffic,
}

/// Bits of precision of the first result.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PrecisionBits {
    /// −log₂ of the mean absolute error.
    pub mean: f64,
    /// −log₂ of the largest absolute error.
    pub min: f64,
    /// The mean, predicted.
    pub predicted: f64,
}

/// What a run is given beside a plan.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Where keys on disk are kept for as long as it takes.
    pub key_dir: PathBuf,
    /// Shadow mode: every result is compared with its clear twin, against this bound. Its memory and time are not planned.
    pub shadow: Option<ShadowBound>,
    /// Asked now and then whether to go on, while keys are made and used in memory; an error ends the run.
    pub ask: Option<Ask>,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self { key_dir: std::env::temp_dir(), shadow: None, ask: None }
    }
}

/// A result's slots, and its level.
type Read = (Vec<Vec<Complex64>>, usize);

/// A session with its keys where they were planned to be, and what was read of them.
fn evaluated<P: Program, C: Client>(
    (dev, sides): (&AnyDevice, &Sides<'_, P, C>),
    recording: &Recording,
    options: &RunOptions,
    (observer, journal): (&mut dyn Observer, &mut dyn Journal<AnyDevice>),
    onlooker: &impl Onlooker<AnyDevice>,
) -> limbwise::Result<(Vec<Read>, Option<Traffic>)> {
    let read = |reader: &Reader<'_, AnyDevice>, result: &Ciphertext<AnyDevice>| {
        let values = decrypt(reader.dev, reader.encoder, sides.program.params(), reader.secret, result)?;
        Ok((values, result.level))
    };
    let Some(reads) = &recording.reads else {
        return Ok((
            session(
                dev,
                sides,
                (&recording.keys, &InMemory { ask: options.ask }),
                (observer, journal),
                onlooker,
                read,
            )?,
            None,
        ));
    };
    let home = OnDisk::new(reads, &options.key_dir);
    let results = session(dev, sides, (&recording.keys, &home), (observer, journal), onlooker, read)?;
    Ok((results, Some(home.traffic())))
}

/// The same in shadow mode, with what was found.
fn shadowed<P: Program, C: Client>(
    (dev, sides): (&AnyDevice, &Sides<'_, P, C>),
    recording: &Recording,
    options: &RunOptions,
    watch: (&mut dyn Observer, &mut dyn Journal<AnyDevice>),
    bound: ShadowBound,
) -> Result<(Vec<Read>, Option<Traffic>, ShadowReport)> {
    dev.keep_regions();
    let shadowing = Shadowing::new(bound);
    let run = evaluated((dev, sides), recording, options, watch, &shadowing);
    let report = shadowing.report();
    match (run, &report.first) {
        (Ok((results, traffic)), _) => Ok((results, traffic, report)),
        (Err(cause), None) => Err(cause.into()),
        (Err(cause), Some(first)) => Err(Error::Shadow { finding: Box::new(first.clone()), cause: Box::new(cause) }),
    }
}

/// Runs a program that was recorded and planned.
///
/// # Errors
/// What the schemes refuse, or a device fault.
pub fn run<P: Program, C: Client>(
    dev: &AnyDevice,
    sides: &Sides<'_, P, C>,
    (recording, plan): (&Recording, &Plan),
    options: &RunOptions,
    journal: &mut dyn Journal<AnyDevice>,
    tell: &mut dyn FnMut(Event),
) -> Result<RunReport> {
    let program = sides.program;
    let mut clock = Clock::new(tell);
    clock.step(MEMORY_STEP, 0, 1);
    reserve(dev, program, plan.peak_memory_bytes.predicted, recording)?;
    let watch: (&mut dyn Observer, &mut dyn Journal<AnyDevice>) = (&mut clock, journal);
    let (results, traffic, shadow) = match options.shadow {
        None => {
            let (results, traffic) = evaluated((dev, sides), recording, options, watch, &())?;
            (results, traffic, None)
        }
        Some(bound) => {
            let (results, traffic, report) = shadowed((dev, sides), recording, options, watch, bound)?;
            (results, traffic, Some(report))
        }
    };
    let measured = peak_memory_bytes();
    let (steps, minor_faults) = clock.finish();
    let (values, levels): (Vec<_>, Vec<usize>) = results.into_iter().unzip();
    let conclusion = sides.client.conclude(&values);
    let named: Vec<(&str, f64)> = steps.iter().map(|s| (s.name.as_str(), s.seconds)).collect();
    let mut details = program.details();
    details.extend(conclusion.details);
    details.extend(program.timed(&named));
    let predicted = plan.precision_bits.predicted;
    Ok(RunReport {
        head: plan.head.clone(),
        insecure_reason: plan.security.insecure_reason.clone(),
        insecure_randomness: sides.seeds.is_insecure(),
        seconds: evaluation_seconds(&steps),
        steps,
        precision_bits: PrecisionBits { mean: conclusion.precision.mean, min: conclusion.precision.min, predicted },
        levels_left: levels.into_iter().min().unwrap_or(0),
        accuracy: conclusion.accuracy,
        key_form: plan.key_form,
        key_bytes: plan.key_bytes,
        key_reads: plan.key_reads.zip(traffic).map(|(planned, measured)| KeyReading { planned, measured }),
        plaintext_bytes: plan.plaintext_bytes,
        peak_memory_bytes: PeakMemory { measured, predicted: plan.peak_memory_bytes.predicted },
        minor_faults,
        seconds_predicted: plan.seconds_predicted,
        shadow,
        details,
        warnings: conclusion.warnings,
    })
}
