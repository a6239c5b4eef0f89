//! Issue slots and transfers of each kernel for one sub-polynomial, counted in exact runs, and the closed form over them.
//!
//! The slots of a kernel depend neither on its data nor on other sub-polynomials, so one run of each kernel at each degree
//! suffices. No number of the table is typed by hand.

use crate::{
    Direction, DpuFault, Preset,
    exact::{Bench, Measured},
    isa::Op,
    kernels::{
        Form, Multiplications,
        frame::{CHUNK, COMMAND_BYTES, Operation},
        program,
        routines::lengths,
    },
};
use limbwise_math::{modulus::Modulus, prime::ntt_primes_below};
use std::fmt::Write as _;

/// Kernels in the table: those whose slots do not depend on the number of tasklets.
pub const KERNELS: [Operation; 10] = [
    Operation::Ntt,
    Operation::Intt,
    Operation::Add,
    Operation::Sub,
    Operation::Neg,
    Operation::Mul,
    Operation::MulAcc,
    Operation::Scale,
    Operation::Shift,
    Operation::BgvProduct,
];

/// Ring degrees in the table, as logarithms.
pub const DEGREES: std::ops::RangeInclusive<u32> = 10..=16;

/// Header comment of the file.
const HEAD: &str = "\
# Issue slots of the DPU kernels of crates/upmem, counted by interpreting the assembled program; not edited by hand.
# Written by:  LIMBWISE_BLESS=1 cargo test -p limbwise-upmem --test slots
# A test re-derives entries and compares them.
#
# [routines], slots:
#   mul32_slots, mul64_slots  the 32x32->32 and 32x32->64 multiplications, without call and return
#   call_slots                call and return of either, where multiplications are called
#   launch_slots              start and end of a launch with one command, for one tasklet
#
# [[kernel]], for one sub-polynomial (one limb of one polynomial; for bgv-product one limb of one pair of ciphertexts),
# multiplications called, Barrett reduction; a launch's own slots are not in it:
#   slots                     issue slots, with those of its multiplications: mul32*(mul32_slots + call_slots) and so on
#   hazards                   cycles lost to two sources in one bank of the register file
#   mul32, mul64              multiplications done
#   dma_reads, dma_writes     transfers from and to MRAM; dma_read_bytes, dma_write_bytes: their bytes
# Inlined multiplications take call_slots less each, and nothing else changes.
";

/// Counts of a kernel at a ring degree for one sub-polynomial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Operation of the kernel.
    pub operation: Operation,
    /// Ring degree N.
    pub n: u64,
    /// Counts beyond a launch without jobs; cycles are those of a single tasklet.
    pub measured: Measured,
}

/// The prime of the counting runs; counts do not depend on it.
fn prime(log_n: u32) -> Modulus {
    let primes = ntt_primes_below(log_n, 32, 1, &[]).expect("there are primes of 32 bits for these degrees");
    Modulus::new(primes[0])
}

/// Runs a kernel once with one job and once with none.
///
/// # Errors
/// [`DpuFault`] if the kernel is wrong.
pub fn entry(operation: Operation, log_n: u32, form: Form) -> Result<Entry, DpuFault> {
    let mut bench = Bench::new(Preset::v1b(), form, prime(log_n), log_n)?;
    let job = bench.job(operation, 0, 1);
    let [none, one] = [vec![], vec![job]].map(|jobs| bench.measure(&[(operation, jobs)], 1));
    let (none, mut measured) = (none?, one?);
    let (counts, fixed) = (&mut measured.counts, &none.counts);
    counts.cycles -= fixed.cycles;
    counts.slots -= fixed.slots;
    counts.hazards -= fixed.hazards;
    for i in 0..2 {
        counts.transfers[i] -= fixed.transfers[i];
        counts.bytes[i] -= fixed.bytes[i];
    }
    Ok(Entry { operation, n: 1 << log_n, measured })
}

/// Slots of one tasklet in a launch with one command and no jobs.
///
/// # Errors
/// [`DpuFault`] if the program is wrong.
pub fn launch_slots(form: Form) -> Result<u64, DpuFault> {
    let mut bench = Bench::new(Preset::v1b(), form, prime(10), 10)?;
    Ok(bench.run(&[(Operation::Add, vec![])], 1)?.slots)
}

impl Entry {
    /// The entry's table in the file.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let Measured { counts, mul32, mul64 } = &self.measured;
        let mut text = format!("\n[[kernel]]\nname = \"{}\"\n", self.operation.name().replace('_', "-"));
        let fields = [
            ("n", self.n),
            ("slots", counts.slots),
            ("hazards", counts.hazards),
            ("mul32", *mul32),
            ("mul64", *mul64),
            ("dma_reads", counts.transfers[0]),
            ("dma_writes", counts.transfers[1]),
            ("dma_read_bytes", counts.bytes[0]),
            ("dma_write_bytes", counts.bytes[1]),
        ];
        for (name, value) in fields {
            let _ = writeln!(text, "{name} = {value}");
        }
        text
    }

    /// Cycles of a DPU for `count` of these sub-polynomials in one launch, without the cycles of the launch itself.
    ///
    /// Tasklets take pieces in waves: whole sub-polynomials of a transform, chunks of other kernels. The pipeline takes one
    /// slot per cycle, a tasklet gives one per interval, and the DMA engine serves one transfer at a time while its tasklet
    /// waits. The slowest of the three decides. In the first wave all tasklets wait for the engine; later waves hide that.
    #[must_use]
    pub fn cycles(&self, jobs: u64, tasklets: u64, preset: &Preset) -> u64 {
        let counts = &self.measured.counts;
        let chunks = self.n / u64::from(CHUNK);
        let coarse = matches!(self.operation, Operation::Ntt | Operation::Intt);
        let pieces = if coarse { 1 } else { chunks };
        let starts = counts.transfers[0] * preset.dma_cycles[0] + counts.transfers[1] * preset.dma_cycles[1];
        let engine = (starts + (counts.bytes[0] + counts.bytes[1]) / 2) / pieces;
        let issue = (counts.slots + counts.hazards) / pieces;
        let alone = preset.interval * (counts.slots / pieces) + engine;
        let wave = |active: u64| match active {
            0 => 0,
            _ => (active * issue).max(active * engine).max(alone),
        };
        let total = jobs * pieces;
        let first = total.min(tasklets) * engine / (chunks / pieces);
        total / tasklets * wave(tasklets) + wave(total % tasklets) + first
    }
}

/// Cycles of a launch with one command, without its jobs: every tasklet reads header and command.
#[must_use]
pub fn launch_cycles(slots: u64, tasklets: u64, preset: &Preset) -> u64 {
    let read = |bytes| preset.transfer_cycles(Direction::ToWram, bytes);
    let engine = tasklets * (read(4 * 16) + read(u64::from(COMMAND_BYTES)));
    engine + slots * tasklets.max(preset.interval)
}

/// Contents of the file.
///
/// # Errors
/// [`DpuFault`] if a kernel is wrong.
pub fn table() -> Result<String, DpuFault> {
    let form = Form::default();
    let mut text = format!("{HEAD}\n{}", routines(form)?);
    for operation in KERNELS {
        for log_n in DEGREES {
            text += &entry(operation, log_n, form)?.to_toml();
        }
    }
    Ok(text)
}

/// The file's table of routines.
///
/// # Errors
/// [`DpuFault`] if the program is wrong.
pub fn routines(form: Form) -> Result<String, DpuFault> {
    let [mul32, mul64] = lengths();
    let launch = launch_slots(form)?;
    Ok(format!(
        "[routines]\nmul32_slots = {mul32}\nmul64_slots = {mul64}\ncall_slots = {}\nlaunch_slots = {launch}\n",
        call_slots()
    ))
}

/// Instructions that a call adds to a multiplication in the called form.
fn call_slots() -> usize {
    let form = Form { multiplications: Multiplications::Called, ..Form::default() };
    let program = program(form);
    let at = program.instructions_marked("mul32").next().unwrap_or(0);
    let before = usize::from(program.instructions.iter().any(|i| i.op == Op::Call && i.target as usize == at));
    let behind = program.instructions.get(at + lengths()[0]).map_or(0, |i| usize::from(i.op == Op::Return));
    before + behind
}
