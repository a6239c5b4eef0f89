//! `resnet20`: a trained convolutional network on encrypted images \[LLL22\].
//!
//! Enters: loaders of weights and images, the clear network and its twin with polynomial activations, its maps on
//! slots, the levels of its layers, the encrypted program.
//! Stays out: rotation and bootstrapping of ciphertexts (`limbwise`), the choice of a configuration (`runtime`).
//!
//! Read in this order: [`network`], [`relu`], [`client`] (the twins), `packing`, [`levels`], [`encrypted`]; [`weights`]
//! and [`images`] are the loaders. `README.md` beside this file has the numbers.

pub mod client;
pub mod encrypted;
pub mod images;
pub mod levels;
pub mod network;
pub mod options;
mod packing;
pub mod relu;
pub mod weights;

pub use client::ResnetClient;
pub use encrypted::{Inference, Resnet};
pub use network::{Architecture, Network};

/// Why an inference cannot be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResnetError {
    #[error(
        "an activation of {depth} levels and a convolution need {needed} levels, the parameters have {levels}: choose a preset with more levels (limbwise params show) or --relu of lower degrees"
    )]
    Levels {
        depth: usize,
        needed: usize,
        /// That there are between two bootstrappings, or in all.
        levels: usize,
    },
    #[error("an image takes {needed} slots, a ciphertext has {slots}: choose a larger ring (limbwise params show)")]
    Slots { needed: usize, slots: usize },
    #[error("{what}: got {got}, wanted {wanted}")]
    Shape { what: &'static str, got: String, wanted: &'static str },
    #[error(transparent)]
    Scheme(#[from] limbwise::Error),
}
