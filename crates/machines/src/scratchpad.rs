//! On-chip memory that software manages: who is in it, and who leaves when there is no room.
//!
//! Decisions are taken in program order: the one to leave is the one whose next use is furthest, which is known because
//! the schedule is static.

use crate::program::Residency;
use limbwise_graph::{Basis, NodeId};
use std::collections::{BTreeSet, HashMap};

/// "Never": no further use.
pub(crate) const NEVER: u32 = u32::MAX;

/// Memory outside the chip and the room inside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OffChip {
    /// Index of the unit that moves the data.
    pub unit: u8,
    /// Bandwidth.
    pub bytes_per_tick: f64,
    /// Ticks from a request to its first data.
    pub latency: u64,
    /// Transfers are whole multiples of this.
    pub burst_bytes: u64,
    /// Room for values on the chip, without the room for prefetching.
    pub capacity_bytes: u64,
    /// Room for operands that are loaded ahead of the operation that wants them.
    pub prefetch_bytes: u64,
}

/// A value that is there.
#[derive(Clone, Copy, Debug)]
struct Held {
    bytes: u64,
    /// Which limbs of an input.
    basis: Basis,
    next_use: u32,
    since: u32,
}

/// The content at one point of the program.
#[derive(Debug, Default)]
pub(crate) struct Scratchpad {
    held: HashMap<NodeId, Held>,
    /// By next use.
    order: BTreeSet<(u32, NodeId)>,
    room: u64,
    log: Vec<Residency>,
}

impl Scratchpad {
    pub(crate) fn new(capacity_bytes: u64) -> Self {
        Self { room: capacity_bytes, ..Self::default() }
    }

    /// The limbs of a value that are there.
    pub(crate) fn basis(&self, source: NodeId) -> Basis {
        self.held.get(&source).map(|h| h.basis).unwrap_or_default()
    }

    /// Sends values away until there is room; nothing leaves, and `None` comes back, if there cannot be.
    pub(crate) fn make_room(&mut self, bytes: u64, pinned: &[NodeId], now: u32) -> Option<Vec<NodeId>> {
        let mut leaving = Vec::new();
        let mut room = self.room;
        let mut furthest = self.order.iter().rev().filter(|(_, source)| !pinned.contains(source));
        while room < bytes {
            let (_, source) = furthest.next()?;
            room += self.held[source].bytes;
            leaving.push(*source);
        }
        for &source in &leaving {
            self.remove(source, now);
        }
        Some(leaving)
    }

    /// Puts limbs of a value where [`Self::make_room`] found room for them.
    pub(crate) fn insert(&mut self, source: NodeId, basis: Basis, bytes: u64, now: u32) {
        let old = self.held.get(&source).copied();
        self.remove(source, now);
        let (held_bytes, held_basis) = old.map_or((0, Basis::default()), |h| (h.bytes, h.basis));
        let bytes = bytes + held_bytes;
        self.room -= bytes;
        self.order.insert((now, source));
        self.held.insert(source, Held { bytes, basis: basis | held_basis, next_use: now, since: now });
    }

    /// Notes when a value is wanted next.
    pub(crate) fn set_next_use(&mut self, source: NodeId, next_use: u32) {
        if let Some(held) = self.held.get_mut(&source) {
            self.order.remove(&(held.next_use, source));
            held.next_use = next_use;
            self.order.insert((next_use, source));
        }
    }

    /// Takes a value out, before node `now`.
    pub(crate) fn remove(&mut self, source: NodeId, now: u32) {
        if let Some(Held { bytes, next_use, since, .. }) = self.held.remove(&source) {
            self.order.remove(&(next_use, source));
            self.room += bytes;
            if since < now {
                self.log.push(Residency { source, from: since, to: now, bytes });
            }
        }
    }

    /// Everything that is there, and the record of who was.
    pub(crate) fn finish(mut self, end: u32) -> (Vec<NodeId>, Vec<Residency>) {
        let left: Vec<NodeId> = self.order.iter().map(|(_, source)| *source).collect();
        for &source in &left {
            self.remove(source, end);
        }
        (left, self.log)
    }
}
