//! The program `limbwise`; all of it is in the library beside.

use std::process::ExitCode;

fn main() -> ExitCode {
    limbwise_cli::run(std::env::args_os(), &limbwise_cli::Again::Executable).into()
}
