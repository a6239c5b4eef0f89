//! Interface of the engine that the server uses: it recognizes files, plans jobs and runs them.
//!
//! The server itself has no encryption code; tests replace the engine by a mock.

use crate::refusal::Refusal;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use utoipa::ToSchema;

/// Bytes from a file's beginning that an engine needs to recognize it.
pub const HEAD_BYTES: usize = 4096;

/// What a file holds, in words: "evaluation keys".
pub type FileKind = String;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobFiles {
    pub program: PathBuf,
    /// The keys: evaluation keys, those of TFHE, or both.
    pub keys: Vec<PathBuf>,
    /// The encrypted inputs, in the program's order.
    pub inputs: Vec<PathBuf>,
}

/// What a job will take, known before it starts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JobPlan {
    /// Most memory.
    pub memory_bytes: u64,
    /// Predicted time of the evaluation on this host.
    pub seconds: f64,
    /// Most bytes of checkpoints and results.
    pub disk_bytes: u64,
    /// The highest level of its ciphertexts; absent where the scheme has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub levels: Option<usize>,
}

/// What planning a job may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanBudget {
    /// Memory, beside what a process of the program has from the start.
    pub memory_bytes: u64,
    /// Time by the clock.
    pub seconds: u64,
}

/// Observes a running job, and may stop it.
pub trait Watch: Send + Sync {
    /// A step begins; `done` of `total` are finished.
    fn step(&self, name: &str, done: usize, total: usize);

    /// A checkpoint is on disk: a restarted job resumes from it.
    fn kept(&self);

    /// Whether to stop at the next opportunity, with [`Failure::Stopped`].
    fn stopped(&self) -> bool;
}

/// Why a run gave no results, or a job has no plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The run was asked to stop.
    Stopped,
    /// The files do not match, or the device failed. A retry would not help.
    Refused(Refusal),
    /// The process was killed from outside, which says nothing about the files: the job may be retried a few times.
    Ended(Refusal),
}

pub trait Engine: Send + Sync + 'static {
    /// What a file holds, from its first [`HEAD_BYTES`] (or all of them, if it is shorter).
    ///
    /// # Errors
    /// What is to be said to whoever sent it. Files that must not be on a server, secret keys, are refused here.
    fn recognize(&self, head: &[u8]) -> Result<FileKind, Refusal>;

    /// The cost of a job, without running it. Its files are hostile and may demand any amount of work: planning stops
    /// at the end of its budget, and soon after `stopped` returns true. No file can crash the server.
    ///
    /// # Errors
    /// [`Failure`]: an error in the files, or an exhausted budget.
    fn plan(&self, files: &JobFiles, budget: PlanBudget, stopped: &dyn Fn() -> bool) -> Result<JobPlan, Failure>;

    /// Runs a job. `work` is a folder of its own that outlives a kill; if it holds checkpoints of an earlier run of the
    /// same job, the run goes on from there. Results are written to `results`, an empty folder, and the answer names
    /// them in the program's order. The same files give the same results, byte for byte.
    fn run(&self, files: &JobFiles, work: &Path, results: &Path, watch: &dyn Watch) -> Result<Vec<Output>, Failure>;

    /// Gives back memory that it keeps for later jobs and no running one uses, down to so many bytes. What the job that
    /// starts next will use is not counted, for its plan has it.
    fn shrink(&self, _most_bytes: u64, _next: &JobFiles) {}

    /// A file will be removed: nothing of it is to be kept.
    fn forget(&self, _file: &Path) {}

    /// What it keeps for later jobs.
    fn resident(&self) -> Resident {
        Resident::default()
    }
}

/// What an engine keeps in memory for later jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resident {
    pub bytes: u64,
    /// Runs that found their keys, and those that read them.
    pub hits: u64,
    pub misses: u64,
    pub evictions: u64,
}

/// A result that a run has written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    pub name: String,
    pub path: PathBuf,
}
