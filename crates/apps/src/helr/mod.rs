//! Logistic regression on two digits of MNIST as \[HELR\] has it: large mini-batches, many iterations, weights that are
//! bootstrapped with few slots.
//!
//! Enters: images as rows, the packing in blocks, the encrypted training, the client's side. Stays out: what it shares
//! with [`crate::logreg`] (preparation of rows, sigmoid, clear twins, metrics, the course of a run), file formats.
//!
//! Read in this order: [`data`], [`layout`], [`encrypted`], [`client`].

pub mod client;
pub mod data;
pub mod encrypted;
pub mod layout;
pub mod options;
mod walk;
