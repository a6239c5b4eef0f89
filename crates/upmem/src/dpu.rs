//! One DPU: its presets, its memories, and the clock that lets tasklets issue.
//!
//! Each cycle the pipeline takes one instruction: of the next tasklet in the round whose last one is at least
//! [`Preset::interval`] cycles old. A DMA transfer holds up its tasklet only; the engine takes one at a time, in order.
//! Memory changes at the issue of what changes it.

use crate::{
    assembler::Program,
    clock::Clock,
    execute::{Machine, Next, Tasklet, run_ahead},
    isa::DMA_BYTES,
};
use std::ops::Range;

/// The numbers of a DPU.
#[derive(Clone, Debug, PartialEq)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// Clock.
    pub mhz: u32,
    /// Most tasklets.
    pub tasklets: usize,
    /// Bytes of working memory.
    pub wram_bytes: u32,
    /// Instructions a program may have.
    pub instructions: usize,
    /// Bytes of main memory that programs may use.
    pub mram_bytes: u32,
    /// Least cycles between two instructions of a tasklet.
    pub interval: u64,
    /// Cycles of a DMA transfer beside its bytes: reading MRAM, writing it.
    pub dma_cycles: [u64; 2],
}

impl Preset {
    /// The newer chip, at its largest clock.
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

    /// By name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::v1a(), Self::v1b()].into_iter().find(|preset| preset.name.eq_ignore_ascii_case(name))
    }

    /// Cycles that the engine needs for a transfer.
    #[must_use]
    pub fn transfer_cycles(&self, direction: Direction, bytes: u64) -> u64 {
        self.dma_cycles[usize::from(direction == Direction::ToMram)] + bytes / 2
    }
}

/// Which way a DMA transfer goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// A read of MRAM.
    ToWram,
    /// A write of MRAM.
    ToMram,
}

/// What a program did that its DPU cannot do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Trap {
    /// Past the end of WRAM.
    #[error("WRAM ends at {limit:#x}")]
    Wram {
        /// Bytes there are.
        limit: u32,
    },
    /// Past the end of MRAM.
    #[error("MRAM ends at {limit:#x}")]
    Mram {
        /// Bytes there are.
        limit: u32,
    },
    /// Past the program, or a program past the instruction memory.
    #[error("the program, or the instruction memory, ends at {limit:#x}")]
    Instructions {
        /// Instructions there are.
        limit: u32,
    },
    /// An address that is not a multiple of what it must be.
    #[error("wanted a multiple of {wanted}")]
    Unaligned {
        /// Bytes.
        wanted: u32,
    },
    /// A transfer that is too long.
    #[error("a DMA transfer has at most {} bytes, got {bytes}", DMA_BYTES.1)]
    Oversized {
        /// Bytes asked for.
        bytes: u32,
    },
    /// More tasklets than there can be, or none.
    #[error("wanted 1 to {limit} tasklets")]
    Tasklets {
        /// Most there can be.
        limit: u32,
    },
    /// It does not end.
    #[error("no end after {slots} instructions")]
    Endless {
        /// Instructions run.
        slots: u64,
    },
}

/// A trap with its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("DPU {dpu}, tasklet {tasklet}, instruction {instruction}, address {address:#x}: {trap}")]
pub struct DpuFault {
    /// The DPU.
    pub dpu: usize,
    /// The tasklet, 0 where none runs yet.
    pub tasklet: usize,
    /// The instruction, counted from the start of the program.
    pub instruction: u32,
    /// The address that was used, or the number that was asked for.
    pub address: u32,
    /// What is wrong.
    pub trap: Trap,
}

/// What a run took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Cycles until the last instruction and the last transfer are done.
    pub cycles: u64,
    /// Instructions issued.
    pub slots: u64,
    /// Cycles of the pipeline lost to registers of one bank.
    pub hazards: u64,
    /// DMA transfers: reads, writes of MRAM.
    pub transfers: [u64; 2],
    /// Their bytes.
    pub bytes: [u64; 2],
}

impl Counts {
    /// Both, one after the other.
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

/// One instruction entering the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Issue {
    /// When.
    pub cycle: u64,
    /// Whose.
    pub tasklet: usize,
    /// Which, counted from the start of the program.
    pub instruction: usize,
}

/// A DPU with its memories.
#[derive(Clone, Debug)]
pub struct Dpu {
    preset: Preset,
    number: usize,
    machine: Machine,
    /// Instructions after which a run counts as endless.
    pub patience: u64,
}

impl Dpu {
    /// A DPU with empty memories; `number` is its name in faults.
    #[must_use]
    pub fn new(preset: Preset, number: usize) -> Self {
        let machine = Machine::new(preset.wram_bytes, preset.mram_bytes);
        Self { preset, number, machine, patience: u64::MAX }
    }

    /// Its name in faults.
    #[must_use]
    pub fn number(&self) -> usize {
        self.number
    }

    /// Its numbers.
    #[must_use]
    pub fn preset(&self) -> &Preset {
        &self.preset
    }

    /// Writes words to MRAM, as the host does between launches.
    ///
    /// # Errors
    /// [`DpuFault`] past its end or at an address that is no multiple of 4.
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

    /// Zeros over parts of MRAM, given by their addresses.
    pub(crate) fn clear_mram(&mut self, parts: impl Iterator<Item = Range<u32>>) {
        let used = self.machine.mram.len();
        for part in parts {
            let [from, to] = [part.start, part.end].map(|at| (at as usize / 4).min(used));
            self.machine.mram[from..to].fill(0);
        }
    }

    /// The words of WRAM.
    pub fn wram(&mut self) -> &mut [u32] {
        &mut self.machine.wram
    }

    fn fault(&self, tasklet: usize, instruction: u32, address: u32, trap: Trap) -> DpuFault {
        DpuFault { dpu: self.number, tasklet, instruction, address, trap }
    }

    /// Runs a program from its start until all tasklets have stopped. WRAM is as the last run left it.
    ///
    /// What touches only a tasklet's own registers is done ahead of its time, in one go, and the clock follows: nobody can
    /// tell. All else is done when it is issued, as [`Self::run_with_observer`] does everything.
    ///
    /// # Errors
    /// [`DpuFault`]: what the program did that cannot be done.
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

    /// The same, instruction by instruction; `observe` is told each as it enters the pipeline.
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

    /// One instruction of whose turn it is.
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
