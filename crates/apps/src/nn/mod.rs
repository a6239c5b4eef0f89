//! `nn20`, `nn50`, `nn100`: deep networks on handwritten digits, discretized so that each neuron is one programmable
//! bootstrapping.
//!
//! Enters: the network file, the clear network, its evaluation in TFHE, images as bits.
//! Stays out: training (`scripts/train_nn.py`), reading files.
//!
//! Read in this order: [`network`], [`digits`], [`encrypted`], [`client`], [`options`].

pub mod client;
pub mod digits;
pub mod encrypted;
pub mod network;
pub mod options;

pub use client::NnClient;
pub use digits::Digits;
pub use encrypted::Nn;
pub use network::{Network, NnError};

#[cfg(test)]
mod tests;
