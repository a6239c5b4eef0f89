//! The program `limbwise`: arguments in, readings of a program out. One verb a file. A library, so that the Python package
//! has the same command.
//!
//! Enters: arguments, progress, texts and JSON of reports, files that are written whole or not at all.
//! Stays out: arithmetic, schemes, models of machines.
//!
//! Read in this order: [`verbs`] (and what their JSON is: `verbs/schemas.rs`), [`workload`] (options to program), [`sweeping`], [`readings`] (program to plan), [`choosing`] (which parameters), [`text`],
//! [`output`] and [`files`], [`failure`] (exit codes), [`again`] (this program once more).

#![expect(missing_docs, reason = "docs stand where name and type do not say it all")]
#![cfg_attr(
    not(feature = "client"),
    expect(
        dead_code,
        reason = "options and texts of the client's verbs stay where they are; what they would call is gone"
    )
)]

mod again;
mod choosing;
mod dividing;
mod dpus;
mod failure;
mod files;
mod half;
mod host;
mod output;
mod progress;
mod readings;
mod seconds;
#[cfg(feature = "client")]
mod secrets;
mod specs;
mod sweeping;
mod text;
mod verbs;
mod workload;

pub use again::Again;
#[cfg(feature = "client")]
pub use verbs::schemas::schemas;

use clap::Parser as _;
use std::{
    ffi::OsString,
    io::Write as _,
    panic::{AssertUnwindSafe, catch_unwind},
};

/// A server has no secret key: were there another type of this name, it would be ambiguous and this would not compile.
#[cfg(not(feature = "client"))]
mod no_secret {
    #![expect(clippy::wildcard_imports, unused_imports, reason = "whatever there is must not have the name")]
    use limbwise::{ckks::*, rlwe::*, tfhe::*, wire::*};
    use names::*;

    mod names {
        pub(crate) struct SecretKey;
        pub(crate) struct ClientKey;
        pub(crate) struct KeyGenerator;
        pub(crate) struct Probe;
        pub(crate) struct Lock;
    }

    const _: (SecretKey, ClientKey, KeyGenerator, Probe, Lock) = (SecretKey, ClientKey, KeyGenerator, Probe, Lock);
}

/// Runs the program with its arguments, its own name first, and returns the exit code. Arguments that are none end the
/// process. What a verb does in a process of its own is started as `again` says.
pub fn run(args: impl IntoIterator<Item = OsString>, again: &Again) -> u8 {
    let args: Vec<OsString> = args.into_iter().collect();
    // Reports name files, and JSON is UTF-8: said now, and not when the work is done.
    if let Some(other) = args.iter().skip(1).find(|word| word.to_str().is_none()) {
        let text = format!("{}: an argument that is not UTF-8; give the file another name", other.display());
        return failure::exit(&failure::Mistake(text).into());
    }
    let verb = match verbs::Cli::try_parse_from(args) {
        Ok(cli) => cli.verb,
        Err(said) if said.use_stderr() => said.exit(),
        // Help and the version are output like any other: what cannot be written is a fault.
        Err(said) => {
            let written = said.print().and_then(|()| std::io::stdout().flush());
            return written.map_or_else(|e| failure::exit(&e.into()), |()| 0);
        }
    };
    match catch_unwind(AssertUnwindSafe(|| verb.execute(again))) {
        Ok(Ok(())) => 0,
        Ok(Err(error)) => failure::exit(&error),
        Err(payload) => failure::unwound(&*payload),
    }
}
