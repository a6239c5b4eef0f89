//! `nn20`, `nn50`, `nn100`: deep networks on handwritten digits, discretised so that a programmable bootstrapping is a
//! neuron.
//!
//! Enters: the network as a file and in the clear, its evaluation on TFHE, images as bits.
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
