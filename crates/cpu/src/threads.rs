//! The threads of a device: a pool that the thread which opens the device belongs to, and others where that does not serve.
//!
//! A program hands its device thousands of operations, most of them some ten microseconds long. To hand one to a pool from
//! outside costs two switches of threads, since the caller sleeps until it is done; a caller inside works on it at once, and
//! wakes the others meanwhile. So the opening thread joins its pool, once and for all of its devices.
//!
//! A fork copies the memory of a pool and none of its threads: a child that hands it work waits for ever. So a pool belongs
//! to the process that started it, and another process starts its own when it first needs one.
//!
//! What a fork copies in the middle of a computation cannot be mended here: a lock that another thread holds then stays held
//! in the child. Whoever forks does so while nothing computes, as for every library with threads.

use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
use std::{
    cell::RefCell,
    process,
    sync::{Arc, OnceLock},
};

thread_local! {
    /// The pool that this thread has joined, which it cannot leave: the devices that it opens share it.
    static JOINED: RefCell<Option<Arc<ThreadPool>>> = const { RefCell::new(None) };
}

/// The pools of a device, and those of the processes that were forked from its own.
pub(crate) struct Threads {
    count: usize,
    process: u32,
    /// Of the thread that opened the device. Absent where it had joined one of another size, and once it is let go.
    joined: Option<Arc<ThreadPool>>,
    /// For all other threads, such as those of a server. Absent where the system refused the threads.
    plain: OnceLock<Option<ThreadPool>>,
    child: OnceLock<Box<Threads>>,
}

/// The pool of this thread, if it has this size.
fn join(count: usize) -> Option<Arc<ThreadPool>> {
    JOINED.with_borrow_mut(|joined| {
        if joined.is_none() {
            // Refused where somebody else's pool has this thread.
            *joined = ThreadPoolBuilder::new().num_threads(count).use_current_thread().build().ok().map(Arc::new);
        }
        joined.clone().filter(|pool| pool.current_num_threads() == count)
    })
}

fn plain(count: usize) -> Result<ThreadPool, ThreadPoolBuildError> {
    ThreadPoolBuilder::new().num_threads(count).build()
}

impl Threads {
    /// Starts `count` threads, or joins this thread with one less.
    pub(crate) fn start(count: usize) -> Result<Self, ThreadPoolBuildError> {
        let joined = join(count);
        let plain = if joined.is_none() { OnceLock::from(Some(plain(count)?)) } else { OnceLock::new() };
        Ok(Self { count, process: process::id(), joined, plain, child: OnceLock::new() })
    }

    /// Number of threads.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The pool of this process and thread. Once it is there, reading takes no lock: a lock that another thread held at the
    /// fork would stay held.
    pub(crate) fn pool(&self) -> Option<&ThreadPool> {
        if self.process != process::id() {
            let plain = || OnceLock::from(plain(self.count).ok());
            let start = || {
                let (count, process) = (self.count, process::id());
                Box::new(Self { count, process, joined: None, plain: plain(), child: OnceLock::new() })
            };
            return self.child.get_or_init(start).pool();
        }
        let inside = self.joined.as_deref().filter(|pool| pool.current_thread_index().is_some());
        inside.or_else(|| self.plain.get_or_init(|| plain(self.count).ok()).as_ref())
    }
}

impl Drop for Threads {
    /// In a child nothing can be said to the parent's threads: the memory of their pools is left.
    fn drop(&mut self) {
        if self.process != process::id() {
            Box::leak(Box::new((self.joined.take(), self.plain.take())));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_works_in_its_own_pool_and_others_in_a_whole_one() {
        let [first, second] = [3, 3].map(|count| Threads::start(count).unwrap());
        let index = |threads: &Threads| threads.pool().unwrap().install(rayon::current_thread_index);
        assert_eq!([&first, &second].map(index), [Some(0); 2], "the caller itself, for all of its devices");
        let elsewhere = std::thread::scope(|scope| scope.spawn(|| first.pool().unwrap().current_num_threads()).join());
        assert_eq!(elsewhere.unwrap(), 3);
        let other_size = Threads::start(2).unwrap();
        assert_eq!(other_size.pool().unwrap().current_num_threads(), 2);
        assert_eq!(other_size.pool().unwrap().current_thread_index(), None);
    }
}
