//! Memory of the computer, and maps that would take more than there is.

use std::sync::atomic::{AtomicU64, Ordering};

/// Memory that the system can still provide (MemAvailable), in bytes; `None` if it does not say.
pub fn available_bytes() -> Option<u64> {
    field("/proc/meminfo", "MemAvailable:")
}

/// A number of KiB from a /proc file of names and numbers, in bytes.
pub fn field(file: &str, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}

/// Room for what is made on several threads: it is asked before memory is taken, since a system that has none ends the
/// process without a word.
#[derive(Debug)]
pub(crate) struct Room {
    pub(crate) bytes: u64,
    /// Bytes of one thing that are kept. More are made again when they are used.
    pub(crate) kept: u64,
    taken: AtomicU64,
}

/// Clear numbers of a linear operation that are kept: those of a network of twenty layers together are gigabytes, and to make
/// them again takes little of their use (ADR 190).
const KEPT: u64 = 1 << 26;

impl Room {
    pub(crate) fn of(bytes: u64) -> Self {
        Self { bytes, kept: KEPT, taken: AtomicU64::new(0) }
    }

    /// Three quarters of what the system can still provide: the rest is for other programs, and what else this one makes.
    pub(crate) fn of_system() -> Self {
        Self::of(available_bytes().map_or(u64::MAX, |bytes| bytes / 4 * 3))
    }

    /// Whether so many bytes more fit.
    pub(crate) fn takes(&self, bytes: u64) -> bool {
        let before = self.taken.fetch_add(bytes, Ordering::Relaxed);
        before.saturating_add(bytes) <= self.bytes
    }

    /// Takes back what is no longer needed.
    pub(crate) fn gives(&self, bytes: u64) {
        self.taken.fetch_sub(bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_given_once() {
        let room = Room::of(10);
        assert!(room.takes(4) && room.takes(6) && !room.takes(1));
        room.gives(2);
        assert!(room.takes(1) && !room.takes(1));
        assert!(available_bytes().is_none_or(|bytes| bytes > 1 << 20));
        assert_eq!(field("/proc/meminfo", "NoSuchField:"), None);
    }
}
