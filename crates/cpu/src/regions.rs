//! The regions of a program that are open, thread by thread, and their times: kept only where somebody asks.

use limbwise_device::{LeaveRegion, OpenRegion, Region};
use std::{
    collections::HashMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, ThreadId},
    time::{Duration, Instant},
};

/// Regions from the outermost to one of them, each with its index, and the time spent in it, inner ones included.
pub type RegionTimes = HashMap<Vec<(Region, u32)>, Duration>;

/// A region that is open.
#[derive(Debug)]
struct Open {
    thread: ThreadId,
    region: Region,
    index: u32,
    since: Instant,
}

/// Open regions, in the order in which they were entered, and times of those that ended.
#[derive(Debug, Default)]
pub(crate) struct Regions {
    kept: AtomicBool,
    open: Mutex<Vec<Open>>,
    /// `None` where nobody asks for times.
    times: Mutex<Option<RegionTimes>>,
}

impl Regions {
    /// Keeps what is entered from now on.
    pub(crate) fn keep(&self) {
        self.kept.store(true, Ordering::Relaxed);
    }

    /// Times what is entered from now on.
    pub(crate) fn time(&self) {
        *lock(&self.times) = Some(RegionTimes::new());
        self.keep();
    }

    /// Times since [`Self::time`].
    pub(crate) fn times(&self) -> RegionTimes {
        lock(&self.times).clone().unwrap_or_default()
    }

    pub(crate) fn enter(&self, region: Region, index: u32) -> OpenRegion<'_> {
        if !self.kept.load(Ordering::Relaxed) {
            return OpenRegion::none();
        }
        let (thread, since) = (thread::current().id(), Instant::now());
        lock(&self.open).push(Open { thread, region, index, since });
        OpenRegion::reporting_to(self)
    }

    /// Open regions of the calling thread, outermost first.
    pub(crate) fn open(&self) -> Vec<(Region, u32)> {
        let own = thread::current().id();
        lock(&self.open).iter().filter(|open| open.thread == own).map(|open| (open.region, open.index)).collect()
    }
}

fn lock<T>(kept: &Mutex<T>) -> MutexGuard<'_, T> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

impl LeaveRegion for Regions {
    fn leave_region(&self) {
        let own = thread::current().id();
        let since = lock(&self.open).iter().rfind(|open| open.thread == own).map(|open| open.since);
        if let (Some(times), Some(since)) = (&mut *lock(&self.times), since) {
            *times.entry(self.open()).or_default() += since.elapsed();
        }
        let mut open = lock(&self.open);
        if let Some(at) = open.iter().rposition(|open| open.thread == own) {
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
        assert!(regions.times().is_empty(), "nobody asked");
    }

    #[test]
    fn times_are_those_of_paths() {
        let regions = Regions::default();
        regions.time();
        for _ in 0..2 {
            let _outer = regions.enter("outer".into(), 1);
            drop(regions.enter("inner".into(), 0));
            drop(regions.enter("inner".into(), 3));
        }
        let times = regions.times();
        let of = |path: &[(&'static str, u32)]| {
            times[&path.iter().map(|&(name, index)| (name.into(), index)).collect::<Vec<_>>()]
        };
        assert_eq!(times.len(), 3);
        assert!(of(&[("outer", 1)]) >= of(&[("outer", 1), ("inner", 0)]) + of(&[("outer", 1), ("inner", 3)]));
    }
}
