//! Traffic of the fused composites, counted: the lines that their kernels touch go, in order, through a simulated L2 and
//! L3 cache. Compiled for tests only.
//!
//! Enters: caches, the order in which each kernel touches its operands, budgets.
//! Stays out: time. What a miss costs differs between processors; how many there are does not.
//!
//! What is counted: operands, results, rows of scratch, twiddle factors. What is not: constants of a conversion, tables
//! of an automorphism, handles (a few KiB each). A line that is only written is fetched first, as processors do. Lines
//! lie in memory as they do here, so the sets of the caches that they fall into are real ones. Prefetching moves a miss,
//! and does not add one.

mod tests;

use crate::{
    kernels::{
        Isa, LimbKernels,
        blind::{Scratch, Step},
        convert::{Sources, Target},
        limb::Ahead,
        matrix::{self, PackedMatrix},
        sums::Sum,
    },
    layout::{BLOCK, Line, PADDED, STRIP},
};
use std::cell::RefCell;

/// Size of one cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) bytes: usize,
    pub(crate) ways: usize,
}

/// A cache with the least recently used line of a set replaced.
struct Cache {
    ways: usize,
    sets: usize,
    /// By set, the most recent first: a line's number, and whether it was written.
    lines: Vec<Vec<(usize, bool)>>,
}

/// Lines that crossed the boundary below a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Crossed {
    fetched: u64,
    written_back: u64,
}

impl Crossed {
    /// Bytes, in both directions.
    pub(crate) fn bytes(self) -> u64 {
        64 * (self.fetched + self.written_back)
    }
}

impl Cache {
    fn new(size: Size) -> Self {
        let sets = size.bytes / 64 / size.ways;
        assert!(sets.is_power_of_two(), "a cache has a power of two of sets");
        Self { ways: size.ways, sets, lines: vec![Vec::with_capacity(size.ways + 1); sets] }
    }

    /// Touches a line: whether it was there, and the written line that it pushed out.
    fn touch(&mut self, line: usize, write: bool) -> (bool, Option<usize>) {
        let set = &mut self.lines[line & (self.sets - 1)];
        if let Some(at) = set.iter().position(|&(held, _)| held == line) {
            set[..=at].rotate_right(1);
            set[0].1 |= write;
            return (true, None);
        }
        set.insert(0, (line, write));
        let out = if set.len() > self.ways { set.pop() } else { None };
        (false, out.filter(|&(_, written)| written).map(|(line, _)| line))
    }
}

/// Two caches, one below the other.
pub(crate) struct Caches {
    second: Cache,
    third: Cache,
    /// Below the second, and below the third.
    crossed: [Crossed; 2],
}

impl Caches {
    fn touch(&mut self, line: usize, write: bool) {
        let (held, out) = self.second.touch(line, write);
        if held {
            return;
        }
        self.crossed[0].fetched += 1;
        self.below(line, false);
        if let Some(out) = out {
            self.crossed[0].written_back += 1;
            self.below(out, true);
        }
    }

    /// A line is wanted by the second cache, or written back from it.
    fn below(&mut self, line: usize, write: bool) {
        let (held, out) = self.third.touch(line, write);
        self.crossed[1].fetched += u64::from(!held && !write);
        self.crossed[1].written_back += u64::from(out.is_some());
    }
}

thread_local! {
    /// What the kernels of this thread touch goes here, if anyone counts.
    static CACHES: RefCell<Option<Caches>> = const { RefCell::new(None) };
}

/// Lines that cross the boundaries below two caches, empty at first, while `run` runs on this thread.
pub(crate) fn crossed(sizes: [Size; 2], run: impl FnOnce()) -> [Crossed; 2] {
    let [second, third] = sizes.map(Cache::new);
    CACHES.set(Some(Caches { second, third, crossed: Default::default() }));
    run();
    CACHES.take().expect("set above").crossed
}

/// Lines that a kernel passes over, and how.
#[derive(Clone, Copy)]
pub(crate) struct Stream {
    first: usize,
    lines: usize,
    write: bool,
}

/// Lines that are read.
pub(crate) fn read(lines: &[Line]) -> Stream {
    Stream { first: lines.as_ptr().addr() / 64, lines: lines.len(), write: false }
}

/// Lines that are written, or read and written.
pub(crate) fn write(lines: &[Line]) -> Stream {
    Stream { write: true, ..read(lines) }
}

impl Stream {
    fn part(self, from: usize, lines: usize) -> Self {
        Self { first: self.first + from, lines, ..self }
    }
}

/// A kernel passes over streams side by side; shorter ones as much slower.
pub(crate) fn side_by_side(streams: impl IntoIterator<Item = Stream>) {
    CACHES.with_borrow_mut(|caches| {
        let Some(caches) = caches else { return };
        let streams: Vec<Stream> = streams.into_iter().collect();
        let longest = streams.iter().map(|s| s.lines).max().unwrap_or(0);
        for i in 0..longest {
            for stream in &streams {
                let (from, to) = (i * stream.lines / longest, (i + 1) * stream.lines / longest);
                (from..to).for_each(|line| caches.touch(stream.first + line, stream.write));
            }
        }
    });
}

/// A conversion's sweep: the visited lines of all targets beside those of all sources.
pub(crate) fn sweep(targets: &[Target<'_>], sources: Sources<'_>) {
    for lines in sources.part.runs() {
        let from = sources.rows.iter().copied().chain([sources.overflows]).map(read);
        let all = from.chain(targets.iter().map(|(_, target)| write(target)));
        side_by_side(all.map(|stream| stream.part(lines.start, lines.len())));
    }
}

/// An automorphism: each tile of the result, without padding, from one tile of the operand, given by its first line.
pub(crate) fn tiles(out: &[Line], a: &[Line], sources: impl Iterator<Item = usize>) {
    for (tile, source) in out.chunks_exact(16).zip(sources) {
        side_by_side([read(&a[source..source + 16]), write(tile)]);
    }
}

/// The kernels of a prime, watched.
pub(crate) struct Watched {
    kernels: Box<dyn LimbKernels>,
    /// The factors of one direction, then of the other: N/32 lines each at N = 2^16 (`ifma::table`).
    twiddles: Vec<Line>,
}

/// Kernels whose operands are counted.
pub(crate) fn watched(kernels: Box<dyn LimbKernels>, log_n: u32) -> Box<dyn LimbKernels> {
    Box::new(Watched { kernels, twiddles: vec![Line::default(); (1 << log_n) / 16] })
}

/// Lines of a tile of the sums of an instruction set, and whether both halves of a tile come before the next tile.
fn tile_of_sums(isa: Isa) -> (usize, bool) {
    match isa {
        Isa::Scalar => (crate::kernels::convert::TILE, false),
        // Terms go in groups within a tile, whose lines wait in the L2 cache: as if all went together.
        Isa::Avx2 | Isa::Avx512 => (128, true),
        Isa::Ifma => (256, true),
    }
}

impl Watched {
    /// The passes of a transform, in either order: over strips of columns of all blocks, then block by block.
    fn transform(&self, a: &[Line], from: Option<&[Line]>, inverse: bool) {
        let half = self.twiddles.len() / 2;
        let twiddles = read(&self.twiddles[if inverse { half..2 * half } else { 0..half }]);
        let by_blocks = || side_by_side(from.map(read).into_iter().chain([write(a), twiddles]));
        let columns = || {
            if a.len() > BLOCK {
                side_by_side(a.chunks(PADDED).map(|block| write(&block[..BLOCK])));
            }
        };
        if inverse {
            by_blocks();
            columns();
        } else {
            columns();
            by_blocks();
        }
    }

    /// The order of a sum: tile by tile, all terms of both halves or of a half after another.
    fn sum<const H: usize>(&self, out: [&[Line]; H], sum: &Sum<'_, H>) {
        let (tile, together) = tile_of_sums(self.kernels.isa());
        let halves: Vec<Vec<usize>> =
            if together { vec![(0..H).collect()] } else { (0..H).map(|half| vec![half]).collect() };
        for halves in halves {
            for first in (0..out[0].len()).step_by(tile) {
                let lines = tile.min(out[0].len() - first);
                let mut streams = Vec::new();
                for term in sum.terms {
                    streams.push(read(term.factor));
                    streams.extend(halves.iter().map(|&half| read(term.with[half])));
                }
                let onto = |half: &usize| sum.onto.and_then(|onto| onto.limbs[*half]).map(read);
                streams.extend(halves.iter().filter_map(onto));
                streams.extend(halves.iter().map(|&half| write(out[half])));
                side_by_side(streams.into_iter().map(|stream| stream.part(first, lines)));
            }
        }
    }
}

impl LimbKernels for Watched {
    fn isa(&self) -> Isa {
        self.kernels.isa()
    }

    fn ntt(&self, a: &mut [Line]) {
        self.transform(a, None, false);
        self.kernels.ntt(a);
    }

    fn ntt_strip(&self, a: &mut [Line], first: usize) {
        if a.len() > BLOCK {
            side_by_side(a.chunks(PADDED).map(|block| write(&block[first..first + STRIP])));
        }
        self.kernels.ntt_strip(a, first);
    }

    fn ntt_block(&self, block: &mut [Line], number: usize, ahead: &mut Ahead<'_>) {
        let share = block.len() / 16;
        side_by_side([write(block), read(&self.twiddles[number * share..][..share])]);
        self.kernels.ntt_block(block, number, ahead);
    }

    fn intt(&self, a: &mut [Line]) {
        self.transform(a, None, true);
        self.kernels.intt(a);
    }

    fn intt_of(&self, out: &mut [Line], a: &[Line]) {
        self.transform(out, Some(a), true);
        self.kernels.intt_of(out, a);
    }

    fn add(&self, out: &mut [Line], a: &[Line], b: &[Line]) {
        side_by_side([read(a), read(b), write(out)]);
        self.kernels.add(out, a, b);
    }

    fn sub(&self, out: &mut [Line], a: &[Line], b: &[Line]) {
        side_by_side([read(a), read(b), write(out)]);
        self.kernels.sub(out, a, b);
    }

    fn mul(&self, out: &mut [Line], a: &[Line], b: &[Line]) {
        side_by_side([read(a), read(b), write(out)]);
        self.kernels.mul(out, a, b);
    }

    fn add_assign(&self, acc: &mut [Line], a: &[Line]) {
        side_by_side([read(a), write(acc)]);
        self.kernels.add_assign(acc, a);
    }

    fn mul_acc(&self, acc: &mut [Line], a: &[Line], b: &[Line]) {
        side_by_side([read(a), read(b), write(acc)]);
        self.kernels.mul_acc(acc, a, b);
    }

    fn neg(&self, a: &mut [Line]) {
        side_by_side([write(a)]);
        self.kernels.neg(a);
    }

    fn scale(&self, a: &mut [Line], c: u64) {
        side_by_side([write(a)]);
        self.kernels.scale(a, c);
    }

    fn shift(&self, a: &mut [Line], c: u64) {
        side_by_side([write(a)]);
        self.kernels.shift(a, c);
    }

    fn divide(&self, out: &mut [Line], a: &[Line], c: u64) {
        side_by_side([read(a), write(out)]);
        self.kernels.divide(out, a, c);
    }

    fn inner_products(&self, out: [&mut [Line]; 2], sum: &Sum<'_, 2>) {
        self.sum(out.each_ref().map(|half| &**half), sum);
        self.kernels.inner_products(out, sum);
    }

    fn inner_product(&self, out: &mut [Line], sum: &Sum<'_, 1>) {
        self.sum([&*out], sum);
        self.kernels.inner_product(out, sum);
    }

    fn combination(&self, out: &mut [Line], terms: &[(&[Line], u64)]) {
        side_by_side(terms.iter().map(|(limb, _)| read(limb)).chain([write(out)]));
        self.kernels.combination(out, terms);
    }

    /// Blocks of rows one after another, each beside all operands.
    fn matrix_product(&self, out: &mut [&mut [Line]], x: &[Line], matrix: &PackedMatrix<'_>) {
        out.chunks(matrix::BLOCK).for_each(|rows| {
            side_by_side([read(x)]);
            side_by_side(rows.iter().map(|row| write(row)));
        });
        self.kernels.matrix_product(out, x, matrix);
    }

    fn blind_start(&self, acc: &mut [&mut [Line]]) {
        self.kernels.blind_start(acc);
    }

    fn blind_digits(&self, step: &Step<'_>, acc: &[Line], digits: &mut [&mut [Line]]) {
        self.kernels.blind_digits(step, acc, digits);
    }

    fn blind_sum(&self, step: &Step<'_>, component: usize, digits: &[&[Line]], onto: (&mut [Line], &mut [Line])) {
        self.kernels.blind_sum(step, component, digits, onto);
    }

    fn blind_step(&self, step: &Step<'_>, acc: &mut [&mut [Line]], scratch: &mut Scratch<'_>) {
        self.kernels.blind_step(step, acc, scratch);
    }
}
