//! `limbwise prepare`: a program's plaintexts, encoded once into a file.

use crate::{
    host::{HostArgs, MemoryArgs},
    output::JsonArgs,
    progress::Progress,
    text::{table::line, units},
    verbs::eval::{ModelFiles, model_of},
};
use limbwise_runtime::{
    Limits,
    places::{Existing, description},
    prepared::{PrepareReport, ToPrepare, prepare_files},
};
use std::path::PathBuf;

/// Encode a program's model once into a file, from which evaluations read it
///
/// Encodes every map of the program (weights, masks, the maps of bootstrapping), in the form in which the evaluation keeps
/// or uses it. The file belongs to one program, one parameter set and one model; others are refused. It has no secret
/// of the client, and the server's weights: keep it as you keep these.
///
/// Examples:
///   limbwise prepare --server theirs --weights net.safetensors --out theirs/prepared.limbwise
///   limbwise eval --server theirs --weights net.safetensors --prepared theirs/prepared.limbwise --in in --out results
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Prepare {
    /// Directory of the server, with program.json; keys are not needed
    #[arg(long, value_name = "DIR")]
    server: PathBuf,

    /// The file to write
    #[arg(long, value_name = "FILE")]
    out: PathBuf,

    /// Replace a file that exists
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    model: ModelFiles,
    #[command(flatten)]
    host: HostArgs,
    #[command(flatten)]
    memory: MemoryArgs,
    #[command(flatten)]
    output: JsonArgs,
}

impl Prepare {
    pub(super) fn execute(&self) -> anyhow::Result<()> {
        let output = self.output.open();
        let description = description(&self.server)?;
        let model = model_of(&description, &self.model)?;
        let dev = self.host.open()?;
        let existing = Existing::replaced_if(self.force);
        let asked = ToPrepare { description: &description, model: &model, out: &self.out, existing };
        let limits = Limits { memory_bytes: self.memory.most, ..Limits::default() };
        let mut progress = Progress::new(0.0);
        let report = prepare_files(&dev, &asked, &limits, &mut |event| progress.tell(event))?;
        progress.finish();
        output.report(&report, &render(&report))
    }
}

fn render(report: &PrepareReport) -> String {
    let mut text = String::from("prepared\n");
    let file = report.prepared.display();
    text += &line("file", &format!("{file}, {}", units::bytes(report.file_bytes)));
    text += &line("plaintexts", &format!("{}, {} encoded", report.plaintexts, units::bytes(report.memory_bytes)));
    text += &line("seconds", &units::seconds(report.seconds));
    text
}
