//! The order in which a GPU's two queues are worked off, for tests: any order that queues and marks allow may come, so each
//! of these is one that shows a wait which was left out.

use crate::{
    driver::{Mark, Queue},
    launch::Launch,
};
use limbwise_math::sampling::{Seed, Stream};
use std::collections::{HashSet, VecDeque};

/// Which queue goes first where either may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// All is done when it is asked for.
    AsAsked,
    /// Copies when nothing else can go on: shows kernels that do not wait for them.
    CopyLate,
    /// Kernels when the host waits for them: shows copies that do not wait for kernels.
    CopyEarly,
    /// By lot.
    Random(u8),
}

/// What is asked of a queue.
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
    Mark(Mark),
    Wait(Mark),
}

/// Two queues.
pub(crate) struct Turns {
    order: Order,
    lots: Stream,
    queues: [VecDeque<Work>; 2],
    held_words: usize,
    marks: usize,
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
        let lots = Stream::new(&Seed([seed; 32]), b"turns");
        let queues = [VecDeque::new(), VecDeque::new()];
        Self { order, lots, queues, held_words: 0, marks: 0, reached: HashSet::new() }
    }

    fn queue(&mut self, queue: Queue) -> &mut VecDeque<Work> {
        &mut self.queues[usize::from(queue == Queue::Copy)]
    }

    fn lot(&mut self, of: u64) -> u64 {
        self.lots.next_word() % of
    }

    pub(crate) fn mark(&mut self, queue: Queue) -> Mark {
        self.marks += 1;
        let mark = Mark(self.marks);
        self.ask(queue, Work::Mark(mark));
        mark
    }

    pub(crate) fn ask(&mut self, queue: Queue, work: Work) {
        self.held_words += work.held_words();
        self.queue(queue).push_back(work);
    }

    /// The next work of a queue, unless it is empty or waits for the other.
    fn take(&mut self, queue: Queue) -> Option<Work> {
        loop {
            match self.queue(queue).pop_front()? {
                Work::Wait(mark) if !self.reached.contains(&mark.0) => {
                    self.queue(queue).push_front(Work::Wait(mark));
                    return None;
                }
                work => {
                    self.held_words -= work.held_words();
                    match work {
                        Work::Mark(mark) => drop(self.reached.insert(mark.0)),
                        Work::Wait(_) => {}
                        work => return Some(work),
                    }
                }
            }
        }
    }

    fn first(&mut self) -> Queue {
        match self.order {
            Order::AsAsked | Order::CopyLate => Queue::Compute,
            Order::CopyEarly => Queue::Copy,
            Order::Random(_) => [Queue::Compute, Queue::Copy][usize::from(self.lot(2) == 1)],
        }
    }

    /// What is done now though nobody waits for it.
    pub(crate) fn unasked(&mut self) -> Option<Work> {
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
        let second = if first == Queue::Copy { Queue::Compute } else { Queue::Copy };
        // A mark that the second one reaches may be what the first waits for.
        self.take(first).or_else(|| self.take(second)).or_else(|| self.take(first))
    }

    /// What is to be done before this queue is done; nothing when it is.
    ///
    /// # Panics
    /// If both queues wait.
    pub(crate) fn before(&mut self, queue: Queue) -> Option<Work> {
        if self.queue(queue).is_empty() {
            return None;
        }
        let work = self.either();
        assert!(work.is_some() || self.queue(queue).is_empty(), "both queues wait: {:?}", self.queues);
        work
    }
}
