//! `gadget_product` and key switches: all digits of one limb, in the cache, times the streaming key.
//!
//! `key_switch_onto` is the same switch: `onto` is one more product of the sum, and a dropped level's primes are
//! treated like the special ones: summed first, then divided by together. For ℓ limbs, k special primes and d dropped,
//! a separate rescale takes 2(k + ℓ) + 2(d + ℓ − d) transforms after the product with the key, a merged one 2(k + d) +
//! 2(ℓ − d): 2ℓ fewer. It also saves writing and reading the switched pair and the sum, 8ℓ limbs. In return it needs
//! 2(k + d)(ℓ − d) limbs of conversion instead of 2kℓ and 2(ℓ − d) lifts. At ℓ = 25, k = 5, d = 1 that is 210
//! transforms instead of 260, and 105 MB less traffic at N = 2^16. An addition alone (a rotation) saves 2ℓ limbs of
//! traffic per half.

use super::prepare::{Extension, Prepared, Raising};
use crate::{
    device::{Cpu, CpuPoly, HEAVY, new_lines},
    footprint::TOGETHER,
    kernels::sums::{End, Onto, Sum, Term},
    layout,
    pool::Row,
    ring::RingTables,
    threads,
};
use limbwise_device::{
    Basis, GadgetKey, Ring,
    composites::{inverse_product, product},
    ops::broadcast,
};
use std::sync::{Mutex, PoisonError};

/// A limb of both halves of the result.
type Halves<'a> = [&'a mut Row; 2];

/// The rows of one entry of both halves.
fn halves<'a>([b, a]: [&'a mut [Row]; 2]) -> Vec<Halves<'a>> {
    b.iter_mut().zip(a).map(|(b, a)| [b, a]).collect()
}

/// The state of a key switch that is independent of the batch entry.
struct Switch<'a> {
    dev: &'a Cpu,
    tables: &'a RingTables,
    c: &'a CpuPoly,
    key: &'a GadgetKey<CpuPoly>,
    raising: Raising<'a>,
    /// The polynomials to add, and what they are multiplied with modulo each prime of theirs.
    onto: [Option<&'a CpuPoly>; 2],
    factors: Vec<u64>,
    /// Rows for [`TOGETHER`] limbs of each digit, one set per thread.
    scratch: Vec<Mutex<Vec<Row>>>,
}

/// The division that ends a key switch.
struct Division {
    /// From the dropped primes to the kept ones, which are the basis of the result.
    down: Extension,
    /// Inverse of the product of the dropped primes, modulo each kept one.
    inverses: Vec<u64>,
}

impl Division {
    /// The final step of the sum of a limb. Limbs that are divided hold their remainders' coefficients.
    fn end(&self, prime: usize) -> End {
        self.down.to.position(prime).map_or(End::Set, |place| End::Divide(self.inverses[place]))
    }
}

impl Cpu {
    /// [`limbwise_device::composites::gadget_product`], each row read once for both halves.
    pub(crate) fn fused_gadget_product(&self, digits: &[CpuPoly], key: &GadgetKey<CpuPoly>) -> [CpuPoly; 2] {
        assert!(digits.len() == key.pairs.len() && !digits.is_empty(), "one key pair a digit, at least one");
        let first = &digits[0].shape;
        let tables = self.tables(&first.ring);
        let shape = first.with_batch(broadcast(first, &key.pairs[0][0].shape));
        let primes: Vec<usize> = shape.basis.iter().collect();
        let mut out = [0, 1].map(|_| self.unwritten(shape.clone()));
        let items = halves(out.each_mut().map(|half| &mut half.rows[..]));
        self.each(2 * digits.len() * shape.rows() * shape.ring.n(), items, |i, out| {
            let (entry, prime) = (i / primes.len(), primes[i % primes.len()]);
            let terms: Vec<Term<'_, 2>> = digits
                .iter()
                .zip(&key.pairs)
                .map(|(digit, pair)| Term {
                    factor: digit.limb(entry, prime),
                    with: pair.each_ref().map(|half| half.limb(entry, prime)),
                })
                .collect();
            tables.prime(prime).inner_products(out.map(new_lines), &Sum::of(&terms, End::Set));
        });
        out
    }

    /// [`limbwise_device::composites::key_switch_onto`], entry by entry: the dropped limbs first, then the limbs of the
    /// result, a few at a time, from the digits to their division.
    pub(crate) fn fused_key_switch(
        &self,
        c: &CpuPoly,
        key: &GadgetKey<CpuPoly>,
        onto: [Option<&CpuPoly>; 2],
        to: Basis,
    ) -> [CpuPoly; 2] {
        let (ring, basis) = (&c.shape.ring, c.shape.basis);
        let (tables, full) = (self.tables(ring), basis | key.special);
        let switch = self.switch(&tables, c, key, onto, product(ring, key.special, basis));
        let down = Extension::new(&tables, full - to, to);
        let division = Division { down, inverses: inverse_product(ring, full - to, to) };
        self.entries(&switch, to, |entry, out| switch.divided(entry, &division, out))
    }

    /// [`limbwise_device::composites::key_switch_undivided`], entry by entry, a few limbs at a time.
    pub(crate) fn fused_key_switch_undivided(
        &self,
        c: &CpuPoly,
        key: &GadgetKey<CpuPoly>,
        onto: [Option<&CpuPoly>; 2],
    ) -> [CpuPoly; 2] {
        let full = c.shape.basis | key.special;
        let tables = self.tables(&c.shape.ring);
        let switch = self.switch(&tables, c, key, onto, vec![1; full.len()]);
        self.entries(&switch, full, |entry, out| switch.undivided(entry, out))
    }

    fn switch<'a>(
        &'a self,
        tables: &'a RingTables,
        c: &'a CpuPoly,
        key: &'a GadgetKey<CpuPoly>,
        onto: [Option<&'a CpuPoly>; 2],
        factors: Vec<u64>,
    ) -> Switch<'a> {
        assert!(key.digits.len() == key.pairs.len() && !key.digits.is_empty(), "one key pair a digit, at least one");
        let raising = Raising::new(tables, c, &key.digits, c.shape.basis | key.special);
        let scratch = self.rows_of_threads(&c.shape.ring, TOGETHER * key.digits.len());
        Switch { dev: self, tables, c, key, raising, onto, factors, scratch }
    }

    /// So many rows for each thread.
    pub(super) fn rows_of_threads(&self, ring: &Ring, rows: usize) -> Vec<Mutex<Vec<Row>>> {
        let length = layout::lines(ring.log_n());
        let set = |_| Mutex::new((0..rows).map(|_| self.scratch.take(length)).collect());
        (0..self.threads()).map(set).collect()
    }

    /// The result over a basis, entry by entry.
    fn entries(&self, switch: &Switch<'_>, to: Basis, entry: impl Fn(usize, Vec<Halves<'_>>)) -> [CpuPoly; 2] {
        let Switch { c, key, .. } = switch;
        let shape = c.shape.with_batch(broadcast(&c.shape, &key.pairs[0][0].shape)).with_basis(to);
        let mut out = [0, 1].map(|_| self.unwritten(shape.clone()));
        for at in 0..shape.batch {
            let rows = out.each_mut().map(|half| &mut half.rows[at * to.len()..][..to.len()]);
            entry(at, halves(rows));
        }
        out
    }
}

impl Switch<'_> {
    /// One entry of the batch, divided.
    fn divided(&self, entry: usize, division: &Division, out: Vec<Halves<'_>>) {
        let (tables, n, down) = (self.tables, self.c.shape.ring.n(), &division.down);
        let digits = self.dev.digits(tables, self.c, entry, &self.key.digits, &self.raising.up);
        let dropped: Vec<usize> = ((self.c.shape.basis | self.key.special) - down.to).iter().collect();
        let length = layout::lines(self.c.shape.ring.log_n());
        let mut sums = [0, 1].map(|_| dropped.iter().map(|_| self.dev.pool.take(length)).collect::<Vec<Row>>());
        let items = self.groups(&dropped, halves(sums.each_mut().map(|rows| &mut rows[..])));
        self.dev.each(HEAVY * n * dropped.len() * digits.len(), items, |_, (primes, mut out)| {
            self.product(entry, &primes, &digits, &mut out, |prime| division.end(prime));
            for (&prime, row) in primes.iter().zip(out).flat_map(|(prime, out)| out.map(|row| (prime, row))) {
                tables.prime(prime).intt(new_lines(row));
            }
        });
        let remainders = self.dev.prepare_sources(sums.into_iter().map(|rows| (&*down.converter, rows)).collect());
        let primes: Vec<usize> = down.to.iter().collect();
        self.dev.each(HEAVY * n * primes.len() * digits.len(), self.groups(&primes, out), |_, (primes, mut out)| {
            for (half, remainder) in remainders.iter().enumerate() {
                let rows = out.iter_mut().map(|out| new_lines(out[half]));
                remainder.extend(down, primes.iter().copied().zip(rows));
            }
            self.product(entry, &primes, &digits, &mut out, |prime| division.end(prime));
        });
    }

    /// One entry of the batch, not divided.
    fn undivided(&self, entry: usize, out: Vec<Halves<'_>>) {
        let digits = self.dev.digits(self.tables, self.c, entry, &self.key.digits, &self.raising.up);
        let primes: Vec<usize> = (self.c.shape.basis | self.key.special).iter().collect();
        let work = HEAVY * self.c.shape.ring.n() * primes.len() * digits.len();
        self.dev.each(work, self.groups(&primes, out), |_, (primes, mut out)| {
            self.product(entry, &primes, &digits, &mut out, |_| End::Set);
        });
    }

    /// Limbs computed together, with their primes.
    fn groups<'a>(&self, primes: &[usize], out: Vec<Halves<'a>>) -> Vec<(Vec<usize>, Vec<Halves<'a>>)> {
        let groups = self.dev.groups(primes.iter().copied().zip(out).collect(), TOGETHER);
        groups.into_iter().map(|group| group.into_iter().unzip()).collect()
    }

    /// Selected limbs of the inner product with the key plus `onto`. Those that are divided hold the remainders'
    /// coefficients.
    fn product(
        &self,
        entry: usize,
        primes: &[usize],
        digits: &[Prepared],
        out: &mut [Halves<'_>],
        end: impl Fn(usize) -> End,
    ) {
        let thread = threads::index();
        let mut scratch = self.scratch[thread % self.scratch.len()].lock().unwrap_or_else(PoisonError::into_inner);
        self.raising.extend(digits, primes, &mut scratch, TOGETHER);
        for (place, (&prime, out)) in primes.iter().zip(out).enumerate() {
            let kernels = self.tables.prime(prime);
            let factors = self.raising.values(entry, (place, prime), &mut scratch, TOGETHER);
            let pairs = factors.zip(&self.key.pairs);
            let terms: Vec<Term<'_, 2>> = pairs
                .map(|(factor, pair)| Term { factor, with: pair.each_ref().map(|half| half.limb(entry, prime)) })
                .collect();
            let end = end(prime);
            if end != End::Set {
                out.iter_mut().for_each(|remainder| kernels.ntt(new_lines(remainder)));
            }
            let sum = Sum { onto: self.onto(entry, prime), ..Sum::of(&terms, end) };
            kernels.inner_products(out.each_mut().map(|row| new_lines(row)), &sum);
        }
    }

    /// One limb of `onto`; `None` modulo a prime that it lacks.
    fn onto(&self, entry: usize, prime: usize) -> Option<Onto<'_, 2>> {
        let basis = self.onto.iter().flatten().next()?.shape.basis;
        let times = self.factors[basis.position(prime)?];
        let limbs = self.onto.map(|half| Some(half?.limb(entry, prime)));
        Some(Onto { limbs, times })
    }
}
