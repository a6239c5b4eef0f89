//! Options of the device that computes.

use limbwise_cpu::Cpu;
use limbwise_runtime::{Host, open};

/// How to compute here.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct HostArgs {
    /// Threads to compute with [default: as many as the system offers]
    #[arg(long, value_name = "COUNT", global = true, help_heading = "Device")]
    threads: Option<usize>,

    /// Instruction set: "limbwise list" names those of this CPU [default: LIMBWISE_ISA, or else the fastest]
    #[arg(long, value_name = "NAME", global = true, help_heading = "Device")]
    isa: Option<String>,
}

impl HostArgs {
    /// Opens the CPU.
    ///
    /// # Errors
    /// An instruction set that this CPU lacks, or a number of threads that makes no sense.
    pub(crate) fn open(&self) -> limbwise_runtime::Result<Cpu> {
        open("cpu", &Host { isa: self.isa.clone(), threads: self.threads })
    }

    /// The same with a number of threads of one's own choice.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub(crate) fn open_with(&self, threads: usize) -> limbwise_runtime::Result<Cpu> {
        open("cpu", &Host { isa: self.isa.clone(), threads: Some(threads) })
    }
}
