//! Planning in a separate process: its request, its answer and its limits.
//!
//! The description of a program may be hostile, and it is laid out and recorded here. It may crash this process, but
//! not the server: the system limits the memory, and the server limits the time.

use crate::{
    child::{self, Outcome},
    engine::{Failure, JobFiles, JobPlan, PlanBudget},
    evaluation::{Models, described, job, told},
    refusal::Refusal,
};
use limbwise_runtime::{
    Calibration, Limits,
    calibrate::Degrees,
    eval::{EvalPlan, plan_files},
    host::{address_space_bytes, peak_memory_bytes, resident_memory_bytes},
};
use serde::{Deserialize, Serialize};
use std::{
    ffi::OsString,
    io::{self, BufRead, Read, Write},
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
    sync::mpsc,
    thread,
    time::Duration,
};

/// Command of the planning program, which calls [`answer`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planner {
    pub program: OsString,
    pub arguments: Vec<OsString>,
}

/// The request: one line of JSON.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Request {
    pub(crate) program: PathBuf,
    pub(crate) keys: Vec<PathBuf>,
    pub(crate) inputs: Vec<PathBuf>,
    /// Device of the job, which planning does not open.
    pub(crate) threads: usize,
    /// Most memory of the job.
    pub(crate) memory_bytes: u64,
    /// What the server holds beside it.
    pub(crate) held_bytes: u64,
    /// Memory limit of planning itself.
    pub(crate) plan_memory_bytes: u64,
    /// The server measures the host, once a ring degree. None where no program can have this degree.
    pub(crate) calibration: Option<Calibration>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum Answer {
    Plan(JobPlan),
    Refusal(Refusal),
}

/// Longest request: a thousand input names, each as long as a path may be.
const MOST_REQUEST: u64 = 8 << 20;

impl Planner {
    pub(crate) fn plan(
        &self,
        request: &Request,
        budget: PlanBudget,
        stopped: &dyn Fn() -> bool,
    ) -> Result<JobPlan, Failure> {
        let failed =
            |what: &str, got: String| Refusal::new(what, got, "a plan", "tell the operator, with this job's id");
        let unasked = |e| failed("the planner cannot be asked", format!("{e} (the state's directory)"));
        let mut line = serde_json::to_vec(request).map_err(|e| Failure::Refused(unasked(e)))?;
        line.push(b'\n');
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        let time = Duration::from_secs(budget.seconds);
        let unstarted = |e| failed("the planner cannot be started", format!("{e}"));
        // A system failure, which may be temporary.
        let outcome = child::ask(&mut command, &line, time, stopped).map_err(|e| Failure::Ended(unstarted(e)))?;
        match outcome {
            Outcome::Answered(answer) => match serde_json::from_slice(&answer) {
                Ok(Answer::Plan(plan)) => Ok(plan),
                Ok(Answer::Refusal(refusal)) => Err(Failure::Refused(refusal)),
                Err(e) => Err(Failure::Refused(failed("the planner's answer is none", e.to_string()))),
            },
            Outcome::Stopped => Err(Failure::Stopped),
            Outcome::TimeIsOver => Err(Failure::Refused(too_long(budget))),
            Outcome::Ended { status, said } => Err(ended(status, &said, budget)),
        }
    }
}

fn too_long(budget: PlanBudget) -> Refusal {
    let (got, wanted) = ("no plan yet".to_owned(), format!("at most {} seconds", budget.seconds));
    let next = "choose a program of fewer steps, or a server that gives planning more time (--plan-seconds)";
    Refusal::new("planning this program takes too long", got, wanted, next)
}

/// Why a planner exited without an answer.
fn ended(status: ExitStatus, said: &str, budget: PlanBudget) -> Failure {
    if said.contains(NO_MEMORY) {
        let wanted = format!("at most {} bytes", budget.memory_bytes);
        let next = "choose a smaller program, or a server that gives planning more memory (--plan-memory)";
        let what = "planning this program takes too much memory";
        return Failure::Refused(Refusal::new(what, "more than that", wanted, next));
    }
    let next = "tell the operator, with this job's id: the system, or a bug in limbwise, may be the cause";
    let refusal = Refusal::new("the planner ended without a plan", status, "a plan", next);
    if was_killed(status) { Failure::Ended(refusal) } else { Failure::Refused(refusal) }
}

/// Message of a Rust program that aborts because an allocation failed.
const NO_MEMORY: &str = "memory allocation of ";

/// Whether something outside killed the process: the system when memory runs out, or a person.
#[cfg(unix)]
fn was_killed(status: ExitStatus) -> bool {
    use rustix::process::Signal;
    use std::os::unix::process::ExitStatusExt as _;
    let outside = [Signal::KILL, Signal::TERM, Signal::INT, Signal::HUP];
    status.signal().is_some_and(|signal| outside.iter().any(|known| known.as_raw() == signal))
}

/// Whether something outside killed the process: unknown on other systems.
#[cfg(not(unix))]
fn was_killed(_: ExitStatus) -> bool {
    false
}

/// The planner's side: reads one request, limits this process, plans, and writes the answer. The process exits when its
/// input closes, because nobody waits for the answer then.
pub fn answer(mut input: impl BufRead + Send + 'static, output: &mut impl Write, models: &Models) -> io::Result<()> {
    let mut line = Vec::new();
    input.by_ref().take(MOST_REQUEST).read_until(b'\n', &mut line)?;
    let request: Request = serde_json::from_slice(&line)?;
    end_with(input)?;
    limit(request.plan_memory_bytes)?;
    let before = resident_memory_bytes().unwrap_or(0);
    let mut answer = plan(&request, models).map_or_else(Answer::Refusal, Answer::Plan);
    if let Answer::Plan(plan) = &mut answer {
        // The server checks this again before it runs the job.
        let taken = peak_memory_bytes().unwrap_or(0).saturating_sub(before);
        plan.memory_bytes = plan.memory_bytes.max(request.held_bytes.saturating_add(taken));
    }
    serde_json::to_writer(&mut *output, &answer)?;
    output.flush()
}

/// Lets the process end with its input. Returns when that is looked after: the thread's own memory is not the plan's.
fn end_with(mut input: impl BufRead + Send + 'static) -> io::Result<()> {
    let (ready, is_ready) = mpsc::channel();
    thread::Builder::new().name("input".into()).spawn(move || {
        let _ = ready.send(());
        let _ = io::copy(&mut input, &mut io::sink());
        std::process::exit(1);
    })?;
    let _ = is_ready.recv();
    Ok(())
}

/// Limits the memory of this process to this much above its present use; the system refuses more. Never raises an
/// existing limit. Systems that do not report memory use have no such limit.
#[cfg(unix)]
fn limit(bytes: u64) -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    // A process that is killed must not write gigabytes of core dump.
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    if let Some(held) = address_space_bytes() {
        let least = |old: Option<u64>| Some(old.unwrap_or(u64::MAX).min(held.saturating_add(bytes)));
        let Rlimit { current, maximum } = getrlimit(Resource::As);
        setrlimit(Resource::As, Rlimit { current: least(current), maximum: least(maximum) })?;
    }
    Ok(())
}

/// Other systems have no such limit.
#[cfg(not(unix))]
fn limit(_: u64) -> io::Result<()> {
    let _ = address_space_bytes();
    Ok(())
}

fn plan(request: &Request, models: &Models) -> Result<JobPlan, Refusal> {
    let Request { program, keys, inputs, threads, memory_bytes, held_bytes, .. } = request;
    let files = JobFiles { program: program.clone(), keys: keys.clone(), inputs: inputs.clone() };
    let (description, model) = described(&files, models)?;
    let job = job(&files, (&description, &model), [Path::new(""), Path::new("")]);
    let limits = Limits { memory_bytes: Some(*memory_bytes), held_bytes: Some(*held_bytes), ..Limits::default() };
    let calibrated = |degrees: Degrees| {
        let known = request.calibration.clone();
        let degrees: Vec<String> = degrees.iter().flatten().map(|log_n| format!("2^{log_n}")).collect();
        let unknown = format!("the rates of rings of degree {} are not known", degrees.join(" and "));
        known.ok_or_else(|| limbwise_runtime::Error::Report(unknown))
    };
    let plan = plan_files((*threads, &limbwise_cpu::footprint()), &job, &limits, calibrated)
        .map_err(|e| told(&files, &[], &e))?;
    let EvalPlan { memory_bytes, seconds, disk_bytes, levels, .. } = plan;
    Ok(JobPlan { memory_bytes, seconds, disk_bytes, levels })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt as _;

    const BUDGET: PlanBudget = PlanBudget { memory_bytes: 1000, seconds: 5 };

    #[test]
    fn only_what_came_from_outside_is_tried_again() {
        let [killed, aborted, failed] = [9, 6, 1 << 8].map(ExitStatus::from_raw);
        assert!(matches!(ended(killed, "", BUDGET), Failure::Ended(_)));
        let Failure::Refused(refusal) = ended(aborted, "memory allocation of 1048576 bytes failed", BUDGET) else {
            panic!("it would end the same")
        };
        assert_eq!(refusal.wanted.as_deref(), Some("at most 1000 bytes"));
        let Failure::Refused(refusal) = ended(aborted, "thread 'main' has overflowed its stack", BUDGET) else {
            panic!("it would end the same")
        };
        assert!(refusal.what.contains("without a plan"), "{refusal:?}");
        assert!(matches!(ended(failed, "", BUDGET), Failure::Refused(_)));
    }

    #[test]
    fn a_request_that_is_none_is_an_error_and_no_answer() {
        let models: Models = Box::new(|_| panic!("nothing is planned"));
        for wrong in ["", "{}\n", "{\"program\": 1}\n", "[[[[\n"] {
            let mut output = Vec::new();
            assert!(answer(wrong.as_bytes(), &mut output, &models).is_err() && output.is_empty(), "{wrong:?}");
        }
    }

    #[test]
    fn a_planner_that_answers_what_is_no_plan_is_not_believed() {
        let says = |text: &str| Planner { program: "echo".into(), arguments: vec![text.into()] };
        let request = Request {
            program: "p".into(),
            keys: vec!["k".into()],
            inputs: Vec::new(),
            threads: 1,
            memory_bytes: 1,
            held_bytes: 0,
            plan_memory_bytes: 1,
            calibration: None,
        };
        let plan = |text: &str| says(text).plan(&request, BUDGET, &|| false);
        let right = "{\"plan\": {\"memory_bytes\": 1, \"seconds\": 2.0, \"disk_bytes\": 3}}";
        assert_eq!(plan(right), Ok(JobPlan { memory_bytes: 1, seconds: 2.0, disk_bytes: 3, levels: None }));
        assert!(
            matches!(plan("{\"refusal\": {\"what\": \"no\"}}"), Err(Failure::Refused(refusal)) if refusal.what == "no")
        );
        for wrong in ["", "{}", "{\"plan\": {\"memory_bytes\": -1}}"] {
            assert!(matches!(plan(wrong), Err(Failure::Refused(_))), "{wrong}");
        }
        let absent = Planner { program: "/nowhere/at/all".into(), arguments: Vec::new() };
        assert!(matches!(absent.plan(&request, BUDGET, &|| false), Err(Failure::Ended(_))));
    }
}
