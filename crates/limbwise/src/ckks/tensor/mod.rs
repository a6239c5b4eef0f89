//! Packed tensors: products with matrices and convolutions as linear maps on slots, so that every
//! [`Strategy`](super::Strategy) applies to them.
//!
//! Enters: layouts of vectors, matrices and images in slots, the diagonals of their maps, clear references of every
//! operation.
//! Stays out: which strategy is best, activations, files.
//!
//! Read in this order: [`matrix`] and [`image`] (clear values and layouts), [`spread`] (repetition in slots, which
//! determines the number of diagonals), [`packed_map`], [`product`] (clear × encrypted), [`square_product`] and
//! [`row_product`] (encrypted × encrypted), [`convolution`]; [`entries`] and [`window`] for maps that a network gives entry by entry.

pub mod convolution;
pub mod entries;
pub mod error;
pub mod image;
pub mod matrix;
pub mod packed_map;
pub mod product;
pub mod row_product;
pub mod spread;
pub mod square_product;
pub mod window;

pub use convolution::{Convolution, Filters, Padding};
pub use entries::{FilterEntries, Frame, FrameChoice, MapEntries, Places};
pub use error::TensorError;
pub use image::{Image, ImageLayout};
pub use matrix::{Matrix, MatrixLayout};
pub use packed_map::{Fold, PackedMap};
pub use product::MatrixProduct;
pub use spread::Spread;
pub use square_product::SquareProduct;
pub use window::{Tell, Window};
