//! Where there are no Unix sockets: the resident evaluator is refused.

use crate::failure::Mistake;
use limbwise_runtime::parts::{Answer, Asker, Files, Ready, Request};
use serde_json::Value;
use std::{io, path::Path, time::Duration};

const ABSENT: &str = "--socket: this system has no Unix sockets; evaluate with --server";

/// Nothing listens.
pub(super) enum Listening {}

impl Listening {
    pub(super) fn new(_path: &Path, _idle: Option<Duration>) -> anyhow::Result<Self> {
        Err(Mistake(ABSENT.into()).into())
    }

    pub(super) fn ended(self) -> io::Result<()> {
        match self {}
    }
}

impl Asker for Listening {
    fn ready(&mut self, _ready: Ready) {
        match *self {}
    }

    fn next(&mut self) -> Option<Request> {
        match *self {}
    }

    fn answer(&mut self, _done: limbwise_runtime::Result<Answer>) {
        match *self {}
    }
}

/// Nobody answers.
pub(super) fn ask(_socket: &Path, _files: &Files) -> anyhow::Result<Value> {
    Err(Mistake(ABSENT.into()).into())
}

/// No report has steps.
pub(super) fn steps(_report: &Value) -> impl Iterator<Item = (&str, f64)> {
    std::iter::empty()
}

/// No report has text.
pub(super) fn render(_report: &Value) -> String {
    String::new()
}
