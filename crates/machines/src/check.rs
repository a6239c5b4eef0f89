//! Replays a schedule and proves it legal, from the graph and the machine, not from how the schedule was made.
//!
//! The edges by which the scheduler decided are not looked at. What an operation takes follows from the machine, what
//! it must wait for from the graph, where its operands are from the loads, stores and stays that the plan records; and
//! these must be right in time, whatever their order in the plan.

use crate::{
    lower::is_given,
    machine::Machine,
    phases::{self, Phases},
    program::{Edge, Order, Pool, Program, Residency, Stage, TaskId, TaskKind},
    scheduler::Schedule,
    scratchpad::OffChip,
    words::{for_each_read, rows, whole},
};
use limbwise_graph::{Basis, Graph, NodeId};
use std::collections::{BTreeMap, HashMap};

/// A rule that a schedule breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Violation {
    /// Units, widths, memory or rules are not those of the machine.
    #[error("the program is for another machine")]
    Machine,
    /// Tasks and starts do not match.
    #[error("{tasks} tasks have {starts} starts")]
    Count {
        /// Number of tasks.
        tasks: usize,
        /// Number of starts.
        starts: usize,
    },
    /// More of a unit or a shared bandwidth is taken than there is.
    #[error("at tick {tick}, with task {task:?}, {taken} of {whole} of {what} are taken")]
    Overlap {
        /// The unit or pool.
        what: &'static str,
        /// The task that exceeds it.
        task: TaskId,
        /// Tick of the start of `task`.
        tick: u64,
        /// Width in use.
        taken: u64,
        /// Width of the unit.
        whole: u64,
    },
    /// A task starts before what it waits for.
    #[error("task {task:?} starts at {start}, {waits_for:?} lets it start at {earliest}")]
    TooEarly {
        /// Task that starts too early.
        task: TaskId,
        /// Its start in ticks.
        start: u64,
        /// The task that it waits for.
        waits_for: TaskId,
        /// Earliest tick at which it may start.
        earliest: u64,
    },
    /// A task is not the one that its node, load or store takes.
    #[error("task {0:?} is not what the machine does there")]
    Altered(TaskId),
    /// A node has not all of its stages.
    #[error("node {0} is not scheduled, or not all of it")]
    Missing(u32),
    /// A task reads what is not on the chip, or was never made.
    #[error("task {task:?} reads limbs of value {value} that are not there")]
    NotThere {
        /// Task that reads.
        task: TaskId,
        /// Number of the value.
        value: u32,
    },
    /// A load of what was never stored, a store of what was never made, or a movement of no task.
    #[error("task {0:?} moves what is not there")]
    Unmatched(TaskId),
    /// A result is not stored.
    #[error("result {0} is not stored")]
    NotStored(u32),
    /// A stay on the chip that no task begins, of another size, or twice.
    #[error("value {0} is on the chip without a reason, in another size or twice")]
    Residency(u32),
    /// More in the scratchpad than it holds.
    #[error("at tick {tick} the scratchpad holds {bytes} of {capacity} bytes")]
    Capacity {
        /// Tick at which the scratchpad is over-full.
        tick: u64,
        /// Bytes in use.
        bytes: u64,
        /// Capacity of the scratchpad in bytes.
        capacity: u64,
    },
}

/// Checks that no unit and no bandwidth is taken twice, no value is read before it exists and where it is not, no room
/// is used while somebody reads what is in it, the scratchpad is never over-full, every load follows a store, every
/// result is stored, and every node has exactly the stages that the machine gives it.
///
/// # Errors
/// The first [`Violation`] found.
pub fn check<M: Machine + ?Sized>(graph: &Graph, machine: &M, schedule: &Schedule) -> Result<(), Violation> {
    let program = &schedule.program;
    let off_chip = machine.off_chip(graph);
    let same = program.units == machine.units()
        && program.pools == pools(machine, program)
        && (0..).zip(&program.widths).all(|(unit, &width)| width == machine.width(unit))
        && (program.streaming, program.order, program.phases)
            == (machine.streaming(), machine.order(), machine.phases())
        && program.capacity == off_chip.map_or(0, |m| m.capacity_bytes);
    if !same || program.widths.len() != program.units.len() {
        return Err(Violation::Machine);
    }
    let (tasks, starts) = (program.tasks.len(), schedule.start.len());
    if tasks != starts {
        return Err(Violation::Count { tasks, starts });
    }
    shares(schedule)?;
    let mut replay = Replay::new(graph, machine, schedule, off_chip)?;
    for id in program.ids() {
        replay.task(id)?;
    }
    if machine.phases() == Phases::Serial {
        replay.phases()?;
    }
    replay.finish()
}

/// The machine's bandwidths, less what the program sets aside for loads and stores.
fn pools<M: Machine + ?Sized>(machine: &M, program: &Program) -> Vec<Pool> {
    let mut own = Program::new(Vec::new(), 1.0, false);
    own.pools = machine.pools();
    if let Some((port, bytes)) = program.aside.filter(|(port, _)| machine.port() == Some(*port)) {
        own.set_aside(port, bytes);
    }
    own.pools
}

/// Something that takes a part of a whole from a tick until another.
struct Interval {
    from: u64,
    to: u64,
    part: u64,
    task: TaskId,
}

/// The first time at which the parts are more than the whole: tick, parts, and the last to come.
fn over(intervals: &[Interval], whole: u64) -> Option<(u64, u64, TaskId)> {
    let ends = intervals.iter().map(|i| (i.to, false, i.part, i.task));
    let starts = intervals.iter().map(|i| (i.from, true, i.part, i.task));
    let mut changes: Vec<(u64, bool, u64, TaskId)> = ends.chain(starts).collect();
    changes.sort_unstable();
    let mut taken = 0u64;
    changes.into_iter().find_map(|(tick, comes, part, task)| {
        taken = if comes { taken + part } else { taken - part };
        (taken > whole).then_some((tick, taken, task))
    })
}

fn shares(schedule: &Schedule) -> Result<(), Violation> {
    let program = &schedule.program;
    let intervals = |part: &dyn Fn(&Stage) -> u64| -> Vec<Interval> {
        let all = program.ids().zip(&program.tasks).zip(&schedule.start);
        let interval = |((task, t), &from): ((TaskId, &crate::Task), &u64)| {
            let to = from.saturating_add(t.stage.occupancy);
            Interval { from, to, part: part(&t.stage), task }
        };
        all.map(interval).filter(|i| i.to > i.from && i.part > 0).collect()
    };
    let known = |stage: &Stage| usize::from(stage.unit) < program.units.len();
    if let Some(id) = program.ids().find(|id| !known(&program.tasks[id.index()].stage)) {
        return Err(Violation::Altered(id));
    }
    for (unit, (&what, &whole)) in program.units.iter().zip(&program.widths).enumerate() {
        let taken = intervals(&|stage| if usize::from(stage.unit) == unit { stage.width } else { 0 });
        if let Some((tick, taken, task)) = over(&taken, whole) {
            return Err(Violation::Overlap { what, task, tick, taken, whole });
        }
    }
    for (at, pool) in program.pools.iter().enumerate() {
        if let Some((tick, taken, task)) = over(&intervals(&|stage| stage.draws[at]), pool.per_tick) {
            return Err(Violation::Overlap { what: pool.name, task, tick, taken, whole: pool.per_tick });
        }
    }
    Ok(())
}

/// State of the replay at a task of the plan.
struct Replay<'a, M: ?Sized> {
    graph: &'a Graph,
    machine: &'a M,
    costs: Box<dyn Fn(NodeId) -> Vec<Stage> + 'a>,
    schedule: &'a Schedule,
    off_chip: Option<OffChip>,
    /// The value that each node's name stands for.
    same_as: Vec<NodeId>,
    /// Stages of each node, those done, and the last of these.
    stages: Vec<usize>,
    done: Vec<usize>,
    made: Vec<Option<TaskId>>,
    stored: Vec<Option<TaskId>>,
    movements: std::slice::Iter<'a, crate::program::Movement>,
    /// The stays of each value, by number; and until when each is read.
    stays: HashMap<NodeId, Vec<usize>>,
    read_until: Vec<u64>,
    last_start: u64,
}

impl<'a, M: Machine + ?Sized> Replay<'a, M> {
    fn new(
        graph: &'a Graph,
        machine: &'a M,
        schedule: &'a Schedule,
        off_chip: Option<OffChip>,
    ) -> Result<Self, Violation> {
        let count = graph.nodes().len();
        let mut replay = Self {
            graph,
            machine,
            costs: machine.costs(graph),
            schedule,
            off_chip,
            same_as: graph.ids().collect(),
            stages: vec![0; count],
            done: vec![0; count],
            made: vec![None; count],
            stored: vec![None; count],
            movements: schedule.program.movements.iter(),
            stays: HashMap::new(),
            read_until: vec![0; schedule.program.residency.len()],
            last_start: 0,
        };
        for id in graph.ids().filter(|&id| !graph.node(id).op().is_view()) {
            if !is_given(graph.node(id).op(), off_chip.is_some()) {
                replay.stages[id.index()] = (replay.costs)(id).len();
                if let (0, Some(&(value, _))) = (replay.stages[id.index()], replay.reads(id).first()) {
                    replay.same_as[id.index()] = value;
                }
            }
        }
        for (number, stay) in schedule.program.residency.iter().enumerate() {
            replay.stay(number, stay)?;
        }
        Ok(replay)
    }

    /// Values that a node reads, and which of their limbs.
    fn reads(&self, id: NodeId) -> Vec<(NodeId, Basis)> {
        let mut reads = Vec::new();
        for &operand in self.graph.operands(id) {
            for_each_read(self.graph, operand, |value, basis| reads.push((self.same_as[value.index()], basis)));
        }
        reads
    }

    fn bytes(&self, value: NodeId, basis: Basis) -> u64 {
        self.machine.words().of_value(self.graph, value, basis)
    }

    /// A stay begins with the load of its limbs or the operation that makes the value, and is the only one of these
    /// limbs until it ends.
    fn stay(&mut self, number: usize, stay: &Residency) -> Result<(), Violation> {
        let wrong = Violation::Residency(stay.source.0);
        let program = &self.schedule.program;
        let Some(task) = program.tasks.get(stay.from.index()) else { return Err(wrong) };
        let brought = match task.stage.kind {
            TaskKind::Load => {
                let at = program.movements.binary_search_by_key(&stay.from, |m| m.task);
                at.is_ok_and(|at| {
                    let moved = program.movements[at];
                    (moved.source, moved.basis) == (stay.source, stay.basis)
                })
            }
            TaskKind::Store => false,
            TaskKind::Compute | TaskKind::Redistribute => {
                task.node == stay.source && stay.basis == whole(self.graph, stay.source)
            }
        };
        let others = self.stays.entry(stay.source).or_default();
        let alone = others
            .iter()
            .map(|&other| &program.residency[other])
            .all(|other| other.until <= stay.from || stay.until <= other.from || other.basis.is_disjoint(stay.basis));
        others.push(number);
        let (until, tasks) = (stay.until.index(), program.tasks.len());
        let ends = until <= tasks && stay.from < stay.until && !(stay.overwritten && until == tasks);
        if !brought || !alone || !ends || stay.bytes != self.bytes(stay.source, stay.basis) {
            return Err(wrong);
        }
        Ok(())
    }

    /// One edge of a task: an error if the task starts before it lets it.
    fn after(&self, id: TaskId, edge: Edge) -> Result<(), Violation> {
        let Some(waits_for) = edge.task() else { return Ok(()) };
        let program = &self.schedule.program;
        let start = self.schedule.start[id.index()];
        let there = self.schedule.start[waits_for.index()];
        let earliest = program.release(edge, there, Some(&program.tasks[id.index()].stage));
        if start < earliest { Err(Violation::TooEarly { task: id, start, waits_for, earliest }) } else { Ok(()) }
    }

    fn task(&mut self, id: TaskId) -> Result<(), Violation> {
        let task = self.schedule.program.tasks[id.index()];
        match task.stage.kind {
            TaskKind::Load | TaskKind::Store => self.movement(id, &task.stage),
            TaskKind::Compute | TaskKind::Redistribute => self.stage(id, task.node, &task.stage),
        }
    }

    fn movement(&mut self, id: TaskId, stage: &Stage) -> Result<(), Violation> {
        let (Some(moved), Some(off_chip)) = (self.movements.next().copied(), self.off_chip) else {
            return Err(Violation::Unmatched(id));
        };
        let value = moved.source;
        if moved.task != id || !moved.basis.is_subset(whole(self.graph, value)) {
            return Err(Violation::Unmatched(id));
        }
        let (bytes, limbs) = (self.bytes(value, moved.basis), rows(self.graph, value, moved.basis));
        let bytes = if stage.kind == TaskKind::Load { off_chip.brought(self.graph, value, bytes) } else { bytes };
        if *stage != off_chip.transfer(stage.kind, bytes, limbs) {
            return Err(Violation::Altered(id));
        }
        let is_input = self.graph.node(value).op().is_input();
        if stage.kind == TaskKind::Load {
            let begins = |&number: &usize| self.schedule.program.residency[number].from == id;
            if !self.stays.get(&value).is_some_and(|stays| stays.iter().any(begins)) {
                return Err(Violation::Residency(value.0));
            }
            return match self.stored[value.index()] {
                Some(store) => self.after(id, Edge::Output(store)),
                None if is_input => Ok(()),
                None => Err(Violation::Unmatched(id)),
            };
        }
        if is_input || moved.basis != whole(self.graph, value) {
            return Err(Violation::Unmatched(id));
        }
        self.read(id, value, moved.basis)?;
        self.stored[value.index()] = Some(id);
        Ok(())
    }

    fn stage(&mut self, id: TaskId, node: NodeId, stage: &Stage) -> Result<(), Violation> {
        let done = self.done[node.index()];
        if self.stages[node.index()] <= done || (self.costs)(node)[done].within(&self.schedule.program.pools) != *stage
        {
            return Err(Violation::Altered(id));
        }
        let start = self.schedule.start[id.index()];
        if self.schedule.program.order == Order::InOrder && start < self.last_start {
            let (waits_for, earliest) = (TaskId(id.0 - 1), self.last_start);
            return Err(Violation::TooEarly { task: id, start, waits_for, earliest });
        }
        self.last_start = start;
        match self.made[node.index()] {
            Some(before) => self.after(id, Edge::Output(before))?,
            None => {
                for (value, basis) in self.reads(node) {
                    self.read(id, value, basis)?;
                }
            }
        }
        (self.made[node.index()], self.done[node.index()]) = (Some(id), done + 1);
        Ok(())
    }

    /// A task takes limbs of a value: they are made, they are there, and nobody has overwritten them.
    fn read(&mut self, id: TaskId, value: NodeId, basis: Basis) -> Result<(), Violation> {
        let missing = Violation::NotThere { task: id, value: value.0 };
        let given = is_given(self.graph.node(value).op(), self.off_chip.is_some());
        if !given && self.done[value.index()] < self.stages[value.index()] {
            return Err(missing);
        }
        if self.off_chip.is_none() {
            return self.made[value.index()].map_or(Ok(()), |made| self.after(id, Edge::Output(made)));
        }
        let stays = self.stays.get(&value).cloned().unwrap_or_default();
        let mut wanted = basis;
        for number in stays {
            let stay = self.schedule.program.residency[number];
            let found = stay.from < id && (id < stay.until || (id == stay.until && stay.overwritten));
            if !found || stay.basis.is_disjoint(basis) {
                continue;
            }
            let loaded = self.schedule.program.tasks[stay.from.index()].stage.kind == TaskKind::Load;
            let brought = if loaded { Some(stay.from) } else { self.made[value.index()] };
            brought.map_or(Ok(()), |task| self.after(id, Edge::Output(task)))?;
            if id < stay.until {
                let stage = &self.schedule.program.tasks[id.index()].stage;
                let taken = self.schedule.start[id.index()].saturating_add(stage.occupancy);
                self.read_until[number] = self.read_until[number].max(taken);
            }
            wanted = wanted - stay.basis;
        }
        if wanted.is_empty() { Ok(()) } else { Err(missing) }
    }

    /// No function of a key switch starts before all of the phase before have ended.
    fn phases(&self) -> Result<(), Violation> {
        let is_work = |id: &NodeId| self.stages[id.index()] > 0;
        let nodes: Vec<NodeId> = self.graph.ids().filter(is_work).collect();
        let reads = |id, found: &mut dyn FnMut(NodeId)| self.reads(id).iter().for_each(|(value, _)| found(*value));
        let (places, _) = phases::places(self.graph, &nodes, reads);
        let mut phases: BTreeMap<(NodeId, u32), [Option<TaskId>; 2]> = BTreeMap::new();
        for (id, task) in self.schedule.program.ids().zip(&self.schedule.program.tasks) {
            let is_work = matches!(task.stage.kind, TaskKind::Compute | TaskKind::Redistribute);
            let Some(place) = places[task.node.index()].filter(|_| is_work) else { continue };
            let [first, last] = phases.entry((place.of, place.depth)).or_default();
            let start = |id: &TaskId| self.schedule.start[id.index()];
            *first = (*first).into_iter().chain([id]).min_by_key(start);
            *last = (*last).into_iter().chain([id]).max_by_key(|id| self.schedule.end(*id));
        }
        for (&(of, depth), &[first, _]) in &phases {
            let before = depth.checked_sub(1).and_then(|depth| phases.get(&(of, depth)));
            if let (Some(first), Some(&[_, Some(last)])) = (first, before) {
                self.after(first, Edge::End(last))?;
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<(), Violation> {
        if let Some(left) = self.movements.next() {
            return Err(Violation::Unmatched(left.task));
        }
        for id in self.graph.ids() {
            if self.done[id.index()] != self.stages[id.index()] {
                return Err(Violation::Missing(id.0));
            }
            if self.off_chip.is_some() && self.graph.node(id).freed_before().is_none() {
                let mut lost = None;
                self.graph.for_each_piece(id, |piece| {
                    let value = self.same_as[piece.source.index()];
                    let kept = self.graph.node(value).op().is_input() || self.stored[value.index()].is_some();
                    lost = lost.or((!kept).then_some(value.0));
                });
                lost.map_or(Ok(()), |value| Err(Violation::NotStored(value)))?;
            }
        }
        let mut intervals = Vec::with_capacity(self.read_until.len());
        for (stay, &read_until) in self.schedule.program.residency.iter().zip(&self.read_until) {
            let from = self.schedule.start[stay.from.index()];
            let to = if read_until == 0 { self.schedule.end(stay.from) } else { read_until };
            let handed_over = stay.overwritten.then(|| self.schedule.start[stay.until.index()]);
            if let Some(start) = handed_over.filter(|&start| start < read_until) {
                let (task, waits_for) = (stay.until, stay.from);
                return Err(Violation::TooEarly { task, start, waits_for, earliest: read_until });
            }
            intervals.push(Interval { from, to: handed_over.unwrap_or(to), part: stay.bytes, task: stay.from });
        }
        let capacity = self.schedule.program.capacity;
        let (tick, bytes) = match over(&intervals, capacity) {
            None => return Ok(()),
            Some((tick, bytes, _)) => (tick, bytes),
        };
        Err(Violation::Capacity { tick, bytes, capacity })
    }
}
