//! Workloads on the command line: the registry's, and what verbs need of all of them.

use clap::{Command, Subcommand as _};
use limbwise_apps::description::Refusal;
pub(crate) use limbwise_apps::registry::Options as Workload;
pub(crate) use limbwise_runtime::scheme::Whole;

pub(crate) fn all() -> Vec<(String, String)> {
    let command = Workload::augment_subcommands(Command::new("limbwise"));
    let about = |c: &Command| c.get_about().map(ToString::to_string).unwrap_or_default();
    command.get_subcommands().map(|c| (c.get_name().to_owned(), about(c))).collect()
}

/// What a workload refused.
pub(crate) fn refused(refusal: Refusal) -> anyhow::Error {
    limbwise_runtime::Error::of_refusal(refusal).into()
}
