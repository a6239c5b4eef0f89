//! An engine without encryption: a chain of digests, a checkpoint a link.

use limbwise_server::{
    Engine, Failure, FileKind, JobFiles, JobPlan, PlanBudget, Refusal, Watch, engine::Output, id::FileId,
};
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    path::{Path, PathBuf},
    thread::sleep,
    time::{Duration, Instant},
};

/// A file: who asked for a plan that ends the server has its answer.
pub(crate) const ANSWERED: &str = "answered";

/// Writes a line for each step that it computes, so that tests see what was computed twice.
#[derive(Debug)]
pub(crate) struct Chain {
    pub(crate) trace: PathBuf,
    /// The same for plans: "begun", and how they ended if they did not give a plan.
    pub(crate) plans: PathBuf,
    /// What it was told of memory that it keeps: "shrink 7000", "forget NAME".
    pub(crate) kept: PathBuf,
}

/// What a program's file says after its first word.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Program {
    memory_bytes: u64,
    seconds: f64,
    disk_bytes: u64,
    steps: usize,
    pause_ms: u64,
    /// Fails at this step, or panics at that one.
    fail_at: Option<usize>,
    panic_at: Option<usize>,
    /// Ends the whole process at this step.
    abort_at: Option<usize>,
    /// Planning takes so long, unless it is stopped.
    plan_ms: u64,
    /// Planning ends the whole process.
    plan_aborts: bool,
    /// Planning ends as if from outside.
    plan_is_killed: bool,
    /// The name of its steps, and why it fails.
    said: String,
}

impl Default for Program {
    fn default() -> Self {
        let (fail_at, panic_at, abort_at) = (None, None, None);
        let (memory_bytes, seconds, disk_bytes, steps, pause_ms) = (1000, 1.0, 1000, 3, 0);
        let (plan_ms, plan_aborts, plan_is_killed) = (0, false, false);
        Self {
            memory_bytes,
            seconds,
            disk_bytes,
            steps,
            pause_ms,
            fail_at,
            panic_at,
            abort_at,
            plan_ms,
            plan_aborts,
            plan_is_killed,
            said: "link".into(),
        }
    }
}

#[derive(Default, Serialize, Deserialize)]
struct State {
    step: usize,
    digest: String,
}

fn program(files: &JobFiles) -> Result<Program, Refusal> {
    let text = fs::read_to_string(&files.program).unwrap();
    let Some(text) = text.strip_prefix("PROGRAM ") else {
        return Err(Refusal::new("no program", text, "a program", "send one"));
    };
    serde_json::from_str(text).map_err(|e| Refusal::text(e.to_string()))
}

fn note(path: &Path, line: &str) {
    let mut file = OpenOptions::new().append(true).create(true).open(path).unwrap();
    writeln!(file, "{line}").unwrap();
}

impl Engine for Chain {
    fn recognize(&self, head: &[u8]) -> Result<FileKind, Refusal> {
        match head.split(|byte| *byte == b' ').next().unwrap_or_default() {
            b"PROGRAM" => Ok("a program".into()),
            b"KEYS" => Ok("keys".into()),
            b"CIPHERTEXT" => Ok("a ciphertext".into()),
            b"SECRET" => Err(Refusal::new("this is a secret key", "a secret key", "what is public", "keep it at home")),
            _ => Err(Refusal::new("unknown bytes", head.len(), "a file of this test", "send one")),
        }
    }

    fn plan(&self, files: &JobFiles, budget: PlanBudget, stopped: &dyn Fn() -> bool) -> Result<JobPlan, Failure> {
        let Program { memory_bytes, seconds, disk_bytes, plan_ms, plan_aborts, plan_is_killed, steps, .. } =
            program(files).map_err(Failure::Refused)?;
        note(&self.plans, "begun");
        if plan_aborts {
            // Only who has the answer to its request knows what became of it.
            let (start, answered) = (Instant::now(), self.plans.with_file_name(ANSWERED));
            while !answered.exists() && start.elapsed() < Duration::from_secs(60) {
                sleep(Duration::from_millis(5));
            }
            std::process::abort();
        }
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(plan_ms) {
            if stopped() {
                note(&self.plans, "stopped");
                return Err(Failure::Stopped);
            }
            if start.elapsed() >= Duration::from_secs(budget.seconds) {
                note(&self.plans, "too long");
                return Err(Failure::Refused(Refusal::text("planning takes too long")));
            }
            sleep(Duration::from_millis(5));
        }
        if plan_is_killed {
            return Err(Failure::Ended(Refusal::text("asked to be killed")));
        }
        Ok(JobPlan { memory_bytes, seconds, disk_bytes, levels: Some(steps) })
    }

    fn run(&self, files: &JobFiles, work: &Path, results: &Path, watch: &dyn Watch) -> Result<Vec<Output>, Failure> {
        let program = program(files).map_err(Failure::Refused)?;
        let kept = work.join("state");
        let mut state: State =
            fs::read(&kept).map_or_else(|_| State::default(), |bytes| serde_json::from_slice(&bytes).unwrap());
        while state.step < program.steps {
            if watch.stopped() {
                return Err(Failure::Stopped);
            }
            watch.step(&program.said, state.step, program.steps);
            note(&self.trace, &state.step.to_string());
            let at = |step: Option<usize>| step == Some(state.step);
            assert!(!at(program.panic_at), "asked to panic");
            if at(program.abort_at) {
                std::process::abort();
            }
            if at(program.fail_at) {
                return Err(Failure::Refused(Refusal::text(format!("asked to fail: {}", program.said))));
            }
            sleep(Duration::from_millis(program.pause_ms));
            let mut bytes = state.digest.into_bytes();
            files.inputs.iter().for_each(|path| bytes.extend(fs::read(path).unwrap()));
            state = State { step: state.step + 1, digest: FileId::of(&bytes).to_string() };
            fs::write(work.join("new"), serde_json::to_vec(&state).unwrap()).unwrap();
            fs::rename(work.join("new"), &kept).unwrap();
            watch.kept();
        }
        let path = results.join("result");
        fs::write(&path, format!("CIPHERTEXT {}", state.digest)).unwrap();
        Ok(vec![Output { name: "digest".into(), path }])
    }

    fn shrink(&self, most_bytes: u64, _: &JobFiles) {
        note(&self.kept, &format!("shrink {most_bytes}"));
    }

    fn forget(&self, file: &Path) {
        assert!(file.exists(), "it is forgotten before it is removed");
        note(&self.kept, &format!("forget {}", file.file_name().unwrap().display()));
    }
}
