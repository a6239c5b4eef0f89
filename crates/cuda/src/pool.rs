//! Memory of rows: taken from the GPU in larger pieces, handed out row by row, kept when a row has no holder any more.
//!
//! Rows of the GPU's memory are used by the compute queue only, so one may be handed out again as soon as its last use has
//! been asked for: no mark, no wait. Rows of the host's memory are written by the host, once, when nothing runs, and kernels
//! only read them: that is what lets [`crate::stage`] copy them at any time. Rows of a length share a list, of which the lowest
//! address goes out first: what a value gets depends on which rows are held, not on the order in which others were given
//! back, so a loop comes back to the same addresses.

use crate::driver::{Driver, Failure, Place};
use std::{
    collections::{BTreeSet, HashMap},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// Rows of a piece, if they are small enough.
const ROWS_A_PIECE: usize = 64;
/// Words of a piece of several rows at most: 16 MiB.
const WORDS_A_PIECE: usize = 1 << 21;

/// A row of words, given back when dropped.
pub(crate) struct Row {
    /// No other row of this device has, or had, the same.
    number: u64,
    at: u64,
    words: usize,
    place: Place,
    pool: Arc<Pool>,
}

impl Row {
    /// Its address; 0 where a fault left it without memory.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    pub(crate) fn place(&self) -> Place {
        self.place
    }

    /// Where it lies, if that is the host's memory.
    pub(crate) fn far(&self) -> Option<Far> {
        let Self { number, at, words, .. } = *self;
        (self.place == Place::Host && at != 0).then_some(Far { number, at, words })
    }
}

/// A row in the host's memory, for a launch that reads it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Far {
    /// The row's own.
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

/// Bytes of this device's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Held by some value now.
    pub live_bytes: u64,
    /// Most held at once so far.
    pub peak_bytes: u64,
    /// Taken from the GPU so far, for rows.
    pub device_bytes: u64,
    /// Taken from the host's memory, locked, for keys that the GPU does not hold.
    pub host_bytes: u64,
    /// Taken from the GPU for copies of these keys; see [`KeyRoom`](crate::KeyRoom).
    pub staging_bytes: u64,
    /// Of these keys, copied to the GPU so far.
    pub copied_bytes: u64,
}

type Free = HashMap<(usize, Place), BTreeSet<u64>>;

/// Memory taken at once: so many rows of so many words.
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

/// All rows of a device.
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

    /// That of rows.
    pub(crate) fn memory(&self) -> Memory {
        let [live_bytes, peak_bytes, device_bytes, host_bytes] =
            [&self.live, &self.peak, &self.device, &self.host].map(|counter| counter.load(Ordering::Relaxed));
        Memory { live_bytes, peak_bytes, device_bytes, host_bytes, staging_bytes: 0, copied_bytes: 0 }
    }

    /// A row without memory, for values that a fault left behind.
    pub(crate) fn lacking(self: &Arc<Self>) -> Arc<Row> {
        Arc::new(Row { number: 0, at: 0, words: 0, place: Place::Device, pool: self.clone() })
    }

    /// A row of unknown words.
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

    /// The first row of a new piece; the others become free. A piece is one row where there is no room for more, after
    /// pieces of other lengths that nobody uses have been given back.
    fn piece(&self, words: usize, place: Place) -> Result<u64, Failure> {
        let allocate =
            |rows: usize| self.driver.allocate(rows * words, place).map(|at| Piece { at, rows, words, place });
        let rows = (WORDS_A_PIECE / words).clamp(1, ROWS_A_PIECE);
        let piece = allocate(rows).or_else(|_| {
            self.give_back();
            allocate(1)
        })?;
        self.taken(place).fetch_add(piece.bytes(), Ordering::Relaxed);
        self.pieces().push(piece);
        let others = (1..piece.rows).map(|i| piece.at + self.bytes(i * words));
        self.free().entry((words, place)).or_default().extend(others);
        Ok(piece.at)
    }

    /// Releases every piece of which no row is held.
    fn give_back(&self) {
        let (mut free, mut pieces) = (self.free(), self.pieces());
        pieces.retain(|piece| {
            let Some(rows) = free.get_mut(&(piece.words, piece.place)) else { return true };
            if rows.iter().filter(|&&row| piece.has(row)).count() < piece.rows {
                return true;
            }
            rows.retain(|&row| !piece.has(row));
            self.driver.release(piece.at, piece.rows * piece.words, piece.place);
            self.taken(piece.place).fetch_sub(piece.bytes(), Ordering::Relaxed);
            false
        });
    }

    fn pieces(&self) -> MutexGuard<'_, Vec<Piece>> {
        self.pieces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes taken of a place.
    fn taken(&self, place: Place) -> &AtomicU64 {
        if place == Place::Device { &self.device } else { &self.host }
    }

    /// Zeros over all rows that nobody holds.
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
