//! The task in the clear and its twin: what the encrypted layer should give.

use limbwise::{
    Result,
    ckks::tensor::{Filters, Image, Matrix},
};

/// What is computed.
#[derive(Clone, Debug, PartialEq)]
pub enum Task {
    /// `A·X + b`: A and b clear, X encrypted; b is empty or has a value a row.
    Product {
        /// A.
        matrix: Matrix,
        /// b.
        bias: Vec<f64>,
        /// X; one column is a vector.
        x: Matrix,
    },
    /// `Aᵢ·Bᵢ` for square matrices, both encrypted.
    Square {
        /// The Aᵢ.
        left: Vec<Matrix>,
        /// The Bᵢ, as many.
        right: Vec<Matrix>,
    },
    /// A convolution with clear filters of an encrypted image.
    Convolution {
        /// The filters with bias, stride and padding.
        filters: Filters,
        /// The image.
        image: Image,
    },
}

impl Task {
    /// The results, one after another: rows of `A·X + b`, of each `Aᵢ·Bᵢ`, or of each channel.
    ///
    /// # Errors
    /// Shapes that do not go together.
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

    /// In words.
    #[must_use]
    pub fn describe(&self) -> String {
        let shape = |m: &Matrix| format!("{}×{}", m.rows(), m.columns());
        match self {
            Self::Product { matrix, x, .. } => format!("clear {} × encrypted {}", shape(matrix), shape(x)),
            Self::Square { left, .. } => {
                format!("{} × encrypted {1} × encrypted {1}", left.len(), left.first().map(shape).unwrap_or_default())
            }
            Self::Convolution { filters, image } => {
                let [channels, height, width] = image.shape();
                format!("{} on an encrypted image of {channels}×{height}×{width}", filters.describe())
            }
        }
    }
}
