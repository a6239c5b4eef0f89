//! A program as tasks on units: what a scheduler places in time.

use crate::{phases::Phases, report::as_f64};
use limbwise_graph::{Basis, NodeId};
use std::collections::BTreeMap;

/// A task; the order of tasks is that of the plan, in which room is given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TaskId(pub u32);

impl TaskId {
    /// Position in the plan.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Why a task is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskKind {
    /// The operation of its node.
    Compute,
    /// Its operand is distributed in another way.
    Redistribute,
    /// An operand comes from off-chip memory.
    Load,
    /// A value goes to off-chip memory.
    Store,
}

/// The order in which tasks may start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Whatever may start, the first of the plan first.
    #[default]
    List,
    /// No operation starts before the one before it in the plan; loads and stores run beside them, in their own order.
    InOrder,
}

/// A bandwidth that tasks on different units share: each takes its part for as long as it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Its name in reports.
    pub name: &'static str,
    /// What passes in a tick for all tasks together, in grains.
    pub per_tick: u64,
}

/// Grains of a byte. Bandwidths and draws are counted in these: few of them are whole bytes a tick.
pub const GRAINS: u64 = 1 << 32;

impl Pool {
    /// A pool that passes so many bytes a tick.
    #[must_use]
    pub fn new(name: &'static str, bytes_per_tick: f64) -> Self {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, and saturates")]
        let per_tick = (bytes_per_tick * as_f64(GRAINS)).round() as u64;
        Self { name, per_tick: per_tick.max(1) }
    }

    /// Bytes that pass in a tick.
    #[must_use]
    pub fn bytes_per_tick(&self) -> f64 {
        as_f64(self.per_tick) / as_f64(GRAINS)
    }

    /// Ticks in which so many bytes pass.
    fn ticks(&self, bytes: u64) -> u64 {
        in_parts(bytes, self.per_tick)
    }
}

/// Grains of some bytes in equal parts, or the number of parts of a size: rounded up.
fn in_parts(bytes: u64, parts: u64) -> u64 {
    match bytes.checked_mul(GRAINS) {
        Some(grains) => grains.div_ceil(parts),
        None => {
            let grains = u128::from(bytes) * u128::from(GRAINS);
            u64::try_from(grains.div_ceil(u128::from(parts))).unwrap_or(u64::MAX)
        }
    }
}

/// Most pools of a machine.
pub const POOLS: usize = 3;

/// One stage of a node's work on one unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Why it is there.
    pub kind: TaskKind,
    /// Index of its unit.
    pub unit: u8,
    /// Its part of the unit's width.
    pub width: u64,
    /// Ticks for which it holds that.
    pub occupancy: u64,
    /// Ticks from an input to its output.
    pub fill: u64,
    /// Number of equal parts in which operands are taken and results come out.
    pub parts: u32,
    /// Needs all of its operands before it starts.
    pub whole_input: bool,
    /// Grains a tick that it takes from each pool.
    pub draws: [u64; POOLS],
}

impl Stage {
    /// A stage that takes a unit of width 1, in one part.
    #[must_use]
    pub fn new(kind: TaskKind, unit: u8, occupancy: u64) -> Self {
        Self { kind, unit, width: 1, occupancy, fill: 0, parts: 1, whole_input: false, draws: [0; POOLS] }
    }

    /// The stage with bytes that pass through pools while it runs. Where a pool is too slow for that, it runs longer.
    ///
    /// # Panics
    /// If there are fewer pools than entries.
    #[must_use]
    pub fn drawing(mut self, pools: &[Pool], bytes: &[u64]) -> Self {
        let slowest = pools.iter().zip(bytes).map(|(pool, &bytes)| pool.ticks(bytes)).max();
        self.occupancy = self.occupancy.max(slowest.unwrap_or(0));
        for (i, &bytes) in bytes.iter().enumerate() {
            self.draws[i] = in_parts(bytes, self.occupancy.max(1)).min(pools[i].per_tick);
        }
        self
    }

    /// The stage where of what it draws from pools less is left: with the same bytes it runs longer, or not.
    #[must_use]
    pub fn within(self, pools: &[Pool]) -> Self {
        if pools.iter().zip(self.draws).all(|(pool, draw)| draw <= pool.per_tick) {
            return self;
        }
        let bytes: [u64; POOLS] = std::array::from_fn(|pool| self.drawn_bytes(pool));
        self.drawing(pools, &bytes[..pools.len()])
    }

    /// Bytes that it takes from a pool: those that were asked for, as long as it runs for fewer than 2^32 ticks.
    #[must_use]
    pub fn drawn_bytes(&self, pool: usize) -> u64 {
        let grains = u128::from(self.draws[pool]) * u128::from(self.occupancy);
        u64::try_from(grains / u128::from(GRAINS)).unwrap_or(u64::MAX)
    }
}

/// A stage of a certain node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// The node for which it is done.
    pub node: NodeId,
    /// Its stage.
    pub stage: Stage,
    /// End of its edges in the shared array.
    edges_end: u32,
}

/// A condition that a task or a gate waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// The output of a task.
    Output(TaskId),
    /// The end of a task: all of its output is out, whether or not units start on parts.
    End(TaskId),
    /// The start of a task.
    Start(TaskId),
    /// A task has taken all of its operands: their room may be used again.
    Taken(TaskId),
    /// A gate.
    Gate(u32),
}

/// Limbs that a load or a store moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Movement {
    /// The load or store.
    pub task: TaskId,
    /// The node that made the value.
    pub source: NodeId,
    /// The limbs.
    pub basis: Basis,
}

/// Limbs of a value in the scratchpad, from the start of a task until the tasks before another have taken them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Residency {
    /// The node that made the value.
    pub source: NodeId,
    /// The limbs.
    pub basis: Basis,
    /// Their size.
    pub bytes: u64,
    /// The task that brings them: their room is taken when it starts.
    pub from: TaskId,
    /// The first task that does not find them there.
    pub until: TaskId,
    /// That task takes their room for its result: it starts when all tasks before it have taken them.
    pub overwritten: bool,
}

/// Tasks, what they wait for, and what the lowering knows besides.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Names of the units.
    pub units: Vec<&'static str>,
    /// Width of each unit.
    pub widths: Vec<u64>,
    /// Shared bandwidths, less what is set aside of them.
    pub pools: Vec<Pool>,
    /// The pool that loads and stores pass as well, and the grains a tick of it that are set aside for them.
    pub aside: Option<(usize, u64)>,
    /// Length of a tick.
    pub tick_seconds: f64,
    /// Whether a unit may start on the first part of an operand.
    pub streaming: bool,
    /// The order in which tasks may start.
    pub order: Order,
    /// Whether functions of one key switch overlap.
    pub phases: Phases,
    /// Tasks in the order of the plan: a task waits for earlier ones only.
    pub tasks: Vec<Task>,
    edges: Vec<Edge>,
    /// End of each gate's edges; a gate also waits for the one before it.
    gate_ends: Vec<u32>,
    gate_edges: Vec<Edge>,
    /// Limbs that loads and stores move, by task.
    pub movements: Vec<Movement>,
    /// Bytes moved to and from off-chip memory, by role; what the program keeps to its end is stored as a "result".
    pub off_chip_bytes: BTreeMap<&'static str, u64>,
    /// Residents of the scratchpad; empty without one.
    pub residency: Vec<Residency>,
    /// Bytes that the scratchpad holds.
    pub capacity: u64,
}

impl Program {
    /// No tasks yet.
    #[must_use]
    pub fn new(units: Vec<&'static str>, tick_seconds: f64, streaming: bool) -> Self {
        let widths = vec![1; units.len()];
        Self { units, widths, tick_seconds, streaming, ..Self::default() }
    }

    /// Room for so many tasks with so many operands.
    pub(crate) fn reserve(&mut self, tasks: usize, operands: usize) {
        self.tasks.reserve(tasks);
        self.edges.reserve(tasks + 2 * operands);
    }

    /// Sets grains a tick of a pool aside for loads and stores: stages that draw more than is left run longer.
    pub(crate) fn set_aside(&mut self, port: usize, grains: u64) {
        if let Some(pool) = self.pools.get_mut(port) {
            pool.per_tick = pool.per_tick.saturating_sub(grains).max(1);
            self.aside = Some((port, grains));
        }
        let pools = &self.pools;
        self.tasks.iter_mut().for_each(|task| task.stage = task.stage.within(pools));
    }

    /// Grains a tick that are set aside of a pool.
    #[must_use]
    pub fn aside_of(&self, pool: usize) -> u64 {
        self.aside.filter(|(port, _)| *port == pool).map_or(0, |(_, grains)| grains)
    }

    /// Adds a task.
    ///
    /// # Panics
    /// If there are 2^32 tasks or edges, or if an edge is to a later task.
    pub fn push(&mut self, node: NodeId, stage: Stage, edges: impl IntoIterator<Item = Edge>) -> TaskId {
        let id = self.next_task();
        self.edges.extend(edges);
        self.tasks.push(Task { node, stage, edges_end: count(self.edges.len()) });
        assert!(self.edges(id).iter().all(|e| e.task().is_none_or(|t| t < id)), "a task waits for earlier ones");
        id
    }

    /// Adds a gate, which opens when the one before is open and what it waits for has happened.
    ///
    /// # Panics
    /// If there are 2^32 gates or edges.
    pub fn push_gate(&mut self, edges: impl IntoIterator<Item = Edge>) -> Edge {
        let gate = count(self.gate_ends.len());
        self.gate_edges.extend(edges);
        self.gate_ends.push(count(self.gate_edges.len()));
        Edge::Gate(gate)
    }

    /// The task that is added next.
    ///
    /// # Panics
    /// If there are 2^32 tasks.
    #[must_use]
    pub fn next_task(&self) -> TaskId {
        TaskId(count(self.tasks.len()))
    }

    /// All tasks by name.
    pub fn ids(&self) -> impl Iterator<Item = TaskId> + use<> {
        (0..count(self.tasks.len())).map(TaskId)
    }

    /// Edges of a task.
    #[inline]
    #[must_use]
    pub fn edges(&self, id: TaskId) -> &[Edge] {
        let start = id.index().checked_sub(1).map_or(0, |before| self.tasks[before].edges_end as usize);
        &self.edges[start..self.tasks[id.index()].edges_end as usize]
    }

    /// Number of gates.
    #[must_use]
    pub fn gates(&self) -> usize {
        self.gate_ends.len()
    }

    /// Edges of a gate, besides the one to the gate before it.
    #[must_use]
    pub fn gate_edges(&self, gate: usize) -> &[Edge] {
        let start = gate.checked_sub(1).map_or(0, |before| self.gate_ends[before] as usize);
        &self.gate_edges[start..self.gate_ends[gate] as usize]
    }

    /// The earliest start of a task as far as one edge goes, given when the task at its other end starts (or when the
    /// gate opens). `None` stands for a gate that waits.
    ///
    /// With streaming, a task starts when the first part of its operand is out, but not so early that it would want the
    /// last part before that is out.
    #[must_use]
    pub fn release(&self, edge: Edge, start: u64, waiting: Option<&Stage>) -> u64 {
        let Some(task) = edge.task() else { return start };
        self.begun(task, start).release(edge, waiting.map_or(0, |stage| self.lead(stage)))
    }

    /// What happens to a task that starts at a tick.
    #[inline]
    pub(crate) fn begun(&self, task: TaskId, start: u64) -> Begun {
        let stage = &self.tasks[task.index()].stage;
        let out = start.saturating_add(stage.fill);
        Begun {
            start,
            taken: start.saturating_add(stage.occupancy),
            first: if self.streaming { out.saturating_add(part(stage)) } else { 0 },
            end: out.saturating_add(stage.occupancy),
        }
    }

    /// How long before the end of an operand's output a task may start: 0 where it waits for all of it.
    #[inline]
    pub(crate) fn lead(&self, stage: &Stage) -> u64 {
        if self.streaming && !stage.whole_input { stage.occupancy - part(stage) } else { 0 }
    }
}

/// When what others wait for happens to a task.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begun {
    start: u64,
    /// All operands are taken, and the unit is free.
    pub(crate) taken: u64,
    /// The first part of the output is out; without streaming, units do not ask.
    first: u64,
    /// All of the output is out.
    end: u64,
}

impl Begun {
    /// The earliest start of what waits by an edge, with its [lead](Program::lead).
    #[inline]
    pub(crate) fn release(self, edge: Edge, lead: u64) -> u64 {
        match edge {
            Edge::Start(_) | Edge::Gate(_) => self.start,
            Edge::Taken(_) => self.taken,
            Edge::End(_) => self.end,
            Edge::Output(_) => self.first.max(self.end.saturating_sub(lead)),
        }
    }
}

impl Edge {
    /// The task waited for, if it is one.
    #[must_use]
    pub fn task(self) -> Option<TaskId> {
        match self {
            Self::Output(task) | Self::End(task) | Self::Start(task) | Self::Taken(task) => Some(task),
            Self::Gate(_) => None,
        }
    }
}

/// Ticks a part takes.
fn part(stage: &Stage) -> u64 {
    stage.occupancy.div_ceil(u64::from(stage.parts.max(1)))
}

/// A length as a 32-bit index.
fn count(len: usize) -> u32 {
    u32::try_from(len).expect("fewer than 2^32 tasks, edges and gates")
}
