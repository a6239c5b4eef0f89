//! Other implementations, measured by a separate program: requests and answers.
//!
//! A request is a line of JSON. The answer is a line of JSON for each implementation that has the operation, then an
//! empty line (`bench/peers/README.md`). This program needs no knowledge of the others, and each is measured right
//! after ours.

use super::Row;
use crate::{failure::Mistake, progress::note};
use limbwise_runtime::bench::Chain;
use serde::{Deserialize, Serialize};
use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
};

/// A running program that measures others.
pub(super) struct Peers {
    path: PathBuf,
    child: Child,
    answers: BufReader<ChildStdout>,
}

/// What is asked: one operation on one thread.
#[derive(Serialize)]
struct Question<'a> {
    op: &'a str,
    n: usize,
    prime_bits: u32,
    limbs: usize,
    #[serde(flatten)]
    chain: Option<&'a Chain>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Answer {
    pub(super) name: String,
    /// Least time of several.
    #[serde(deserialize_with = "limbwise_math::finite::field")]
    pub(super) seconds: f64,
    pub(super) library: String,
    pub(super) version: String,
    pub(super) parameters: String,
}

impl Peers {
    /// Starts the program.
    pub(super) fn start(path: &Path) -> anyhow::Result<Self> {
        let started = Command::new(path).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = started.map_err(|e| Mistake(format!("{} does not start: {e}", path.display())))?;
        let answers = BufReader::new(child.stdout.take().expect("a pipe"));
        Ok(Self { path: path.into(), child, answers })
    }

    /// The answers for a row of ours.
    pub(super) fn ask(&mut self, row: &Row, chain: Option<&Chain>) -> anyhow::Result<Vec<Answer>> {
        note(&format!("measuring {} of others", row.op));
        let question = Question { op: row.op, n: row.n, prime_bits: row.prime_bits, limbs: row.limbs, chain };
        let gone = |path: &Path| Mistake(format!("{} went away; what it said is above", path.display()));
        let stdin = self.child.stdin.as_mut().expect("a pipe");
        writeln!(stdin, "{}", serde_json::to_string(&question)?).map_err(|_| gone(&self.path))?;
        let mut all = Vec::new();
        loop {
            let mut line = String::new();
            if self.answers.read_line(&mut line)? == 0 {
                return Err(gone(&self.path).into());
            }
            if line.trim().is_empty() {
                return Ok(all);
            }
            let answer = serde_json::from_str::<Answer>(&line).ok().filter(|a| a.name == row.op && a.seconds > 0.0);
            all.push(answer.ok_or_else(|| {
                let (path, line) = (self.path.display(), line.trim());
                Mistake(format!("{path} answered {line:?}; wanted a row for {} (bench/peers/README.md)", row.op))
            })?);
        }
    }
}

/// The program goes when it finds its input closed.
impl Drop for Peers {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
