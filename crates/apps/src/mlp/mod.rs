//! Handwritten digits, an image a slot and a pixel a ciphertext: two clear matrices around one square, no rotation.
//!
//! Enters: the network with its clear twin and its shipped weights, its encrypted form, the client's side. Stays out:
//! training (`scripts/train_mlp.py`), file formats.
//!
//! Read in this order: [`network`], [`encrypted`], [`client`].

pub mod client;
pub mod encrypted;
pub mod network;
pub mod options;
#[cfg(test)]
mod tests;
