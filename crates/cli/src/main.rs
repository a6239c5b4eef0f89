//! The program `limbwise`: arguments in, readings of a program out. One verb a file.
//!
//! Enters: arguments, progress, texts and JSON of reports, files that are written whole or not at all.
//! Stays out: arithmetic, schemes, models of machines.
//!
//! Read in this order: [`verbs`], [`workload`] (options to program), [`readings`] (program to plan), [`text`],
//! [`output`] and [`files`], [`failure`] (exit codes).

mod failure;
mod files;
mod host;
mod output;
mod progress;
mod readings;
mod specs;
mod text;
mod verbs;
mod workload;

use clap::Parser as _;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    process::ExitCode,
};

fn main() -> ExitCode {
    let verb = verbs::Cli::parse().verb;
    match catch_unwind(AssertUnwindSafe(|| verb.execute())) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(error)) => failure::exit(&error),
        Err(_) => failure::bug(),
    }
}
