//! UPMEM: processing in memory, run without the hardware. DPU programs are assembled from text and interpreted
//! instruction by instruction, with their cycles; a device runs them for ring operations.
//!
//! Enters: the instruction set, the assembler, the interpreter with its clock, kernels as assembly, counts of their issue
//! slots, the host link, the device.
//! Stays out: scheme words; machine models of whole programs (`machines` reads the slot table this crate writes).
//!
//! Read in this order: [`isa`], [`assembler`], [`dpu`], [`kernels`], [`exact`], [`slots`],
//! [`options`], [`device`], [`link`].

pub mod assembler;
mod clock;
mod closed;
pub mod device;
pub mod dpu;
pub mod exact;
mod execute;
mod footprint;
pub mod isa;
pub mod kernels;
mod launch;
pub mod link;
mod memory;
pub mod options;
pub mod slots;

pub use assembler::{AssemblyError, Program, assemble};
pub use device::{Upmem, UpmemPoly};
pub use dpu::{Counts, Direction, Dpu, DpuFault, Issue, Preset, Trap};
pub use footprint::footprint;
pub use kernels::{Form, Multiplications, Reduction};
pub use link::{Counters, Link};
pub use memory::Memory;
pub use options::{Mode, ModuliOrder, OpenError, Options, Sharing};
