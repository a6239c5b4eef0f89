//! The clear network: a matrix, squares, a matrix. It is its own twin: weights are multiples of 1/256, and squares are
//! squares.

use crate::data::npy;
use limbwise_device::{IntegerMatrix, MatrixError};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Why a network or its program cannot be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MlpError {
    #[error(
        "a network of {0:?}: wanted sides from 1 to 256 with pixels inside the margin, 1 to 4096 hidden, 1 to 256 classes"
    )]
    Shape(Shape),
    #[error("{got} weights; wanted {wanted}: both matrices row by row (scripts/train_mlp.py writes such a file)")]
    Weights { got: usize, wanted: usize },
    #[error("weight {at} is {weight}: wanted a number up to 2^15 in magnitude")]
    Weight {
        /// Which, from 1.
        at: usize,
        weight: f64,
    },
    #[error("image {at} has {got} pixels; wanted {side}×{side} (MNIST's own files have them)")]
    Image {
        /// Which, from 1.
        at: usize,
        got: usize,
        side: usize,
    },
    #[error("pixel {pixel} of image {at} is {value}: wanted a number from 0 to 1, as images are before normalization")]
    Pixel {
        /// Which image, from 1.
        at: usize,
        /// Which pixel, from 1.
        pixel: usize,
        value: f64,
    },
    #[error("{0} images: choose 1 to {MOST_IMAGES}")]
    Images(usize),
    #[error(
        "the network takes {needed} levels, the parameters have {levels}: choose a preset with more (limbwise params show)"
    )]
    Levels { needed: usize, levels: usize },
    #[error(transparent)]
    Matrix(#[from] MatrixError),
}

/// Largest number of images in one pass.
pub const MOST_IMAGES: usize = 1 << 17;

/// Weights are multiples of one part in so many.
pub const UNIT: f64 = 256.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// Rows and columns of an image.
    pub side: usize,
    /// Pixels at each edge that are not looked at.
    pub margin: usize,
    /// Sums that are squared.
    pub hidden: usize,
    pub classes: usize,
}

impl Shape {
    /// MNIST without its empty margin: 22 × 22 pixels.
    pub const MNIST: Self = Self { side: 28, margin: 3, hidden: 128, classes: 10 };

    /// Inputs of the first matrix: the pixels that are looked at, and a constant 1.
    pub fn features(self) -> usize {
        let seen = self.side - 2 * self.margin;
        seen * seen + 1
    }

    fn check(self) -> Result<(), MlpError> {
        let Self { side, margin, hidden, classes } = self;
        let possible = (1..=256).contains(&side) && margin <= 128 && 2 * margin < side;
        let possible = possible && (1..=4096).contains(&hidden) && (1..=256).contains(&classes);
        if possible { Ok(()) } else { Err(MlpError::Shape(self)) }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    pub shape: Shape,
    /// A row for each hidden sum, a column for each feature; in parts of [`UNIT`].
    pub first: IntegerMatrix,
    /// A row for each class, a column for each square.
    pub second: IntegerMatrix,
}

impl Network {
    /// A network from both matrices, row by row; weights are rounded to multiples of 1/[`UNIT`].
    pub fn new(shape: Shape, weights: &[f64]) -> Result<Self, MlpError> {
        shape.check()?;
        let (features, Shape { hidden, classes, .. }) = (shape.features(), shape);
        let wanted = hidden * features + classes * hidden;
        if weights.len() != wanted {
            return Err(MlpError::Weights { got: weights.len(), wanted });
        }
        let part = |(at, &weight): (usize, &f64)| {
            let fits = weight.abs() <= 32768.0;
            #[expect(clippy::cast_possible_truncation, reason = "at most 2^23 in magnitude")]
            let rounded = (weight * UNIT).round() as i32;
            if fits { Ok(rounded) } else { Err(MlpError::Weight { at: at + 1, weight }) }
        };
        let mut first = weights.iter().enumerate().map(part).collect::<Result<Vec<i32>, _>>()?;
        let second = first.split_off(hidden * features);
        Ok(Self {
            shape,
            first: IntegerMatrix::new(hidden, features, first)?,
            second: IntegerMatrix::new(classes, hidden, second)?,
        })
    }

    /// The shipped network, trained on MNIST (`crates/apps/data/README.md`).
    ///
    /// # Panics
    /// Never for a built crate: the embedded file is read by a unit test.
    #[must_use]
    pub fn shipped() -> Self {
        let bytes = include_bytes!("../../data/mlp_mnist.npy");
        let file = npy::parse(&bytes[..], bytes.len() as u64, Path::new("mlp_mnist.npy"));
        let weights: Vec<f64> = file.expect("the embedded file is an array").values.iter().map(|z| z.re).collect();
        Self::new(Shape::MNIST, &weights).expect("the embedded weights are those of the network")
    }

    /// Feature `i` of an image: a pixel inside the margin, or the constant behind the last one.
    pub fn feature(&self, pixels: &[f64], i: usize) -> f64 {
        let Shape { side, margin, .. } = self.shape;
        let seen = side - 2 * margin;
        if i == seen * seen { 1.0 } else { pixels[(margin + i / seen) * side + margin + i % seen] }
    }

    /// The scores of an image.
    pub fn scores(&self, pixels: &[f64]) -> Vec<f64> {
        let [_, _, scores] = self.steps(pixels);
        scores
    }

    /// The sums of an image, their squares, and the scores.
    pub fn steps(&self, pixels: &[f64]) -> [Vec<f64>; 3] {
        let features: Vec<f64> = (0..self.shape.features()).map(|i| self.feature(pixels, i)).collect();
        let hidden = sums(&self.first, &features);
        let squares: Vec<f64> = hidden.iter().map(|x| x * x).collect();
        let scores = sums(&self.second, &squares);
        [hidden, squares, scores]
    }
}

fn sums(matrix: &IntegerMatrix, x: &[f64]) -> Vec<f64> {
    let sum = |j| matrix.row(j).iter().zip(x).map(|(&w, x)| f64::from(w) * x).sum::<f64>() / UNIT;
    (0..matrix.rows()).map(sum).collect()
}

/// The class of the largest score.
pub fn label(scores: &[f64]) -> usize {
    (0..scores.len()).max_by(|&a, &b| scores[a].total_cmp(&scores[b])).unwrap_or(0)
}
