//! The threads of a device: a crew of helpers that stay awake between operations which follow each other.
//!
//! A program hands its device thousands of operations, many of them some ten microseconds long. To wake a thread that
//! sleeps takes ten to twenty on a virtual machine, to hand work to one that looks for it less than one. So a helper looks
//! for a while ([`AWAKE`]) before it sleeps, the caller works on what it hands out, and waits only for helpers that have
//! entered: one that wakes late finds the door closed.
//!
//! Items are divided into as many stretches as there are threads, the same for the same number of items, so that a limb
//! tends to be worked on by the core whose cache has it; whoever is done with its own takes from the others'.
//!
//! One caller at a time has the crew. Others, and tasks that hand out work themselves, do their work alone.
//!
//! A fork copies the memory of a crew and none of its threads: a child that waits for one waits for ever. So a crew belongs
//! to the process that started it, and another process starts its own when it first needs one. What a fork copies in the
//! middle of a computation cannot be mended here: whoever forks does so while nothing computes.

use std::{
    any::Any,
    cell::Cell,
    io,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    process, ptr,
    sync::{
        Arc, Mutex, OnceLock, PoisonError, TryLockError,
        atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// How long a helper looks for work before it sleeps: longer than what a program does between two operations.
const AWAKE: Duration = Duration::from_micros(300);

thread_local! {
    static INDEX: Cell<usize> = const { Cell::new(0) };
}

/// Number of this thread in the crew that it works for; 0 for whoever hands out work.
pub(crate) fn index() -> usize {
    INDEX.get()
}

/// The crew of a device, and those of the processes that were forked from its own.
pub(crate) struct Threads {
    count: usize,
    process: u32,
    crew: Option<Crew>,
    child: OnceLock<Box<Threads>>,
}

impl Threads {
    /// Starts one thread less than `count`.
    pub(crate) fn start(count: usize) -> io::Result<Self> {
        Ok(Self { count, process: process::id(), crew: Some(Crew::start(count)?), child: OnceLock::new() })
    }

    /// Number of threads, the caller among them.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The crew of this process; `None` where the system refused the threads of a child. Once it is there, reading takes no
    /// lock: a lock that another thread held at the fork would stay held.
    pub(crate) fn crew(&self) -> Option<&Crew> {
        if self.process == process::id() {
            return self.crew.as_ref();
        }
        let start = || {
            let (count, process) = (self.count, process::id());
            Box::new(Self { count, process, crew: Crew::start(count).ok(), child: OnceLock::new() })
        };
        self.child.get_or_init(start).crew()
    }
}

impl Drop for Threads {
    /// In a child nothing can be said to the parent's threads: what they share is left.
    fn drop(&mut self) {
        if self.process != process::id() {
            Box::leak(Box::new(self.crew.take()));
        }
    }
}

/// Whether threads that sleep are worth waking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wake {
    All,
    Nobody,
}

/// Threads that help whoever hands out work.
pub(crate) struct Crew {
    shared: Arc<Shared>,
    helpers: Vec<JoinHandle<()>>,
    /// Held by the caller whose work is done; the number of the last job.
    turn: Mutex<u32>,
}

/// What a caller and its helpers share.
struct Shared {
    /// The number of a job above; [`OPEN`] while one may enter; the helpers inside below.
    door: AtomicU64,
    /// The job behind the door: valid while that is open or somebody is inside.
    job: AtomicPtr<Job<'static>>,
    asleep: Vec<AtomicBool>,
    closing: AtomicBool,
    awake: Duration,
}

const NUMBER: u32 = 32;
const OPEN: u64 = 1 << 31;

/// Work on numbered items.
struct Job<'a> {
    work: &'a (dyn Fn(usize) + Sync),
    stretches: Vec<Stretch>,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

/// Items of one thread, on a cache line of their own.
#[repr(align(64))]
struct Stretch {
    next: AtomicUsize,
    end: usize,
}

impl<'a> Job<'a> {
    fn new(work: &'a (dyn Fn(usize) + Sync), items: usize, threads: usize) -> Self {
        let stretch =
            |t: usize| Stretch { next: AtomicUsize::new(t * items / threads), end: (t + 1) * items / threads };
        Self { work, stretches: (0..threads).map(stretch).collect(), panic: Mutex::new(None) }
    }

    /// Does items until there are none, those of one thread first. A panic ends the job and is kept for the caller.
    fn run(&self, own: usize) {
        let all = || {
            let (before, after) = self.stretches.split_at(own);
            for stretch in after.iter().chain(before) {
                loop {
                    let item = stretch.next.fetch_add(1, Ordering::Relaxed);
                    if item >= stretch.end {
                        break;
                    }
                    (self.work)(item);
                }
            }
        };
        if let Err(payload) = catch_unwind(AssertUnwindSafe(all)) {
            self.stretches.iter().for_each(|stretch| stretch.next.store(stretch.end, Ordering::Relaxed));
            self.panic.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(payload);
        }
    }
}

impl Shared {
    /// Waits for a job other than number `done`, first awake and then asleep; `None` when the crew is dismissed.
    fn wait(&self, helper: usize, done: u64) -> Option<u64> {
        let open = |door: u64| (door & OPEN != 0 && door >> NUMBER != done).then_some(door >> NUMBER);
        loop {
            let start = Instant::now();
            loop {
                for _ in 0..64 {
                    if let Some(number) = open(self.door.load(Ordering::Acquire)) {
                        return Some(number);
                    }
                    std::hint::spin_loop();
                }
                if self.closing.load(Ordering::Acquire) {
                    return None;
                }
                if start.elapsed() >= self.awake {
                    break;
                }
            }
            // The caller writes the door and then looks who sleeps; a helper says that it sleeps and then looks at the door.
            self.asleep[helper].store(true, Ordering::SeqCst);
            if open(self.door.load(Ordering::SeqCst)).is_none() && !self.closing.load(Ordering::SeqCst) {
                thread::park();
            }
            self.asleep[helper].store(false, Ordering::SeqCst);
        }
    }

    /// Goes in to job `number`, unless its door is closed.
    fn enter(&self, number: u64) -> bool {
        let inside = |door: u64| (door & OPEN != 0 && door >> NUMBER == number).then_some(door + 1);
        self.door.fetch_update(Ordering::AcqRel, Ordering::Acquire, inside).is_ok()
    }

    /// The life of a helper; `own` is its number, from 1 on.
    fn help(&self, own: usize) {
        INDEX.set(own);
        let mut done = 0;
        while let Some(number) = self.wait(own - 1, done) {
            if self.enter(number) {
                #[expect(unsafe_code, reason = "a job lives on the stack of its caller")]
                // SAFETY: this thread is inside, and a caller keeps its job until nobody is.
                let job = unsafe { &*self.job.load(Ordering::Relaxed) };
                job.run(own);
                self.door.fetch_sub(1, Ordering::Release);
            }
            done = number;
        }
    }

    /// Closes the door and waits until nobody is inside.
    fn close(&self) {
        self.door.fetch_and(!OPEN, Ordering::AcqRel);
        let mut looks = 0u32;
        while self.door.load(Ordering::Acquire) & (OPEN - 1) != 0 {
            looks = looks.saturating_add(1);
            // Where there are more threads than cores, the one that is waited for may need this one.
            if looks < 1 << 12 { std::hint::spin_loop() } else { thread::yield_now() }
        }
    }
}

impl Crew {
    /// Starts the helpers of a crew of `count` threads. Where there are fewer cores, they sleep between operations.
    fn start(count: usize) -> io::Result<Self> {
        let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let shared = Arc::new(Shared {
            door: AtomicU64::new(0),
            job: AtomicPtr::new(ptr::null_mut()),
            asleep: (1..count).map(|_| AtomicBool::new(false)).collect(),
            closing: AtomicBool::new(false),
            awake: if count <= cores { AWAKE } else { Duration::ZERO },
        });
        let mut crew = Self { shared, helpers: Vec::new(), turn: Mutex::new(0) };
        for own in 1..count {
            let shared = crew.shared.clone();
            let name = format!("limbwise-{own}");
            crew.helpers.push(thread::Builder::new().name(name).spawn(move || shared.help(own))?);
        }
        Ok(crew)
    }

    /// Runs a task for each item, on all threads of the crew that are awake or woken; alone if somebody else has the crew.
    pub(crate) fn each<T: Send>(&self, items: Vec<T>, wake: Wake, task: impl Fn(usize, T) + Sync) {
        let turn = match self.turn.try_lock() {
            Ok(turn) => Some(turn),
            Err(TryLockError::Poisoned(turn)) => Some(turn.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        };
        let Some(mut turn) = turn else {
            return items.into_iter().enumerate().for_each(|(i, item)| task(i, item));
        };
        *turn = turn.wrapping_add(1);
        let items: Vec<Mutex<Option<T>>> = items.into_iter().map(|item| Mutex::new(Some(item))).collect();
        let work = |i: usize| {
            let item = items[i].lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(item) = item {
                task(i, item);
            }
        };
        let job = Job::new(&work, items.len(), self.helpers.len() + 1);
        self.shared.job.store(ptr::from_ref(&job).cast::<Job<'static>>().cast_mut(), Ordering::Relaxed);
        self.shared.door.store(u64::from(*turn) << NUMBER | OPEN, Ordering::SeqCst);
        if wake == Wake::All {
            let sleepers = self.helpers.iter().zip(&self.shared.asleep);
            sleepers
                .filter(|(_, asleep)| asleep.load(Ordering::SeqCst))
                .for_each(|(helper, _)| helper.thread().unpark());
        }
        job.run(0); // does not unwind, so the door is closed before the job goes
        self.shared.close();
        let panic = job.panic.into_inner().unwrap_or_else(PoisonError::into_inner);
        drop(turn);
        if let Some(payload) = panic {
            resume_unwind(payload);
        }
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.shared.closing.store(true, Ordering::SeqCst);
        for helper in self.helpers.drain(..) {
            helper.thread().unpark();
            drop(helper.join()); // a helper catches the panics of its work
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    #[test]
    fn each_item_is_done_once() {
        for count in [2, 3, 8] {
            let threads = Threads::start(count).unwrap();
            let crew = threads.crew().unwrap();
            for items in [1, 2, 3, 100] {
                let done: Vec<AtomicU32> = (0..items).map(|_| AtomicU32::new(0)).collect();
                for wake in [Wake::All, Wake::Nobody] {
                    crew.each((0..items).collect(), wake, |i, item: usize| {
                        assert!(i == item && index() < count);
                        done[item].fetch_add(1, Ordering::Relaxed);
                    });
                }
                assert!(done.iter().all(|done| done.load(Ordering::Relaxed) == 2), "{items} items on {count}");
            }
        }
    }

    #[test]
    fn helpers_help_and_wake_up() {
        let threads = Threads::start(2).unwrap();
        let crew = threads.crew().unwrap();
        for pause in [Duration::ZERO, 20 * AWAKE] {
            thread::sleep(pause);
            // Each waits for the other, so both must be at work.
            let here = [AtomicBool::new(false), AtomicBool::new(false)];
            crew.each(vec![0, 1], Wake::All, |_, i: usize| {
                here[i].store(true, Ordering::SeqCst);
                while !here[1 - i].load(Ordering::SeqCst) {
                    thread::yield_now();
                }
            });
        }
    }

    #[test]
    fn work_within_work_and_beside_it_is_done() {
        let threads = Threads::start(2).unwrap();
        let crew = threads.crew().unwrap();
        let sum = AtomicUsize::new(0);
        let add = |_, i: usize| _ = sum.fetch_add(i, Ordering::Relaxed);
        crew.each(vec![1, 2, 3], Wake::All, |_, times: usize| crew.each(vec![10; times], Wake::All, add));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..100).for_each(|_| crew.each(vec![1; 7], Wake::All, add)));
            }
        });
        assert_eq!(sum.into_inner(), 60 + 2800);
    }

    #[test]
    fn a_panic_reaches_the_caller_and_ends_nothing_else() {
        let threads = Threads::start(2).unwrap();
        let crew = threads.crew().unwrap();
        let fails =
            AssertUnwindSafe(|| crew.each((0..10).collect(), Wake::All, |_, i: usize| assert!(i != 7, "seven")));
        let payload = catch_unwind(fails).unwrap_err();
        assert!(payload.downcast_ref::<&str>().is_some_and(|text| text.contains("seven")));
        let done = AtomicUsize::new(0);
        crew.each(vec![(); 10], Wake::All, |_, ()| _ = done.fetch_add(1, Ordering::Relaxed));
        assert_eq!(done.into_inner(), 10);
    }
}
