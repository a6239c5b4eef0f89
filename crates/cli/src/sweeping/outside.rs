//! Searches and clusters: the Python package implements both, because it has the libraries. It runs as a second process
//! and exchanges JSON lines: a search requests points and receives their costs, a cluster receives points and returns
//! rows.

use crate::failure::Mistake;
use clap::ValueEnum;
use limbwise_runtime::sweep::{Grid, Row};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{
    io::{BufRead as _, BufReader, BufWriter, Write as _},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

/// How a search chooses points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Strategy {
    /// NSGA-II, of pymoo
    Nsga2,
}

/// Where points are evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Cluster {
    /// In this process
    Here,
    /// On a Ray cluster: RAY_ADDRESS, or a local one
    Ray,
}

/// The Python that has the package; its command sets this, so that a virtual environment finds itself.
const PYTHON: &str = "LIMBWISE_PYTHON";

/// The other half, under way.
struct Half {
    child: Child,
    to: Option<BufWriter<ChildStdin>>,
    from: BufReader<ChildStdout>,
    extra: &'static str,
}

impl Half {
    fn begin(role: &str, extra: &'static str, first: &impl Serialize) -> anyhow::Result<Self> {
        let python = std::env::var_os(PYTHON).unwrap_or_else(|| "python3".into());
        let command = ["-m", "limbwise._sweep", role];
        let spawned = Command::new(&python).args(command).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = spawned.map_err(|e| {
            let python = python.to_string_lossy();
            Mistake(format!("cannot start {python}: {e} (pip install 'limbwise[{extra}]', or set {PYTHON})"))
        })?;
        let pipes = (child.stdin.take(), child.stdout.take());
        let (Some(to), Some(from)) = pipes else { unreachable!("both are pipes") };
        let mut half = Self { child, to: Some(BufWriter::new(to)), from: BufReader::new(from), extra };
        half.say(first)?;
        Ok(half)
    }

    fn say(&mut self, what: &impl Serialize) -> anyhow::Result<()> {
        let line = serde_json::to_string(what)? + "\n";
        let Some(to) = &mut self.to else { return Ok(()) };
        match to.write_all(line.as_bytes()).and_then(|()| to.flush()) {
            Ok(()) => Ok(()),
            Err(_) => Err(self.failed()),
        }
    }

    /// Its next line; `None` when it is done.
    fn hear<T: DeserializeOwned>(&mut self) -> anyhow::Result<Option<T>> {
        let mut line = String::new();
        if self.from.read_line(&mut line)? > 0 {
            let heard = serde_json::from_str(&line);
            return Ok(Some(heard.map_err(|e| Mistake(format!("limbwise._sweep said {:?}: {e}", line.trim())))?));
        }
        self.to = None;
        if self.child.wait()?.success() { Ok(None) } else { Err(self.failed()) }
    }

    /// It has said on standard error what was wrong.
    fn failed(&mut self) -> anyhow::Error {
        self.to = None;
        let status = self.child.wait().map_or_else(|e| e.to_string(), |status| status.to_string());
        Mistake(format!(
            "limbwise._sweep of the Python package ended ({status}): pip install 'limbwise[{}]'",
            self.extra
        ))
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

#[derive(Serialize)]
struct Space {
    values: Vec<usize>,
    objectives: usize,
    evaluations: usize,
    seed: u64,
}

#[derive(Deserialize)]
struct Ask {
    ask: Vec<Vec<usize>>,
}

#[derive(Serialize)]
struct Tell<'a> {
    tell: &'a [Option<Vec<f64>>],
}

pub(crate) struct Search {
    half: Half,
    values: Vec<usize>,
}

impl Search {
    /// Begins a search of a grid: for so many evaluations, from a seed.
    pub(crate) fn begin(
        how: Strategy,
        grid: &Grid,
        objectives: usize,
        evaluations: usize,
        seed: u64,
    ) -> anyhow::Result<Self> {
        let Strategy::Nsga2 = how;
        let values: Vec<usize> = grid.axes().map(|axis| axis.values.len()).collect();
        let space = Space { values: values.clone(), objectives, evaluations, seed };
        Ok(Self { half: Half::begin("nsga2", "search", &space)?, values })
    }

    /// Numbers of the points that it wants to know; `None` when it has seen enough.
    pub(crate) fn ask(&mut self) -> anyhow::Result<Option<Vec<usize>>> {
        let Some(Ask { ask }) = self.half.hear()? else { return Ok(None) };
        let number = |choices: &Vec<usize>| {
            let inside = choices.len() == self.values.len() && choices.iter().zip(&self.values).all(|(c, n)| c < n);
            inside.then(|| choices.iter().zip(&self.values).fold(0, |number, (choice, n)| number * n + choice))
        };
        let numbers: Option<Vec<usize>> = ask.iter().map(number).collect();
        numbers.map(Some).ok_or_else(|| Mistake("limbwise._sweep asked for a point outside of the grid".into()).into())
    }

    /// Their costs, in the order they were asked for; `None` for a point that has none.
    pub(crate) fn tell(&mut self, costs: &[Option<Vec<f64>>]) -> anyhow::Result<()> {
        self.half.say(&Tell { tell: costs })
    }
}

#[derive(Serialize)]
struct Work<'a> {
    command: &'a [String],
    points: &'a [usize],
}

/// Evaluates points of a sweep, given by its command, on a Ray cluster.
pub(crate) fn on_ray(
    command: &[String],
    points: &[usize],
    mut done: impl FnMut(Row) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    if points.is_empty() {
        return Ok(());
    }
    let mut half = Half::begin("ray", "ray", &Work { command, points })?;
    let mut left = points.len();
    while let Some(row) = half.hear::<Row>()? {
        done(row)?;
        left = left.saturating_sub(1);
    }
    if left == 0 {
        Ok(())
    } else {
        Err(Mistake(format!("the cluster ended with {left} points undone: run the same again")).into())
    }
}
