//! What cannot be read when the server starts. It stays where it is, and all else goes on without it.

use super::{State, Store, absent};
use crate::{
    id::Id,
    refusal::{Cause, Denied, Refusal},
};
use std::path::{Path, PathBuf};

/// A record or a file that is damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damaged {
    /// A job, an upload or a file.
    pub what: &'static str,
    pub path: PathBuf,
    pub cause: String,
    /// Of a job or an upload.
    pub(super) id: Option<Id>,
}

impl Damaged {
    /// Its folder is named after its id.
    pub(super) fn record(what: &'static str, (id, path): (Id, &Path), cause: impl ToString) -> Self {
        Self { what, path: path.to_owned(), cause: cause.to_string(), id: Some(id) }
    }

    pub(super) fn file(path: &Path, cause: impl ToString) -> Self {
        Self { what: "file", path: path.to_owned(), cause: cause.to_string(), id: None }
    }
}

impl State {
    /// For a job or an upload that is not there. Whose a damaged one was is not known, so it is told to anyone who has its
    /// id: that is random, and its client's alone.
    pub(super) fn missing(&self, what: &'static str, id: Id) -> Denied {
        let Some(damaged) = self.damaged.iter().find(|damaged| damaged.what == what && damaged.id == Some(id)) else {
            return absent(what, id);
        };
        let next = format!(
            "ask for the {what} again, files that were complete are there; the operator finds the record in the log"
        );
        let wanted = "a record as the server wrote it";
        Refusal::new(format!("the record of this {what} is damaged"), &damaged.cause, wanted, next)
            .because(Cause::Server)
    }
}

impl Store {
    /// What could not be read when the directory was opened.
    pub fn damaged(&self) -> Vec<Damaged> {
        self.state().damaged.clone()
    }
}
