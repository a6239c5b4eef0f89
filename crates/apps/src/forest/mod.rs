//! `forest`: a forest of decision trees on encrypted rows, exact, by tables of TFHE.
//!
//! A feature is compared with the forest's own cuts, so the client encrypts one bit a cut: on which side its value lies. A
//! sum of such bits is at least 0 where a row reaches a part of a tree, and says which of its leaves; one bootstrapping
//! turns it into the leaf's value, or into 0. The sums of all trees are the results.
//!
//! Enters: ensembles of ONNX-ML, their quantization, the cut of trees into tables, both sides.
//! Stays out: training, reading tables of data.
//!
//! Read in this order: [`ensemble`] (what a file says), [`skeleton`] (what both sides know), [`quantize`], [`circuit`]
//! (which sums and tables), [`encrypted`], [`client`], [`options`].

pub mod circuit;
pub mod client;
pub mod encrypted;
pub mod ensemble;
pub mod error;
pub mod options;
pub mod quantize;
pub mod skeleton;

pub use circuit::Circuit;
pub use client::ForestClient;
pub use encrypted::Inference;
pub use ensemble::Ensemble;
pub use error::ForestError;
pub use quantize::{Forest, Grid};
pub use skeleton::{Cut, Skeleton, Task};

#[cfg(test)]
mod tests;
