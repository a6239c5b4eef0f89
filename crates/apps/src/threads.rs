//! Parallel map for clear work without order, such as networks on images and the maps of layers.

use std::{
    panic::resume_unwind,
    sync::atomic::{AtomicUsize, Ordering},
    thread::{available_parallelism, scope},
};

/// Most threads of clear work; 0 for all that the system offers.
static MOST: AtomicUsize = AtomicUsize::new(0);

/// Limits clear work of this process to the number of threads that its device has.
pub fn limit(most: usize) {
    MOST.store(most, Ordering::Relaxed);
}

/// Threads of clear work.
pub fn offered() -> usize {
    match MOST.load(Ordering::Relaxed) {
        0 => available_parallelism().map_or(1, usize::from),
        most => most,
    }
}

/// What a function makes of each item, in the order of the items.
pub(crate) fn each<T: Sync, R: Send>(items: &[T], make: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut made = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { return made };
            made.push((at, make(item)));
        }
    };
    let threads = offered().min(items.len());
    let mut made = scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut made = work();
        others.into_iter().for_each(|other| made.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic))));
        made
    });
    made.sort_unstable_by_key(|(at, _)| *at);
    made.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn results_come_in_the_order_of_the_items() {
        let items: Vec<u64> = (0..1000).collect();
        assert_eq!(super::each(&items, |x| x * x), items.iter().map(|x| x * x).collect::<Vec<_>>());
        assert!(super::each(&[], |x: &u64| *x).is_empty());
    }

    #[test]
    fn no_more_threads_work_than_the_limit_says() {
        super::limit(1);
        let here = std::thread::current().id();
        let threads = super::each(&[(); 64], |()| std::thread::current().id());
        super::limit(0);
        assert!(threads.into_iter().all(|id| id == here));
    }
}
