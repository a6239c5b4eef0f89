//! The clear network: convolution, square, layer, square, layer. It is its own twin, because squares are polynomials.

use crate::{data::npy, linear::data::generated};
use limbwise::ckks::tensor::{Filters, Image, Matrix, Padding};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Why a network or its program cannot be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LolaError {
    #[error("a network of {0:?}: wanted sides from 1 to 4096, filters no larger than the image, at most 2^24 weights")]
    Shape(Shape),
    #[error(
        "{got} weights; wanted {wanted}: filters, their bias, the first matrix row by row, its bias, the second matrix, its bias (scripts/train_lola.py writes such a file)"
    )]
    Weights { got: usize, wanted: usize },
    #[error("image {at} has {got} pixels; wanted {side}×{side} (MNIST's own files have them)")]
    Image {
        /// Which, from 1.
        at: usize,
        got: usize,
        side: usize,
    },
    #[error("{0} images: choose 1 to 4096")]
    Images(usize),
    #[error(
        "the network takes {needed} levels, the parameters have {levels}: choose a preset with more (limbwise params show)"
    )]
    Levels { needed: usize, levels: usize },
    #[error("pixels up to {0}: wanted a positive number (was the description of the program changed?)")]
    Promise(f64),
    #[error("the description leaves the weights to the server: give them to eval (--weights FILE)")]
    NoModel,
    /// Tensors that do not fit the slots.
    #[error(transparent)]
    Scheme(#[from] limbwise::Error),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// Rows and columns of an image.
    pub side: usize,
    pub filters: usize,
    /// Rows and columns of one.
    pub kernel: usize,
    /// Stride of the filters.
    pub stride: usize,
    /// Outputs of the first layer.
    pub hidden: usize,
    pub classes: usize,
}

impl Shape {
    /// \[LOLA\]'s for MNIST: 5×5 filters at 13×13 places, 845 → 100 → 10.
    pub const MNIST: Self = Self { side: 28, filters: 5, kernel: 5, stride: 2, hidden: 100, classes: 10 };

    /// The image with one row and one column of zeros before it.
    pub fn padded(self) -> [usize; 3] {
        [1, self.side + 1, self.side + 1]
    }

    /// Filter positions per side.
    pub fn places(self) -> usize {
        (self.side + 1 - self.kernel) / self.stride + 1
    }

    /// Numbers of weights and biases per layer, in file order.
    fn sizes(self) -> [usize; 6] {
        let seen = self.filters * self.places() * self.places();
        let filters = self.filters * self.kernel * self.kernel;
        [filters, self.filters, self.hidden * seen, self.hidden, self.classes * self.hidden, self.classes]
    }

    fn check(self) -> Result<(), LolaError> {
        let Self { side, filters, kernel, stride, hidden, classes } = self;
        let sides = [side, filters, kernel, stride, hidden, classes];
        let possible = sides.iter().all(|s| (1..=4096).contains(s)) && kernel <= side + 1;
        // Sides up to 4096 cannot overflow. Filters in phases are as large as their next multiple of the stride.
        let phased = |size: usize| size.div_ceil(stride) * stride;
        let few = possible && self.sizes().iter().all(|&n| n <= 1 << 24) && filters * phased(kernel).pow(2) <= 1 << 24;
        if few { Ok(()) } else { Err(LolaError::Shape(self)) }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    pub shape: Shape,
    pub filters: Filters,
    /// The first layer: one row per output, one column per pixel of the convolution's result.
    pub first: Matrix,
    pub first_bias: Vec<f64>,
    pub second: Matrix,
    pub second_bias: Vec<f64>,
}

impl Network {
    /// A network from its weights in file order.
    ///
    /// # Errors
    /// [`LolaError::Shape`], [`LolaError::Weights`]; also for weights that are not finite.
    pub fn new(shape: Shape, weights: &[f64]) -> Result<Self, LolaError> {
        shape.check()?;
        let sizes = shape.sizes();
        let wanted = sizes.iter().sum();
        if weights.len() != wanted {
            return Err(LolaError::Weights { got: weights.len(), wanted });
        }
        let mut left = weights;
        let [filters, filter_bias, first, first_bias, second, second_bias] = sizes.map(|size| {
            let (here, rest) = left.split_at(size);
            left = rest;
            here.to_vec()
        });
        let Shape { filters: count, kernel, stride, hidden, classes, .. } = shape;
        Ok(Self {
            shape,
            filters: Filters::new([count, 1, kernel, kernel], filters, filter_bias, stride, Padding::Valid)?,
            first: Matrix::new(hidden, sizes[2] / hidden, first)?,
            first_bias,
            second: Matrix::new(classes, hidden, second)?,
            second_bias,
        })
    }

    /// The shipped network, trained on MNIST (`crates/apps/data/README.md`).
    ///
    /// # Panics
    /// Never for a built crate: the embedded file is read by a unit test.
    #[must_use]
    pub fn shipped() -> Self {
        let bytes = include_bytes!("../../data/lola_mnist.npy");
        let file = npy::parse(&bytes[..], bytes.len() as u64, Path::new("lola_mnist.npy"));
        let weights: Vec<f64> = file.expect("the embedded file is an array").values.iter().map(|z| z.re).collect();
        Self::new(Shape::MNIST, &weights).expect("the embedded weights are those of the network")
    }

    /// A network with arbitrary weights, for plans of a network whose weights are elsewhere.
    ///
    /// # Errors
    /// [`LolaError::Shape`].
    pub fn stand_in(shape: Shape) -> Result<Self, LolaError> {
        shape.check()?;
        Self::new(shape, &generated(0, 0, shape.sizes().iter().sum(), 0.1))
    }

    /// The network, if it has these sizes.
    ///
    /// # Errors
    /// [`LolaError::Shape`].
    pub fn of_shape(self, shape: Shape) -> Result<Self, LolaError> {
        if self.shape == shape { Ok(self) } else { Err(LolaError::Shape(shape)) }
    }

    /// An image with its padding of zeros.
    pub(super) fn padded(&self, pixels: &[f64]) -> limbwise::Result<Image> {
        let side = self.shape.side;
        let row = |y: usize| std::iter::once(0.0).chain(pixels[y * side..(y + 1) * side].iter().copied());
        let values = vec![0.0; side + 1].into_iter().chain((0..side).flat_map(row)).collect();
        Image::new(self.shape.padded(), values)
    }

    /// The scores of an image, one per class.
    ///
    /// # Panics
    /// If the number of pixels does not match.
    pub fn scores(&self, pixels: &[f64]) -> Result<Vec<f64>, LolaError> {
        let [.., scores] = self.steps(pixels)?;
        Ok(scores)
    }

    /// The values after each step: convolution, square, first layer, square, second layer.
    ///
    /// # Panics
    /// If the number of pixels does not match.
    pub(super) fn steps(&self, pixels: &[f64]) -> Result<[Vec<f64>; 5], LolaError> {
        assert_eq!(pixels.len(), self.shape.side * self.shape.side, "pixels");
        let squared = |values: &[f64]| values.iter().map(|x| x * x).collect::<Vec<_>>();
        let layer = |matrix: &Matrix, bias: &[f64], x: &[f64]| -> limbwise::Result<Vec<f64>> {
            let product = matrix.product(&Matrix::new(x.len(), 1, x.to_vec())?)?;
            Ok(product.values().iter().zip(bias).map(|(y, b)| y + b).collect())
        };
        let seen = self.filters.apply(&self.padded(pixels)?)?.values().to_vec();
        let seen_squared = squared(&seen);
        let hidden = layer(&self.first, &self.first_bias, &seen_squared)?;
        let hidden_squared = squared(&hidden);
        let scores = layer(&self.second, &self.second_bias, &hidden_squared)?;
        Ok([seen, seen_squared, hidden, hidden_squared, scores])
    }
}

/// The class with the largest score.
pub fn label(scores: &[f64]) -> usize {
    let largest = scores.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
    largest.map_or(0, |(class, _)| class)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_network_is_what_its_layers_say() {
        let shape = Shape { side: 2, filters: 1, kernel: 2, stride: 1, hidden: 1, classes: 2 };
        assert_eq!((shape.places(), shape.padded()), (2, [1, 3, 3]));
        // The filter takes the pixel at its lower right corner twice, and its bias is 1.
        let weights =
            [[0.0, 0.0, 0.0, 2.0].as_slice(), &[1.0], &[1.0, 0.0, 0.0, 1.0], &[-5.0], &[1.0, -1.0], &[0.0, 7.0]];
        let network = Network::new(shape, &weights.concat()).unwrap();
        // (2·1 + 1)² + (2·4 + 1)² − 5 = 85
        let scores = network.scores(&[1.0, 2.0, 3.0, 4.0]).unwrap();
        assert_eq!(scores, [7225.0, 7.0 - 7225.0]);
        assert_eq!((label(&scores), label(&[1.0, 2.0])), (0, 1));
        let said = Network::new(shape, &[0.0; 5]).unwrap_err().to_string();
        assert!(said.contains("5 weights; wanted 14"), "{said}");
        assert!(Network::new(Shape { kernel: 4, ..shape }, &[]).is_err());
        assert!(Network::new(Shape { hidden: 0, ..shape }, &[]).is_err());
        // A description's stride makes filters in phases that no memory holds.
        let wide = Shape { stride: 4096, filters: 4096, side: 4096, kernel: 1, ..shape };
        assert!(matches!(wide.check(), Err(LolaError::Shape(_))));
        assert!(Shape::MNIST.check().is_ok() && Shape { stride: 5, ..Shape::MNIST }.check().is_ok());
    }

    /// On images that were not used in training, which excludes MNIST's test images before the 8000th.
    #[test]
    fn the_shipped_network_knows_digits() {
        let network = Network::shipped();
        let Some(images) = crate::data_dir("t10k-images-idx3-ubyte.gz") else { return };
        let images = crate::data::idx::load_range(&images, None, 8000..10_000).unwrap();
        let right = images.pixels.iter().zip(&images.labels);
        let right = right.filter(|(pixels, digit)| label(&network.scores(pixels).unwrap()) == usize::from(**digit));
        assert!(right.count() >= 1970);
    }
}
