//! A timetable as a schedule of tasks, one unit a side and one a lane of the links: what reports, the HTML time line and
//! Chrome traces draw.

use super::{
    problem::{OperationId, Problem, TICK_SECONDS, ValueId},
    timetable::Timetable,
};
use crate::{
    program::{Edge, Program, Stage, TaskId, TaskKind},
    scheduler::Schedule,
};
use limbwise_graph::NodeId;

/// Names of the units that [`schedule`] makes: the sides, then the lanes of the links.
#[must_use]
pub fn units(problem: &Problem) -> Vec<&'static str> {
    problem.sides().iter().map(|side| side.name).chain(problem.lanes().iter().copied()).collect()
}

/// A task of the schedule before it has its number.
enum Item {
    Operation(OperationId),
    Transfer(usize),
}

/// The schedule of a timetable: an operation is a task on its side, of width 1 of its streams, and a transfer a task on
/// its lane ([`TaskKind::Load`] of what an operation wants, [`TaskKind::Store`] of results). Each keeps its start.
///
/// # Panics
/// If the timetable is not one of the problem.
#[must_use]
pub fn schedule(problem: &Problem, table: &Timetable) -> Schedule {
    let mut program = Program::new(units(problem), TICK_SECONDS, false);
    for (width, side) in program.widths.iter_mut().zip(problem.sides()) {
        *width = u64::from(side.streams);
    }
    let mut items: Vec<(u64, u64, Item)> = Vec::with_capacity(problem.len() + table.transfers.len());
    items.extend(problem.operations().map(|id| (table.start[id.index()], table.end[id.index()], Item::Operation(id))));
    items.extend(table.transfers.iter().enumerate().map(|(at, t)| (t.start, t.end, Item::Transfer(at))));
    // By start, then what ends first: an operation without length comes before what it feeds. The sort is stable.
    items.sort_by_key(|(start, end, _)| (*start, *end));
    let mut lanes = Lanes::new(problem, table, items.len());
    for (start, end, item) in items {
        lanes.push(&mut program, (start, end), &item);
    }
    Schedule::stated(program, lanes.start, lanes.bound_by)
}

/// What bounds each task so far.
struct Lanes<'a> {
    problem: &'a Problem,
    table: &'a Timetable,
    start: Vec<u64>,
    ends: Vec<u64>,
    bound_by: Vec<Option<TaskId>>,
    /// The task that makes each value at each side, and the last task of each stream and lane.
    brought_by: Vec<Option<TaskId>>,
    held_by: Vec<Vec<Option<TaskId>>>,
}

impl<'a> Lanes<'a> {
    fn new(problem: &'a Problem, table: &'a Timetable, tasks: usize) -> Self {
        let streams = problem.sides().iter().map(|side| side.streams as usize);
        Self {
            problem,
            table,
            start: Vec::with_capacity(tasks),
            ends: Vec::with_capacity(tasks),
            bound_by: Vec::with_capacity(tasks),
            brought_by: vec![None; problem.values().len() * problem.sides().len()],
            held_by: streams.chain(problem.lanes().iter().map(|_| 1)).map(|streams| vec![None; streams]).collect(),
        }
    }

    fn brought(&mut self, value: ValueId, side: usize) -> &mut Option<TaskId> {
        &mut self.brought_by[value.index() * self.problem.sides().len() + side]
    }

    fn push(&mut self, program: &mut Program, (start, end): (u64, u64), item: &Item) {
        let (problem, table) = (self.problem, self.table);
        let sides = problem.sides().len();
        let (node, kind, unit, stream) = match *item {
            Item::Operation(id) => {
                let node = problem.nodes(id).first().copied().unwrap_or(NodeId(0));
                (node, TaskKind::Compute, table.side[id.index()].index(), table.stream[id.index()] as usize)
            }
            Item::Transfer(at) => {
                let t = &table.transfers[at];
                let by = t.wanted_by.or(problem.value(t.value).maker);
                let node = by.and_then(|id| problem.nodes(id).first().copied()).unwrap_or(NodeId(0));
                let kind = if t.wanted_by.is_some() { TaskKind::Load } else { TaskKind::Store };
                (node, kind, sides + problem.lane(t.from, t.to), 0)
            }
        };
        let mut waits: Vec<TaskId> = match *item {
            Item::Operation(id) => problem.reads(id).iter().filter_map(|&value| *self.brought(value, unit)).collect(),
            Item::Transfer(at) => {
                let t = table.transfers[at];
                self.brought(t.value, t.from.index()).iter().copied().collect()
            }
        };
        waits.extend(self.held_by[unit][stream]);
        waits.sort_unstable();
        waits.dedup();
        let stage = Stage { whole_input: true, ..Stage::new(kind, u8::try_from(unit).unwrap_or(u8::MAX), end - start) };
        let task = program.push(node, stage, waits.iter().map(|&task| Edge::End(task)));
        self.bound_by.push(waits.into_iter().max_by_key(|task| self.ends[task.index()]));
        self.start.push(start);
        self.ends.push(end);
        self.held_by[unit][stream] = Some(task);
        match *item {
            Item::Operation(id) => {
                for &value in problem.makes(id) {
                    *self.brought(value, unit) = Some(task);
                }
            }
            Item::Transfer(at) => {
                let t = table.transfers[at];
                *self.brought(t.value, t.to.index()) = Some(task);
            }
        }
    }
}
