//! The regions of a program that are open, thread by thread: kept only where somebody asks what runs.

use limbwise_device::{LeaveRegion, Region};
use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, ThreadId},
};

/// Open regions, in the order in which they were entered.
#[derive(Debug, Default)]
pub(crate) struct Regions {
    kept: AtomicBool,
    open: Mutex<Vec<(ThreadId, &'static str, u32)>>,
}

impl Regions {
    /// Keeps what is entered from now on.
    pub(crate) fn keep(&self) {
        self.kept.store(true, Ordering::Relaxed);
    }

    pub(crate) fn enter(&self, name: &'static str, index: u32) -> Region<'_> {
        if !self.kept.load(Ordering::Relaxed) {
            return Region::none();
        }
        self.lock().push((thread::current().id(), name, index));
        Region::watched(self)
    }

    /// Those of the calling thread, outermost first.
    pub(crate) fn open(&self) -> Vec<(&'static str, u32)> {
        let own = thread::current().id();
        self.lock().iter().filter(|(id, ..)| *id == own).map(|&(_, name, index)| (name, index)).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(ThreadId, &'static str, u32)>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LeaveRegion for Regions {
    fn leave_region(&self) {
        let own = thread::current().id();
        let mut open = self.lock();
        if let Some(at) = open.iter().rposition(|(id, ..)| *id == own) {
            open.remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_its_own() {
        let regions = Regions::default();
        drop(regions.enter("unseen", 0));
        regions.keep();
        let _outer = regions.enter("outer", 2);
        thread::scope(|scope| {
            scope.spawn(|| {
                let _other = regions.enter("other", 0);
                assert_eq!(regions.open(), [("other", 0)]);
            });
        });
        let inner = regions.enter("inner", 0);
        assert_eq!(regions.open(), [("outer", 2), ("inner", 0)]);
        drop(inner);
        assert_eq!(regions.open(), [("outer", 2)]);
    }
}
