//! The verbs, one per file: arguments, steps, and the printed text.
//!
//! Enters: arguments, the order of steps. Stays out: forms of texts (they are in [`crate::text`]).

#[cfg(feature = "client")]
pub(crate) mod bench;
pub(crate) mod convert;
pub(crate) mod count;
#[cfg(feature = "client")]
mod decrypt;
#[cfg(feature = "client")]
mod encrypt;
mod eval;
mod inspect;
#[cfg(feature = "client")]
mod keygen;
pub(crate) mod list;
pub(crate) mod machines;
pub(crate) mod params;
mod plan;
mod prepare;
pub(crate) mod record;
mod reproduce;
#[cfg(unix)]
mod resident;
#[cfg(not(unix))]
#[path = "resident_absent.rs"]
mod resident;
#[cfg(feature = "client")]
mod run;
#[cfg(feature = "client")]
mod run_parts;
#[cfg(feature = "client")]
pub(crate) mod schemas;
mod serve;
mod serve_plan;
mod serve_resident;
pub(crate) mod sweep;
pub(crate) mod time;

use crate::Again;
use clap::{Parser, Subcommand};

/// Fully homomorphic encryption: run a program on encrypted data, plan it before any key exists, time it on hardware models
///
/// One program has three readings:
///   limbwise plan logreg      its cost: security, levels, keys, bytes, precision, seconds
///   limbwise run logreg       runs it on encrypted data and compares it with its clear twin
///   limbwise time logreg      its time on models of published accelerators and of this CPU
///
/// Client and server on two machines, exchanging files:
///   limbwise keygen logreg --client mine --server theirs; limbwise encrypt --client mine --out in
///   limbwise eval --server theirs --in in --out results          with public keys only
///   limbwise decrypt --client mine --in results --out model.npy
///   limbwise serve state                                         or over HTTP, for clients elsewhere
///
/// Every command has --json with stable fields (docs/schemas). GB is 10^9 bytes, GiB 2^30 bytes.
/// Exit codes: 0 success, 2 a mistake in the command or its files, 1 a system failure or a bug.
#[derive(Debug, Parser)]
#[command(name = "limbwise", version, verbatim_doc_comment)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    List(list::List),
    Plan(plan::Plan),
    #[cfg(feature = "client")]
    Run(run::Run),
    Time(time::Time),
    Sweep(sweep::Sweep),
    Record(record::Record),
    Machines(machines::Machines),
    Reproduce(reproduce::Reproduce),
    Count(count::Count),
    #[cfg(feature = "client")]
    Keygen(keygen::Keygen),
    #[cfg(feature = "client")]
    Encrypt(encrypt::Encrypt),
    Prepare(prepare::Prepare),
    Eval(eval::Eval),
    Serve(serve::Serve),
    #[command(hide = true)]
    ServePlan(serve_plan::ServePlan),
    #[cfg(feature = "client")]
    Decrypt(decrypt::Decrypt),
    Inspect(inspect::Inspect),
    Convert(convert::Convert),
    #[cfg(feature = "client")]
    Bench(bench::Bench),
    Params(params::Params),
}

impl Verb {
    /// Does it.
    pub(crate) fn execute(&self, again: &Again) -> anyhow::Result<()> {
        match self {
            Self::List(verb) => verb.execute(),
            Self::Plan(verb) => verb.execute(),
            #[cfg(feature = "client")]
            Self::Run(verb) => verb.execute(),
            Self::Time(verb) => verb.execute(),
            Self::Sweep(verb) => verb.execute(),
            Self::Record(verb) => verb.execute(),
            Self::Machines(verb) => verb.execute(),
            Self::Reproduce(verb) => verb.execute(),
            Self::Count(verb) => verb.execute(),
            #[cfg(feature = "client")]
            Self::Keygen(verb) => verb.execute(),
            #[cfg(feature = "client")]
            Self::Encrypt(verb) => verb.execute(),
            Self::Prepare(verb) => verb.execute(),
            Self::Eval(verb) => verb.execute(),
            Self::Serve(verb) => verb.execute(again),
            Self::ServePlan(verb) => verb.execute(),
            #[cfg(feature = "client")]
            Self::Decrypt(verb) => verb.execute(),
            Self::Inspect(verb) => verb.execute(),
            Self::Convert(verb) => verb.execute(),
            #[cfg(feature = "client")]
            Self::Bench(verb) => verb.execute(),
            Self::Params(verb) => verb.execute(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_consistent() {
        use clap::CommandFactory as _;
        Cli::command().debug_assert();
    }
}
