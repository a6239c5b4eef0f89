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
use std::collections::BTreeSet;

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
        order: BTreeSet::new(),
        taken: 0,
        stored: vec![false; count],
        next_reads,
        first_reads,
        pinned: Vec::new(),
        actions: Vec::with_capacity(3 * order.len()),
    };
    let mut read = 0;
    for &id in order {
        read += planning.node(id, read)?;
    }
    for value in planning.order.iter().map(|(_, value)| *value).collect::<Vec<_>>() {
        planning.send_away(value);
    }
    Ok(ahead(work, &off_chip, planning.actions))
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
    /// Values on the chip by next use.
    order: BTreeSet<(u32, NodeId)>,
    /// Their bytes.
    taken: u64,
    stored: Vec<bool>,
    next_reads: Vec<u32>,
    first_reads: Vec<u32>,
    /// Operands of the current node, which must not leave.
    pinned: Vec<NodeId>,
    /// Each action with the bytes that are held when it is done.
    actions: Vec<(Action, u64)>,
}

impl Planning<'_> {
    /// Plans a node. `read` is the number of its first read in the whole plan; the result is how many reads it has.
    fn node(&mut self, id: NodeId, read: usize) -> Result<usize, MachineError> {
        let work = self.work;
        let reads = work.reads(id);
        self.pinned.clear();
        self.pinned.extend(reads.iter().map(|(value, _)| *value));
        for &(value, basis) in reads {
            // Only inputs can be loaded by limb; what was made here is stored and comes back whole.
            let wanted = if work.is_input(value) { basis } else { work.whole(value) };
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
            self.set_next_use(*value, next);
            if next == NEVER && !work.is_result[value.index()] && self.held[value.index()].is_some() {
                self.send_away(*value);
            }
        }
        Ok(reads.len())
    }

    fn note(&mut self, action: Action) {
        self.actions.push((action, self.taken));
    }

    /// Sends values away until there is room: the furthest next use first (Belady), which needs the fewest loads for a given
    /// order. Values with the same next use leave in the order of their numbers, so that a plan is repeatable.
    fn room(&mut self, id: NodeId, bytes: u64) -> Result<(), MachineError> {
        let room = self.off_chip.resident_bytes();
        while self.taken + bytes > room {
            let furthest = self.order.iter().rev().find(|(_, value)| !self.pinned.contains(value));
            let Some(&(_, value)) = furthest else { return Err(self.no_room(id, self.taken + bytes, room)) };
            self.send_away(value);
        }
        Ok(())
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
        self.order.insert((old.next_use, value));
    }

    fn set_next_use(&mut self, value: NodeId, next_use: u32) {
        if let Some(held) = &mut self.held[value.index()] {
            self.order.remove(&(held.next_use, value));
            held.next_use = next_use;
            self.order.insert((next_use, value));
        }
    }

    fn remove(&mut self, value: NodeId) {
        if let Some(held) = self.held[value.index()].take() {
            self.order.remove(&(held.next_use, value));
            self.taken -= held.bytes;
        }
    }
}

/// Moves loads ahead as far as there is room. They keep their order: the one that is wanted first must not wait for a
/// later one on the same memory.
fn ahead(work: &Work, off_chip: &OffChip, actions: Vec<(Action, u64)>) -> Vec<Action> {
    let (actions, mut held): (Vec<Action>, Vec<u64>) = actions.into_iter().unzip();
    let room = off_chip.capacity_bytes.saturating_sub(off_chip.results_bytes);
    // The place before which each load comes now.
    let mut places: Vec<(usize, Action)> = Vec::new();
    for at in 0..actions.len() {
        let Action::Load { value, basis, .. } = actions[at] else { continue };
        let bytes = work.bytes(value, basis);
        let least = places.last().map_or(0, |(place, _)| *place);
        let mut place = at;
        while place > least && held[place - 1] + bytes <= room && !concerns(actions[place - 1], value) {
            place -= 1;
            held[place] += bytes;
        }
        places.push((place, actions[at]));
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

/// Whether a load of a value must come after an action.
fn concerns(action: Action, loaded: NodeId) -> bool {
    match action {
        Action::Load { value, .. } | Action::Store { value } | Action::Leave { value } => value == loaded,
        Action::Run { node, .. } => node == loaded,
    }
}
