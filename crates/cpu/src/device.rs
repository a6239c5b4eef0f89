//! The CPU as a [`Device`]: the rows of a polynomial are limbs from a pool, and the units of parallel work.

use crate::{
    footprint::sums_in_parts,
    kernels::{Isa, IsaError, LimbKernels, convert, gadget, galois},
    layout::{self, Line},
    lwe::{self, CpuLwe},
    open::{CpuBuilder, OpenError},
    pool::{Pool, PoolCounters, Row},
    regions::{RegionTimes, Regions},
    ring::RingTables,
    threads::{Threads, Wake},
};
use limbwise_device::{
    Basis, Device, Domain, Fault, Fill, Gadget, GadgetKey, Ggsw, Handle, IntegerMatrix, LweFill, LweShape, OpenRegion,
    Region, Ring, RingError, RingSpec, Role, Rotation, Rounding, Shape, Terms, composites, expand_row,
    footprint::RotatedSums,
    ops::{broadcast, transformed},
};
use limbwise_math::{galois::GaloisElement, sampling::Seed};
use std::sync::{Arc, PoisonError, RwLock};

/// Operations that pass over fewer words run on the calling thread: to hand work to a thread that is awake takes up to a
/// microsecond, in which one passes over a tenth of this.
const PARALLEL_WORDS: usize = 1 << 14;

/// Operations that pass over fewer words wake nobody: that takes ten to twenty microseconds.
const WAKING_WORDS: usize = 1 << 16;

/// Passes of an element-wise operation that take the time of one transform, conversion or sampling of as many words.
pub(crate) const HEAVY: usize = 4;

/// Lines copied and changed at a time: half an L1 cache.
const TILE: usize = 256;

/// A CPU with its kernels, its buffers and, for more than one thread, its thread pool.
pub struct Cpu {
    isa: Isa,
    threads: Option<Threads>,
    pub(crate) pool: Pool,
    /// Rows private to a thread while a composite runs.
    pub(crate) scratch: Pool,
    rings: RwLock<Vec<Arc<RingTables>>>,
    regions: Regions,
}

/// A polynomial in the memory of this process.
#[derive(Clone)]
pub struct CpuPoly {
    pub(crate) shape: Shape,
    /// Rows by batch entry, then limb.
    pub(crate) rows: Vec<Row>,
}

impl Handle for CpuPoly {
    fn shape(&self) -> &Shape {
        &self.shape
    }
}

impl Cpu {
    /// Options for opening a CPU device.
    #[must_use]
    pub fn builder() -> CpuBuilder {
        CpuBuilder::default()
    }

    /// Opens a device with the given kernels and number of threads (0 counts as 1; 1 starts no thread).
    ///
    /// # Errors
    /// [`OpenError`] for an instruction set this CPU lacks, or threads the system refuses.
    pub fn new(isa: Isa, threads: usize) -> Result<Self, OpenError> {
        if !isa.is_available() {
            return Err(IsaError::new(isa.name()).into());
        }
        let pool = (threads > 1).then(|| Threads::start(threads)).transpose();
        let threads = pool.map_err(|e| OpenError::Threads { threads, reason: e.to_string() })?;
        Ok(Self {
            isa,
            threads,
            pool: Pool::default(),
            scratch: Pool::default(),
            rings: RwLock::default(),
            regions: Regions::default(),
        })
    }

    /// The instruction set in use.
    #[must_use]
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// The number of threads in use.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads.as_ref().map_or(1, Threads::count)
    }

    /// Starts tracking open regions, so that [`Device::regions`] reports them.
    pub fn keep_regions(&self) {
        self.regions.keep();
    }

    /// Starts timing regions, those of composites included ([`Self::region_times`]).
    pub fn time_regions(&self) {
        self.regions.time();
    }

    /// The times of regions that were entered and left since [`Self::time_regions`].
    #[must_use]
    pub fn region_times(&self) -> RegionTimes {
        self.regions.times()
    }

    /// Memory use of all polynomials on this device.
    #[must_use]
    pub fn memory(&self) -> PoolCounters {
        self.pool.counters()
    }

    /// Memory use of the fused composites beside polynomials: as many limbs as
    /// [`limbwise_device::Footprint::scratch_rows`] states.
    #[must_use]
    pub fn scratch(&self) -> PoolCounters {
        self.scratch.counters()
    }

    /// Allocates memory for `limbs` limbs of a ring, and for `scratch` limbs of the threads' own
    /// ([`limbwise_device::Footprint::scratch_rows`]), now, and touches each page on all threads, so that a program neither
    /// waits for page faults later nor runs out of memory midway.
    ///
    /// # Errors
    /// [`Fault::OutOfMemory`].
    pub fn reserve(&self, ring: &Ring, limbs: usize, scratch: usize) -> Result<(), Fault> {
        let length = layout::lines(ring.log_n());
        for (pool, limbs) in [(&self.pool, limbs), (&self.scratch, scratch)] {
            let mut rows: Vec<Option<Row>> = (0..limbs).map(|_| None).collect();
            let work = HEAVY * limbs * ring.n();
            self.each(work, rows.iter_mut().collect(), |_, row| *row = pool.touched_row(length));
            if !rows.iter().all(Option::is_some) {
                let bytes = (limbs * length * size_of::<Line>()) as u64;
                return Err(Fault::OutOfMemory { device: "cpu".into(), bytes });
            }
        }
        Ok(())
    }

    /// The tables of a ring, created on first use.
    pub(crate) fn tables(&self, ring: &Ring) -> Arc<RingTables> {
        let find = |open: &[Arc<RingTables>]| open.iter().find(|t| t.ring == *ring).cloned();
        if let Some(found) = find(&self.rings.read().unwrap_or_else(PoisonError::into_inner)) {
            return found;
        }
        let mut open = self.rings.write().unwrap_or_else(PoisonError::into_inner);
        find(&open).unwrap_or_else(|| {
            let tables = Arc::new(RingTables::new(ring.clone(), self.isa));
            open.push(tables.clone());
            tables
        })
    }

    /// Runs one task per item, on the thread pool if there is one and the work is large enough: in words that an
    /// element-wise operation would pass over in that time ([`HEAVY`]).
    pub(crate) fn each<T: Send>(&self, words: usize, items: Vec<T>, task: impl Fn(usize, T) + Sync + Send) {
        let worth_it = items.len() > 1 && words >= PARALLEL_WORDS;
        let wake = if words >= WAKING_WORDS { Wake::All } else { Wake::Nobody };
        match self.threads.as_ref().filter(|_| worth_it).and_then(Threads::crew) {
            Some(crew) => crew.each(items, wake, task),
            None => items.into_iter().enumerate().for_each(|(i, item)| task(i, item)),
        }
    }

    /// A new polynomial whose rows are written by an element-wise task.
    pub(crate) fn fresh(&self, shape: Shape, task: impl Fn(usize, &mut [Line]) + Sync + Send) -> CpuPoly {
        self.written(shape, 1, task)
    }

    /// A new polynomial whose rows are written by a task that takes the time of so many element-wise passes.
    pub(crate) fn written(
        &self,
        shape: Shape,
        passes: usize,
        task: impl Fn(usize, &mut [Line]) + Sync + Send,
    ) -> CpuPoly {
        let mut poly = self.unwritten(shape);
        let work = passes * poly.shape.rows() * poly.shape.ring.n();
        self.each(work, poly.rows.iter_mut().collect(), |i, row: &mut Row| task(i, new_lines(row)));
        poly
    }

    /// Changes each row by the task: in place, or in a copy if other handles share the row.
    fn change(&self, a: CpuPoly, task: impl Fn(usize, &mut [Line]) + Sync + Send) -> CpuPoly {
        self.change_rows(a, 1, |i, row| task(i, self.pool.make_mut(row)))
    }

    /// Changes or replaces each row by a task that takes the time of so many element-wise passes.
    fn change_rows(&self, mut a: CpuPoly, passes: usize, task: impl Fn(usize, &mut Row) + Sync + Send) -> CpuPoly {
        let work = passes * a.shape.rows() * a.shape.ring.n();
        self.each(work, a.rows.iter_mut().collect(), task);
        a
    }

    /// An element-wise operation with broadcast.
    fn combine(
        &self,
        a: &CpuPoly,
        b: &CpuPoly,
        f: impl Fn(&dyn LimbKernels, &mut [Line], &[Line], &[Line]) + Sync + Send,
    ) -> CpuPoly {
        let tables = self.tables(&a.shape.ring);
        let limbs = tables.limbs(a.shape.basis);
        let shape = a.shape.with_batch(broadcast(&a.shape, &b.shape));
        self.fresh(shape, |i, out| {
            f(limbs[i % limbs.len()], out, a.rows[i % a.rows.len()].lines(), b.rows[i % b.rows.len()].lines());
        })
    }

    /// Changes each row by its prime's kernels, in tiles: if other handles share a row, a tile is copied and changed while it is in the L1
    /// cache.
    fn change_tiles(&self, a: CpuPoly, f: impl Fn(&dyn LimbKernels, usize, &mut [Line]) + Sync + Send) -> CpuPoly {
        let tables = self.tables(&a.shape.ring);
        let limbs = tables.limbs(a.shape.basis);
        let change = |i: usize, lines: &mut [Line]| f(limbs[i % limbs.len()], i % limbs.len(), lines);
        self.change_rows(a, 1, |i, row| match Arc::get_mut(row) {
            Some(own) => change(i, own.lines_mut()),
            None => {
                let mut own = self.pool.take(row.lines().len());
                for (out, lines) in new_lines(&mut own).chunks_mut(TILE).zip(row.lines().chunks(TILE)) {
                    out.copy_from_slice(lines);
                    change(i, out);
                }
                *row = own;
            }
        })
    }
}

/// The words of a row just taken from the pool, which no other handle shares.
pub(crate) fn new_lines(row: &mut Row) -> &mut [Line] {
    Arc::get_mut(row).expect("a new row has one holder").lines_mut()
}

impl Device for Cpu {
    type Poly = CpuPoly;
    type Lwe = CpuLwe;

    fn name(&self) -> String {
        "cpu".into()
    }

    fn ring(&self, spec: &RingSpec) -> Result<Ring, RingError> {
        let open = self.rings.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = open.iter().find(|t| t.ring.spec() == spec) {
            return Ok(found.ring.clone());
        }
        drop(open);
        Ok(self.tables(&Ring::new(spec)?).ring.clone())
    }

    fn sync(&self) -> Result<(), Fault> {
        Ok(())
    }

    fn region(&self, region: impl Into<Region>, index: u32) -> OpenRegion<'_> {
        self.regions.enter(region.into(), index)
    }

    fn regions(&self) -> Vec<(Region, u32)> {
        self.regions.open()
    }

    fn scrub(&self) {
        self.pool.scrub();
        self.scratch.scrub();
    }

    fn upload(&self, shape: &Shape, _role: Role, fill: Fill<'_>) -> CpuPoly {
        self.upload_words(shape, fill)
    }

    fn zeros(&self, shape: &Shape) -> CpuPoly {
        self.fresh(shape.clone(), |_, row| row.fill(Line::default()))
    }

    fn copy(&self, a: &CpuPoly) -> CpuPoly {
        self.fresh(a.shape.clone(), |i, row| row.copy_from_slice(a.rows[i].lines()))
    }

    fn expand_seed(&self, shape: &Shape, _role: Role, seed: &Seed) -> CpuPoly {
        self.upload_words(shape, &|at, words| expand_row(seed, at, words))
    }

    fn restrict(&self, a: &CpuPoly, to: Basis) -> CpuPoly {
        let kept: Vec<usize> = to.iter().filter_map(|i| a.shape.basis.position(i)).collect();
        assert_eq!(kept.len(), to.len(), "{to:?} is not within {:?}", a.shape.basis);
        let entries = a.rows.chunks_exact(a.shape.basis.len());
        let rows = entries.flat_map(|limbs| kept.iter().map(|&l| limbs[l].clone())).collect();
        CpuPoly { shape: a.shape.with_basis(to), rows }
    }

    fn join(&self, parts: &[&CpuPoly]) -> CpuPoly {
        let basis = parts.iter().fold(Basis::default(), |all, p| all | p.shape.basis);
        let shape = parts[0].shape.with_basis(basis);
        let owner = |i| parts.iter().find_map(|&p| p.shape.basis.position(i).map(|at| (p, at)));
        let owners: Vec<(&CpuPoly, usize)> = basis.iter().filter_map(owner).collect();
        let entry = |b: usize| owners.iter().map(move |&(p, at)| p.rows[b * p.shape.basis.len() + at].clone());
        CpuPoly { rows: (0..shape.batch).flat_map(entry).collect(), shape }
    }

    fn stack(&self, parts: &[&CpuPoly]) -> CpuPoly {
        let batch = parts.iter().map(|p| p.shape.batch).sum();
        let rows = parts.iter().flat_map(|p| p.rows.iter().cloned()).collect();
        CpuPoly { shape: parts[0].shape.with_batch(batch), rows }
    }

    fn split(&self, a: &CpuPoly, from: usize, to: usize) -> CpuPoly {
        let limbs = a.shape.basis.len();
        CpuPoly { shape: a.shape.with_batch(to - from), rows: a.rows[from * limbs..to * limbs].to_vec() }
    }

    fn add(&self, a: &CpuPoly, b: &CpuPoly) -> CpuPoly {
        self.combine(a, b, |kernels, out, a, b| kernels.add(out, a, b))
    }

    fn sub(&self, a: &CpuPoly, b: &CpuPoly) -> CpuPoly {
        self.combine(a, b, |kernels, out, a, b| kernels.sub(out, a, b))
    }

    fn neg(&self, a: CpuPoly) -> CpuPoly {
        self.change_tiles(a, |kernels, _, row| kernels.neg(row))
    }

    fn mul(&self, a: &CpuPoly, b: &CpuPoly) -> CpuPoly {
        self.combine(a, b, |kernels, out, a, b| kernels.mul(out, a, b))
    }

    fn mul_acc(&self, acc: &mut CpuPoly, a: &CpuPoly, b: &CpuPoly) {
        let owned = CpuPoly { shape: acc.shape.clone(), rows: std::mem::take(&mut acc.rows) };
        let tables = self.tables(&a.shape.ring);
        let limbs = tables.limbs(a.shape.basis);
        *acc = self.change(owned, |i, row| {
            let (a, b) = (&a.rows[i % a.rows.len()], &b.rows[i % b.rows.len()]);
            limbs[i % limbs.len()].mul_acc(row, a.lines(), b.lines());
        });
    }

    fn add_assign(&self, acc: &mut CpuPoly, a: &CpuPoly) {
        let owned = CpuPoly { shape: acc.shape.clone(), rows: std::mem::take(&mut acc.rows) };
        let tables = self.tables(&a.shape.ring);
        let limbs = tables.limbs(a.shape.basis);
        *acc = self.change(owned, |i, row| limbs[i % limbs.len()].add_assign(row, a.rows[i % a.rows.len()].lines()));
    }

    fn scale_limbs(&self, a: CpuPoly, constants: &[u64]) -> CpuPoly {
        self.change_tiles(a, |kernels, limb, row| kernels.scale(row, constants[limb]))
    }

    fn shift_limbs(&self, a: CpuPoly, constants: &[u64]) -> CpuPoly {
        self.change_tiles(a, |kernels, limb, row| kernels.shift(row, constants[limb]))
    }

    fn ntt(&self, a: CpuPoly) -> CpuPoly {
        let shape = transformed(&a.shape);
        let tables = self.tables(&a.shape.ring);
        let limbs = tables.limbs(a.shape.basis);
        let forward = |i: usize, row: &mut Row| limbs[i % limbs.len()].ntt(self.pool.make_mut(row));
        CpuPoly { shape, ..self.change_rows(a, HEAVY, forward) }
    }

    fn intt(&self, a: CpuPoly) -> CpuPoly {
        let shape = transformed(&a.shape);
        let tables = self.tables(&a.shape.ring);
        let limbs = tables.limbs(a.shape.basis);
        let inverse = |i: usize, row: &mut Row| match Arc::get_mut(row) {
            Some(own) => limbs[i % limbs.len()].intt(own.lines_mut()),
            None => {
                let mut own = self.pool.take(row.lines().len());
                limbs[i % limbs.len()].intt_of(new_lines(&mut own), row.lines());
                *row = own;
            }
        };
        CpuPoly { shape, ..self.change_rows(a, HEAVY, inverse) }
    }

    fn automorphism(&self, a: &CpuPoly, g: GaloisElement) -> CpuPoly {
        let (ring, domain) = (&a.shape.ring, a.shape.domain);
        let map = (domain == Domain::Eval).then(|| self.tables(ring).value_map(g));
        let moduli = ring.moduli_of(a.shape.basis);
        self.fresh(a.shape.clone(), |i, out| match &map {
            Some(map) => map.apply(self.isa, out, a.rows[i].lines()),
            None => galois::map_coefficients(moduli[i % moduli.len()], g, ring.log_n(), out, a.rows[i].lines()),
        })
    }

    fn basis_convert(&self, a: &CpuPoly, to: Basis) -> CpuPoly {
        let shape = a.shape.with_basis(to);
        let conversion = self.tables(&a.shape.ring).conversion(a.shape.basis, to);
        let length = layout::lines(shape.ring.log_n());
        let mut rows: Vec<Row> = (0..shape.rows()).map(|_| self.pool.take(length)).collect();
        // One task per tile: all targets of a tile are computed while its sources are in the cache.
        let mut tiles: Vec<(usize, usize, Vec<&mut [Line]>)> = Vec::new();
        for (entry, targets) in rows.chunks_exact_mut(to.len()).enumerate() {
            let mut parts: Vec<_> = targets.iter_mut().map(|row| new_lines(row).chunks_mut(convert::TILE)).collect();
            for first in (0..length).step_by(convert::TILE) {
                let targets: Vec<&mut [Line]> = parts.iter_mut().filter_map(Iterator::next).collect();
                tiles.push((entry, first, targets));
            }
        }
        let limbs = a.shape.basis.len();
        self.each(HEAVY * shape.rows() * shape.ring.n(), tiles, |_, (entry, first, mut targets)| {
            let tile = |row: &'_ Row| first..(first + convert::TILE).min(row.lines().len());
            let sources: Vec<&[Line]> =
                a.rows[entry * limbs..][..limbs].iter().map(|row| &row.lines()[tile(row)]).collect();
            conversion.convert(&mut targets, &sources);
        });
        CpuPoly { shape, rows }
    }

    fn reduce(&self, a: &CpuPoly, to: Basis) -> CpuPoly {
        let moduli = a.shape.ring.moduli_of(to);
        let from = a.shape.ring.moduli_of(a.shape.basis)[0];
        self.fresh(a.shape.with_basis(to), |i, out| {
            convert::lift(self.isa, from, moduli[i % moduli.len()], out, a.rows[i / moduli.len()].lines());
        })
    }

    fn monomial_mul(&self, a: &CpuPoly, exponents: &CpuLwe, word: usize) -> CpuPoly {
        let (ring, q) = (&a.shape.ring, a.shape.ring.moduli_of(a.shape.basis)[0]);
        self.fresh(a.shape.with_batch(a.shape.batch.max(exponents.shape.batch)), |i, out| {
            gadget::monomial(q, ring.log_n(), exponents.entry(i)[word], out, a.rows[i % a.rows.len()].lines());
        })
    }

    fn decompose(&self, a: &CpuPoly, digits: Gadget) -> CpuPoly {
        let (batch, q) = (a.shape.batch, a.shape.ring.moduli_of(a.shape.basis)[0]);
        let split = digits.of(q.value());
        self.fresh(a.shape.with_batch(batch * digits.len()), |i, out| {
            let j = u32::try_from(i / batch).expect("a digit of the gadget");
            gadget::digit(split, q, j, out, a.rows[i % batch].lines());
        })
    }

    fn upload_lwe(&self, shape: LweShape, role: Role, fill: LweFill<'_>) -> CpuLwe {
        lwe::upload(self, shape, role, fill)
    }

    fn lwe_stack(&self, parts: &[&CpuLwe]) -> CpuLwe {
        lwe::stack(parts)
    }

    fn lwe_split(&self, a: &CpuLwe, from: usize, to: usize) -> CpuLwe {
        lwe::split(a, from, to)
    }

    fn lwe_add(&self, a: &CpuLwe, b: &CpuLwe) -> CpuLwe {
        lwe::add(self, a, b)
    }

    fn lwe_scale(&self, a: &CpuLwe, c: u64) -> CpuLwe {
        lwe::scale(a, c)
    }

    fn lwe_shift(&self, a: &CpuLwe, constants: &[u64]) -> CpuLwe {
        lwe::shift(self, a, constants)
    }

    fn lwe_mod_switch(&self, a: &CpuLwe, to: u64, rounding: Rounding) -> CpuLwe {
        lwe::switch_modulus(self, a, to, rounding)
    }

    fn lwe_decompose(&self, a: &CpuLwe, gadget: Gadget) -> CpuLwe {
        lwe::decompose(self, a, gadget)
    }

    fn lwe_product(&self, a: &CpuLwe, rows: &CpuLwe) -> CpuLwe {
        lwe::product(self, a, rows)
    }

    fn sample_extract(&self, glwe: &[&CpuPoly], at: &[usize]) -> CpuLwe {
        lwe::sample_extract(self, glwe, at)
    }

    fn lwe_embed(&self, a: &CpuLwe, ring: &Ring, basis: Basis, part: usize) -> CpuPoly {
        lwe::embed(self, a, Shape { ring: ring.clone(), basis, batch: a.shape.batch, domain: Domain::Coeff }, part)
    }

    fn mod_up(&self, c: &CpuPoly, digits: &[Basis], full: Basis) -> Vec<CpuPoly> {
        let _region = self.region(Region::ModUp, 0);
        self.fused_mod_up(c, digits, full)
    }

    fn gadget_product(&self, digits: &[CpuPoly], key: &GadgetKey<CpuPoly>) -> [CpuPoly; 2] {
        let _region = self.region(Region::GadgetProduct, 0);
        self.fused_gadget_product(digits, key)
    }

    fn mod_down(&self, a: &CpuPoly, to: Basis) -> CpuPoly {
        let _region = self.region(Region::ModDown, 0);
        self.fused_mod_down(a, to)
    }

    fn rescale(&self, a: &CpuPoly, to: Basis) -> CpuPoly {
        let _region = self.region(Region::Rescale, 0);
        self.fused_rescale(a, to)
    }

    fn key_switch(&self, c: &CpuPoly, key: &GadgetKey<CpuPoly>) -> [CpuPoly; 2] {
        let _region = self.region(Region::KeySwitch, 0);
        self.fused_key_switch(c, key, [None; 2], c.shape.basis)
    }

    fn key_switch_onto(
        &self,
        c: &CpuPoly,
        key: &GadgetKey<CpuPoly>,
        onto: [Option<&CpuPoly>; 2],
        to: Basis,
    ) -> [CpuPoly; 2] {
        let _region = self.region(Region::KeySwitchOnto, 0);
        self.fused_key_switch(c, key, onto, to)
    }

    fn key_switch_undivided(&self, c: &CpuPoly, key: &GadgetKey<CpuPoly>, onto: [Option<&CpuPoly>; 2]) -> [CpuPoly; 2] {
        let _region = self.region(Region::KeySwitchUndivided, 0);
        self.fused_key_switch_undivided(c, key, onto)
    }

    fn rotated_sums(
        &self,
        c: &CpuPoly,
        onto: &CpuPoly,
        rotations: &[Rotation<CpuPoly>],
        more: &[CpuPoly],
        sums: &[Terms<'_, CpuPoly>],
    ) -> Vec<CpuPoly> {
        let call = RotatedSums::new(&c.shape, rotations, sums);
        if !sums_in_parts(&call) {
            return composites::rotated_sums(self, c, onto, rotations, more, sums);
        }
        let _region = self.region(call.region(), 0);
        self.fused_rotated_sums(c, onto, rotations, more, sums)
    }

    fn extend_limb(&self, a: &CpuPoly, to: Basis) -> CpuPoly {
        let _region = self.region(Region::ExtendLimb, 0);
        self.fused_extend_limb(a, to)
    }

    fn weighted_sums(&self, x: &[CpuPoly], sums: &[Terms<'_, CpuPoly>]) -> Vec<CpuPoly> {
        let _region = self.region(Region::WeightedSums, 0);
        self.fused_weighted_sums(x, sums)
    }

    fn matrix_product(&self, x: &CpuPoly, matrix: &IntegerMatrix) -> CpuPoly {
        let _region = self.region(Region::MatrixProduct, 0);
        self.fused_matrix_product(x, matrix)
    }

    fn blind_rotate(&self, test: &CpuPoly, exponents: &CpuLwe, key: &Ggsw<CpuPoly>) -> Vec<CpuPoly> {
        let _region = self.region(Region::BlindRotate, 0);
        self.fused_blind_rotate(test, exponents, key)
    }

    fn tensor(
        &self,
        x: &[&CpuPoly],
        y: &[&CpuPoly],
        doublings: usize,
        terms: &[&CpuPoly],
        constants: &[Vec<u64>],
    ) -> Vec<CpuPoly> {
        let _region = self.region(Region::Tensor, 0);
        self.fused_tensor(x, y, doublings, terms, constants)
    }

    fn linear_combination(&self, x: &[&CpuPoly], constants: &[Vec<u64>]) -> CpuPoly {
        let _region = self.region(Region::LinearCombination, 0);
        assert!(!x.is_empty() && x.len() == constants.len(), "constants for each term, at least one");
        let batch = x.iter().map(|x| x.shape.batch).max().unwrap_or(1);
        let tables = self.tables(&x[0].shape.ring);
        let limbs = tables.limbs(x[0].shape.basis);
        self.fresh(x[0].shape.with_batch(batch), |i, out| {
            let limb = i % limbs.len();
            let terms = x.iter().zip(constants).map(|(x, c)| (x.rows[i % x.rows.len()].lines(), c[limb]));
            limbs[limb].combination(out, &terms.collect::<Vec<_>>());
        })
    }
}
