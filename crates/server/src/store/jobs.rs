//! Jobs: requested, run, and run again after a kill. [`super::plans`] plans them,
//! [`super::runs`] runs them.

use super::{
    Damaged, RECORD, State, Store, absent, now,
    runs::{Control, Stop},
};
use crate::{
    client::ClientName,
    disk::{make_folder, remove_folder, write_record},
    engine::JobPlan,
    id::{FileId, Id},
    refusal::{Cause, Denied, Refusal, StartError},
};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fmt,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
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
    /// Whose it is.
    #[serde(default)]
    pub client: ClientName,
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
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

    /// Memory by its plan.
    pub(super) fn memory_bytes(&self) -> u64 {
        self.plan.map_or(0, |plan| plan.memory_bytes)
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
    pub(super) control: Option<Arc<Control>>,
    /// While it is planned: set to end that.
    pub(super) planner: Option<Arc<AtomicBool>>,
}

impl JobEntry {
    fn new(record: Job) -> Self {
        Self { record, control: None, planner: None }
    }

    pub(super) fn stop_planning(&self) {
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
        let files = state.files.of(&self.record.client);
        let there = || results.iter().flatten().all(|result| files.contains_key(&result.file));
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

impl State {
    pub(super) fn jobs_of(&self, client: &ClientName) -> impl Iterator<Item = &JobEntry> {
        self.jobs.values().filter(move |job| job.record.client == *client)
    }

    /// A client's job; one of others is not there.
    fn job_of(&self, client: &ClientName, id: Id) -> Result<&JobEntry, Denied> {
        self.jobs.get(&id).filter(|job| job.record.client == *client).ok_or_else(|| self.missing("job", id))
    }
}

impl Store {
    /// A client's jobs, in the order in which they were asked for.
    pub fn jobs(&self, client: &ClientName) -> Vec<Job> {
        let state = self.state();
        let theirs = state.jobs.values().filter(|job| job.record.client == *client);
        let mut all: Vec<Job> = theirs.map(JobEntry::view).collect();
        all.sort_by_key(|job| job.number);
        all
    }

    /// A job of a client.
    ///
    /// # Errors
    /// [`Cause::Absent`].
    pub fn job(&self, client: &ClientName, id: Id) -> Result<Job, Denied> {
        self.state().job_of(client, id).map(JobEntry::view)
    }

    /// Accepts a job, which is planned first. A job on the same files that has not failed is returned instead: its
    /// results would be the same, and a client that lost the answer may ask again.
    pub fn submit(&self, client: &ClientName, request: JobRequest) -> Result<Job, Denied> {
        let JobRequest { program, keys, inputs } = request;
        let mut state = self.state();
        let count = inputs.len();
        if !(1..=MOST_INPUTS).contains(&count) {
            let next = "give the ciphertexts that the program's description asks for";
            let wanted = format!("1 to {MOST_INPUTS}");
            return Err(Refusal::new("inputs of the job", count, wanted, next).because(Cause::Unfit));
        }
        if let Some(missing) = [&program]
            .into_iter()
            .chain(keys.files())
            .chain(&inputs)
            .find(|id| !state.files.of(client).contains_key(id))
        {
            let next = "upload it, and wait until the upload is complete";
            let what = "the job names a file that is not there";
            return Err(Refusal::new(what, missing, "files that the server has", next).because(Cause::Unfit));
        }
        let request = JobRequest { program, keys, inputs };
        if let Some(job) = state.jobs_of(client).find(|job| job.answers(&request, &state)) {
            return Ok(job.view());
        }
        self.admit_job(&state, client)?;
        let JobRequest { program, keys, inputs } = request;
        let record = Job {
            id: Id::random(),
            client: client.clone(),
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

    fn admit_job(&self, state: &State, client: &ClientName) -> Result<(), Denied> {
        let unfinished = state.jobs_of(client).filter(|job| !job.record.is_over()).count();
        let remembered = state.jobs_of(client).count();
        for (what, got, most, next) in [
            (
                "too many jobs wait or run",
                unfinished,
                self.limits.client_jobs,
                "wait until some are over, or cancel some",
            ),
            ("too many jobs", remembered, self.limits.jobs, "delete jobs that are over"),
        ] {
            if got >= most {
                return Err(Refusal::new(what, got, format!("at most {most}"), next).because(Cause::TooMany));
            }
        }
        Ok(())
    }

    /// Cancels a job: at once if it is not running, otherwise at the end of its current step.
    ///
    /// # Errors
    /// [`Cause::Absent`]; [`Cause::Conflict`] if it is over; the system's.
    pub fn cancel(&self, client: &ClientName, id: Id) -> Result<Job, Denied> {
        let job = self.job(client, id)?;
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
    pub fn delete_job(&self, client: &ClientName, id: Id) -> Result<(), Denied> {
        let mut state = self.state();
        let job = &state.job_of(client, id)?.record;
        if !job.is_over() {
            let refusal = Refusal::new("the job is not over", job.state, "a job that is over", "cancel it first");
            return Err(refusal.because(Cause::Conflict));
        }
        remove_folder(&self.job_folder(id))?;
        state.jobs.remove(&id);
        Ok(())
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
    pub(super) fn load_jobs(&self, damaged: &mut Vec<Damaged>) -> Result<BTreeMap<Id, JobEntry>, StartError> {
        let mut jobs = BTreeMap::new();
        for (id, mut record) in self.load_records("job", |job: &Job| job.id, damaged)? {
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

    pub(super) fn job_folder(&self, id: Id) -> PathBuf {
        self.folder("jobs").join(id.to_string())
    }
}

const MOST_INPUTS: usize = 1000;
