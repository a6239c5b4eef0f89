//! What a client and a server may be given: anything. Hostile files with right checksums through both sides, and through
//! every reader alone.

use peak_alloc::PeakAlloc;

/// Counts what readers take.
#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

#[cfg(test)]
mod campaign;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod memory;
#[cfg(test)]
mod readers;
#[cfg(test)]
mod sides;
#[cfg(test)]
mod states;
