//! Threads that take the steps of one computation side by side, each a part of every step.
//!
//! The tasks of a crew may run on fewer threads than there are tasks ([`crate::threads`]), one after another; a part that
//! waited for a later task would wait for ever. So the parts meet first. Where one does not come in time, the first to be
//! there does all of the work, and the others find nothing to do.

use std::{
    sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

/// How long a part waits for the others to come: longer than a thread takes to wake, short beside what is worth dividing.
const PATIENCE: Duration = Duration::from_micros(100);

/// Looks at another's progress before the core is offered to others: it may be the one that runs here next.
const LOOKS: u32 = 1 << 10;

const UNDECIDED: u8 = 0;
const TOGETHER: u8 = 1;
const ALONE: u8 = 2;

/// The parts of one computation.
pub(crate) struct Team {
    decided: AtomicU8,
    here: AtomicUsize,
    /// Steps that each part has done.
    done: Vec<Steps>,
    /// A part panicked: nobody waits for it.
    broken: AtomicBool,
}

/// A number of steps, on a cache line of its own.
#[repr(align(64))]
struct Steps(AtomicUsize);

/// What a part found when it came.
pub(crate) enum Met<'a> {
    /// All parts are here.
    All(Member<'a>),
    /// Nobody else came in time: this part does everything.
    Alone,
    /// Another part does everything.
    Late,
}

/// A part at work.
pub(crate) struct Member<'a> {
    team: &'a Team,
    own: usize,
}

impl Team {
    pub(crate) fn new(parts: usize) -> Self {
        let done = (0..parts).map(|_| Steps(AtomicUsize::new(0))).collect();
        Self { decided: AtomicU8::new(UNDECIDED), here: AtomicUsize::new(0), done, broken: AtomicBool::new(false) }
    }

    /// Part `own` comes, once.
    pub(crate) fn meet(&self, own: usize) -> Met<'_> {
        let decide = |to| self.decided.compare_exchange(UNDECIDED, to, Ordering::AcqRel, Ordering::Acquire);
        if self.here.fetch_add(1, Ordering::AcqRel) + 1 == self.done.len() {
            _ = decide(TOGETHER); // or it was decided before
        }
        let start = Instant::now();
        while self.decided.load(Ordering::Acquire) == UNDECIDED {
            (0..64).for_each(|_| std::hint::spin_loop());
            if start.elapsed() >= PATIENCE && decide(ALONE).is_ok() {
                return Met::Alone;
            }
        }
        match self.decided.load(Ordering::Acquire) {
            TOGETHER => Met::All(Member { team: self, own }),
            _ => Met::Late,
        }
    }
}

impl Member<'_> {
    /// Says that this part has done so many steps, and waits until all have; `false` where one never will.
    #[must_use]
    pub(crate) fn done(&self, steps: usize) -> bool {
        self.team.done[self.own].0.store(steps, Ordering::Release);
        for other in &self.team.done {
            let mut looks = 0u32;
            while other.0.load(Ordering::Acquire) < steps {
                if self.team.broken.load(Ordering::Relaxed) {
                    return false;
                }
                looks = looks.saturating_add(1);
                if looks < LOOKS { std::hint::spin_loop() } else { thread::yield_now() }
            }
        }
        true
    }
}

impl Drop for Member<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.team.broken.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        panic::catch_unwind,
        sync::{Barrier, Mutex},
    };

    /// Each part reads what the other had after the step before: the numbers of Fibonacci come out only in step.
    #[test]
    fn parts_go_in_step() {
        let team = Team::new(2);
        let values = [[0, 1].map(Mutex::new), [0, 0].map(Mutex::new)];
        let part = |own: usize| {
            let member = Member { team: &team, own };
            for step in 0..60 {
                let [now, next] = [step % 2, (step + 1) % 2].map(|i: usize| &values[i]);
                let (mine, other) = (*now[own].lock().unwrap(), *now[1 - own].lock().unwrap());
                *next[own].lock().unwrap() = if own == 0 { other } else { mine + other };
                assert!(member.done(step + 1));
            }
        };
        thread::scope(|scope| {
            scope.spawn(|| part(1));
            part(0);
        });
        assert_eq!(*values[0][0].lock().unwrap(), 1_548_008_755_920_i64);
    }

    /// Both parts find the same, and threads that are there meet: not in each of many tries on a busy machine, but in one.
    #[test]
    fn both_parts_find_the_same() {
        let both = || {
            let (team, start) = (Team::new(2), Barrier::new(2));
            let part = |own: usize| {
                start.wait();
                match team.meet(own) {
                    Met::All(_) => TOGETHER,
                    Met::Alone => ALONE,
                    Met::Late => UNDECIDED,
                }
            };
            let mut found = thread::scope(|scope| {
                let other = scope.spawn(|| part(1));
                [part(0), other.join().unwrap()]
            });
            found.sort_unstable();
            assert!(matches!(found, [TOGETHER, TOGETHER] | [UNDECIDED, ALONE]), "{found:?}");
            found == [TOGETHER; 2]
        };
        assert!((0..10_000).any(|_| both()));
    }

    #[test]
    fn one_after_another_the_first_is_alone() {
        let team = Team::new(3);
        assert!(matches!(team.meet(1), Met::Alone));
        assert!(matches!(team.meet(0), Met::Late));
        assert!(matches!(team.meet(2), Met::Late));
    }

    #[test]
    fn nobody_waits_for_a_part_that_panicked() {
        let team = Team::new(2);
        let (first, second) = (Member { team: &team, own: 0 }, Member { team: &team, own: 1 });
        let fails = std::panic::AssertUnwindSafe(move || {
            let _member = second;
            panic!("on purpose");
        });
        assert!(catch_unwind(fails).is_err());
        assert!(!first.done(1));
    }
}
