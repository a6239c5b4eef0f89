//! `limbwise time`: what a recorded program takes on models of machines.

use crate::{
    failure::Mistake,
    files::Target,
    host::HostArgs,
    output::OutputArgs,
    readings::{calibrated, planned, recorded},
    text,
    workload::Workload,
};
use limbwise_machines::{MachineError, Report, Spec, machine};
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

/// Say what a program takes on models of machines
///
/// Records the program as "limbwise plan" does and schedules the recording on each machine. "cpu" is this host: its
/// rates are measured for about two seconds first. Others are built in ("limbwise machines list"), or a TOML file that
/// says what it extends and what differs. What --set can change: "limbwise machines show ark --explain".
///
/// Examples:
///   limbwise time logreg --machine ark,cpu
///   limbwise time logreg --machine ark --set memory.hbm.bandwidth_gb_s=2000 --set clusters=8
///   limbwise time logreg --machine ark --trace ark.json       open it in chrome://tracing or Perfetto
///
/// What the numbers mean:
///   seconds, cycles    of the evaluation, without key generation
///   busy               share of the time in which a unit works
///   bytes              moved in each memory, by the role of what was moved
///   regions            where the time goes, with inner regions included
///   assumed            numbers that nobody published, each with its reason: what the result hangs on
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Time {
    #[command(subcommand)]
    workload: Workload,

    /// Machines, with commas between: names or TOML files
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "ark,cpu", global = true)]
    machine: Vec<String>,

    /// Change a number of the machines that have it; may be given again
    #[arg(long = "set", value_name = "PATH=VALUE", value_parser = assignment, global = true)]
    changes: Vec<(String, String)>,

    /// Write the schedule as a Chrome trace; with several machines, each to a file with its name put in
    #[arg(long, value_name = "FILE", global = true)]
    trace: Option<PathBuf>,

    #[command(flatten)]
    host: HostArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// The machine that is this host.
const THIS_HOST: &str = "cpu";
/// Most events in a trace: viewers choke on more.
const MOST_EVENTS: usize = 300_000;

/// `PATH=VALUE` as two texts.
pub(crate) fn assignment(text: &str) -> Result<(String, String), String> {
    let wanted = "wanted PATH=VALUE, for example memory.hbm.bandwidth_gb_s=2000";
    match text.split_once('=') {
        Some((path, value)) if !path.trim().is_empty() => Ok((path.trim().into(), value.trim().into())),
        _ => Err(wanted.into()),
    }
}

impl Time {
    pub(super) fn execute(&self) -> anyhow::Result<()> {
        let output = self.output.open()?;
        let dev = self.host.open()?;
        let mut specs = self.machine.iter().map(|name| Spec::load(name)).collect::<Result<Vec<_>, _>>()?;
        // Also changes this host's built-in numbers, so that a mistake is found before anything is measured.
        for spec in &mut specs {
            *spec = spec.with_overrides(&self.changes_of(spec))?;
        }
        self.all_changes_are_known(&specs)?;
        let traces = self.traces()?;
        let built = self.workload.build(None)?;
        let this_host = self.machine.iter().any(|name| name == THIS_HOST);
        let log_n = built.params().log_n();
        let calibration = if this_host || built.ways.len() > 1 { Some(calibrated(&dev, log_n)?) } else { None };
        // Where something is left open, what this host would choose is timed everywhere.
        let recording = match (&built.ways[..], &calibration) {
            ([way], _) | ([way, ..], None) => recorded(&built.program(*way), *way)?,
            (_, Some(calibration)) => planned(&built, calibration, None)?.recording,
            ([], None) => unreachable!("a program can be run in some way"),
        };
        if let Some(calibration) = calibration.filter(|_| this_host) {
            let host = calibration.spec()?;
            let host = host.with_overrides(&self.changes_of(&host))?;
            specs.iter_mut().zip(&self.machine).filter(|(_, name)| *name == THIS_HOST).for_each(|(s, _)| {
                *s = host.clone();
            });
        }
        let mut reports: Vec<Report> = Vec::new();
        for (i, spec) in specs.iter().enumerate() {
            let machine = machine::open(spec)?;
            let schedule = machine.schedule(&recording.graph)?;
            if let Some(target) = traces.get(i) {
                let mut trace = Vec::new();
                schedule.write_chrome_trace(&recording.graph, MOST_EVENTS, &mut trace)?;
                target.write(&trace)?;
            }
            reports.push(machine.report(&recording.graph, &schedule));
        }
        let text = reports.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        let text = format!("{}{text}", text::time::heading(&built.preset, &recording));
        match &reports[..] {
            [one] => output.report(one, &text),
            several => output.report(&several, &text),
        }
    }

    /// Changes to numbers that a machine has.
    fn changes_of(&self, spec: &Spec) -> Vec<(String, String)> {
        self.changes.iter().filter(|(path, _)| spec.has(path)).cloned().collect()
    }

    /// Refuses a change that no machine has, with the nearest key that one has.
    fn all_changes_are_known(&self, specs: &[Spec]) -> anyhow::Result<()> {
        let known = |change| specs.iter().any(|spec| self.changes_of(spec).contains(change));
        let Some(change) = self.changes.iter().find(|&change| !known(change)) else { return Ok(()) };
        let one = std::slice::from_ref(change);
        let refusals: Vec<MachineError> = specs.iter().filter_map(|spec| spec.with_overrides(one).err()).collect();
        let has_hint = |e: &&MachineError| matches!(e, MachineError::UnknownKey { nearest: Some(_), .. });
        match refusals.iter().find(has_hint).or(refusals.first()) {
            Some(refusal) => Err(Mistake(format!("--set {}={}: {refusal}", change.0, change.1)).into()),
            None => Ok(()),
        }
    }

    /// The files of the traces, one a machine, or none.
    fn traces(&self) -> anyhow::Result<Vec<Target>> {
        let Some(path) = &self.trace else { return Ok(Vec::new()) };
        match &self.machine[..] {
            [_] => Ok(vec![Target::new(path)?]),
            several => several.iter().map(|name| Target::new(&with_name(path, name))).collect(),
        }
    }
}

/// `out.json` → `out.ark.json`.
fn with_name(path: &Path, machine: &str) -> PathBuf {
    let mut name: OsString = path.file_stem().unwrap_or_default().into();
    name.push(".");
    name.push(Path::new(machine).file_stem().unwrap_or_default());
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_of_several_machines_have_their_names() {
        assert_eq!(with_name(Path::new("a/out.json"), "ark"), Path::new("a/out.ark.json"));
        assert_eq!(with_name(Path::new("out"), "my/chip.toml"), Path::new("out.chip"));
    }
}
