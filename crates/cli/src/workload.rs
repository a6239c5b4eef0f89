//! Workloads on the command line: the registry's, and what verbs need of all of them.

use clap::{Command, Subcommand as _};
use limbwise::scheme::{Scheme as _, Tfhe};
pub(crate) use limbwise_apps::registry::Options as Workload;
use limbwise_apps::{AnyPrepared, description::Refusal};
use limbwise_machines::Spec;
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

/// The preset of a workload where the user names none, on machines of 32-bit words: one whose primes fit them.
pub(crate) fn narrow_preset(workload: &Workload, specs: &[Spec]) -> Option<&'static str> {
    let on = |model: &str| specs.iter().any(|spec| spec.model() == model);
    match (workload.scheme(), workload.name()) {
        (Tfhe::NAME, _) if on("fhex") => Some("fhex-II-32"),
        (Tfhe::NAME, _) if on("flexmem") => Some("strix-III-32"),
        (_, "bootstrap") if on("flexmem") => Some("boot-narrow"),
        _ => None,
    }
}

/// A program as models of these machines take it, and why it could not be run, if it could not.
pub(crate) fn timed_on(mut workload: Workload, specs: &[Spec]) -> anyhow::Result<(AnyPrepared, Option<String>)> {
    if let Some(narrow) = narrow_preset(&workload, specs) {
        workload.preset().get_or_insert_with(|| narrow.into());
    }
    workload.prepare_timed().map_err(refused)
}
