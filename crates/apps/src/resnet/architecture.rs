//! The shape of a residual network for small images \[HZRS16\], and the network as values of the compiler.
//!
//! A stem, then stages of blocks of two 3×3 convolutions, the first one of a stage after the first with stride 2;
//! shortcuts without weights (option A: every second pixel, channels filled up with zeros on both sides); the mean of all
//! pixels; a linear layer.

use crate::network::{
    Network, NetworkError, Skeleton,
    function::{Expression, Named},
    linear::{Axis, Linear, Window},
    skeleton::{Operation, Term, Value},
};
use serde::{Deserialize, Serialize};

/// Why a file has no such network.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResnetError {
    #[error("{what}: got {got}, wanted {wanted}")]
    Shape { what: &'static str, got: String, wanted: &'static str },
    #[error(transparent)]
    Network(#[from] NetworkError),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Architecture {
    /// Pixels of a row and of a column of an image, a power of two.
    pub side: usize,
    pub channels: usize,
    /// Channels of each stage, never fewer than in the one before.
    pub widths: Vec<usize>,
    pub blocks: usize,
    pub classes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// Before all blocks.
    Stem,
    /// In a block.
    First,
    /// In a block, before what the block was given is added.
    Second,
}

/// One convolution with what follows it: the sum with the shortcut where there is one, and the activation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Stages of its input and of its result; the input of the stem is of stage 0.
    pub stages: [usize; 2],
    /// Channels of its input and of its result.
    pub channels: [usize; 2],
    pub position: Position,
}

impl Step {
    /// From one pixel of the result to the next.
    pub fn stride(&self) -> usize {
        1 << (self.stages[1] - self.stages[0])
    }
}

/// Most images, channels or blocks that a description may have.
const MOST: usize = 4096;

impl Architecture {
    /// Fails for what no network is.
    ///
    /// # Errors
    /// [`ResnetError::Shape`].
    pub fn check(&self) -> Result<(), ResnetError> {
        let Self { side, channels, widths, blocks, classes } = self;
        let refuse = |what, got: String, wanted| Err(ResnetError::Shape { what, got, wanted });
        let small = |n: usize| (1..=MOST).contains(&n);
        if !(1..=6).contains(&widths.len()) || !widths.iter().all(|&w| small(w)) || !widths.is_sorted() {
            return refuse(
                "the widths",
                format!("{widths:?}"),
                "1 to 6 stages of 1 to 4096 channels, none narrower than before",
            );
        }
        if !side.is_power_of_two() || *side > 256 || side >> (widths.len() - 1) == 0 {
            return refuse(
                "the side of images",
                side.to_string(),
                "a power of two up to 256 that can be halved after each stage",
            );
        }
        if !small(*channels) || !small(*classes) || !(1..=64).contains(blocks) {
            let got = format!("{channels} channels, {blocks} blocks, {classes} classes");
            return refuse("the sizes", got, "1 to 4096 channels and classes, 1 to 64 blocks a stage");
        }
        if widths.windows(2).any(|w| !(w[1] - w[0]).is_multiple_of(2)) {
            return refuse("the widths", format!("{widths:?}"), "differences that can be shared out to both sides");
        }
        Ok(())
    }

    /// Layers with weights, as names count them: 20 for a `ResNet-20`.
    pub fn layers(&self) -> usize {
        2 * self.blocks * self.widths.len() + 2
    }

    /// All convolutions in their order.
    pub fn steps(&self) -> Vec<Step> {
        let mut steps =
            vec![Step { stages: [0, 0], channels: [self.channels, self.widths[0]], position: Position::Stem }];
        for (stage, &width) in self.widths.iter().enumerate() {
            for block in 0..self.blocks {
                let from = if block == 0 { stage.saturating_sub(1) } else { stage };
                let first =
                    Step { stages: [from, stage], channels: [self.widths[from], width], position: Position::First };
                let second = Step { stages: [stage, stage], channels: [width, width], position: Position::Second };
                steps.extend([first, second]);
            }
        }
        steps
    }

    /// Channels, rows and columns of what a stage works on.
    pub fn image(&self, stage: usize) -> [usize; 3] {
        [self.widths[stage], self.side >> stage, self.side >> stage]
    }
}

/// The numbers of a convolution or of the linear layer, in the order of PyTorch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Weights {
    /// Outputs × inputs × 3 × 3, or outputs × inputs.
    pub weights: Vec<f64>,
    pub bias: Vec<f64>,
}

/// Values and weights as they are made.
#[derive(Default)]
struct Builder {
    values: Vec<Value>,
    weights: Vec<Vec<f64>>,
}

impl Builder {
    /// The number of a list of weights.
    fn list(&mut self, numbers: Vec<f64>) -> usize {
        self.weights.push(numbers);
        self.weights.len() - 1
    }

    /// The number of a value.
    fn value(&mut self, name: &str, shape: Vec<usize>, operation: Operation) -> usize {
        self.values.push(Value { name: name.into(), shape, operation });
        self.values.len() - 1
    }

    /// A sum of maps, and its activation.
    fn activated(&mut self, name: &str, image: [usize; 3], terms: Vec<Term>, bias: &[f64]) -> usize {
        let pixels = image[1] * image[2];
        let bias = self.list(bias.iter().flat_map(|&b| std::iter::repeat_n(b, pixels)).collect());
        let shape = [&[1][..], &image].concat();
        let of = self.value(name, shape.clone(), Operation::Affine { terms, bias: Some(bias) });
        let expression = Expression::X.of(Named::Relu);
        self.value(&format!("{name}.relu"), shape, Operation::Function { of, expression })
    }
}

impl Architecture {
    /// A step's convolution of an image of so many rows.
    fn convolution(step: &Step, side: usize, weights: usize) -> Linear {
        let (strides, result) = ([step.stride(); 2], [side / step.stride(); 2]);
        let (kernel, pads, dilations) = ([3; 2], [1; 2], [1; 2]);
        let window =
            Window { channels: step.channels, groups: 1, image: [side; 2], kernel, strides, pads, dilations, result };
        Linear::Convolution { window, weights }
    }

    /// What a block adds to its result: every second pixel if it has a stride, channels in the middle of the new ones.
    fn shortcut(&self, first: &Step) -> Vec<Linear> {
        let [from, to] = first.channels;
        if first.stride() == 1 && from == to {
            return Vec::new();
        }
        let (side, stride) = (self.side >> first.stages[0], first.stride());
        let pixels = |step| Axis { size: side / stride, stride, side, ..Axis::whole(0, step) };
        let channels = Axis { size: to, before: (to - from) / 2, side: from, ..Axis::whole(0, side * side) };
        vec![Linear::View { axes: vec![channels, pixels(side), pixels(1)], offset: 0, inputs: from * side * side }]
    }

    /// The network of these numbers: the convolutions in their order, named, and the linear layer.
    ///
    /// # Errors
    /// [`NetworkError`] for numbers of other counts.
    pub fn network(&self, convolutions: &[(String, Weights)], linear: &Weights) -> Result<Network, NetworkError> {
        let mut all = Builder::default();
        let (mut x, mut entry) =
            (all.value("images", vec![1, self.channels, self.side, self.side], Operation::Input), (0, Vec::new()));
        for (step, (name, numbers)) in self.steps().iter().zip(convolutions) {
            let weights = all.list(numbers.weights.clone());
            let mut terms =
                vec![Term { of: x, chain: vec![Self::convolution(step, self.side >> step.stages[0], weights)] }];
            match step.position {
                Position::Stem => {}
                Position::First => entry = (x, self.shortcut(step)),
                Position::Second => terms.push(Term { of: entry.0, chain: std::mem::take(&mut entry.1) }),
            }
            x = all.activated(name, self.image(step.stages[1]), terms, &numbers.bias);
        }
        let [channels, height, width] = self.image(self.widths.len() - 1);
        let factor = 1.0 / (height * width) as f64;
        let mean = Linear::Sum { sides: vec![channels, height * width], summed: vec![false, true], factor };
        let (weights, bias) = (all.list(linear.weights.clone()), all.list(linear.bias.clone()));
        let dense =
            Linear::Dense { lead: 1, rows: self.classes, columns: channels, trail: 1, transposed: false, weights };
        let terms = vec![Term { of: x, chain: vec![mean, dense] }];
        let scores = all.value("scores", vec![1, self.classes], Operation::Affine { terms, bias: Some(bias) });
        let lengths = all.weights.iter().map(Vec::len).collect();
        Network::new(Skeleton { values: all.values, weights: lengths, outputs: vec![scores] }, all.weights)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use limbwise::ckks::tensor::{Filters, Image, Padding};

    /// The network by the operations of its definition, from \[HZRS16\].
    fn by_definition(a: &Architecture, convolutions: &[(String, Weights)], linear: &Weights, image: Image) -> Vec<f64> {
        let (mut x, mut entry) = (image.clone(), image);
        for (step, (_, Weights { weights, bias })) in a.steps().iter().zip(convolutions) {
            if step.position == Position::First {
                entry = x.clone();
            }
            let shape = [step.channels[1], step.channels[0], 3, 3];
            let filters = Filters::new(shape, weights.clone(), bias.clone(), step.stride(), Padding::Same).unwrap();
            let y = filters.apply(&x).unwrap();
            let [channels, height, width] = y.shape();
            let mut values = y.values().to_vec();
            if step.position == Position::Second {
                let ([from, rows, columns], stride) = (entry.shape(), entry.shape()[1] / height);
                for (at, value) in values.iter_mut().enumerate() {
                    let (channel, row, column) = (at / (height * width), at / width % height, at % width);
                    let own = channel.checked_sub((channels - from) / 2).filter(|&own| own < from);
                    *value += own.map_or(0.0, |own| {
                        entry.values()[own * rows * columns + row * stride * columns + column * stride]
                    });
                }
            }
            x = Image::new(y.shape(), values.into_iter().map(|v| v.max(0.0)).collect()).unwrap();
        }
        let [channels, height, width] = x.shape();
        let mean = |c: usize| x.values()[c * height * width..][..height * width].iter().sum::<f64>();
        let means: Vec<f64> = (0..channels).map(|c| mean(c) / (height * width) as f64).collect();
        let score = |(row, b): (&[f64], &f64)| row.iter().zip(&means).map(|(w, m)| w * m).sum::<f64>() + b;
        linear.weights.chunks_exact(channels).zip(&linear.bias).map(score).collect()
    }

    #[test]
    fn values_of_the_compiler_are_the_network() {
        for architecture in [
            Architecture { side: 8, channels: 3, widths: vec![2, 4, 6], blocks: 2, classes: 5 },
            Architecture { side: 16, channels: 1, widths: vec![4, 8], blocks: 1, classes: 3 },
            Architecture { side: 4, channels: 3, widths: vec![3], blocks: 1, classes: 40 },
        ] {
            let (convolutions, linear) = architecture.generated(3);
            let network = architecture.network(&convolutions, &linear).unwrap();
            let (channels, side) = (architecture.channels, architecture.side);
            let values = crate::linear::data::generated(5, 0, channels * side * side, 1.0);
            let image = Image::new([channels, side, side], values.clone()).unwrap();
            let (got, wanted) =
                (network.outputs(&network.exact(&values)), by_definition(&architecture, &convolutions, &linear, image));
            assert!(got.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-9), "{architecture:?}: {got:?} {wanted:?}");
        }
    }

    #[test]
    fn architectures_are_checked() {
        let good = Architecture { side: 32, channels: 3, widths: vec![16, 32, 64], blocks: 3, classes: 10 };
        assert!(good.check().is_ok() && good.layers() == 20 && good.steps().len() == 19);
        let refused = |change: &dyn Fn(&mut Architecture)| {
            let mut a = good.clone();
            change(&mut a);
            a.check().unwrap_err().to_string()
        };
        assert!(refused(&|a| a.side = 31).contains("power of two"));
        assert!(refused(&|a| a.side = 2).contains("halved"));
        assert!(refused(&|a| a.widths = vec![16, 8]).contains("none narrower"));
        assert!(refused(&|a| a.widths = vec![16, 17]).contains("both sides"));
        assert!(refused(&|a| a.blocks = 65).contains("64 blocks"));
    }
}
