//! Memory of rows: allocated from the GPU in large pieces, handed out by row, and reused when a row is dropped.
//!
//! Only the compute stream uses rows in GPU memory, so a row can be reused as soon as its last use is submitted,
//! without an event or a wait. Rows in host memory are written by the host once, when nothing runs, and kernels only
//! read them, so [`crate::stage`] can copy them at any time. Rows of one length share a free list, from which the
//! lowest address is taken first. The address of a value then depends on which rows are in use, not on the order of
//! earlier drops, so a loop repeats its addresses and its launches match as graphs.

use crate::driver::{Driver, Failure, Place};
use std::{
    collections::{BTreeSet, HashMap},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// Rows per piece, for short rows.
const ROWS_A_PIECE: usize = 64;
/// Largest piece of several rows in words: 16 MiB.
const WORDS_A_PIECE: usize = 1 << 21;

/// A row of words, returned to the pool on drop.
pub(crate) struct Row {
    /// Unique number of the row on this device.
    number: u64,
    at: u64,
    words: usize,
    place: Place,
    pool: Arc<Pool>,
}

impl Row {
    /// Address of the row; 0 if a fault left it without memory.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    pub(crate) fn place(&self) -> Place {
        self.place
    }

    /// The row's place in host memory, if it is there.
    pub(crate) fn far(&self) -> Option<Far> {
        let Self { number, at, words, .. } = *self;
        (self.place == Place::Host && at != 0).then_some(Far { number, at, words })
    }
}

/// A row in host memory, as an operand of a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Far {
    /// Number of the row.
    pub(crate) number: u64,
    pub(crate) at: u64,
    pub(crate) words: usize,
}

impl Drop for Row {
    fn drop(&mut self) {
        if self.at != 0 {
            self.pool.live.fetch_sub(self.pool.bytes(self.words), Ordering::Relaxed);
            self.pool.free().entry((self.words, self.place)).or_default().insert(self.at);
        }
    }
}

/// Memory of a device in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Bytes in use.
    pub live_bytes: u64,
    /// Peak of the bytes in use.
    pub peak_bytes: u64,
    /// Bytes of GPU memory allocated for rows.
    pub device_bytes: u64,
    /// Bytes of locked host memory for keys outside GPU memory.
    pub host_bytes: u64,
    /// Bytes of GPU memory for copies of these keys; see [`KeyRoom`](crate::KeyRoom).
    pub staging_bytes: u64,
    /// Bytes of these keys copied to the GPU so far.
    pub copied_bytes: u64,
}

type Free = HashMap<(usize, Place), BTreeSet<u64>>;

/// One allocation of several rows of equal length.
#[derive(Clone, Copy)]
struct Piece {
    at: u64,
    rows: usize,
    words: usize,
    place: Place,
}

impl Piece {
    fn bytes(self) -> u64 {
        8 * (self.rows * self.words) as u64
    }

    fn has(self, row: u64) -> bool {
        (self.at..self.at + self.bytes()).contains(&row)
    }
}

/// The memory of all rows of a device.
pub(crate) struct Pool {
    driver: Arc<dyn Driver>,
    free: Mutex<Free>,
    pieces: Mutex<Vec<Piece>>,
    live: AtomicU64,
    peak: AtomicU64,
    device: AtomicU64,
    host: AtomicU64,
    rows: AtomicU64,
}

impl Pool {
    pub(crate) fn new(driver: Arc<dyn Driver>) -> Arc<Self> {
        Arc::new(Self {
            driver,
            free: Mutex::default(),
            pieces: Mutex::default(),
            live: AtomicU64::new(0),
            peak: AtomicU64::new(0),
            device: AtomicU64::new(0),
            host: AtomicU64::new(0),
            rows: AtomicU64::new(0),
        })
    }

    fn free(&self) -> MutexGuard<'_, Free> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn bytes(&self, words: usize) -> u64 {
        8 * words as u64
    }

    /// Memory of rows.
    pub(crate) fn memory(&self) -> Memory {
        let [live_bytes, peak_bytes, device_bytes, host_bytes] =
            [&self.live, &self.peak, &self.device, &self.host].map(|counter| counter.load(Ordering::Relaxed));
        Memory { live_bytes, peak_bytes, device_bytes, host_bytes, staging_bytes: 0, copied_bytes: 0 }
    }

    /// A row without memory, for values after a fault.
    pub(crate) fn lacking(self: &Arc<Self>) -> Arc<Row> {
        Arc::new(Row { number: 0, at: 0, words: 0, place: Place::Device, pool: self.clone() })
    }

    /// A row of undefined words.
    pub(crate) fn take(self: &Arc<Self>, words: usize, place: Place) -> Result<Arc<Row>, Failure> {
        let words = words.next_multiple_of(2); // addresses are multiples of 16
        let found = self.free().get_mut(&(words, place)).and_then(BTreeSet::pop_first);
        let at = match found {
            Some(at) => at,
            None => self.piece(words, place)?,
        };
        let live = self.live.fetch_add(self.bytes(words), Ordering::Relaxed) + self.bytes(words);
        self.peak.fetch_max(live, Ordering::Relaxed);
        let number = 1 + self.rows.fetch_add(1, Ordering::Relaxed);
        Ok(Arc::new(Row { number, at, words, place, pool: self.clone() }))
    }

    /// Allocates a piece; returns its first row and frees the others. If memory is short, unused pieces of other
    /// lengths are released and the piece is a single row.
    fn piece(&self, words: usize, place: Place) -> Result<u64, Failure> {
        let allocate =
            |rows: usize| self.driver.allocate(rows * words, place).map(|at| Piece { at, rows, words, place });
        let rows = (WORDS_A_PIECE / words).clamp(1, ROWS_A_PIECE);
        let piece = allocate(rows).or_else(|_| {
            self.give_back();
            allocate(1)
        })?;
        self.allocated(place).fetch_add(piece.bytes(), Ordering::Relaxed);
        self.pieces().push(piece);
        let others = (1..piece.rows).map(|i| piece.at + self.bytes(i * words));
        self.free().entry((words, place)).or_default().extend(others);
        Ok(piece.at)
    }

    /// Releases every piece without a row in use.
    fn give_back(&self) {
        let (mut free, mut pieces) = (self.free(), self.pieces());
        pieces.retain(|piece| {
            let Some(rows) = free.get_mut(&(piece.words, piece.place)) else { return true };
            if rows.iter().filter(|&&row| piece.has(row)).count() < piece.rows {
                return true;
            }
            rows.retain(|&row| !piece.has(row));
            self.driver.release(piece.at, piece.rows * piece.words, piece.place);
            self.allocated(piece.place).fetch_sub(piece.bytes(), Ordering::Relaxed);
            false
        });
    }

    fn pieces(&self) -> MutexGuard<'_, Vec<Piece>> {
        self.pieces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes allocated in a place.
    fn allocated(&self, place: Place) -> &AtomicU64 {
        if place == Place::Device { &self.device } else { &self.host }
    }

    /// Overwrites all free rows with zeros.
    pub(crate) fn scrub(&self) -> Result<(), Failure> {
        let free = self.free();
        let mut rows = free.iter().flat_map(|(&(words, place), rows)| rows.iter().map(move |&at| (at, words, place)));
        rows.try_for_each(|(at, words, place)| self.driver.zero(at, words, place))
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let pieces = std::mem::take(self.pieces.get_mut().unwrap_or_else(PoisonError::into_inner));
        pieces.into_iter().for_each(|p| self.driver.release(p.at, p.rows * p.words, p.place));
    }
}
