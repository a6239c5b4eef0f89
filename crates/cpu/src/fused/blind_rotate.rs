//! `blind_rotate`: threads forked once, each with accumulators of its own that stay in the cache for all steps; an element
//! of the key is read once for all entries of a group, and the next one is asked for meanwhile.
//!
//! Where there are at least two threads for an entry, its components are divided among them: a thread makes the digits of
//! its own, waits until the others have made theirs, and sums the products of all digits with its part of the key. So a step
//! has one meeting ([`Team`]), and digits two places, for a thread writes those of a step while another still reads those
//! before.

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
    team::{Met, Team},
};
use limbwise_device::Ggsw;
use std::{
    ops::Range,
    sync::{Mutex, PoisonError, RwLock},
};

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

/// An entry whose components are divided among threads.
struct Divided<'a> {
    team: Team,
    parts: Vec<Part<'a>>,
}

/// Some components of an entry.
struct Part<'a> {
    components: Range<usize>,
    out: Mutex<Entry<'a>>,
    /// Their digits in even steps, and in odd ones.
    digits: [RwLock<Vec<Row>>; 2],
}

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
        let work = HEAVY * batch * exponents.shape.dimension * shape.ring.n();
        let team = (self.threads() / batch).min(key.components());
        if team > 1 {
            let divided: Vec<Divided<'_>> = entries.map(|entry| rotation.divided(entry, team)).collect();
            let all = (0..batch).flat_map(|entry| (0..team).map(move |own| (entry, own))).collect();
            self.each(work, all, |_, (entry, own)| rotation.part(entry, &divided[entry], own));
            drop(divided);
            return out;
        }
        let groups = batch.div_ceil(in_flight(key.components(), shape.ring.log_n()));
        let share = batch.div_ceil(groups.next_multiple_of(self.threads().min(batch)));
        let chunks: Vec<(usize, Vec<Entry<'_>>)> =
            (0..batch).step_by(share).map(|first| (first, entries.by_ref().take(share).collect())).collect();
        drop(entries);
        self.each(work, chunks, |_, (first, entries)| rotation.entries(first, entries));
        out
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
            self.start(first + i, 0, acc);
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

    /// The components of an entry for so many threads.
    fn divided<'a>(&self, mut entry: Entry<'a>, team: usize) -> Divided<'a> {
        let (components, levels) = (entry.len(), self.key.rows.len() / entry.len());
        let length = layout::lines(self.test.shape.ring.log_n());
        let part = |own: usize| {
            let components = own * components / team..(own + 1) * components / team;
            let digits = || (0..components.len() * levels).map(|_| self.dev.scratch.take(length)).collect();
            let digits = [(); 2].map(|()| RwLock::new(digits()));
            Part { out: Mutex::new(entry.drain(..components.len()).collect()), components, digits }
        };
        Divided { parts: (0..team).map(part).collect(), team: Team::new(team) }
    }

    /// Rotates part `own` of an entry through all steps, beside the other parts; all of it if they do not come.
    fn part(&self, entry: usize, divided: &Divided<'_>, own: usize) {
        let member = match divided.team.meet(own) {
            Met::All(member) => member,
            Met::Alone => {
                let mut all: Vec<_> = divided.parts.iter().map(|part| lock(&part.out)).collect();
                return self
                    .entries(entry, vec![all.iter_mut().flat_map(|out| out.iter_mut().map(|r| &mut **r)).collect()]);
            }
            Met::Late => return,
        };
        let kernels = self.tables.prime(self.prime);
        let length = layout::lines(self.test.shape.ring.log_n());
        let Part { components, out, .. } = &divided.parts[own];
        let (count, levels) = (components.len(), self.key.rows.len() / self.key.components());
        let take = |lines: usize| (0..count).map(|_| self.dev.scratch.take(lines)).collect::<Vec<Row>>();
        let (mut acc, mut sums) = (take(length + 1), take(length));
        let mut acc: Vec<&mut [Line]> = acc.iter_mut().map(new_lines).collect();
        let mut sums: Vec<&mut [Line]> = sums.iter_mut().map(new_lines).collect();
        self.start(entry, components.start, &mut acc);
        let steps = self.exponents.shape.dimension;
        for i in 0..steps {
            let element = self.element(i);
            // Of the next element the limbs that this part multiplies with, a share in each half of each component's step.
            let next = self.element((i + 1).min(steps - 1));
            let rows = next.chunks_exact(self.key.components());
            let next: Vec<&[Line]> = rows.flat_map(|row| &row[components.clone()]).copied().collect();
            let share = |j: usize| {
                let (lines, shares) = (next.len() * length, 2 * count);
                Prefetch { limbs: &next, lines: j * lines / shares..(j + 1) * lines / shares }
            };
            let mut own_digits = divided.parts[own].digits[i % 2].write().unwrap_or_else(PoisonError::into_inner);
            let mut lines: Vec<&mut [Line]> = own_digits.iter_mut().map(new_lines).collect();
            for (j, (acc, digits)) in acc.iter().zip(lines.chunks_exact_mut(levels)).enumerate() {
                kernels.blind_digits(&self.step(entry, i, &element, share(j)), acc, digits);
            }
            drop(own_digits);
            if !member.done(i + 1) {
                return; // another part panicked, which the caller will hear of
            }
            let digits = divided.parts.iter().map(|part| &part.digits[i % 2]);
            let digits: Vec<_> = digits.map(|part| part.read().unwrap_or_else(PoisonError::into_inner)).collect();
            let digits: Vec<&[Line]> = digits.iter().flat_map(|rows| rows.iter().map(|row| row.lines())).collect();
            for (j, (acc, sum)) in acc.iter_mut().zip(&mut sums).enumerate() {
                let step = self.step(entry, i, &element, share(count + j));
                kernels.blind_sum(&step, components.start + j, &digits, (sum, acc));
            }
        }
        for (out, acc) in lock(out).iter_mut().zip(&acc) {
            new_lines(out).copy_from_slice(&acc[..length]);
        }
    }

    /// Initializes accumulators of the components from `first` on: body `test·X^e`, masks zero.
    fn start(&self, entry: usize, first: usize, acc: &mut [&mut [Line]]) {
        let ring = &self.test.shape.ring;
        let test = self.test.rows[entry % self.test.rows.len()].lines();
        let exponent = self.exponents.entry(entry)[self.exponents.shape.dimension];
        for (component, acc) in (first..).zip(acc.iter_mut()) {
            match component {
                0 => gadget::monomial(ring.moduli()[self.prime], ring.log_n(), exponent, &mut acc[..test.len()], test),
                _ => acc.fill(Line::default()),
            }
        }
        self.tables.prime(self.prime).blind_start(acc);
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
