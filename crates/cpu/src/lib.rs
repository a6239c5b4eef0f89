//! The CPU device: scalar, AVX2, AVX-512 and AVX-512 IFMA kernels with the same results, chosen once when it is opened.
//!
//! Enters: kernels on limbs, the layout of a limb, the buffer pool, the thread pool, kernel benchmarks.
//! Stays out: scheme words; what an operation means (`device` says that) and what it computes (`math` says that).
//!
//! Read in this order: `open`, [`device`], `host`, `footprint`, `lwe`, [`layout`], [`kernels`].

pub mod bench;
pub mod device;
mod footprint;
mod fused;
mod host;
pub mod kernels;
pub mod layout;
mod lwe;
mod open;
mod pool;
mod regions;
mod ring;
mod slab;
mod team;
mod threads;
#[cfg(test)]
mod traffic;

pub use device::{Cpu, CpuPoly};
pub use footprint::{footprint, footprint_on};
pub use kernels::{Isa, IsaError};
pub use lwe::CpuLwe;
pub use open::{CpuBuilder, OpenError};
pub use pool::PoolCounters;
pub use regions::RegionTimes;
