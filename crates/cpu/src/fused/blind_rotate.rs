//! `blind_rotate`: threads forked once, each with accumulators of its own that stay in the cache for all steps; an element
//! of the key is read once for all entries of a group, and the next one is asked for meanwhile.

use crate::{
    device::{Cpu, CpuPoly, HEAVY, new_lines},
    kernels::{
        blind::{Prefetch, Scratch, Step},
        gadget,
    },
    layout::{self, Line},
    lwe::CpuLwe,
    pool::Row,
    ring::RingTables,
};
use limbwise_device::Ggsw;

/// Bytes of the accumulators that a thread works on at a time: half an L2 cache.
const ACCUMULATORS: usize = 512 << 10;
/// Entries at a time at least, so that the key, which is read again for each group, costs little beside the arithmetic.
const LEAST_ENTRIES: usize = 8;

/// Entries that go through all steps together on one thread. More of them would wait for the L3 cache in every step: 456 at
/// N = 2^11 on one thread of Zen 5 take 1.45 times as long in one group as in groups of 16.
fn in_flight(components: usize, log_n: u32) -> usize {
    (ACCUMULATORS / (components << (log_n + 3))).max(LEAST_ENTRIES)
}

/// Operands shared by all threads.
struct Rotation<'a> {
    dev: &'a Cpu,
    tables: &'a RingTables,
    /// Index of the prime.
    prime: usize,
    test: &'a CpuPoly,
    exponents: &'a CpuLwe,
    key: &'a Ggsw<CpuPoly>,
}

/// The limbs of an entry's result, body first.
type Entry<'a> = Vec<&'a mut Row>;

impl Cpu {
    /// [`limbwise_device::composites::blind_rotate`], entries split among the threads.
    pub(crate) fn fused_blind_rotate(&self, test: &CpuPoly, exponents: &CpuLwe, key: &Ggsw<CpuPoly>) -> Vec<CpuPoly> {
        let tables = self.tables(&test.shape.ring);
        let prime = test.shape.basis.iter().next().expect("a limb");
        let rotation = Rotation { dev: self, tables: &tables, prime, test, exponents, key };
        let batch = exponents.shape.batch.max(test.shape.batch);
        let shape = test.shape.with_batch(batch);
        let mut out: Vec<CpuPoly> = (0..key.components()).map(|_| self.unwritten(shape.clone())).collect();
        let mut parts: Vec<_> = out.iter_mut().map(|poly| poly.rows.iter_mut()).collect();
        let mut entries = (0..batch).map(|_| parts.iter_mut().filter_map(Iterator::next).collect::<Entry<'_>>());
        let groups = batch.div_ceil(in_flight(key.components(), shape.ring.log_n()));
        let share = batch.div_ceil(groups.next_multiple_of(self.threads().min(batch)));
        let chunks: Vec<(usize, Vec<Entry<'_>>)> =
            (0..batch).step_by(share).map(|first| (first, entries.by_ref().take(share).collect())).collect();
        drop(entries);
        let work = HEAVY * batch * exponents.shape.dimension * shape.ring.n();
        self.each(work, chunks, |_, (first, entries)| rotation.entries(first, entries));
        out
    }
}

impl Rotation<'_> {
    /// Rotates entries of the batch from `first` on through all steps.
    fn entries(&self, first: usize, mut out: Vec<Entry<'_>>) {
        let kernels = self.tables.prime(self.prime);
        let length = layout::lines(self.test.shape.ring.log_n());
        let (components, rows) = (self.key.components(), self.key.rows.len());
        let steps = self.exponents.shape.dimension;
        let take = |count: usize, lines: usize| (0..count).map(|_| self.dev.scratch.take(lines)).collect::<Vec<Row>>();
        // A line more than a limb for each accumulator, see `ifma::blind`.
        let mut own: Vec<Vec<Row>> = out.iter().map(|_| take(components, length + 1)).collect();
        let (mut digits, mut sums) = (take(rows, length), take(components, length));
        let mut scratch = Scratch {
            digits: digits.iter_mut().map(new_lines).collect(),
            sums: sums.iter_mut().map(new_lines).collect(),
        };
        let mut accumulators: Vec<Vec<&mut [Line]>> =
            own.iter_mut().map(|rows| rows.iter_mut().map(new_lines).collect()).collect();
        for (i, acc) in accumulators.iter_mut().enumerate() {
            self.start(first + i, acc);
            kernels.blind_start(acc);
        }
        let count = accumulators.len();
        let mut next = self.element(0);
        for i in 0..steps {
            let element = std::mem::replace(&mut next, self.element((i + 1).min(steps - 1)));
            let lines = element.len() * length;
            for (j, acc) in accumulators.iter_mut().enumerate() {
                let part = j * lines / count..(j + 1) * lines / count;
                let step = self.step(first + j, i, &element, Prefetch { limbs: &next, lines: part });
                kernels.blind_step(&step, acc, &mut scratch);
            }
        }
        for (out, acc) in out.iter_mut().zip(&accumulators) {
            for (out, acc) in out.iter_mut().zip(acc) {
                new_lines(out).copy_from_slice(&acc[..length]);
            }
        }
    }

    /// Initializes an accumulator: body `test·X^e`, masks zero.
    fn start(&self, entry: usize, acc: &mut [&mut [Line]]) {
        let ring = &self.test.shape.ring;
        let (body, masks) = acc.split_first_mut().expect("a body");
        let test = self.test.rows[entry % self.test.rows.len()].lines();
        let exponent = self.exponents.entry(entry)[self.exponents.shape.dimension];
        gadget::monomial(ring.moduli()[self.prime], ring.log_n(), exponent, &mut body[..test.len()], test);
        masks.iter_mut().for_each(|mask| mask.fill(Line::default()));
    }

    /// The limbs of one GGSW ciphertext, row by row.
    fn element(&self, i: usize) -> Vec<&[Line]> {
        self.key.rows.iter().flatten().map(|poly| poly.rows[i].lines()).collect()
    }

    /// Step `i` of one entry of the batch.
    fn step<'a>(&self, entry: usize, i: usize, key: &'a [&'a [Line]], next: Prefetch<'a>) -> Step<'a> {
        let ring = &self.test.shape.ring;
        let modulus = ring.moduli()[self.prime];
        Step {
            modulus,
            log_n: ring.log_n(),
            gadget: self.key.gadget.of(modulus.value()),
            exponent: self.exponents.entry(entry)[i],
            key,
            next,
        }
    }
}
