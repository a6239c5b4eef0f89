//! The order in which a GPU's two streams are worked off, for tests: any order that streams and events allow may come, so each
//! of these is one that shows a wait which was left out.

use crate::{
    driver::{Event, Stream},
    launch::Launch,
};
use limbwise_math::sampling::{self, Seed};
use std::collections::{HashSet, VecDeque};

/// Order of two streams that may both run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// All is done when it is asked for.
    AsAsked,
    /// Copies when nothing else can go on: shows kernels that do not wait for them.
    CopyLate,
    /// Kernels when the host waits for them: shows copies that do not wait for kernels.
    CopyEarly,
    /// At random, by seed.
    Random(u8),
}

/// A request to a stream.
#[derive(Debug)]
pub(crate) enum Work {
    /// Memory is there from now on, or until now.
    Memory {
        at: u64,
        there: bool,
    },
    Write {
        to: u64,
        words: Vec<u64>,
    },
    Zero {
        at: u64,
        words: usize,
    },
    Launch(Launch),
    Copy {
        to: u64,
        from: u64,
        words: usize,
    },
    Event(Event),
    Wait(Event),
}

/// Two streams.
pub(crate) struct Turns {
    order: Order,
    lots: sampling::Stream,
    streams: [VecDeque<Work>; 2],
    held_words: usize,
    events: usize,
    reached: HashSet<usize>,
}

/// Words of work that waits at most: 32 MiB.
const MOST: usize = 1 << 22;

impl Work {
    fn held_words(&self) -> usize {
        match self {
            Self::Write { words, .. } => words.len(),
            Self::Launch(launch) => launch.args.words.len(),
            _ => 1,
        }
    }
}

impl Turns {
    pub(crate) fn new(order: Order) -> Self {
        let seed = if let Order::Random(seed) = order { seed } else { 0 };
        let lots = sampling::Stream::new(&Seed([seed; 32]), b"turns");
        let streams = [VecDeque::new(), VecDeque::new()];
        Self { order, lots, streams, held_words: 0, events: 0, reached: HashSet::new() }
    }

    fn stream(&mut self, stream: Stream) -> &mut VecDeque<Work> {
        &mut self.streams[usize::from(stream == Stream::Copy)]
    }

    fn lot(&mut self, of: u64) -> u64 {
        self.lots.next_word() % of
    }

    pub(crate) fn event(&mut self, stream: Stream) -> Event {
        self.events += 1;
        let event = Event(self.events);
        self.ask(stream, Work::Event(event));
        event
    }

    pub(crate) fn ask(&mut self, stream: Stream, work: Work) {
        self.held_words += work.held_words();
        self.stream(stream).push_back(work);
    }

    /// The next work of a stream, unless it is empty or waits for the other.
    fn take(&mut self, stream: Stream) -> Option<Work> {
        loop {
            match self.stream(stream).pop_front()? {
                Work::Wait(event) if !self.reached.contains(&event.0) => {
                    self.stream(stream).push_front(Work::Wait(event));
                    return None;
                }
                work => {
                    self.held_words -= work.held_words();
                    match work {
                        Work::Event(event) => drop(self.reached.insert(event.0)),
                        Work::Wait(_) => {}
                        work => return Some(work),
                    }
                }
            }
        }
    }

    fn first(&mut self) -> Stream {
        match self.order {
            Order::AsAsked | Order::CopyLate => Stream::Compute,
            Order::CopyEarly => Stream::Copy,
            Order::Random(_) => [Stream::Compute, Stream::Copy][usize::from(self.lot(2) == 1)],
        }
    }

    /// Work that is due although nothing waits for it.
    pub(crate) fn take_due_work(&mut self) -> Option<Work> {
        match self.order {
            _ if self.held_words > MOST => self.either(),
            Order::AsAsked => self.either(),
            Order::CopyLate | Order::CopyEarly => {
                let first = self.first();
                self.take(first)
            }
            Order::Random(_) => {
                let (now, first) = (self.lot(4) == 0, self.first());
                now.then(|| self.take(first)).flatten()
            }
        }
    }

    fn either(&mut self) -> Option<Work> {
        let first = self.first();
        let second = if first == Stream::Copy { Stream::Compute } else { Stream::Copy };
        // A event that the second one reaches may be what the first waits for.
        self.take(first).or_else(|| self.take(second)).or_else(|| self.take(first))
    }

    /// The next work that this stream must finish; `None` if it is idle.
    ///
    /// # Panics
    /// If both streams wait.
    pub(crate) fn before(&mut self, stream: Stream) -> Option<Work> {
        if self.stream(stream).is_empty() {
            return None;
        }
        let work = self.either();
        assert!(work.is_some() || self.stream(stream).is_empty(), "both streams wait: {:?}", self.streams);
        work
    }
}
