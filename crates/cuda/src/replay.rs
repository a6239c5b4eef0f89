//! The way to the driver: everything reaches it in the order in which it was asked for, and launches that come again and again
//! reach it together, as a graph.
//!
//! Launches inside a region are cut into *stretches*. A stretch begins with the first launch after a thread has opened its
//! outermost region, and ends where that region is left, where anything else than a launch is asked for (a write, a read, a
//! wait), where another thread asks, at the first beginning or end of an inner region after [`ENOUGH`] launches, and at
//! [`MOST`] launches in any case; the next launch begins another. So each launch is in one stretch, inner and outer regions do
//! not compete, and a part of a loop that differs each time spoils the stretch it is in, not the loop.
//!
//! A stretch that has come twice, equal to the last argument, is known. Launches that begin a stretch as known ones begin are
//! held back; when a known stretch is complete, its graph is launched in their place (and built, the first time). At the
//! first launch that differs, or when the stretch ends early, what was held back is issued one by one. Nothing is assumed
//! about what comes next: the driver sees the same launches in the same order either way. Launches outside all regions are
//! never held back.

use crate::{
    driver::{Driver, Failure, Mark, Place, Properties, Queue},
    gpu::OpenError,
    launch::{Launch, mixed},
};
use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::{self, ThreadId},
};

/// Fewest launches of a graph: launching one costs about what a kernel's launch costs.
const LEAST: usize = 4;
/// A stretch of so many launches ends where a region begins or ends.
const ENOUGH: usize = 32;
/// Most launches of a stretch, hence most that are held back while the GPU might have begun.
const MOST: usize = 128;
/// A stretch whose beginning came so often in a row without the rest is forgotten: holding back for it gains nothing.
const MISSES: u32 = 8;
/// Known stretches with one first launch: each is looked at when that comes.
const VARIANTS: usize = 16;
/// Words of known stretches that are kept, 128 MiB: a bootstrapping of 10,000 launches takes a quarter.
const KEPT_WORDS: usize = 1 << 24;
/// Stretches that have come once, of which only a number is kept, before all are forgotten.
const REMEMBERED: usize = 1 << 16;

/// The environment variable that decides where no [`crate::CudaBuilder::replay`] does.
pub(crate) const CHOICE: &str = "LIMBWISE_REPLAY";

/// What becomes of launches that a program repeats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Replay {
    /// Stretches of launches that have come twice are launched as graphs from the third time on.
    #[default]
    Steady,
    /// Each launch is issued when it is asked for. A profiler then shows it under the region that asked.
    Off,
}

impl Replay {
    /// The choice of that name: `steady` or `off`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "steady" => Some(Self::Steady),
            "off" => Some(Self::Off),
            _ => None,
        }
    }

    /// What the environment says, if anything.
    pub(crate) fn of_environment() -> Result<Self, OpenError> {
        let got = std::env::var_os(CHOICE).unwrap_or_default().to_string_lossy().into_owned();
        if got.is_empty() { Ok(Self::default()) } else { Self::from_name(&got).ok_or(OpenError::Replay { got }) }
    }
}

/// Launches of kernels since a device was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Launches {
    /// Asked for. Those that are neither issued nor replayed are held back.
    pub asked: u64,
    /// Issued one by one.
    pub issued: u64,
    /// Run as parts of graphs.
    pub replayed: u64,
    /// Launches of graphs.
    pub graphs: u64,
    /// Graphs that were built.
    pub built: u64,
}

/// Launches that have come one after another more than once.
struct Sequence {
    launches: Vec<Launch>,
    graph: Option<u64>,
    /// How often in a row its first launches came, but not all.
    missed: u32,
    /// When it was last met, by a clock of its own.
    used: u64,
}

/// Stretches that have come before.
#[derive(Default)]
struct Known {
    /// Those that have come twice, by the fingerprint of their first launch.
    by_first: HashMap<u64, Vec<Sequence>>,
    /// Fingerprints of those that have come once.
    once: HashSet<u64>,
    words: usize,
    clock: u64,
    /// Most words that are kept.
    room: usize,
}

fn words(launches: &[Launch]) -> usize {
    launches.iter().map(|launch| launch.args.words.len()).sum()
}

impl Known {
    /// Of some sequences with this first launch (all of them at its beginning) those that go on so.
    fn going_on(&self, first: u64, some: Option<&[usize]>, at: usize, launch: &Launch) -> Vec<usize> {
        let sequences = self.by_first.get(&first).map_or(&[][..], Vec::as_slice);
        let goes_on = |&i: &usize| sequences[i].launches.get(at) == Some(launch);
        match some {
            Some(some) => some.iter().copied().filter(goes_on).collect(),
            None => (0..sequences.len()).filter(goes_on).collect(),
        }
    }

    /// The one of them that has so many launches, and its graph.
    fn complete(&mut self, first: u64, some: &[usize], length: usize) -> Option<(usize, Option<u64>)> {
        self.clock += 1;
        let clock = self.clock;
        let sequences = self.by_first.get_mut(&first)?;
        let found = some.iter().copied().find(|&i| sequences[i].launches.len() == length)?;
        (sequences[found].used, sequences[found].missed) = (clock, 0);
        Some((found, sequences[found].graph))
    }

    /// The graph of one of them; whether it is new.
    fn built(&mut self, first: u64, at: usize, graph: u64) -> bool {
        self.by_first.get_mut(&first).is_some_and(|sequences| sequences[at].graph.replace(graph).is_none())
    }

    /// Takes note of a stretch. Graphs of the stretches that must go for it are returned.
    fn seen(&mut self, launches: Vec<Launch>) -> Vec<u64> {
        let prints: Vec<u64> = launches.iter().map(Launch::fingerprint).collect();
        let print = prints.iter().fold(0, |h, &p| mixed(h, p));
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

    /// Some of the sequences with this first launch did not come: those that have not for long are forgotten. Their graphs.
    fn missed(&mut self, first: u64, places: &[usize]) -> Vec<u64> {
        let Some(sequences) = self.by_first.get_mut(&first) else { return Vec::new() };
        places.iter().for_each(|&i| sequences[i].missed += 1);
        let gone: Vec<usize> = places.iter().copied().filter(|&i| sequences[i].missed >= MISSES).collect();
        self.forget(first, &gone)
    }

    /// Forgets all; their graphs.
    fn clear(&mut self) -> Vec<u64> {
        self.words = 0;
        self.by_first.drain().flat_map(|(_, sequences)| sequences).filter_map(|s| s.graph).collect()
    }

    /// Forgets some of the sequences with this first launch, places in ascending order; their graphs.
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

/// The stretch that is going on, and what is known.
#[derive(Default)]
struct State {
    /// The thread whose regions count, and how many it has open.
    owner: Option<ThreadId>,
    depth: usize,
    /// Launches of this stretch, of which the first `issued` have reached the driver.
    stretch: Vec<Launch>,
    issued: usize,
    /// How many of them were all of a known stretch.
    replayed: usize,
    /// The fingerprint of its first launch, and the known sequences that it may become; none when nothing is held back.
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
                let gone = self.known.missed(self.first, &self.matching);
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

    /// Issues what has been held back, launch by launch.
    fn issue(&mut self, driver: &dyn Driver) -> Result<(), Failure> {
        self.matching.clear();
        let held = &self.stretch[self.issued..];
        self.issued = self.stretch.len();
        self.launches.issued += held.len() as u64;
        held.iter().try_for_each(|launch| driver.launch(launch))
    }

    /// Launches the graph of the sequence, of those given, that is all of the stretch, if one is.
    fn replay(&mut self, driver: &dyn Driver, some: &[usize]) -> Result<(), Failure> {
        let length = self.stretch.len();
        let Some((at, graph)) = self.known.complete(self.first, some, length) else { return Ok(()) };
        self.replayed = length;
        let graph = match graph.map_or_else(|| driver.graph(&self.stretch), Ok) {
            Ok(graph) => graph,
            Err(_) => {
                // Without a graph (memory may be short) the launches are still what they were.
                self.known.forget(self.first, &[at]);
                return self.issue(driver);
            }
        };
        self.launches.built += u64::from(self.known.built(self.first, at, graph));
        self.issued = length;
        self.matching.clear();
        self.launches.replayed += length as u64;
        self.launches.graphs += 1;
        driver.replay(graph)
    }

    /// Ends the stretch: nothing is held back any more.
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

    /// Gives up all graphs; whether there were any.
    fn give_up(&mut self, driver: &dyn Driver) -> Result<bool, Failure> {
        self.end(driver)?;
        let graphs = self.known.clear();
        graphs.iter().for_each(|&graph| driver.discard(graph));
        Ok(!graphs.is_empty())
    }

    /// A region begins or ends here.
    fn border(&mut self, driver: &dyn Driver) -> Result<(), Failure> {
        if self.depth == 0 || self.stretch.len() >= ENOUGH { self.end(driver) } else { Ok(()) }
    }
}

/// A driver that launches come to by way of stretches.
pub(crate) struct Replayer {
    driver: Arc<dyn Driver>,
    replay: Replay,
    state: Mutex<State>,
}

impl Replayer {
    pub(crate) fn new(driver: Arc<dyn Driver>, replay: Replay) -> Arc<Self> {
        Self::with_room(driver, replay, KEPT_WORDS)
    }

    /// The same that keeps known stretches of so many words.
    pub(crate) fn with_room(driver: Arc<dyn Driver>, replay: Replay, room: usize) -> Arc<Self> {
        let known = Known { room, ..Known::default() };
        Arc::new(Self { driver, replay, state: Mutex::new(State { known, ..State::default() }) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The driver when it has got all launches that were asked for.
    fn now(&self) -> Result<&dyn Driver, Failure> {
        self.state().end(&*self.driver)?;
        Ok(&*self.driver)
    }

    /// Launches so far.
    pub(crate) fn launches(&self) -> Launches {
        self.state().launches
    }

    /// The calling thread opens a region.
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

    /// It leaves its innermost one.
    pub(crate) fn leave(&self) -> Result<(), Failure> {
        let mut state = self.state();
        if !state.is_owner() {
            return Ok(());
        }
        state.depth -= 1;
        state.border(&*self.driver)
    }

    /// Runs a kernel, now or with those that follow.
    pub(crate) fn ask(&self, launch: Launch) -> Result<(), Failure> {
        self.state().ask(&*self.driver, launch)
    }
}

impl Driver for Replayer {
    fn properties(&self) -> &Properties {
        self.driver.properties()
    }

    /// Graphs take the GPU's memory too, and give way to values.
    fn allocate(&self, words: usize, place: Place) -> Result<u64, Failure> {
        let first = self.driver.allocate(words, place);
        if first != Err(Failure::Memory) || place == Place::Host || !self.state().give_up(&*self.driver)? {
            return first;
        }
        self.driver.wait()?; // that is when graphs go
        self.driver.allocate(words, place)
    }

    fn release(&self, at: u64, words: usize, place: Place) {
        // A failure is met again, and told, at the next wait.
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

    // Copies are on the other queue, where nothing is held back: what they wait for are marks.

    fn copy(&self, to: u64, from: u64, words: usize) -> Result<(), Failure> {
        self.driver.copy(to, from, words)
    }

    fn mark(&self, queue: Queue) -> Result<Mark, Failure> {
        if queue == Queue::Compute { self.now()?.mark(queue) } else { self.driver.mark(queue) }
    }

    fn wait_for(&self, queue: Queue, mark: Mark) -> Result<(), Failure> {
        if queue == Queue::Compute { self.now()?.wait_for(queue, mark) } else { self.driver.wait_for(queue, mark) }
    }

    fn forget(&self, mark: Mark) {
        self.driver.forget(mark);
    }

    fn wait(&self) -> Result<(), Failure> {
        self.now()?.wait()
    }
}
