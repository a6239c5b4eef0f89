//! What bounds the time of an operation.

use std::collections::BTreeMap;

/// Nanoseconds by what they go to.
#[derive(Clone, Copy, Default)]
pub(super) struct Time {
    /// Arithmetic, if all threads had the same to do.
    pub(super) arithmetic: f64,
    /// Threads without a row wait for those that have one.
    pub(super) too_few_rows: f64,
    /// Bytes that come from caches or memory no faster.
    pub(super) memory: f64,
    /// Calls, whatever they do.
    pub(super) calls: f64,
}

impl Time {
    pub(super) fn total(self) -> f64 {
        self.arithmetic + self.too_few_rows + self.memory + self.calls
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self {
            arithmetic: self.arithmetic + other.arithmetic,
            too_few_rows: self.too_few_rows + other.too_few_rows,
            memory: self.memory + other.memory,
            calls: self.calls + other.calls,
        }
    }

    pub(super) fn times(self, factor: f64) -> Self {
        let Self { arithmetic, too_few_rows, memory, calls } = self;
        let scaled = |part: f64| factor * part;
        Self {
            arithmetic: scaled(arithmetic),
            too_few_rows: scaled(too_few_rows),
            memory: scaled(memory),
            calls: scaled(calls),
        }
    }

    /// Seconds by name, of what takes any.
    pub(super) fn named(self) -> BTreeMap<&'static str, f64> {
        let parts = [
            ("arithmetic", self.arithmetic),
            ("too few rows for all threads", self.too_few_rows),
            ("memory", self.memory),
            ("calls", self.calls),
        ];
        parts.into_iter().filter(|(_, ns)| *ns > 0.0).map(|(name, ns)| (name, ns * 1e-9)).collect()
    }
}
