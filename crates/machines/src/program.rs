//! A program as tasks on units: what a scheduler places in time.

use limbwise_graph::NodeId;
use std::collections::BTreeMap;

/// A task, in program order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TaskId(pub u32);

impl TaskId {
    /// Position in program order.
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

/// One stage of a node's work on one unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Why it is there.
    pub kind: TaskKind,
    /// Index of its unit.
    pub unit: u8,
    /// Ticks for which the unit takes nothing else.
    pub occupancy: u64,
    /// Ticks from an input to its output.
    pub fill: u64,
    /// In how many equal parts operands are taken and results come out.
    pub parts: u32,
    /// Needs all of its operands before it starts.
    pub whole_input: bool,
}

/// A stage of a certain node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// The node for which it is done.
    pub node: NodeId,
    /// What it is.
    pub stage: Stage,
    /// Where its edges end in the shared array.
    edges_end: u32,
}

/// What a task waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// The output of a task.
    Output(TaskId),
    /// The start of a task: it lets go of room.
    Start(TaskId),
}

impl Edge {
    /// The task waited for.
    #[must_use]
    pub fn task(self) -> TaskId {
        match self {
            Self::Output(task) | Self::Start(task) => task,
        }
    }
}

/// A value in the scratchpad, from before node `from` to before node `to` in program order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Residency {
    /// The node that made the value.
    pub source: NodeId,
    /// First node that finds it there.
    pub from: u32,
    /// First node that does not.
    pub to: u32,
    /// Its size.
    pub bytes: u64,
}

/// Tasks, what they wait for, and what the lowering knows besides.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Names of the units.
    pub units: Vec<&'static str>,
    /// Length of a tick.
    pub tick_seconds: f64,
    /// Whether a unit may start on the first part of an operand.
    pub streaming: bool,
    /// Tasks in program order: a task waits for earlier ones only.
    pub tasks: Vec<Task>,
    edges: Vec<Edge>,
    /// Bytes moved to and from off-chip memory, by role; what the program keeps to its end is stored as a "result".
    pub off_chip_bytes: BTreeMap<&'static str, u64>,
    /// Who was in the scratchpad when; empty without one.
    pub residency: Vec<Residency>,
    /// Bytes that the scratchpad holds for values.
    pub capacity: u64,
}

impl Program {
    /// No tasks yet.
    #[must_use]
    pub fn new(units: Vec<&'static str>, tick_seconds: f64, streaming: bool) -> Self {
        Self { units, tick_seconds, streaming, ..Self::default() }
    }

    /// Adds a task.
    ///
    /// # Panics
    /// If there are 2^32 tasks or edges, or if an edge is to a later task.
    pub fn push(&mut self, node: NodeId, stage: Stage, edges: impl IntoIterator<Item = Edge>) -> TaskId {
        let id = TaskId(u32::try_from(self.tasks.len()).expect("fewer than 2^32 tasks"));
        self.edges.extend(edges);
        let edges_end = u32::try_from(self.edges.len()).expect("fewer than 2^32 edges");
        self.tasks.push(Task { node, stage, edges_end });
        assert!(self.edges(id).iter().all(|e| e.task() < id), "a task waits for earlier ones");
        id
    }

    /// What a task waits for.
    #[must_use]
    pub fn edges(&self, id: TaskId) -> &[Edge] {
        let start = id.index().checked_sub(1).map_or(0, |before| self.tasks[before].edges_end as usize);
        &self.edges[start..self.tasks[id.index()].edges_end as usize]
    }

    /// All edges.
    #[must_use]
    pub fn all_edges(&self) -> &[Edge] {
        &self.edges
    }

    /// The earliest start of a task as far as one edge goes, given when the task at its other end starts.
    ///
    /// With streaming, a task starts when the first part of its operand is out, but not so early that it would want the
    /// last part before that is out.
    #[must_use]
    pub fn release(&self, edge: Edge, start: u64, waiting: &Stage) -> u64 {
        let Edge::Output(task) = edge else { return start };
        let made = &self.tasks[task.index()].stage;
        let end = start.saturating_add(made.fill).saturating_add(made.occupancy);
        if !self.streaming || waiting.whole_input {
            return end;
        }
        let first = start.saturating_add(made.fill).saturating_add(part(made));
        first.max(end.saturating_sub(waiting.occupancy - part(waiting)))
    }
}

/// Ticks a part takes.
fn part(stage: &Stage) -> u64 {
    stage.occupancy.div_ceil(u64::from(stage.parts.max(1)))
}
