//! Named steps with their times: the progress of a run or an evaluation.

use crate::host::minor_faults;
use limbwise_apps::Observer;
use schemars::JsonSchema;
use serde::Serialize;
use std::time::Instant;

/// Reserving the planned memory.
pub const MEMORY_STEP: &str = "memory";
/// Generating or reading the keys.
pub const KEY_STEP: &str = "keys";
/// Encoding the program's linear maps, if any.
pub const ENCODE_STEP: &str = "encoding";
/// Encoding the linear maps of bootstrapping, if any.
pub const BOOTSTRAP_STEP: &str = "bootstrapper";
pub const ENCRYPT_STEP: &str = "encryption";
pub const READ_STEP: &str = "inputs";
pub const WRITE_STEP: &str = "results";
pub const DECRYPT_STEP: &str = "decryption";

/// A report on the progress of a program.
#[derive(Clone, Debug)]
pub enum Event {
    /// Part of a step is done.
    Progress {
        step: String,
        /// Parts done.
        done: usize,
        total: usize,
    },
    Done(Step),
}

/// A step and its time.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Step {
    pub name: String,
    pub seconds: f64,
}

/// Times each step until the next begins.
pub(crate) struct Clock<'a> {
    tell: &'a mut dyn FnMut(Event),
    steps: Vec<Step>,
    current: Option<(String, Instant)>,
    /// Page faults of the process before the current step, and of the evaluation so far.
    faults: (Option<u64>, Option<u64>),
}

/// Steps that do not belong to the program itself.
const AROUND: [&str; 8] =
    [MEMORY_STEP, KEY_STEP, ENCODE_STEP, BOOTSTRAP_STEP, ENCRYPT_STEP, READ_STEP, WRITE_STEP, DECRYPT_STEP];

/// Total time of the program's own steps.
pub(crate) fn evaluation_seconds(steps: &[Step]) -> f64 {
    let own = steps.iter().filter(|s| !AROUND.contains(&s.name.as_str()));
    own.fold(0.0, |sum, step| sum + step.seconds) // a sum of nothing is -0.0
}

impl<'a> Clock<'a> {
    pub(crate) fn new(tell: &'a mut dyn FnMut(Event)) -> Self {
        Self { tell, steps: Vec::new(), current: None, faults: (None, None) }
    }

    /// Ends the last step. Returns all steps and the page faults of the evaluation.
    pub(crate) fn finish(mut self) -> (Vec<Step>, Option<u64>) {
        self.end_step();
        (self.steps, self.faults.1)
    }

    fn end_step(&mut self) {
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
            self.end_step();
            self.faults.0 = minor_faults();
            self.current = Some((name.into(), Instant::now()));
        }
        (self.tell)(Event::Progress { step: name.into(), done, total });
    }
}

/// Peak memory of the process.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct PeakMemory {
    /// VmHWM at the end; absent if the system does not report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured: Option<u64>,
    /// Predicted before the run.
    pub predicted: u64,
}
