//! Memory from the operating system, in huge pages where it gives them, cut into limbs.
//!
//! Why: a key switch walks through fifteen limbs at a time and hundreds in all. With pages of 4 KiB each of those streams
//! changes its page every 64 lines, which needs another translation. Measured on a quiet Zen 4 core (N = 2^16, 25 + 5
//! limbs, `limbwise bench`): pages of 2 MiB take 43.6 ms for what takes 47.0 ms without.

use crate::layout::Line;
use memmap2::MmapMut;
use std::sync::Arc;

/// Bytes of a huge page.
const HUGE: usize = 2 << 20;

/// Bytes mapped at once; only those that are touched become resident.
const SLAB: usize = 32 << 20;

/// The memory of one limb inside a slab.
pub(crate) struct Memory {
    /// Lives as long as the mapping: never handed out but through the borrows below.
    lines: &'static mut [Line],
    _mapping: Arc<MmapMut>,
}

impl Memory {
    pub(crate) fn lines(&self) -> &[Line] {
        self.lines
    }

    pub(crate) fn lines_mut(&mut self) -> &mut [Line] {
        self.lines
    }
}

/// Bytes that are resident once the lowest so many bytes of a mapping were touched: whole pages of those that are asked for.
pub(crate) fn resident(touched: usize) -> u64 {
    touched.next_multiple_of(HUGE) as u64
}

/// Zeroed limbs of `length` lines, the last one lowest in memory; `None` if the system has no more.
pub(crate) fn limbs(length: usize) -> Option<Vec<Memory>> {
    let bytes = length * size_of::<Line>();
    let count = (SLAB / bytes).max(1);
    let mut mapping = MmapMut::map_anon(count * bytes + HUGE).ok()?;
    #[cfg(target_os = "linux")]
    let _ = mapping.advise(memmap2::Advice::HugePage); // a wish: without it all is as before, only slower
    let skip = mapping.as_ptr().align_offset(HUGE).min(HUGE);
    let start = mapping[skip..].as_mut_ptr().cast::<Line>();
    #[expect(unsafe_code, reason = "a mapping hands out bytes, and only as a whole")]
    // SAFETY: `count·length` lines from `start` lie in the mapping, which has HUGE bytes to spare; it is aligned to a page
    // or more, hence to a line; its bytes are zeros, and any words make a line. Nothing else reads or writes it from here
    // on. It stays mapped as long as any `Memory` holds it, and the slice does not leave its `Memory`.
    let all: &'static mut [Line] = unsafe { std::slice::from_raw_parts_mut(start, count * length) };
    let mapping = Arc::new(mapping);
    let limb = |lines| Memory { lines, _mapping: mapping.clone() };
    Some(all.chunks_exact_mut(length).rev().map(limb).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limbs_are_apart_and_outlive_each_other() {
        for length in [1, 128, 513, 16 * 513, SLAB / 64 + 1] {
            let mut all = limbs(length).unwrap();
            assert!(all.iter().all(|m| m.lines().len() == length && m.lines()[length - 1] == Line::default()));
            all.truncate(100);
            for (i, m) in (1..).zip(&mut all) {
                m.lines_mut().fill(Line([i; 8]));
            }
            let last = all.pop().unwrap();
            assert!((1..).zip(&all).all(|(i, m)| m.lines().iter().all(|line| *line == Line([i; 8]))));
            let mark = all.len() as u64 + 1;
            drop(all);
            assert!(last.lines().iter().all(|line| *line == Line([mark; 8])));
        }
    }
}
