//! `limbwise record`: a program as a graph in a file, and the keys that it needs.

use crate::{
    failure::Mistake,
    files::{Target, apart},
    host::HostArgs,
    output::Output,
    readings::{calibrated, is_named, planned, recorded},
    text,
    workload::{Whole, Workload, refused},
};
use limbwise::rlwe::KeyForm;
use limbwise_apps::{AnyPrepared, Prepared, Way, on_scheme};
use limbwise_graph::{Counts, Graph};
use limbwise_runtime::{
    AnyDevice,
    calibrate::degrees,
    exchange::{fhetch, heracles, jsonl, listed},
    files::write_graph,
    plan::{PlannedKey, planned_keys},
};
use schemars::JsonSchema;
use serde::Serialize;
use std::{path::PathBuf, sync::Arc};

/// Record a program without computing it: write its graph, list the keys it needs
///
/// The graph holds every primitive operation with its shape, region and operands, but no values.
/// "limbwise time --graph" times it on machine models (format: docs/graph-format.md). Options left open
/// are recorded as this host would choose them.
///
/// Examples:
///   limbwise record logreg --out program.lw
///   limbwise record bootstrap --strategy multi-hop --plaintexts on-the-fly --keys stored --out boot.lw
///   limbwise record --keys logreg                     the keys it needs, one per line; --keys comes before the workload
///   limbwise record linear --operations layer.csv     its ciphertext operations, for other tools (HERACLES)
///   limbwise record linear --fhetch layer.fhetch      its instructions on single residues (FHETCH)
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Record {
    #[command(subcommand)]
    workload: Workload,

    /// List the evaluation keys that the program needs, each with the highest level of its use
    #[arg(long)]
    keys: bool,

    /// Write the graph to a file, atomically
    #[arg(long, value_name = "FILE", global = true, help_heading = "Output")]
    out: Option<PathBuf>,

    /// Write its ciphertext operations as a HERACLES program trace (.csv) or JSON lines (docs/trace-format.md)
    #[arg(long, value_name = "FILE", global = true, help_heading = "Output")]
    operations: Option<PathBuf>,

    /// Write a CKKS program as a FHETCH trace: instructions on single residues, keys whole (docs/trace-format.md)
    #[arg(long, value_name = "FILE", global = true, help_heading = "Output")]
    fhetch: Option<PathBuf>,

    /// Print only JSON on standard output (schemas: docs/schemas)
    #[arg(long, global = true, help_heading = "Output")]
    json: bool,

    #[command(flatten)]
    host: HostArgs,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Recorded {
    /// Name of the parameter set.
    pub(crate) preset: String,
    /// Operations, inputs and views.
    pub(crate) nodes: usize,
    /// Exact operation counts.
    pub(crate) counts: Counts,
    /// How keys are kept.
    pub(crate) key_form: KeyForm,
    /// Bytes of all keys as a server has them.
    pub(crate) key_bytes: u64,
    /// Every evaluation key of RLWE.
    pub(crate) keys: Vec<PlannedKey>,
    /// Blind rotations of a program that has them; TFHE's two keys are then among the bytes, and not listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bootstrappings: Option<u64>,
}

/// Said where operations on ciphertexts cannot be listed.
const NOT_CKKS: &str = "--operations and --fhetch: of operations on CKKS ciphertexts, and this workload has others; --out writes its graph";

impl Record {
    pub(super) fn execute(&self) -> anyhow::Result<()> {
        let outputs = [("--out", &self.out), ("--operations", &self.operations), ("--fhetch", &self.fhetch)];
        apart(&outputs.map(|(option, path)| (option, path.as_deref())))?;
        let target = self.out.as_deref().map(Target::new).transpose()?;
        let operations = self.operations.as_deref().map(Target::new).transpose()?;
        let fhetch = self.fhetch.as_deref().map(Target::new).transpose()?;
        let dev = self.host.open_cpu_for("record")?.into();
        let prepared = self.workload.prepare(None).map_err(refused)?;
        if (operations.is_some() || fhetch.is_some()) && !matches!(prepared, AnyPrepared::Ckks(_)) {
            return Err(Mistake(NOT_CKKS.into()).into());
        }
        let (way, graph, done) = on_scheme!(AnyPrepared, &prepared, built => self.recorded(&dev, built)?);
        // All is made before any of it is written or said: what is refused leaves nothing.
        let mut files: Vec<(Target, Vec<u8>)> = Vec::new();
        if let (Some(target), Some(path), AnyPrepared::Ckks(built)) = (operations, &self.operations, &prepared) {
            let listed = listed(&built.program(way))?;
            let mut bytes = Vec::new();
            match is_named(path, "csv") {
                true => heracles::write(&mut bytes, &listed).map_err(|e| Mistake(e.to_string()))?,
                false => jsonl::write(&mut bytes, &listed)?,
            }
            files.push((target, bytes));
        }
        if let (Some(target), AnyPrepared::Ckks(built)) = (fhetch, &prepared) {
            let mut bytes = Vec::new();
            fhetch::program(&mut bytes, &built.program(way))?.map_err(|e| Mistake(e.to_string()))?;
            files.push((target, bytes));
        }
        if let Some(target) = target {
            files.push((target, write_graph(Vec::new(), &graph)?));
        }
        files.iter().try_for_each(|(target, bytes)| target.write(bytes))?;
        let listed = if self.keys { text::record::keys(&done) } else { String::new() };
        Output::plain(self.json).report(&done, &(text::record::render(&done) + &listed))
    }

    /// Records a program in the way that this host would choose.
    fn recorded<S: Whole>(&self, dev: &AnyDevice, built: &Prepared<S>) -> anyhow::Result<(Way, Arc<Graph>, Recorded)> {
        let (way, recording) = match &built.ways[..] {
            [way] => (*way, recorded(built, *way, &limbwise_cpu::footprint())?),
            _ => {
                let planned = planned(built, &calibrated(dev, degrees::<S>(built.params()))?, None)?;
                (planned.way, planned.recording)
            }
        };
        let tfhe = S::tfhe(built.params());
        let keys = planned_keys(S::rlwe(built.params()), &recording.keys);
        let own = tfhe.map_or(0, limbwise::tfhe::TfheParams::server_key_bytes);
        let done = Recorded {
            preset: built.preset.clone(),
            nodes: recording.graph.nodes().len(),
            counts: recording.graph.counts(),
            key_form: recording.keys.form,
            key_bytes: own + keys.iter().map(|k| k.bytes).sum::<u64>(),
            keys,
            bootstrappings: tfhe.map(|_| recording.rotations),
        };
        Ok((way, recording.graph, done))
    }
}
