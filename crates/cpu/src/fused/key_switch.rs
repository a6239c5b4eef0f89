//! `gadget_product` and key switches: a few limbs of all digits, in the cache, times the streaming key.
//!
//! In what order: the limbs of a group are raised for all digits ([`Prepared::begin`]: conversion and the first levels of the
//! transforms, strip by strip in the L1 cache), then every block of 4096 words of every limb is taken by itself: its
//! transforms end in the L1 cache, the blocks of all digits wait in the L2 cache, and the product with the key, the addition
//! of `onto` and the division read them there. Threads share the group, so that its rows and the digits' coefficients are in
//! the L3 cache once, whatever the number of threads. ADR 197 has the counts.
//!
//! What is asked for: every line that a block reads, while the transform before it runs, a few lines at a time. A digit's
//! block comes from the L3 cache and its sixteen rows are read side by side, which the hardware does not foresee; the key's
//! lines come from memory. ADR 201 has the times.
//!
//! `key_switch_onto` is the same switch: `onto` is one more product of the sum, and a dropped level's primes are
//! treated like the special ones: summed first, then divided by together. For ℓ limbs, k special primes and d dropped,
//! a separate rescale takes 2(k + ℓ) + 2(d + ℓ − d) transforms after the product with the key, a merged one 2(k + d) +
//! 2(ℓ − d): 2ℓ fewer. It also saves writing and reading the switched pair and the sum, 8ℓ limbs. In return it needs
//! 2(k + d)(ℓ − d) limbs of conversion instead of 2kℓ and 2(ℓ − d) lifts. At ℓ = 25, k = 5, d = 1 that is 210
//! transforms instead of 260, and 105 MB less traffic at N = 2^16. An addition alone (a rotation) saves 2ℓ limbs of
//! traffic per half.

use super::prepare::{Block, Extension, Prepared, Raising, equal_parts};
use crate::{
    device::{Cpu, CpuPoly, HEAVY, new_lines},
    footprint::shared,
    kernels::{
        LimbKernels,
        limb::Ahead,
        sums::{End, Onto, Sum, Term},
    },
    layout::{self, Line, blocks_mut, clear_padding},
    pool::Row,
    ring::{Division, RingTables},
};
use limbwise_device::{Basis, GadgetKey, composites::product, ops::broadcast};

/// Blocks of a limb that a task takes: while one ends, the next is asked for.
const PIECES: usize = 2;

/// A limb of both halves of the result.
type Halves<'a> = [&'a mut Row; 2];

/// The rows of one entry of both halves.
fn halves<'a>([b, a]: [&'a mut [Row]; 2]) -> Vec<Halves<'a>> {
    b.iter_mut().zip(a).map(|(b, a)| [b, a]).collect()
}

/// Limbs with their primes.
fn limbs<'a>(primes: &[usize], rows: impl Iterator<Item = &'a mut [Line]>) -> Vec<(usize, &'a mut [Line])> {
    primes.iter().copied().zip(rows).collect()
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
}

/// The division that ends a key switch.
struct Ending<'a> {
    division: &'a Division,
    /// From the dropped primes to those of the result.
    down: Extension,
}

/// Limbs whose remainders are subtracted and which are then divided.
struct Divided<'a> {
    ending: &'a Ending<'a>,
    /// Of each half.
    remainders: [Prepared; 2],
}

/// Limbs of the sums of one entry that are made together.
struct Group<'a> {
    primes: Vec<usize>,
    out: Vec<Halves<'a>>,
}

impl<'a> Group<'a> {
    /// Limbs in groups of at most so many, as equal as can be.
    fn of(primes: &[usize], out: Vec<Halves<'a>>, most: usize) -> Vec<Self> {
        let limbs: Vec<_> = primes.iter().copied().zip(out).collect();
        let group = |limbs: Vec<(usize, Halves<'a>)>| {
            let (primes, out) = limbs.into_iter().unzip();
            Self { primes, out }
        };
        equal_parts(limbs, primes.len().div_ceil(most)).into_iter().map(group).collect()
    }
}

/// A prepared operand, and limbs of it to be raised.
type Begun<'a> = (&'a Prepared, &'a Extension, Vec<(usize, &'a mut [Line])>);

/// A block of all digits of a limb and of both halves of its sum: the limb's prime, the block's number and lines.
struct Piece<'a> {
    prime: usize,
    block: Block,
    /// `None` for a digit's own limb, which stays where it is.
    digits: Vec<Option<&'a mut [Line]>>,
    out: [&'a mut [Line]; 2],
}

impl Piece<'_> {
    /// The block that is transformed first.
    fn first(&self) -> Option<&[Line]> {
        self.digits.iter().flatten().next().map(|block| &**block)
    }
}

/// Ends the transforms of blocks of one number, and asks with each for the next one and for a share of what is read after
/// all of them; with the last one for `after`.
fn transform(kernels: &dyn LimbKernels, number: usize, blocks: &mut [&mut [Line]], read: &[&[Line]], after: &[Line]) {
    let (count, lines) = (blocks.len(), read.iter().map(|limb| limb.len()).sum::<usize>());
    for i in 0..count {
        let (now, later) = blocks.split_at_mut(i + 1);
        let next = later.first().map_or(after, |block| &**block);
        let share = i * lines / count..(i + 1) * lines / count;
        kernels.ntt_block(now[i], number, &mut Ahead::spread(next, read, &share));
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
        let division = tables.division(full, to);
        let ending = Ending { division: &division, down: Extension::of(&division) };
        self.entries(&switch, to, |entry, out| switch.divided(entry, &ending, out))
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
        Switch { dev: self, tables, c, key, raising, onto, factors }
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
    fn divided(&self, entry: usize, ending: &Ending<'_>, out: Vec<Halves<'_>>) {
        let (tables, n, Ending { division, down }) = (self.tables, self.c.shape.ring.n(), ending);
        let digits = self.dev.digits(tables, self.c, entry, &self.key.digits, &self.raising.up);
        let dropped: Vec<usize> = division.dropped.iter().collect();
        let length = layout::lines(self.c.shape.ring.log_n());
        let mut sums = [0, 1].map(|_| dropped.iter().map(|_| self.dev.pool.take(length)).collect::<Vec<Row>>());
        self.sums(entry, &digits, None, &dropped, halves(sums.each_mut().map(|rows| &mut rows[..])));
        let rows = dropped.iter().cycle().zip(sums.iter_mut().flatten()).collect();
        self.dev.each(HEAVY * 2 * n * dropped.len(), rows, |_, (&prime, row)| tables.prime(prime).intt(new_lines(row)));
        let remainders = sums.into_iter().map(|rows| (&*down.converter, rows)).collect();
        let remainders = self.dev.prepare_sources(remainders).try_into();
        let remainders = remainders.unwrap_or_else(|_| unreachable!("a group of rows for each half"));
        let (new, kept): (Vec<_>, Vec<_>) =
            down.to.iter().zip(out).partition(|(prime, _)| division.new.contains(*prime));
        self.remainders(down, &remainders, new);
        let (primes, out): (Vec<usize>, Vec<Halves<'_>>) = kept.into_iter().unzip();
        self.sums(entry, &digits, Some(&Divided { ending, remainders }), &primes, out);
    }

    /// The limbs of the result that the sums lack.
    fn remainders(&self, down: &Extension, remainders: &[Prepared; 2], limbs: Vec<(usize, Halves<'_>)>) {
        let work = HEAVY * 2 * self.c.shape.ring.n() * limbs.len();
        let mut items = Vec::new();
        for (prime, [b, a]) in limbs {
            items.extend([(prime, &remainders[0], b), (prime, &remainders[1], a)]);
        }
        self.dev.each(work, items, |_, (prime, remainder, row)| {
            let lines = new_lines(row);
            remainder.extend(down, std::iter::once((prime, &mut *lines)));
            self.tables.prime(prime).ntt(lines);
        });
    }

    /// One entry of the batch, not divided.
    fn undivided(&self, entry: usize, out: Vec<Halves<'_>>) {
        let digits = self.dev.digits(self.tables, self.c, entry, &self.key.digits, &self.raising.up);
        let primes: Vec<usize> = (self.c.shape.basis | self.key.special).iter().collect();
        self.sums(entry, &digits, None, &primes, out);
    }

    /// Limbs of the product with the key plus `onto`, divided or not, a few limbs at a time.
    fn sums(
        &self,
        entry: usize,
        digits: &[Prepared],
        divided: Option<&Divided<'_>>,
        primes: &[usize],
        out: Vec<Halves<'_>>,
    ) {
        let length = layout::lines(self.c.shape.ring.log_n());
        let groups = Group::of(primes, out, shared(digits.len()));
        let most = groups.iter().map(|group| group.primes.len()).max().unwrap_or(0);
        let mut scratch: Vec<Row> = (0..most * digits.len()).map(|_| self.dev.scratch.take(length)).collect();
        for mut group in groups {
            self.begin(digits, divided, (&mut scratch, most), &mut group);
            self.end(entry, divided, (&mut scratch, most), group);
        }
    }

    /// Raises all digits for the limbs of a group, and extends the remainders into their sums; begins all transforms.
    fn begin<'a>(
        &'a self,
        digits: &'a [Prepared],
        divided: Option<&'a Divided<'_>>,
        (scratch, width): (&'a mut [Row], usize),
        group: &'a mut Group<'_>,
    ) {
        let mut items: Vec<Begun<'a>> = Vec::new();
        let primes = &group.primes;
        let rows = scratch.chunks_exact_mut(width).zip(digits).zip(&self.raising.up);
        items.extend(rows.map(|((rows, digit), up)| (digit, up, limbs(primes, rows.iter_mut().map(new_lines)))));
        if let Some(Divided { ending: Ending { down, .. }, remainders }) = divided {
            let [b, a] = remainders;
            let rows = group.out.iter_mut().map(|[b, a]| (new_lines(b), new_lines(a)));
            let (first, second): (Vec<_>, Vec<_>) = rows.unzip();
            items.push((b, down, limbs(primes, first.into_iter())));
            items.push((a, down, limbs(primes, second.into_iter())));
        }
        // A digit's own limbs are not converted.
        items.iter_mut().for_each(|(_, extension, limbs)| limbs.retain(|&(prime, _)| extension.to.contains(prime)));
        items.retain(|(.., limbs)| !limbs.is_empty());
        let items = self.divided_among_threads(items);
        let work = HEAVY * self.c.shape.ring.n() * primes.len() * digits.len();
        self.dev.each(work, items, |_, (prepared, extension, limbs)| {
            prepared.begin(extension, self.tables, limbs.into_iter());
        });
    }

    /// Tasks of about the same number, of which each converts as many limbs at a time as it can: they read their digit
    /// once. The first limbs of all operands come first, so that a thread ends the transforms that it began.
    fn divided_among_threads<'a>(&self, items: Vec<Begun<'a>>) -> Vec<Begun<'a>> {
        let parts = self.dev.threads().div_ceil(items.len().max(1));
        let mut by_part: Vec<Vec<Begun<'a>>> = (0..parts).map(|_| Vec::new()).collect();
        for (prepared, extension, limbs) in items {
            for (part, limbs) in by_part.iter_mut().zip(equal_parts(limbs, parts)) {
                part.push((prepared, extension, limbs));
            }
        }
        by_part.into_iter().flatten().filter(|(.., limbs)| !limbs.is_empty()).collect()
    }

    /// Ends the transforms of a group and sums the products, block by block.
    fn end(
        &self,
        entry: usize,
        divided: Option<&Divided<'_>>,
        (scratch, width): (&mut [Row], usize),
        group: Group<'_>,
    ) {
        let mut pieces: Vec<Piece<'_>> = Vec::new();
        let mut rows: Vec<_> = scratch.chunks_exact_mut(width).map(|rows| rows.iter_mut()).collect();
        for (prime, out) in group.primes.into_iter().zip(group.out) {
            let digits = rows.iter_mut().map(|rows| rows.next().expect("a row a limb"));
            let own = self.key.digits.iter().map(|digit| digit.contains(prime));
            let mut digits: Vec<_> =
                digits.zip(own).map(|(row, own)| (!own).then(|| blocks_mut(new_lines(row)))).collect();
            let mut out = out.map(|row| {
                let lines = new_lines(row);
                clear_padding(lines);
                blocks_mut(lines)
            });
            for block in Block::all(layout::lines(self.c.shape.ring.log_n())) {
                let digits = digits.iter_mut().map(|blocks| blocks.as_mut().and_then(Iterator::next)).collect();
                let out = out.each_mut().map(|blocks| blocks.next().expect("limbs of one length"));
                pieces.push(Piece { prime, block, digits, out });
            }
        }
        let work = HEAVY * self.c.shape.ring.n() * self.key.digits.len();
        let tasks = pieces.len().div_ceil(PIECES);
        self.dev.each(work, equal_parts(pieces, tasks), |_, mut pieces| {
            let mut left = &mut pieces[..];
            while let [piece, rest @ ..] = left {
                self.piece(entry, divided, piece, rest.first().and_then(Piece::first).unwrap_or_default());
                left = rest;
            }
        });
    }

    /// A block of one limb; `after` is transformed next.
    fn piece(&self, entry: usize, divided: Option<&Divided<'_>>, piece: &mut Piece<'_>, after: &[Line]) {
        let Piece { prime, block, digits, out } = piece;
        let (prime, lines) = (*prime, &block.lines);
        let kernels = self.tables.prime(prime);
        let end = divided.and_then(|divided| divided.ending.division.factor(prime)).map_or(End::Set, End::Divide);
        let keys = self.key.pairs.iter();
        let keys: Vec<[&[Line]; 2]> =
            keys.map(|pair| pair.each_ref().map(|half| &half.limb(entry, prime)[lines.clone()])).collect();
        let own = digits.iter().any(Option::is_none).then(|| &self.c.limb(entry, prime)[lines.clone()]);
        let onto = self.onto(entry, prime).map(|onto| onto.part(lines));
        let read: Vec<&[Line]> = {
            let added = onto.iter().flat_map(|onto| onto.limbs).flatten();
            keys.as_flattened().iter().copied().chain(own).chain(added).collect()
        };
        let remainders = if end == End::Set { &mut [][..] } else { &mut out[..] };
        let transformed = digits.iter_mut().flatten().chain(remainders).map(|block| &mut **block);
        transform(kernels, block.number, &mut transformed.collect::<Vec<_>>(), &read, after);
        let factors = digits.iter().map(|digit| digit.as_deref().or(own).expect("a limb of c, or raised"));
        let terms: Vec<Term<'_, 2>> = factors.zip(&keys).map(|(factor, &with)| Term { factor, with }).collect();
        kernels.inner_products(out.each_mut().map(|half| &mut **half), &Sum { onto, ..Sum::of(&terms, end) });
    }

    /// One limb of `onto`; `None` modulo a prime that it lacks.
    fn onto(&self, entry: usize, prime: usize) -> Option<Onto<'_, 2>> {
        let basis = self.onto.iter().flatten().next()?.shape.basis;
        let times = self.factors[basis.position(prime)?];
        let limbs = self.onto.map(|half| Some(half?.limb(entry, prime)));
        Some(Onto { limbs, times })
    }
}
