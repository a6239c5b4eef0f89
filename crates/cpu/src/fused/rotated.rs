//! `rotated_sums`: rotations that exist a stretch of one limb at a time.
//!
//! For ℓ limbs of Q and k special primes, β digits and r rotations, rotations that are whole pass over
//! r(4(ℓ + k) + 5ℓ + 3β(ℓ + k)) + β(ℓ + k) limbs beside keys, weights and sums: pairs are written and read, the first half
//! is permuted and added, and digits are raised once and permuted for each rotation. Here a stretch of a limb of all rotations
//! is made in the L2 cache and multiplied by its weights there, and digits are permuted a few tiles at a time on their
//! way into the product with the key. From memory come the keys, the weights, and c; to it go the sums. At ℓ = 30, k = 8,
//! β = 4, r = 7, 32 weights, 4 sums and N = 2^16 that is 1.9 GB instead of 4.8.
//!
//! Weights of one limb are transformed before their product, so they meet whole limbs: as many rotations at a time as a
//! thread has rows for. Where all terms are added as they are, rotations are made in their sum.

use super::{
    prepare::{Prepared, Raising},
    weighted,
};
use crate::{
    device::{Cpu, CpuPoly, HEAVY, new_lines},
    footprint::{RAISED, TOGETHER, shared},
    kernels::{
        LimbKernels,
        galois::{self, ValueMap},
        sums::{End, Onto, Sum, Term},
    },
    layout::{self, BLOCK, Line, PADDED},
    pool::Row,
    ring::RingTables,
    threads,
};
use limbwise_device::{Handle as _, Ring, Rotation, Terms, Weight, ops::broadcast};
use std::{
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
};

/// Lines of each operand that are made before they are used: with eight rotations half an L2 cache.
const STRETCH: usize = BLOCK;

/// Lines of each digit that are permuted before they are multiplied: twice what a product asks for ahead, so that the key
/// comes from memory while digits are permuted.
const PERMUTED: usize = 32;

/// Lines of a stretch that are asked for before its predecessor is used.
const ASKED: usize = 32;

/// A limb of both halves of a sum.
type Halves<'a> = [&'a mut [Line]; 2];

/// The state that is independent of the batch entry.
struct Rotated<'a> {
    dev: &'a Cpu,
    tables: &'a RingTables,
    raising: Raising<'a>,
    onto: &'a CpuPoly,
    rotations: &'a [Rotation<CpuPoly>],
    maps: Vec<Arc<ValueMap>>,
    more: &'a [CpuPoly],
    sums: &'a [Terms<'a, CpuPoly>],
    terms: Kind,
    /// Batch entries of each half.
    batch: usize,
    /// Limbs that are raised together: weights of one limb need the room of others, sums without weights none. The more,
    /// the less often a digit is read.
    together: usize,
    /// Rows for the raised limbs of each digit, and others which rotations lie in; a set for each thread.
    scratch: Vec<Mutex<Vec<Row>>>,
}

/// What the terms of all sums are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Operands as they are.
    Ones,
    /// Products with weights, all of them given by their values.
    Values,
    /// Products with weights, some of one limb.
    OneLimb,
}

/// One limb of one entry.
#[derive(Clone, Copy)]
struct Limb<'a> {
    entry: usize,
    prime: usize,
    kernels: &'a dyn LimbKernels,
    /// The values of the raised digits.
    digits: &'a [&'a [Line]],
}

/// Rotations that are in their places, by number.
struct Made<'m> {
    numbers: Range<usize>,
    halves: Vec<Halves<'m>>,
}

/// Lines of a limb within one block: without padding, and with it if the block ends with them.
struct Stretch {
    bare: Range<usize>,
    all: Range<usize>,
    /// The first tile of an automorphism.
    tile: usize,
}

/// The stretches of a limb, so many lines each.
fn stretches(length: usize, lines: usize) -> impl Iterator<Item = Stretch> {
    (0..length).step_by(PADDED).flat_map(move |block| {
        let bare = BLOCK.min(length - block);
        (0..bare).step_by(lines).map(move |from| {
            let to = (from + lines).min(bare);
            let end = if to == BLOCK { (block + PADDED).min(length) } else { block + to };
            let tile = (block / PADDED * BLOCK + from) / galois::TILE;
            Stretch { bare: block + from..block + to, all: block + from..end, tile }
        })
    })
}

impl Cpu {
    /// [`limbwise_device::composites::rotated_sums`] with at least one rotation and weights that all entries share; with at
    /// least two digits if a weight is of one limb. Either all terms have a weight, or none.
    pub(crate) fn fused_rotated_sums(
        &self,
        c: &CpuPoly,
        onto: &CpuPoly,
        rotations: &[Rotation<CpuPoly>],
        more: &[CpuPoly],
        sums: &[Terms<'_, CpuPoly>],
    ) -> Vec<CpuPoly> {
        let any = |kind: fn(&Weight<'_, CpuPoly>) -> bool| sums.iter().flatten().any(|(_, weight)| kind(weight));
        let terms = match any(|weight| matches!(weight, Weight::OneLimb(_))) {
            true => Kind::OneLimb,
            false if any(|weight| matches!(weight, Weight::One)) => Kind::Ones,
            false => Kind::Values,
        };
        let ring = &c.shape.ring;
        let (tables, key) = (self.tables(ring), &rotations[0].key);
        let full = c.shape.basis | key.special;
        let batch = broadcast(&c.shape, &key.pairs[0][0].shape);
        let rows = match terms {
            Kind::Ones => (shared(key.digits.len()) / self.threads()).max(TOGETHER),
            Kind::Values | Kind::OneLimb => TOGETHER,
        };
        let work = Rotated {
            dev: self,
            tables: &tables,
            raising: Raising::new(&tables, c, &key.digits, full),
            onto,
            rotations,
            maps: rotations.iter().map(|rotation| tables.value_map(rotation.galois)).collect(),
            more,
            sums,
            terms,
            batch,
            together: match terms {
                Kind::OneLimb => 1,
                Kind::Values => RAISED,
                Kind::Ones => rows,
            },
            scratch: self.rows_of_threads(ring, rows * key.digits.len()),
        };
        let shape = c.shape.with_batch(2 * batch).with_basis(full);
        let mut results: Vec<CpuPoly> = sums.iter().map(|_| self.unwritten(shape.clone())).collect();
        let primes: Vec<usize> = full.iter().collect();
        for entry in 0..batch {
            let digits = self.digits(&tables, c, entry, &key.digits, &work.raising.up);
            let mut limbs: Vec<(usize, Vec<Halves<'_>>)> = primes.iter().map(|&prime| (prime, Vec::new())).collect();
            for result in &mut results {
                let (first, second) = result.rows.split_at_mut(batch * primes.len());
                let rows = [first, second].map(|half| half[entry * primes.len()..][..primes.len()].iter_mut());
                let [first, second] = rows;
                for ((_, out), (b, a)) in limbs.iter_mut().zip(first.zip(second)) {
                    out.push([new_lines(b), new_lines(a)]);
                }
            }
            let heavy = HEAVY * ring.n() * primes.len() * digits.len() * rotations.len();
            self.each(heavy, self.groups(limbs, work.together), |_, limbs| work.limbs(entry, &digits, limbs));
        }
        results
    }
}

impl Cpu {
    /// So many rows for each thread.
    fn rows_of_threads(&self, ring: &Ring, rows: usize) -> Vec<Mutex<Vec<Row>>> {
        let length = layout::lines(ring.log_n());
        let set = |_| Mutex::new((0..rows).map(|_| self.scratch.take(length)).collect());
        (0..self.threads()).map(set).collect()
    }
}

impl Rotated<'_> {
    /// Some limbs of one entry of all sums.
    fn limbs(&self, entry: usize, digits: &[Prepared], limbs: Vec<(usize, Vec<Halves<'_>>)>) {
        let thread = threads::index();
        let mut scratch = self.scratch[thread % self.scratch.len()].lock().unwrap_or_else(PoisonError::into_inner);
        let (raised, room) = scratch.split_at_mut(self.together * digits.len());
        let primes: Vec<usize> = limbs.iter().map(|limb| limb.0).collect();
        self.raising.begin(digits, &primes, raised, self.together);
        for (place, (prime, mut out)) in limbs.into_iter().enumerate() {
            let digits: Vec<&[Line]> = self.raising.values(entry, (place, prime), raised, self.together).collect();
            let limb = Limb { entry, prime, kernels: self.tables.prime(prime), digits: &digits };
            match self.terms {
                Kind::Ones => self.plain_limb(limb, &mut out),
                Kind::Values => self.limb(limb, room, &mut out),
                Kind::OneLimb => self.whole_limb(limb, room, &mut out),
            }
        }
    }

    /// One limb of one entry of all sums, whose terms are added as they are.
    fn plain_limb(&self, limb: Limb<'_>, out: &mut [Halves<'_>]) {
        let Limb { entry, prime, kernels, digits } = limb;
        let mut permuted = vec![Line::default(); PERMUTED * (digits.len() + 1)];
        for stretch in stretches(digits[0].len(), STRETCH) {
            for (terms, out) in self.sums.iter().zip(&mut *out) {
                let mut out = out.each_mut().map(|half| &mut half[stretch.all.clone()]);
                let mut end = End::Set;
                for &(i, _) in terms {
                    match i.checked_sub(self.rotations.len()) {
                        None => self.rotate(limb, i, &stretch, (&mut out, end), &mut permuted),
                        Some(more) => {
                            for (half, out) in out.iter_mut().enumerate() {
                                let x = &self.more[more].limb(half * self.batch + entry, prime)[stretch.all.clone()];
                                match end {
                                    End::Set => out.copy_from_slice(x),
                                    _ => kernels.add_assign(out, x),
                                }
                            }
                        }
                    }
                    end = End::Add;
                }
            }
        }
    }

    /// One limb of one entry of all sums, whose weights become whole limbs: as many rotations at a time as there is room
    /// for beside one weight or two.
    fn whole_limb(&self, limb: Limb<'_>, room: &mut [Row], out: &mut [Halves<'_>]) {
        let most = (room.len() - 1) / 2;
        let (room, extended) = room.split_at_mut(2 * most);
        let length = extended[0].lines().len();
        let whole = Stretch { bare: 0..length, all: 0..length, tile: 0 };
        let mut permuted = vec![Line::default(); PERMUTED * (limb.digits.len() + 1)];
        let mut begun = vec![false; self.sums.len()];
        for first in (0..self.rotations.len()).step_by(most) {
            let numbers = first..(first + most).min(self.rotations.len());
            let mut halves = Vec::with_capacity(most);
            for (rotation, pair) in numbers.clone().zip(room.chunks_exact_mut(2)) {
                let [b, a] = pair else { unreachable!("chunks of two") };
                let mut rows = [new_lines(b), new_lines(a)];
                for stretch in stretches(length, STRETCH) {
                    let mut part = rows.each_mut().map(|half| &mut half[stretch.all.clone()]);
                    self.rotate(limb, rotation, &stretch, (&mut part, End::Set), &mut permuted);
                }
                halves.push(rows);
            }
            let made = Made { numbers, halves };
            let operand = |i: usize| self.operand(limb, i, &made, &whole);
            for ((terms, out), begun) in self.sums.iter().zip(&mut *out).zip(&mut begun) {
                let terms: Vec<_> = terms.iter().filter_map(|&(i, weight)| Some((operand(i)?, weight))).collect();
                for terms in terms.chunks(extended.len()) {
                    for ((_, weight), row) in terms.iter().zip(&mut *extended) {
                        if let Weight::OneLimb(one) = weight {
                            let place = weighted::Limb { entry: 0, prime: limb.prime };
                            self.dev.extend(self.tables, one, place, new_lines(row));
                        }
                    }
                    let factors = terms.iter().zip(&*extended).map(|((_, weight), row)| match weight {
                        Weight::Values(values) => values.limb(0, limb.prime),
                        Weight::OneLimb(_) | Weight::One => row.lines(),
                    });
                    let terms: Vec<Term<'_, 2>> =
                        terms.iter().zip(factors).map(|(&(with, _), factor)| Term { factor, with }).collect();
                    let end = if std::mem::replace(begun, true) { End::Add } else { End::Set };
                    limb.kernels.inner_products(out.each_mut().map(|half| &mut **half), &Sum::of(&terms, end));
                }
            }
        }
    }

    /// One limb of one entry of all sums: as many rotations at a time as there is room for.
    fn limb(&self, limb: Limb<'_>, room: &mut [Row], out: &mut [Halves<'_>]) {
        let length = room[0].lines().len();
        let held = |lines: usize| room.len() * (length / (lines + 1)) / 2;
        let mut lines = STRETCH.min(length);
        while lines > galois::TILE && held(lines) < self.rotations.len() {
            lines /= 2;
        }
        let most = held(lines).max(1);
        let mut permuted = vec![Line::default(); PERMUTED * (limb.digits.len() + 1)];
        for stretch in stretches(length, lines) {
            let mut begun = vec![false; self.sums.len()];
            for first in (0..self.rotations.len()).step_by(most) {
                let numbers = first..(first + most).min(self.rotations.len());
                let mut places = room.iter_mut().flat_map(|row| new_lines(row).chunks_exact_mut(lines + 1));
                let mut halves: Vec<Halves<'_>> = Vec::with_capacity(numbers.len());
                for rotation in numbers.clone() {
                    match rotation + 1 {
                        next if next < numbers.end => self.ask_for_key(limb, next, &stretch),
                        _ => self.ask_for_weights(limb, 0, &stretch),
                    }
                    let mut place = || &mut places.next().expect("there is room")[..stretch.all.len()];
                    let mut pair = [place(), place()];
                    self.rotate(limb, rotation, &stretch, (&mut pair, End::Set), &mut permuted);
                    halves.push(pair);
                }
                self.add(limb, &Made { numbers, halves }, &stretch, &mut begun, out);
            }
        }
    }

    /// Asks for the first lines of a stretch of a rotation's key; the product with the key asks for those that follow.
    fn ask_for_key(&self, Limb { entry, prime, kernels, .. }: Limb<'_>, rotation: usize, stretch: &Stretch) {
        let first = stretch.bare.start..stretch.bare.end.min(stretch.bare.start + ASKED);
        let halves = self.rotations[rotation].key.pairs.iter().flatten();
        halves.for_each(|half| kernels.ask_for(&half.limb(entry, prime)[first.clone()]));
    }

    /// The same for the weights of a sum.
    fn ask_for_weights(&self, Limb { prime, kernels, .. }: Limb<'_>, sum: usize, stretch: &Stretch) {
        let first = stretch.bare.start..stretch.bare.end.min(stretch.bare.start + ASKED);
        let weights = self.sums.get(sum).into_iter().flatten();
        weights.filter_map(|(_, weight)| weight.poly()).for_each(|weight| {
            kernels.ask_for(&weight.limb(0, prime)[first.clone()]);
        });
    }

    /// A stretch of an operand, if it is one of the rotations that were made; those that come after all rotations go with
    /// the first of them.
    fn operand<'m>(
        &'m self,
        Limb { entry, prime, .. }: Limb<'_>,
        i: usize,
        made: &'m Made<'_>,
        stretch: &Stretch,
    ) -> Option<[&'m [Line]; 2]> {
        match i.checked_sub(self.rotations.len()) {
            Some(more) if made.numbers.start == 0 => {
                let half = |at: usize| &self.more[more].limb(at, prime)[stretch.all.clone()];
                Some([half(entry), half(self.batch + entry)])
            }
            Some(_) => None,
            None => {
                let at = i.checked_sub(made.numbers.start)?;
                Some(made.halves.get(at)?.each_ref().map(|half| &**half))
            }
        }
    }

    /// Sets a stretch to that of one rotation, or adds it.
    fn rotate(
        &self,
        limb: Limb<'_>,
        rotation: usize,
        stretch: &Stretch,
        (out, end): (&mut Halves<'_>, End),
        permuted: &mut [Line],
    ) {
        let Limb { entry, prime, kernels, digits } = limb;
        let (isa, map) = (self.dev.isa(), &self.maps[rotation]);
        let onto = self.onto.shape().basis.contains(prime).then(|| self.onto.limb(entry, prime));
        let keys = self.rotations[rotation].key.pairs.iter();
        let keys: Vec<[&[Line]; 2]> = keys.map(|pair| pair.each_ref().map(|half| half.limb(entry, prime))).collect();
        for from in (0..stretch.bare.len()).step_by(PERMUTED) {
            let lines = PERMUTED.min(stretch.bare.len() - from);
            let tile = stretch.tile + from / galois::TILE;
            let sources = digits.iter().copied().chain(onto);
            let places = permuted.chunks_exact_mut(PERMUTED);
            sources.zip(places).for_each(|(source, place)| map.apply_tiles(isa, &mut place[..lines], tile, source));
            let (turned, last) = permuted.split_at(PERMUTED * digits.len());
            let range = stretch.bare.start + from..stretch.bare.start + from + lines;
            let pairs = turned.chunks_exact(PERMUTED).zip(&keys);
            let terms: Vec<Term<'_, 2>> = pairs
                .map(|(factor, pair)| Term { factor: &factor[..lines], with: pair.map(|half| &half[range.clone()]) })
                .collect();
            let onto = onto.map(|_| Onto { limbs: [Some(&last[..lines]), None], times: 1 });
            let sum = Sum { onto, ..Sum::of(&terms, end) };
            kernels.inner_products(out.each_mut().map(|half| &mut half[from..from + lines]), &sum);
        }
        out.iter_mut().for_each(|half| half[stretch.bare.len()..].fill(Line::default()));
    }

    /// Adds the products of some rotations, and with the first of them those of the operands that come after, to a
    /// stretch of all sums.
    fn add(&self, limb: Limb<'_>, made: &Made<'_>, stretch: &Stretch, begun: &mut [bool], out: &mut [Halves<'_>]) {
        let Limb { prime, kernels, .. } = limb;
        for (sum, ((terms, out), begun)) in self.sums.iter().zip(out).zip(begun).enumerate() {
            self.ask_for_weights(limb, sum + 1, stretch);
            let terms: Vec<Term<'_, 2>> = terms
                .iter()
                .filter_map(|&(i, weight)| {
                    let with = self.operand(limb, i, made, stretch)?;
                    Some(Term { with, factor: &weight.poly()?.limb(0, prime)[stretch.all.clone()] })
                })
                .collect();
            if terms.is_empty() {
                continue;
            }
            let end = if std::mem::replace(begun, true) { End::Add } else { End::Set };
            let out = out.each_mut().map(|half| &mut half[stretch.all.clone()]);
            kernels.inner_products(out, &Sum::of(&terms, end));
        }
    }
}
