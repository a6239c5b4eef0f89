//! The threads of a device, started again in a process that was forked.
//!
//! A fork copies the memory of a pool and none of its threads: a child that hands it work waits for ever. So a pool belongs
//! to the process that started it, and another process starts its own when it first needs one.
//!
//! What a fork copies in the middle of a computation cannot be mended here: a lock that another thread holds then stays held
//! in the child. Whoever forks does so while nothing computes, as for every library with threads.

use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
use std::{process, sync::OnceLock};

/// A pool, and those of the processes that were forked from its own.
pub(crate) struct Threads {
    count: usize,
    process: u32,
    /// Absent where the system refused the threads to a child, and once it is let go.
    pool: Option<ThreadPool>,
    child: OnceLock<Box<Threads>>,
}

impl Threads {
    /// Starts `count` threads.
    pub(crate) fn start(count: usize) -> Result<Self, ThreadPoolBuildError> {
        let pool = Some(ThreadPoolBuilder::new().num_threads(count).build()?);
        Ok(Self { count, process: process::id(), pool, child: OnceLock::new() })
    }

    /// Number of threads.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// This process's pool. Reading takes no lock: a lock that another thread held at the fork would stay held.
    pub(crate) fn pool(&self) -> Option<&ThreadPool> {
        if self.process == process::id() {
            return self.pool.as_ref();
        }
        let start = || {
            let pool = ThreadPoolBuilder::new().num_threads(self.count).build().ok();
            Box::new(Self { count: self.count, process: process::id(), pool, child: OnceLock::new() })
        };
        self.child.get_or_init(start).pool()
    }
}

impl Drop for Threads {
    /// In a child nothing can be said to the parent's threads: the memory of their pool is left.
    fn drop(&mut self) {
        if self.process != process::id() {
            Box::leak(Box::new(self.pool.take()));
        }
    }
}
