//! Needs and costs of each configuration of a program, and the fastest one within a memory budget.
//!
//! Every row comes from a recording on a device without data, of one linear map or of a whole program. Bytes and counts
//! are exact; the cost is a model's time for the graph. No closed formula of a strategy is used.

use crate::{
    calibrate::Calibration,
    error::Result,
    host::{available_memory_bytes, resident_memory_bytes},
    plan::{Plan, plan, predicted_memory},
    record::{Forms, Recording},
    scheme::{Piped, Whole},
};
use limbwise::scheme::Scheme;
use limbwise::{
    ckks::{Diagonals, Encoder, Evaluator, LinearPlan, LinearTransform, Packing, PlaintextForm, Strategy},
    params::Params,
    rlwe::{DeclaredKeys, KeyForm, KeyPlan, key_bytes},
};
pub use limbwise_apps::way::{Way, strategies};
use limbwise_apps::{Prepared, Program};
use limbwise_device::{Null, SharedFootprint};
use limbwise_graph::{Counts, Graph, Recorder};
use limbwise_machines::{MachineError, Spec};
use serde::Serialize;
use std::{
    collections::BTreeMap,
    panic::resume_unwind,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread::ScopedJoinHandle,
};

/// A linear map to apply and rescale at a level.
#[derive(Clone, Copy, Debug)]
pub struct LinearTask<'a> {
    pub params: &'a Params,
    pub diagonals: &'a Diagonals,
    /// Level of the input, at least 1.
    pub level: usize,
    pub keys: KeyForm,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Row {
    pub way: Way,
    pub keys: usize,
    pub key_bytes: u64,
    /// Bytes of encoded plaintexts.
    pub plaintext_bytes: u64,
    /// Peak bytes: keys, plaintexts, inputs and intermediate values; for a program, the whole process.
    pub peak_bytes: u64,
    pub counts: Counts,
    /// Cost by a model, in its unit; seconds for a program.
    pub cost: f64,
}

/// The graph of one configuration of a map: inputs, keys and diagonals declared, the map applied and rescaled.
pub fn record_linear(task: LinearTask<'_>, strategy: Strategy, form: PlaintextForm) -> Result<(Graph, Row)> {
    let LinearTask { params, diagonals, level, keys } = task;
    let required = strategy.requirements(diagonals, params, level);
    let (recorder, encoder) = (Recorder::new(Null::default()), Encoder::new(params));
    let plan = KeyPlan { required, form: keys };
    let declared = DeclaredKeys::exactly(&recorder, params, &plan);
    let how = LinearPlan::new(params, strategy, form, level);
    let map = LinearTransform::declare(&recorder, &encoder, diagonals, how)?;
    let packing = Packing { slots: diagonals.slots(), level, scale: params.scale(level) };
    let input = encoder.declare(&recorder, &[vec![]], packing)?;
    let result = Evaluator::new(&recorder, params, &declared).linear_transform_rescaled(&input, &map)?;
    let graph = recorder.graph(); // while the result lives
    drop(result);
    let row = Row {
        way: Way { maps: Some((strategy, form)), ..Way::of_keys(keys) },
        keys: plan.required.len(),
        key_bytes: plan.required.iter().map(|(&name, &level)| key_bytes(params, name, level, keys)).sum(),
        plaintext_bytes: map.bytes(),
        peak_bytes: graph.peak_live_bytes(),
        counts: graph.counts(),
        cost: f64::NAN,
    };
    Ok((graph, row))
}

/// Every strategy of a map in every form, cheapest first.
pub fn rows(task: LinearTask<'_>, cost: impl Fn(&Graph) -> Result<f64>) -> Result<Vec<Row>> {
    let mut all = Vec::new();
    for strategy in Strategy::candidates(task.diagonals) {
        for form in PlaintextForm::ALL {
            let (graph, row) = record_linear(task, strategy, form)?;
            all.push(Row { cost: cost(&graph)?, ..row });
        }
    }
    sort(&mut all);
    Ok(all)
}

fn sort(rows: &mut [Row]) {
    rows.sort_by(|a, b| a.cost.total_cmp(&b.cost).then(a.peak_bytes.cmp(&b.peak_bytes)));
}

/// The Pareto-optimal rows in memory and cost. Input rows come cheapest first.
pub fn frontier(rows: &[Row]) -> Vec<Row> {
    let mut least = u64::MAX;
    rows.iter()
        .copied()
        .filter(|row| {
            let better = row.peak_bytes < least;
            least = least.min(row.peak_bytes);
            better
        })
        .collect()
}

/// The cheapest row that needs at most this many bytes.
pub fn cheapest_within(rows: &[Row], bytes: u64) -> Option<Row> {
    rows.iter().copied().filter(|row| row.peak_bytes <= bytes).min_by(|a, b| a.cost.total_cmp(&b.cost))
}

/// All configurations of a program, each recorded as a whole, and the plan of the one that is taken.
pub struct Survey<S: Piped> {
    /// One row for each configuration, fastest first.
    pub rows: Vec<Row>,
    /// The configuration that the budget prefers; `None` if none fits. Its plan lists the frontier.
    pub chosen: Option<(Way, Recording<S>, Plan)>,
}

/// The memory budget of a survey.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// A requested limit: the fastest configuration within it is taken, and keys on disk may use what the rest leaves of it.
    /// A part of it stays spare ([`Self::most`]).
    Asked(u64),
    /// The available memory. Of the configurations that take little longer than the fastest ([`SLACK`]) the smallest is
    /// taken (ADR 137), and keys on disk use as little as possible, because their purpose is to save memory.
    Free(u64),
}

/// Per cent of a limit that are kept spare: measured peaks lay up to 1.6 % above predicted ones.
pub const SPARE: u64 = 2;

fn spare_of(limit: u64) -> u64 {
    let (whole, rest) = (limit / 100, limit % 100);
    whole * SPARE + (rest * SPARE).div_ceil(100)
}

/// The least limit that a plan with this peak is within.
pub fn least_limit(peak: u64) -> u64 {
    let (whole, rest) = (peak / (100 - SPARE), peak % (100 - SPARE));
    (whole * 100).saturating_add((rest * 100).div_ceil(100 - SPARE))
}

/// Seconds of a smaller configuration over those of the fastest, up to which it is taken where nobody asked for a limit.
const SLACK: f64 = 1.1;

impl Budget {
    /// The limit that was asked for, or what this computer has if there is a choice between configurations.
    pub fn of(memory: Option<u64>, ways: &[Way]) -> Self {
        let free = || Some(available_memory_bytes()?.saturating_add(resident_memory_bytes()?));
        match (memory, ways) {
            (Some(most), _) => Self::Asked(most),
            (None, [_]) => Self::Free(u64::MAX),
            (None, _) => Self::Free(free().unwrap_or(u64::MAX)),
        }
    }

    pub fn bytes(self) -> u64 {
        match self {
            Self::Asked(bytes) | Self::Free(bytes) => bytes,
        }
    }

    /// The largest peak that a plan may have.
    pub fn most(self) -> u64 {
        match self {
            Self::Asked(bytes) => bytes - spare_of(bytes),
            Self::Free(bytes) => bytes,
        }
    }
}

/// Records and plans a program in one form of keys. Keys on disk get the memory that the budget leaves.
fn planned<P: Program<Scheme: Piped>>(
    (program, forms): (&P, &Forms<'_, P>),
    keys: KeyForm,
    preset: &str,
    host: &Calibration,
    budget: Budget,
) -> Result<(Recording<P::Scheme>, Plan)> {
    let mut recording = forms.record(keys)?;
    if let (Budget::Asked(_), Some(reads)) = (budget, &recording.reads) {
        let least = predicted_memory::<P::Scheme>(program.params(), &recording, (host.threads, host.resident_bytes));
        let left = budget.most().saturating_sub(least);
        // A line of padding for each 512 words.
        let key_memory = reads.budget_bytes + left - left.div_ceil(512);
        recording = recording.with_key_memory(program, key_memory)?;
    }
    let plan = plan(program, preset, &recording, host)?;
    Ok((recording, plan))
}

struct Found<S: Scheme> {
    /// Rows by the index of their configuration.
    rows: BTreeMap<usize, Row>,
    /// Those that fit and may yet be taken.
    candidates: Vec<(usize, Recording<S>, Plan)>,
}

impl<S: Scheme> Found<S> {
    fn take(&mut self, (at, way): (usize, Way), (recording, plan): (Recording<S>, Plan), budget: Budget) {
        let row = Row {
            way,
            keys: plan.keys.len(),
            key_bytes: plan.key_bytes,
            plaintext_bytes: plan.plaintext_bytes,
            peak_bytes: plan.peak_memory_bytes.predicted,
            counts: plan.counts,
            cost: plan.seconds_predicted,
        };
        if row.peak_bytes <= budget.most() {
            self.candidates.push((at, recording, plan));
            self.forget_others(budget);
        }
        self.rows.insert(at, row);
    }

    /// Keeps what is not much slower than the fastest so far, and of equals in memory the faster: recordings are large.
    fn forget_others(&mut self, budget: Budget) {
        let slack = if matches!(budget, Budget::Free(_)) { SLACK } else { 1.0 };
        self.candidates
            .sort_by(|(i, _, a), (j, _, b)| a.seconds_predicted.total_cmp(&b.seconds_predicted).then(i.cmp(j)));
        let fastest = self.candidates.first().map_or(0.0, |(_, _, plan)| plan.seconds_predicted);
        let mut least = u64::MAX;
        self.candidates.retain(|(_, _, plan)| {
            let bytes = plan.peak_memory_bytes.predicted;
            let smaller = bytes < least && (least == u64::MAX || plan.seconds_predicted <= slack * fastest);
            least = least.min(bytes);
            smaller
        });
        if slack <= 1.0 {
            self.candidates.truncate(1);
        }
    }
}

/// Records and plans a program in several configurations. Those that differ in the form of keys alone are one program:
/// a host thread takes them together. A recording stays on one thread, so that its result does not depend on the others.
/// A configuration after the first whose ciphertexts alone exceed the budget is not recorded and has no row.
pub fn survey<P: Program<Scheme: Piped>>(
    ways: &[Way],
    program: impl Fn(Way) -> P + Sync,
    preset: &str,
    host: &Calibration,
    budget: Budget,
) -> Result<Survey<P::Scheme>> {
    let found = Mutex::new(Found { rows: BTreeMap::new(), candidates: Vec::new() });
    let footprint = host.footprint();
    each_program(ways, host.threads, |same| {
        let program = program(ways[same[0]]);
        if same[0] > 0 && program.least_bytes() > budget.most() {
            return Ok(());
        }
        let forms = Forms::of(&program, &footprint)?;
        same.iter().try_for_each(|&at| {
            let planned = planned((&program, &forms), ways[at].keys, preset, host, budget)?;
            locked(&found).take((at, ways[at]), planned, budget);
            Ok(())
        })
    })?;
    let Found { rows, mut candidates } = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut chosen = candidates.pop().map(|(at, recording, plan)| (ways[at], recording, plan)); // the smallest
    let mut rows: Vec<Row> = rows.into_values().collect();
    sort(&mut rows);
    if let (Some((way, _, plan)), true) = (&mut chosen, ways.len() > 1) {
        let best = frontier(&rows);
        // Of each arrangement of samples its fastest stands there too, so that the plan says why it is not taken.
        let first = |row: &Row| rows.iter().find(|r| r.way.samples == row.way.samples) == Some(row);
        let listed = |row: &&Row| best.contains(row) || row.way == *way || (row.way.samples.is_some() && first(row));
        plan.choices = rows.iter().filter(listed).map(|r| r.choice(*way)).collect();
    }
    Ok(Survey { rows, chosen })
}

/// Surveys everything that the options of a workload leave open.
pub fn survey_prepared<S: Whole>(built: &Prepared<S>, host: &Calibration, budget: Budget) -> Result<Survey<S>> {
    survey(&built.ways, |way| built.program(way), &built.preset, host, budget)
}

/// Configurations by their place in a list, those together that differ in the form of keys alone.
fn programs(ways: &[Way]) -> Vec<Vec<usize>> {
    let of = |way: &Way| Way { keys: KeyForm::default(), ..*way };
    let mut programs: Vec<Vec<usize>> = Vec::new();
    for (at, way) in ways.iter().enumerate() {
        match programs.iter_mut().find(|same| of(&ways[same[0]]) == of(way)) {
            Some(same) => same.push(at),
            None => programs.push(vec![at]),
        }
    }
    programs
}

/// Does something with each program, on at most so many threads. Configurations come by their places in the list. After an
/// error no thread begins another program.
fn each_program(ways: &[Way], threads: usize, work: impl Fn(&[usize]) -> Result<()> + Sync) -> Result<()> {
    let (programs, next) = (programs(ways), AtomicUsize::new(0));
    let work = || -> Result<()> {
        while let Some(same) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
            work(same).inspect_err(|_| next.store(programs.len(), Ordering::Relaxed))?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads.min(programs.len())).map(|_| scope.spawn(work)).collect();
        let mut results = vec![work()];
        let join = |thread: ScopedJoinHandle<'_, _>| thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        results.extend(others.into_iter().map(join));
        results.into_iter().collect()
    })
}

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The fastest configuration of a program on a machine.
#[derive(Clone, Debug)]
pub struct Fastest {
    pub way: Way,
    pub graph: Arc<Graph>,
}

/// What a machine makes of a configuration.
struct Timed {
    /// Seconds, or why the machine cannot run it.
    seconds: std::result::Result<f64, MachineError>,
    at: usize,
    graph: Arc<Graph>,
}

impl Timed {
    /// Whether it is taken before another: what runs before what does not, the faster, the earlier in the list.
    fn is_before(&self, other: &Self) -> bool {
        let seconds = |timed: &Self| timed.seconds.as_ref().copied().unwrap_or(f64::INFINITY);
        let by_place = || self.at.cmp(&other.at);
        self.seconds
            .is_err()
            .cmp(&other.seconds.is_err())
            .then(seconds(self).total_cmp(&seconds(other)))
            .then_with(by_place)
            .is_lt()
    }
}

/// The fastest configuration on each machine. Each configuration is recorded once and timed on every machine, those with
/// different programs on different threads. A configuration that a machine cannot run is taken only if the machine can run
/// none.
///
/// # Panics
/// If there is no configuration.
pub fn fastest_on<P: Program<Scheme: Piped>>(
    ways: &[Way],
    program: impl Fn(Way) -> P + Sync,
    specs: &[Spec],
    footprint: &SharedFootprint,
) -> Result<Vec<Fastest>> {
    if let &[way] = ways {
        let graph = Forms::of(&program(way), footprint)?.graph(way.keys)?;
        return Ok(vec![Fastest { way, graph }; specs.len()]);
    }
    let best: Mutex<Vec<Option<Timed>>> = Mutex::new(specs.iter().map(|_| None).collect());
    each_program(ways, limbwise_apps::threads::offered(), |same| {
        let program = program(ways[same[0]]);
        let forms = Forms::of(&program, footprint)?;
        let mut known: Vec<Arc<Graph>> = Vec::new();
        for &at in same {
            let graph = forms.graph(ways[at].keys)?;
            // Keys from seeds make one graph, wherever they are kept: the first configuration with it stands for all.
            if known.iter().any(|other| Arc::ptr_eq(other, &graph)) {
                continue;
            }
            known.push(Arc::clone(&graph));
            for (place, spec) in specs.iter().enumerate() {
                let seconds = limbwise_machines::seconds(&graph, spec);
                let timed = Timed { seconds, at, graph: Arc::clone(&graph) };
                let best = &mut locked(&best)[place];
                if best.as_ref().is_none_or(|best| timed.is_before(best)) {
                    *best = Some(timed);
                }
            }
        }
        Ok(())
    })?;
    let best = best.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter();
    let taken = |found: Option<Timed>| {
        let Timed { seconds, at, graph } = found.expect("there is a way");
        Ok(seconds.map(|_| Fastest { way: ways[at], graph })?)
    };
    best.map(taken).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_keeps_something_spare() {
        for peak in [0, 1, 49, 97, 98, 99, 1000, 8_020_000_000, 1 << 60] {
            let limit = least_limit(peak);
            assert!(Budget::Asked(limit).most() >= peak, "{peak}");
            assert!(limit == 0 || Budget::Asked(limit - 1).most() < peak, "{peak}");
        }
        assert_eq!(Budget::Asked(8_000_000_000).most(), 7_840_000_000);
        assert_eq!(Budget::Free(100).most(), 100);
    }
}
