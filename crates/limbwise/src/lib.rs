//! Homomorphic encryption schemes, written once for every device.
//!
//! Enters: checked parameters, keys, ciphertexts, scheme operations, their files as bytes; all generic over
//! [`Device`](limbwise_device::Device).
//! Stays out: kernels, machine models, files of workloads, threads. Secret keys exist only under the feature `client`.
//!
//! Read in this order: [`params`], [`rlwe`], [`ckks`], [`bgv`], [`tfhe`], [`bridge`], [`wire`], [`supply`],
//! [`scheme`].

pub mod bgv;
pub mod bridge;
pub mod ckks;
pub mod error;
pub mod params;
mod preset_names;
pub mod rlwe;
pub mod scheme;
pub mod supply;
pub mod tfhe;
pub mod wire;

pub use error::{Error, Result};
pub use limbwise_math::finite;
pub use num_complex::Complex64;
