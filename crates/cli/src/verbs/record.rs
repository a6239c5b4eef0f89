//! `limbwise record`: a program as a graph in a file, and the keys that it needs.

use crate::{
    failure::Mistake,
    files::Target,
    host::HostArgs,
    output::Output,
    readings::{calibrated, planned, recorded, recorded_logic, recorded_modular, recorded_query},
    text,
    workload::{Workload, logic::BuiltLogic, modular::BuiltModular, query::BuiltQuery},
};
use limbwise::{
    params::Params,
    rlwe::{KeyForm, KeyName, KeyPlan, key_bytes},
};
use limbwise_apps::Modular as _;
use limbwise_graph::{Counts, Graph};
use limbwise_runtime::{
    exchange::{heracles, jsonl, listed},
    files::write_graph,
    plan::PlannedKey,
};
use serde::Serialize;
use std::path::PathBuf;

/// Record a program without computing it: its graph in a file, and the keys it needs
///
/// The graph holds every primitive operation with its shape, its place in the program and what it reads, but no value.
/// "limbwise time --graph" times it on machines; docs/graph-format.md describes it. Where a workload leaves something
/// open, what this host would choose is recorded.
///
/// Examples:
///   limbwise record logreg --out program.lw
///   limbwise record bootstrap --strategy multi-hop --plaintexts on-the-fly --keys stored --out boot.lw
///   limbwise record --keys logreg                     the keys it needs, one a line; --keys stands before the workload
///   limbwise record linear --operations layer.csv     its operations on ciphertexts, for other tools (HERACLES)
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Record {
    #[command(subcommand)]
    workload: Workload,

    /// List the evaluation keys that the program needs, each with the highest level it is used at
    #[arg(long)]
    keys: bool,

    /// Write the graph to a file, whole or not at all
    #[arg(long, value_name = "FILE", global = true, help_heading = "Output")]
    out: Option<PathBuf>,

    /// Write its operations on ciphertexts: as HERACLES's program trace (.csv) or as lines of JSON (docs/trace-format.md)
    #[arg(long, value_name = "FILE", global = true, help_heading = "Output")]
    operations: Option<PathBuf>,

    /// Print JSON on standard output and nothing else there (schemas: docs/schemas)
    #[arg(long, global = true, help_heading = "Output")]
    json: bool,

    #[command(flatten)]
    host: HostArgs,
}

/// What was recorded of a program on TFHE, whose keys are always the same two.
#[derive(Debug, Serialize)]
pub(crate) struct RecordedLogic {
    pub(crate) preset: String,
    /// Operations, inputs and views.
    pub(crate) nodes: usize,
    pub(crate) counts: Counts,
    pub(crate) key_bytes: u64,
    /// Blind rotations.
    pub(crate) bootstrappings: u64,
}

/// What was recorded.
#[derive(Debug, Serialize)]
pub(crate) struct Recorded {
    pub(crate) preset: String,
    /// Operations, inputs and views.
    pub(crate) nodes: usize,
    pub(crate) counts: Counts,
    pub(crate) key_form: KeyForm,
    pub(crate) key_bytes: u64,
    pub(crate) keys: Vec<PlannedKey>,
    /// Blind rotations of a program that has them; TFHE's two keys are then among the bytes, and not listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bootstrappings: Option<u64>,
}

/// The keys of a plan, each with its bytes.
fn listed_keys(params: &Params, plan: &KeyPlan) -> Vec<PlannedKey> {
    let key = |(name, &level): (&KeyName, &usize)| PlannedKey {
        name: name.describe(params.log_n()),
        level,
        bytes: key_bytes(params, *name, level, plan.form),
    };
    plan.required.iter().map(key).collect()
}

impl Record {
    pub(super) fn execute(&self) -> anyhow::Result<()> {
        let target = self.out.as_deref().map(Target::new).transpose()?;
        let operations = self.operations.as_deref().map(Target::new).transpose()?;
        let (logic, query) = (self.workload.logic()?, self.workload.query()?);
        if operations.is_some() && (logic.is_some() || query.is_some()) {
            let text = "--operations: lists are of operations on CKKS ciphertexts, and this workload is on TFHE";
            return Err(Mistake(text.into()).into());
        }
        if let Some(built) = logic {
            return self.logic(&built, target);
        }
        if let Some(built) = self.workload.modular()? {
            if operations.is_some() {
                let text = "--operations: lists are of operations on CKKS ciphertexts, and this workload is on BGV";
                return Err(Mistake(text.into()).into());
            }
            return self.modular(&built, target);
        }
        if let Some(built) = query {
            return self.query(&built, target);
        }
        let built = self.workload.build(None)?;
        let (way, recording) = match &built.ways[..] {
            [way] => (*way, recorded(&built.program(*way), *way)?),
            _ => {
                let planned =
                    planned(&built, &calibrated(&self.host.open_cpu()?.into(), built.params().log_n())?, None)?;
                (planned.way, planned.recording)
            }
        };
        if let (Some(target), Some(path)) = (operations, &self.operations) {
            let listed = listed(&built.program(way))?;
            let mut bytes = Vec::new();
            match path.extension().is_some_and(|e| e == "csv") {
                true => heracles::write(&mut bytes, &listed).map_err(|e| Mistake(e.to_string()))?,
                false => jsonl::write(&mut bytes, &listed)?,
            }
            target.write(&bytes)?;
        }
        if let Some(target) = target {
            target.write(&write_graph(Vec::new(), &recording.graph)?)?;
        }
        self.report(&built.preset, built.params(), &recording.graph, &recording.keys)
    }

    /// A program on BGV.
    fn modular(&self, built: &BuiltModular, target: Option<Target>) -> anyhow::Result<()> {
        let recording = recorded_modular(built)?;
        if let Some(target) = target {
            target.write(&write_graph(Vec::new(), &recording.graph)?)?;
        }
        let params = built.program.params().rlwe();
        let keys = KeyPlan { required: recording.required, form: KeyForm::Stored };
        self.report(&built.preset, params, &recording.graph, &keys)
    }

    /// What was recorded of a program with evaluation keys.
    fn report(&self, preset: &str, params: &Params, graph: &Graph, plan: &KeyPlan) -> anyhow::Result<()> {
        let keys = listed_keys(params, plan);
        let done = Recorded {
            preset: preset.to_owned(),
            nodes: graph.nodes().len(),
            counts: graph.counts(),
            key_form: plan.form,
            key_bytes: keys.iter().map(|k| k.bytes).sum(),
            keys,
            bootstrappings: None,
        };
        let listed = if self.keys { text::record::keys(&done) } else { String::new() };
        Output::plain(self.json).report(&done, &(text::record::render(&done) + &listed))
    }

    /// A program on TFHE.
    fn logic(&self, built: &BuiltLogic, target: Option<Target>) -> anyhow::Result<()> {
        let recording = recorded_logic(built)?;
        if let Some(target) = target {
            target.write(&write_graph(Vec::new(), &recording.graph)?)?;
        }
        let traffic = recording.graph.traffic();
        let done = RecordedLogic {
            preset: built.preset.clone(),
            nodes: recording.graph.nodes().len(),
            counts: recording.graph.counts(),
            key_bytes: traffic.bootstrap_keys.declared + traffic.evaluation_keys.declared,
            bootstrappings: recording.rotations,
        };
        Output::plain(self.json).report(&done, &text::record::logic(&done))
    }

    /// A question to a table.
    fn query(&self, built: &BuiltQuery, target: Option<Target>) -> anyhow::Result<()> {
        let recording = recorded_query(built)?;
        if let Some(target) = target {
            target.write(&write_graph(Vec::new(), &recording.graph)?)?;
        }
        let traffic = recording.graph.traffic();
        let done = Recorded {
            preset: built.preset.clone(),
            nodes: recording.graph.nodes().len(),
            counts: recording.graph.counts(),
            key_form: recording.keys.form,
            key_bytes: traffic.bootstrap_keys.declared + traffic.evaluation_keys.declared,
            keys: listed_keys(built.program.params().ckks(), &recording.keys),
            bootstrappings: Some(recording.rotations),
        };
        let listed = if self.keys { text::record::keys(&done) } else { String::new() };
        Output::plain(self.json).report(&done, &(text::record::render(&done) + &listed))
    }
}
