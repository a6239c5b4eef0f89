//! Logistic regression on two MNIST digits as in \[HELR\]: large mini-batches, many iterations, sparse bootstrapping of
//! the weights.
//!
//! Enters: images as rows, the packing in blocks, the encrypted training, the client's side. Stays out: code shared
//! with [`crate::logreg`] (data preparation, sigmoid, clear twins, metrics, the training loop), file formats.
//!
//! Read in this order: [`data`], [`layout`], [`encrypted`], [`client`].

pub mod client;
pub mod data;
pub mod encrypted;
pub mod layout;
pub mod options;
