//! Evaluation from files: a description, public keys, encrypted inputs; encrypted results. What a server does.

use crate::{
    any_device::AnyDevice,
    calibrate::Calibration,
    clock::{Clock, Event, KEY_STEP, MEMORY_STEP, PeakMemory, READ_STEP, Step, WRITE_STEP, evaluation_seconds},
    error::{Error, Result},
    host::{available_memory_bytes, peak_memory_bytes, reserve, resident_memory_bytes},
    journal::{Checkpoint, Identity, put_ciphertext},
    keys::{DiskKeys, FileKeys, KeySource},
    origin::{belongs, hashes, keys_for, name_of},
    places::{Existing, open_file, targets},
    plan::predicted_memory,
    record::{Recording, record},
    server::Server,
};
use limbwise::{
    ckks::{Ciphertext, Encoder},
    params::Params,
    rlwe::{EvaluationKey, KeyForm, KeyName, KeySet, KeyStore, key_bytes},
    wire::{KeyFile, Origin, WireError, read_ciphertext},
};
use limbwise_apps::{
    AnyProgram, Description, Details, Input, Journal, Observer as _, Program as _, State,
    description::DescriptionError, floor, linear::layer::Model,
};
use limbwise_device::Device as _;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// What is evaluated on what.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// The program.
    pub description: &'a Description,
    /// The server's own numbers, where the description leaves some to it.
    pub model: &'a Model,
    /// The file of evaluation keys.
    pub keys: &'a Path,
    /// The encrypted inputs, in the program's order.
    pub inputs: &'a [PathBuf],
    /// Where the results go: a directory, or a file for a single one.
    pub results: &'a Path,
    /// Whether files that are there may be replaced.
    pub existing: Existing,
    /// Where the state after each step is kept, if it is.
    pub checkpoint: Option<&'a Path>,
}

/// What an evaluation may take.
#[derive(Clone, Copy)]
pub struct Limits<'a> {
    /// How keys are kept; else the fastest way that fits.
    pub key_form: Option<KeyForm>,
    /// Most memory of the process; else what this computer has.
    pub memory_bytes: Option<u64>,
    /// Memory that the process holds beside the job, where it does others at the same time; else what it holds now.
    pub held_bytes: Option<u64>,
    /// Asked between steps whether to stop.
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

/// Nobody stops it.
impl Default for Limits<'_> {
    fn default() -> Self {
        Self { key_form: None, memory_bytes: None, held_bytes: None, stop: &|| false }
    }
}

/// What an evaluation found: the JSON contract of `limbwise eval`.
#[derive(Clone, Debug, Serialize)]
pub struct EvalReport {
    /// Name of the workload.
    pub workload: String,
    /// Name of the parameter set, as the description has it.
    pub preset: String,
    /// The class of the security gate.
    pub security_bits: u32,
    /// Whose table says so, and what is said of it today.
    pub security_standard: &'static str,
    /// Why it may be insecure, where leave was taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insecure_reason: Option<String>,
    /// The keys came from randomness that anybody can repeat.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub insecure_randomness: bool,
    /// Time of the evaluation itself.
    pub seconds: f64,
    /// Every step with its time, reading and writing included.
    pub steps: Vec<Step>,
    /// The step of a checkpoint that was gone on from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resumed_after: Option<usize>,
    /// Precision of the first result that is expected, in bits.
    pub precision_bits_predicted: f64,
    /// Rescales left in the lowest result.
    pub levels_left: usize,
    /// How evaluation keys were kept.
    pub key_form: KeyForm,
    /// Bytes of the keys that the program used, in memory or read.
    pub key_bytes: u64,
    /// Most memory of the process.
    pub peak_memory_bytes: PeakMemory,
    /// The files of the results.
    pub results: Vec<PathBuf>,
    /// What is to be said of the program.
    #[serde(flatten)]
    pub details: Details,
}

/// What a job will take, known from its description and the headers of its keys.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct EvalPlan {
    /// How evaluation keys will be kept.
    pub key_form: KeyForm,
    /// Most memory of the process. Beyond the limit where no way of keeping keys is within it; then that of the smallest.
    pub memory_bytes: u64,
    /// Time of the evaluation on this host.
    pub seconds: f64,
    /// Bytes of results and checkpoints: at most as much as is in memory at once.
    pub disk_bytes: u64,
}

/// Plans a job without running it, for a device with so many threads, which is not opened. `calibrate` measures the host
/// for a ring degree, given as its log₂.
///
/// # Errors
/// As [`evaluate_files`], but for what only the inputs show.
pub fn plan_files(
    threads: usize,
    job: &Job<'_>,
    limits: &Limits<'_>,
    calibrate: impl FnOnce(u32) -> Result<Calibration>,
) -> Result<EvalPlan> {
    let Chosen { program, recording, predicted } = chosen(threads, job, limits)?;
    let seconds = limbwise_machines::time(&recording.graph, &calibrate(program.params().log_n())?.spec()?)?.seconds;
    let disk_bytes = recording.session_peak_bytes;
    Ok(EvalPlan { key_form: recording.keys.form, memory_bytes: predicted, seconds, disk_bytes })
}

/// A program in the way it will be run.
struct Chosen {
    program: AnyProgram,
    recording: Recording,
    predicted: u64,
}

/// Evaluates a program on files with public keys only.
///
/// # Errors
/// [`Error`] for files that are absent, damaged, for other parameters or another program, for missing keys, too little
/// memory; what the schemes refuse; [`limbwise::Error::Stopped`] where it was stopped.
pub fn evaluate_files(
    dev: &AnyDevice,
    job: &Job<'_>,
    limits: &Limits<'_>,
    tell: &mut dyn FnMut(Event),
) -> Result<EvalReport> {
    let mut clock = Clock::new(tell);
    clock.step(MEMORY_STEP, 0, 1);
    let Chosen { program, recording, predicted } = within(limits, chosen(dev.threads(), job, limits)?)?;
    let params = program.params();
    let targets = targets(job.results, "result", program.results().len(), job.existing)?;
    reserve(dev, &program, predicted, &recording)?;
    let origin = keys_for(job.keys, job.description)?;
    let inputs = read_inputs(dev, &program, (job.inputs, &origin), &mut clock)?;
    let inputs_read = hashes(job.inputs)?;
    let origin = Origin { inputs: name_of(&inputs_read), ..origin };
    let encoder = Encoder::new(params);
    let mut checkpoint = match job.checkpoint {
        Some(dir) => Some(Checkpoint::open(dev, params, dir, identity(job, params, &inputs_read)?)?),
        None => None,
    };
    let results = with_keys((dev, params), job.keys, &recording, &mut clock, |keys, clock| {
        let server = Server::new(dev, &encoder, &program, clock)?;
        let mut journal = Watch { checkpoint: checkpoint.as_mut(), stop: limits.stop };
        // A GPU may still be busy with what it was asked for: neither this nor the evaluation ends before it is done.
        dev.sync()?;
        let results = server.evaluate((keys, None), &inputs, clock, &mut journal)?;
        dev.sync()?;
        Ok(results)
    });
    let results = match (results, &mut checkpoint) {
        (Ok(results), _) => results,
        (Err(error), Some(checkpoint)) => return Err(checkpoint.cause(error)),
        (Err(error), None) => return Err(error.into()),
    };
    for (done, (path, result)) in targets.iter().zip(&results).enumerate() {
        clock.step(WRITE_STEP, done, targets.len());
        put_ciphertext(path, (dev, params), result, &origin.numbered(done))?;
    }
    checkpoint.as_ref().map_or(Ok(()), Checkpoint::clear)?;
    let (steps, _) = clock.finish();
    let mut details = program.details();
    let named: Vec<(&str, f64)> = steps.iter().map(|s| (s.name.as_str(), s.seconds)).collect();
    details.extend(program.timed(&named));
    let form = recording.keys.form;
    let used = recording.keys.required.iter().map(|(&name, &level)| key_bytes(params, name, level, form));
    Ok(EvalReport {
        workload: program.name().into(),
        preset: job.description.preset.clone(),
        security_bits: params.security().bits,
        security_standard: params.security().standard,
        insecure_reason: params.security().insecure_reason.clone(),
        insecure_randomness: job.description.insecure_randomness,
        seconds: evaluation_seconds(&steps),
        steps,
        resumed_after: checkpoint.and_then(|checkpoint| checkpoint.resumed()),
        precision_bits_predicted: results[0].estimate.precision_bits(),
        levels_left: results.iter().map(|result| result.level).min().unwrap_or(0),
        key_form: form,
        key_bytes: used.sum(),
        peak_memory_bytes: PeakMemory { measured: peak_memory_bytes(), predicted },
        results: targets,
        details,
    })
}

/// Checks what can be checked before anything is read, and chooses how keys are kept.
///
/// Keys are opened and sizes compared before the program is laid out, and both before it is recorded: a description comes
/// from outside, and a few bytes of it can ask for any amount of work.
fn chosen(threads: usize, job: &Job<'_>, limits: &Limits<'_>) -> Result<Chosen> {
    let described = |cause: DescriptionError| Error::Description {
        path: "the description of the program".into(),
        cause: cause.into(),
    };
    let params = job.description.params().map_err(described)?;
    let file = FileKeys::open(job.keys, &params).map_err(|e| Error::of_file(job.keys, e))?;
    keys_for(job.keys, job.description)?;
    let (before, most) = (held(limits), most_memory(limits));
    room_for((before, most), job.description.least_bytes(&params))?;
    let program = job.description.program(job.model).map_err(described)?;
    room_for((before, most), floor::least_bytes(&program))?;
    let params = program.params();
    let wanted = program.inputs();
    if job.inputs.len() != wanted.len() {
        let names = wanted.iter().map(|input| input.name.clone()).collect::<Vec<_>>().join(", ");
        return Err(Error::Count { count: job.inputs.len(), wanted: wanted.len(), names });
    }
    // Who says what else the process holds does not know the program's maps; who does not say it holds them now.
    let held = limits.held_bytes.map_or_else(|| held(limits), |bytes| bytes + floor::clear_bytes(&program));
    let forms = limits.key_form.map_or(vec![KeyForm::Stored, KeyForm::Seeded, KeyForm::Disk], |form| vec![form]);
    let mut smallest: Option<(u64, Recording)> = None;
    for form in forms {
        let recording = record(&program, form)?.of_server(&program)?;
        serves(&file, job.keys, params, &recording)?;
        let predicted = predicted_memory(params, &recording, (threads, held));
        let smaller = smallest.as_ref().is_none_or(|(least, _)| predicted < *least);
        if predicted <= most || smaller {
            smallest = Some((predicted, recording));
        }
        if predicted <= most {
            break;
        }
    }
    let (predicted, recording) = smallest.expect("there is at least one way to keep keys");
    Ok(Chosen { program, recording, predicted })
}

/// Refuses a program that needs more than there is, even if it needed no more than this beside what is held.
fn room_for((held, available): (u64, u64), least_bytes: u64) -> Result<()> {
    let least = held.saturating_add(least_bytes);
    if least > available { Err(Error::Sizes { least, available }) } else { Ok(()) }
}

/// Refuses a job that needs more memory than there is.
fn within(limits: &Limits<'_>, chosen: Chosen) -> Result<Chosen> {
    let most = most_memory(limits);
    if chosen.predicted > most {
        return Err(Error::Memory { needed: chosen.predicted, available: most });
    }
    Ok(chosen)
}

/// What the process holds beside the job.
fn held(limits: &Limits<'_>) -> u64 {
    limits.held_bytes.unwrap_or_else(|| resident_memory_bytes().unwrap_or(0))
}

fn most_memory(limits: &Limits<'_>) -> u64 {
    let free = || available_memory_bytes().map_or(u64::MAX, |free| free.saturating_add(held(limits)));
    limits.memory_bytes.unwrap_or_else(free)
}

/// Fails unless a file has every key that was recorded, at its level.
fn serves(file: &FileKeys, path: &Path, params: &Params, recording: &Recording) -> Result<()> {
    let names = KeySource::<AnyDevice>::names(file);
    let lacks = |(name, level): (&KeyName, &usize)| match names.get(name) {
        None => Some(name.describe(params.log_n())),
        Some(made) if made < level => Some(format!("{} above level {made}", name.describe(params.log_n()))),
        Some(_) => None,
    };
    let missing: Vec<String> = recording.keys.required.iter().filter_map(lacks).collect();
    let (first, more) = (missing.iter().take(4).cloned().collect::<Vec<_>>().join(", "), missing.len());
    match more {
        0 => Ok(()),
        1..=4 => Err(Error::Keys { path: path.display().to_string(), missing: format!("lacks {first}") }),
        _ => {
            let missing = format!("lacks {more} keys that this program needs, {first} among them");
            Err(Error::Keys { path: path.display().to_string(), missing })
        }
    }
}

/// The inputs, each compared with what the program takes.
fn read_inputs(
    dev: &AnyDevice,
    program: &AnyProgram,
    (files, keys): (&[PathBuf], &Origin),
    clock: &mut Clock<'_>,
) -> Result<Vec<Ciphertext<AnyDevice>>> {
    let wanted = program.inputs();
    let mut inputs = Vec::new();
    for (done, (path, input)) in files.iter().zip(&wanted).enumerate() {
        clock.step(READ_STEP, done, wanted.len());
        // Keys of version 1 do not say what they belong to, and neither do inputs that were encrypted for them.
        belongs(path, &if *keys == Origin::NONE { *keys } else { keys.numbered(done) })?;
        let got = read_ciphertext(open_file(path)?, dev, program.params()).map_err(|e| Error::of_file(path, e))?;
        check_input(path, input, &got)?;
        inputs.push(got);
    }
    Ok(inputs)
}

/// Fails for a ciphertext that is not this input.
fn check_input(path: &Path, input: &Input, got: &Ciphertext<AnyDevice>) -> Result<()> {
    let packing = input.packing;
    let promise = got.estimate;
    let fields = [
        ("its batch", got.batch().to_string(), input.batch.to_string(), got.batch() == input.batch),
        ("its number of slots", got.slots.to_string(), packing.slots.to_string(), got.slots == packing.slots),
        ("its level", got.level.to_string(), packing.level.to_string(), got.level == packing.level),
        ("its number of polynomials", got.parts.len().to_string(), "2".into(), got.parts.len() == 2),
        (
            "log2 of its scale",
            got.scale.log2().to_string(),
            packing.scale.log2().to_string(),
            got.scale.to_bits() == packing.scale.to_bits(),
        ),
        (
            "what it promises of its values",
            format!("up to {}", promise.peak),
            format!("up to {}", input.bounds.peak),
            promise.peak <= input.bounds.peak && promise.magnitude <= input.bounds.magnitude,
        ),
    ];
    match fields.into_iter().find(|(.., right)| !right) {
        None => Ok(()),
        Some((field, got, wanted, _)) => {
            let (path, name) = (path.display().to_string(), input.name.clone());
            Err(Error::Shape { path, name, field, got: got.into(), wanted: wanted.into() })
        }
    }
}

/// Everything that the results hang on: the program, its keys, its inputs.
fn identity(job: &Job<'_>, params: &Params, inputs: &[[u8; 32]]) -> Result<Identity> {
    let mut hasher = blake3::Hasher::new();
    let mut add = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
    };
    add(&job.description.to_bytes());
    let numbers = [&job.model.weights, &job.model.bias];
    for x in numbers.into_iter().flatten().flatten() {
        add(&x.to_le_bytes());
    }
    let keys = KeyFile::open(open_file(job.keys)?, params)?;
    for &name in keys.names().keys() {
        // Seeds differ between any two sets of keys.
        keys.seeds(name)?.iter().for_each(|seed| add(&seed.0));
    }
    inputs.iter().for_each(|hash| add(hash));
    Ok(Identity(*hasher.finalize().as_bytes()))
}

/// A checkpoint, where there is one, that also asks whether to stop.
struct Watch<'a, 'b> {
    checkpoint: Option<&'a mut Checkpoint<'b, AnyDevice>>,
    stop: &'a (dyn Fn() -> bool + Sync),
}

impl Journal<AnyDevice> for Watch<'_, '_> {
    fn resume(&mut self) -> limbwise::Result<Option<State<AnyDevice>>> {
        self.checkpoint.as_mut().map_or(Ok(None), |checkpoint| checkpoint.resume())
    }

    fn keep(&mut self, state: &State<AnyDevice>) -> limbwise::Result<()> {
        if let Some(checkpoint) = &mut self.checkpoint {
            checkpoint.keep(state)?;
        }
        if (self.stop)() { Err(limbwise::Error::Stopped) } else { Ok(()) }
    }
}

/// Gives an evaluation its keys: all of them read, or one ahead of use.
fn with_keys<R>(
    (dev, params): (&AnyDevice, &Params),
    path: &Path,
    recording: &Recording,
    clock: &mut Clock<'_>,
    evaluate: impl FnOnce(&dyn KeyStore<AnyDevice>, &mut Clock<'_>) -> limbwise::Result<R>,
) -> limbwise::Result<R> {
    let required = &recording.keys.required;
    clock.step(KEY_STEP, 0, required.len());
    if let Some(reads) = &recording.reads {
        let source = FileKeys::open(path, params)?;
        return Ok(DiskKeys::serve(dev, params, &source, reads.shelf(params), |keys| evaluate(keys, clock))?.0);
    }
    let file = std::fs::File::open(path).map_err(|source| WireError::Io { doing: "opening the keys", source })?;
    let file = KeyFile::open(file, params)?;
    let mut keys: Vec<EvaluationKey<AnyDevice>> = Vec::new();
    for (done, (&name, &level)) in required.iter().enumerate() {
        clock.step(KEY_STEP, done, required.len());
        keys.push(file.read_key(dev, name, level, recording.keys.form)?);
    }
    evaluate(&KeySet::new(params, keys), clock)
}
