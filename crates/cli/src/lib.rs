//! The program `limbwise`: arguments in, readings of a program out. One verb a file. A library, so that the Python package
//! has the same command.
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
    ffi::OsString,
    panic::{AssertUnwindSafe, catch_unwind},
};

/// Runs the program with its arguments, its own name first, and returns the exit code. Help, and arguments that are none,
/// end the process.
pub fn run(args: impl IntoIterator<Item = OsString>) -> u8 {
    let verb = verbs::Cli::parse_from(args).verb;
    match catch_unwind(AssertUnwindSafe(|| verb.execute())) {
        Ok(Ok(())) => 0,
        Ok(Err(error)) => failure::exit(&error),
        Err(_) => failure::bug(),
    }
}
