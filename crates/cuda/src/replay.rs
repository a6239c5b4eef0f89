//! Submission of launches to the driver. Everything is submitted in order; repeated sequences of launches are submitted
//! as CUDA graphs.
//!
//! Launches inside a region are cut into *stretches*. A stretch begins with the first launch after a thread has opened
//! its outermost region. It ends when that region closes, at any operation that is not a launch (a write, a read, a
//! wait), when another thread submits work, at the first border of an inner region after [`ENOUGH`] launches, and after
//! [`MOST`] launches. Each launch is thus in one stretch, inner and outer regions do not compete, and a varying part of
//! a loop spoils only its own stretch.
//!
//! A stretch becomes known when it occurs a second time with equal arguments. One occurrence is not enough, because
//! a sequence that never recurs would pay for a graph without using it (ADR 111). Launches that
//! begin like a known stretch are deferred; when the stretch is complete, its graph is submitted in their place (and
//! built, the first time). At the first launch that differs, or if the stretch ends early, the deferred launches are
//! submitted one by one. Correctness does not depend on the prediction: the driver gets the same launches in the same
//! order either way. Launches outside all regions are never deferred.

use crate::{
    driver::{Driver, Event, Failure, Place, Properties, Stream},
    gpu::OpenError,
    launch::{Launch, mix},
};
use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::{self, ThreadId},
};

/// Smallest graph in launches: launching a graph costs about as much as launching a kernel.
const LEAST: usize = 4;
/// A stretch of this many launches ends at the next region border.
const ENOUGH: usize = 32;
/// Largest stretch in launches, and so the largest delay of launches that the GPU could have started.
const MOST: usize = 128;
/// A stretch is forgotten after its beginning occurred this often in a row without the rest: deferring for it only
/// costs time.
const MISSES: u32 = 8;
/// Known stretches per first launch; all are compared when it occurs.
const VARIANTS: usize = 16;
/// Words of known stretches in memory: 128 MiB. A bootstrapping of 10,000 launches takes a quarter.
const KEPT_WORDS: usize = 1 << 24;
/// Fingerprints of stretches that occurred once; beyond this number all are dropped.
const REMEMBERED: usize = 1 << 16;

/// The environment variable that applies without [`crate::CudaBuilder::replay`].
pub(crate) const CHOICE: &str = "LIMBWISE_REPLAY";

/// Treatment of launches that a program repeats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Replay {
    /// Stretches that occurred twice are submitted as graphs from the third time on.
    #[default]
    Steady,
    /// Each launch is submitted immediately; a profiler then shows it in its region.
    Off,
}

impl Replay {
    /// The variant with a name: `steady` or `off`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "steady" => Some(Self::Steady),
            "off" => Some(Self::Off),
            _ => None,
        }
    }

    /// The value of the environment variable, or the default.
    pub(crate) fn of_environment() -> Result<Self, OpenError> {
        let got = std::env::var_os(CHOICE).unwrap_or_default().to_string_lossy().into_owned();
        if got.is_empty() { Ok(Self::default()) } else { Self::from_name(&got).ok_or(OpenError::Replay { got }) }
    }
}

/// Number of kernel launches since the device was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Launches {
    /// Launches requested; those neither issued nor replayed are deferred.
    pub asked: u64,
    /// Launches submitted one by one.
    pub issued: u64,
    /// Launches submitted inside graphs.
    pub replayed: u64,
    /// Graphs submitted.
    pub graphs: u64,
    /// Graphs built.
    pub built: u64,
}

/// A known stretch.
struct Sequence {
    launches: Vec<Launch>,
    graph: Option<u64>,
    /// Number of consecutive times that its beginning occurred without the rest.
    missed: u32,
    /// Time of the last occurrence, by the clock of [`Known`].
    used: u64,
}

/// The stretches seen so far.
#[derive(Default)]
struct Known {
    /// Known stretches by the fingerprint of their first launch.
    by_first: HashMap<u64, Vec<Sequence>>,
    /// Fingerprints of stretches that occurred once.
    once: HashSet<u64>,
    words: usize,
    clock: u64,
    /// Limit on the words in memory.
    room: usize,
}

fn words(launches: &[Launch]) -> usize {
    launches.iter().map(|launch| launch.args.words.len()).sum()
}

impl Known {
    /// The stretches with this first launch (among `some`, or all at the beginning) that continue with `launch`.
    fn going_on(&self, first: u64, some: Option<&[usize]>, at: usize, launch: &Launch) -> Vec<usize> {
        let sequences = self.by_first.get(&first).map_or(&[][..], Vec::as_slice);
        let goes_on = |&i: &usize| sequences[i].launches.get(at) == Some(launch);
        match some {
            Some(some) => some.iter().copied().filter(goes_on).collect(),
            None => (0..sequences.len()).filter(goes_on).collect(),
        }
    }

    /// The stretch among them with exactly `length` launches, and its graph.
    fn complete(&mut self, first: u64, some: &[usize], length: usize) -> Option<(usize, Option<u64>)> {
        self.clock += 1;
        let clock = self.clock;
        let sequences = self.by_first.get_mut(&first)?;
        let found = some.iter().copied().find(|&i| sequences[i].launches.len() == length)?;
        (sequences[found].used, sequences[found].missed) = (clock, 0);
        Some((found, sequences[found].graph))
    }

    /// Stores the graph of a stretch; returns whether it is the first one.
    fn store_graph(&mut self, first: u64, at: usize, graph: u64) -> bool {
        self.by_first.get_mut(&first).is_some_and(|sequences| sequences[at].graph.replace(graph).is_none())
    }

    /// Records a finished stretch. Returns the graphs of stretches evicted for it.
    fn seen(&mut self, launches: Vec<Launch>) -> Vec<u64> {
        let prints: Vec<u64> = launches.iter().map(Launch::fingerprint).collect();
        let print = prints.iter().fold(0, |h, &p| mix(h, p));
        if !self.once.remove(&print) {
            if self.once.len() >= REMEMBERED {
                self.once.clear();
            }
            self.once.insert(print);
            return Vec::new();
        }
        self.clock += 1;
        self.words += words(&launches);
        let sequence = Sequence { launches, graph: None, missed: 0, used: self.clock };
        let alike = self.by_first.entry(prints[0]).or_default();
        alike.push(sequence);
        let oldest = (0..alike.len()).min_by_key(|&i| alike[i].used).filter(|_| alike.len() > VARIANTS);
        let mut graphs = self.forget(prints[0], oldest.as_slice());
        while self.words > self.room {
            let all =
                self.by_first.iter().flat_map(|(&first, s)| s.iter().enumerate().map(move |(i, s)| (first, i, s)));
            let Some((first, i, _)) = all.min_by_key(|(_, _, s)| s.used) else { break };
            graphs.extend(self.forget(first, &[i]));
        }
        graphs
    }

    /// Counts a miss for stretches with this first launch and forgets those that missed too often. Returns their
    /// graphs.
    fn count_miss(&mut self, first: u64, places: &[usize]) -> Vec<u64> {
        let Some(sequences) = self.by_first.get_mut(&first) else { return Vec::new() };
        places.iter().for_each(|&i| sequences[i].missed += 1);
        let gone: Vec<usize> = places.iter().copied().filter(|&i| sequences[i].missed >= MISSES).collect();
        self.forget(first, &gone)
    }

    /// Forgets all stretches. Returns their graphs.
    fn clear(&mut self) -> Vec<u64> {
        self.words = 0;
        self.by_first.drain().flat_map(|(_, sequences)| sequences).filter_map(|s| s.graph).collect()
    }

    /// Forgets stretches with this first launch, given in ascending order. Returns their graphs.
    fn forget(&mut self, first: u64, places: &[usize]) -> Vec<u64> {
        let Some(sequences) = self.by_first.get_mut(&first) else { return Vec::new() };
        let gone: Vec<Sequence> = places.iter().rev().map(|&i| sequences.remove(i)).collect();
        if sequences.is_empty() {
            self.by_first.remove(&first);
        }
        self.words -= gone.iter().map(|s| words(&s.launches)).sum::<usize>();
        gone.into_iter().filter_map(|s| s.graph).collect()
    }
}

/// The current stretch and the known ones.
#[derive(Default)]
struct State {
    /// The thread whose regions count, and its number of open regions.
    owner: Option<ThreadId>,
    depth: usize,
    /// Launches of the current stretch; the first `issued` are already submitted.
    stretch: Vec<Launch>,
    issued: usize,
    /// Length of the prefix that was submitted as a graph.
    replayed: usize,
    /// Fingerprint of the first launch, and the known stretches that still match; empty if nothing is deferred.
    first: u64,
    matching: Vec<usize>,
    known: Known,
    launches: Launches,
}

impl State {
    /// Whether launches of the calling thread belong to a stretch.
    fn is_owner(&self) -> bool {
        self.depth > 0 && self.owner == Some(thread::current().id())
    }

    fn ask(&mut self, driver: &dyn Driver, launch: Launch) -> Result<(), Failure> {
        self.launches.asked += 1;
        if !self.is_owner() {
            self.end(driver)?;
            self.launches.issued += 1;
            return driver.launch(&launch);
        }
        let at = self.stretch.len();
        if at == 0 {
            self.first = launch.fingerprint();
            self.matching = self.known.going_on(self.first, None, 0, &launch);
        } else if !self.matching.is_empty() {
            let going = self.known.going_on(self.first, Some(&self.matching), at, &launch);
            if going.is_empty() {
                let gone = self.known.count_miss(self.first, &self.matching);
                gone.into_iter().for_each(|graph| driver.discard(graph));
            }
            self.matching = going;
        }
        self.stretch.push(launch);
        if self.matching.is_empty() {
            self.issue(driver)?;
        } else if let [only] = self.matching[..] {
            self.replay(driver, &[only])?;
        }
        if self.stretch.len() == MOST { self.end(driver) } else { Ok(()) }
    }

    /// Submits the deferred launches one by one.
    fn issue(&mut self, driver: &dyn Driver) -> Result<(), Failure> {
        self.matching.clear();
        let held = &self.stretch[self.issued..];
        self.issued = self.stretch.len();
        self.launches.issued += held.len() as u64;
        held.iter().try_for_each(|launch| driver.launch(launch))
    }

    /// Submits the graph of the matching stretch, if one is complete.
    fn replay(&mut self, driver: &dyn Driver, some: &[usize]) -> Result<(), Failure> {
        let length = self.stretch.len();
        let Some((at, graph)) = self.known.complete(self.first, some, length) else { return Ok(()) };
        self.replayed = length;
        let graph = match graph.map_or_else(|| driver.graph(&self.stretch), Ok) {
            Ok(graph) => graph,
            Err(_) => {
                // Without a graph (for lack of memory) the launches are submitted one by one.
                self.known.forget(self.first, &[at]);
                return self.issue(driver);
            }
        };
        self.launches.built += u64::from(self.known.store_graph(self.first, at, graph));
        self.issued = length;
        self.matching.clear();
        self.launches.replayed += length as u64;
        self.launches.graphs += 1;
        driver.replay(graph)
    }

    /// Ends the stretch; nothing stays deferred.
    fn end(&mut self, driver: &dyn Driver) -> Result<(), Failure> {
        let matching = std::mem::take(&mut self.matching);
        let done = self.replay(driver, &matching).and_then(|()| self.issue(driver));
        let (stretch, replayed) = (std::mem::take(&mut self.stretch), std::mem::take(&mut self.replayed));
        self.issued = 0;
        if done.is_ok() && stretch.len() >= LEAST && stretch.len() != replayed {
            self.known.seen(stretch).into_iter().for_each(|graph| driver.discard(graph));
        }
        done
    }

    /// Discards all graphs; returns whether there were any.
    fn give_up(&mut self, driver: &dyn Driver) -> Result<bool, Failure> {
        self.end(driver)?;
        let graphs = self.known.clear();
        graphs.iter().for_each(|&graph| driver.discard(graph));
        Ok(!graphs.is_empty())
    }

    /// Handles the border of a region.
    fn border(&mut self, driver: &dyn Driver) -> Result<(), Failure> {
        if self.depth == 0 || self.stretch.len() >= ENOUGH { self.end(driver) } else { Ok(()) }
    }
}

/// A driver that detects repeated launches.
pub(crate) struct Replayer {
    driver: Arc<dyn Driver>,
    replay: Replay,
    state: Mutex<State>,
}

impl Replayer {
    pub(crate) fn new(driver: Arc<dyn Driver>, replay: Replay) -> Arc<Self> {
        Self::with_room(driver, replay, KEPT_WORDS)
    }

    /// A replayer with a limit on the words of known stretches.
    pub(crate) fn with_room(driver: Arc<dyn Driver>, replay: Replay, room: usize) -> Arc<Self> {
        let known = Known { room, ..Known::default() };
        Arc::new(Self { driver, replay, state: Mutex::new(State { known, ..State::default() }) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The inner driver, after all deferred launches are submitted.
    fn now(&self) -> Result<&dyn Driver, Failure> {
        self.state().end(&*self.driver)?;
        Ok(&*self.driver)
    }

    /// Number of launches so far.
    pub(crate) fn launches(&self) -> Launches {
        self.state().launches
    }

    /// Enters a region on the calling thread.
    pub(crate) fn enter(&self) -> Result<(), Failure> {
        if self.replay == Replay::Off {
            return Ok(());
        }
        let mut state = self.state();
        if state.depth == 0 {
            state.owner = Some(thread::current().id());
        } else if !state.is_owner() {
            return Ok(());
        }
        state.depth += 1;
        state.border(&*self.driver)
    }

    /// Leaves the innermost region of the calling thread.
    pub(crate) fn leave(&self) -> Result<(), Failure> {
        let mut state = self.state();
        if !state.is_owner() {
            return Ok(());
        }
        state.depth -= 1;
        state.border(&*self.driver)
    }

    /// Submits a launch, now or later with those that follow.
    pub(crate) fn ask(&self, launch: Launch) -> Result<(), Failure> {
        self.state().ask(&*self.driver, launch)
    }
}

impl Driver for Replayer {
    fn properties(&self) -> &Properties {
        self.driver.properties()
    }

    /// Graphs use GPU memory too; they are discarded if an allocation needs it.
    fn allocate(&self, words: usize, place: Place) -> Result<u64, Failure> {
        let first = self.driver.allocate(words, place);
        if first != Err(Failure::Memory) || place == Place::Host || !self.state().give_up(&*self.driver)? {
            return first;
        }
        self.driver.wait()?; // that is when graphs go
        self.driver.allocate(words, place)
    }

    fn release(&self, at: u64, words: usize, place: Place) {
        // A failure is sticky: the next wait reports it.
        let _ = self.now();
        self.driver.release(at, words, place);
    }

    fn write(&self, to: u64, words: &[u64], place: Place) -> Result<(), Failure> {
        self.now()?.write(to, words, place)
    }

    fn read(&self, from: u64, words: &mut [u64], place: Place) -> Result<(), Failure> {
        self.now()?.read(from, words, place)
    }

    fn zero(&self, at: u64, words: usize, place: Place) -> Result<(), Failure> {
        self.now()?.zero(at, words, place)
    }

    fn launch(&self, launch: &Launch) -> Result<(), Failure> {
        self.ask(launch.clone())
    }

    fn graph(&self, launches: &[Launch]) -> Result<u64, Failure> {
        self.driver.graph(launches)
    }

    fn replay(&self, graph: u64) -> Result<(), Failure> {
        self.now()?.replay(graph)
    }

    fn discard(&self, graph: u64) {
        self.driver.discard(graph);
    }

    // Copies are on the other stream, where nothing is deferred; they depend on events.

    fn copy(&self, to: u64, from: u64, words: usize) -> Result<(), Failure> {
        self.driver.copy(to, from, words)
    }

    fn event(&self, stream: Stream) -> Result<Event, Failure> {
        if stream == Stream::Compute { self.now()?.event(stream) } else { self.driver.event(stream) }
    }

    fn wait_for(&self, stream: Stream, event: Event) -> Result<(), Failure> {
        if stream == Stream::Compute {
            self.now()?.wait_for(stream, event)
        } else {
            self.driver.wait_for(stream, event)
        }
    }

    fn forget(&self, event: Event) {
        self.driver.forget(event);
    }

    fn wait(&self) -> Result<(), Failure> {
        self.now()?.wait()
    }
}
