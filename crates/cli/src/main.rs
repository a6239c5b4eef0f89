//! The program `limbwise`; the library holds all of its code.

use std::process::ExitCode;

fn main() -> ExitCode {
    limbwise_cli::run(std::env::args_os(), &limbwise_cli::Again::Executable).into()
}
