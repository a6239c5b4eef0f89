//! From a program to its plan: what `plan`, `run` and `time` have in common.

use crate::{failure::Mistake, host::MemoryArgs, progress::note, text::units, workload::Built};
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

/// Records, calibrates, plans: with the keys kept as the user says, or else in the fastest way that fits the memory.
///
/// # Errors
/// Those of the three, or a program that does not fit.
pub(crate) fn planned(dev: &Cpu, built: &Built, memory: MemoryArgs) -> anyhow::Result<Planned> {
    let calibration = calibrated(dev, built.program.params().log_n())?;
    let forms = match (built.form, memory.most) {
        (Some(form), _) => vec![form],
        (None, None) => vec![KeyForm::default()],
        (None, Some(_)) => vec![KeyForm::Stored, KeyForm::Seeded],
    };
    let mut plans = Vec::new();
    for form in forms {
        let recording = recorded(&built.program, form)?;
        let plan = plan(&built.program, &built.preset, &recording, &calibration)?;
        plans.push(Planned { recording, calibration: calibration.clone(), plan });
    }
    let peak = |p: &Planned| p.plan.peak_memory_bytes.predicted;
    let smallest = plans.iter().map(peak).min().unwrap_or(0);
    let most = memory.most.unwrap_or(u64::MAX);
    let seconds = |p: &Planned| p.plan.seconds_predicted;
    let fastest = plans.into_iter().filter(|p| peak(p) <= most).min_by(|a, b| seconds(a).total_cmp(&seconds(b)));
    fastest.ok_or_else(|| {
        let text = format!(
            "--memory {}: the smallest plan takes {} at its peak; choose fewer iterations, a preset with fewer limbs, or more memory",
            units::bytes(most),
            units::bytes(smallest)
        );
        Mistake(text).into()
    })
}
