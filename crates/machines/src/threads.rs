//! Work on all cores, whose results do not depend on their number.

use std::{
    num::NonZero,
    panic::resume_unwind,
    sync::atomic::{AtomicUsize, Ordering},
    thread::{available_parallelism, scope},
};

/// What a function makes of numbered items, in their order, on as many threads as there are cores.
pub(crate) fn on_all_cores<T: Sync, R: Send>(items: &[T], map: impl Fn((usize, &T)) -> R + Sync) -> Vec<R> {
    let threads = available_parallelism().map_or(1, NonZero::get);
    let next = AtomicUsize::new(0);
    let work = || {
        let mut made = Vec::new();
        while let Some((at, item)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, items.get(at)?)))
        {
            made.push((at, map((at, item))));
        }
        made
    };
    let mut made: Vec<(usize, R)> = scope(|scope| {
        let others: Vec<_> = (1..threads.min(items.len())).map(|_| scope.spawn(work)).collect();
        let own = work();
        let joined = others.into_iter().flat_map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        own.into_iter().chain(joined).collect()
    });
    made.sort_by_key(|(at, _)| *at);
    made.into_iter().map(|(_, made)| made).collect()
}
