//! Arithmetic on one limb: one implementation per instruction set, with bit-identical results.
//!
//! Enters: slices of [`Line`](crate::layout::Line) in the order of [`layout`](crate::layout).
//! Stays out: polynomials, threads, memory management.
//!
//! Read in this order: [`limb`] (the table of kernels), [`sums`], [`matrix`], [`scalar`], `passes`, `factors`, `floats`,
//! `vector_limb`, [`avx2`], [`avx512`], [`ifma`], [`convert`], `words`, [`galois`], [`gadget`], [`blind`], [`isa`].

#[cfg_attr(not(target_arch = "x86_64"), path = "absent_vector.rs")]
pub mod avx2;
#[cfg_attr(not(target_arch = "x86_64"), path = "absent_vector.rs")]
pub mod avx512;
pub mod blind;
pub mod convert;
#[cfg(target_arch = "x86_64")]
mod factors;
#[cfg(target_arch = "x86_64")]
mod floats;
pub mod gadget;
pub mod galois;
#[cfg_attr(not(target_arch = "x86_64"), path = "absent.rs")]
pub mod ifma;
pub mod isa;
pub mod limb;
pub mod matrix;
#[cfg(target_arch = "x86_64")]
mod passes;
mod rows;
pub mod scalar;
pub mod sums;
#[cfg(target_arch = "x86_64")]
mod unroll;
#[cfg(target_arch = "x86_64")]
mod vector_limb;
mod words;

pub use convert::Converter;
pub use isa::{Isa, IsaError};
pub use limb::{LimbKernels, kernels};
