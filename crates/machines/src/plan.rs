//! The plan: what is loaded, stored and sent away between the operations of a program, in a given order of these.
//!
//! Two steps. First every operand is loaded where an operation finds it missing, at the limbs that are read, and the value
//! with the furthest next use leaves when there is no room. A part of the memory stays free for loads ahead, and another
//! for results under way. Then each load in turn moves ahead of the operations before it as long as the memory has room
//! for it all the way, so that data are there when they are wanted.
//!
//! Loads ahead leave the room of results alone. Without that, a result waits until the one before it has left, and units
//! that could overlap take turns (ADR 129).

use crate::{error::MachineError, lower::Work, scratchpad::OffChip};
use limbwise_graph::{Basis, NodeId};
use std::collections::BinaryHeap;

/// No further use.
pub(crate) const NEVER: u32 = u32::MAX;

/// A step of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Limbs of a value come for a node.
    Load { value: NodeId, basis: Basis, node: NodeId },
    /// A value is copied to off-chip memory.
    Store { value: NodeId },
    /// A value leaves the chip.
    Leave { value: NodeId },
    /// A node runs. Its result takes the room of an operand, or its own, or is not wanted.
    Run { node: NodeId, overwrites: Option<NodeId>, keeps: bool },
}

/// Plans a program in this order.
pub(crate) fn plan(work: &Work, order: &[NodeId]) -> Result<Vec<Action>, MachineError> {
    let Some(off_chip) = work.off_chip else {
        return Ok(order.iter().map(|&node| Action::Run { node, overwrites: None, keeps: false }).collect());
    };
    let (next_reads, first_reads) = work.next_reads(order);
    let count = work.graph.nodes().len();
    let mut planning = Planning {
        work,
        off_chip,
        held: vec![None; count],
        order: BinaryHeap::new(),
        unordered: Vec::new(),
        taken: 0,
        stored: vec![false; count],
        next_reads,
        first_reads,
        pinned: Vec::new(),
        aside: Vec::new(),
        actions: Vec::with_capacity(3 * order.len()),
        taken_after: Vec::with_capacity(3 * order.len()),
    };
    let mut read = 0;
    for &id in order {
        read += planning.node(id, read)?;
    }
    let mut left: Vec<(u32, NodeId)> =
        work.graph.ids().filter_map(|id| planning.held[id.index()].map(|held| (held.next_use, id))).collect();
    left.sort_unstable();
    for (_, value) in left {
        planning.send_away(value);
    }
    Ok(ahead(work, &off_chip, planning.actions, planning.taken_after))
}

/// The limbs of a value that must be there when some are read: only inputs can be loaded by limb, what was made on the chip is
/// stored and comes back whole.
fn wanted(work: &Work, value: NodeId, basis: Basis) -> Basis {
    if work.is_input(value) { basis } else { work.whole(value) }
}

/// A value on the chip.
#[derive(Clone, Copy, Debug)]
struct Held {
    bytes: u64,
    /// Limbs on the chip.
    basis: Basis,
    next_use: u32,
}

/// The state of the first step.
struct Planning<'w> {
    work: &'w Work<'w>,
    off_chip: OffChip,
    held: Vec<Option<Held>>,
    /// Values on the chip by next use, and some entries that hold no more: they are passed over when they come up. Few
    /// values are ever asked for, so this costs less than to keep an order.
    order: BinaryHeap<(u32, NodeId)>,
    /// What is not in the order yet: it is put there when a value has to leave, which few entries live to see.
    unordered: Vec<(u32, NodeId)>,
    /// Values that came up and must not leave yet.
    aside: Vec<(u32, NodeId)>,
    /// Their bytes.
    taken: u64,
    stored: Vec<bool>,
    next_reads: Vec<u32>,
    first_reads: Vec<u32>,
    /// Operands of the current node, which must not leave.
    pinned: Vec<NodeId>,
    actions: Vec<Action>,
    /// The bytes that are held when each action is done.
    taken_after: Vec<u64>,
}

impl Planning<'_> {
    /// Plans a node. `read` is the number of its first read in the whole plan; the result is how many reads it has.
    fn node(&mut self, id: NodeId, read: usize) -> Result<usize, MachineError> {
        let work = self.work;
        let reads = work.reads(id);
        self.pinned.clear();
        self.pinned.extend(reads.iter().map(|(value, _)| *value));
        self.shed(id);
        for &(value, basis) in reads {
            let wanted = wanted(work, value, basis);
            let missing = wanted - self.held[value.index()].map(|h| h.basis).unwrap_or_default();
            if !missing.is_empty() {
                self.room(id, work.bytes(value, missing))?;
                self.insert(value, missing);
                self.note(Action::Load { value, basis: missing, node: id });
            }
        }
        let overwrites = self.next_reads.get(read).and_then(|&next| work.overwrites(id, next));
        let keeps = self.first_reads[id.index()] != NEVER || work.is_result[id.index()];
        if let Some(old) = overwrites.filter(|_| keeps) {
            self.remove(old);
        } else if keeps {
            self.room(id, work.bytes(id, work.whole(id)))?;
        }
        if keeps {
            self.insert(id, work.whole(id));
            self.set_next_use(id, self.first_reads[id.index()]);
        }
        self.note(Action::Run { node: id, overwrites: overwrites.filter(|_| keeps), keeps });
        for (i, (value, _)) in reads.iter().enumerate() {
            let next = self.next_reads[read + i];
            if next == NEVER && !work.is_result[value.index()] {
                if let Some(held) = &mut self.held[value.index()] {
                    held.next_use = next;
                    self.send_away(*value);
                }
            } else {
                self.set_next_use(*value, next);
            }
        }
        Ok(reads.len())
    }

    /// Sends limbs of operands away that an operation does not read, where it has no room otherwise: limb by limb, a key
    /// would stay whole on the chip for as long as one of its limbs is read. Such an operand leaves whole, and what is read
    /// of it comes again.
    fn shed(&mut self, id: NodeId) {
        let work = self.work;
        if work.most_bytes(id) <= self.off_chip.resident_bytes() {
            return;
        }
        let reads = work.reads(id);
        let mut needs = work.bytes(id, work.whole(id));
        for (i, &(value, basis)) in reads.iter().enumerate() {
            let held = self.held[value.index()];
            needs = needs.saturating_add(
                work.bytes(value, wanted(work, value, basis) - held.map(|h| h.basis).unwrap_or_default()),
            );
            if reads[..i].iter().all(|(earlier, _)| *earlier != value) {
                needs = needs.saturating_add(held.map_or(0, |h| h.bytes));
            }
        }
        if needs <= self.off_chip.resident_bytes() {
            return;
        }
        for &(value, _) in reads.iter().filter(|(value, _)| work.is_input(*value)) {
            let read = reads.iter().filter(|(v, _)| *v == value).fold(Basis::default(), |all, (_, basis)| all | *basis);
            if self.held[value.index()].is_some_and(|held| !(held.basis - read).is_empty()) {
                self.send_away(value);
            }
        }
    }

    fn note(&mut self, action: Action) {
        self.actions.push(action);
        self.taken_after.push(self.taken);
    }

    /// Sends values away until there is room: the furthest next use first (Belady), which needs the fewest loads for a given
    /// order. Values with the same next use leave in the order of their numbers, so that a plan is repeatable.
    fn room(&mut self, id: NodeId, bytes: u64) -> Result<(), MachineError> {
        let room = self.off_chip.resident_bytes();
        while self.taken + bytes > room {
            let Some(value) = self.furthest() else { return Err(self.no_room(id, self.taken + bytes, room)) };
            self.send_away(value);
        }
        self.order.extend(self.aside.drain(..));
        Ok(())
    }

    /// The value with the furthest next use that may leave.
    fn furthest(&mut self) -> Option<NodeId> {
        let held = &self.held;
        let holds = |(next_use, value): &(u32, NodeId)| held[value.index()].is_some_and(|h| h.next_use == *next_use);
        self.order.extend(self.unordered.drain(..).filter(holds));
        while let Some((next_use, value)) = self.order.pop() {
            let holds = self.held[value.index()].is_some_and(|held| held.next_use == next_use);
            if holds && !self.pinned.contains(&value) {
                return Some(value);
            }
            if holds {
                self.aside.push((next_use, value));
            }
        }
        None
    }

    fn no_room(&self, id: NodeId, needs: u64, room: u64) -> MachineError {
        let graph = self.work.graph;
        let region = &graph.region_paths()[graph.node(id).region().index()];
        MachineError::NoRoom {
            machine: self.work.name.into(),
            what: format!("{} (node {}, region \"{region}\")", graph.node(id).op().name(), id.0),
            needs,
            room,
            ahead: self.off_chip.capacity_bytes - room,
            missing: needs - room,
            capacity_field: self.off_chip.capacity_field,
        }
    }

    /// A value leaves. It is stored first if it is wanted again or is a result, and only once: values do not change. Inputs
    /// are off the chip already.
    fn send_away(&mut self, value: NodeId) {
        let again = self.held[value.index()].is_some_and(|h| h.next_use != NEVER) || self.work.is_result[value.index()];
        if again && !self.work.is_input(value) && !std::mem::replace(&mut self.stored[value.index()], true) {
            self.note(Action::Store { value });
        }
        self.note(Action::Leave { value });
        self.remove(value);
    }

    fn insert(&mut self, value: NodeId, basis: Basis) {
        let old = self.held[value.index()].unwrap_or(Held { bytes: 0, basis: Basis::default(), next_use: 0 });
        let bytes = self.work.bytes(value, basis);
        self.taken += bytes;
        self.held[value.index()] = Some(Held { bytes: old.bytes + bytes, basis: old.basis | basis, ..old });
    }

    fn set_next_use(&mut self, value: NodeId, next_use: u32) {
        if let Some(held) = &mut self.held[value.index()] {
            held.next_use = next_use;
            self.unordered.push((next_use, value));
        }
    }

    fn remove(&mut self, value: NodeId) {
        if let Some(held) = self.held[value.index()].take() {
            self.taken -= held.bytes;
        }
    }
}

/// Bytes that are held after each action, in blocks with a maximum each: most loads pass over whole blocks.
struct Room {
    held: Vec<u64>,
    /// Added to all of a block.
    extra: Vec<u64>,
    most: Vec<u64>,
}

/// Actions of a block.
const BLOCK: usize = 256;

impl Room {
    fn new(held: Vec<u64>) -> Self {
        let most: Vec<u64> = held.chunks(BLOCK).map(|block| block.iter().copied().max().unwrap_or(0)).collect();
        Self { extra: vec![0; most.len()], most, held }
    }

    /// Takes bytes from a place back to `least`, or to the last place that has no room for them.
    fn take(&mut self, mut place: usize, least: usize, bytes: u64, room: u64) -> usize {
        while place > least {
            let (at, block) = (place - 1, (place - 1) / BLOCK);
            if place.is_multiple_of(BLOCK) && place - BLOCK >= least && self.most[block] + bytes <= room {
                self.extra[block] += bytes;
                self.most[block] += bytes;
                place -= BLOCK;
                continue;
            }
            let held = self.held[at] + self.extra[block] + bytes;
            if held > room {
                break;
            }
            self.held[at] += bytes;
            self.most[block] = self.most[block].max(held);
            place = at;
        }
        place
    }
}

/// Moves loads ahead as far as there is room. They keep their order: the one that is wanted first must not wait for a
/// later one on the same memory, nor come before an action that concerns its value.
fn ahead(work: &Work, off_chip: &OffChip, actions: Vec<Action>, held: Vec<u64>) -> Vec<Action> {
    let room = off_chip.capacity_bytes.saturating_sub(off_chip.results_bytes);
    let mut held = Room::new(held);
    // The place after the last action that concerns each value.
    let mut after = vec![0; work.graph.nodes().len()];
    // The place before which each load comes now.
    let mut places: Vec<(usize, Action)> = Vec::new();
    for (at, &action) in actions.iter().enumerate() {
        let concerned = concerned(action);
        if let Action::Load { value, basis, .. } = action {
            let least = places.last().map_or(0, |(place, _)| *place).max(after[concerned.index()]);
            places.push((held.take(at, least.min(at), work.bytes(value, basis), room), action));
        }
        after[concerned.index()] = at + 1;
    }
    let mut loads = places.into_iter().peekable();
    let mut planned = Vec::with_capacity(actions.len());
    for (at, action) in actions.into_iter().enumerate() {
        while let Some((_, load)) = loads.next_if(|(place, _)| *place <= at) {
            planned.push(load);
        }
        if !matches!(action, Action::Load { .. }) {
            planned.push(action);
        }
    }
    planned.extend(loads.map(|(_, load)| load));
    planned
}

/// The value that an action is about: loads of it come after.
fn concerned(action: Action) -> NodeId {
    match action {
        Action::Load { value, .. } | Action::Store { value } | Action::Leave { value } => value,
        Action::Run { node, .. } => node,
    }
}
