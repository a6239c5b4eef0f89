//! How a CPU device is opened, and why it may not open.

use crate::{
    device::Cpu,
    kernels::{Isa, IsaError},
};

/// Reasons why a CPU device cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The CPU lacks the instruction set.
    #[error(transparent)]
    Isa(#[from] IsaError),
    /// The operating system refused to start the threads.
    #[error("cannot start {threads} threads ({reason}): choose fewer")]
    Threads {
        /// Number of threads requested.
        threads: usize,
        /// Message of the system.
        reason: String,
    },
}

/// Options for opening a [`Cpu`]; see [`Cpu::builder`].
#[derive(Clone, Debug, Default)]
pub struct CpuBuilder {
    isa: Option<String>,
    threads: Option<usize>,
}

impl CpuBuilder {
    /// Selects an instruction set by name. The default is `LIMBWISE_ISA`; without it, the best available.
    #[must_use]
    pub fn isa(mut self, name: &str) -> Self {
        self.isa = Some(name.into());
        self
    }

    /// Sets the number of threads, at least 1. The default is the number that the system offers.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Opens the device.
    ///
    /// # Errors
    /// [`OpenError`] for an instruction set this CPU lacks, or threads the system refuses.
    pub fn open(self) -> Result<Cpu, OpenError> {
        let name = self.isa.or_else(|| std::env::var("LIMBWISE_ISA").ok()).filter(|name| !name.is_empty());
        let isa = name.map_or_else(|| Ok(Isa::best()), |name| Isa::from_name(&name))?;
        let offered = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Cpu::new(isa, self.threads.unwrap_or_else(offered))
    }
}
