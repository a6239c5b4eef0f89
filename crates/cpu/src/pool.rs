//! Limb buffers that are kept for reuse, so that a steady loop neither allocates nor faults pages.

use crate::{
    layout::Line,
    slab::{self, Memory},
};
use limbwise_device::Fault;
use std::{
    collections::HashMap,
    panic::resume_unwind,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// A limb, shared by the polynomials that hold it; it returns to its pool with the last of them.
pub(crate) type Row = Arc<Buffer>;

/// Keeps the buffers that are not in use, by length.
#[derive(Clone, Default)]
pub(crate) struct Pool(Arc<Inner>);

#[derive(Default)]
struct Inner {
    limbs: Mutex<HashMap<usize, Limbs>>,
    live: AtomicU64,
    peak: AtomicU64,
    allocations: AtomicU64,
    mapped: AtomicU64,
    resident: AtomicU64,
}

/// Limbs of one length.
#[derive(Default)]
struct Limbs {
    /// Returned buffers, for reuse.
    free: Vec<Memory>,
    /// Never used: most of it is not even resident.
    fresh: Vec<Memory>,
    /// Bytes of its mapping that were used.
    used: usize,
}

/// A limb used for the first time, bytes that were mapped for it and others, and those that it made resident.
struct Fresh {
    memory: Memory,
    mapped: u64,
    resident: u64,
}

impl Limbs {
    fn fresh(&mut self, length: usize) -> Option<Fresh> {
        let mut mapped = 0;
        if self.fresh.is_empty() {
            (self.fresh, self.used) = (slab::limbs(length)?, 0);
            mapped = self.fresh.iter().map(|limb| size_of_val(limb.lines()) as u64).sum();
        }
        let memory = self.fresh.pop()?;
        let before = slab::resident(self.used);
        self.used += size_of_val(memory.lines());
        Some(Fresh { memory, mapped, resident: slab::resident(self.used) - before })
    }
}

/// Counters of a device's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolCounters {
    /// Bytes of limbs in use now, padding included.
    pub live_bytes: u64,
    /// Peak bytes of limbs in use.
    pub peak_bytes: u64,
    /// Limbs used for the first time since the start; constant in a steady loop.
    pub allocations: u64,
    /// Bytes asked of the operating system since the start, of which none is given back; constant in a steady loop.
    pub mapped_bytes: u64,
    /// Those of them that are resident, in huge pages: what was never used is not. Constant in a steady loop.
    pub resident_bytes: u64,
}

/// The memory of one limb, returned to the pool on drop.
pub(crate) struct Buffer {
    /// There until it is dropped.
    memory: Option<Memory>,
    pool: Arc<Inner>,
}

impl Buffer {
    pub(crate) fn lines(&self) -> &[Line] {
        self.memory.as_ref().map_or(&[], Memory::lines)
    }

    pub(crate) fn lines_mut(&mut self) -> &mut [Line] {
        self.memory.as_mut().map_or(&mut [], Memory::lines_mut)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let length = self.lines().len();
        self.pool.live.fetch_sub(size_of_val(self.lines()) as u64, Ordering::Relaxed);
        self.pool.of(length, |limbs| limbs.free.extend(self.memory.take()));
    }
}

impl Inner {
    fn of<R>(&self, length: usize, f: impl FnOnce(&mut Limbs) -> R) -> R {
        f(self.limbs.lock().unwrap_or_else(PoisonError::into_inner).entry(length).or_default())
    }

    /// A limb used for the first time.
    fn fresh(&self, length: usize) -> Option<Memory> {
        let Fresh { memory, mapped, resident } = self.of(length, |limbs| limbs.fresh(length))?;
        self.allocations.fetch_add(1, Ordering::Relaxed);
        self.mapped.fetch_add(mapped, Ordering::Relaxed);
        self.resident.fetch_add(resident, Ordering::Relaxed);
        Some(memory)
    }
}

impl Pool {
    /// A limb of `length` lines whose words are whatever they were.
    ///
    /// # Panics
    /// If the system has no more memory, with [`Fault::OutOfMemory`] as what is unwound, so that a program can say so and
    /// need not call it a bug; [`Self::touched_row`] finds that out in time.
    pub(crate) fn take(&self, length: usize) -> Row {
        let kept = self.0.of(length, |limbs| limbs.free.pop());
        let memory = kept.or_else(|| self.0.fresh(length)).unwrap_or_else(|| {
            let bytes = (length * size_of::<Line>()) as u64;
            resume_unwind(Box::new(Fault::OutOfMemory { device: "cpu".into(), bytes }))
        });
        let bytes = size_of_val(memory.lines()) as u64;
        let live = self.0.live.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.0.peak.fetch_max(live, Ordering::Relaxed);
        Arc::new(Buffer { memory: Some(memory), pool: self.0.clone() })
    }

    /// The words of a row, to be changed: its own if nobody else holds it, else a copy.
    pub(crate) fn make_mut<'a>(&self, row: &'a mut Row) -> &'a mut [Line] {
        if Arc::get_mut(row).is_none() {
            let mut own = self.take(row.lines().len());
            if let Some(buffer) = Arc::get_mut(&mut own) {
                buffer.lines_mut().copy_from_slice(row.lines());
            }
            *row = own;
        }
        Arc::get_mut(row).expect("just made unique").lines_mut()
    }

    /// A limb whose pages the process has touched already; `None` if there is none.
    pub(crate) fn touched_row(&self, length: usize) -> Option<Row> {
        let kept = self.0.of(length, |limbs| limbs.free.pop());
        let touch = |mut memory: Memory| {
            memory.lines_mut().fill(Line::default());
            memory
        };
        let memory = kept.or_else(|| self.0.fresh(length).map(touch))?;
        self.0.live.fetch_add(size_of_val(memory.lines()) as u64, Ordering::Relaxed);
        Some(Arc::new(Buffer { memory: Some(memory), pool: self.0.clone() }))
    }

    /// Overwrites every buffer that is not in use: it may hold what was secret.
    pub(crate) fn scrub(&self) {
        let mut limbs = self.0.limbs.lock().unwrap_or_else(PoisonError::into_inner);
        for memory in limbs.values_mut().flat_map(|limbs| &mut limbs.free) {
            memory.lines_mut().fill(Line::default()); // seen again by the next taker, so the stores stay
        }
    }

    pub(crate) fn counters(&self) -> PoolCounters {
        PoolCounters {
            live_bytes: self.0.live.load(Ordering::Relaxed),
            peak_bytes: self.0.peak.load(Ordering::Relaxed),
            allocations: self.0.allocations.load(Ordering::Relaxed),
            mapped_bytes: self.0.mapped.load(Ordering::Relaxed),
            resident_bytes: self.0.resident.load(Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_come_back() {
        let pool = Pool::default();
        let (a, mut b) = (pool.take(10), pool.take(10));
        pool.make_mut(&mut b)[3] = Line([7; 8]);
        let mut shared = b.clone();
        pool.make_mut(&mut shared)[3] = Line([8; 8]);
        assert_eq!(b.lines()[3], Line([7; 8]));
        drop((a, b, shared));
        let again = pool.take(10);
        let counters = pool.counters();
        assert_eq!((counters.live_bytes, counters.peak_bytes, counters.allocations), (640, 3 * 640, 3));
        assert_eq!(counters.mapped_bytes, (32 << 20) / 640 * 640);
        assert_eq!(counters.resident_bytes, 2 << 20, "one huge page");
        drop(again);
        assert_eq!(pool.counters().live_bytes, 0);
        pool.scrub();
        drop((0..3).map(|_| pool.touched_row(10)).collect::<Vec<_>>());
        assert_eq!(pool.counters().allocations, 3, "what was used is touched already");
        let many: Vec<Row> = (0..2 * (2 << 20) / 640).map(|_| pool.take(10)).collect();
        assert_eq!((pool.counters().resident_bytes, many.len()), (2 * (2 << 20), 6553));
        drop(many);
        let wiped: Vec<Row> = (0..3).map(|_| pool.take(10)).collect();
        assert!(wiped.iter().all(|row| row.lines().iter().all(|line| *line == Line::default())));
    }
}
