//! `limbwise inspect`: what any file holds, without a secret.

use crate::{
    host::HostArgs,
    output::JsonArgs,
    text::{table::line, units},
};
use limbwise_runtime::{
    inspect::{Belongs, Inspection, inspect, params_of},
    places::{PARAMS, PROGRAM},
};
use std::path::PathBuf;

/// Describe files: kind, version, parameters, sizes, keys, integrity
///
/// Reads keys, ciphertexts, parameters, descriptions, recorded programs and reports, never secrets. Key names and sizes,
/// and --verify, need the parameters: from --params, or from the file's own directory.
///
/// Examples:
///   limbwise inspect theirs/evaluation.keys
///   limbwise inspect --verify --params theirs in/*.ct
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Inspect {
    /// The files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Read the whole file and verify its checksums
    #[arg(long)]
    verify: bool,

    /// The parameters: a client or server directory, a program.json, or a parameter file
    #[arg(long, value_name = "PATH")]
    params: Option<PathBuf>,

    #[command(flatten)]
    host: HostArgs,
    #[command(flatten)]
    output: JsonArgs,
}

impl Inspect {
    pub(super) fn execute(&self) -> anyhow::Result<()> {
        let output = self.output.open();
        let dev = if self.verify { Some(self.host.open()?) } else { None };
        let given = self.params.as_deref().map(params_of).transpose()?;
        let mut all = Vec::new();
        for file in &self.files {
            let beside =
                || file.parent().and_then(|dir| [PROGRAM, PARAMS].iter().find_map(|n| params_of(&dir.join(n)).ok()));
            let params = given.clone().or_else(beside);
            all.push(inspect(file, params.as_ref(), dev.as_ref())?);
        }
        let text = all.iter().map(render).collect::<Vec<_>>().join("\n");
        output.report(&all, &text)
    }
}

fn render(file: &Inspection) -> String {
    let mut text = format!("{}\n", file.file);
    text += &line("kind", &format!("{}, version {}", file.kind, file.version));
    text += &line("bytes", &units::bytes(file.bytes));
    text.extend(file.parameters.iter().map(|fingerprint| line("parameters", fingerprint)));
    let Belongs { program, key_set, inputs, number } = &file.origin;
    for (what, name) in [("program", program), ("key set", key_set), ("inputs", inputs)] {
        text.extend(name.iter().map(|name| line(what, name)));
    }
    text.extend(number.map(|number| line("number", &number.to_string())));
    if file.whole.is_none() {
        text += &line("length", "not checked: that takes the parameters it was made for (--params)");
    }
    match file.verified {
        Some(true) => text += &line("verified", "all checksums hold"),
        Some(false) => text += &line("verified", "the header only: the rest is secret"),
        None => {}
    }
    for (name, value) in &file.header {
        let value = value.to_string();
        if value.len() <= 200 && name != "keys" {
            text += &line(name, &value);
        }
    }
    for key in &file.keys {
        text += &line("key", &format!("{} at level {}, {} in memory", key.name, key.level, units::bytes(key.bytes)));
    }
    text
}
