//! Launches: which kernel on what grid, and its arguments in the form that the driver takes. Block sizes are decided here.

use crate::{
    pool::{Far, Row},
    ring::LOG_TILE,
};
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
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    pub(crate) kernel: &'static str,
    pub(crate) grid: [u32; 3],
    pub(crate) threads: u32,
    pub(crate) shared_bytes: u32,
    pub(crate) args: Args,
}

/// A running fingerprint with one more word: quick, and no defence against anybody who wants two to be the same.
pub(crate) fn mixed(print: u64, word: u64) -> u64 {
    (print.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Alike for the driver: where rows lay before they were found somewhere else makes no difference.
impl PartialEq for Launch {
    fn eq(&self, other: &Self) -> bool {
        let shape = |l: &Self| (l.kernel, l.grid, l.threads, l.shared_bytes);
        shape(self) == shape(other) && self.args.words == other.args.words && self.args.starts == other.args.starts
    }
}

impl Launch {
    /// A number that launches which differ hardly share. Words in four lanes: one after another each would wait for the last.
    pub(crate) fn fingerprint(&self) -> u64 {
        let [x, y, z] = self.grid;
        let name = self.kernel.bytes().fold(0, |print, byte| mixed(print, byte.into()));
        let sides = [x, y, z, self.threads, self.shared_bytes];
        let head = sides.into_iter().fold(name, |print, side| mixed(print, side.into()));
        let (fours, rest) = self.args.words.as_chunks::<4>();
        let mix = |lanes: [u64; 4], four: &[u64; 4]| std::array::from_fn(|i| mixed(lanes[i], four[i]));
        let lanes = fours.iter().fold([head; 4], mix);
        lanes.iter().chain(rest).fold(head, |print, &word| mixed(print, word))
    }
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
#[derive(Clone, Debug, Default)]
pub(crate) struct Args {
    pub(crate) words: Vec<u64>,
    pub(crate) starts: Vec<usize>,
    /// Words that are addresses of rows in the host's memory, which may be copied to the GPU for this launch.
    pub(crate) far: Vec<(usize, Far)>,
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

    /// The address of a row that becomes word `at`.
    fn address(&mut self, at: usize, row: &Row) -> u64 {
        self.lacking |= row.at() == 0;
        self.far.extend(row.far().map(|far| (at, far)));
        row.at()
    }

    /// Addresses of rows, any number of them: a table for the GPU's memory.
    pub(crate) fn list<'a>(self, rows: impl IntoIterator<Item = &'a Arc<Row>>) -> Self {
        let rows: Vec<&Arc<Row>> = rows.into_iter().collect();
        let count = rows.len();
        self.addresses(rows, count)
    }

    /// The rows that lie in the host's memory.
    pub(crate) fn far_rows(&self) -> Vec<Far> {
        self.far.iter().map(|&(_, row)| row).collect()
    }

    /// Puts the addresses at which those are read into their places.
    pub(crate) fn found(&mut self, at: &[u64]) {
        self.far.iter().zip(at).for_each(|(&(word, _), &at)| self.words[word] = at);
    }

    fn addresses<'a>(mut self, rows: impl IntoIterator<Item = &'a Arc<Row>>, padded: usize) -> Self {
        let start = self.words.len();
        let addresses: Vec<u64> = (start..).zip(rows).map(|(at, row)| self.address(at, row)).collect();
        self.push(addresses, padded)
    }

    /// `Rows`.
    pub(crate) fn rows<'a>(self, rows: impl IntoIterator<Item = &'a Arc<Row>>) -> Self {
        self.addresses(rows, ROWS)
    }

    /// `Rows` in two halves.
    pub(crate) fn halves(mut self, halves: [&mut dyn Iterator<Item = &Arc<Row>>; 2]) -> Self {
        let (start, mut all) = (self.words.len(), vec![0; ROWS]);
        for (half, rows) in halves.into_iter().enumerate() {
            for (i, row) in rows.enumerate() {
                assert!(i < ROWS / 2, "more rows than half a launch takes");
                all[half * (ROWS / 2) + i] = self.address(start + half * (ROWS / 2) + i, row);
            }
        }
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
        let address = self.address(self.words.len(), row);
        self.push([address], 1)
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
