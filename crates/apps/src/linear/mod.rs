//! One linear layer on encrypted data: matrix × vector, matrix × matrix (clear or encrypted), convolution.
//!
//! Enters: the layer with its description, the clear task with its twin, numbers from a seed, the encrypted program,
//! the client's side. Stays out: the layout of tensors in slots (`ckks::tensor`), the choice of a strategy (`runtime`).
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
