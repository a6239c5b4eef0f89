//! Keys that lie in the host's memory: copied ahead of the launches that read them, into an area of the GPU's memory.
//!
//! The copy stream fills the area, the compute stream reads it. A launch waits for the copies of its own rows, and a copy for
//! the last launch that read what it overwrites, for nothing else: since work is asked for far ahead of the GPU, a key
//! crosses the bus while operations before the one that needs it are computed. The area is a ring. Rows are put one behind
//! another, each for as long as nothing overtakes it; a row that is still there is not copied again. What finds no room
//! beside the other rows of its launch is read over the bus where it lies.

use crate::{
    driver::{Driver, Event, Failure, Place, Stream},
    pool::{Far, Memory},
};
use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Use of a GPU's memory for keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyRoom {
    /// Keys that arrive when the device has taken so many bytes of the GPU's memory stay in the host's.
    pub resident_bytes: u64,
    /// Bytes of the area into which those are copied for their uses; 0: kernels read them over the bus.
    pub staging_bytes: u64,
}

impl KeyRoom {
    /// What to do with `room_bytes` for keys of `keys_bytes` together, the largest of `largest_bytes`: where they do not all
    /// fit, an eighth of the room is for copies, or two of the largest keys, the one in use and the next, if that is less.
    #[must_use]
    pub fn split(room_bytes: u64, keys_bytes: u64, largest_bytes: u64) -> Self {
        let staging_bytes =
            if keys_bytes <= room_bytes { 0 } else { (room_bytes / 8).min(largest_bytes.saturating_mul(2)) };
        Self { resident_bytes: room_bytes - staging_bytes, staging_bytes }
    }

    /// Without a plan: three quarters of the GPU's memory, and a 32nd.
    pub(crate) fn without_plan(memory_bytes: u64) -> Self {
        Self { resident_bytes: memory_bytes / 4 * 3, staging_bytes: memory_bytes / 32 }
    }
}

/// The area and what is in it.
pub(crate) struct Stage {
    driver: Arc<dyn Driver>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Words that the area may have.
    wanted: usize,
    /// Taken when first needed.
    area: Area,
    /// Rows in the order in which `head` will meet them.
    spans: VecDeque<Span>,
    /// Place of the next row; `None` if there is no room.
    head: usize,
    /// Rows that are there, by their number.
    held: HashMap<u64, Held>,
    /// Launches so far.
    launches: u64,
    copied_bytes: u64,
    /// Something failed half-way, so that nothing is known of what is there and who reads it.
    unsure: bool,
}

#[derive(Clone, Copy, Default)]
enum Area {
    #[default]
    None,
    /// The GPU had no memory for it.
    Refused,
    At(u64, usize),
}

/// A stretch of the area.
struct Span {
    at: usize,
    words: usize,
    number: u64,
}

/// A row in the area.
struct Held {
    at: usize,
    /// The launch that needed it last.
    launch: u64,
    read: Option<Arc<Read>>,
}

/// A event behind a launch.
struct Read {
    driver: Arc<dyn Driver>,
    launch: u64,
    event: Event,
}

impl Drop for Read {
    fn drop(&mut self) {
        self.driver.forget(self.event);
    }
}

/// One stretch for the copy stream.
struct Copy {
    to: u64,
    from: u64,
    words: usize,
}

impl State {
    /// Forgets all rows.
    fn empty(&mut self) {
        self.spans.clear();
        self.held.clear();
        (self.head, self.unsure) = (0, false);
    }

    /// A place in the ring of so many words, behind which no row of this launch lies; what lay there is gone, and `read` the
    /// last launch that read any of it.
    fn place(&mut self, words: usize, room: usize, read: &mut Option<Arc<Read>>) -> Option<usize> {
        let mut again = false;
        loop {
            if self.head + words > room {
                if again || words > room {
                    return None;
                }
                again = true;
                // Rows from here to the end stay: they are passed over.
                let passed = self.spans.iter().take_while(|span| span.at >= self.head).count();
                self.spans.rotate_left(passed);
                self.head = 0;
            }
            let Some(next) = self.spans.front().filter(|next| (self.head..self.head + words).contains(&next.at)) else {
                self.head += words;
                return Some(self.head - words);
            };
            if self.held[&next.number].launch == self.launches {
                self.head = next.at + next.words;
                self.spans.rotate_left(1);
            } else {
                let gone = self.held.remove(&next.number).and_then(|held| held.read);
                self.spans.pop_front();
                *read = [read.take(), gone].into_iter().flatten().max_by_key(|read| read.launch);
            }
        }
    }

    /// Finds places for rows of the next launch that have none, and returns the copies that fill them, neighbors merged,
    /// and the last read that they must wait for. The area starts at address `area` and has `room` words.
    fn place_rows(&mut self, rows: &[Far], area: u64, room: usize) -> (Vec<Copy>, Option<Arc<Read>>) {
        self.launches += 1;
        let (mut copies, mut read): (Vec<Copy>, _) = (Vec::new(), None);
        let mut missing = Vec::new();
        for row in rows {
            match self.held.get_mut(&row.number) {
                Some(held) => held.launch = self.launches,
                None => missing.push(row),
            }
        }
        missing.sort_unstable_by_key(|row| row.at);
        missing.dedup_by_key(|row| row.number);
        for &&Far { number, at: from, words } in &missing {
            let Some(at) = self.place(words, room, &mut read) else { continue };
            self.spans.push_back(Span { at, words, number });
            self.held.insert(number, Held { at, launch: self.launches, read: None });
            self.copied_bytes += 8 * words as u64;
            let to = area + 8 * at as u64;
            let ends = |copy: &Copy| [copy.to, copy.from].map(|start| start + 8 * copy.words as u64);
            match copies.last_mut().filter(|last| ends(last) == [to, from]) {
                Some(last) => last.words += words,
                None => copies.push(Copy { to, from, words }),
            }
        }
        (copies, read)
    }
}

impl Stage {
    pub(crate) fn new(driver: Arc<dyn Driver>, bytes: u64) -> Self {
        let stage = Self { driver, state: Mutex::default() };
        stage.resize(bytes);
        stage
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The bytes that the area may have from now on.
    pub(crate) fn resize(&self, bytes: u64) {
        let (mut state, wanted) = (self.state(), usize::try_from(bytes / 16 * 2).unwrap_or(usize::MAX / 16));
        if state.wanted != wanted {
            self.release(&mut state);
            (state.wanted, state.area) = (wanted, Area::None);
        }
    }

    fn release(&self, state: &mut State) {
        if let Area::At(at, words) = state.area {
            // What fails here is met again, and told, at the next wait.
            let _ = self.driver.wait();
            state.empty();
            self.driver.release(at, words, Place::Device);
        }
    }

    /// With the bytes of the area and of copies.
    pub(crate) fn memory(&self, rows: Memory) -> Memory {
        let state = self.state();
        let words = if let Area::At(_, words) = state.area { words } else { 0 };
        Memory { staging_bytes: 8 * words as u64, copied_bytes: state.copied_bytes, ..rows }
    }

    /// The area, taken if need be.
    fn area(&self, state: &mut State) -> Result<Option<(u64, usize)>, Failure> {
        if matches!(state.area, Area::None) && state.wanted > 0 {
            state.area = Area::Refused;
            if let Ok(at) = self.driver.allocate(state.wanted, Place::Device) {
                state.area = Area::At(at, state.wanted);
                self.after(Stream::Copy, Stream::Compute)?;
            }
        }
        Ok(if let Area::At(at, words) = state.area { Some((at, words)) } else { None })
    }

    /// What is asked of one stream from now on comes after all that has been asked of another.
    fn after(&self, later: Stream, earlier: Stream) -> Result<(), Failure> {
        let event = self.driver.event(earlier)?;
        let waits = self.driver.wait_for(later, event);
        self.driver.forget(event);
        waits
    }

    /// Runs `launch` with the addresses at which the rows are then found.
    ///
    /// A fault leaves the area as it is until it is next used: then everything is waited for first.
    /// One launch at a time: what the copy stream waits for must be known before the next one takes room.
    pub(crate) fn around(
        &self,
        rows: &[Far],
        launch: impl FnOnce(&[u64]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if rows.is_empty() {
            return launch(&[]);
        }
        let mut state = self.state();
        if state.unsure {
            self.driver.wait()?;
            state.empty();
        }
        let done = self.launch_staged(&mut state, rows, launch);
        state.unsure = done.is_err();
        done
    }

    fn launch_staged(
        &self,
        state: &mut State,
        rows: &[Far],
        launch: impl FnOnce(&[u64]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let Some((area, room)) = self.area(state)? else {
            return launch(&rows.iter().map(|row| row.at).collect::<Vec<u64>>());
        };
        let (copies, read) = state.place_rows(rows, area, room);
        if let Some(read) = read {
            self.driver.wait_for(Stream::Copy, read.event)?;
        }
        copies.iter().try_for_each(|copy| self.driver.copy(copy.to, copy.from, copy.words))?;
        if !copies.is_empty() {
            self.after(Stream::Compute, Stream::Copy)?;
        }
        let found = |row: &Far| state.held.get(&row.number).map_or(row.at, |held| area + 8 * held.at as u64);
        launch(&rows.iter().map(found).collect::<Vec<u64>>())?;
        let (driver, launch) = (self.driver.clone(), state.launches);
        let read = Arc::new(Read { event: driver.event(Stream::Compute)?, driver, launch });
        for row in rows {
            if let Some(held) = state.held.get_mut(&row.number) {
                held.read = Some(read.clone());
            }
        }
        Ok(())
    }

    /// Zeros over the whole area.
    pub(crate) fn scrub(&self) -> Result<(), Failure> {
        let mut state = self.state();
        let Area::At(at, words) = state.area else { return Ok(()) };
        if state.unsure {
            self.driver.wait()?; // there may be copies for which no launch waits
        }
        state.empty();
        self.driver.zero(at, words, Place::Device)?;
        self.after(Stream::Copy, Stream::Compute)
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let mut state = std::mem::take(self.state.get_mut().unwrap_or_else(PoisonError::into_inner));
        self.release(&mut state);
    }
}
