//! Running a program for real, with every measurement beside its prediction.

use crate::{
    error::{Error, Result},
    host::{available_memory_bytes, minor_faults, peak_memory_bytes, resident_memory_bytes},
    keys::{InMemory, OnDisk, Traffic},
    plan::{KeyReads, Plan},
    record::Recording,
    session::{BOOTSTRAP_STEP, DECRYPT_STEP, ENCODE_STEP, ENCRYPT_STEP, KEY_STEP, Reader, session},
    shadow::{Onlooker, Shadowing},
};
use limbwise::{
    Complex64,
    ckks::{Ciphertext, ShadowBound, ShadowReport, decrypt},
    rlwe::KeyForm,
};
use limbwise_apps::{Accuracy, Observer, Program};
use limbwise_cpu::Cpu;
use serde::Serialize;
use std::{path::PathBuf, time::Instant};

/// Taking the memory that was planned.
pub const MEMORY_STEP: &str = "memory";

/// Fails where the system has less memory than a run needs: better now than half-way.
fn available(needed: u64) -> Result<()> {
    match (available_memory_bytes(), resident_memory_bytes()) {
        (Some(available), Some(held)) if available.saturating_add(held) < needed => {
            Err(Error::Memory { needed, available: available + held })
        }
        _ => Ok(()),
    }
}

/// Told while a program runs.
#[derive(Clone, Debug)]
pub enum Event {
    /// Part of a step is done.
    Progress {
        /// Name of the step.
        step: String,
        /// Parts done.
        done: usize,
        /// Parts in all.
        total: usize,
    },
    /// A step is over.
    Done(Step),
}

/// A step and its time.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    /// Its name.
    pub name: String,
    /// Its time.
    pub seconds: f64,
}

/// What a run found: the JSON contract of `limbwise run`.
#[derive(Clone, Debug, Serialize)]
pub struct RunReport {
    /// Name of the workload.
    pub workload: String,
    /// Device it ran on.
    pub device: String,
    /// Its instruction set.
    pub isa: String,
    /// Its threads.
    pub threads: usize,
    /// Name of the parameter set.
    pub preset: String,
    /// The class of the security gate.
    pub security_bits: u32,
    /// Why it may be insecure, where leave was taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insecure_reason: Option<String>,
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

/// Most memory of the process.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PeakMemory {
    /// VmHWM at the end; absent where the system does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured: Option<u64>,
    /// Predicted before the first polynomial.
    pub predicted: u64,
}

/// Times steps by when the next begins.
struct Clock<'a> {
    tell: &'a mut dyn FnMut(Event),
    steps: Vec<Step>,
    current: Option<(String, Instant)>,
    /// Page faults of the process before the current step, and those of the evaluation so far.
    faults: (Option<u64>, Option<u64>),
}

/// Steps that are not the program's own.
const AROUND: [&str; 6] = [MEMORY_STEP, KEY_STEP, ENCODE_STEP, BOOTSTRAP_STEP, ENCRYPT_STEP, DECRYPT_STEP];

impl Clock<'_> {
    fn finish(&mut self) {
        if let Some((name, since)) = self.current.take() {
            let (before, evaluation) = self.faults;
            if let (false, Some(before), Some(now)) = (AROUND.contains(&name.as_str()), before, minor_faults()) {
                self.faults.1 = Some(evaluation.unwrap_or(0) + now.saturating_sub(before));
            }
            let step = Step { name, seconds: since.elapsed().as_secs_f64() };
            (self.tell)(Event::Done(step.clone()));
            self.steps.push(step);
        }
    }
}

impl Observer for Clock<'_> {
    fn step(&mut self, name: &str, done: usize, total: usize) {
        if self.current.as_ref().is_none_or(|(current, _)| current != name) {
            self.finish();
            self.faults.0 = minor_faults();
            self.current = Some((name.into(), Instant::now()));
        }
        (self.tell)(Event::Progress { step: name.into(), done, total });
    }
}

/// What a run is given beside a plan.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Where keys on disk are kept for as long as it takes.
    pub key_dir: PathBuf,
    /// Shadow mode: every result is compared with its clear twin, against this bound. Its memory and time are not planned.
    pub shadow: Option<ShadowBound>,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self { key_dir: std::env::temp_dir(), shadow: None }
    }
}

/// A result's slots, and its level.
type Read = (Vec<Vec<Complex64>>, usize);

/// A session with its keys where they were planned to be, and what was read of them.
fn evaluated<P: Program>(
    (dev, program): (&Cpu, &P),
    recording: &Recording,
    options: &RunOptions,
    observer: &mut dyn Observer,
    onlooker: &impl Onlooker<Cpu>,
) -> limbwise::Result<(Vec<Read>, Option<Traffic>)> {
    let read = |reader: &Reader<'_, Cpu>, result: &Ciphertext<Cpu>| {
        let values = decrypt(reader.dev, reader.encoder, program.params(), reader.secret, result)?;
        Ok((values, result.level))
    };
    let Some(reads) = &recording.reads else {
        return Ok((session(dev, program, (&recording.keys, &InMemory), observer, onlooker, read)?, None));
    };
    let home = OnDisk::new(reads, &options.key_dir);
    let results = session(dev, program, (&recording.keys, &home), observer, onlooker, read)?;
    Ok((results, Some(home.traffic())))
}

/// The same in shadow mode, with what was found.
fn shadowed<P: Program>(
    (dev, program): (&Cpu, &P),
    recording: &Recording,
    options: &RunOptions,
    observer: &mut dyn Observer,
    bound: ShadowBound,
) -> Result<(Vec<Read>, Option<Traffic>, ShadowReport)> {
    dev.keep_regions();
    let shadowing = Shadowing::new(bound);
    let run = evaluated((dev, program), recording, options, observer, &shadowing);
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
pub fn run<P: Program>(
    dev: &Cpu,
    program: &P,
    recording: &Recording,
    plan: &Plan,
    options: &RunOptions,
    tell: &mut dyn FnMut(Event),
) -> Result<RunReport> {
    let mut clock = Clock { tell, steps: Vec::new(), current: None, faults: (None, None) };
    clock.step(MEMORY_STEP, 0, 1);
    let ring = program.params().ring();
    available(plan.peak_memory_bytes.predicted)?;
    let limbs = usize::try_from(recording.session_peak_bytes / (8 * ring.n() as u64)).unwrap_or(usize::MAX);
    dev.reserve(ring, limbs).map_err(limbwise::Error::Device)?;
    let (results, traffic, shadow) = match options.shadow {
        None => {
            let (results, traffic) = evaluated((dev, program), recording, options, &mut clock, &())?;
            (results, traffic, None)
        }
        Some(bound) => {
            let (results, traffic, report) = shadowed((dev, program), recording, options, &mut clock, bound)?;
            (results, traffic, Some(report))
        }
    };
    clock.finish();
    let measured = peak_memory_bytes();
    let (steps, (_, minor_faults)) = (clock.steps, clock.faults);
    let seconds = steps.iter().filter(|s| !AROUND.contains(&s.name.as_str())).map(|s| s.seconds).sum();
    let (values, levels): (Vec<_>, Vec<usize>) = results.into_iter().unzip();
    let mut conclusion = program.conclude(&values);
    let named: Vec<(&str, f64)> = steps.iter().map(|s| (s.name.as_str(), s.seconds)).collect();
    conclusion.details.extend(program.timed(&named));
    let predicted = plan.precision_bits.predicted;
    Ok(RunReport {
        workload: plan.workload.clone(),
        device: plan.device.clone(),
        isa: plan.isa.clone(),
        threads: plan.threads,
        preset: plan.preset.clone(),
        security_bits: plan.security_bits,
        insecure_reason: plan.security.insecure_reason.clone(),
        seconds,
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
        details: conclusion.details,
        warnings: conclusion.warnings,
    })
}
