//! Rows without words: who holds which, and their bytes on the meter.
//!
//! Rows that were made together are a block with one count of references for all of them. Only a block that some view
//! shows a part of counts its rows one by one: a batch of thousands costs what one polynomial does.

use super::Meter;
use crate::ring::{Basis, Shape};
use std::{
    ops::Range,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Rows that were made together: those of a polynomial, or the words of LWE ciphertexts as one row.
#[derive(Debug)]
struct Block {
    limbs: Basis,
    batch: usize,
    row_bytes: u64,
    meter: Arc<Meter>,
    holders: Mutex<Holders>,
}

/// References to rows of a block; a row without any is gone.
#[derive(Debug)]
struct Holders {
    of_all: usize,
    /// References to single rows, in the order batch, then limb; empty before the first.
    of_each: Vec<u32>,
    /// Sum of the parts.
    of_parts: usize,
}

impl Holders {
    fn of(&self, row: usize) -> usize {
        self.of_all + self.of_each.get(row).map_or(0, |&count| count as usize)
    }
}

impl Block {
    fn rows(&self) -> usize {
        self.batch * self.limbs.len()
    }

    fn holders(&self) -> MutexGuard<'_, Holders> {
        self.holders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A reference to some limbs of some entries of a block.
#[derive(Debug)]
struct Piece {
    block: Arc<Block>,
    limbs: Basis,
    entries: Range<usize>,
}

impl Piece {
    /// New rows, which this is the only reference to.
    fn fresh(meter: &Arc<Meter>, limbs: Basis, batch: usize, row_bytes: u64) -> Self {
        let holders = Mutex::new(Holders { of_all: 1, of_each: Vec::new(), of_parts: 0 });
        let block = Block { limbs, batch, row_bytes, meter: meter.clone(), holders };
        meter.take(block.rows() as u64 * row_bytes);
        Self { block: Arc::new(block), limbs, entries: 0..batch }
    }

    /// Another reference, to rows of which this has one.
    fn part(&self, limbs: Basis, entries: Range<usize>) -> Self {
        let part = Self { block: self.block.clone(), limbs, entries };
        let mut holders = part.block.holders();
        if part.is_whole() {
            holders.of_all += 1;
        } else {
            let rows = part.block.rows();
            holders.of_each.resize(rows, 0);
            part.for_each_run(|run| holders.of_each[run].iter_mut().for_each(|count| *count += 1));
            holders.of_parts += part.len();
        }
        drop(holders);
        part
    }

    fn is_whole(&self) -> bool {
        self.limbs == self.block.limbs && self.entries == (0..self.block.batch)
    }

    /// Number of rows that the handle shows.
    fn len(&self) -> usize {
        self.entries.len() * self.limbs.len()
    }

    /// Whether nobody else holds any of its rows.
    fn is_own(&self) -> bool {
        let holders = self.block.holders();
        match (self.is_whole(), holders.of_all) {
            (true, 1) => holders.of_parts == 0,
            (true, _) => false,
            (false, 0) => {
                let mut own = true;
                self.for_each_run(|run| own &= holders.of_each[run].iter().all(|&count| count == 1));
                own
            }
            (false, _) => false,
        }
    }

    /// Numbers of its rows in the block, those that follow each other together: all in one where it shows all limbs.
    fn for_each_run(&self, mut found: impl FnMut(Range<usize>)) {
        let (all, each) = (self.block.limbs, self.block.limbs.len());
        if self.limbs == all {
            return found(self.entries.start * each..self.entries.end * each);
        }
        let mut runs: Vec<Range<usize>> = Vec::new();
        for at in self.limbs.iter().filter_map(|limb| all.position(limb)) {
            match runs.last_mut() {
                Some(run) if run.end == at => run.end += 1,
                _ => runs.push(at..at + 1),
            }
        }
        for first in self.entries.clone().map(|entry| entry * each) {
            runs.iter().for_each(|run| found(first + run.start..first + run.end));
        }
    }

    /// For each of its entries the limbs that others hold too, neighbors with the same ones together.
    fn shared(&self) -> Vec<(Range<usize>, Basis)> {
        let (holders, all) = (self.block.holders(), self.block.limbs);
        if holders.of_all > usize::from(self.is_whole()) {
            return vec![(self.entries.clone(), self.limbs)];
        }
        let mut found: Vec<(Range<usize>, Basis)> = Vec::new();
        for entry in self.entries.clone() {
            let count = |limb: usize| all.position(limb).map_or(0, |at| holders.of(entry * all.len() + at));
            let held = self.limbs.iter().filter(|&limb| count(limb) > 1);
            let shared = held.fold(Basis::default(), |shared, limb| shared | Basis::single(limb));
            match found.last_mut() {
                Some((entries, same)) if *same == shared => entries.end = entry + 1,
                _ => found.push((entry..entry + 1, shared)),
            }
        }
        found
    }
}

impl Clone for Piece {
    fn clone(&self) -> Self {
        self.part(self.limbs, self.entries.clone())
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        let mut holders = self.block.holders();
        let gone = if self.is_whole() {
            holders.of_all -= 1;
            match (holders.of_all, holders.of_parts) {
                (0, 0) => self.block.rows(),
                (0, _) => holders.of_each.iter().filter(|&&count| count == 0).count(),
                _ => 0,
            }
        } else {
            holders.of_parts -= self.len();
            let mut gone = 0;
            self.for_each_run(|run| {
                let counts = &mut holders.of_each[run];
                counts.iter_mut().for_each(|count| *count -= 1);
                gone += counts.iter().filter(|&&count| count == 0).count();
            });
            if holders.of_all == 0 { gone } else { 0 }
        };
        self.block.meter.give_back(gone as u64 * self.block.row_bytes);
    }
}

/// A piece among the rows of a handle: its first entry there.
#[derive(Clone, Debug)]
struct Placed {
    at: usize,
    piece: Piece,
}

impl Placed {
    /// Its entries in the handle.
    fn entries(&self) -> Range<usize> {
        self.at..self.at + self.piece.entries.len()
    }

    /// What of it lies in a part of the handle.
    fn within(&self, limbs: Basis, entries: &Range<usize>) -> Option<Self> {
        let own = self.entries();
        let (from, to) = (own.start.max(entries.start), own.end.min(entries.end));
        let limbs = limbs & self.piece.limbs;
        (from < to && !limbs.is_empty()).then(|| {
            let start = self.piece.entries.start;
            let piece = self.piece.part(limbs, start + from - self.at..start + to - self.at);
            Self { at: from, piece }
        })
    }
}

/// The rows that a handle shows.
#[derive(Clone, Debug)]
pub(super) struct Rows(Vec<Placed>);

impl Rows {
    /// Those of a polynomial of this shape, new.
    pub(super) fn fresh(meter: &Arc<Meter>, shape: &Shape) -> Self {
        let piece = Piece::fresh(meter, shape.basis, shape.batch, 8 * shape.ring.n() as u64);
        Self(vec![Placed { at: 0, piece }])
    }

    /// Words that no view shows a part of, new.
    pub(super) fn words(meter: &Arc<Meter>, bytes: u64) -> Self {
        Self(vec![Placed { at: 0, piece: Piece::fresh(meter, Basis::single(0), 1, bytes) }])
    }

    /// The rows of some limbs.
    pub(super) fn restrict(&self, to: Basis) -> Self {
        Self(self.0.iter().filter_map(|placed| placed.within(to, &placed.entries())).collect())
    }

    /// The rows of the entries `from … to − 1`.
    pub(super) fn split(&self, from: usize, to: usize) -> Self {
        let shown = self.0.iter().filter_map(|placed| placed.within(placed.piece.limbs, &(from..to)));
        Self(shown.map(|placed| Placed { at: placed.at - from, ..placed }).collect())
    }

    /// Rows of several handles, each from an entry on.
    pub(super) fn beside<'a>(parts: impl Iterator<Item = (usize, &'a Self)>) -> Self {
        let moved = |(from, rows): (usize, &'a Self)| {
            rows.0.iter().map(move |placed| Placed { at: from + placed.at, piece: placed.piece.clone() })
        };
        Self(parts.flat_map(moved).collect())
    }

    /// Replaces the rows that others hold.
    pub(super) fn own(&mut self) {
        if self.0.iter().all(|placed| placed.piece.is_own()) {
            return;
        }
        let mut owned = Vec::with_capacity(self.0.len());
        for Placed { at, piece } in self.0.drain(..) {
            let (start, row_bytes) = (piece.entries.start, piece.block.row_bytes);
            for (entries, shared) in piece.shared() {
                let (at, kept) = (at + entries.start - start, piece.limbs - shared);
                if !shared.is_empty() {
                    let fresh = Piece::fresh(&piece.block.meter, shared, entries.len(), row_bytes);
                    owned.push(Placed { at, piece: fresh });
                }
                if !kept.is_empty() {
                    owned.push(Placed { at, piece: piece.part(kept, entries) });
                }
            }
        }
        self.0 = owned;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ring::{Ring, RingSpec};
    use limbwise_math::{
        prime::ntt_primes_below,
        sampling::{Seed, Stream},
    };

    /// A row as a reference of its own: what blocks stand for.
    type Each = Vec<(usize, usize, Arc<()>)>;

    fn each(limbs: Basis, batch: usize) -> Each {
        (0..batch).flat_map(|entry| limbs.iter().map(move |limb| (entry, limb, Arc::new(())))).collect()
    }

    fn own(rows: &mut Each) {
        for (_, _, row) in rows {
            if Arc::strong_count(row) > 1 {
                *row = Arc::new(());
            }
        }
    }

    fn distinct(handles: &[(Shape, Rows, Each)]) -> u64 {
        let all = handles.iter().flat_map(|(_, _, rows)| rows.iter().map(|(_, _, row)| Arc::as_ptr(row)));
        all.collect::<std::collections::BTreeSet<_>>().len() as u64
    }

    /// What a random operation makes of handles.
    fn made(
        handles: &[(Shape, Rows, Each)],
        meter: &Arc<Meter>,
        ring: &Ring,
        mut random: impl FnMut(usize) -> usize,
    ) -> (Shape, Rows, Each) {
        let (shape, rows, old) = &handles[random(handles.len())];
        let shown = |keep: &dyn Fn(usize, usize) -> bool, from: usize| -> Each {
            old.iter().filter(|(b, i, _)| keep(*b, *i)).map(|(b, i, row)| (b - from, *i, row.clone())).collect()
        };
        match random(6) {
            0 => {
                let shape = Shape::eval(ring, Basis::range(0, 1 + random(4))).with_batch(1 + random(4));
                (shape.clone(), Rows::fresh(meter, &shape), each(shape.basis, shape.batch))
            }
            1 => {
                let some = Basis(random(1 << 4) as u128) & shape.basis;
                let to = if some.is_empty() { shape.basis } else { some };
                (shape.with_basis(to), rows.restrict(to), shown(&|_, i| to.contains(i), 0))
            }
            2 => {
                let from = random(shape.batch);
                let to = from + 1 + random(shape.batch - from);
                (shape.with_batch(to - from), rows.split(from, to), shown(&|b, _| (from..to).contains(&b), from))
            }
            3 => {
                let part = Basis(random(1 << 4) as u128) & shape.basis;
                let parts = [rows.restrict(part), rows.restrict(shape.basis - part)];
                (shape.clone(), Rows::beside(parts.iter().map(|part| (0, part))), old.clone())
            }
            4 => {
                let twice = shown(&|_, _| true, 0).into_iter().map(|(b, i, row)| (b + shape.batch, i, row));
                let both = old.iter().cloned().chain(twice).collect();
                (shape.with_batch(2 * shape.batch), Rows::beside([(0, rows), (shape.batch, rows)].into_iter()), both)
            }
            _ => (shape.clone(), rows.clone(), old.clone()),
        }
    }

    #[test]
    fn blocks_count_what_rows_of_their_own_would() {
        let primes = ntt_primes_below(10, 40, 4, &[]).unwrap();
        let ring = Ring::new(&RingSpec { log_n: 10, primes }).unwrap();
        let (meter, row_bytes) = (Arc::new(Meter::default()), 8 << 10);
        let mut stream = Stream::new(&Seed([7; 32]), b"rows");
        let mut random = |below: usize| usize::try_from(stream.next_word() % below as u64).unwrap();
        let shape = Shape::eval(&ring, ring.full()).with_batch(3);
        let mut handles = vec![(shape.clone(), Rows::fresh(&meter, &shape), each(shape.basis, shape.batch))];
        for _ in 0..20_000 {
            match random(5) {
                0 if handles.len() > 1 => drop(handles.swap_remove(random(handles.len()))),
                1 => {
                    let at = random(handles.len());
                    handles[at].1.own();
                    own(&mut handles[at].2);
                }
                _ if handles.len() < 12 => {
                    let new = made(&handles, &meter, &ring, &mut random);
                    if new.0.batch <= 8 {
                        handles.push(new);
                    }
                }
                _ => drop(handles.swap_remove(random(handles.len()))),
            }
            assert_eq!(meter.live_bytes(), distinct(&handles) * row_bytes);
        }
        drop(handles);
        assert_eq!(meter.live_bytes(), 0);
    }
}
