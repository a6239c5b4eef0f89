//! A GPU as a [`Device`]: a polynomial is a list of rows, an operation a few launches that take up to 96 of them each.

use crate::{
    builder::CudaBuilder,
    driver::{Driver, Failure, Place, Properties},
    kept::Kept,
    launch::{Args, ROWS, Shape as Blocks, small},
    lwe::{self, CudaLwe},
    nvtx::Profiler,
    pool::{Memory, Pool, Row},
    replay::{Launches, Replay, Replayer},
    ring::RingTables,
    stage::{KeyRoom, Stage},
};
use limbwise_device::{
    Basis, Device, Fault, Fill, Gadget, GadgetKey, Ggsw, Handle, HostRead, IntegerMatrix, LweFill, LweShape,
    OpenRegion, Region, Ring, RingError, RingSpec, Role, Rounding, RowAt, Shape, Terms, composites, expand_row,
};
use limbwise_math::{galois::GaloisElement, sampling::Seed};
use rayon::prelude::*;
use std::sync::{
    Arc, Mutex, PoisonError, RwLock,
    atomic::{AtomicU64, Ordering},
};

pub use crate::gpu::OpenError;

/// Words prepared on the host before one transfer to the GPU: 16 MiB.
const STAGED: usize = 1 << 21;
/// Largest number of words written as arguments of launches.
const FEW: usize = 4 * ROWS;

/// A GPU with its kernels and its memory.
pub struct Cuda {
    pub(crate) driver: Arc<Replayer>,
    pub(crate) pool: Arc<Pool>,
    rings: RwLock<Vec<Arc<RingTables>>>,
    fault: Mutex<Option<Fault>>,
    stage: Stage,
    /// Keys uploaded after this many bytes are taken stay in host memory.
    key_bytes: AtomicU64,
    pub(crate) kept: Kept,
    /// The profiler that is notified of regions, if any.
    pub(crate) profiler: Option<Profiler>,
}

/// A polynomial in a GPU's memory.
#[derive(Clone)]
pub struct CudaPoly {
    pub(crate) shape: Shape,
    /// Rows by batch entry, then limb.
    pub(crate) rows: Vec<Arc<Row>>,
}

impl Handle for CudaPoly {
    fn shape(&self) -> &Shape {
        &self.shape
    }
}

impl Cuda {
    /// Options for opening a GPU.
    #[must_use]
    pub fn builder() -> CudaBuilder {
        CudaBuilder::default()
    }

    /// Opens the first GPU.
    ///
    /// # Errors
    /// The errors of [`CudaBuilder::open`].
    pub fn open() -> Result<Self, OpenError> {
        Self::builder().open()
    }

    /// A device on a driver.
    pub(crate) fn on(driver: Arc<dyn Driver>, room: KeyRoom, replay: Replay) -> Self {
        let (rings, fault, kept) = (RwLock::default(), Mutex::default(), Kept::default());
        let (driver, key_bytes) = (Replayer::new(driver, replay), room.resident_bytes.into());
        let (pool, stage) = (Pool::new(driver.clone()), Stage::new(driver.clone(), room.staging_bytes));
        Self { driver, pool, rings, fault, stage, key_bytes, kept, profiler: None }
    }

    /// The GPU's architecture, such as `sm_90`.
    #[must_use]
    pub fn arch(&self) -> &str {
        &self.properties().arch
    }

    /// The GPU's multiprocessors.
    #[must_use]
    pub fn multiprocessors(&self) -> u32 {
        self.properties().multiprocessors
    }

    /// Size of the GPU's memory in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.properties().memory_bytes
    }

    /// Changes [`CudaBuilder::key_bytes`] and [`CudaBuilder::staging_bytes`] to the room that a plan leaves for keys.
    pub fn limit_keys(&self, room: KeyRoom) {
        self.key_bytes.store(room.resident_bytes, Ordering::Relaxed);
        self.stage.resize(room.staging_bytes);
    }

    /// Memory use of all values on this device.
    #[must_use]
    pub fn memory(&self) -> Memory {
        self.stage.memory(self.pool.memory())
    }

    /// Number of kernel launches so far, by how they were issued.
    #[must_use]
    pub fn launches(&self) -> Launches {
        self.driver.launches()
    }

    pub(crate) fn properties(&self) -> &Properties {
        self.driver.properties()
    }

    fn fault(&self, bytes: u64, failure: Failure) -> Fault {
        let device = self.name();
        match failure {
            Failure::Memory => Fault::OutOfMemory { device, bytes },
            Failure::Other(what) => Fault::Failed { device, what },
        }
    }

    /// Records the first failure for the next `sync` or download.
    pub(crate) fn note(&self, bytes: u64, result: Result<(), Failure>) {
        if let Err(failure) = result {
            let fault = self.fault(bytes, failure);
            self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(fault);
        }
    }

    pub(crate) fn faulty(&self) -> bool {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Takes the recorded fault.
    fn take_fault(&self) -> Result<(), Fault> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }

    /// Whether nothing may run: an operation has failed, or an operand has no memory.
    fn refuses(&self, lacking: bool) -> bool {
        if lacking {
            let what = "a value was used that a fault had left without memory".into();
            self.note(0, Err(Failure::Other(what)));
        }
        self.faulty()
    }

    /// Launches a kernel unless an earlier operation has failed.
    pub(crate) fn launch(&self, kernel: &'static str, blocks: Blocks, args: Args) {
        if self.refuses(args.lacking) {
            return;
        }
        let mut launch = blocks.of(kernel, args);
        let done = self.stage.around(&launch.args.far_rows(), |at| {
            launch.args.found(at);
            self.driver.ask(launch)
        });
        self.note(0, done);
    }

    /// [`Self::launch`] for a kernel that reads addresses of rows from a table.
    pub(crate) fn launch_with_table(
        &self,
        kernel: &'static str,
        blocks: Blocks,
        mut table: Args,
        args: impl FnOnce(&Row) -> Args,
    ) {
        if self.refuses(table.lacking) {
            return;
        }
        let done = self.stage.around(&table.far_rows(), |at| {
            table.found(at);
            let row = self.table(table.words);
            let args = args(&row);
            let refused = self.refuses(args.lacking || row.at() == 0);
            if refused { Ok(()) } else { self.driver.ask(blocks.of(kernel, args)) }
        });
        self.note(0, done);
    }

    /// A row of undefined words.
    pub(crate) fn row(&self, words: usize, place: Place) -> Arc<Row> {
        self.pool.take(words, place).unwrap_or_else(|failure| {
            self.note(8 * words as u64, Err(failure));
            self.pool.lacking()
        })
    }

    /// Writes words from the host into a row; a few words travel as launch arguments, which graphs can contain.
    ///
    /// Runs even after a fault: a ring's tables outlive it.
    pub(crate) fn write(&self, row: &Row, words: &[u64]) {
        if row.at() != 0 && words.len() <= FEW && row.place() == Place::Device {
            for (to, words) in (row.at()..).step_by(8 * ROWS).zip(words.chunks(ROWS)) {
                let args = Args::default().word(to).constants(words.iter().copied()).int(small(words.len()));
                self.note(0, self.driver.ask(Blocks::words(words.len(), 1).of("lw_words", args)));
            }
        } else if row.at() != 0 {
            self.note(0, self.driver.write(row.at(), words, row.place()));
        }
    }

    /// A row with the given words.
    pub(crate) fn store(&self, words: &[u64]) -> Arc<Row> {
        let row = self.row(words.len(), Place::Device);
        self.write(&row, words);
        row
    }

    /// Reads the words of a row.
    pub(crate) fn read(&self, row: &Row, words: &mut [u64]) -> Result<(), Fault> {
        if row.at() == 0 {
            let what = "a value was read that a fault had left without memory".into();
            return Err(self.fault(0, Failure::Other(what)));
        }
        self.driver.read(row.at(), words, row.place()).map_err(|failure| self.fault(0, failure))
    }

    /// Placement of a value: keys beyond the limit are in host memory.
    pub(crate) fn place(&self, role: Role) -> Place {
        let key = matches!(role, Role::EvaluationKey(_) | Role::BootstrapKey(_));
        if key && self.pool.memory().device_bytes >= self.key_bytes.load(Ordering::Relaxed) {
            Place::Host
        } else {
            Place::Device
        }
    }

    /// A polynomial of undefined words.
    pub(crate) fn unwritten(&self, shape: Shape, place: Place) -> CudaPoly {
        let rows = (0..shape.rows()).map(|_| self.row(shape.ring.n(), place)).collect();
        CudaPoly { shape, rows }
    }

    /// A polynomial of undefined words in GPU memory.
    pub(crate) fn fresh(&self, shape: Shape) -> CudaPoly {
        self.unwritten(shape, Place::Device)
    }

    /// The tables of a ring, created on first use.
    pub(crate) fn tables(&self, ring: &Ring) -> Arc<RingTables> {
        let find = |open: &[Arc<RingTables>]| open.iter().find(|t| t.ring == *ring).cloned();
        if let Some(found) = find(&self.rings.read().unwrap_or_else(PoisonError::into_inner)) {
            return found;
        }
        let mut open = self.rings.write().unwrap_or_else(PoisonError::into_inner);
        find(&open).unwrap_or_else(|| {
            let float_bits = crate::nvrtc::float_bits(&self.properties().arch);
            let tables = Arc::new(RingTables::new(ring.clone(), float_bits, &|words| self.store(words)));
            if tables.is_whole() {
                open.push(tables.clone());
            }
            tables
        })
    }

    /// Uploads rows that the host computes on all its threads.
    fn upload_words(&self, shape: &Shape, role: Role, fill: Fill<'_>) -> CudaPoly {
        let (n, primes): (usize, Vec<usize>) = (shape.ring.n(), shape.basis.iter().collect());
        let poly = self.unwritten(shape.clone(), self.place(role));
        let together = (STAGED / n).max(1);
        let mut staged = vec![0; n * together.min(poly.rows.len())];
        for (first, rows) in (0..).step_by(together).zip(poly.rows.chunks(together)) {
            let words = &mut staged[..n * rows.len()];
            words.par_chunks_exact_mut(n).zip(first..first + rows.len()).for_each(|(words, i)| {
                let prime = primes[i % primes.len()];
                fill(RowAt { batch: i / primes.len(), prime, modulus: shape.ring.moduli()[prime] }, words);
            });
            rows.iter().zip(words.chunks_exact(n)).for_each(|(row, words)| self.write(row, words));
        }
        poly
    }

    /// The index of the prime of each row.
    pub(crate) fn primes_of(shape: &Shape) -> Vec<usize> {
        let primes: Vec<usize> = shape.basis.iter().collect();
        (0..shape.rows()).map(|i| primes[i % primes.len()]).collect()
    }

    /// Copies rows.
    pub(crate) fn copy_rows(&self, out: &[Arc<Row>], from: &[Arc<Row>], words: usize) {
        for (out, from) in out.chunks(ROWS).zip(from.chunks(ROWS)) {
            let args = Args::default().rows(out).rows(from).int(small(words));
            self.launch("lw_copy", Blocks::pairs(words, out.len()), args);
        }
    }
}

impl Device for Cuda {
    type Poly = CudaPoly;
    type Lwe = CudaLwe;

    fn name(&self) -> String {
        format!("cuda ({})", self.properties().name)
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
        self.note(0, self.driver.wait());
        self.take_fault()
    }

    fn scrub(&self) {
        self.note(0, self.pool.scrub());
        self.note(0, self.stage.scrub());
    }

    fn upload(&self, shape: &Shape, role: Role, fill: Fill<'_>) -> CudaPoly {
        self.upload_words(shape, role, fill)
    }

    fn zeros(&self, shape: &Shape) -> CudaPoly {
        self.zero_poly(shape)
    }

    fn copy(&self, a: &CudaPoly) -> CudaPoly {
        let out = self.fresh(a.shape.clone());
        self.copy_rows(&out.rows, &a.rows, a.shape.ring.n());
        out
    }

    fn expand_seed(&self, shape: &Shape, role: Role, seed: &Seed) -> CudaPoly {
        self.upload_words(shape, role, &|at, words| expand_row(seed, at, words))
    }

    fn restrict(&self, a: &CudaPoly, to: Basis) -> CudaPoly {
        let kept: Vec<usize> = to.iter().filter_map(|i| a.shape.basis.position(i)).collect();
        assert_eq!(kept.len(), to.len(), "{to:?} is not within {:?}", a.shape.basis);
        let entries = a.rows.chunks_exact(a.shape.basis.len());
        let rows = entries.flat_map(|limbs| kept.iter().map(|&l| limbs[l].clone())).collect();
        CudaPoly { shape: a.shape.with_basis(to), rows }
    }

    fn join(&self, parts: &[&CudaPoly]) -> CudaPoly {
        let basis = parts.iter().fold(Basis::default(), |all, p| all | p.shape.basis);
        let shape = parts[0].shape.with_basis(basis);
        let owner = |i| parts.iter().find_map(|&p| p.shape.basis.position(i).map(|at| (p, at)));
        let owners: Vec<(&CudaPoly, usize)> = basis.iter().filter_map(owner).collect();
        let entry = |b: usize| owners.iter().map(move |&(p, at)| p.rows[b * p.shape.basis.len() + at].clone());
        CudaPoly { rows: (0..shape.batch).flat_map(entry).collect(), shape }
    }

    fn stack(&self, parts: &[&CudaPoly]) -> CudaPoly {
        let batch = parts.iter().map(|p| p.shape.batch).sum();
        let rows = parts.iter().flat_map(|p| p.rows.iter().cloned()).collect();
        CudaPoly { shape: parts[0].shape.with_batch(batch), rows }
    }

    fn split(&self, a: &CudaPoly, from: usize, to: usize) -> CudaPoly {
        let limbs = a.shape.basis.len();
        CudaPoly { shape: a.shape.with_batch(to - from), rows: a.rows[from * limbs..to * limbs].to_vec() }
    }

    fn add(&self, a: &CudaPoly, b: &CudaPoly) -> CudaPoly {
        self.combine("lw_add", a, b)
    }

    fn sub(&self, a: &CudaPoly, b: &CudaPoly) -> CudaPoly {
        self.combine("lw_sub", a, b)
    }

    fn neg(&self, a: CudaPoly) -> CudaPoly {
        self.change("lw_neg", a, None)
    }

    fn mul(&self, a: &CudaPoly, b: &CudaPoly) -> CudaPoly {
        self.product(a, b)
    }

    fn mul_acc(&self, acc: &mut CudaPoly, a: &CudaPoly, b: &CudaPoly) {
        self.accumulate(acc, a, b);
    }

    fn add_assign(&self, acc: &mut CudaPoly, a: &CudaPoly) {
        self.add_to(acc, a);
    }

    fn scale_limbs(&self, a: CudaPoly, constants: &[u64]) -> CudaPoly {
        self.change("lw_scale", a, Some(constants))
    }

    fn shift_limbs(&self, a: CudaPoly, constants: &[u64]) -> CudaPoly {
        self.change("lw_shift", a, Some(constants))
    }

    fn ntt(&self, a: CudaPoly) -> CudaPoly {
        self.forward(a)
    }

    fn intt(&self, a: CudaPoly) -> CudaPoly {
        self.inverse(a)
    }

    fn automorphism(&self, a: &CudaPoly, g: GaloisElement) -> CudaPoly {
        self.apply_automorphism(a, g)
    }

    fn basis_convert(&self, a: &CudaPoly, to: Basis) -> CudaPoly {
        self.convert_basis(a, to)
    }

    fn reduce(&self, a: &CudaPoly, to: Basis) -> CudaPoly {
        self.lift_limb(a, to)
    }

    fn monomial_mul(&self, a: &CudaPoly, exponents: &CudaLwe, word: usize) -> CudaPoly {
        self.multiply_by_monomial(a, exponents, word)
    }

    fn decompose(&self, a: &CudaPoly, gadget: Gadget) -> CudaPoly {
        self.decompose_digits(a, gadget)
    }

    fn upload_lwe(&self, shape: LweShape, role: Role, fill: LweFill<'_>) -> CudaLwe {
        lwe::upload(self, shape, role, fill)
    }

    fn lwe_stack(&self, parts: &[&CudaLwe]) -> CudaLwe {
        lwe::stack(self, parts)
    }

    fn lwe_split(&self, a: &CudaLwe, from: usize, to: usize) -> CudaLwe {
        lwe::split(self, a, from, to)
    }

    fn lwe_add(&self, a: &CudaLwe, b: &CudaLwe) -> CudaLwe {
        lwe::add(self, a, b)
    }

    fn lwe_scale(&self, a: &CudaLwe, c: u64) -> CudaLwe {
        lwe::scale(self, a, c)
    }

    fn lwe_shift(&self, a: &CudaLwe, constants: &[u64]) -> CudaLwe {
        lwe::shift(self, a, constants)
    }

    fn lwe_mod_switch(&self, a: &CudaLwe, to: u64, rounding: Rounding) -> CudaLwe {
        lwe::switch_modulus(self, a, to, rounding)
    }

    fn lwe_decompose(&self, a: &CudaLwe, gadget: Gadget) -> CudaLwe {
        lwe::decompose(self, a, gadget)
    }

    fn lwe_product(&self, a: &CudaLwe, rows: &CudaLwe) -> CudaLwe {
        lwe::product(self, a, rows)
    }

    fn sample_extract(&self, glwe: &[&CudaPoly], at: &[usize]) -> CudaLwe {
        lwe::sample_extract(self, glwe, at)
    }

    fn lwe_embed(&self, a: &CudaLwe, ring: &Ring, basis: Basis, part: usize) -> CudaPoly {
        lwe::embed(self, a, Shape::eval(ring, basis), part)
    }

    fn region(&self, region: impl Into<Region>, index: u32) -> OpenRegion<'_> {
        self.open_region(region.into(), index)
    }

    fn mod_up(&self, c: &CudaPoly, digits: &[Basis], full: Basis) -> Vec<CudaPoly> {
        self.fused_mod_up(c, digits, full)
    }

    fn gadget_product(&self, digits: &[CudaPoly], key: &GadgetKey<CudaPoly>) -> [CudaPoly; 2] {
        self.fused_gadget_product(digits, key)
    }

    fn mod_down(&self, a: &CudaPoly, to: Basis) -> CudaPoly {
        self.fused_mod_down(a, to)
    }

    fn rescale(&self, a: &CudaPoly, to: Basis) -> CudaPoly {
        self.fused_rescale(a, to)
    }

    fn key_switch(&self, c: &CudaPoly, key: &GadgetKey<CudaPoly>) -> [CudaPoly; 2] {
        self.fused_key_switch(c, key)
    }

    fn key_switch_onto(
        &self,
        c: &CudaPoly,
        key: &GadgetKey<CudaPoly>,
        onto: [Option<&CudaPoly>; 2],
        to: Basis,
    ) -> [CudaPoly; 2] {
        // A level that has a prime of its own is rare, and its sums do not have that limb.
        if !to.is_subset(c.shape.basis) {
            return composites::key_switch_onto(self, c, key, onto, to);
        }
        self.fused_key_switch_onto(c, key, onto, to)
    }

    fn extend_limb(&self, a: &CudaPoly, to: Basis) -> CudaPoly {
        self.fused_extend_limb(a, to)
    }

    fn weighted_sums(&self, x: &[CudaPoly], sums: &[Terms<'_, CudaPoly>]) -> Vec<CudaPoly> {
        self.fused_weighted_sums(x, sums)
    }

    fn matrix_product(&self, x: &CudaPoly, matrix: &IntegerMatrix) -> CudaPoly {
        self.fused_matrix_product(x, matrix)
    }

    fn blind_rotate(&self, test: &CudaPoly, exponents: &CudaLwe, key: &Ggsw<CudaPoly>) -> Vec<CudaPoly> {
        self.fused_blind_rotate(test, exponents, key)
    }

    fn linear_combination(&self, x: &[&CudaPoly], constants: &[Vec<u64>]) -> CudaPoly {
        self.fused_linear_combination(x, constants)
    }
}

impl HostRead for Cuda {
    fn download(&self, a: &CudaPoly) -> Result<Vec<u64>, Fault> {
        self.take_fault()?;
        let n = a.shape.ring.n();
        let mut words = vec![0; a.rows.len() * n];
        a.rows.iter().zip(words.chunks_exact_mut(n)).try_for_each(|(row, words)| self.read(row, words))?;
        Ok(words)
    }

    fn download_lwe(&self, a: &CudaLwe) -> Result<Vec<u64>, Fault> {
        self.take_fault()?;
        let mut words = vec![0; a.shape.batch * a.shape.words()];
        self.read(&a.words, &mut words)?;
        Ok(words)
    }
}
