//! `limbwise plan`: what a program takes, before any key exists.

use crate::{
    choosing::{Choosing, DemandArgs},
    dividing::{Dividing, PartArgs},
    files::{Target, apart},
    host::{CalibrationArgs, HostArgs, MemoryArgs},
    output::OutputArgs,
    progress::note,
    readings::{calibrated_with_disk, planned},
    text,
    workload::{Whole, Workload, refused},
};
use limbwise::{
    rlwe::{KeyForm, key_bytes},
    scheme::Scheme,
    tfhe::TfheParams,
};
use limbwise_apps::{AnyPrepared, Prepared, Program as _, on_scheme};
use limbwise_machines::{
    Spec,
    machine::{Batch, Cluster, ClusterTime},
};
use limbwise_runtime::{AnyDevice, Plan as Planned, Recording};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::PathBuf;

/// Predict the cost of a program before any key exists
///
/// Records the program on a device that computes nothing and derives all numbers from the recording. No key is made and
/// nothing is encrypted. Seconds come from a calibration of this CPU (a few seconds, kept for a day).
///
/// Examples:
///   limbwise plan logreg --iterations 4 --threads 2
///   limbwise plan linear --op conv --memory 3GB
///   limbwise plan bootstrap --bits 20 --memory 4GB       chooses the parameters too: the fastest that are enough
///   limbwise plan tpch-q6 --rows 65536 --nodes 8 --memory 64GB    the batch in parts, on a cluster of such nodes
///
/// What the numbers mean:
///   security       class of the 2024 guidelines: 128, 192 or 256 bits; 0 if the security check was overridden
///   levels         multiplicative depth: of a fresh ciphertext, used, left
///   precision      -log2 of the mean absolute error of the first result, by noise formulas
///   keys           every evaluation key the server needs, each for the highest level at which it is used
///   plaintexts     encoded clear values that the program multiplies by or adds
///   peak memory    of the whole process, client and server together
///   seconds        of the evaluation on this CPU with this number of threads, without key generation
///   failure        TFHE programs: probability that any message is wrong
///   choices        Pareto-optimal configurations in memory and time; the star marks the chosen one
///   layers         networks: of each value the level and scale it ends at, expected bits, rotations, evaluation keys,
///                  bytes and seconds
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Plan {
    #[command(subcommand)]
    workload: Workload,

    /// Also write the plan with all tables as one self-contained HTML file
    #[arg(long, value_name = "FILE", global = true)]
    html: Option<PathBuf>,

    #[command(flatten)]
    host: HostArgs,
    #[command(flatten)]
    calibration: CalibrationArgs,
    #[command(flatten)]
    memory: MemoryArgs,
    #[command(flatten)]
    demand: DemandArgs,

    /// Plan a batch on a cluster of so many nodes like this computer, each with --memory: parts, seconds, bytes moved, copies
    /// of the keys. What stands before is the plan of a part
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=4096), global = true, help_heading = "Cluster")]
    nodes: Option<u32>,

    #[command(flatten)]
    parts: PartArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// A plan; of a batch on a cluster that of a part, and the whole.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PlanReport {
    #[serde(flatten)]
    plan: Planned,
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<ClusterTime>,
}

/// The machine that says what links and starts take.
const CLUSTER: &str = "cluster";

/// Bytes of the server's key files.
fn key_file_bytes<S: Scheme>(params: &S::Params, recording: &Recording<S>) -> u64 {
    let half = |rlwe| {
        recording.keys.required.iter().map(|(&name, &level)| key_bytes(rlwe, name, level, KeyForm::Seeded)).sum::<u64>()
    };
    S::rlwe(params).map_or(0, half) + S::tfhe(params).map_or(0, TfheParams::published_key_bytes)
}

impl Plan {
    pub(super) fn execute(&self) -> anyhow::Result<()> {
        let output = self.output.open()?;
        apart(&[("--out", self.output.path()), ("--html", self.html.as_deref())])?;
        let html = self.html.as_deref().map(Target::new).transpose()?;
        self.calibration.apply();
        let dev = self.host.open()?;
        let memory = self.memory.most;
        let mut workload = self.workload.clone();
        let demand = self.demand.demand();
        if !demand.is_empty() {
            let (best, found) = Choosing::new(&self.workload, &dev, &self.memory).chosen(demand)?;
            note(&text::choice::chosen(&best, &found));
            *workload.preset() = Some(best.preset);
        }
        if let Some(nodes) = self.nodes {
            let dividing = Dividing { dev: &dev, workload: &workload, args: &self.parts, memory, nodes };
            let batch = dividing.batch("--nodes")?;
            let (part, prepared) = dividing.sized(batch)?;
            let report = on_scheme!(AnyPrepared, prepared, built => on_cluster(&dividing, &built, [batch, part])?);
            let whole = report.cluster.as_ref().map_or_else(String::new, |cluster| format!("\ncluster\n{cluster}"));
            let text = text::plan::render(&report.plan) + &whole;
            write_page(html.as_ref(), &report.plan)?;
            return output.report(&report, &text);
        }
        on_scheme!(AnyPrepared, workload.prepare(memory).map_err(refused)?, built => {
            let report = PlanReport { plan: self.plan(&dev, &built)?, cluster: None };
            write_page(html.as_ref(), &report.plan)?;
            output.report(&report, &text::plan::render(&report.plan))
        })
    }

    fn plan<S: Whole>(&self, dev: &AnyDevice, built: &Prepared<S>) -> anyhow::Result<Planned> {
        let calibration = calibrated_with_disk(dev, built, &self.memory.key_dir())?;
        Ok(planned(built, &calibration, self.memory.most)?.plan)
    }
}

/// Writes the plan as a page, where one was asked for.
fn write_page(page: Option<&Target>, plan: &Planned) -> anyhow::Result<()> {
    if let Some(page) = page {
        page.write(text::plan::page(plan).render().as_bytes())?;
    }
    Ok(())
}

/// The plan of a part, and of the batch.
fn on_cluster<S: Whole>(
    dividing: &Dividing<'_>,
    built: &Prepared<S>,
    [batch, part]: [usize; 2],
) -> anyhow::Result<PlanReport> {
    let found = dividing.plan(built)?;
    let program = built.program(found.way);
    let parts = batch.div_ceil(part) as u64;
    let whole = Batch {
        part_seconds: found.plan.seconds_predicted,
        key_bytes: key_file_bytes(built.params(), &found.recording),
        ..Batch::of(&found.recording.graph, parts, [program.results(), program.summed()])
    };
    let nodes = dividing.nodes.to_string();
    let cluster = Cluster::new(&Spec::load(CLUSTER)?.with_overrides(&[("nodes", nodes.as_str())])?)?;
    Ok(PlanReport { plan: found.plan, cluster: Some(cluster.batch(&whole, part as u64)) })
}
