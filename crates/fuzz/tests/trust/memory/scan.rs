//! Looks for secrets in the writable memory of this process.

use std::{
    collections::HashSet,
    fs,
    os::unix::fs::FileExt as _,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Numbers that are looked for together, at least: their chance in other memory is 2^−48 or less a place.
const LETTERS: usize = 48;
/// Bytes that are read at a time.
const STEP: usize = 1 << 20;
/// Bytes of the next part that are read with one, so that nothing lies across: [`LETTERS`] numbers far apart.
const OVERLAP: usize = 32 * LETTERS;
/// How numbers may lie in memory: bytes of each, and from one to the next. A tree of JSON has them 24 or 32 apart.
const FORMS: [(usize, usize); 5] = [(1, 1), (4, 4), (8, 8), (8, 24), (8, 32)];

/// Numbers under a mask, so that what is looked for is not what is found.
pub(crate) struct Hidden {
    numbers: Vec<u64>,
    /// Bits that numbers have at most: a narrower form would cut them.
    bits: u32,
}

const MASK: u64 = 0x5a5a_5a5a_5a5a_5a5a;

impl Hidden {
    /// The first numbers from one on that is not 0: most memory is zeros.
    pub(crate) fn of(numbers: &[i64]) -> Self {
        let start = numbers.iter().position(|&x| x != 0).expect("no secret is 0");
        let taken = &numbers[start..start + LETTERS];
        let bits = taken.iter().map(|x| 65 - x.unsigned_abs().leading_zeros()).max().unwrap_or(64);
        Self { numbers: taken.iter().map(|x| x.cast_unsigned() ^ MASK).collect(), bits }
    }

    /// The same of bytes.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Self {
        Self { numbers: bytes[..LETTERS].iter().map(|&x| u64::from(x) ^ MASK).collect(), bits: 8 }
    }

    /// How often they lie in memory, in any form.
    pub(crate) fn copies(&self) -> usize {
        let (first, mut found) = ((self.numbers[0] ^ MASK).to_le_bytes()[0], 0);
        each_part(|part, places| {
            for at in (0..places).filter(|&at| part[at] == first) {
                let forms = FORMS.iter().filter(|&&(width, _)| 8 * width >= self.bits as usize);
                found += forms.filter(|&&form| self.lies_at(part, at, form)).count();
            }
        });
        found
    }

    fn lies_at(&self, part: &[u8], at: usize, (width, apart): (usize, usize)) -> bool {
        self.numbers.iter().enumerate().all(|(i, number)| {
            let wanted = (number ^ MASK).to_le_bytes();
            part.get(at + i * apart..at + i * apart + width).is_some_and(|bytes| bytes == &wanted[..width])
        })
    }
}

/// Words under a mask, of which any lie somewhere in any order.
pub(crate) struct HiddenWords(HashSet<u64>);

impl HiddenWords {
    pub(crate) fn of(words: &[u64]) -> Self {
        Self(words.iter().map(|x| x ^ MASK).collect())
    }

    /// How many words of memory are among these.
    pub(crate) fn found(&self) -> usize {
        let mut found = 0;
        each_part(|part, places| {
            let words = part[..places].as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes));
            found += words.filter(|word| self.0.contains(&(word ^ MASK))).count();
        });
        found
    }
}

/// The turn of a test: what another reads of this memory at the same time holds copies of what is in it.
pub(crate) fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Every part of this process's writable memory with the number of places that are this part's own. The copy that is being
/// read is left out.
fn each_part(mut each: impl FnMut(&[u8], usize)) {
    let maps = fs::read_to_string("/proc/self/maps").expect("a system with /proc");
    let memory = fs::File::open("/proc/self/mem").expect("a process may read itself");
    let mut buffer = vec![0; STEP + OVERLAP];
    let own = buffer.as_ptr() as usize..buffer.as_ptr() as usize + buffer.len();
    for line in maps.lines().filter(|line| line.split(' ').nth(1).is_some_and(|mode| mode.starts_with("rw"))) {
        let range = line.split(' ').next().and_then(|range| range.split_once('-')).expect("a range");
        let [from, to] = [range.0, range.1].map(|digits| usize::from_str_radix(digits, 16).expect("an address"));
        let mut at = from;
        while at < to {
            if own.contains(&at) {
                at = own.end;
                continue;
            }
            let mut end = (at + STEP + OVERLAP).min(to);
            if at < own.start {
                end = end.min(own.start);
            }
            let last = end == to || end == own.start;
            let part = &mut buffer[..end - at];
            if memory.read_exact_at(part, at as u64).is_ok() {
                let places = if last { part.len() } else { STEP };
                each(part, places);
            }
            at += if last { end - at } else { STEP };
        }
    }
    buffer.fill(0);
}
