//! `limbwise time`: what a recorded program takes on models of machines.

use crate::{
    failure::Mistake,
    files::Target,
    host::HostArgs,
    output::OutputArgs,
    progress::note,
    readings::{
        calibrated, calibrated_for_graph, calibrated_for_logic, calibrated_for_query, planned, read_graph, recorded,
        recorded_logic, recorded_modular, recorded_query,
    },
    specs::{assignment, changed, changes_of},
    text,
    workload::Workload,
};
use limbwise_graph::Graph;
use limbwise_machines::{
    Report, Spec,
    html::{
        Page,
        timing::{self, Timed},
    },
    machine,
};
use limbwise_runtime::{AnyDevice, Calibration, Host, open};
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

/// Say what a program takes on models of machines
///
/// Records the program as "limbwise plan" does and schedules the recording on each machine. "cpu" is this host: its
/// rates are measured for about two seconds first; so are those of "cuda", the GPU at hand, and where there is none its
/// numbers are an H200's by counting. Others are built in ("limbwise machines list"), or a TOML file that
/// says what it extends and what differs. What --set can change: "limbwise machines show ark --explain".
///
/// Examples:
///   limbwise time logreg --machine ark,cpu
///   limbwise time logreg --machine ark --set memory.hbm.bandwidth_gb_s=2000 --set clusters=8
///   limbwise time --graph program.lw --machine ark,mine.toml  what "limbwise record" wrote
///   limbwise time pbs --machine counts                        operations and bytes of every operator
///   limbwise time --graph trace.csv --machine ark             operations that another tool listed (HERACLES)
///   limbwise time logreg --machine ark --trace ark.json       open it in chrome://tracing or Perfetto
///   limbwise time logreg --machine ark --html ark.html        timeline, roofline, traffic: one file for a browser
///
/// What the numbers mean:
///   seconds, cycles    of the evaluation, without key generation; models are schedules of whole operations on units in
///                      clock cycles, not of registers and wires (docs/machine-specs.md)
///   energy             of the activity of each part, and of standing idle; EDAP: energy x delay x area
///   roofline           products a byte of off-chip traffic, and which of the two bounds the time
///   busy               share of the time in which a unit works, and what of the critical path is on it
///   bytes              moved in each memory, by the role of what was moved
///   reuse              what is loaded once and again, and how often each loaded byte is read
///   operators          of the machine "counts": what all operations do that stand in regions of one name
///   regions            where the time goes: shares of the critical path, with inner regions included
///   assumed            numbers that nobody published, each with its reason: what the result hangs on
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Time {
    #[command(subcommand)]
    workload: Option<Workload>,

    /// A recorded program in place of a workload: of "limbwise record", lines of JSON (docs/graph-format.md), or a program
    /// trace of HERACLES (.csv, docs/trace-format.md)
    #[arg(long, value_name = "FILE")]
    graph: Option<PathBuf>,

    /// Machines, with commas between: names or TOML files
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "ark,cpu", global = true)]
    machine: Vec<String>,

    /// Change a number of the machines that have it; may be given again
    #[arg(long = "set", value_name = "PATH=VALUE", value_parser = assignment, global = true)]
    changes: Vec<(String, String)>,

    /// Write the schedule as a Chrome trace; with several machines, each to a file with its name put in
    #[arg(long, value_name = "FILE", global = true)]
    trace: Option<PathBuf>,

    /// Also write timeline, roofline, traffic and all tables as one HTML file that needs nothing else
    #[arg(long, value_name = "FILE", global = true)]
    html: Option<PathBuf>,

    #[command(flatten)]
    host: HostArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// The machine that is this host.
const THIS_HOST: &str = "cpu";
/// The machine that is the GPU at hand.
const THIS_GPU: &str = "cuda";
/// Said where neither a workload nor a file is given.
const NOTHING: &str = "nothing to time: name a workload (limbwise list), or a recorded program with --graph FILE";
/// Said where both are.
const TWO: &str = "--graph and a workload are two programs: give one of them";
/// Most events in a trace: viewers choke on more.
const MOST_EVENTS: usize = 300_000;

impl Time {
    pub(super) fn execute(&self) -> anyhow::Result<()> {
        let output = self.output.open()?;
        let dev = self.host.open_cpu()?.into();
        // Also changes this host's built-in numbers, so that a mistake is found before anything is measured.
        let mut specs = changed(&self.machine, &self.changes)?;
        let traces = self.traces()?;
        let html = self.html.as_deref().map(Target::new).transpose()?;
        let this_host = self.machine.iter().any(|name| name == THIS_HOST);
        let (graph, heading, calibration) = self.program(&dev, this_host)?;
        if let Some(calibration) = calibration.filter(|_| this_host) {
            self.put(&mut specs, THIS_HOST, &calibration)?;
        }
        if let Some(calibration) = self.gpu(&graph)? {
            self.put(&mut specs, THIS_GPU, &calibration)?;
        }
        let machines = specs.iter().map(machine::open).collect::<Result<Vec<_>, _>>()?;
        let mut timed = Vec::new();
        for (i, machine) in machines.iter().enumerate() {
            let graph = machine.prepare(&graph);
            let schedule = machine.schedule(&graph)?;
            if let Some(target) = traces.get(i) {
                let mut trace = Vec::new();
                schedule.write_chrome_trace(&graph, MOST_EVENTS, &mut trace)?;
                target.write(&trace)?;
            }
            let report = machine.report(&graph, &schedule);
            // A schedule is as large as its program: it is kept for the page alone.
            timed.push((report, html.as_ref().map(|_| (schedule, graph.clone()))));
        }
        if let Some(html) = html {
            let pages = machines.iter().zip(&timed);
            let pages: Vec<Timed> = pages
                .filter_map(|(machine, (report, kept))| {
                    let (schedule, graph) = kept.as_ref()?;
                    Some(Timed { machine: &**machine, graph, report, schedule })
                })
                .collect();
            let mut page = Page::new("A program on models of machines", heading.trim_end());
            timing::sections(&mut page, &pages);
            html.write(page.render().as_bytes())?;
        }
        let reports: Vec<Report> = timed.into_iter().map(|(report, _)| report).collect();
        let text = reports.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        match &reports[..] {
            [one] => output.report(one, &format!("{heading}{text}")),
            several => output.report(&several, &format!("{heading}{text}")),
        }
    }

    /// The GPU at hand, measured for a program, if it is asked for and there is one.
    fn gpu(&self, graph: &Graph) -> anyhow::Result<Option<Calibration>> {
        let asked = self.machine.iter().any(|name| name == THIS_GPU);
        let host = Host { device: Some(THIS_GPU.into()), ..Host::default() };
        match asked.then(|| open(&host)) {
            Some(Ok(gpu)) => Ok(Some(calibrated_for_graph(&gpu, graph)?)),
            Some(Err(why)) => {
                note(&format!("the machine cuda is a model of an H200, by counting: {why}"));
                Ok(None)
            }
            None => Ok(None),
        }
    }

    /// Puts what was measured in the place of a built-in machine.
    fn put(&self, specs: &mut [Spec], name: &str, measured: &Calibration) -> anyhow::Result<()> {
        let measured = measured.spec()?;
        let measured = measured.with_overrides(&changes_of(&measured, &self.changes))?;
        specs.iter_mut().zip(&self.machine).filter(|(_, n)| *n == name).for_each(|(s, _)| *s = measured.clone());
        Ok(())
    }

    /// What is timed, in a line, and this host's rates if they were measured: a recorded file, or a workload. Where a
    /// workload leaves something open, what this host would choose is timed everywhere.
    fn program(&self, dev: &AnyDevice, this_host: bool) -> anyhow::Result<(Graph, String, Option<Calibration>)> {
        let Some(workload) = &self.workload else {
            let path = self.graph.as_ref().ok_or_else(|| Mistake(NOTHING.into()))?;
            let graph = read_graph(path)?;
            let heading = text::time::heading(&path.display().to_string(), &graph);
            let calibration = this_host.then(|| calibrated_for_graph(dev, &graph)).transpose()?;
            return Ok((graph, heading, calibration));
        };
        if self.graph.is_some() {
            return Err(Mistake(TWO.into()).into());
        }
        if let Some(built) = workload.logic()? {
            let recording = recorded_logic(&built)?;
            let heading = text::time::heading(&built.preset, &recording.graph);
            let calibration = this_host.then(|| calibrated_for_logic(dev, built.log_n())).transpose()?;
            return Ok((recording.graph, heading, calibration));
        }
        if let Some(built) = workload.modular()? {
            let recording = recorded_modular(&built)?;
            let heading = text::time::heading(&built.preset, &recording.graph);
            let calibration = this_host.then(|| calibrated(dev, built.log_n())).transpose()?;
            return Ok((recording.graph, heading, calibration));
        }
        if let Some(built) = workload.query()? {
            let recording = recorded_query(&built)?;
            let heading = text::time::heading(&built.preset, &recording.graph);
            let calibration = this_host.then(|| calibrated_for_query(dev, &built)).transpose()?;
            return Ok((recording.graph, heading, calibration));
        }
        let built = workload.build(None)?;
        let measured = this_host || built.ways.len() > 1;
        let calibration = measured.then(|| calibrated(dev, built.params().log_n())).transpose()?;
        let recording = match (&built.ways[..], &calibration) {
            ([way], _) | ([way, ..], None) => recorded(&built.program(*way), *way)?,
            (_, Some(calibration)) => planned(&built, calibration, None)?.recording,
            ([], None) => unreachable!("a program can be run in some way"),
        };
        let heading = text::time::heading(&built.preset, &recording.graph);
        Ok((recording.graph, heading, calibration))
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
