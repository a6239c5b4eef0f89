//! One handwritten digit through a small network with square activations and without bootstrapping: the low-latency
//! case of \[LOLA\].
//!
//! Enters: the network with its clear twin and its shipped weights, its maps on slots, the client's side. Stays out:
//! training (`scripts/train_lola.py`), file formats.
//!
//! Read in this order: [`network`], [`encrypted`], [`client`].

pub mod client;
pub mod encrypted;
pub mod network;
pub mod options;
