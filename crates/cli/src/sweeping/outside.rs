//! Searches and clusters: the Python package implements both, because it has the libraries. It runs as a second process
//! and exchanges JSON lines: a search requests points and receives their costs, a cluster receives points and returns
//! rows.

use crate::{failure::Mistake, half::Half};
use clap::ValueEnum;
use limbwise_runtime::sweep::{Grid, Row};
use serde::{Deserialize, Serialize};

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
        Ok(Self { half: Half::begin(&["limbwise._sweep", "nsga2"], "search", &space)?, values })
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
    let mut half = Half::begin(&["limbwise._sweep", "ray"], "ray", &Work { command, points })?;
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
