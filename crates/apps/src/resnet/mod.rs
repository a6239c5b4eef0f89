//! `resnet20`: a trained residual network on encrypted images \[LLL22\], an instance of [`network`](crate::network).
//!
//! Enters: loaders of weights and images, the network as values of the compiler, the normalization of images, the names
//! of the report.
//! Stays out: layouts, levels, polynomials, the encrypted program (`network`).
//!
//! Read in this order: [`architecture`], [`weights`], [`images`], [`program`] (both sides), [`options`]. `README.md` beside
//! this file has the numbers.

pub mod architecture;
pub mod images;
pub mod options;
pub mod program;
pub mod weights;

pub use architecture::{Architecture, ResnetError};
pub use program::{Resnet, ResnetClient};
pub use weights::Trained;
