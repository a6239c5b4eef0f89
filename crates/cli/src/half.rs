//! The half of a command that the Python package does, as a second process: both talk in lines of JSON.

use crate::failure::Mistake;
use serde::{Serialize, de::DeserializeOwned};
use std::{
    io::{BufRead as _, BufReader, BufWriter, Write as _},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

/// The Python that has the package; its command sets this, so that a virtual environment finds itself.
const PYTHON: &str = "LIMBWISE_PYTHON";

/// The other half, under way.
pub(crate) struct Half {
    child: Child,
    to: Option<BufWriter<ChildStdin>>,
    from: BufReader<ChildStdout>,
    name: &'static str,
    extra: &'static str,
}

impl Half {
    pub(crate) fn begin(module: &[&'static str], extra: &'static str, first: &impl Serialize) -> anyhow::Result<Self> {
        let python = std::env::var_os(PYTHON).unwrap_or_else(|| "python3".into());
        let spawned = Command::new(&python).arg("-m").args(module).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = spawned.map_err(|e| {
            let python = python.to_string_lossy();
            Mistake(format!("cannot start {python}: {e} (pip install 'limbwise[{extra}]', or set {PYTHON})"))
        })?;
        let name = module.first().copied().unwrap_or_default();
        let pipes = (child.stdin.take(), child.stdout.take());
        let (Some(to), Some(from)) = pipes else { unreachable!("both are pipes") };
        let mut half = Self { child, to: Some(BufWriter::new(to)), from: BufReader::new(from), name, extra };
        half.say(first)?;
        Ok(half)
    }

    pub(crate) fn say(&mut self, what: &impl Serialize) -> anyhow::Result<()> {
        let line = serde_json::to_string(what)? + "\n";
        let Some(to) = &mut self.to else { return Ok(()) };
        match to.write_all(line.as_bytes()).and_then(|()| to.flush()) {
            Ok(()) => Ok(()),
            Err(_) => Err(self.failed()),
        }
    }

    /// Its next line; `None` when it is done.
    pub(crate) fn hear<T: DeserializeOwned>(&mut self) -> anyhow::Result<Option<T>> {
        let mut line = String::new();
        if self.from.read_line(&mut line)? > 0 {
            let heard = serde_json::from_str(&line);
            return Ok(Some(heard.map_err(|e| Mistake(format!("{} said {:?}: {e}", self.name, line.trim())))?));
        }
        self.to = None;
        if self.child.wait()?.success() { Ok(None) } else { Err(self.failed()) }
    }

    /// It has said on standard error what was wrong.
    fn failed(&mut self) -> anyhow::Error {
        self.to = None;
        let status = self.child.wait().map_or_else(|e| e.to_string(), |status| status.to_string());
        Mistake(format!("{} of the Python package ended ({status}): pip install 'limbwise[{}]'", self.name, self.extra))
            .into()
    }
}

impl Drop for Half {
    /// A half that is not waited for any more goes away with this one.
    fn drop(&mut self) {
        if self.to.take().is_some() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
