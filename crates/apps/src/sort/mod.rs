//! Sorting: numbers in slots through a network of sorters, each stage all of its sorters at once.
//!
//! Numbers of a public range are encrypted as parts of it, in [MARGIN, 1 − MARGIN], one a slot; a network of more positions
//! is filled up from above. Columns that move along are messages of the same batch. A stage is that of
//! [`Sorter`]; values are bootstrapped where a polynomial needs levels that are not left, as late as possible.

use crate::{
    program::{Array, Ckks, Details, Evaluation, Numbers, Program, SlotsInput as Input, State, fields},
    way::Way,
};
use limbwise::{
    Complex64, Result,
    ckks::{
        BootstrapPlan, Ciphertext, LevelPolicy, Packing, Promise,
        bootstrap::Content,
        functions::{
            Comparison, Network, NetworkKind, Sorter,
            sorting::{ABOVE, FINER, FINEST, MARGIN, MOST_DEPTH},
        },
    },
    params::Params,
    scheme::{Maps, SlotsEstimate},
};
use limbwise_device::Device;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;

pub mod client;
pub mod options;

/// Largest number of columns, the first included.
const MOST_COLUMNS: usize = 64;

/// Why the program cannot be built.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SortError {
    #[error("{preset} has no bootstrapping: choose boot or boot-… (limbwise params show)")]
    NoBootstrapping { preset: String },
    #[error("{count} numbers: choose 2 to {most} for this network and {slots} slots")]
    Count { count: usize, most: usize, slots: usize },
    #[error("{0} columns: choose 1 to 64")]
    Columns(usize),
    #[error("a range from {least} to {most}: wanted two finite numbers, the smaller first")]
    Range { least: f64, most: f64 },
    #[error(
        "a stage of sorters with {ways} inputs takes a polynomial of {needed} levels, {levels} lie between two bootstrappings: choose another --network, or a preset with more levels (limbwise params show)"
    )]
    Levels { ways: usize, needed: usize, levels: usize },
    #[error("a gap of {gap} for numbers from {least} to {most}: choose one from {finest} to less than the range")]
    Gap { gap: f64, least: f64, most: f64, finest: f64 },
    #[error("columns of size {0}: wanted positive numbers, one a column after the first")]
    Sizes(String),
}

/// Which network, as options and descriptions name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkName {
    /// Merges of two, three, four or five.
    #[serde(rename = "2-way")]
    Two,
    #[serde(rename = "3-way")]
    Three,
    #[serde(rename = "4-way")]
    Four,
    #[serde(rename = "5-way")]
    Five,
    Bitonic,
}

impl NetworkName {
    pub const ALL: [Self; 5] = [Self::Two, Self::Three, Self::Four, Self::Five, Self::Bitonic];

    pub fn name(self) -> &'static str {
        match self {
            Self::Two => "2-way",
            Self::Three => "3-way",
            Self::Four => "4-way",
            Self::Five => "5-way",
            Self::Bitonic => "bitonic",
        }
    }

    fn kind(self) -> NetworkKind {
        match self {
            Self::Two => NetworkKind::KWay(2),
            Self::Three => NetworkKind::KWay(3),
            Self::Four => NetworkKind::KWay(4),
            Self::Five => NetworkKind::KWay(5),
            Self::Bitonic => NetworkKind::Bitonic,
        }
    }
}

/// Public metadata of a sort.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// Numbers to sort.
    pub count: usize,
    pub network: NetworkName,
    /// Range of the numbers.
    #[serde(deserialize_with = "limbwise::finite::field")]
    pub least: f64,
    #[serde(deserialize_with = "limbwise::finite::field")]
    pub most: f64,
    /// Numbers that differ by less may come in either order.
    #[serde(deserialize_with = "limbwise::finite::field")]
    pub gap: f64,
    /// Whether the greatest comes first.
    pub descending: bool,
    /// Bound of the absolute values of each column that moves along.
    pub sizes: Vec<f64>,
}

impl Task {
    /// The gap between two encrypted numbers.
    fn encrypted_gap(&self) -> f64 {
        self.gap / (self.most - self.least) * (1.0 - 2.0 * MARGIN)
    }
}

/// The workload, without its numbers.
#[derive(Clone, Debug)]
pub struct Sort {
    params: Params,
    task: Task,
    plan: BootstrapPlan,
    means: Arc<Sorting>,
}

/// What is the same in every configuration.
#[derive(Debug)]
struct Sorting {
    network: Network,
    sorter: Sorter,
    slots: usize,
}

impl Sort {
    /// The program of a task.
    ///
    /// # Errors
    /// [`SortError`]; [`limbwise::error::FunctionError::Gap`] for a gap that no polynomials reach.
    pub fn new((params, preset): (&Params, &str), task: Task) -> crate::workload::Refusable<Self> {
        let Some(_) = params.bootstrapping() else {
            return Err(SortError::NoBootstrapping { preset: preset.to_owned() }.into());
        };
        let Task { least, most, count, .. } = task;
        if !(least < most && (most - least).is_finite()) {
            return Err(SortError::Range { least, most }.into());
        }
        if task.sizes.len() >= MOST_COLUMNS {
            return Err(SortError::Columns(task.sizes.len() + 1).into());
        }
        if task.sizes.iter().any(|size| !(size.is_finite() && *size > 0.0)) {
            return Err(SortError::Sizes(format!("{:?}", task.sizes)).into());
        }
        let slots = params.max_slots();
        let refused = |most| SortError::Count { count, most, slots };
        if !(2..=slots).contains(&count) {
            return Err(refused(slots).into());
        }
        let network = Network::within(task.network.kind(), count, slots).ok_or_else(|| refused(slots))?;
        let needed = Sorter::slots(&network);
        let (range, gap) = (most - least, task.encrypted_gap());
        if !(task.gap < range && task.gap >= range * FINEST) {
            return Err(SortError::Gap { gap: task.gap, least, most, finest: range * FINEST }.into());
        }
        let comparison = Comparison::new(1.0, gap, (gap / FINER).min(0.5), MOST_DEPTH)?;
        let sorter = Sorter::new(&comparison, &network)?;
        let levels = LevelPolicy::of(params).levels();
        if sorter.first_levels() > levels {
            return Err(SortError::Levels { ways: network.ways, needed: sorter.first_levels(), levels }.into());
        }
        let plan = BootstrapPlan { content: Content::Real, ..BootstrapPlan::fastest(needed) };
        Ok(Self { params: params.clone(), task, plan, means: Arc::new(Sorting { network, sorter, slots: needed }) })
    }

    #[must_use]
    pub fn with(&self, plan: BootstrapPlan) -> Self {
        let BootstrapPlan { slots, content, .. } = self.plan;
        Self { plan: BootstrapPlan { slots, content, ..plan }, ..self.clone() }
    }

    /// Public metadata of the program.
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// Bootstrapping configuration.
    pub fn plan(&self) -> BootstrapPlan {
        self.plan
    }

    /// The numbers and the columns that move along, as they are encrypted: `rows[column][number]`.
    pub fn pack(&self, columns: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let Task { least, most, descending, .. } = self.task;
        let width = 1.0 - 2.0 * MARGIN;
        let part = |x: f64| {
            let part = (x - least) / (most - least);
            MARGIN + width * if descending { 1.0 - part } else { part }
        };
        let filled = |mut values: Vec<f64>, above: f64| {
            values.resize(self.means.network.count, above);
            values.resize(self.means.slots, 0.0);
            values
        };
        let first = filled(columns[0].iter().map(|&x| part(x)).collect(), ABOVE);
        let others = columns[1..].iter().zip(&self.task.sizes);
        let others = others.map(|(column, size)| filled(column.iter().map(|x| x / size).collect(), 0.0));
        std::iter::once(first).chain(others).collect()
    }

    /// The reverse of [`Self::pack`], for sorted slots.
    pub fn unpack(&self, rows: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let Task { least, most, descending, count, .. } = self.task;
        let number = |y: &f64| {
            let part = (y - MARGIN) / (1.0 - 2.0 * MARGIN);
            least + (most - least) * if descending { 1.0 - part } else { part }
        };
        let first = rows[0].iter().take(count).map(number).collect();
        let others = rows[1..].iter().zip(&self.task.sizes);
        let others = others.map(|(row, size)| row.iter().take(count).map(|y| y * size).collect());
        std::iter::once(first).chain(others).collect()
    }

    /// Sorts packed rows in the clear, with the same polynomials.
    pub fn in_clear(&self, rows: &mut [Vec<f64>]) {
        let Sorting { network, sorter, .. } = &*self.means;
        network.stages.iter().for_each(|stage| sorter.stage_in_clear(rows, stage));
    }

    /// What the network costs.
    pub(crate) fn cost(&self) -> f64 {
        let (policy, columns) = (LevelPolicy::of(&self.params), 1 + self.task.sizes.len());
        self.means.sorter.cost(policy, &self.means.network, columns)
    }

    /// Messages that are bootstrapped, by the rule that the program follows.
    fn bootstrapped(&self) -> usize {
        let (policy, columns) = (LevelPolicy::of(&self.params), 1 + self.task.sizes.len());
        let Sorting { network, sorter, .. } = &*self.means;
        sorter.bootstrapped(policy, network, columns)
    }
}

impl Program for Sort {
    type Scheme = Ckks;

    fn name(&self) -> &'static str {
        "sort"
    }

    fn params(&self) -> &Params {
        &self.params
    }

    fn inputs(&self) -> Vec<Input> {
        let level = self.params.user_level();
        let packing = Packing { slots: self.means.slots, level, scale: self.params.scale(level) };
        let bounds = Promise { magnitude: 1.0, peak: 1.0, real: true };
        vec![Input { name: "numbers".into(), batch: 1 + self.task.sizes.len(), packing, bounds }]
    }

    fn model(&self) -> Maps<'_> {
        Maps { maps: Vec::new(), bootstrapping: Some(self.plan) }
    }

    fn evaluate<D: Device>(&self, on: Evaluation<'_, '_, D>) -> Result<Vec<Ciphertext<D>>> {
        let Evaluation { means, inputs, observer, journal } = on;
        let (auto, Sorting { network, sorter, slots }) = (&means.auto, &*self.means);
        let ready = |x: &Ciphertext<D>, levels: usize| auto.ready(x, levels);
        let (mut done, mut x) = match journal.resume()? {
            None => (0, inputs[0].clone()),
            Some(State { step, ciphertexts, .. }) => match <[_; 1]>::try_from(ciphertexts) {
                Ok([x]) if step <= network.stages.len() && (x.slots, x.batch()) == (*slots, inputs[0].batch()) => {
                    (step, x)
                }
                _ => return Err(limbwise::Error::State),
            },
        };
        while let Some(stage) = network.stages.get(done) {
            observer.step("stage", done, network.stages.len());
            x = sorter.stage(auto, &x, stage, &ready)?;
            done += 1;
            journal.keep(&State { step: done, ciphertexts: vec![x.clone()], numbers: Vec::new() })?;
        }
        Ok(vec![x])
    }

    fn arrays(&self, results: &Vec<Vec<Vec<Complex64>>>) -> Vec<Array> {
        let rows: Vec<Vec<f64>> = results[0].iter().map(|row| row.iter().map(|z| z.re).collect()).collect();
        let columns = self.unpack(&rows);
        let value = |at: usize| columns.iter().map(move |column| Complex64::from(column[at]));
        let values = (0..self.task.count).flat_map(value).collect();
        let shape = vec![self.task.count, columns.len()];
        vec![Array { name: "sorted".into(), shape, values, numbers: Numbers::Real }]
    }

    /// The range of the numbers; columns of another size are worse or better by their quotient.
    fn unit_of(&self, _array: usize) -> f64 {
        (self.task.most - self.task.least) / (1.0 - 2.0 * MARGIN)
    }

    fn details(&self) -> Details {
        let Sorting { network, slots, sorter } = &*self.means;
        fields(json!({
            "count": self.task.count,
            "network": self.task.network.name(),
            "positions": network.count,
            "slots": slots,
            "stages": network.stages.len(),
            "levels_of_a_stage": sorter.levels(),
            "bootstrapped_messages": self.bootstrapped(),
            "gap": self.task.gap,
            "bootstrap_plan": self.plan,
        }))
    }

    /// How many deviations of the expected error the gap is wide.
    fn expected(&self, results: &[SlotsEstimate]) -> Details {
        let error = results.first().map_or(0.0, |result| result.estimate.error());
        fields(json!({ "gap_over_error": self.task.encrypted_gap() / error.max(f64::MIN_POSITIVE) }))
    }

    fn in_way(&self, way: Way) -> Self {
        way.bootstrapping.map_or_else(|| self.clone(), |plan| self.with(plan))
    }
}
