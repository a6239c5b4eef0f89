//! One linear layer on encrypted data: matrix × vector, matrix × matrix (clear or encrypted), convolution.
//!
//! Enters: the layer with its description, the task in the clear with its twin, numbers from a seed, the encrypted
//! program, the client's side. Stays out: how tensors lie in slots (it is `ckks::tensor`'s), which strategy is best (the
//! runtime's).
//!
//! Read in this order: [`layer`], [`plain`], [`data`], [`encrypted`], [`client`].

pub mod client;
pub mod data;
pub mod encrypted;
pub mod layer;
pub mod options;
pub mod plain;

pub use encrypted::{Linear, LinearError};
pub use layer::Layer;
pub use plain::Task;
