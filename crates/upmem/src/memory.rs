//! MRAM of all DPUs: who has which part of it.

use crate::{Dpu, Preset, footprint::modulus_bytes, kernels::frame::Header, kernels::image::DATA_AT};
use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// MRAM of all DPUs that sub-polynomials take, tables of transforms apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Held by some value now.
    pub live_bytes: u64,
    /// Most held at once so far.
    pub peak_bytes: u64,
}

/// One DPU with what is known of its MRAM.
#[derive(Debug)]
pub(crate) struct Unit {
    pub(crate) dpu: Dpu,
    arena: Arena,
    /// Tables that are there: by log₂ N and prime.
    pub(crate) tables: HashMap<(u32, u64), Header>,
}

/// All DPUs. Rows hold it too, to give their memory back.
#[derive(Debug)]
pub(crate) struct Units {
    units: Vec<Mutex<Unit>>,
    live: AtomicU64,
    peak: AtomicU64,
}

/// Bytes that so many words take.
fn bytes_of(words: usize) -> Option<u32> {
    Some(u32::try_from(4 * words).ok()?.next_multiple_of(8))
}

impl Units {
    pub(crate) fn new(preset: &Preset, count: usize) -> Self {
        let unit = |number| {
            let arena = Arena::new(DATA_AT, preset.mram_bytes);
            Mutex::new(Unit { dpu: Dpu::new(preset.clone(), number), arena, tables: HashMap::new() })
        };
        Self { units: (0..count).map(unit).collect(), live: AtomicU64::new(0), peak: AtomicU64::new(0) }
    }

    pub(crate) fn memory(&self) -> Memory {
        let [live_bytes, peak_bytes] = [&self.live, &self.peak].map(|counter| counter.load(Ordering::Relaxed));
        Memory { live_bytes, peak_bytes }
    }

    pub(crate) fn lock(&self, dpu: usize) -> MutexGuard<'_, Unit> {
        self.units[dpu].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Room for so many words; `None` where there is none.
    pub(crate) fn row(self: &Arc<Self>, dpu: usize, words: usize) -> Option<Row> {
        let at = self.lock(dpu).take(words)?;
        let bytes = bytes_of(words)?.into();
        let live = self.live.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.peak.fetch_max(live, Ordering::Relaxed);
        Some(Row { units: self.clone(), dpu, at, words })
    }

    /// Zeros wherever no row is.
    pub(crate) fn scrub(&self) {
        for unit in &self.units {
            let unit = &mut *unit.lock().unwrap_or_else(PoisonError::into_inner);
            unit.dpu.clear_mram(unit.arena.free.iter().map(|(&at, &bytes)| at..at + bytes));
        }
    }
}

impl Unit {
    /// The address of so many words, as a multiple of 8.
    pub(crate) fn take(&mut self, words: usize) -> Option<u32> {
        self.arena.take(bytes_of(words)?)
    }

    /// How many sub-polynomials of so many words fit beside the tables that are there, if nothing else is.
    pub(crate) fn capacity(&self, words: usize) -> usize {
        let tables = self.tables.values().map(|header| modulus_bytes(header.n as usize)).sum();
        capacity(self.dpu.preset(), tables, words)
    }
}

/// Sub-polynomials of so many words beside tables of so many bytes.
pub(crate) fn capacity(preset: &Preset, table_bytes: usize, words: usize) -> usize {
    (preset.mram_bytes as usize - DATA_AT as usize).saturating_sub(table_bytes) / (4 * words)
}

/// One sub-polynomial in MRAM.
#[derive(Debug)]
pub(crate) struct Row {
    units: Arc<Units>,
    pub(crate) dpu: usize,
    pub(crate) at: u32,
    pub(crate) words: usize,
}

impl Drop for Row {
    fn drop(&mut self) {
        let bytes = bytes_of(self.words).unwrap_or(0);
        self.units.live.fetch_sub(bytes.into(), Ordering::Relaxed);
        self.units.lock(self.dpu).arena.give(self.at, bytes);
    }
}

/// Free parts by their starts: the first that is large enough is taken, neighbors join.
#[derive(Debug)]
struct Arena {
    free: BTreeMap<u32, u32>,
}

impl Arena {
    fn new(from: u32, to: u32) -> Self {
        Self { free: BTreeMap::from([(from, to - from)]) }
    }

    fn take(&mut self, bytes: u32) -> Option<u32> {
        let (&at, &room) = self.free.iter().find(|(_, room)| **room >= bytes)?;
        self.free.remove(&at);
        if room > bytes {
            self.free.insert(at + bytes, room - bytes);
        }
        Some(at)
    }

    fn give(&mut self, mut at: u32, mut bytes: u32) {
        if let Some(behind) = self.free.remove(&(at + bytes)) {
            bytes += behind;
        }
        if let Some((&before, &room)) = self.free.range(..at).next_back()
            && before + room == at
        {
            (at, bytes) = (before, room + bytes);
        }
        self.free.insert(at, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_parts_join_again() {
        let mut arena = Arena::new(64, 164);
        let parts: Vec<u32> = (0..5).map(|_| arena.take(20).unwrap()).collect();
        assert_eq!((parts.as_slice(), arena.take(1)), (&[64, 84, 104, 124, 144][..], None));
        for i in [1, 3, 2, 0, 4] {
            arena.give(parts[i], 20);
        }
        assert_eq!(arena.take(100), Some(64));
    }
}
