//! `network`: a network from an ONNX file on encrypted data.
//!
//! Enters: the graph of a file as values that are sums of linear maps, functions and products; their ranges by
//! calibration; the polynomials, layouts, maps and levels; the encrypted program.
//! Stays out: rotation and bootstrapping of ciphertexts (`limbwise`), the choice of a configuration (`runtime`).
//!
//! Read in this order: [`linear`], [`function`], [`skeleton`] (a network), [`import`] (from a file), [`calibration`], [`steep`],
//! [`activation`] (polynomials, with `kinks` and `minimax`), [`layout`], [`map`](mod@map), [`levels`], [`inference`],
//! [`encrypted`] (with `affine`), `course`, [`twin`], [`client`].
//! `README.md` beside this file has the choices.

pub mod activation;
mod affine;
pub mod calibration;
pub mod client;
mod course;
pub mod encrypted;
pub mod function;
pub mod import;
pub mod inference;
mod kinks;
pub mod layout;
pub mod levels;
pub mod linear;
pub mod map;
mod matrices;
mod minimax;
pub mod options;
pub mod skeleton;
pub mod steep;
pub mod twin;

pub use encrypted::Planned;
pub use inference::Inference;
pub use skeleton::{Network, Skeleton};

/// Why a network cannot be planned.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkError {
    #[error("the network: got {0}, wanted one that was made from an ONNX file (limbwise keygen network)")]
    Skeleton(String),
    #[error(
        "layer {layer}: {needed} levels up to its result, the parameters have {levels}: choose a preset with more levels or with bootstrapping (limbwise params show), or polynomials of lower degrees (--error, --relu)"
    )]
    Levels { layer: String, needed: usize, levels: usize },
    #[error(
        "layer {layer}: no polynomial of degree {degree} or less comes within {wanted:.2e} of {function} on [{from:.4}, {to:.4}], the nearest within {reached:.2e}: allow a larger --error, or train with a smoother activation"
    )]
    Polynomial { layer: String, function: String, from: f64, to: f64, degree: usize, reached: f64, wanted: f64 },
    #[error(
        "layer {layer}: {function} has no finite value somewhere on [{from:.4}, {to:.4}], the calibrated range with its margin: calibrate on data that stay away from there, or choose a smaller --margin"
    )]
    Domain { layer: String, function: String, from: f64, to: f64 },
    #[error(
        "layer {layer}: a product of two encrypted matrices takes {needed} slots, a ciphertext has {slots} for it: choose a preset with a larger ring (limbwise params show), fewer samples together (--packing apart), or shorter sequences"
    )]
    Slots { layer: String, needed: usize, slots: usize },
    #[error(
        "a weight of {weight} in units of values, wanted at most {most} where each sample has a slot of its own: take another arrangement of samples (--packing turns)"
    )]
    Weight { weight: f64, most: f64 },
    #[error(
        "layer {layer}: the clear maps up to it take more than {:.1} GB, three quarters of the memory that this computer has free: choose fewer samples together (--packing apart), smaller layers, or average pools in place of max pools", *room as f64 / 1e9
    )]
    Memory { layer: String, room: u64 },
    #[error(
        "polynomials in the place of functions change outputs by up to {error:.2e}, and the largest output is {output:.3}: {advice}; --inexact takes them as they are"
    )]
    Twin { error: f64, output: f64, advice: &'static str },
    #[error(
        "{outside}: outputs change by up to {error:.2e}, the largest is {output:.3}; --inexact takes them as they are"
    )]
    Outside { error: f64, output: f64, outside: String },
    #[error("{what}: got {got}, wanted {wanted}")]
    Shape { what: &'static str, got: String, wanted: String },
    #[error(transparent)]
    Scheme(#[from] limbwise::Error),
}
