//! Command that starts this program again in a separate process.

use std::{env, ffi::OsString, io};

/// The command that this program is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Again {
    Executable,
    /// An interpreter with its first arguments: where this is a library, the executable that runs is not this program.
    Command {
        program: OsString,
        /// What comes before the arguments.
        arguments: Vec<OsString>,
    },
}

impl Again {
    /// The program, and its arguments before the verb.
    pub(crate) fn command(&self) -> io::Result<(OsString, Vec<OsString>)> {
        match self {
            Self::Executable => Ok((env::current_exe()?.into(), Vec::new())),
            Self::Command { program, arguments } => Ok((program.clone(), arguments.clone())),
        }
    }
}
