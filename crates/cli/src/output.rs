//! Where reports go: text or JSON on standard output, JSON in a file.

use crate::files::Target;
use serde::Serialize;
use std::{
    io::{self, Write as _},
    path::{Path, PathBuf},
};

/// Options of every verb that prints a report.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct OutputArgs {
    /// Print only JSON on standard output (schemas: docs/schemas)
    #[arg(long, global = true, help_heading = "Output")]
    pub(crate) json: bool,

    /// Also write the JSON report to a file, atomically
    #[arg(long, value_name = "FILE", global = true, help_heading = "Output")]
    out: Option<PathBuf>,
}

impl OutputArgs {
    /// The file.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.out.as_deref()
    }

    /// Checks the file before long work begins.
    pub(crate) fn open(&self) -> anyhow::Result<Output> {
        Ok(Output { json: self.json, file: self.out.as_deref().map(Target::new).transpose()? })
    }
}

/// The option of verbs whose `--out` is something else than a report.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct JsonArgs {
    /// Print only JSON on standard output (schemas: docs/schemas)
    #[arg(long, help_heading = "Output")]
    json: bool,
}

impl JsonArgs {
    /// Standard output alone.
    pub(crate) fn open(self) -> Output {
        Output { json: self.json, file: None }
    }
}

/// An open place for a report.
pub(crate) struct Output {
    json: bool,
    file: Option<Target>,
}

impl Output {
    pub(crate) fn plain(json: bool) -> Self {
        Self { json, file: None }
    }

    /// Prints text, unless JSON is wanted.
    pub(crate) fn text(&self, text: &str) -> io::Result<()> {
        if self.json { Ok(()) } else { print(text) }
    }

    /// Writes the JSON report to the file and prints it, or its text.
    pub(crate) fn report(&self, report: &impl Serialize, text: &str) -> anyhow::Result<()> {
        let mut json = serde_json::to_string_pretty(report)?;
        json.push('\n');
        if let Some(file) = &self.file {
            file.write(json.as_bytes())?;
        }
        Ok(print(if self.json { &json } else { text })?)
    }
}

/// Prints on standard output.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
