//! Limbs in coefficient domain, prepared for base conversion.

use crate::{
    device::{Cpu, CpuPoly, HEAVY, new_lines},
    kernels::{
        Converter, LimbKernels,
        convert::{Sources, Target},
        limb::Ahead,
    },
    layout::{self, BLOCK, Line, PADDED, Part},
    pool::Row,
    ring::{Division, RingTables},
};
use limbwise_device::{Basis, Handle as _, Shape};
use std::{ops::Range, sync::Arc};

/// Lines prepared by one task: enough to amortize the task, few enough to stay in the L1 cache.
const TILE: usize = 256;

/// Lines of all sources of a conversion, and those of their overflows.
type Tile<'a> = (&'a Converter, Vec<&'a mut [Line]>, &'a mut [Line]);

/// Prepared sources of one conversion: see [`Converter::prepare`].
pub(super) struct Prepared {
    rows: Vec<Row>,
    overflows: Row,
}

impl Prepared {
    /// Writes the limbs of those given primes, ascending, that are in the extension's basis, in coefficient form.
    pub(super) fn extend<'a>(&self, extension: &Extension, limbs: impl Iterator<Item = (usize, &'a mut [Line])>) {
        let part = Part::all(self.overflows.lines().len());
        let wanted = limbs.filter_map(|(prime, row)| Some((extension.to.position(prime)?, row)));
        self.sweep(extension, &mut wanted.collect::<Vec<_>>(), &mut [part].into_iter(), |_, _| {});
    }

    /// [`Self::extend`], and begins the transforms ([`LimbKernels::ntt_strip`]): a strip is transformed while it is in the
    /// L1 cache. For rows that are in a cache before: those that come from memory are better written one line after another.
    pub(super) fn begin<'a>(
        &self,
        extension: &Extension,
        tables: &RingTables,
        limbs: impl Iterator<Item = (usize, &'a mut [Line])>,
    ) {
        let wanted = limbs.filter_map(|(prime, row)| Some((tables.prime(prime), (extension.to.position(prime)?, row))));
        let (kernels, mut targets): (Vec<_>, Vec<_>) = wanted.unzip();
        let parts = &mut Part::strips(self.overflows.lines().len());
        self.sweep(extension, &mut targets, parts, |part, targets| {
            for (kernels, (_, row)) in kernels.iter().zip(targets) {
                kernels.ntt_strip(row, part.first());
            }
        });
    }

    /// Converts part after part, and does something with each.
    fn sweep(
        &self,
        extension: &Extension,
        targets: &mut [Target<'_>],
        parts: &mut dyn Iterator<Item = Part>,
        then: impl Fn(Part, &mut [Target<'_>]),
    ) {
        let rows: Vec<&[Line]> = self.rows.iter().map(|row| row.lines()).collect();
        for part in parts {
            extension.converter.sweep(targets, Sources { rows: &rows, overflows: self.overflows.lines(), part });
            then(part, targets);
        }
    }
}

/// A base conversion with its target.
pub(super) struct Extension {
    /// The primes that are computed.
    pub(super) to: Basis,
    /// Converts to these primes.
    pub(super) converter: Arc<Converter>,
}

impl Extension {
    pub(super) fn new(tables: &RingTables, from: Basis, to: Basis) -> Self {
        Self { to, converter: tables.conversion(from, to) }
    }

    /// From the dropped primes of a division to those of its result.
    pub(super) fn of(division: &Division) -> Self {
        Self { to: division.to, converter: division.converter.clone() }
    }
}

/// The digits of a polynomial, raised a few limbs at a time.
pub(super) struct Raising<'a> {
    tables: &'a RingTables,
    c: &'a CpuPoly,
    /// The extension of each digit to the other primes of the full basis.
    pub(super) up: Vec<Extension>,
}

impl<'a> Raising<'a> {
    pub(super) fn new(tables: &'a RingTables, c: &'a CpuPoly, digits: &[Basis], full: Basis) -> Self {
        let up = digits.iter().map(|&own| Extension::new(tables, own, full - own)).collect();
        Self { tables, c, up }
    }

    /// Begins the raised digits for some primes: row `width·digit + place` is the prime's at `place`. Rows of a digit's
    /// own primes are left as they are.
    pub(super) fn begin(&self, digits: &[Prepared], primes: &[usize], rows: &mut [Row], width: usize) {
        for ((digit, up), rows) in digits.iter().zip(&self.up).zip(rows.chunks_exact_mut(width)) {
            digit.begin(up, self.tables, primes.iter().copied().zip(rows.iter_mut().map(new_lines)));
        }
    }

    /// The values of all digits modulo the prime at `place` of what [`Self::begin`] wrote, where their transforms are ended.
    pub(super) fn values<'r>(
        &'r self,
        entry: usize,
        (place, prime): (usize, usize),
        rows: &'r mut [Row],
        width: usize,
    ) -> impl Iterator<Item = &'r [Line]> {
        let kernels = self.tables.prime(prime);
        self.up.iter().zip(rows.chunks_exact_mut(width)).map(move |(up, rows)| {
            if up.to.contains(prime) {
                end_transform(kernels, new_lines(&mut rows[place]));
                rows[place].lines()
            } else {
                self.c.limb(entry, prime)
            }
        })
    }
}

/// Ends a transform that was begun, and asks with each block for the next.
pub(super) fn end_transform(kernels: &dyn LimbKernels, limb: &mut [Line]) {
    let mut blocks: Vec<&mut [Line]> = layout::blocks_mut(limb).collect();
    for number in 0..blocks.len() {
        let (now, later) = blocks.split_at_mut(number + 1);
        let next = later.first().map_or(&[][..], |block| &**block);
        kernels.ntt_block(now[number], number, &mut Ahead::spread(next, &[], &(0..0)));
    }
}

/// A block of a limb: its number, and its lines without padding.
pub(super) struct Block {
    pub(super) number: usize,
    pub(super) lines: Range<usize>,
}

impl Block {
    /// The blocks of a limb of so many lines.
    pub(super) fn all(lines: usize) -> impl Iterator<Item = Self> {
        let starts = (0..lines).step_by(PADDED).enumerate();
        starts.map(move |(number, start)| Self { number, lines: start..lines.min(start + BLOCK) })
    }
}

/// So many parts, as equal as can be.
pub(super) fn equal_parts<T>(all: Vec<T>, parts: usize) -> Vec<Vec<T>> {
    let (count, mut all) = (all.len(), all.into_iter());
    (0..parts).map(|g| all.by_ref().take((g + 1) * count / parts - g * count / parts).collect()).collect()
}

impl CpuPoly {
    /// The limb of a prime; a batch of one stands for every entry.
    pub(super) fn limb(&self, entry: usize, prime: usize) -> &[Line] {
        let Shape { basis, batch, .. } = self.shape();
        let at = basis.position(prime).expect("operands have the limbs that the operation names");
        self.rows[entry % batch * basis.len() + at].lines()
    }
}

impl Cpu {
    /// Copies of some limbs, in coefficient form.
    pub(super) fn coefficients(&self, limbs: &[(&dyn LimbKernels, &[Line])]) -> Vec<Row> {
        let Some(length) = limbs.first().map(|(_, limb)| limb.len()) else { return Vec::new() };
        let mut rows: Vec<Row> = limbs.iter().map(|_| self.pool.take(length)).collect();
        let items: Vec<&mut Row> = rows.iter_mut().collect();
        self.each(HEAVY * 8 * length * limbs.len(), items, |i, row| {
            let (kernels, limb) = limbs[i];
            kernels.intt_of(new_lines(row), limb);
        });
        rows
    }

    /// Prepares coefficients for base conversion, each group for its converter.
    pub(super) fn prepare_sources(&self, groups: Vec<(&Converter, Vec<Row>)>) -> Vec<Prepared> {
        let with_overflows = |(converter, rows): (_, Vec<Row>)| {
            let overflows = self.pool.take(rows[0].lines().len());
            (converter, Prepared { rows, overflows })
        };
        let mut groups: Vec<(&Converter, Prepared)> = groups.into_iter().map(with_overflows).collect();
        let mut tiles: Vec<Tile<'_>> = Vec::new();
        let mut words = 0;
        for (converter, group) in &mut groups {
            let mut parts: Vec<_> = group.rows.iter_mut().map(|row| new_lines(row).chunks_mut(TILE)).collect();
            for overflows in new_lines(&mut group.overflows).chunks_mut(TILE) {
                words += 8 * overflows.len() * parts.len();
                tiles.push((converter, parts.iter_mut().filter_map(Iterator::next).collect(), overflows));
            }
        }
        self.each(words, tiles, |_, (converter, mut sources, overflows)| converter.prepare(&mut sources, overflows));
        groups.into_iter().map(|(_, group)| group).collect()
    }

    /// The digits of one entry of `c`, ready to be extended.
    pub(super) fn digits(
        &self,
        tables: &RingTables,
        c: &CpuPoly,
        entry: usize,
        digits: &[Basis],
        up: &[Extension],
    ) -> Vec<Prepared> {
        let limb = |prime| (tables.prime(prime), c.limb(entry, prime));
        let limbs: Vec<_> = digits.iter().flat_map(|own| own.iter().map(limb)).collect();
        let mut rows = self.coefficients(&limbs).into_iter();
        let groups = digits.iter().zip(up);
        let groups = groups.map(|(own, up)| (&*up.converter, rows.by_ref().take(own.len()).collect()));
        self.prepare_sources(groups.collect())
    }

    /// Limbs in groups of at most so many, as equal as can be, and as many groups for each thread.
    pub(super) fn groups<T>(&self, limbs: Vec<T>, most: usize) -> Vec<Vec<T>> {
        let count = limbs.len();
        equal_parts(limbs, count.div_ceil(most).next_multiple_of(self.threads()).min(count))
    }

    /// A polynomial with uninitialized words.
    pub(crate) fn unwritten(&self, shape: Shape) -> CpuPoly {
        let length = layout::lines(shape.ring.log_n());
        let rows = (0..shape.rows()).map(|_| self.pool.take(length)).collect();
        CpuPoly { shape, rows }
    }
}
