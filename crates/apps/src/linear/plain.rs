//! The clear task and its twin: the expected result of the encrypted layer.

use super::layer::Layer;
use limbwise::{
    Result,
    ckks::tensor::{Filters, Image, Matrix},
};

#[derive(Clone, Debug, PartialEq)]
pub enum Task {
    /// `A·X + b`: A and b clear, X encrypted; b is empty or has a value a row.
    Product {
        matrix: Matrix,
        bias: Vec<f64>,
        /// X; one column is a vector.
        x: Matrix,
    },
    /// `Aᵢ·Bᵢ` for square matrices, both encrypted.
    Square {
        left: Vec<Matrix>,
        /// The Bᵢ, as many.
        right: Vec<Matrix>,
    },
    /// A convolution with clear filters of an encrypted image.
    Convolution {
        /// The filters with bias, stride and padding.
        filters: Filters,
        image: Image,
    },
}

impl Task {
    /// The results, one after another: rows of `A·X + b`, of each `Aᵢ·Bᵢ`, or of each channel.
    pub fn clear(&self) -> Result<Vec<f64>> {
        match self {
            Self::Product { matrix, bias, x } => {
                let product = matrix.product(x)?;
                let added = |(at, y): (usize, &f64)| y + bias.get(at / x.columns()).copied().unwrap_or(0.0);
                Ok(product.values().iter().enumerate().map(added).collect())
            }
            Self::Square { left, right } => {
                let products = left.iter().zip(right).map(|(a, b)| Ok(a.product(b)?.values().to_vec()));
                Ok(products.collect::<Result<Vec<_>>>()?.concat())
            }
            Self::Convolution { filters, image } => Ok(filters.apply(image)?.values().to_vec()),
        }
    }

    /// The layer without what is encrypted.
    pub fn layer(&self) -> Layer {
        match self {
            Self::Product { matrix, bias, x } => {
                Layer::Product { matrix: matrix.clone(), bias: bias.clone(), vectors: x.columns() }
            }
            Self::Square { left, .. } => {
                Layer::Square { side: left.first().map_or(0, Matrix::rows), pairs: left.len() }
            }
            Self::Convolution { filters, image } => {
                Layer::Convolution { filters: filters.clone(), image: image.shape() }
            }
        }
    }

    /// A layer with the numbers that are encrypted: X, both lists of matrices, or the image, one after another.
    ///
    /// # Errors
    /// Too many numbers or too few, or some that are not finite.
    pub fn new(layer: Layer, values: &[f64]) -> Result<Self> {
        match layer {
            Layer::Product { matrix, bias, vectors } => {
                let x = Matrix::new(matrix.columns(), vectors, values.to_vec())?;
                Ok(Self::Product { matrix, bias, x })
            }
            Layer::Square { side, pairs } => {
                // All numbers at once, so that a wrong count is one mistake and not one a matrix.
                let all = Matrix::new(2 * pairs * side, side, values.to_vec())?;
                let matrices = all.values().chunks_exact((side * side).max(1));
                let mut left = matrices.map(|m| Matrix::new(side, side, m.to_vec())).collect::<Result<Vec<_>>>()?;
                let right = left.split_off(pairs);
                Ok(Self::Square { left, right })
            }
            Layer::Convolution { filters, image } => {
                Ok(Self::Convolution { filters, image: Image::new(image, values.to_vec())? })
            }
        }
    }
}
