//! The engine on top of the runtime: evaluates programs from their descriptions on this computer's CPU.
//!
//! A device is open with the keys of a program, while a job uses them and for as long as there is room; its memory is
//! freed with it. Separate processes make the plans
//! ([`crate::planning`]).

use crate::{
    engine::{Engine, Failure, FileKind, JobFiles, JobPlan, Output, PlanBudget, Resident, Watch},
    planning::{Planner, Request},
    refusal::Refusal,
};
use limbwise::wire;
use limbwise_apps::{Description, description::MOST_BYTES, linear::layer::Model};
use limbwise_runtime::{
    Calibration, Error, Event, Host, Job, Limits,
    calibrate::{Degrees, calibrated},
    evaluate_held,
    host::resident_memory_bytes,
    keys::{
        ResidentKeys,
        resident::{Counts, SetName},
    },
    open,
    places::{Existing, read_up_to},
};
use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    ops::RangeInclusive,
    path::Path,
    sync::{Mutex, PoisonError},
};

/// Supplies the server's numbers for a program whose description leaves some to the server.
pub type Models = Box<dyn Fn(&Description) -> Result<Model, String> + Send + Sync>;

/// Memory of the engine, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// Of a job.
    pub memory_bytes: u64,
    /// Of keys that no job uses, kept for later ones.
    pub resident_bytes: u64,
}

pub struct Evaluation {
    host: Host,
    threads: usize,
    models: Models,
    planner: Planner,
    /// Memory limit of a job.
    memory_bytes: u64,
    /// Memory of the process before any job.
    held_bytes: u64,
    resident: ResidentKeys,
    /// Calibration of this host, by log₂ of the ring degrees.
    calibrations: Mutex<BTreeMap<Degrees, Calibration>>,
}

impl Evaluation {
    /// Opens the device once, to find mistakes before the first job. The planner has the same models.
    ///
    /// # Errors
    /// An instruction set that this CPU lacks, or a number of threads that makes no sense.
    pub fn new(host: Host, memory: Memory, models: Models, planner: Planner) -> Result<Self, Error> {
        let threads = open(&host)?.threads();
        let held_bytes = resident_memory_bytes().unwrap_or(0);
        let Memory { memory_bytes, resident_bytes } = memory;
        let resident = ResidentKeys::new(resident_bytes);
        Ok(Self { host, threads, models, planner, memory_bytes, held_bytes, resident, calibrations: Mutex::default() })
    }

    fn limits<'a>(&self, stop: &'a (dyn Fn() -> bool + Sync)) -> Limits<'a> {
        let (memory_bytes, held_bytes) = (Some(self.memory_bytes), Some(self.held_bytes));
        Limits { memory_bytes, held_bytes, stop, key_form: None }
    }

    /// Calibrates once for each pair of ring degrees, in some seconds.
    fn calibrated(&self, degrees: Degrees) -> Result<Calibration, Error> {
        let mut known = self.calibrations.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(calibration) = known.get(&degrees) {
            return Ok(calibration.clone());
        }
        let calibration = calibrated(&open(&self.host)?, degrees, |_| ())?;
        known.insert(degrees, calibration.clone());
        Ok(calibration)
    }
}

impl Engine for Evaluation {
    fn recognize(&self, head: &[u8]) -> Result<FileKind, Refusal> {
        if head.trim_ascii_start().starts_with(b"{") {
            return Ok("a description of a program".into());
        }
        match wire::FileKind::of(head) {
            Ok(wire::FileKind::SecretKey | wire::FileKind::TfheSecretKey) => {
                let next =
                    "keep it where it was made, and send what \"limbwise keygen\" put into the server's directory";
                Err(Refusal::new("a secret key must not leave its client", "a secret key", "public files", next))
            }
            Ok(kind) => Ok(kind.to_string()),
            Err(error) => {
                let next = "send files that \"limbwise keygen\" and \"limbwise encrypt\" have written";
                Err(Refusal::new("the file is none of limbwise's", error, "a description, keys or ciphertexts", next))
            }
        }
    }

    fn plan(&self, files: &JobFiles, budget: PlanBudget, stopped: &dyn Fn() -> bool) -> Result<JobPlan, Failure> {
        // Only the ring degrees of the description are read here; the planner checks the rest.
        let degrees = description(files).map_err(Failure::Refused)?.params.log_n();
        let known = degrees.iter().flatten().all(|log_n| LOG_DEGREES.contains(log_n));
        let calibration = known.then(|| self.calibrated(degrees)).transpose();
        let request = Request {
            program: files.program.clone(),
            keys: files.keys.clone(),
            inputs: files.inputs.clone(),
            threads: self.threads,
            memory_bytes: self.memory_bytes,
            held_bytes: self.held_bytes,
            plan_memory_bytes: budget.memory_bytes,
            calibration: calibration.map_err(|e| Failure::Refused(told(files, &[], &e)))?,
        };
        if stopped() {
            return Err(Failure::Stopped); // while this host was measured
        }
        self.planner.plan(&request, budget, stopped)
    }

    fn run(&self, files: &JobFiles, work: &Path, results: &Path, watch: &dyn Watch) -> Result<Vec<Output>, Failure> {
        let (description, model) = described(files, &self.models).map_err(Failure::Refused)?;
        let keys = self.resident.borrow(&set_name(files), || open(&self.host));
        let mut keys = keys.map_err(|e| Failure::Refused(told(files, &[], &e)))?;
        let job = job(files, (&description, &model), [work, results]);
        // A run that has gone on from a checkpoint is asked at that one first, which is not a new one.
        let kept = Mutex::new(names(work));
        let stop = || {
            let now = names(work);
            let mut before = kept.lock().unwrap_or_else(PoisonError::into_inner);
            if *before != now {
                watch.kept();
                *before = now;
            }
            watch.stopped()
        };
        let mut tell = |event| {
            if let Event::Progress { step, done, total } = event {
                watch.step(&step, done, total);
            }
        };
        let mut evaluated = || evaluate_held(keys.held(), &job, &self.limits(&stop), &mut tell);
        let done = match evaluated() {
            // A disk or an older version may have left it so: all that it is worth is time.
            Err(Error::Checkpoint { .. } | Error::OtherRun { .. }) => {
                emptied(work).map_err(|e| Failure::Refused(told(files, &[(work, "the checkpoint")], &e)))?;
                evaluated()
            }
            done => done,
        };
        match done {
            Ok(report) => {
                let name = |at: usize| format!("result {at}");
                Ok(report.results.into_iter().enumerate().map(|(at, path)| Output { name: name(at), path }).collect())
            }
            Err(Error::Scheme(limbwise::Error::Stopped)) => Err(Failure::Stopped),
            Err(error) => {
                keys.give_up();
                let folders = [(work, "the checkpoint"), (results, "the results")];
                Err(Failure::Refused(told(files, &folders, &error)))
            }
        }
    }

    fn shrink(&self, most_bytes: u64, next: &JobFiles) {
        self.resident.shrink(most_bytes, Some(&set_name(next)));
    }

    fn forget(&self, file: &Path) {
        self.resident.forget(file);
    }

    fn resident(&self) -> Resident {
        let (bytes, Counts { hits, misses, evictions }) = self.resident.usage();
        Resident { bytes, hits, misses, evictions }
    }
}

/// log₂ of the ring degrees that parameters may have and that can be calibrated.
const LOG_DEGREES: RangeInclusive<u32> = 10..=17;

/// The description of a job's program, not yet trusted.
fn description(files: &JobFiles) -> Result<Description, Refusal> {
    let bytes = read_up_to(&files.program, MOST_BYTES).map_err(|e| told(files, &[], &e))?;
    Description::parse(&bytes).map_err(|e| Refusal::text(e.to_string()))
}

/// The description, and the server's numbers for it.
pub(crate) fn described(files: &JobFiles, models: &Models) -> Result<(Description, Model), Refusal> {
    let description = description(files)?;
    let model = models(&description).map_err(Refusal::text)?;
    Ok((description, model))
}

pub(crate) fn job<'a>(
    files: &'a JobFiles,
    (description, model): (&'a Description, &'a Model),
    [work, results]: [&'a Path; 2],
) -> Job<'a> {
    let existing = Existing::Replaced;
    Job {
        description,
        model,
        keys: &files.keys,
        inputs: &files.inputs,
        results,
        existing,
        checkpoint: Some(work),
        prepared: None,
    }
}

fn set_name(files: &JobFiles) -> SetName {
    SetName { program: files.program.clone(), keys: files.keys.clone() }
}

/// Takes all that is in a folder away.
fn emptied(folder: &Path) -> Result<(), Error> {
    let io = |doing| move |source| Error::Io { path: folder.display().to_string(), doing, source };
    fs::remove_dir_all(folder).map_err(io("removing"))?;
    fs::create_dir(folder).map_err(io("creating"))
}

fn names(folder: &Path) -> Vec<OsString> {
    let mut names: Vec<OsString> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.file_name()).collect();
    names.sort();
    names
}

/// An error for clients: the server's paths are replaced by the roles of the files and folders.
pub(crate) fn told(files: &JobFiles, folders: &[(&Path, &str)], error: &Error) -> Refusal {
    if let &Error::Sizes { least, available } = error {
        let (got, wanted) = (format!("{least} bytes at least"), format!("at most {available} bytes"));
        let next = "choose fewer rows, columns or inputs, or a server with more memory";
        return Refusal::new("by its sizes alone the job needs more memory than this server gives", got, wanted, next);
    }
    let inputs = files.inputs.iter().enumerate().map(|(at, path)| (&**path, format!("input {at}")));
    let keys = files.keys.iter().map(|path| (&**path, "the keys".to_owned()));
    let folders = folders.iter().map(|&(path, name)| (path, name.to_owned()));
    let all = [(&*files.program, "the program".to_owned())].into_iter().chain(keys).chain(inputs).chain(folders);
    Refusal::text(all.fold(error.to_string(), |text, (path, name)| text.replace(&path.display().to_string(), &name)))
}
