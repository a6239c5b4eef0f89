//! Workloads on the command line: the registry's, and what verbs need of all of them.

use crate::failure::Mistake;
use clap::{Command, Subcommand as _};
pub(crate) use limbwise_apps::registry::Options as Workload;
use limbwise_apps::{
    description::Refusal,
    registry::{Clients, Registered},
};
use limbwise_runtime::scheme::Piped;

/// A scheme with all that a verb may ask of it.
pub(crate) trait Whole: Piped + Registered + Clients {}

impl<S: Piped + Registered + Clients> Whole for S {}

pub(crate) fn all() -> Vec<(String, String)> {
    let command = Workload::augment_subcommands(Command::new("limbwise"));
    let about = |c: &Command| c.get_about().map(ToString::to_string).unwrap_or_default();
    command.get_subcommands().map(|c| (c.get_name().to_owned(), about(c))).collect()
}

/// What a workload refused: a fault of the system stays one, all else is a mistake in what was asked for.
pub(crate) fn told(refusal: Refusal) -> anyhow::Error {
    let refusal = match refusal.downcast::<limbwise::Error>() {
        Ok(error) => return (*error).into(),
        Err(other) => other,
    };
    match refusal.downcast::<std::io::Error>() {
        Ok(error) => (*error).into(),
        Err(other) => Mistake(other.to_string()).into(),
    }
}
