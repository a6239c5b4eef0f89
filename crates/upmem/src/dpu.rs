//! One DPU: presets, memories, and the clock that issues instructions.
//!
//! Each cycle the pipeline takes one instruction, from the next tasklet in the round whose last instruction is at least
//! [`Preset::interval`] cycles old. A DMA transfer blocks its own tasklet only; the engine serves one transfer at a time,
//! in order. Memory changes when the instruction issues.

use crate::{
    assembler::Program,
    clock::Clock,
    execute::{Machine, Next, Tasklet, run_ahead},
    isa::DMA_BYTES,
};
use std::ops::Range;

/// Parameters of a DPU model.
#[derive(Clone, Debug, PartialEq)]
pub struct Preset {
    /// Name in options and reports.
    pub name: &'static str,
    /// Clock in MHz.
    pub mhz: u32,
    /// Largest number of tasklets.
    pub tasklets: usize,
    /// WRAM in bytes.
    pub wram_bytes: u32,
    /// Size of the instruction memory in instructions.
    pub instructions: usize,
    /// MRAM available to programs, in bytes.
    pub mram_bytes: u32,
    /// Minimum number of cycles between two instructions of one tasklet.
    pub interval: u64,
    /// Fixed cycles of a DMA transfer: reads of MRAM, writes.
    pub dma_cycles: [u64; 2],
}

impl Preset {
    /// The newer chip at its highest clock.
    ///
    /// Source: \[DRA\]; limits of WRAM and instructions measured by the source, DMA constants published elsewhere \[GOM22\].
    #[must_use]
    pub fn v1b() -> Self {
        Self {
            name: "v1B",
            mhz: 400,
            tasklets: 16,
            wram_bytes: 63_488,
            instructions: 3968,
            mram_bytes: 60 << 20,
            interval: 11,
            dma_cycles: [77, 61],
        }
    }

    /// The older chip.
    ///
    /// Source: \[DRA\].
    #[must_use]
    pub fn v1a() -> Self {
        Self { name: "v1A", mhz: 350, tasklets: 24, wram_bytes: 65_536, instructions: 4096, ..Self::v1b() }
    }

    /// The preset of a name, if any.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::v1a(), Self::v1b()].into_iter().find(|preset| preset.name.eq_ignore_ascii_case(name))
    }

    /// Cycles of the DMA engine for a transfer.
    #[must_use]
    pub fn transfer_cycles(&self, direction: Direction, bytes: u64) -> u64 {
        self.dma_cycles[usize::from(direction == Direction::ToMram)] + bytes / 2
    }
}

/// Direction of a DMA transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// MRAM to WRAM.
    ToWram,
    /// WRAM to MRAM.
    ToMram,
}

/// An illegal action of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Trap {
    /// An access past the end of WRAM.
    #[error("WRAM ends at {limit:#x}")]
    Wram {
        /// Size of the memory in bytes.
        limit: u32,
    },
    /// An access past the end of MRAM.
    #[error("MRAM ends at {limit:#x}")]
    Mram {
        /// Size of the memory in bytes.
        limit: u32,
    },
    /// A jump past the program, or a program larger than the instruction memory.
    #[error("the program, or the instruction memory, ends at {limit:#x}")]
    Instructions {
        /// Number of instructions available.
        limit: u32,
    },
    /// A misaligned address.
    #[error("wanted a multiple of {wanted}")]
    Unaligned {
        /// Required alignment in bytes.
        wanted: u32,
    },
    /// A DMA transfer that is too long.
    #[error("a DMA transfer has at most {} bytes, got {bytes}", DMA_BYTES.1)]
    Oversized {
        /// Bytes requested.
        bytes: u32,
    },
    /// No tasklets, or too many.
    #[error("wanted 1 to {limit} tasklets")]
    Tasklets {
        /// Largest number of tasklets.
        limit: u32,
    },
    /// The limit on instructions was reached: the program does not end.
    #[error("no end after {slots} instructions")]
    Endless {
        /// Limit on instructions.
        slots: u64,
    },
}

/// A trap with its location.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("DPU {dpu}, tasklet {tasklet}, instruction {instruction}, address {address:#x}: {trap}")]
pub struct DpuFault {
    /// Number of the DPU.
    pub dpu: usize,
    /// Number of the tasklet; 0 before any runs.
    pub tasklet: usize,
    /// Index of the instruction in the program.
    pub instruction: u32,
    /// Address used, or number requested.
    pub address: u32,
    /// The trap.
    pub trap: Trap,
}

/// Counts of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Cycles until the last instruction and the last transfer end.
    pub cycles: u64,
    /// Instructions issued.
    pub slots: u64,
    /// Cycles of the pipeline lost to registers of one bank.
    pub hazards: u64,
    /// DMA transfers: reads, writes of MRAM.
    pub transfers: [u64; 2],
    /// Bytes of these transfers: reads, writes of MRAM.
    pub bytes: [u64; 2],
}

impl Counts {
    /// Counts of two runs in sequence.
    pub fn add(&mut self, other: &Self) {
        self.cycles += other.cycles;
        self.slots += other.slots;
        self.hazards += other.hazards;
        for i in 0..2 {
            self.transfers[i] += other.transfers[i];
            self.bytes[i] += other.bytes[i];
        }
    }
}

/// The issue of one instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Issue {
    /// Cycle of the issue.
    pub cycle: u64,
    /// Number of the tasklet.
    pub tasklet: usize,
    /// Index of the instruction in the program.
    pub instruction: usize,
}

/// A DPU with its memories.
#[derive(Clone, Debug)]
pub struct Dpu {
    preset: Preset,
    number: usize,
    machine: Machine,
    /// Limit on instructions of a run.
    pub patience: u64,
}

impl Dpu {
    /// A DPU with empty memories; faults name it by `number`.
    #[must_use]
    pub fn new(preset: Preset, number: usize) -> Self {
        let machine = Machine::new(preset.wram_bytes, preset.mram_bytes);
        Self { preset, number, machine, patience: u64::MAX }
    }

    /// Number in faults.
    #[must_use]
    pub fn number(&self) -> usize {
        self.number
    }

    /// Parameters of the DPU.
    #[must_use]
    pub fn preset(&self) -> &Preset {
        &self.preset
    }

    /// Writes words to MRAM, as the host does between launches.
    ///
    /// # Errors
    /// [`DpuFault`] past the end of MRAM or at an address that is no multiple of 4.
    pub fn write_mram(&mut self, address: u32, words: &[u32]) -> Result<(), DpuFault> {
        let place = self.machine.mram(address, words.len()).map_err(|trap| self.fault(0, 0, address, trap))?;
        self.machine.mram[place].copy_from_slice(words);
        Ok(())
    }

    /// Reads words of MRAM.
    ///
    /// # Errors
    /// As [`Self::write_mram`].
    pub fn read_mram(&mut self, address: u32, words: &mut [u32]) -> Result<(), DpuFault> {
        let place = self.machine.mram(address, words.len()).map_err(|trap| self.fault(0, 0, address, trap))?;
        words.copy_from_slice(&self.machine.mram[place]);
        Ok(())
    }

    /// Zeroes ranges of MRAM, given by addresses.
    pub(crate) fn clear_mram(&mut self, parts: impl Iterator<Item = Range<u32>>) {
        let used = self.machine.mram.len();
        for part in parts {
            let [from, to] = [part.start, part.end].map(|at| (at as usize / 4).min(used));
            self.machine.mram[from..to].fill(0);
        }
    }

    /// Contents of WRAM.
    pub fn wram(&mut self) -> &mut [u32] {
        &mut self.machine.wram
    }

    fn fault(&self, tasklet: usize, instruction: u32, address: u32, trap: Trap) -> DpuFault {
        DpuFault { dpu: self.number, tasklet, instruction, address, trap }
    }

    /// Runs a program from its start until all tasklets have stopped. WRAM keeps the contents of the last run.
    ///
    /// Instructions that touch only a tasklet's own registers run ahead in one go, and the clock follows, which no other
    /// tasklet can observe. All others run when they issue, as in [`Self::run_with_observer`].
    ///
    /// # Errors
    /// [`DpuFault`] for an illegal action of the program.
    pub fn run(&mut self, program: &Program, tasklets: usize) -> Result<Counts, DpuFault> {
        self.check(program, tasklets)?;
        let preset = self.preset.clone();
        let mut clock = Clock::new(&preset, tasklets);
        let mut states: Vec<Tasklet> = (0..).take(tasklets).map(Tasklet::new).collect();
        let mut ahead: Vec<u64> = states.iter_mut().map(|t| run_ahead(t, &program.instructions)).collect();
        self.machine.start();
        let mut round = tasklets;
        while let Some(turn) = clock.turn() {
            if ahead[turn] > 0 {
                ahead[turn] -= 1;
                clock.issue(0);
            } else {
                self.step(&mut clock, program, turn, &mut states[turn], |_| {})?;
                ahead[turn] = run_ahead(&mut states[turn], &program.instructions);
            }
            round -= 1;
            if round == 0 {
                clock.skip_rounds(&mut ahead);
                round = tasklets;
            }
        }
        Ok(clock.counts)
    }

    /// As [`Self::run`], instruction by instruction; `observe` receives each as it issues.
    ///
    /// # Errors
    /// [`DpuFault`].
    pub fn run_with_observer(
        &mut self,
        program: &Program,
        tasklets: usize,
        mut observe: impl FnMut(Issue),
    ) -> Result<Counts, DpuFault> {
        self.check(program, tasklets)?;
        let preset = self.preset.clone();
        let mut clock = Clock::new(&preset, tasklets);
        let mut states: Vec<Tasklet> = (0..).take(tasklets).map(Tasklet::new).collect();
        self.machine.start();
        while let Some(turn) = clock.turn() {
            self.step(&mut clock, program, turn, &mut states[turn], &mut observe)?;
        }
        Ok(clock.counts)
    }

    /// Runs one instruction of the current tasklet.
    #[inline(always)]
    fn step(
        &mut self,
        clock: &mut Clock<'_>,
        program: &Program,
        turn: usize,
        tasklet: &mut Tasklet,
        mut observe: impl FnMut(Issue),
    ) -> Result<(), DpuFault> {
        let (at, now) = (tasklet.pc, clock.now);
        let Some(&instruction) = program.instructions.get(at as usize) else {
            let limit = u32::try_from(program.instructions.len()).unwrap_or(u32::MAX);
            return Err(self.fault(turn, at, at, Trap::Instructions { limit }));
        };
        observe(Issue { cycle: now, tasklet: turn, instruction: at as usize });
        clock.issue(u64::from(instruction.hazard));
        let next = self.machine.step(tasklet, instruction);
        clock.apply(turn, now, &next);
        if let Next::Trap(address, trap) = next {
            return Err(self.fault(turn, at, address, trap));
        }
        if clock.counts.slots >= self.patience {
            return Err(self.fault(turn, at, at, Trap::Endless { slots: self.patience }));
        }
        Ok(())
    }

    fn check(&self, program: &Program, tasklets: usize) -> Result<(), DpuFault> {
        let number = |x: usize| u32::try_from(x).unwrap_or(u32::MAX);
        if program.instructions.len() > self.preset.instructions {
            let (last, limit) = (number(program.instructions.len() - 1), number(self.preset.instructions));
            return Err(self.fault(0, last, last, Trap::Instructions { limit }));
        }
        if !(1..=self.preset.tasklets).contains(&tasklets) {
            let limit = number(self.preset.tasklets);
            return Err(self.fault(0, 0, number(tasklets), Trap::Tasklets { limit }));
        }
        Ok(())
    }
}
