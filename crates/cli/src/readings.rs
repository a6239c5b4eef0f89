//! From a program to its plan: what `plan`, `run` and `time` have in common.

use crate::{progress::note, text::units, workload::Built};
use limbwise::rlwe::KeyForm;
use limbwise_apps::Program;
use limbwise_cpu::Cpu;
use limbwise_runtime::{Calibration, Plan, Recording, calibrate, plan, record};
use std::time::Instant;

/// A recorded and planned program.
pub(crate) struct Planned {
    pub(crate) recording: Recording,
    pub(crate) calibration: Calibration,
    pub(crate) plan: Plan,
}

/// Records a program.
///
/// # Errors
/// What the schemes refuse.
pub(crate) fn recorded<P: Program>(program: &P, form: KeyForm) -> limbwise_runtime::Result<Recording> {
    let start = Instant::now();
    let recording = record(program, form)?;
    let (nodes, seconds) = (recording.graph.nodes().len(), units::seconds(start.elapsed().as_secs_f64()));
    note(&format!("recorded {} operations in {seconds}", units::count(nodes as u64)));
    Ok(recording)
}

/// Measures this host for programs of one ring degree.
///
/// # Errors
/// A device that cannot be opened.
pub(crate) fn calibrated(dev: &Cpu, log_n: u32) -> limbwise_runtime::Result<Calibration> {
    note("calibrating this host (about two seconds)");
    calibrate(dev, log_n)
}

/// Records, calibrates, plans.
///
/// # Errors
/// Those of the three.
pub(crate) fn planned(dev: &Cpu, built: &Built) -> limbwise_runtime::Result<Planned> {
    let Built { program, preset, form } = built;
    let recording = recorded(program, *form)?;
    let calibration = calibrated(dev, program.params().log_n())?;
    let plan = plan(program, preset, &recording, &calibration)?;
    Ok(Planned { recording, calibration, plan })
}
