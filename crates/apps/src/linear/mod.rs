//! One linear layer on encrypted data: matrix × vector, matrix × matrix (clear or encrypted), convolution.
//!
//! Enters: the task in the clear with its twin, numbers from a seed, the encrypted program. Stays out: how tensors
//! lie in slots (it is `ckks::tensor`'s), which strategy is best (the runtime's).
//!
//! Read in this order: [`plain`], [`data`], [`encrypted`].

pub mod data;
pub mod encrypted;
pub mod plain;

pub use encrypted::{Linear, LinearError, levels_needed};
pub use plain::Task;
