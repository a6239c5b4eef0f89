//! Refusals: what, got, wanted, next step.

use serde::{Deserialize, Serialize};
use std::{io, path::PathBuf};
use utoipa::ToSchema;

/// Why something was refused or failed, for a person and for a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Refusal {
    /// What was refused or went wrong.
    pub what: String,
    /// What was there. Absent where `what` says all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub got: Option<String>,
    /// What would have been right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wanted: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_step: Option<String>,
}

impl Refusal {
    pub fn new(
        what: impl Into<String>,
        got: impl ToString,
        wanted: impl Into<String>,
        next_step: impl Into<String>,
    ) -> Self {
        Self {
            what: what.into(),
            got: Some(got.to_string()),
            wanted: Some(wanted.into()),
            next_step: Some(next_step.into()),
        }
    }

    /// A text that says all itself: the messages of the library.
    pub fn text(what: impl Into<String>) -> Self {
        Self { what: what.into(), got: None, wanted: None, next_step: None }
    }

    /// As the reason of an answer.
    pub fn because(self, cause: Cause) -> Denied {
        Denied { cause, refusal: self }
    }
}

/// Whose doing it is; decides the status of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The request makes no sense.
    Malformed,
    /// What it says is well-formed and cannot be done.
    Unfit,
    Absent,
    /// It does not fit to the present state.
    Conflict,
    /// It is larger than allowed.
    TooLarge,
    TooMany,
    /// The server's disk is full.
    NoRoom,
    Server,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denied {
    /// Whose doing.
    pub cause: Cause,
    pub refusal: Refusal,
}

/// The answer that the server's own disk gave.
impl From<io::Error> for Denied {
    fn from(error: io::Error) -> Self {
        let full = matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
        let cause = if full { Cause::NoRoom } else { Cause::Server };
        let next = "try again later; the operator finds the cause in the server's log under the request id";
        Refusal::new("the server's directory refused", error, "files that can be read and written", next).because(cause)
    }
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    #[error("{path}: another server uses this directory (stop it, or choose another directory)")]
    Locked { path: PathBuf },
    #[error("{path}: the directory is not empty and has no server's state; wanted an empty or new directory")]
    NotOurs { path: PathBuf },
    #[error(
        "{path}: damaged: {cause} (it is written whole, so the disk or another program did this; without it nobody knows whose directory this is)"
    )]
    Damaged { path: PathBuf, cause: String },
    #[error(
        "bind to {address}: others can reach this address and no token is set; wanted --token-file, or an address of this machine only (127.0.0.1)"
    )]
    Open { address: String },
    #[error("{path}: {cause}")]
    Token { path: PathBuf, cause: String },
    #[error("{path}: {cause}")]
    Tls { path: PathBuf, cause: String },
    #[error("{what}: {error}")]
    System { what: String, error: io::Error },
}

impl StartError {
    /// For `map_err`.
    pub(crate) fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |error| Self::System { what, error }
    }
}
