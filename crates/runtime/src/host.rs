//! The host: opening its devices by name, and how much memory this process has taken.

use crate::error::{Error, Result};
use limbwise_cpu::Cpu;

/// Most threads that make sense to ask for.
const MOST_THREADS: usize = 1024;

/// Which device, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// Instruction set by name; the best there is if absent (or what `LIMBWISE_ISA` says).
    pub isa: Option<String>,
    /// Threads; as many as the system offers if absent.
    pub threads: Option<usize>,
}

/// Opens a device by name.
///
/// # Errors
/// [`Error::UnknownDevice`], [`Error::Threads`], or an instruction set that is not there.
pub fn open(name: &str, host: &Host) -> Result<Cpu> {
    if name != "cpu" {
        return Err(Error::UnknownDevice(name.into()));
    }
    let mut builder = Cpu::builder();
    if let Some(isa) = &host.isa {
        builder = builder.isa(isa);
    }
    if let Some(threads) = host.threads {
        if !(1..=MOST_THREADS).contains(&threads) {
            return Err(Error::Threads { got: threads, most: MOST_THREADS });
        }
        builder = builder.threads(threads);
    }
    Ok(builder.open()?)
}

/// Most memory this process has held so far (VmHWM), in bytes; `None` where the system does not tell.
#[must_use]
pub fn peak_memory_bytes() -> Option<u64> {
    status("VmHWM:")
}

/// Memory this process holds now (VmRSS), in bytes.
#[must_use]
pub fn resident_memory_bytes() -> Option<u64> {
    status("VmRSS:")
}

fn status(field: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(field))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}
