//! Runs of jobs: whose turn it is, the memory they share, their end.

use super::{
    State, Store,
    files::{FileRecord, hash},
    head,
    jobs::{Job, JobEntry, JobResult, JobState, Progress},
};
use crate::{
    client::ClientName,
    disk::{make_folder, remove_folder},
    engine::{Failure, JobFiles, Output, Watch},
    id::Id,
    limits::{ATTEMPTS, Limits},
    refusal::{Denied, Refusal},
};
use std::{
    collections::BTreeMap,
    fs, io,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// Why a running job is to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    Canceled,
    TimeIsOver,
    Closing,
}

/// Between a running job and those who ask about it.
#[derive(Debug)]
pub(super) struct Control {
    started: Instant,
    /// Time it may still take.
    remaining: Duration,
    inner: Mutex<(Progress, Option<Stop>)>,
}

impl Control {
    fn inner(&self) -> MutexGuard<'_, (Progress, Option<Stop>)> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn progress(&self) -> Progress {
        Progress { seconds: self.started.elapsed().as_secs_f64(), ..self.inner().0.clone() }
    }

    /// The first reason stays.
    pub(super) fn stop(&self, reason: Stop) {
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
    /// Memory that running jobs were promised by their plans.
    pub(super) fn promised_bytes(&self) -> u64 {
        let running = self.jobs.values().filter(|job| job.control.is_some());
        running.map(|job| job.record.memory_bytes()).sum()
    }

    pub(super) fn stop_all(&self) {
        self.jobs.values().for_each(JobEntry::stop_planning);
        self.jobs.values().filter_map(|job| job.control.as_ref()).for_each(|control| control.stop(Stop::Closing));
    }
}

impl Store {
    /// The next job to run, as soon as the memory beside the running jobs suffices for it. Blocks until there is one.
    /// `None` if the store is closing.
    pub(crate) fn next_run(&self) -> Option<Running<'_>> {
        let id = self.wait_for(|state| {
            let next = first_in(state, JobState::Queued)?;
            let (taken, wanted) = (state.promised_bytes(), next.memory_bytes());
            let (id, before, client) = (next.id, next.seconds, next.client.clone());
            if taken > 0 && taken.saturating_add(wanted) > self.limits.memory_bytes {
                return None; // its client's turn is kept, and those after it wait
            }
            // Keys that lie idle make room: a job is worth more than what it would save a later one.
            let rest = self.limits.memory_bytes.saturating_sub(taken.saturating_add(wanted));
            self.engine.shrink(rest, &self.files_of(next));
            state.turns.serve(JobState::Queued, client);
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
        let path = |&id| self.file_path(&job.client, id);
        let inputs = job.inputs.iter().map(path).collect();
        let keys = job.keys.files().iter().map(path).collect();
        JobFiles { program: path(&job.program), keys, inputs }
    }

    /// The folders of a running job: for checkpoints, and for results.
    pub(crate) fn work_folders(&self, id: Id) -> [PathBuf; 2] {
        [WORK, RESULTS].map(|name| self.job_folder(id).join(name))
    }

    /// A run is over: results become files, or the job ends without, or waits for the next server.
    pub(crate) fn finish(&self, running: &Running<'_>, outcome: Result<Vec<Output>, Failure>) -> Result<(), Denied> {
        let (id, seconds) = (running.id, running.seconds());
        let taken_in = match outcome {
            Ok(outputs) => match self.take_in(id, outputs) {
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

    fn take_in(&self, job: Id, outputs: Vec<Output>) -> io::Result<Vec<JobResult>> {
        let client = self.state().jobs.get(&job).map(|job| job.record.client.clone()).unwrap_or_default();
        let take = |Output { name, path }| {
            fs::File::open(&path)?.sync_all()?;
            let (file, bytes) = hash(&path, || false)?.expect("nothing stops it");
            let kind = self.engine.recognize(&head(&path)?).unwrap_or_else(|_| "a result".into());
            self.adopt(&mut self.state(), &client, &path, FileRecord { id: file, bytes, kind })?;
            Ok(JobResult { name, file, bytes })
        };
        outputs.into_iter().map(take).collect()
    }
}

const WORK: &str = "work";
const RESULTS: &str = "results";

/// When each client was served last, so that many jobs of one do not keep those of others waiting.
#[derive(Debug, Default)]
pub(super) struct Turns {
    count: u64,
    last: BTreeMap<(JobState, ClientName), u64>,
}

impl Turns {
    pub(super) fn serve(&mut self, kind: JobState, client: ClientName) {
        self.count += 1;
        self.last.insert((kind, client), self.count);
    }

    fn of(&self, kind: JobState, client: &ClientName) -> u64 {
        self.last.get(&(kind, client.clone())).copied().unwrap_or(0)
    }
}

/// The next job in this state: of the client that was served longest ago, the earliest.
pub(super) fn first_in(state: &State, wanted: JobState) -> Option<&Job> {
    let free = |job: &&JobEntry| job.record.state == wanted && job.control.is_none() && job.planner.is_none();
    let jobs = state.jobs.values().filter(free);
    jobs.map(|job| &job.record).min_by_key(|job| (state.turns.of(wanted, &job.client), job.number))
}

fn time_is_over(seconds: f64, limits: &Limits) -> Refusal {
    let (got, wanted) = (format!("{seconds:.0} seconds"), format!("at most {} seconds", limits.job_seconds));
    let next = "choose a smaller program, or a server that gives more time (--job-seconds)";
    Refusal::new("the job's time is over", got, wanted, next)
}
