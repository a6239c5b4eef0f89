//! Exact runs of kernels on one DPU: results and counts for one command on any number of sub-polynomials.

use crate::{
    Counts, Dpu, DpuFault, Preset, Program,
    kernels::{
        self, Form,
        frame::{Header, Operation},
        image::{COMMANDS_AT, DATA_AT, Job, Tables, commands, low, normalizing_shift},
    },
};
use limbwise_math::modulus::Modulus;

/// A DPU with a program and the tables of one modulus.
#[derive(Clone, Debug)]
pub struct Bench {
    dpu: Dpu,
    program: Program,
    header: Header,
    /// MRAM address of the first operand.
    first: u32,
    modulus: Modulus,
}

/// Counts of an exact run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// Cycles, instruction slots, DMA transfers.
    pub counts: Counts,
    /// Number of 32×32→32-bit multiplications.
    pub mul32: u64,
    /// Number of 32×32→64-bit multiplications.
    pub mul64: u64,
}

impl Bench {
    /// A DPU with the program of a form.
    ///
    /// # Errors
    /// [`DpuFault`] if the tables do not fit.
    ///
    /// # Panics
    /// If the modulus is no prime for this degree below 2^32.
    pub fn new(preset: Preset, form: Form, q: Modulus, log_n: u32) -> Result<Self, DpuFault> {
        let tables = Tables::new(q, log_n, form);
        let mut dpu = Dpu::new(preset, 0);
        let (header, words) = tables.place(DATA_AT);
        dpu.write_mram(DATA_AT, &words)?;
        let first = DATA_AT + tables.bytes();
        Ok(Self { dpu, program: kernels::program(form), header, first, modulus: q })
    }

    /// MRAM address of operand `i`, a sub-polynomial of N words.
    #[must_use]
    pub fn operand_at(&self, i: u32) -> u32 {
        self.first + 4 * self.header.n * i
    }

    /// Writes operand `i` to MRAM.
    ///
    /// # Errors
    /// [`DpuFault`] past the end of MRAM.
    pub fn write(&mut self, i: u32, words: &[u32]) -> Result<(), DpuFault> {
        self.dpu.write_mram(self.operand_at(i), words)
    }

    /// Reads operand `i` from MRAM.
    ///
    /// # Errors
    /// [`DpuFault`] past the end of MRAM.
    pub fn read(&mut self, i: u32) -> Result<Vec<u32>, DpuFault> {
        let mut words = vec![0; self.header.n as usize];
        self.dpu.read_mram(self.operand_at(i), &mut words)?;
        Ok(words)
    }

    /// A job on consecutive operands from `first` on, in the order of the job's words, with a constant.
    #[must_use]
    pub fn job(&self, op: Operation, first: u32, constant: u64) -> Job {
        let mut job = [0, 1, 2, 3, 4, 5, 6, 7].map(|i| self.operand_at(first + i));
        match op {
            Operation::Scale => job[3] = low(constant << normalizing_shift(self.modulus)),
            Operation::Shift => job[3] = low(constant),
            _ => {}
        }
        job
    }

    /// Runs commands in one launch.
    ///
    /// # Errors
    /// [`DpuFault`].
    pub fn run(&mut self, list: &[(Operation, Vec<Job>)], tasklets: usize) -> Result<Counts, DpuFault> {
        self.prepare(list, tasklets)?;
        self.dpu.run(&self.program, tasklets)
    }

    /// As [`Self::run`], with the number of multiplications.
    ///
    /// # Errors
    /// [`DpuFault`].
    pub fn measure(&mut self, list: &[(Operation, Vec<Job>)], tasklets: usize) -> Result<Measured, DpuFault> {
        self.prepare(list, tasklets)?;
        let mut runs = vec![0u64; self.program.instructions.len()];
        let counts = self.dpu.run_with_observer(&self.program, tasklets, |issue| runs[issue.instruction] += 1)?;
        let marked = |name| self.program.instructions_marked(name).map(|at| runs[at]).sum();
        Ok(Measured { counts, mul32: marked("mul32"), mul64: marked("mul64") })
    }

    fn prepare(&mut self, list: &[(Operation, Vec<Job>)], tasklets: usize) -> Result<(), DpuFault> {
        start(&mut self.dpu, self.header, list, tasklets)
    }
}

/// Writes the header and the commands of a launch.
///
/// # Errors
/// [`DpuFault`] past the end of MRAM.
pub(crate) fn start(
    dpu: &mut Dpu,
    header: Header,
    list: &[(Operation, Vec<Job>)],
    tasklets: usize,
) -> Result<(), DpuFault> {
    let commands_are = low(list.len() as u64);
    let header = Header { commands: commands_are, commands_at: COMMANDS_AT, tasklets: low(tasklets as u64), ..header };
    dpu.write_mram(0, &header.words())?;
    dpu.write_mram(COMMANDS_AT, &commands(list))
}
