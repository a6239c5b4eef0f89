//! On-chip memory that software manages: who has room in it, and when room is free again.
//!
//! Tasks run in another order than the plan. So that the memory is never over-full, whoever takes room waits behind a
//! gate: the k-th of them until so much of what leaves before it in the plan has left that all of the first k have room
//! together.

use crate::{
    dram::Stream,
    program::{Edge, Program, Residency, Stage, TaskId, TaskKind},
};
use limbwise_graph::{Basis, Graph, NodeId, Op};
use std::collections::VecDeque;

/// Memory outside the chip and the room inside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OffChip {
    /// Index of the unit that moves the data.
    pub unit: u8,
    /// Its timing.
    pub stream: Stream,
    /// Room on the chip.
    pub capacity_bytes: u64,
    /// The field of the specification that says so.
    pub capacity_field: &'static str,
    /// The part of it in which loads run ahead of the plan.
    pub prefetch_bytes: u64,
    /// The part of it in which results under way stand, so that units need not wait for each other's room.
    pub results_bytes: u64,
    /// Whether what a seed expands to is made on the chip when it is wanted: it takes room, and no transfer.
    pub makes_seeds: bool,
}

impl OffChip {
    /// Room for values that wait: what loads ahead and results under way do not take.
    pub(crate) fn resident_bytes(&self) -> u64 {
        self.capacity_bytes.saturating_sub(self.prefetch_bytes).saturating_sub(self.results_bytes)
    }

    /// Bytes that a load of some bytes of a value brings from outside.
    pub(crate) fn brought(&self, graph: &Graph, value: NodeId, bytes: u64) -> u64 {
        let made = self.makes_seeds && graph.node(value).op() == Op::ExpandSeed;
        if made { 0 } else { bytes }
    }

    /// Bytes on their way to or from off-chip memory, limb by limb.
    pub(crate) fn transfer(&self, kind: TaskKind, bytes: u64, limbs: usize) -> Stage {
        let (occupancy, fill) = self.stream.ticks(kind, bytes);
        let parts = u32::try_from(limbs).unwrap_or(u32::MAX);
        Stage { fill, parts, ..Stage::new(kind, self.unit, occupancy) }
    }
}

/// A value that is there: the ends of its chains.
#[derive(Clone, Copy, Debug)]
struct Held {
    bytes: u64,
    basis: Basis,
    /// The last of its entries in the log.
    logged: u32,
    /// The last of its readers.
    read: u32,
}

/// End of a chain.
const NONE: u32 = u32::MAX;

/// The room in the memory while tasks are made.
#[derive(Debug)]
pub(crate) struct Rooms {
    held: Vec<Option<Held>>,
    log: Vec<(Residency, u32)>,
    readers: Vec<(TaskId, u32)>,
    /// Values that left and are not behind a gate yet: bytes, and number of edges.
    left: VecDeque<(u64, usize)>,
    left_edges: VecDeque<Edge>,
    /// Bytes taken so far that no gate has set free.
    taken: u64,
    capacity: u64,
    gate: Option<Edge>,
}

impl Rooms {
    pub(crate) fn new(capacity: u64, values: usize) -> Self {
        Self {
            held: vec![None; values],
            log: Vec::new(),
            readers: Vec::new(),
            left: VecDeque::new(),
            left_edges: VecDeque::new(),
            taken: 0,
            capacity,
            gate: None,
        }
    }

    /// Takes room, which the plan has found free; the gate to wait behind.
    pub(crate) fn take(&mut self, bytes: u64, program: &mut Program) -> Option<Edge> {
        self.taken += bytes;
        let mut edges = 0;
        while self.taken > self.capacity
            && let Some((bytes, count)) = self.left.pop_front()
        {
            self.taken -= bytes;
            edges += count;
        }
        if edges > 0 {
            self.gate = Some(program.push_gate(self.left_edges.drain(..edges)));
        }
        self.gate
    }

    /// Limbs of a value come with a task, where room was taken for them.
    pub(crate) fn come(&mut self, source: NodeId, basis: Basis, bytes: u64, from: TaskId) {
        let nothing = Held { bytes: 0, basis: Basis::default(), logged: NONE, read: NONE };
        let old = self.held[source.index()].unwrap_or(nothing);
        let record = Residency { source, basis, bytes, from, until: from, overwritten: false };
        self.log.push((record, old.logged));
        let held = Held { bytes: old.bytes + bytes, basis: old.basis | basis, logged: last_index(&self.log), ..old };
        self.held[source.index()] = Some(held);
    }

    /// A task takes a value.
    pub(crate) fn read(&mut self, source: NodeId, by: TaskId) {
        if let Some(held) = &mut self.held[source.index()] {
            self.readers.push((by, held.read));
            held.read = last_index(&self.readers);
        }
    }

    /// The tasks that read a value since it came.
    pub(crate) fn readers(&self, source: NodeId) -> impl Iterator<Item = TaskId> {
        chain(&self.readers, self.held[source.index()].map_or(NONE, |h| h.read))
    }

    /// A value leaves before task `until`; its room is free when its readers have taken it.
    pub(crate) fn leave(&mut self, source: NodeId, until: TaskId) {
        let Some(held) = self.close(source, until, false) else { return };
        let before = self.left_edges.len();
        self.left_edges.extend(chain(&self.readers, held.read).map(Edge::Taken));
        if self.left_edges.len() == before {
            self.left_edges.push_back(Edge::Output(self.log[held.logged as usize].0.from));
        }
        self.left.push_back((held.bytes, self.left_edges.len() - before));
    }

    /// The room of a value goes to the result of task `by`, which comes in its place.
    pub(crate) fn hand_over(&mut self, source: NodeId, to: NodeId, by: TaskId) {
        if let Some(held) = self.close(source, by, true) {
            self.come(to, held.basis, held.bytes, by);
        }
    }

    fn close(&mut self, source: NodeId, until: TaskId, overwritten: bool) -> Option<Held> {
        let held = self.held[source.index()].take()?;
        let mut at = held.logged;
        while let Some((record, before)) = self.log.get_mut(at as usize) {
            (record.until, record.overwritten) = (until, overwritten);
            at = *before;
        }
        Some(held)
    }

    /// The record of who was there.
    pub(crate) fn into_log(self) -> Vec<Residency> {
        self.log.into_iter().map(|(record, _)| record).collect()
    }
}

/// A chain, from its end.
fn chain(links: &[(TaskId, u32)], end: u32) -> impl Iterator<Item = TaskId> {
    let link = |at: u32| links.get(at as usize).copied();
    std::iter::successors(link(end), move |(_, before)| link(*before)).map(|(task, _)| task)
}

fn last_index<T>(list: &[T]) -> u32 {
    u32::try_from(list.len() - 1).expect("fewer than 2^32 tasks")
}
