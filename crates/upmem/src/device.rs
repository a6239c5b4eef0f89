//! The UPMEM machine as a [`Device`]: rows are in MRAM, DPUs compute transforms and element-wise operations, and the host
//! computes the rest on copies, which count as transfers.

use crate::{
    DpuFault, Program,
    footprint::modulus_bytes,
    kernels::{
        self,
        frame::Operation,
        image::{low, normalizing_shift},
    },
    launch::{Prepared, Task, fault},
    link::{Counters, Traffic},
    memory::{Memory, Row, Unit, Units, capacity},
    options::{Mode, OpenError, Options, Sharing},
    slots::{self, Entry},
};
use limbwise_device::{
    Basis, Device, Fault, Fill, Gadget, Handle, HostRead, LweFill, LweShape, Ring, RingError, RingSpec, Role, Rounding,
    RowAt, Shape, expand_row,
    ops::{broadcast, transformed},
};
use limbwise_math::{galois::GaloisElement, sampling::Seed};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

/// Largest number of bits of a prime.
const LARGEST_BITS: u32 = 32;

/// Cache keyed by log₂ N and prime.
type ByModulus<T> = HashMap<(u32, u64), T>;

/// DPUs with a host `H`, which computes the operations without a kernel.
#[derive(Debug)]
pub struct Upmem<H> {
    host: H,
    options: Options,
    program: Program,
    units: Arc<Units>,
    pub(crate) known: Mutex<ByModulus<Arc<Prepared>>>,
    entries: Mutex<HashMap<(Operation, u32), Entry>>,
    /// Instruction slots of a launch without jobs.
    pub(crate) launch_slots: u64,
    counters: Mutex<Counters>,
    fault: Mutex<Option<Fault>>,
}

/// A polynomial in MRAM.
#[derive(Clone, Debug)]
pub struct UpmemPoly {
    shape: Shape,
    /// Batch-major, then limb order; `None` where MRAM was full, which is a fault.
    rows: Vec<Option<Arc<Row>>>,
}

impl Handle for UpmemPoly {
    fn shape(&self) -> &Shape {
        &self.shape
    }
}

impl<H: Sync> Upmem<H> {
    /// Opens a machine with a host.
    ///
    /// # Errors
    /// [`OpenError`] for an option out of its range.
    pub fn open(host: H, options: Options) -> Result<Self, OpenError> {
        options.check()?;
        let form = options.form;
        Ok(Self {
            host,
            program: kernels::program(form),
            units: Arc::new(Units::new(&options.preset, options.dpus)),
            options,
            launch_slots: slots::launch_slots(form)?,
            known: Mutex::default(),
            entries: Mutex::default(),
            counters: Mutex::default(),
            fault: Mutex::default(),
        })
    }

    /// The options of the machine.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The device that computes operations without a kernel.
    #[must_use]
    pub fn host(&self) -> &H {
        &self.host
    }

    /// Sub-polynomials of N words that a DPU holds beside the tables of one modulus.
    #[must_use]
    pub fn capacity(&self, n: usize) -> usize {
        capacity(&self.options.preset, modulus_bytes(n), n)
    }

    /// MRAM in use by values, in bytes.
    #[must_use]
    pub fn memory(&self) -> Memory {
        self.units.memory()
    }

    /// Counters of launches, transfers and host operations so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.counters.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn units(&self) -> &Arc<Units> {
        &self.units
    }

    pub(crate) fn program(&self) -> &Program {
        &self.program
    }

    pub(crate) fn count(&self, change: impl FnOnce(&mut Counters)) {
        change(&mut self.counters.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Keeps the first fault.
    pub(crate) fn fail(&self, fault: Fault) {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(fault);
    }

    /// The fault of a batch that does not fit.
    pub(crate) fn no_room(&self, unit: &Unit, words: usize) -> Fault {
        let (dpu, capacity) = (unit.dpu.number(), unit.capacity(words));
        let what = format!(
            "DPU {dpu}: its MRAM holds {capacity} sub-polynomials of {words} words and has no room for one more: take more DPUs (dpus) or a smaller batch"
        );
        Fault::Failed { device: "upmem".into(), what }
    }

    /// Instruction slots of a kernel, cached.
    pub(crate) fn entry(&self, operation: Operation, log_n: u32) -> Result<Entry, DpuFault> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = entries.get(&(operation, log_n)) {
            return Ok(entry.clone());
        }
        let entry = slots::entry(operation, log_n, self.options.form)?;
        entries.insert((operation, log_n), entry.clone());
        Ok(entry)
    }

    fn together(&self) -> bool {
        self.options.sharing == Sharing::Together && self.options.mode == Mode::Exact
    }

    fn traffic(&self) -> Traffic {
        Traffic::new(self.options.dpus, self.options.dpus_per_rank)
    }

    /// Allocates a sub-polynomial in MRAM; a sticky fault if it is full.
    fn row(&self, dpu: usize, words: usize) -> Option<Arc<Row>> {
        let row = self.units.row(dpu, words);
        if row.is_none() {
            self.fail(self.no_room(&self.units.lock(dpu), words));
        }
        row.map(Arc::new)
    }

    /// Allocates a polynomial, each limb on the DPU of its batch entry and prime.
    fn fresh(&self, shape: Shape) -> UpmemPoly {
        let (n, primes) = (shape.ring.n(), shape.ring.moduli().len());
        let limbs: Vec<usize> = shape.basis.iter().collect();
        let place = |i: usize| self.options.place(i / limbs.len(), limbs[i % limbs.len()], primes);
        let rows = (0..shape.rows()).map(|i| self.row(place(i), n)).collect();
        UpmemPoly { shape, rows }
    }

    fn write(&self, row: Option<&Arc<Row>>, words: &[u64], traffic: &mut Traffic) {
        if let Some(row) = row {
            let words: Vec<u32> = words.iter().map(|&x| low(x)).collect();
            traffic.to(row.dpu, words.len());
            let written = self.units.lock(row.dpu).dpu.write_mram(row.at, &words);
            written.unwrap_or_else(|e| self.fail(fault(e)));
        }
    }

    fn read(&self, row: Option<&Arc<Row>>, out: &mut [u64], traffic: &mut Traffic) {
        if let Some(row) = row {
            let mut words = vec![0; out.len()];
            traffic.from(row.dpu, words.len());
            let read = self.units.lock(row.dpu).dpu.read_mram(row.at, &mut words);
            read.unwrap_or_else(|e| self.fail(fault(e)));
            out.iter_mut().zip(words).for_each(|(out, x)| *out = x.into());
        }
    }

    /// Reads all words over the link.
    fn words(&self, a: &UpmemPoly) -> Vec<u64> {
        let (n, mut traffic) = (a.shape.ring.n(), self.traffic());
        let mut words = vec![0; a.rows.len() * n];
        for (row, out) in a.rows.iter().zip(words.chunks_exact_mut(n)) {
            self.read(row.as_ref(), out, &mut traffic);
        }
        self.settle(&traffic);
        words
    }

    /// Uploads a polynomial from words on the host.
    fn upload_words(&self, shape: Shape, words: &[u64]) -> UpmemPoly {
        let (n, mut traffic) = (shape.ring.n(), self.traffic());
        let a = self.fresh(shape);
        a.rows.iter().zip(words.chunks_exact(n)).for_each(|(row, x)| self.write(row.as_ref(), x, &mut traffic));
        self.settle(&traffic);
        a
    }

    fn upload_filled(&self, shape: &Shape, fill: Fill<'_>) -> UpmemPoly {
        let limbs: Vec<usize> = shape.basis.iter().collect();
        let mut words = vec![0; shape.rows() * shape.ring.n()];
        for (i, row) in words.chunks_exact_mut(shape.ring.n()).enumerate() {
            let prime = limbs[i % limbs.len()];
            fill(RowAt { batch: i / limbs.len(), prime, modulus: shape.ring.moduli()[prime] }, row);
        }
        self.upload_words(shape.clone(), &words)
    }

    /// The row on a given DPU: itself, or a copy made through the host.
    fn beside(&self, row: &Arc<Row>, dpu: usize, traffic: &mut Traffic) -> Option<Arc<Row>> {
        if row.dpu == dpu {
            return Some(row.clone());
        }
        let mut words = vec![0; row.words];
        self.read(Some(row), &mut words, traffic);
        let copy = self.row(dpu, row.words);
        self.write(copy.as_ref(), &words, traffic);
        copy
    }

    /// An element-wise operation with broadcast, on the DPUs of the operand with the larger batch.
    fn combine(&self, operation: Operation, a: &UpmemPoly, b: &UpmemPoly) -> UpmemPoly {
        let shape = a.shape.with_batch(broadcast(&a.shape, &b.shape));
        let limbs: Vec<usize> = shape.basis.iter().collect();
        let (mut traffic, mut tasks, mut held, mut rows) = (self.traffic(), vec![], vec![], vec![]);
        let long = if a.rows.len() == shape.rows() { a } else { b };
        for i in 0..shape.rows() {
            let made = long.rows[i].as_ref().and_then(|long| {
                let out = self.row(long.dpu, long.words)?;
                let [x, y] = [a, b].map(|p| p.rows[i % p.rows.len()].as_ref());
                let (x, y) = (self.beside(x?, out.dpu, &mut traffic)?, self.beside(y?, out.dpu, &mut traffic)?);
                let job = [out.at, x.at, y.at, 0, 0, 0, 0, 0];
                tasks.push(Task { dpu: out.dpu, prime: limbs[i % limbs.len()], operation, job });
                held.push((x, y));
                Some(out)
            });
            rows.push(made);
        }
        self.launch(&shape.ring, &[tasks], traffic);
        UpmemPoly { shape, rows }
    }

    /// Changes each row, in place if no other handle shares it, else in a new row on the same DPU.
    fn change(&self, operation: Operation, mut a: UpmemPoly, constants: &[u64]) -> UpmemPoly {
        let limbs: Vec<usize> = a.shape.basis.iter().collect();
        let (mut tasks, mut held) = (vec![], vec![]);
        for (i, slot) in a.rows.iter_mut().enumerate() {
            let prime = limbs[i % limbs.len()];
            let Some(mut row) = slot.take() else { continue };
            let from = row.at;
            if Arc::get_mut(&mut row).is_none() {
                let Some(own) = self.row(row.dpu, row.words) else { continue };
                held.push(std::mem::replace(&mut row, own));
            }
            let constant = constants.get(i % limbs.len()).map_or(0, |&c| match operation {
                Operation::Scale => low(c << normalizing_shift(a.shape.ring.moduli()[prime])),
                _ => low(c),
            });
            tasks.push(Task { dpu: row.dpu, prime, operation, job: [row.at, from, 0, constant, 0, 0, 0, 0] });
            *slot = Some(row);
        }
        self.launch(&a.shape.ring, &[tasks], self.traffic());
        a
    }

    /// Accumulates operands into each row, in place if no other handle shares it, else in a new row on the same DPU. A
    /// product is added to the row, which is first copied to the new one; a sum takes the old row as an operand.
    fn accumulate(&self, operation: Operation, acc: &mut UpmemPoly, operands: &[&UpmemPoly]) {
        let limbs: Vec<usize> = acc.shape.basis.iter().collect();
        let (mut traffic, mut held, mut copies, mut sums) = (self.traffic(), vec![], vec![], vec![]);
        for (i, slot) in acc.rows.iter_mut().enumerate() {
            let prime = limbs[i % limbs.len()];
            let Some(mut row) = slot.take() else { continue };
            let old = row.at;
            if Arc::get_mut(&mut row).is_none() {
                let Some(own) = self.row(row.dpu, row.words) else { continue };
                held.push(std::mem::replace(&mut row, own));
            }
            let of = |p: &&UpmemPoly| self.beside(p.rows[i % p.rows.len()].as_ref()?, row.dpu, &mut traffic);
            let Some(near) = operands.iter().map(of).collect::<Option<Vec<Arc<Row>>>>() else { continue };
            let (dpu, at) = (row.dpu, row.at);
            let job = match &near[..] {
                [x] => [at, old, x.at, 0, 0, 0, 0, 0],
                [x, y, ..] => {
                    if old != at {
                        let job = [at, old, 0, 0, 0, 0, 0, 0];
                        copies.push(Task { dpu, prime, operation: Operation::Shift, job });
                    }
                    [at, x.at, y.at, 0, 0, 0, 0, 0]
                }
                [] => continue,
            };
            sums.push(Task { dpu, prime, operation, job });
            held.extend(near);
            *slot = Some(row);
        }
        self.launch(&acc.shape.ring, &[copies, sums], traffic);
    }
}

impl<H: HostRead> Upmem<H> {
    /// Downloads a value, applies a host operation, and uploads the result.
    fn on_host(&self, a: &UpmemPoly, task: impl FnOnce(&H, H::Poly) -> H::Poly) -> UpmemPoly {
        let lifted = self.download_value(a);
        let result = task(&self.host, lifted);
        self.upload_result(&result)
    }

    fn download_value(&self, a: &UpmemPoly) -> H::Poly {
        let words = self.words(a);
        let (n, limbs) = (a.shape.ring.n(), a.shape.basis.len());
        self.host.upload(&a.shape, Role::Temporary, &|at, row| {
            let limb = a.shape.basis.position(at.prime).expect("a prime of the basis");
            row.copy_from_slice(&words[(at.batch * limbs + limb) * n..][..n]);
        })
    }

    fn upload_result(&self, result: &H::Poly) -> UpmemPoly {
        self.count(|counters| counters.host_operations += 1);
        let words = self.host.download(result).unwrap_or_else(|fault| {
            self.fail(fault);
            vec![0; result.shape().rows() * result.shape().ring.n()]
        });
        self.upload_words(result.shape().clone(), &words)
    }
}

impl<H: HostRead> Device for Upmem<H> {
    type Poly = UpmemPoly;
    type Lwe = H::Lwe;

    fn name(&self) -> String {
        format!("upmem, {} DPUs {}", self.options.dpus, self.options.preset.name)
    }

    fn ring(&self, spec: &RingSpec) -> Result<Ring, RingError> {
        if let Some(&prime) = spec.primes.iter().find(|&&q| q >> LARGEST_BITS != 0) {
            return Err(RingError::PrimeTooLarge { device: "upmem".into(), prime, largest: LARGEST_BITS });
        }
        self.host.ring(spec)
    }

    fn sync(&self) -> Result<(), Fault> {
        match self.fault.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(fault) => Err(fault),
            None => self.host.sync(),
        }
    }

    fn scrub(&self) {
        self.units.scrub();
        self.host.scrub();
    }

    fn upload(&self, shape: &Shape, _role: Role, fill: Fill<'_>) -> UpmemPoly {
        self.upload_filled(shape, fill)
    }

    fn zeros(&self, shape: &Shape) -> UpmemPoly {
        self.upload_filled(shape, &|_, _| {})
    }

    fn copy(&self, a: &UpmemPoly) -> UpmemPoly {
        self.change(Operation::Shift, a.clone(), &[]) // a is held twice, so each row goes elsewhere
    }

    fn expand_seed(&self, shape: &Shape, _role: Role, seed: &Seed) -> UpmemPoly {
        self.upload_filled(shape, &|at, words| expand_row(seed, at, words))
    }

    fn restrict(&self, a: &UpmemPoly, to: Basis) -> UpmemPoly {
        let kept: Vec<usize> = to.iter().filter_map(|i| a.shape.basis.position(i)).collect();
        assert_eq!(kept.len(), to.len(), "{to:?} is not within {:?}", a.shape.basis);
        let entries = a.rows.chunks_exact(a.shape.basis.len());
        let rows = entries.flat_map(|limbs| kept.iter().map(|&l| limbs[l].clone())).collect();
        UpmemPoly { shape: a.shape.with_basis(to), rows }
    }

    fn join(&self, parts: &[&UpmemPoly]) -> UpmemPoly {
        let basis = parts.iter().fold(Basis::default(), |all, p| all | p.shape.basis);
        let shape = parts[0].shape.with_basis(basis);
        let owner = |i| parts.iter().find_map(|&p| p.shape.basis.position(i).map(|at| (p, at)));
        let owners: Vec<(&UpmemPoly, usize)> = basis.iter().filter_map(owner).collect();
        let entry = |b: usize| owners.iter().map(move |&(p, at)| p.rows[b * p.shape.basis.len() + at].clone());
        UpmemPoly { rows: (0..shape.batch).flat_map(entry).collect(), shape }
    }

    fn stack(&self, parts: &[&UpmemPoly]) -> UpmemPoly {
        let batch = parts.iter().map(|p| p.shape.batch).sum();
        let rows = parts.iter().flat_map(|p| p.rows.iter().cloned()).collect();
        UpmemPoly { shape: parts[0].shape.with_batch(batch), rows }
    }

    fn split(&self, a: &UpmemPoly, from: usize, to: usize) -> UpmemPoly {
        let limbs = a.shape.basis.len();
        UpmemPoly { shape: a.shape.with_batch(to - from), rows: a.rows[from * limbs..to * limbs].to_vec() }
    }

    fn add(&self, a: &UpmemPoly, b: &UpmemPoly) -> UpmemPoly {
        self.combine(Operation::Add, a, b)
    }

    fn sub(&self, a: &UpmemPoly, b: &UpmemPoly) -> UpmemPoly {
        self.combine(Operation::Sub, a, b)
    }

    fn neg(&self, a: UpmemPoly) -> UpmemPoly {
        self.change(Operation::Neg, a, &[])
    }

    fn mul(&self, a: &UpmemPoly, b: &UpmemPoly) -> UpmemPoly {
        self.combine(Operation::Mul, a, b)
    }

    fn mul_acc(&self, acc: &mut UpmemPoly, a: &UpmemPoly, b: &UpmemPoly) {
        self.accumulate(Operation::MulAcc, acc, &[a, b]);
    }

    fn add_assign(&self, acc: &mut UpmemPoly, a: &UpmemPoly) {
        self.accumulate(Operation::Add, acc, &[a]);
    }

    fn scale_limbs(&self, a: UpmemPoly, constants: &[u64]) -> UpmemPoly {
        self.change(Operation::Scale, a, constants)
    }

    fn shift_limbs(&self, a: UpmemPoly, constants: &[u64]) -> UpmemPoly {
        self.change(Operation::Shift, a, constants)
    }

    fn ntt(&self, a: UpmemPoly) -> UpmemPoly {
        let operation = if self.together() { Operation::NttShared } else { Operation::Ntt };
        let shape = transformed(&a.shape);
        UpmemPoly { shape, ..self.change(operation, a, &[]) }
    }

    fn intt(&self, a: UpmemPoly) -> UpmemPoly {
        let operation = if self.together() { Operation::InttShared } else { Operation::Intt };
        let shape = transformed(&a.shape);
        UpmemPoly { shape, ..self.change(operation, a, &[]) }
    }

    fn automorphism(&self, a: &UpmemPoly, g: GaloisElement) -> UpmemPoly {
        self.on_host(a, |host, a| host.automorphism(&a, g))
    }

    fn basis_convert(&self, a: &UpmemPoly, to: Basis) -> UpmemPoly {
        self.on_host(a, |host, a| host.basis_convert(&a, to))
    }

    fn reduce(&self, a: &UpmemPoly, to: Basis) -> UpmemPoly {
        self.on_host(a, |host, a| host.reduce(&a, to))
    }

    fn monomial_mul(&self, a: &UpmemPoly, exponents: &H::Lwe, word: usize) -> UpmemPoly {
        self.on_host(a, |host, a| host.monomial_mul(&a, exponents, word))
    }

    fn decompose(&self, a: &UpmemPoly, gadget: Gadget) -> UpmemPoly {
        self.on_host(a, |host, a| host.decompose(&a, gadget))
    }

    fn upload_lwe(&self, shape: LweShape, role: Role, fill: LweFill<'_>) -> H::Lwe {
        self.host.upload_lwe(shape, role, fill)
    }

    fn lwe_stack(&self, parts: &[&H::Lwe]) -> H::Lwe {
        self.host.lwe_stack(parts)
    }

    fn lwe_split(&self, a: &H::Lwe, from: usize, to: usize) -> H::Lwe {
        self.host.lwe_split(a, from, to)
    }

    fn lwe_add(&self, a: &H::Lwe, b: &H::Lwe) -> H::Lwe {
        self.host.lwe_add(a, b)
    }

    fn lwe_scale(&self, a: &H::Lwe, c: u64) -> H::Lwe {
        self.host.lwe_scale(a, c)
    }

    fn lwe_shift(&self, a: &H::Lwe, constants: &[u64]) -> H::Lwe {
        self.host.lwe_shift(a, constants)
    }

    fn lwe_mod_switch(&self, a: &H::Lwe, to: u64, rounding: Rounding) -> H::Lwe {
        self.host.lwe_mod_switch(a, to, rounding)
    }

    fn lwe_decompose(&self, a: &H::Lwe, gadget: Gadget) -> H::Lwe {
        self.host.lwe_decompose(a, gadget)
    }

    fn lwe_product(&self, a: &H::Lwe, rows: &H::Lwe) -> H::Lwe {
        self.host.lwe_product(a, rows)
    }

    fn sample_extract(&self, glwe: &[&UpmemPoly], at: &[usize]) -> H::Lwe {
        let lifted: Vec<H::Poly> = glwe.iter().map(|a| self.download_value(a)).collect();
        self.host.sample_extract(&lifted.iter().collect::<Vec<_>>(), at)
    }

    fn lwe_embed(&self, a: &H::Lwe, ring: &Ring, basis: Basis, part: usize) -> UpmemPoly {
        self.upload_result(&self.host.lwe_embed(a, ring, basis, part))
    }
}

impl<H: HostRead> HostRead for Upmem<H> {
    fn download(&self, a: &UpmemPoly) -> Result<Vec<u64>, Fault> {
        let words = self.words(a);
        self.sync()?;
        Ok(words)
    }

    fn download_lwe(&self, a: &H::Lwe) -> Result<Vec<u64>, Fault> {
        self.sync()?;
        self.host.download_lwe(a)
    }
}
