//! The regions of a program that are open, thread by thread: kept only where somebody asks what runs.

use limbwise_device::{LeaveRegion, OpenRegion, Region};
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
    open: Mutex<Vec<(ThreadId, Region, u32)>>,
}

impl Regions {
    /// Keeps what is entered from now on.
    pub(crate) fn keep(&self) {
        self.kept.store(true, Ordering::Relaxed);
    }

    pub(crate) fn enter(&self, region: Region, index: u32) -> OpenRegion<'_> {
        if !self.kept.load(Ordering::Relaxed) {
            return OpenRegion::none();
        }
        self.lock().push((thread::current().id(), region, index));
        OpenRegion::reporting_to(self)
    }

    /// Open regions of the calling thread, outermost first.
    pub(crate) fn open(&self) -> Vec<(Region, u32)> {
        let own = thread::current().id();
        self.lock().iter().filter(|(id, ..)| *id == own).map(|&(_, region, index)| (region, index)).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(ThreadId, Region, u32)>> {
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
        drop(regions.enter("unseen".into(), 0));
        regions.keep();
        let _outer = regions.enter("outer".into(), 2);
        thread::scope(|scope| {
            scope.spawn(|| {
                let _other = regions.enter("other".into(), 0);
                assert_eq!(regions.open(), [("other".into(), 0)]);
            });
        });
        let inner = regions.enter("inner".into(), 0);
        assert_eq!(regions.open(), [("outer".into(), 2), ("inner".into(), 0)]);
        drop(inner);
        assert_eq!(regions.open(), [("outer".into(), 2)]);
    }
}
