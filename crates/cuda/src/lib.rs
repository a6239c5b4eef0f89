//! The CUDA device: the CPU's residues, computed by kernels that are compiled for the GPU when it is first opened.
//!
//! Building, testing and starting need nothing of CUDA: the driver and NVRTC are looked for when [`Cuda::open`] is
//! called. The kernels (`kernels/*.cu`) include no header; a C++ compiler turns the same text into a host library, on
//! which tests run this device without a GPU.
//!
//! Enters: kernels, row memory, the interface to the driver, fused composites.
//! Stays out: scheme words; what an operation means (`device` says that) and what it computes (`math` says that).
//!
//! Read in this order: [`device`], `builder`, `driver` (the interface to a GPU), `replay` (repeated launches), `pool`,
//! `stage`, `launch`, [`nvrtc`], `kernels/modarith.cuh`.

mod builder;
pub mod device;
mod driver;
mod elementwise;
mod footprint;
mod fused;
#[expect(unsafe_code, reason = "calls of the CUDA driver")]
mod gpu;
#[expect(unsafe_code, reason = "graphs of the CUDA driver")]
mod graph;
#[cfg(test)]
#[expect(unsafe_code, reason = "kernels called as C functions")]
mod host;
mod kept;
mod key_switch;
mod launch;
mod lwe;
mod matrix;
#[expect(unsafe_code, reason = "functions of a library that is loaded at run time")]
pub mod nvrtc;
#[expect(unsafe_code, reason = "functions exchanged with a profiler's library")]
mod nvtx;
mod pool;
mod region;
mod replay;
mod ring;
mod stage;
#[cfg(test)]
mod tests;
mod transform;
#[cfg(test)]
mod turns;

pub use builder::CudaBuilder;
pub use device::{Cuda, CudaPoly, OpenError};
pub use footprint::footprint;
pub use lwe::CudaLwe;
pub use pool::Memory;
pub use replay::{Launches, Replay};
pub use stage::KeyRoom;
