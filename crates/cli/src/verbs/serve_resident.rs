//! `limbwise serve DIR --socket PATH`: one program stays in memory for `limbwise eval --socket PATH`.

use crate::{
    host::HostArgs,
    verbs::{
        eval::{ModelFiles, key_files, model_of},
        resident::Listening,
    },
};
use limbwise_runtime::{
    Job, Limits, evaluate_parts,
    places::{Existing, description},
};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

/// Options of a resident evaluator.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct ResidentArgs {
    /// Answer "limbwise eval --socket PATH" of this user alone on a Unix socket, and no HTTP: DIR is then the server's
    /// directory of one program, whose keys and encoded model stay in memory
    #[arg(long, value_name = "PATH", help_heading = "Resident evaluator", conflicts_with_all = ["bind", "token_file"])]
    pub(super) socket: Option<PathBuf>,

    /// The program's plaintexts, encoded before (limbwise prepare)
    #[arg(long, value_name = "FILE", help_heading = "Resident evaluator", requires = "socket")]
    prepared: Option<PathBuf>,

    /// End after so many seconds without a call [default: never]
    #[arg(long, value_name = "SECONDS", help_heading = "Resident evaluator", requires = "socket", value_parser = clap::value_parser!(u64).range(1..=31_536_000))]
    idle: Option<u64>,
}

impl ResidentArgs {
    /// Answers until it is idle or killed.
    pub(super) fn execute(
        &self,
        (socket, directory): (&Path, &Path),
        files: &ModelFiles,
        (host, memory_bytes): (&HostArgs, Option<u64>),
    ) -> anyhow::Result<()> {
        let description = description(directory)?;
        let model = model_of(&description, files)?;
        let mut listening = Listening::new(socket, self.idle.map(Duration::from_secs))?;
        let (dev, keys) = (host.open()?, key_files(directory));
        let job = Job {
            description: &description,
            model: &model,
            keys: &keys,
            inputs: &[],
            results: Path::new(""),
            existing: Existing::Kept,
            checkpoint: None,
            prepared: self.prepared.as_deref(),
        };
        let limits = Limits { memory_bytes, ..Limits::default() };
        evaluate_parts(&dev, &job, &limits, &mut listening)?;
        Ok(listening.ended()?)
    }
}
