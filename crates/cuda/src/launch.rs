//! Launches: which kernel on what grid, and its arguments in the form that the driver takes. Block sizes are decided here.

use crate::{pool::Row, ring::LOG_TILE};
use std::sync::Arc;

/// Rows of an operand that one launch takes (`ROWS` in `modarith.cuh`).
pub(crate) const ROWS: usize = 96;
/// Source rows of a base conversion (`SOURCES` in `basis.cu`): those of any basis.
pub(crate) const SOURCES: usize = 128;
/// Targets that a block of a base conversion makes (`TARGETS` in `basis.cu`).
const TARGETS: usize = 8;
/// Entries that a thread of a key switch takes, and words of their masks at a time (`ENTRIES`, `CHUNK` in `lwe.cu`).
const ENTRIES: usize = 8;
const CHUNK: usize = 64;
/// Threads of a block: eight words of a tile each, four blocks on a multiprocessor.
const THREADS: u32 = 256;
/// Most bytes of shared memory that a base conversion's block takes: four fit a multiprocessor.
const CONVERSION_BYTES: usize = 48 << 10;

/// A length as kernels count.
///
/// # Panics
/// If it exceeds 32 bits, which nothing here does.
pub(crate) fn small(x: usize) -> u32 {
    u32::try_from(x).expect("a length below 2^32")
}

/// A kernel, its grid and its arguments.
#[derive(Debug)]
pub(crate) struct Launch {
    pub(crate) kernel: &'static str,
    pub(crate) grid: [u32; 3],
    pub(crate) threads: u32,
    pub(crate) shared_bytes: u32,
    pub(crate) args: Args,
}

/// Blocks and threads of a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    grid: [u32; 3],
    threads: u32,
    shared_bytes: u32,
}

/// Words of shared memory that a tile takes: `padded` in `ntt.cuh`.
fn padded(words: usize) -> usize {
    words + words / 16
}

fn bytes(words: usize) -> u32 {
    small(8 * words)
}

impl Shape {
    /// So many threads a row.
    fn threads(threads: usize, rows: usize) -> Self {
        Self { grid: [small(threads).div_ceil(THREADS), small(rows), 1], threads: THREADS, shared_bytes: 0 }
    }

    /// A thread for each word of so many rows.
    pub(crate) fn words(words: usize, rows: usize) -> Self {
        Self::threads(words, rows)
    }

    /// A thread for each word of so many entries, which may be more than the 65,535 that a grid's second side takes.
    pub(crate) fn many(words: usize, entries: usize) -> Self {
        let Self { grid: [blocks, ..], threads, shared_bytes } = Self::threads(words, 1);
        Self { grid: [small(entries), blocks, 1], threads, shared_bytes }
    }

    /// A thread for a word of several entries at a time, with their sums in shared memory.
    pub(crate) fn lwe_products(words: usize, entries: usize) -> Self {
        let shared_bytes = bytes((CHUNK + THREADS as usize) * ENTRIES);
        Self { shared_bytes, ..Self::many(words, entries.div_ceil(ENTRIES)) }
    }

    /// A thread for two words.
    pub(crate) fn pairs(words: usize, rows: usize) -> Self {
        Self::threads(words / 2, rows)
    }

    /// A tile of a transform a block: a step of four stages takes 16 words a thread.
    pub(crate) fn tiles(log_n: u32, rows: usize) -> Self {
        let words = 1 << log_n.min(LOG_TILE);
        let grid = [1 << (log_n - log_n.min(LOG_TILE)), small(rows), 1];
        Self { grid, threads: small(words / 16), shared_bytes: bytes(padded(words)) }
    }

    /// An entry a block, with two words of shared memory a thread.
    pub(crate) fn entries(entries: usize) -> Self {
        Self { grid: [small(entries), 1, 1], threads: THREADS, shared_bytes: bytes(2 * THREADS as usize) }
    }

    /// A base conversion of entries from so many sources to so many targets each: fewer threads for more sources.
    pub(crate) fn conversion(n: usize, entries: usize, sources: usize, targets: usize) -> Self {
        let fitting = CONVERSION_BYTES / (8 * sources);
        let threads = if fitting >= 128 { 128 } else { 32 };
        let grid = [small(n / threads), small(entries), small(targets.div_ceil(TARGETS))];
        Self { grid, threads: small(threads), shared_bytes: bytes(sources * threads) }
    }

    /// Blind rotations of so many ciphertexts, each with so many polynomials in shared memory: eight words of one a thread.
    pub(crate) fn rotations(n: usize, entries: usize, polynomials: usize) -> Self {
        let shared_bytes = bytes(polynomials * padded(n));
        Self { grid: [small(entries), 1, 1], threads: small((n / 8).min(256)), shared_bytes }
    }

    /// Bytes of shared memory of a block.
    pub(crate) fn shared_bytes(self) -> u32 {
        self.shared_bytes
    }

    /// The launch of a kernel.
    pub(crate) fn of(self, kernel: &'static str, args: Args) -> Launch {
        Launch { kernel, grid: self.grid, threads: self.threads, shared_bytes: self.shared_bytes, args }
    }
}

/// Arguments one after another, each from a word of its own on.
#[derive(Debug, Default)]
pub(crate) struct Args {
    pub(crate) words: Vec<u64>,
    pub(crate) starts: Vec<usize>,
    /// Whether an address is that of nothing: of a value that a fault left without memory.
    pub(crate) lacking: bool,
}

impl Args {
    fn push(mut self, words: impl IntoIterator<Item = u64>, padded: usize) -> Self {
        let start = self.words.len();
        self.starts.push(start);
        self.words.extend(words);
        assert!(self.words.len() - start <= padded, "more rows than a launch takes");
        self.words.resize(start + padded, 0);
        self
    }

    fn addresses<'a>(mut self, rows: impl IntoIterator<Item = &'a Arc<Row>>, padded: usize) -> Self {
        let addresses: Vec<u64> = rows.into_iter().map(|row| row.at()).collect();
        self.lacking |= addresses.contains(&0);
        self.push(addresses, padded)
    }

    /// `Rows`.
    pub(crate) fn rows<'a>(self, rows: impl IntoIterator<Item = &'a Arc<Row>>) -> Self {
        self.addresses(rows, ROWS)
    }

    /// `Rows` in two halves.
    pub(crate) fn halves(mut self, halves: [&mut dyn Iterator<Item = &Arc<Row>>; 2]) -> Self {
        let [first, second] = halves.map(|half| half.map(|row| row.at()).collect::<Vec<u64>>());
        self.lacking |= first.contains(&0) || second.contains(&0);
        let mut all = first;
        assert!(all.len() <= ROWS / 2, "more rows than half a launch takes");
        all.resize(ROWS / 2, 0);
        all.extend(second);
        self.push(all, ROWS)
    }

    /// `SourceRows`.
    pub(crate) fn sources<'a>(self, rows: impl IntoIterator<Item = &'a Arc<Row>>) -> Self {
        self.addresses(rows, SOURCES)
    }

    /// `Small`: a number for each row.
    pub(crate) fn small(self, numbers: impl IntoIterator<Item = usize>) -> Self {
        let numbers: Vec<u64> = numbers.into_iter().map(|x| small(x).into()).collect();
        self.push(numbers.chunks(2).map(|pair| pair[0] | pair.get(1).map_or(0, |x| x << 32)), ROWS / 2)
    }

    /// `Words`: a constant for each row.
    pub(crate) fn constants(self, words: impl IntoIterator<Item = u64>) -> Self {
        self.push(words, ROWS)
    }

    /// A pointer to the words of a row.
    pub(crate) fn pointer(mut self, row: &Row) -> Self {
        self.lacking |= row.at() == 0;
        self.push([row.at()], 1)
    }

    /// A structure of whole words.
    pub(crate) fn structure(self, words: &[u64]) -> Self {
        self.push(words.iter().copied(), words.len())
    }

    /// A 64-bit number.
    pub(crate) fn word(self, x: u64) -> Self {
        self.push([x], 1)
    }

    /// A 32-bit number, at the low end of its word.
    pub(crate) fn int(self, x: u32) -> Self {
        self.push([x.into()], 1)
    }
}
