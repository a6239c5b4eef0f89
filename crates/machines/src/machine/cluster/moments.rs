//! Moments of a batch, and what the time up to them passes with.

/// What the time of a batch passes with.
#[derive(Clone, Copy)]
pub(super) enum Step {
    Keys,
    Start,
    Inputs,
    Part,
    Task,
    Results,
}

/// Steps by their names in reports: on the link, on nodes, and parts, which have a critical path of their own.
pub(super) const LINK: [(Step, &str); 3] = [(Step::Keys, "keys"), (Step::Inputs, "inputs"), (Step::Results, "results")];
pub(super) const NODES: [(Step, &str); 2] = [(Step::Start, "start"), (Step::Task, "task")];

/// A moment: seconds from the start of a batch, and what they passed with on the longest way to it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moment {
    pub(super) at: f64,
    pub(super) of: [f64; 6],
}

impl Moment {
    pub(super) fn after(mut self, step: Step, seconds: f64) -> Self {
        self.at += seconds;
        self.of[step as usize] += seconds;
        self
    }

    pub(super) fn or_later(self, other: Self) -> Self {
        if other.at > self.at { other } else { self }
    }
}

/// Moments of a batch.
pub(super) struct Followed {
    /// The first node has its keys and has started.
    pub(super) first: f64,
    /// All nodes have.
    pub(super) all: f64,
    /// The last result is there.
    pub(super) end: Moment,
}
