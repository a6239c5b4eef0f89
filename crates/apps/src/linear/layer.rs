//! A layer: the server's model and the shape of its input; and its description, which has no numbers.

use super::{LinearError, data::generated};
use limbwise::ckks::tensor::{Filters, Matrix, Padding};
use serde::{Deserialize, Serialize};

/// What is computed, with the clear operands.
#[derive(Clone, Debug, PartialEq)]
pub enum Layer {
    /// `A·X + b`: A and b clear; X is encrypted and has so many columns.
    Product {
        matrix: Matrix,
        /// b; empty, or a value a row.
        bias: Vec<f64>,
        /// Columns of X; one is a vector.
        vectors: usize,
    },
    /// `Aᵢ·Bᵢ` for square matrices, both encrypted.
    Square {
        /// Rows and columns.
        side: usize,
        pairs: usize,
    },
    /// A convolution with clear filters of an encrypted image.
    Convolution {
        /// The filters with bias, stride and padding.
        filters: Filters,
        /// Channels, rows and columns of the image.
        image: [usize; 3],
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum LayerShape {
    Product {
        rows: usize,
        columns: usize,
        /// Columns of X.
        vectors: usize,
    },
    Square {
        /// Rows and columns.
        side: usize,
        pairs: usize,
    },
    Convolution {
        /// Filters, channels, rows and columns of a filter.
        filters: [usize; 4],
        /// Channels, rows and columns of the image.
        image: [usize; 3],
        /// From one pixel of the result to the next.
        stride: usize,
        /// Padding outside the image.
        padding: Padding,
    },
}

/// Where the numbers of a model come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Numbers {
    /// From a seed that everybody knows.
    Seed(u64),
    Server,
}

/// A layer as both sides know it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Described {
    pub shape: LayerShape,
    /// The matrix or filters; for encrypted matrices it has no meaning.
    pub weights: Numbers,
    /// The bias, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bias: Option<Numbers>,
}

/// The server's numbers, where a description leaves them to it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Model {
    /// The matrix row by row, or the filters.
    pub weights: Option<Vec<f64>>,
    pub bias: Option<Vec<f64>>,
    /// The network of `nn20`, `nn50` and `nn100`.
    pub digits: Option<std::sync::Arc<crate::nn::Network>>,
    /// The network of `network` and `resnet20`.
    pub graph: Option<std::sync::Arc<crate::network::Network>>,
    /// The trees of `forest`.
    pub forest: Option<std::sync::Arc<crate::forest::Ensemble>>,
}

impl Model {
    pub fn hashed(&self, add: &mut dyn FnMut(&[u8])) {
        for numbers in [&self.weights, &self.bias].into_iter().flatten() {
            numbers.iter().for_each(|x| add(&x.to_le_bytes()));
        }
        // What is not a list of numbers is written out: two networks are the same if their texts are.
        let digits = self.digits.as_ref().map(|n| format!("{n:?}"));
        let forest = self.forest.as_ref().map(|n| format!("{n:?}"));
        for text in [digits, forest].iter().flatten() {
            add(text.as_bytes());
        }
        if let Some(graph) = &self.graph {
            add(format!("{:?}", graph.skeleton).as_bytes());
            graph.weights.iter().flatten().for_each(|x| add(&x.to_le_bytes()));
        }
    }
}

pub const WEIGHTS: u64 = 0;
pub const INPUT: u64 = 1;
pub const BIAS: u64 = 2;

/// Most numbers of a matrix, of filters, of an image; and most on a side.
const MOST_NUMBERS: usize = 1 << 26;
const MOST_SIDE: usize = 1 << 16;

impl LayerShape {
    /// Numbers of the model, of the bias, of what is encrypted, and the terms of one result; none of them is large.
    pub(crate) fn sizes(&self) -> Result<[usize; 4], LinearError> {
        let product = |sides: &[usize]| {
            let side = |&side: &usize| (side <= MOST_SIDE).then_some(side);
            sides.iter().try_fold(1usize, |n, s| n.checked_mul(side(s)?))
        };
        let sizes = match *self {
            Self::Product { rows, columns, vectors } => {
                [product(&[rows, columns]), Some(rows), product(&[columns, vectors]), Some(columns)]
            }
            Self::Square { side, pairs } => [Some(0), Some(0), product(&[side, side, pairs]), Some(side)],
            Self::Convolution { filters, image, .. } => {
                [product(&filters), Some(filters[0]), product(&image), product(&filters[1..])]
            }
        };
        let fits = |size: Option<usize>| size.filter(|&n| n <= MOST_NUMBERS).ok_or(LinearError::Large);
        Ok([fits(sizes[0])?, fits(sizes[1])?, fits(sizes[2])?, fits(sizes[3])?])
    }
}

impl Described {
    /// The layer with the server's numbers.
    ///
    /// # Errors
    /// [`LinearError::NoModel`] where they are wanted and absent, or those of their shape.
    pub fn layer(&self, model: &Model) -> Result<Layer, LinearError> {
        let wanted = |what, numbers: Option<&Vec<f64>>| numbers.cloned().ok_or(LinearError::NoModel { what });
        self.with(|what, numbers, count, most| match (what, numbers) {
            (_, Numbers::Seed(seed)) => Ok(generated(seed, if what == "bias" { BIAS } else { WEIGHTS }, count, most)),
            ("bias", Numbers::Server) => wanted("bias", model.bias.as_ref()),
            (_, Numbers::Server) => wanted("weights", model.weights.as_ref()),
        })
    }

    /// The layer with any numbers in the place of the server's: for plans, keys and the layout of results.
    pub fn stand_in(&self) -> Result<Layer, LinearError> {
        self.with(|what, numbers, count, most| {
            let seed = if let Numbers::Seed(seed) = numbers { seed } else { 0 };
            Ok(generated(seed, if what == "bias" { BIAS } else { WEIGHTS }, count, most))
        })
    }

    fn with(
        &self,
        numbers: impl Fn(&'static str, Numbers, usize, f64) -> Result<Vec<f64>, LinearError>,
    ) -> Result<Layer, LinearError> {
        let [weights, biases, _, terms] = self.shape.sizes()?;
        let most = 1.0 / (terms.max(1) as f64).sqrt();
        let bias = || self.bias.map_or(Ok(Vec::new()), |from| numbers("bias", from, biases, 1.0));
        match self.shape {
            LayerShape::Product { rows, columns, vectors } => Ok(Layer::Product {
                matrix: Matrix::new(rows, columns, numbers("weights", self.weights, weights, most)?)?,
                bias: bias()?,
                vectors,
            }),
            LayerShape::Square { side, pairs } => Ok(Layer::Square { side, pairs }),
            LayerShape::Convolution { filters, image, stride, padding } => {
                let weights = numbers("weights", self.weights, weights, most)?;
                Ok(Layer::Convolution { filters: Filters::new(filters, weights, bias()?, stride, padding)?, image })
            }
        }
    }
}

impl Layer {
    pub fn levels_needed(&self) -> usize {
        if matches!(self, Self::Square { .. }) { limbwise::ckks::tensor::square_product::LEVELS } else { 1 }
    }

    pub fn describe(&self) -> String {
        match self {
            Self::Product { matrix, vectors, .. } => {
                let (rows, columns) = (matrix.rows(), matrix.columns());
                format!("clear {rows}×{columns} × encrypted {columns}×{vectors}")
            }
            Self::Square { side, pairs } => {
                format!("{pairs} × encrypted {side}×{side} × encrypted {side}×{side}")
            }
            Self::Convolution { filters, image: [channels, height, width] } => {
                format!("{} on an encrypted image of {channels}×{height}×{width}", filters.describe())
            }
        }
    }

    pub fn result_shape(&self) -> limbwise::Result<Vec<usize>> {
        Ok(match self {
            Self::Product { matrix, vectors, .. } => vec![matrix.rows(), *vectors],
            Self::Square { side, pairs } => vec![*pairs, *side, *side],
            Self::Convolution { filters, image } => filters.output(*image)?.to_vec(),
        })
    }
}
