//! A program in time: its bootstrappings in rounds of as many as are in flight, and what lies between on the device.
//!
//! The next round begins when the one before has ended. The first round of each kind is drawn operation by operation; the
//! others are drawn by operator, because a network of twenty layers has millions of operations. What is counted is
//! counted of all.

use super::{
    Fhex,
    operators::{Kind, Part, Run, Work, parts},
    place::{DEVICE, Group, HEU},
};
use crate::{
    error::MachineError,
    machine::traffic::moved_bytes,
    offload::lanes,
    program::{Edge, Program, Stage, TaskId, TaskKind},
    report::as_f64,
    scheduler::Schedule,
};
use limbwise_graph::{Graph, NodeId};
use std::{collections::BTreeMap, sync::Arc};

/// Most tasks that are drawn one by one.
const MOST_DRAWN: usize = 400_000;
/// A picosecond.
pub(super) const TICK_SECONDS: f64 = crate::offload::problem::TICK_SECONDS;

/// What a program does, in all its rounds.
#[derive(Clone, Debug, Default)]
pub(super) struct Totals {
    /// Operations and ticks by operator and side.
    pub(super) operations: BTreeMap<(Kind, usize), (u64, u64)>,
    /// Work of each operator.
    pub(super) work: BTreeMap<Kind, Vec<(Work, u64)>>,
    /// Bytes over the link, there and back.
    pub(super) link_bytes: [u64; 2],
    /// Bytes of the stack: keys, values.
    pub(super) stack_bytes: [f64; 2],
    /// Operations outside of bootstrapping, and their ticks.
    pub(super) rest: (u64, u64),
    pub(super) bootstrappings: u64,
    pub(super) rounds: u64,
    /// Most ciphertexts that were in flight together.
    pub(super) in_flight: u64,
    /// Ticks of a round of so many, and of one bootstrapping alone.
    pub(super) round_ticks: u64,
    pub(super) alone_ticks: u64,
    /// Bytes of the values of all ciphertexts in flight.
    pub(super) live_bytes: f64,
}

/// A program in time.
pub(super) struct Flow {
    pub(super) schedule: Schedule,
    pub(super) totals: Totals,
}

/// A program while it is put in time.
struct Walk<'a> {
    machine: &'a Fhex,
    graph: &'a Graph,
    program: Program,
    start: Vec<u64>,
    bound_by: Vec<Option<TaskId>>,
    now: u64,
    /// The task after which the next part begins.
    last: Option<TaskId>,
    totals: Totals,
    /// Groups that were drawn.
    drawn: Vec<Arc<Group>>,
}

/// Puts a program in time.
///
/// # Errors
/// [`MachineError::Offload`], or where the mapping does not fit a polynomial of the program.
pub(super) fn flow(machine: &Fhex, graph: &Graph) -> Result<Flow, MachineError> {
    let mut program = Program::new(machine.numbers.units().to_vec(), TICK_SECONDS, false);
    for (unit, width) in (0..).zip(&mut program.widths) {
        *width = machine.numbers.width(unit);
    }
    let (start, bound_by, drawn) = (Vec::new(), Vec::new(), Vec::new());
    let mut walk =
        Walk { machine, graph, program, start, bound_by, now: 0, last: None, totals: Totals::default(), drawn };
    for part in parts(graph, machine.numbers.words()) {
        match part {
            Part::Run(run) => walk.run(&run)?,
            Part::Rest(nodes) => walk.rest(&nodes),
        }
    }
    let schedule = Schedule::stated(walk.program, walk.start, walk.bound_by);
    Ok(Flow { schedule, totals: walk.totals })
}

impl Walk<'_> {
    fn push(&mut self, node: NodeId, unit: usize, kind: TaskKind, (start, ticks): (u64, u64), by: Option<TaskId>) {
        let unit = u8::try_from(unit).unwrap_or(u8::MAX);
        let stage = Stage { whole_input: true, ..Stage::new(kind, unit, ticks) };
        self.program.push(node, stage, by.map(Edge::End));
        self.start.push(start);
        self.bound_by.push(by);
    }

    /// Operations outside of bootstrapping, on the device one after another.
    fn rest(&mut self, nodes: &[NodeId]) {
        let seconds: f64 = nodes.iter().map(|&id| rest_seconds(self.machine, self.graph, id)).sum();
        let ticks = crate::dram::ticks(seconds / TICK_SECONDS);
        let task = self.program.next_task();
        self.push(nodes[0], DEVICE.index(), TaskKind::Compute, (self.now, ticks), self.last);
        self.last = Some(task);
        self.now += ticks;
        self.totals.rest.0 += nodes.len() as u64;
        self.totals.rest.1 += ticks;
    }

    fn run(&mut self, run: &Run) -> Result<(), MachineError> {
        self.machine.fits(run)?;
        let in_flight = self.machine.numbers.policy.batch.min(run.entries);
        let group = self.machine.group(self.graph, run, in_flight)?;
        for _ in 0..run.entries / in_flight {
            self.round(run, &group);
        }
        let left = run.entries % in_flight;
        if left > 0 {
            let rest = self.machine.rest_of(self.graph, run, &group, left)?;
            self.round(run, &rest);
        }
        let totals = &mut self.totals;
        totals.bootstrappings += run.entries;
        if in_flight > totals.in_flight {
            totals.in_flight = in_flight;
            totals.round_ticks = group.table.makespan;
            totals.live_bytes = run.chain.live_words() * as_f64(in_flight) * self.machine.numbers.word_bytes();
            totals.alone_ticks = self.machine.group(self.graph, run, 1)?.table.makespan;
        }
        for step in &run.chain.steps {
            let known = totals.work.entry(step.kind).or_default();
            match known.iter_mut().find(|(work, _)| *work == step.work) {
                Some((_, times)) => *times += run.entries,
                None => known.push((step.work, run.entries)),
            }
        }
        Ok(())
    }

    fn round(&mut self, run: &Run, group: &Arc<Group>) {
        self.count(run, group);
        let is_drawn = self.drawn.iter().any(|known| Arc::ptr_eq(known, group));
        let tasks = group.problem.len() + group.table.transfers.len();
        if !is_drawn && self.program.tasks.len() + tasks <= MOST_DRAWN {
            self.draw(group);
            self.drawn.push(group.clone());
        } else {
            self.sketch(run, group);
        }
        self.now += group.table.makespan;
        self.totals.rounds += 1;
    }

    fn count(&mut self, run: &Run, group: &Group) {
        let (copies, table) = (usize::try_from(group.copies).unwrap_or(1), &group.table);
        let flight = self.machine.numbers.flight(&run.chain, group.copies);
        for (at, side) in table.side.iter().enumerate() {
            let step = &run.chain.steps[at / copies];
            let entry = self.totals.operations.entry((step.kind, side.index())).or_default();
            entry.0 += 1;
            entry.1 += table.end[at] - table.start[at];
            if *side == HEU {
                let all = self.machine.numbers.stack_bytes(&step.work, flight);
                let keys = step.work.key_words * self.machine.numbers.word_bytes();
                self.totals.stack_bytes[0] += keys;
                self.totals.stack_bytes[1] += all - keys;
            }
        }
        for transfer in &table.transfers {
            let bytes = group.problem.value(transfer.value).bytes;
            self.totals.link_bytes[usize::from(transfer.to == DEVICE)] += bytes;
        }
    }

    /// A round operation by operation.
    fn draw(&mut self, group: &Group) {
        let schedule = lanes::schedule(&group.problem, &group.table);
        let before = self.program.next_task().0;
        let shifted = |task: TaskId| TaskId(task.0 + before);
        let mut ends_last: Option<(u64, TaskId)> = None;
        for id in schedule.program.ids() {
            let task = schedule.program.tasks[id.index()];
            let waits: Vec<TaskId> = schedule.program.edges(id).iter().filter_map(|edge| edge.task()).collect();
            let bound = waits.iter().copied().max_by_key(|&task| schedule.end(task)).map(shifted).or(self.last);
            self.program.push(task.node, task.stage, waits.into_iter().map(|task| Edge::End(shifted(task))));
            self.start.push(self.now + schedule.start[id.index()]);
            self.bound_by.push(bound);
            let end = schedule.end(id);
            if ends_last.is_none_or(|(last, _)| end >= last) {
                ends_last = Some((end, shifted(id)));
            }
        }
        self.last = ends_last.map(|(_, task)| task).or(self.last);
    }

    /// A round by operator: each unit from the round's start for as long as it works.
    fn sketch(&mut self, run: &Run, group: &Group) {
        let copies = usize::try_from(group.copies).unwrap_or(1);
        let mut ticks: BTreeMap<(usize, Kind), u64> = BTreeMap::new();
        for (at, side) in group.table.side.iter().enumerate() {
            let kind = run.chain.steps[at / copies].kind;
            *ticks.entry((side.index(), kind)).or_default() += group.table.end[at] - group.table.start[at];
        }
        let node_of = |kind: Kind| run.chain.steps.iter().position(|s| s.kind == kind).map(|at| run.first[at]);
        let mut free: BTreeMap<usize, (u64, Option<TaskId>)> = BTreeMap::new();
        let before = self.last;
        let mut put = |walk: &mut Self, node: NodeId, unit: usize, kind: TaskKind, ticks: u64| {
            let (start, by) = free.get(&unit).copied().unwrap_or((walk.now, before));
            let task = walk.program.next_task();
            walk.push(node, unit, kind, (start, ticks), by);
            free.insert(unit, (start + ticks, Some(task)));
        };
        for ((side, kind), ticks) in ticks {
            let streams = self.program.widths[side];
            put(self, node_of(kind).unwrap_or(run.first[0]), side, TaskKind::Compute, ticks / streams);
        }
        for (lane, seconds) in group.table.link_seconds(&group.problem).into_iter().enumerate() {
            if seconds > 0.0 {
                put(self, run.first[0], lane + 2, TaskKind::Load, crate::dram::ticks(seconds / TICK_SECONDS));
            }
        }
        let busiest = free.values().max_by_key(|(end, _)| *end).and_then(|(_, task)| *task);
        self.last = busiest.or(self.last);
    }
}

/// Seconds on the device of an operation outside of bootstrapping: its slots, or its bytes in memory.
pub(super) fn rest_seconds(machine: &Fhex, graph: &Graph, id: NodeId) -> f64 {
    let (numbers, work) = (&machine.numbers, graph.work(id));
    let s = &numbers.slots;
    let products = work.products() - work.ntt_products;
    let slots = as_f64(work.ntt_products) * s.butterfly_slots
        + as_f64(products) * s.product_slots
        + as_f64(work.permuted_words) * s.monomial_slots
        + as_f64(work.added_words) * s.sum_slots;
    let words = as_f64(moved_bytes(graph, id)) / 8.0;
    let moving = words * numbers.word_bytes() / (numbers.device.memory_gb_s * 1e9);
    (slots / numbers.lane_slots_s()).max(moving) + numbers.assumed.launch_ns.value * 1e-9
}
