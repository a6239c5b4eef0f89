//! `limbwise time`: what a recorded program takes on models of machines.

use crate::{
    dividing::divisible,
    failure::Mistake,
    files::{Target, apart},
    host::{CalibrationArgs, HostArgs},
    output::OutputArgs,
    progress::note,
    readings::{calibrated, calibrated_for_graph, fastest, read_graph},
    specs::{assignment, changed, changes_of},
    text,
    workload::{Whole, Workload, timed_on},
};
use limbwise_apps::{AnyPrepared, Prepared, Program as _, on_scheme, workload::Part};
use limbwise_device::Region;
use limbwise_graph::{Counts, Graph};
use limbwise_machines::{
    Report, Schedule, Spec,
    html::{
        Page,
        timing::{self, Timed},
    },
    machine::{self, Batch, Cluster, Machine},
};
use limbwise_runtime::{AnyDevice, Calibration, Host, calibrate::degrees, open};
use schemars::JsonSchema;
use serde::Serialize;
use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Predict the time of a program on machine models
///
/// Records every configuration that the options leave open and takes the fastest for each machine. "cpu" and "cuda" are
/// calibrated first (a few seconds, kept for a day). Without a GPU, "cuda" models an H200 from instruction and byte
/// counts. Other machines are built in ("limbwise machines list") or TOML files that extend one. --set changes any of their
/// numbers ("limbwise machines show ark --explain").
///
/// Examples:
///   limbwise time logreg --machine ark,cpu
///   limbwise time logreg --machine ark --set memory.hbm.bandwidth_gb_s=2000 --set clusters=8
///   limbwise time tpch-q6 --rows 4096 --machine cluster --set nodes=8   a batch in parts, on nodes like this computer
///   limbwise time --graph program.lw --machine ark,mine.toml  a recording of "limbwise record"
///   limbwise time pbs --machine counts                        operations and bytes of every operator
///   limbwise time nn20 --machine fhex --set offload=static    TFHE on a GPU and a unit under a DRAM stack
///   limbwise time --graph trace.csv --machine ark             a trace of another tool (HERACLES)
///   limbwise time logreg --machine ark --trace ark.json       for chrome://tracing or Perfetto
///   limbwise time logreg --machine ark --html ark.html        timeline, roofline, traffic in one HTML file
///
/// What the numbers mean:
///   seconds, cycles    of the evaluation, without key generation; models schedule whole operations on units in clock
///                      cycles, not registers and wires (docs/machine-specs.md)
///   energy             dynamic energy of each part plus idle energy; EDAP: energy x delay x area
///   roofline           products per byte of off-chip traffic, and which of the two bounds the time
///   busy               share of the time in which a unit works, and its share of the critical path
///   bytes              moved in each memory, by role of the data
///   reuse              bytes loaded once and more than once, and reads per loaded byte
///   operators          totals of all operations in regions of one name
///   regions            shares of the critical path, including inner regions
///   assumed            unpublished numbers that the result depends on, each with its reason
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Time {
    #[command(subcommand)]
    workload: Option<Workload>,

    /// A recorded program in place of a workload: of "limbwise record", lines of JSON (docs/graph-format.md), or a program
    /// trace of HERACLES (.csv or .bin, docs/trace-format.md)
    #[arg(long, value_name = "FILE")]
    graph: Option<PathBuf>,

    /// Machines, comma-separated: names or TOML files
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "ark,cpu", global = true)]
    machine: Vec<String>,

    /// Change a number, on the machines that have it; may be repeated
    #[arg(long = "set", value_name = "PATH=VALUE", value_parser = assignment, global = true)]
    changes: Vec<(String, String)>,

    /// Write the schedule as a Chrome trace; with several machines, one file each, with the machine's name inserted
    #[arg(long, value_name = "FILE", global = true)]
    trace: Option<PathBuf>,

    /// Also write timeline, roofline, traffic and all tables as one self-contained HTML file
    #[arg(long, value_name = "FILE", global = true)]
    html: Option<PathBuf>,

    /// Rows, messages or images of a part, on the machine cluster [default: a part for each of its nodes]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..), global = true)]
    part: Option<u32>,

    #[command(flatten)]
    host: HostArgs,
    #[command(flatten)]
    calibration: CalibrationArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Model of machines that divide a batch.
const CLUSTER: &str = "cluster";

/// Name of the machine that models this host.
const THIS_HOST: &str = "cpu";
/// Name of the machine that models the local GPU.
const THIS_GPU: &str = "cuda";
/// Error text if neither a workload nor a file is given.
const NOTHING: &str = "nothing to time: name a workload (limbwise list), or a recorded program with --graph FILE";
/// Error text if both are given.
const TWO: &str = "--graph and a workload are two programs: give one of them";
/// Error text if a part is asked for where nothing is divided.
const NO_PARTS: &str = "--part: the rows of a part on the machine cluster, for a workload that can be divided; choose \
    --machine cluster, or leave it out";
/// Most events in a trace, because viewers get slow above it.
const MOST_EVENTS: usize = 300_000;

/// The timed program: a line about it and, for each machine, its configuration (if there is a choice) and graph.
struct Asked {
    heading: String,
    /// Why the program could not be run with these parameters, if it could not.
    not_run: Option<String>,
    programs: Vec<(Option<String>, Arc<Graph>)>,
}

/// A machine's report, and the way that was taken as the fastest there.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TimeReport {
    #[serde(flatten)]
    pub(crate) report: Report,
    /// What the program does, in words of polynomials: on every machine the same, for one way.
    pub(crate) counts: Counts,
    /// How often each operator of the library is called, inside others too; one call serves a batch.
    pub(crate) calls: BTreeMap<&'static str, u64>,
    /// Absent where there was one way only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) way: Option<String>,
    /// Why the program could not be run: the parameters were taken by their shape alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) not_run: Option<String>,
}

/// Machines, their names, and clusters with the size of the batch.
type Machines = (Vec<Spec>, Vec<String>, Vec<(Spec, usize)>);

impl Time {
    pub(super) fn execute(&self) -> anyhow::Result<()> {
        let output = self.output.open()?;
        let dev = self.host.open_cpu_for("time")?.into();
        self.calibration.apply();
        let (mut specs, names, clusters) = self.machines()?;
        let traces = self.traces(&names)?;
        let html = self.html.as_deref().map(Target::new).transpose()?;
        let timed = match (&self.workload, &self.graph) {
            (Some(_), Some(_)) => return Err(Mistake(TWO.into()).into()),
            (None, None) => return Err(Mistake(NOTHING.into()).into()),
            (None, Some(path)) => {
                let graph = Arc::new(read_graph(path)?);
                let measure = |dev: &AnyDevice| calibrated_for_graph(dev, &graph);
                self.measured(&dev, (&mut specs, &names), measure)?;
                let heading = text::time::heading(&path.display().to_string(), &graph);
                Asked { heading, not_run: None, programs: specs.iter().map(|_| (None, graph.clone())).collect() }
            }
            (Some(workload), None) => {
                if specs.is_empty() {
                    Asked { heading: String::new(), not_run: None, programs: Vec::new() }
                } else {
                    let (prepared, not_run) = timed_on(workload.clone(), &specs)?;
                    let asked =
                        on_scheme!(AnyPrepared, prepared, built => self.asked(&dev, &built, (&mut specs, &names))?);
                    Asked { not_run, ..asked }
                }
            }
        };
        let machines = specs.iter().map(machine::open).collect::<Result<Vec<_>, _>>()?;
        let mut all = Vec::new();
        for (i, (machine, (way, program))) in machines.iter().zip(&timed.programs).enumerate() {
            let graph = machine.prepare(program);
            let schedule = machine.schedule(&graph)?;
            if let Some(target) = traces.get(i) {
                let mut trace = Vec::new();
                schedule.write_chrome_trace(&graph, MOST_EVENTS, &mut trace)?;
                target.write(&trace)?;
            }
            let report = TimeReport {
                counts: program.counts(),
                calls: calls(program),
                way: way.clone(),
                not_run: timed.not_run.clone(),
                report: machine.report(&graph, &schedule),
            };
            // A schedule is as large as its program, so it is kept only for the page.
            all.push((report, html.as_ref().map(|_| (schedule, graph.into_owned()))));
        }
        if let Some(html) = html {
            write_page(&html, timed.heading.trim_end(), &machines, &all)?;
        }
        let mut reports: Vec<TimeReport> = all.into_iter().map(|(report, _)| report).collect();
        for (workload, (spec, batch)) in self.workload.iter().flat_map(|w| clusters.iter().map(move |c| (w, c))) {
            reports.push(self.on_cluster(&dev, workload, (spec, *batch))?);
        }
        let text = reports.iter().map(text::time::report).collect::<Vec<_>>().join("\n");
        let heading = text::time::not_run(timed.not_run.as_deref()) + &timed.heading;
        match &reports[..] {
            [one] => output.report(one, &format!("{heading}{text}")),
            several => output.report(&several, &format!("{heading}{text}")),
        }
    }

    /// Records a workload in its fastest configuration for each machine, and calibrates this host if it is one of them.
    fn asked<S: Whole>(
        &self,
        dev: &AnyDevice,
        built: &Prepared<S>,
        (specs, names): (&mut [Spec], &[String]),
    ) -> anyhow::Result<Asked> {
        self.measured(dev, (specs, names), |dev| calibrated(dev, degrees::<S>(built.params())))?;
        let fastest = fastest(built, specs, &limbwise_cpu::footprint())?;
        let heading = fastest.first().map_or_else(String::new, |one| text::time::heading(&built.preset, &one.graph));
        let open = built.ways.len() > 1;
        let programs = fastest.into_iter().map(|one| (open.then(|| one.way.named()), one.graph)).collect();
        Ok(Asked { heading, not_run: None, programs })
    }

    /// Replaces the built-in models of this host and of the local GPU by calibrated ones.
    fn measured(
        &self,
        dev: &AnyDevice,
        (specs, names): (&mut [Spec], &[String]),
        measure: impl Fn(&AnyDevice) -> limbwise_runtime::Result<Calibration>,
    ) -> anyhow::Result<()> {
        let asked = |wanted: &str| names.iter().any(|name| name == wanted);
        if asked(THIS_HOST) {
            self.put((specs, names), THIS_HOST, &measure(dev)?)?;
        }
        let host = Host { device: Some(THIS_GPU.into()), ..Host::default() };
        match asked(THIS_GPU).then(|| open(&host)) {
            Some(Ok(gpu)) => self.put((specs, names), THIS_GPU, &measure(&gpu)?)?,
            Some(Err(why)) => note(&format!("the machine cuda is a model of an H200, by counting: {why}")),
            None => {}
        }
        Ok(())
    }

    /// Replaces a built-in machine by a calibrated one.
    fn put(&self, (specs, names): (&mut [Spec], &[String]), name: &str, measured: &Calibration) -> anyhow::Result<()> {
        let measured = self.with_changes(measured)?;
        specs.iter_mut().zip(names).filter(|(_, n)| *n == name).for_each(|(s, _)| *s = measured.clone());
        Ok(())
    }

    /// A measured machine with the user's changes.
    fn with_changes(&self, measured: &Calibration) -> anyhow::Result<Spec> {
        let measured = measured.spec()?;
        Ok(measured.with_overrides(&changes_of(&measured, &self.changes))?)
    }

    /// The machines with the user's changes, their names, and apart from them the clusters that a batch is divided on, with
    /// the size of the batch.
    fn machines(&self) -> anyhow::Result<Machines> {
        // Also changes this host's built-in numbers, so that a mistake is found before anything is measured.
        let specs = changed(&self.machine, &self.changes)?;
        let any = specs.iter().any(|spec| spec.model() == CLUSTER);
        let batch = match self.workload.as_ref().filter(|_| any) {
            Some(workload) => divisible(workload)?,
            None => None,
        };
        let (mut others, mut names, mut clusters) = (Vec::new(), Vec::new(), Vec::new());
        for (spec, name) in specs.into_iter().zip(&self.machine) {
            match batch.filter(|_| spec.model() == CLUSTER) {
                Some(batch) => clusters.push((spec, batch)),
                None => {
                    others.push(spec);
                    names.push(name.clone());
                }
            }
        }
        if self.part.is_some() && clusters.is_empty() {
            return Err(Mistake(NO_PARTS.into()).into());
        }
        if !clusters.is_empty() && (self.trace.is_some() || self.html.is_some()) {
            let text =
                "--trace, --html: a batch on a cluster has no timeline of its own; ask them of its node's machine";
            return Err(Mistake(text.into()).into());
        }
        Ok((others, names, clusters))
    }

    /// A batch in parts on a cluster: a part on the machine of a node, and what the link takes.
    fn on_cluster(
        &self,
        dev: &AnyDevice,
        workload: &Workload,
        (spec, batch): (&Spec, usize),
    ) -> anyhow::Result<TimeReport> {
        let cluster = Cluster::new(spec)?;
        let nodes = usize::try_from(cluster.nodes()).unwrap_or(usize::MAX);
        let part = self.part.map_or(batch.div_ceil(nodes.min(batch).max(1)), |part| {
            usize::try_from(part).unwrap_or(usize::MAX).min(batch)
        });
        let divided = workload.part(Part { first: 0, count: part }).expect("it has parts");
        let node = changed(&[cluster.machine().to_owned()], &[])?.remove(0);
        let node = node.with_overrides(&changes_of(&node, &self.changes))?;
        let (prepared, not_run) = timed_on(divided, std::slice::from_ref(&node))?;
        let report = on_scheme!(AnyPrepared, prepared, built => {
            self.in_parts(dev, &built, (spec, node), [batch, part])?
        });
        Ok(TimeReport { not_run, ..report })
    }

    fn in_parts<S: Whole>(
        &self,
        dev: &AnyDevice,
        built: &Prepared<S>,
        (spec, node): (&Spec, Spec),
        [batch, part]: [usize; 2],
    ) -> anyhow::Result<TimeReport> {
        let node = match node.name() {
            THIS_HOST => self.with_changes(&calibrated(dev, degrees::<S>(built.params()))?)?,
            _ => node,
        };
        let cluster = Cluster::of(spec, &node)?;
        let fastest = fastest(built, std::slice::from_ref(&node), &limbwise_cpu::footprint())?.remove(0);
        let program = built.program(fastest.way);
        let parts = batch.div_ceil(part) as u64;
        let whole = Batch::of(&fastest.graph, parts, [program.results(), program.summed()]);
        let graph = cluster.prepare(&fastest.graph);
        let schedule = cluster.schedule(&graph)?;
        Ok(TimeReport {
            counts: fastest.graph.counts(),
            calls: calls(&fastest.graph),
            way: (built.ways.len() > 1).then(|| fastest.way.named()),
            not_run: None,
            report: cluster.report_of(&graph, &schedule, &whole, part as u64),
        })
    }

    /// The trace files: one per machine, or none.
    fn traces(&self, names: &[String]) -> anyhow::Result<Vec<Target>> {
        let paths: Vec<PathBuf> = match (&self.trace, names) {
            (None, _) => Vec::new(),
            (Some(path), [_]) => vec![path.clone()],
            (Some(path), several) => several.iter().map(|name| with_name(path, name)).collect(),
        };
        let mut outputs = vec![("--out", self.output.path()), ("--html", self.html.as_deref())];
        outputs.extend(paths.iter().map(|path| ("--trace", Some(path.as_path()))));
        apart(&outputs)?;
        paths.iter().map(|path| Target::new(path)).collect()
    }
}

/// A machine's report, with the schedule and the program where a page shows them.
type Shown = (TimeReport, Option<(Schedule, Graph)>);

fn write_page(to: &Target, heading: &str, machines: &[Box<dyn Machine>], all: &[Shown]) -> anyhow::Result<()> {
    let pages = machines.iter().zip(all);
    let pages: Vec<Timed> = pages
        .filter_map(|(machine, (report, kept))| {
            let (schedule, graph) = kept.as_ref()?;
            Some(Timed { machine: &**machine, graph, report: &report.report, schedule })
        })
        .collect();
    let mut page = Page::new("A program on models of machines", heading);
    timing::sections(&mut page, &pages);
    Ok(to.write(page.render().as_bytes())?)
}

/// Calls of each operator that the program calls at all.
fn calls(graph: &Graph) -> BTreeMap<&'static str, u64> {
    let calls = Region::KNOWN.iter().map(|&operator| (operator.name(), graph.calls(operator)));
    calls.filter(|&(_, calls)| calls > 0).collect()
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
