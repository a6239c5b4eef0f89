//! Evaluation from files, as a server does it: description, public keys and encrypted inputs in; encrypted results out.

mod readable;
mod resident;

use crate::{
    any_device::AnyDevice,
    calibrate::{Calibration, Degrees},
    clock::{Clock, Event, MEMORY_STEP, PeakMemory, READ_STEP, Step, WRITE_STEP, evaluation_seconds},
    error::{Error, Result},
    host::{admitted, available_memory_bytes, peak_memory_bytes, reserve, resident_memory_bytes},
    journal::{Checkpoint, CheckpointDir, Identity, put_ciphertext},
    keys::HeldKeys,
    offload::{Division, arrange, sentences},
    origin::{belonging, hash, name_of},
    places::{Alone, Existing, Vacant, targets},
    plan::predicted_memory,
    prepared::Stock,
    record::{Recording, record},
    scheme::{Forecast, Piped},
    server::Server,
    server_keys::ServerKeys,
};
use limbwise::{
    params::Params,
    rlwe::{KeyForm, key_bytes},
    scheme::{Difference, Input as _, Keys, Scheme},
    tfhe::TfheParams,
    wire::Origin,
};
use limbwise_apps::{
    AnyProgram, Description, Details, Journal, Observer as _, Program, State,
    description::DescriptionError,
    floor,
    linear::layer::Model,
    on_scheme,
    program::{Results, input_names},
};
use limbwise_device::{Device as _, SharedFootprint};
use readable::{Readable, opened, with_keys};
pub use resident::evaluate_parts;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    pub description: &'a Description,
    /// The server's model, if the description leaves it to the server.
    pub model: &'a Model,
    /// The server's key files: RLWE evaluation keys, TFHE keys, or both.
    pub keys: &'a [PathBuf],
    /// Encrypted inputs, in the program's order.
    pub inputs: &'a [PathBuf],
    /// Destination of the results: a directory, or a file for a single result.
    pub results: &'a Path,
    /// Whether existing files may be replaced.
    pub existing: Existing,
    /// Directory of checkpoints, if any.
    pub checkpoint: Option<&'a Path>,
    /// The program's plaintexts, encoded by [`prepare_files`](crate::prepared::prepare_files), if there are any.
    pub prepared: Option<&'a Path>,
}

/// Limits of an evaluation.
#[derive(Clone, Copy)]
pub struct Limits<'a> {
    /// Form of the keys; by default the fastest that fits.
    pub key_form: Option<KeyForm>,
    /// Peak memory of the process; by default what this computer has.
    pub memory_bytes: Option<u64>,
    /// Memory that the process holds for other jobs; by default what it holds now.
    pub held_bytes: Option<u64>,
    /// Called between steps: whether to stop.
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

impl Default for Limits<'_> {
    fn default() -> Self {
        Self { key_form: None, memory_bytes: None, held_bytes: None, stop: &|| false }
    }
}

/// Report of an evaluation: the JSON contract of `limbwise eval`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct EvalReport {
    pub workload: String,
    /// Scheme of the program.
    pub scheme: &'static str,
    /// Parameter set, as the description names it.
    pub preset: String,
    /// Security class in bits.
    pub security_bits: u32,
    /// The standard that the class comes from, with its current status.
    pub security_standard: &'static str,
    /// Why the parameters may be insecure, if the security check was overridden.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insecure_reason: Option<String>,
    /// The keys come from randomness that anybody can repeat.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub insecure_randomness: bool,
    /// Time of the evaluation itself.
    pub seconds: f64,
    /// Every step with its time, including reading and writing.
    pub steps: Vec<Step>,
    /// The checkpointed step after which the evaluation resumed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resumed_after: Option<usize>,
    /// Predicted quality of the results.
    #[serde(flatten)]
    pub forecast: Forecast,
    /// Form of the evaluation keys.
    pub key_form: KeyForm,
    /// Bytes of the keys that the program used, in memory or read from disk.
    pub key_bytes: u64,
    /// Peak memory of the process.
    pub peak_memory_bytes: PeakMemory,
    /// Files of the results.
    pub results: Vec<PathBuf>,
    /// How the program was divided; absent on one device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offload: Option<Division>,
    /// Details from the workload.
    #[serde(flatten)]
    pub details: Details,
    /// Sentences to read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// Predicted resources of a job, from its description and the headers of its keys.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct EvalPlan {
    /// Form of the evaluation keys.
    pub key_form: KeyForm,
    /// Peak memory of the process. If no form of the keys is within the limit, the smallest peak of any form.
    pub memory_bytes: u64,
    /// Predicted time of the evaluation on this host.
    pub seconds: f64,
    /// Bytes of results and checkpoints: at most the peak memory.
    pub disk_bytes: u64,
    /// The highest level of ciphertexts; absent where the scheme has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub levels: Option<usize>,
}

/// Plans a job without running it, for a device with this many threads and this footprint. The device is not opened.
/// `calibrate` measures the host for the ring degrees of the program.
pub fn plan_files(
    device: (usize, &SharedFootprint),
    job: &Job<'_>,
    limits: &Limits<'_>,
    calibrate: impl FnOnce(Degrees) -> Result<Calibration>,
) -> Result<EvalPlan> {
    let keys = opened(job)?;
    let program = built(job, limits)?;
    on_scheme!(AnyProgram, program, program => {
        counted(&program, job.inputs.len())?;
        let Chosen { recording, predicted } = chosen(device, (&program, &keys), limits)?;
        let calibration = calibrate(job.description.params.log_n())?;
        let seconds = limbwise_machines::seconds(&recording.graph, &calibration.spec()?)?;
        let disk_bytes = recording.session_peak_bytes;
        let levels = scheme_levels(&program);
        Ok(EvalPlan { key_form: recording.keys.form, memory_bytes: predicted, seconds, disk_bytes, levels })
    })
}

/// The highest level of a program's parameters.
fn scheme_levels<P: Program>(program: &P) -> Option<usize> {
    P::Scheme::rlwe(program.params()).map(Params::top_level)
}

/// A program, recorded in the configuration that it will run in.
struct Chosen<S: Scheme> {
    recording: Recording<S>,
    predicted: u64,
}

/// Evaluates a program on files, with public keys only, on a device with keys that may be there from before.
///
/// # Errors
/// As [`evaluate_files`].
pub fn evaluate_held(
    held: &HeldKeys,
    job: &Job<'_>,
    limits: &Limits<'_>,
    tell: &mut dyn FnMut(Event),
) -> Result<EvalReport> {
    let mut clock = Clock::new(tell);
    clock.step(MEMORY_STEP, 0, 1);
    let keys = Readable { files: held.files(|| opened(job))?, held: Some(held) };
    let program = built(job, limits)?;
    on_scheme!(AnyProgram, program, program => evaluated(held.device(), &program, keys, job, limits, clock))
}

/// Evaluates a program on files, with public keys only.
///
/// # Errors
/// [`Error`] for files that are absent, damaged, or for other parameters or another program; for missing keys or too
/// little memory; errors of the schemes; [`limbwise::Error::Stopped`] if `stop` ended the evaluation.
pub fn evaluate_files(
    dev: &AnyDevice,
    job: &Job<'_>,
    limits: &Limits<'_>,
    tell: &mut dyn FnMut(Event),
) -> Result<EvalReport> {
    let mut clock = Clock::new(tell);
    clock.step(MEMORY_STEP, 0, 1);
    let files = opened(job)?;
    let program = built(job, limits)?;
    let keys = Readable { files: &files, held: None };
    on_scheme!(AnyProgram, program, program => evaluated(dev, &program, keys, job, limits, clock))
}

fn evaluated<P: Program<Scheme: Piped>>(
    dev: &AnyDevice,
    program: &P,
    keys: Readable<'_>,
    job: &Job<'_>,
    limits: &Limits<'_>,
    mut clock: Clock<'_>,
) -> Result<EvalReport> {
    counted(program, job.inputs.len())?;
    let (chosen, division) = ready(dev, program, keys, limits)?;
    let params = program.params();
    let _place = Vacant::before(job.results);
    let mut opened = Opened::of(dev, program, keys, job, &mut clock)?;
    let encoder = P::Scheme::encoder(params);
    let stock = Stock::of(job, program)?;
    let results = with_keys::<P::Scheme, _>(dev, params, keys, &chosen.recording, &mut clock, |keys, clock| {
        let server = stock.server(dev, &encoder, program, clock)?;
        opened.evaluate(&server, keys, limits.stop, clock)
    });
    let results = opened.settled(results).map_err(|e| keys.files.named(stock.named(e)))?;
    opened.write(dev, program, &results, &mut clock)?;
    let (steps, _) = clock.finish();
    let warnings = sentences(dev, division.as_ref());
    let report = report(job, program, &chosen, steps);
    let resumed_after = opened.resumed();
    Ok(EvalReport { results: opened.targets, resumed_after, offload: division, warnings, ..report })
}

/// The configuration of a program, with memory reserved for it, and how it is divided between devices.
fn ready<P: Program<Scheme: Piped>>(
    dev: &AnyDevice,
    program: &P,
    keys: Readable<'_>,
    limits: &Limits<'_>,
) -> Result<(Chosen<P::Scheme>, Option<Division>)> {
    let device = (dev.threads(), &dev.footprint());
    let chosen = within(limits, chosen(device, (program, keys.files), limits)?)?;
    // Keys that are there from before came with rows for all else.
    let there = keys.held.is_some_and(|held| held.bytes() > 0);
    let make_sure = if there { admitted::<P::Scheme> } else { reserve::<P::Scheme> };
    make_sure(dev, program.params(), chosen.predicted, &chosen.recording)?;
    let division = arrange(dev, &chosen.recording.graph)?;
    Ok((chosen, division))
}

/// Inputs that were read and compared with the program, and the places of their results.
struct Opened<'a, P: Program> {
    inputs: Results<P, AnyDevice>,
    targets: Vec<PathBuf>,
    origin: Origin,
    checkpoint: Option<Checkpoint<'a, AnyDevice, P::Scheme>>,
    /// The directory of the results, until they are there.
    _alone: Option<Alone>,
}

impl<'a, P: Program<Scheme: Piped>> Opened<'a, P> {
    fn of(
        dev: &'a AnyDevice,
        program: &'a P,
        keys: Readable<'_>,
        job: &Job<'_>,
        clock: &mut Clock<'_>,
    ) -> Result<Self> {
        let of_keys = keys.files.origin();
        let (inputs, inputs_read) = read_inputs(dev, program, job.inputs, &of_keys, clock)?;
        // The directory is created only now, so that refused inputs leave none behind.
        let files = || targets(job.results, "result", program.results(), job.existing);
        files()?; // makes the directory
        // Of two evaluations at once into it, results of both would be left: what is there is asked again when it is this
        // one's.
        let alone = job.results.is_dir().then(|| Alone::with(job.results)).transpose()?;
        let targets = files()?;
        let origin = Origin { inputs: name_of(&inputs_read), ..of_keys };
        let checkpoint = match job.checkpoint {
            Some(dir) => {
                let (dir, identity) = (CheckpointDir::open(dir)?, identity(job, keys, &inputs_read)?);
                Some(Checkpoint::open(dev, program.params(), dir, identity)?)
            }
            None => None,
        };
        Ok(Self { inputs, targets, origin, checkpoint, _alone: alone })
    }

    fn evaluate(
        &mut self,
        server: &Server<'_, AnyDevice, P>,
        keys: Keys<'_, AnyDevice>,
        stop: &(dyn Fn() -> bool + Sync),
        clock: &mut Clock<'_>,
    ) -> limbwise::Result<Results<P, AnyDevice>> {
        let dev = server.device();
        let mut journal = Watch { checkpoint: self.checkpoint.as_mut(), stop };
        // Waits for queued GPU work, so that each step is billed with its own work.
        dev.sync()?;
        let results = {
            let _evaluation = dev.evaluation();
            server.evaluate(keys, &self.inputs, clock, &mut journal)?
        };
        dev.sync()?;
        Ok(results)
    }

    /// The results, or why the checkpoint stopped the program, if it did.
    fn settled<R>(&mut self, results: limbwise::Result<R>) -> Result<R> {
        match (results, &mut self.checkpoint) {
            (Ok(results), _) => Ok(results),
            (Err(error), Some(checkpoint)) => Err(checkpoint.cause(error)),
            (Err(error), None) => Err(error.into()),
        }
    }

    fn write(
        &self,
        dev: &AnyDevice,
        program: &P,
        results: &Results<P, AnyDevice>,
        clock: &mut Clock<'_>,
    ) -> Result<()> {
        for (done, (path, result)) in self.targets.iter().zip(results).enumerate() {
            clock.step(WRITE_STEP, done, self.targets.len());
            put_ciphertext::<P::Scheme, _>(path, dev, program.params(), result, &self.origin.numbered(done))?;
        }
        self.checkpoint.as_ref().map_or(Ok(()), Checkpoint::clear)
    }

    fn resumed(&self) -> Option<usize> {
        self.checkpoint.as_ref().and_then(Checkpoint::resumed)
    }
}

/// The report of an evaluation, without results, interruptions and division.
fn report<P: Program<Scheme: Piped>>(
    job: &Job<'_>,
    program: &P,
    chosen: &Chosen<P::Scheme>,
    steps: Vec<Step>,
) -> EvalReport {
    let (params, recording) = (program.params(), &chosen.recording);
    let mut details = program.details();
    let named: Vec<(&str, f64)> = steps.iter().map(|s| (s.name.as_str(), s.seconds)).collect();
    details.extend(program.timed(&named));
    let (form, security) = (recording.keys.form, P::Scheme::security(params));
    let of = |rlwe| recording.keys.required.iter().map(move |(&name, &level)| key_bytes(rlwe, name, level, form));
    let used: u64 = P::Scheme::rlwe(params).into_iter().flat_map(of).sum();
    EvalReport {
        workload: program.name().into(),
        scheme: P::Scheme::NAME,
        preset: job.description.preset.clone(),
        security_bits: security.bits,
        security_standard: security.standard,
        insecure_reason: security.insecure_reason.clone(),
        insecure_randomness: job.description.insecure_randomness,
        seconds: evaluation_seconds(&steps),
        steps,
        resumed_after: None,
        forecast: P::Scheme::forecast(params, &recording.results, recording.rotations),
        key_form: form,
        key_bytes: used + P::Scheme::tfhe(params).map_or(0, TfheParams::server_key_bytes),
        peak_memory_bytes: PeakMemory { measured: peak_memory_bytes(), predicted: chosen.predicted },
        results: Vec::new(),
        offload: None,
        details,
        warnings: Vec::new(),
    }
}

/// Makes every check that needs no ciphertext, and builds the program.
///
/// The caller has opened the keys, and sizes are compared, before the program is built: a description comes from
/// outside, and a few bytes of it can demand any amount of work.
fn built(job: &Job<'_>, limits: &Limits<'_>) -> Result<AnyProgram> {
    program_within(job.description, job.model, limits)
}

fn described(cause: DescriptionError) -> Error {
    Error::Description { path: "the description of the program".into(), cause: cause.into() }
}

/// Builds a program whose sizes fit the memory.
pub(crate) fn program_within(description: &Description, model: &Model, limits: &Limits<'_>) -> Result<AnyProgram> {
    let params = description.params().map_err(described)?;
    let (before, most) = (held(limits), most_memory(limits));
    room_for(before, most, description.least_bytes(&params))?;
    let program = description.program(model).map_err(described)?;
    let least = on_scheme!(AnyProgram, &program, program => floor::least_bytes(program));
    room_for(before, most, least)?;
    Ok(program)
}

/// Refuses another number of inputs than the program takes.
fn counted<P: Program>(program: &P, count: usize) -> Result<()> {
    let wanted = program.inputs().len();
    if count == wanted { Ok(()) } else { Err(Error::Count { count, wanted, names: input_names(program) }) }
}

/// Records the program and chooses the form of the keys.
fn chosen<P: Program<Scheme: Piped>>(
    (threads, footprint): (usize, &SharedFootprint),
    (program, keys): (&P, &ServerKeys),
    limits: &Limits<'_>,
) -> Result<Chosen<P::Scheme>> {
    let (params, most) = (program.params(), most_memory(limits));
    // A caller that passes `held_bytes` does not count the program's maps; without it they are part of the process now.
    let held = limits.held_bytes.map_or_else(|| held(limits), |bytes| bytes + floor::clear_bytes(program));
    let forms = match (limits.key_form, P::Scheme::rlwe(params)) {
        (Some(form), _) => vec![form],
        (None, Some(_)) => vec![KeyForm::Stored, KeyForm::Seeded, KeyForm::Disk],
        (None, None) => vec![KeyForm::Stored],
    };
    let mut smallest: Option<Chosen<P::Scheme>> = None;
    for form in forms {
        let recording = record(program, form, footprint)?.of_server(program)?;
        keys.serve(P::Scheme::rlwe(params), &recording.keys.required)?;
        let predicted = predicted_memory::<P::Scheme>(params, &recording, (threads, held));
        let smaller = smallest.as_ref().is_none_or(|least| predicted < least.predicted);
        if predicted <= most || smaller {
            smallest = Some(Chosen { recording, predicted });
        }
        if predicted <= most {
            break;
        }
    }
    Ok(smallest.expect("there is at least one way to keep keys"))
}

/// Refuses a program whose least memory exceeds what is available beside the held memory.
fn room_for(held: u64, available: u64, least_bytes: u64) -> Result<()> {
    let least = held.saturating_add(least_bytes);
    if least > available { Err(Error::Sizes { least, available }) } else { Ok(()) }
}

/// Refuses a job that needs more memory than is available.
fn within<S: Scheme>(limits: &Limits<'_>, chosen: Chosen<S>) -> Result<Chosen<S>> {
    let most = most_memory(limits);
    if chosen.predicted > most {
        return Err(Error::Memory { needed: chosen.predicted, available: most });
    }
    Ok(chosen)
}

/// Memory that the process holds for other purposes.
fn held(limits: &Limits<'_>) -> u64 {
    limits.held_bytes.unwrap_or_else(|| resident_memory_bytes().unwrap_or(0))
}

fn most_memory(limits: &Limits<'_>) -> u64 {
    let free = || available_memory_bytes().map_or(u64::MAX, |free| free.saturating_add(held(limits)));
    limits.memory_bytes.unwrap_or_else(free)
}

/// Inputs, and the hash of each file that one was read from.
type Hashed<P> = (Results<P, AnyDevice>, Vec<[u8; 32]>);

/// Reads the inputs and compares each with its declaration in the program.
fn read_inputs<P: Program>(
    dev: &AnyDevice,
    program: &P,
    files: &[PathBuf],
    keys: &Origin,
    clock: &mut Clock<'_>,
) -> Result<Hashed<P>> {
    let wanted = program.inputs();
    let (mut inputs, mut hashes) = (Vec::new(), Vec::new());
    for (done, (path, input)) in files.iter().zip(&wanted).enumerate() {
        clock.step(READ_STEP, done, wanted.len());
        // Keys of version 1 do not record their origin, and neither do inputs that were encrypted for them.
        let file = belonging(path, &if *keys == Origin::NONE { *keys } else { keys.numbered(done) })?;
        let got = P::Scheme::read(&file, dev, program.params()).map_err(|e| Error::of_file(path, e))?;
        if let Some(Difference { field, got, wanted }) = P::Scheme::difference(input, &got) {
            let (path, name) = (path.display().to_string(), input.name().to_owned());
            return Err(Error::Shape { path, name, field, got: got.into(), wanted: wanted.into() });
        }
        inputs.push(P::Scheme::in_input_domain(dev, input, got));
        hashes.push(*hash(path, &file)?.as_bytes());
    }
    Ok((inputs, hashes))
}

/// Hash of everything that determines the results: program, keys and inputs.
fn identity(job: &Job<'_>, keys: Readable<'_>, inputs: &[[u8; 32]]) -> Result<Identity> {
    let mut hasher = blake3::Hasher::new();
    let mut add = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
    };
    add(&job.description.to_bytes());
    job.model.hashed(&mut add);
    match keys.held {
        Some(held) => held.hashed(keys.files)?.iter().for_each(|bytes| add(bytes)),
        None => keys.files.hash(&mut add)?,
    }
    inputs.iter().for_each(|hash| add(hash));
    Ok(Identity(*hasher.finalize().as_bytes()))
}

/// A checkpoint, if there is one, that also asks whether to stop.
struct Watch<'a, 'b, S: Scheme> {
    checkpoint: Option<&'a mut Checkpoint<'b, AnyDevice, S>>,
    stop: &'a (dyn Fn() -> bool + Sync),
}

impl<S: Scheme> Journal<AnyDevice, S> for Watch<'_, '_, S> {
    fn resume(&mut self) -> limbwise::Result<Option<State<AnyDevice, S>>> {
        self.checkpoint.as_mut().map_or(Ok(None), |checkpoint| checkpoint.resume())
    }

    fn keep(&mut self, state: &State<AnyDevice, S>) -> limbwise::Result<()> {
        if let Some(checkpoint) = &mut self.checkpoint {
            checkpoint.keep(state)?;
        }
        if (self.stop)() { Err(limbwise::Error::Stopped) } else { Ok(()) }
    }
}
