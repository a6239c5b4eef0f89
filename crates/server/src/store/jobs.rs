//! Jobs: requested, run, and run again after a kill. [`super::plans`] plans them.

use super::{
    RECORD, State, Store, absent,
    files::{FileRecord, hash},
    head, now,
};
use crate::{
    disk::{make_folder, remove_folder, write_record},
    engine::{Failure, JobFiles, JobPlan, Output, Watch},
    id::{FileId, Id},
    limits::{ATTEMPTS, Limits},
    refusal::{Cause, Denied, Refusal, StartError},
};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fmt, fs, io,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};
use utoipa::ToSchema;

/// The files with the keys of a job: one, or two for a program of two schemes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum KeyFiles {
    /// Evaluation keys, or those of TFHE.
    One(FileId),
    /// Both, in any order.
    Two([FileId; 2]),
}

impl KeyFiles {
    pub fn files(&self) -> &[FileId] {
        match self {
            Self::One(file) => std::slice::from_ref(file),
            Self::Two(files) => files,
        }
    }
}

/// What a client asks for.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct JobRequest {
    /// The file with the description of the program.
    pub program: FileId,
    /// The file with the keys; two for a program of two schemes.
    pub keys: KeyFiles,
    /// The files with the encrypted inputs, in the program's order.
    #[schema(min_items = 1, max_items = 1000)]
    pub inputs: Vec<FileId>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Job {
    pub id: Id,
    /// Its place in the order of uploads and jobs; jobs are run in this order.
    pub number: u64,
    /// The file with the description of the program.
    pub program: FileId,
    /// The file with the keys; two for a program of two schemes.
    pub keys: KeyFiles,
    /// The files with the encrypted inputs.
    pub inputs: Vec<FileId>,
    pub state: JobState,
    /// When it was asked for, in seconds since 1970.
    pub created: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<u64>,
    /// What it takes, once that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<JobPlan>,
    /// How often it was tried since it was asked for, planned, or at its last checkpoint; more than once after the server
    /// was killed.
    pub attempts: u32,
    /// Time it has computed, up to its last checkpoint or end, with what was lost in kills left out.
    pub seconds: f64,
    /// The step it is in, while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    /// Its results, in the program's order, once it is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results: Option<Vec<JobResult>>,
    /// Why it was refused or has failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Refusal>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum JobState {
    /// What it takes is being found out.
    Planning,
    /// It waits for its turn.
    Queued,
    /// It runs.
    Running,
    /// It will be canceled at the end of its present step.
    Stopping,
    /// Its results are there.
    Done,
    /// Its plan is beyond the limits, or its files do not go together. It never started.
    Refused,
    /// It ended without results, or the server ended too often while it was planned.
    Failed,
    /// It was canceled. Clients and records know the word with two l.
    #[serde(rename = "cancelled")]
    Canceled,
}

impl fmt::Display for JobState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// The step that a job is in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Progress {
    pub step: String,
    /// Steps that are over.
    pub done: usize,
    /// Steps of this kind.
    pub total: usize,
    /// Time since the job was started or resumed.
    pub seconds: f64,
}

/// A result: a file like any other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobResult {
    pub name: String,
    pub file: FileId,
    pub bytes: u64,
}

impl Job {
    /// Whether nothing will change any more.
    pub fn is_over(&self) -> bool {
        matches!(self.state, JobState::Done | JobState::Refused | JobState::Failed | JobState::Canceled)
    }

    /// Whether it will yet read a file.
    pub(super) fn needs(&self, file: FileId) -> bool {
        !self.is_over() && (self.program == file || self.keys.files().contains(&file) || self.inputs.contains(&file))
    }

    pub(super) fn end(&mut self, state: JobState, refusal: Option<Refusal>) {
        (self.state, self.refusal, self.ended) = (state, refusal, Some(now()));
    }
}

pub(super) struct JobEntry {
    pub(super) record: Job,
    control: Option<Arc<Control>>,
    /// While it is planned: set to end that.
    pub(super) planner: Option<Arc<AtomicBool>>,
}

impl JobEntry {
    fn new(record: Job) -> Self {
        Self { record, control: None, planner: None }
    }

    fn stop_planning(&self) {
        if let Some(stop) = &self.planner {
            stop.store(true, Ordering::Release);
        }
    }

    pub(super) fn reserved_bytes(&self) -> u64 {
        self.record.plan.filter(|_| !self.record.is_over()).map_or(0, |plan| plan.disk_bytes)
    }

    /// Whether it gives, or has given, what is asked for.
    fn answers(&self, request: &JobRequest, state: &State) -> bool {
        let JobRequest { program, keys, inputs } = request;
        let Job { results, .. } = &self.record;
        let same = self.record.program == *program && self.record.keys == *keys && self.record.inputs == *inputs;
        let there = || results.iter().flatten().all(|result| state.files.contains_key(&result.file));
        same && match self.record.state {
            JobState::Planning | JobState::Queued | JobState::Running => true,
            JobState::Done => there(),
            JobState::Stopping | JobState::Refused | JobState::Failed | JobState::Canceled => false,
        }
    }

    /// The job as clients see it.
    fn view(&self) -> Job {
        Job { progress: self.control.as_ref().map(|control| control.progress()), ..self.record.clone() }
    }
}

/// Why a running job is to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    Canceled,
    TimeIsOver,
    Closing,
}

/// Between a running job and those who ask about it.
#[derive(Debug)]
struct Control {
    started: Instant,
    /// Time it may still take.
    remaining: Duration,
    inner: Mutex<(Progress, Option<Stop>)>,
}

impl Control {
    fn inner(&self) -> MutexGuard<'_, (Progress, Option<Stop>)> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn progress(&self) -> Progress {
        Progress { seconds: self.started.elapsed().as_secs_f64(), ..self.inner().0.clone() }
    }

    /// The first reason stays.
    fn stop(&self, reason: Stop) {
        self.inner().1.get_or_insert(reason);
    }

    fn reason(&self) -> Option<Stop> {
        if self.started.elapsed() > self.remaining {
            self.stop(Stop::TimeIsOver);
        }
        self.inner().1
    }
}

/// A job that a worker has been given.
pub(crate) struct Running<'a> {
    store: &'a Store,
    pub(crate) id: Id,
    control: Arc<Control>,
    /// Seconds of earlier runs.
    before: f64,
}

impl Watch for Running<'_> {
    fn step(&self, name: &str, done: usize, total: usize) {
        self.control.inner().0 = Progress { step: name.into(), done, total, seconds: 0.0 };
    }

    fn kept(&self) {
        let seconds = self.seconds();
        // If the record cannot be written, the checkpoint is still there: only its seconds are not.
        let _ = self.store.change_job(self.id, |job| (job.attempts, job.seconds) = (1, seconds));
    }

    fn stopped(&self) -> bool {
        self.control.reason().is_some()
    }
}

impl Running<'_> {
    fn seconds(&self) -> f64 {
        self.before + self.control.started.elapsed().as_secs_f64()
    }
}

impl State {
    pub(super) fn stop_all(&self) {
        self.jobs.values().for_each(JobEntry::stop_planning);
        self.jobs.values().filter_map(|job| job.control.as_ref()).for_each(|control| control.stop(Stop::Closing));
    }
}

impl Store {
    /// All jobs, in the order in which they were asked for.
    pub fn jobs(&self) -> Vec<Job> {
        let mut all: Vec<Job> = self.state().jobs.values().map(JobEntry::view).collect();
        all.sort_by_key(|job| job.number);
        all
    }

    /// A job.
    ///
    /// # Errors
    /// [`Cause::Absent`].
    pub fn job(&self, id: Id) -> Result<Job, Denied> {
        self.state().jobs.get(&id).map(JobEntry::view).ok_or_else(|| absent("job", id))
    }

    /// Accepts a job, which is planned first. A job on the same files that has not failed is returned instead: its
    /// results would be the same, and a client that lost the answer may ask again.
    pub fn submit(&self, request: JobRequest) -> Result<Job, Denied> {
        let JobRequest { program, keys, inputs } = request;
        let mut state = self.state();
        let count = inputs.len();
        if !(1..=MOST_INPUTS).contains(&count) {
            let next = "give the ciphertexts that the program's description asks for";
            let wanted = format!("1 to {MOST_INPUTS}");
            return Err(Refusal::new("inputs of the job", count, wanted, next).because(Cause::Unfit));
        }
        if let Some(missing) =
            [&program].into_iter().chain(keys.files()).chain(&inputs).find(|id| !state.files.contains_key(id))
        {
            let next = "upload it, and wait until the upload is complete";
            let what = "the job names a file that is not there";
            return Err(Refusal::new(what, missing, "files that the server has", next).because(Cause::Unfit));
        }
        let request = JobRequest { program, keys, inputs };
        if let Some(job) = state.jobs.values().find(|job| job.answers(&request, &state)) {
            return Ok(job.view());
        }
        if state.jobs.len() >= self.limits.jobs {
            let wanted = format!("at most {}", self.limits.jobs);
            let refusal = Refusal::new("too many jobs", state.jobs.len(), wanted, "delete jobs that are over");
            return Err(refusal.because(Cause::TooMany));
        }
        let JobRequest { program, keys, inputs } = request;
        let record = Job {
            id: Id::random(),
            number: state.next_number(),
            program,
            keys,
            inputs,
            state: JobState::Planning,
            created: now(),
            ended: None,
            plan: None,
            attempts: 0,
            seconds: 0.0,
            progress: None,
            results: None,
            refusal: None,
        };
        make_folder(&self.job_folder(record.id))?;
        write_record(&self.job_folder(record.id).join(RECORD), &record)?;
        state.jobs.insert(record.id, JobEntry::new(record.clone()));
        self.changed.notify_all();
        Ok(record)
    }

    /// Cancels a job: at once if it is not running, otherwise at the end of its current step.
    ///
    /// # Errors
    /// [`Cause::Absent`]; [`Cause::Conflict`] if it is over; the system's.
    pub fn cancel(&self, id: Id) -> Result<Job, Denied> {
        let job = self.job(id)?;
        if job.is_over() {
            let refusal = Refusal::new("the job is over", job.state, "a job that is waiting or running", "delete it");
            return Err(refusal.because(Cause::Conflict));
        }
        let job = self.change_job(id, |job| match job.state {
            JobState::Planning | JobState::Queued => job.end(JobState::Canceled, None),
            JobState::Running => job.state = JobState::Stopping,
            _ => {}
        })?;
        if let Some(job) = self.state().jobs.get(&id) {
            job.stop_planning();
            job.control.iter().for_each(|control| control.stop(Stop::Canceled));
        }
        Ok(job)
    }

    /// Forgets a finished job. Its results stay as files.
    ///
    /// # Errors
    /// [`Cause::Absent`]; [`Cause::Conflict`] if it is not over; the system's.
    pub fn delete_job(&self, id: Id) -> Result<(), Denied> {
        let mut state = self.state();
        let job = &state.jobs.get(&id).ok_or_else(|| absent("job", id))?.record;
        if !job.is_over() {
            let refusal = Refusal::new("the job is not over", job.state, "a job that is over", "cancel it first");
            return Err(refusal.because(Cause::Conflict));
        }
        remove_folder(&self.job_folder(id))?;
        state.jobs.remove(&id);
        Ok(())
    }

    /// The next job to run, as soon as the memory beside the running jobs suffices for it. Blocks until there is one.
    /// `None` if the store is closing.
    pub(crate) fn next_run(&self) -> Option<Running<'_>> {
        let id = self.wait_for(|state| {
            let next = first_in(state, JobState::Queued)?;
            let memory = |job: &Job| job.plan.map_or(0, |plan| plan.memory_bytes);
            let running = state.jobs.values().filter(|job| job.control.is_some());
            let taken: u64 = running.map(|job| memory(&job.record)).sum();
            let (id, before) = (next.id, next.seconds);
            if taken > 0 && taken.saturating_add(memory(next)) > self.limits.memory_bytes {
                return None; // none overtakes it
            }
            let remaining = Duration::from_secs_f64((self.limits.job_seconds as f64 - before).max(0.0));
            let control = Control { started: Instant::now(), remaining, inner: Mutex::default() };
            let control = Arc::new(control);
            state.jobs.get_mut(&id)?.control = Some(control.clone());
            Some(Running { store: self, id, control, before })
        })?;
        Some(id)
    }

    /// Marks a job as running, and returns its files. `None` if it was canceled meanwhile, or was tried too often.
    pub(crate) fn start(&self, running: &Running<'_>) -> Result<Option<JobFiles>, Denied> {
        let job = self.change_job(running.id, |job| {
            if job.state != JobState::Queued {
                return;
            }
            if job.attempts >= ATTEMPTS {
                let (what, got) = ("the server ended while this job ran", format!("{ATTEMPTS} times in a row"));
                let next = "give the operator this job's id; its memory or its files may be the cause";
                let refusal = Refusal::new(what, got, "a run to the next checkpoint", next);
                return job.end(JobState::Failed, Some(refusal));
            }
            (job.state, job.attempts) = (JobState::Running, job.attempts + 1);
        })?;
        if job.state != JobState::Running {
            return Ok(None);
        }
        let folder = self.job_folder(job.id);
        remove_folder(&folder.join(RESULTS))?;
        make_folder(&folder.join(WORK))?;
        make_folder(&folder.join(RESULTS))?;
        Ok(Some(self.files_of(&job)))
    }

    /// Where a job's files are.
    pub(crate) fn files_of(&self, job: &Job) -> JobFiles {
        let inputs = job.inputs.iter().map(|&id| self.file_path(id)).collect();
        let keys = job.keys.files().iter().map(|&id| self.file_path(id)).collect();
        JobFiles { program: self.file_path(job.program), keys, inputs }
    }

    /// The folders of a running job: for checkpoints, and for results.
    pub(crate) fn work_folders(&self, id: Id) -> [PathBuf; 2] {
        [WORK, RESULTS].map(|name| self.job_folder(id).join(name))
    }

    /// A run is over: results become files, or the job ends without, or waits for the next server.
    pub(crate) fn finish(&self, running: &Running<'_>, outcome: Result<Vec<Output>, Failure>) -> Result<(), Denied> {
        let (id, seconds) = (running.id, running.seconds());
        let taken_in = match outcome {
            Ok(outputs) => match self.take_in(outputs) {
                Ok(results) => Ok(results),
                Err(e) => Err((JobState::Failed, Some(Denied::from(e).refusal))),
            },
            Err(Failure::Refused(refusal) | Failure::Ended(refusal)) => Err((JobState::Failed, Some(refusal))),
            Err(Failure::Stopped) => Err(match running.control.reason() {
                Some(Stop::Canceled) => (JobState::Canceled, None),
                Some(Stop::TimeIsOver) => (JobState::Failed, Some(time_is_over(seconds, &self.limits))),
                Some(Stop::Closing) | None => (JobState::Queued, None),
            }),
        };
        let job = self.change_job(id, |job| match taken_in {
            Ok(results) => {
                (job.results, job.seconds) = (Some(results), seconds);
                job.end(JobState::Done, None);
            }
            // The server closes in order; what the job computed since its last checkpoint is lost.
            Err((JobState::Queued, _)) => {
                (job.state, job.attempts) = (JobState::Queued, job.attempts.saturating_sub(1));
            }
            Err((state, refusal)) => {
                job.seconds = seconds;
                job.end(state, refusal);
            }
        })?;
        if job.is_over() {
            for folder in self.work_folders(id) {
                remove_folder(&folder)?;
            }
        }
        Ok(())
    }

    /// The worker gave up the job. If its end could not be recorded, it runs again.
    pub(crate) fn release(&self, id: Id) {
        if let Some(entry) = self.state().jobs.get_mut(&id) {
            entry.control = None;
            if entry.record.state == JobState::Running {
                entry.record.state = JobState::Queued;
            }
        }
        self.changed.notify_all();
    }

    fn take_in(&self, outputs: Vec<Output>) -> io::Result<Vec<JobResult>> {
        let take = |Output { name, path }| {
            fs::File::open(&path)?.sync_all()?;
            let (file, bytes) = hash(&path, || false)?.expect("nothing stops it");
            let kind = self.engine.recognize(&head(&path)?).unwrap_or_else(|_| "a result".into());
            self.adopt(&mut self.state(), &path, FileRecord { id: file, bytes, kind })?;
            Ok(JobResult { name, file, bytes })
        };
        outputs.into_iter().map(take).collect()
    }

    /// Changes a record, on the disk first.
    pub(super) fn change_job(&self, id: Id, change: impl FnOnce(&mut Job)) -> Result<Job, Denied> {
        self.change_job_in(&mut self.state(), id, change)
    }

    /// The same for who has the lock.
    pub(super) fn change_job_in(
        &self,
        state: &mut State,
        id: Id,
        change: impl FnOnce(&mut Job),
    ) -> Result<Job, Denied> {
        let entry = state.jobs.get_mut(&id).ok_or_else(|| absent("job", id))?;
        let mut record = entry.record.clone();
        change(&mut record);
        write_record(&self.job_folder(id).join(RECORD), &record)?;
        entry.record = record;
        let view = entry.view();
        self.changed.notify_all();
        Ok(view)
    }

    /// Recovers jobs: those that were running run again, from their checkpoint if they have one.
    pub(super) fn load_jobs(&self) -> Result<BTreeMap<Id, JobEntry>, StartError> {
        let mut jobs = BTreeMap::new();
        for (id, mut record) in self.load_records::<Job>("jobs")? {
            match record.state {
                JobState::Running => record.state = JobState::Queued,
                JobState::Stopping => record.end(JobState::Canceled, None),
                _ => {}
            }
            if record.is_over() {
                for folder in self.work_folders(id) {
                    remove_folder(&folder).map_err(StartError::system(folder.display().to_string()))?;
                }
            }
            jobs.insert(id, JobEntry::new(record));
        }
        Ok(jobs)
    }

    fn job_folder(&self, id: Id) -> PathBuf {
        self.folder("jobs").join(id.to_string())
    }
}

const MOST_INPUTS: usize = 1000;
const WORK: &str = "work";
const RESULTS: &str = "results";

/// The earliest job in this state.
pub(super) fn first_in(state: &State, wanted: JobState) -> Option<&Job> {
    let free = |job: &&JobEntry| job.record.state == wanted && job.control.is_none() && job.planner.is_none();
    let jobs = state.jobs.values().filter(free);
    jobs.map(|job| &job.record).min_by_key(|job| job.number)
}

fn time_is_over(seconds: f64, limits: &Limits) -> Refusal {
    let (got, wanted) = (format!("{seconds:.0} seconds"), format!("at most {} seconds", limits.job_seconds));
    let next = "choose a smaller program, or a server that gives more time (--job-seconds)";
    Refusal::new("the job's time is over", got, wanted, next)
}
