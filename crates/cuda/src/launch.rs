//! Kernel launches: grid, block and arguments in the driver's form. Block sizes are decided here.

use crate::{
    pool::{Far, Row},
    ring::LOG_TILE,
};
use std::sync::Arc;

/// Rows per operand in one launch (`ROWS` in `modarith.cuh`).
pub(crate) const ROWS: usize = 96;
/// Source rows of a base conversion (`SOURCES` in `basis.cu`): the largest basis.
pub(crate) const SOURCES: usize = 128;
/// Targets per block of a base conversion (`TARGETS` in `basis.cu`).
const TARGETS: usize = 8;
/// Entries per thread of a key switch, and mask words per step (`ENTRIES`, `CHUNK` in `lwe.cu`).
const ENTRIES: usize = 8;
const CHUNK: usize = 64;
/// Threads per block: eight words of a tile each, so that four blocks fit a multiprocessor.
const THREADS: u32 = 256;
/// Largest shared memory of a base conversion's block in bytes: four blocks fit a multiprocessor.
const CONVERSION_BYTES: usize = 48 << 10;

/// A length as kernels count.
///
/// # Panics
/// If it exceeds 32 bits, which no launch does.
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

/// Extends a fingerprint by one word: fast, and not collision resistant.
pub(crate) fn mix(print: u64, word: u64) -> u64 {
    (print.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Two launches are equal if the driver cannot tell them apart: the placement of rows before staging is ignored.
impl PartialEq for Launch {
    fn eq(&self, other: &Self) -> bool {
        let shape = |l: &Self| (l.kernel, l.grid, l.threads, l.shared_bytes);
        shape(self) == shape(other) && self.args.words == other.args.words && self.args.starts == other.args.starts
    }
}

impl Launch {
    /// A hash of the launch. Words go into four lanes, because a single chain would wait for each multiplication.
    pub(crate) fn fingerprint(&self) -> u64 {
        let [x, y, z] = self.grid;
        let name = self.kernel.bytes().fold(0, |print, byte| mix(print, byte.into()));
        let sides = [x, y, z, self.threads, self.shared_bytes];
        let head = sides.into_iter().fold(name, |print, side| mix(print, side.into()));
        let (fours, rest) = self.args.words.as_chunks::<4>();
        let mix_lanes = |lanes: [u64; 4], four: &[u64; 4]| std::array::from_fn(|i| mix(lanes[i], four[i]));
        let lanes = fours.iter().fold([head; 4], mix_lanes);
        lanes.iter().chain(rest).fold(head, |print, &word| mix(print, word))
    }
}

/// Blocks, threads and shared memory of a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    grid: [u32; 3],
    threads: u32,
    shared_bytes: u32,
}

/// Words of shared memory for a tile: `padded` in `ntt.cuh`.
fn padded(words: usize) -> usize {
    words + words / 16
}

fn bytes(words: usize) -> u32 {
    small(8 * words)
}

impl Shape {
    /// `threads` threads per row.
    fn threads(threads: usize, rows: usize) -> Self {
        Self { grid: [small(threads).div_ceil(THREADS), small(rows), 1], threads: THREADS, shared_bytes: 0 }
    }

    /// One thread per word of `rows` rows.
    pub(crate) fn words(words: usize, rows: usize) -> Self {
        Self::threads(words, rows)
    }

    /// One thread per word of `entries` entries, which may exceed the limit of 65,535 on a grid's second dimension.
    pub(crate) fn many(words: usize, entries: usize) -> Self {
        let Self { grid: [blocks, ..], threads, shared_bytes } = Self::threads(words, 1);
        Self { grid: [small(entries), blocks, 1], threads, shared_bytes }
    }

    /// One thread per word of several entries at a time, with their sums in shared memory.
    pub(crate) fn lwe_products(words: usize, entries: usize) -> Self {
        let shared_bytes = bytes((CHUNK + THREADS as usize) * ENTRIES);
        Self { shared_bytes, ..Self::many(words, entries.div_ceil(ENTRIES)) }
    }

    /// One thread per two words.
    pub(crate) fn pairs(words: usize, rows: usize) -> Self {
        Self::threads(words / 2, rows)
    }

    /// One block per tile of a transform: a step of four stages takes 16 words per thread.
    pub(crate) fn tiles(log_n: u32, rows: usize) -> Self {
        let words = 1 << log_n.min(LOG_TILE);
        let grid = [1 << (log_n - log_n.min(LOG_TILE)), small(rows), 1];
        Self { grid, threads: small(words / 16), shared_bytes: bytes(padded(words)) }
    }

    /// One block per entry, with two words of shared memory per thread.
    pub(crate) fn entries(entries: usize) -> Self {
        Self { grid: [small(entries), 1, 1], threads: THREADS, shared_bytes: bytes(2 * THREADS as usize) }
    }

    /// A base conversion of `entries` entries: the more sources, the fewer threads.
    pub(crate) fn conversion(n: usize, entries: usize, sources: usize, targets: usize) -> Self {
        let fitting = CONVERSION_BYTES / (8 * sources);
        let threads = if fitting >= 128 { 128 } else { 32 };
        let grid = [small(n / threads), small(entries), small(targets.div_ceil(TARGETS))];
        Self { grid, threads: small(threads), shared_bytes: bytes(sources * threads) }
    }

    /// Blind rotations of `entries` ciphertexts with `polynomials` polynomials in shared memory: eight words per
    /// thread.
    pub(crate) fn rotations(n: usize, entries: usize, polynomials: usize) -> Self {
        let shared_bytes = bytes(polynomials * padded(n));
        Self { grid: [small(entries), 1, 1], threads: small((n / 8).min(256)), shared_bytes }
    }

    /// Shared memory of a block in bytes.
    pub(crate) fn shared_bytes(self) -> u32 {
        self.shared_bytes
    }

    /// A launch of this shape.
    pub(crate) fn of(self, kernel: &'static str, args: Args) -> Launch {
        Launch { kernel, grid: self.grid, threads: self.threads, shared_bytes: self.shared_bytes, args }
    }
}

/// Arguments in sequence, each starting at a word.
#[derive(Clone, Debug, Default)]
pub(crate) struct Args {
    pub(crate) words: Vec<u64>,
    pub(crate) starts: Vec<usize>,
    /// Words that are addresses of rows in host memory, which may be staged in GPU memory for this launch.
    pub(crate) far: Vec<(usize, Far)>,
    /// Whether some address is null: a fault left its value without memory.
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

    /// Appends the address of a row as word `at`.
    fn address(&mut self, at: usize, row: &Row) -> u64 {
        self.lacking |= row.at() == 0;
        self.far.extend(row.far().map(|far| (at, far)));
        row.at()
    }

    /// Addresses of any number of rows, for a table in GPU memory.
    pub(crate) fn list<'a>(self, rows: impl IntoIterator<Item = &'a Arc<Row>>) -> Self {
        let rows: Vec<&Arc<Row>> = rows.into_iter().collect();
        let count = rows.len();
        self.addresses(rows, count)
    }

    /// The rows that are in host memory.
    pub(crate) fn far_rows(&self) -> Vec<Far> {
        self.far.iter().map(|&(_, row)| row).collect()
    }

    /// Replaces their addresses by the staged ones.
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

    /// `Rows` of two halves.
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

    /// `Small`: one number per row.
    pub(crate) fn small(self, numbers: impl IntoIterator<Item = usize>) -> Self {
        let numbers: Vec<u64> = numbers.into_iter().map(|x| small(x).into()).collect();
        self.push(numbers.chunks(2).map(|pair| pair[0] | pair.get(1).map_or(0, |x| x << 32)), ROWS / 2)
    }

    /// `Words`: one constant per row.
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

    /// A 32-bit number in the low half of its word.
    pub(crate) fn int(self, x: u32) -> Self {
        self.push([x.into()], 1)
    }
}
