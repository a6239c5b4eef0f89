//! The network in the clear: its architecture, its numbers with batch norms folded in, and its twins.
//!
//! A residual network for small images \[HZRS16\]: a stem, then stages of blocks of two 3×3 convolutions, the first one
//! of a stage after the first with stride 2; shortcuts without weights (option A: every second pixel, channels filled up
//! with zeros on both sides); the mean of all pixels; a linear layer.

use super::ResnetError;
use crate::threads;
use limbwise::ckks::tensor::{Filters, Image, Padding};
use serde::{Deserialize, Serialize};

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

#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    pub architecture: Architecture,
    /// The convolutions, with their batch norms folded in.
    pub convolutions: Vec<Weights>,
    pub linear: Weights,
    /// What is taken from each channel of an image with values in [0, 1], and what it is then divided by.
    pub normalization: Vec<[f64; 2]>,
}

/// What comes after a convolution, of which number, on all its values.
pub type Activation<'a> = &'a mut dyn FnMut(usize, &mut [f64]);

impl Network {
    /// The filters of a convolution for values in units: of `from` in its input, of `to` in its result.
    pub fn filters(&self, index: usize, step: &Step, [from, to]: [f64; 2]) -> limbwise::Result<Filters> {
        let Weights { weights, bias } = &self.convolutions[index];
        let shape = [step.channels[1], step.channels[0], 3, 3];
        let (weights, bias) = (weights.iter().map(|w| w * from / to), bias.iter().map(|b| b / to));
        Filters::new(shape, weights.collect(), bias.collect(), step.stride(), Padding::Same)
    }

    /// The convolutions in order, each with its step.
    fn layers(&self) -> limbwise::Result<Vec<(Step, Filters)>> {
        let steps = self.architecture.steps().into_iter().enumerate();
        steps.map(|(index, step)| Ok((step, self.filters(index, &step, [1.0, 1.0])?))).collect()
    }

    /// The class scores of an image, already normalized.
    ///
    /// # Errors
    /// An image of another shape, numbers that are not finite.
    pub fn forward(&self, image: &Image, activation: Activation<'_>) -> limbwise::Result<Vec<f64>> {
        self.through(&self.layers()?, image, activation)
    }

    fn through(
        &self,
        layers: &[(Step, Filters)],
        image: &Image,
        activation: Activation<'_>,
    ) -> limbwise::Result<Vec<f64>> {
        let (mut x, mut before) = (image.clone(), image.clone());
        for (index, (step, filters)) in layers.iter().enumerate() {
            if step.position == Position::First {
                before = x.clone();
            }
            let y = filters.apply(&x)?;
            let mut values = y.values().to_vec();
            if step.position == Position::Second {
                let entry = before.shape()[0];
                let shortcut = shortcut([entry, step.channels[1]], before.shape()[1] / y.shape()[1], 1.0)?;
                values.iter_mut().zip(shortcut.apply(&before)?.values()).for_each(|(y, x)| *y += x);
            }
            activation(index, &mut values);
            x = Image::new(y.shape(), values)?;
        }
        let [channels, height, width] = x.shape();
        let mean = |channel: usize| {
            x.values()[channel * height * width..][..height * width].iter().sum::<f64>() / (height * width) as f64
        };
        let means: Vec<f64> = (0..channels).map(mean).collect();
        let Weights { weights, bias } = &self.linear;
        let score = |(row, bias): (&[f64], &f64)| row.iter().zip(&means).map(|(w, m)| w * m).sum::<f64>() + bias;
        Ok(weights.chunks_exact(channels).zip(bias).map(score).collect())
    }

    /// The scores of the network as it was trained.
    pub fn scores(&self, image: &Image) -> limbwise::Result<Vec<f64>> {
        self.forward(image, &mut |_, values| values.iter_mut().for_each(|x| *x = x.max(0.0)))
    }

    /// The largest absolute value before each activation over some images.
    pub fn largest(&self, images: &[Image]) -> limbwise::Result<Vec<f64>> {
        let layers = self.layers()?;
        let of = |image: &Image| -> limbwise::Result<Vec<f64>> {
            let mut largest = vec![0.0f64; self.convolutions.len()];
            self.through(&layers, image, &mut |index, values| {
                largest[index] = values.iter().fold(0.0, |most, x| most.max(x.abs()));
                values.iter_mut().for_each(|x| *x = x.max(0.0));
            })?;
            Ok(largest)
        };
        let mut largest = vec![0.0f64; self.convolutions.len()];
        for one in threads::each(images, of) {
            largest.iter_mut().zip(one?).for_each(|(most, one)| *most = most.max(one));
        }
        Ok(largest)
    }
}

/// A shortcut as filters: every `stride`th pixel, the channels in the middle of the new ones, times a factor.
pub fn shortcut([from, to]: [usize; 2], stride: usize, factor: f64) -> limbwise::Result<Filters> {
    let mut weights = vec![0.0; from * to];
    for channel in 0..from {
        weights[(channel + (to - from) / 2) * from + channel] = factor;
    }
    Filters::new([to, from, 1, 1], weights, Vec::new(), stride, Padding::Same)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::npy,
        data_dir,
        resnet::{
            client::class,
            images,
            packing::Packed,
            relu::{Relu, ReluChoice},
            weights,
        },
    };
    use limbwise::Complex64;

    /// The packed network in the clear, with the true activation, gives the scores of the network.
    fn packed_scores(network: &Network, image: &Image, ranges: &[f64], together: usize) -> Vec<f64> {
        use crate::resnet::packing::Shortcut;
        let packed = Packed::new(network, ranges, together).unwrap();
        let repeat = |x: &[Complex64], slots: usize| x.iter().copied().cycle().take(slots).collect::<Vec<_>>();
        let mut x = packed.pack(&vec![image.clone(); together]).unwrap();
        let mut entry = x.clone();
        for (step, packed) in network.architecture.steps().iter().zip(&packed.steps) {
            if step.position == Position::First {
                entry = x.clone();
            }
            let slots = packed.map.diagonals.slots();
            let mut y = packed.map.apply_clear(&repeat(&x, slots));
            let added = match &packed.shortcut {
                Some(Shortcut::Factor(factor)) => entry.iter().map(|z| z * factor).collect(),
                Some(Shortcut::Map(map)) => map.apply_clear(&repeat(&entry, map.diagonals.slots())),
                None => Vec::new(),
            };
            if !added.is_empty() {
                y.iter_mut().zip(repeat(&added, slots)).for_each(|(y, x)| *y += x);
            }
            let first = &y[..packed.slots[1]];
            let repeats = |chunk: &[Complex64]| chunk.iter().zip(first).all(|(a, b)| (a - b).norm() < 1e-9);
            assert!(y.chunks(packed.slots[1]).all(repeats), "the result repeats");
            y.truncate(packed.slots[1]);
            x = y.iter().map(|z| z.re.max(0.0).into()).collect();
        }
        let head = &packed.head;
        x = repeat(&x, head.slots);
        for fold in head.folds {
            let sum = |at: usize| (0..fold.count).map(|i| x[(at + i * fold.stride) % x.len()]).sum::<Complex64>();
            x = (0..x.len()).map(sum).collect();
        }
        let scores = head.map.apply_clear(&x);
        (0..network.architecture.classes).map(|c| scores[c * together + together - 1].re).collect()
    }

    #[test]
    fn packed_maps_are_the_network() {
        let cases = [
            (Architecture { side: 8, channels: 3, widths: vec![2, 4, 6], blocks: 2, classes: 5 }, 2),
            (Architecture { side: 16, channels: 1, widths: vec![4, 8], blocks: 1, classes: 3 }, 1),
            (Architecture { side: 4, channels: 3, widths: vec![3], blocks: 1, classes: 40 }, 4),
        ];
        for (architecture, together) in cases {
            let network = Network::generated(&architecture, 3);
            let side = architecture.side;
            let values = crate::linear::data::generated(5, 0, architecture.channels * side * side, 1.0);
            let image = Image::new([architecture.channels, side, side], values).unwrap();
            let ranges = network.largest(std::slice::from_ref(&image)).unwrap();
            let (got, wanted) = (packed_scores(&network, &image, &ranges, together), network.scores(&image).unwrap());
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

    /// The clear network on the public data, and its polynomial twin, judged on images that its ranges have not seen.
    #[test]
    #[ignore = "a hundred images through two networks in the clear: half a minute"]
    fn the_trained_network_scores_as_published() {
        let file = |name| data_dir(name);
        let (Some(weights), Some(data), Some(logits)) = (
            file("resnet20_cifar10.safetensors"),
            file("cifar10_test_first100.bin"),
            file("resnet20_logits_first100.npy"),
        ) else {
            return;
        };
        let network = weights::load(&weights, images::SIDE).unwrap();
        let all = images::load(&data).unwrap();
        let logits = npy::load(&logits).unwrap().values;
        let normalized: Vec<Image> = all.iter().map(|one| network.normalized(&one.image).unwrap()).collect();
        let half = normalized.len() / 2;
        let ranges = [&normalized[half..], &normalized[..half]].map(|others| network.largest(others).unwrap());
        let ranges = ranges.map(|all| all.into_iter().map(|most| 2.0 * most).collect::<Vec<_>>());
        let relu = Relu::new(&ReluChoice::default());
        let (mut same, mut error, mut right) = (0, 0.0, 0);
        for (at, (image, one)) in normalized.iter().zip(&all).enumerate() {
            let twins = network.twins(image, &relu, &ranges[at / half]).unwrap();
            let published = logits[10 * at..][..10].iter().map(|z| z.re);
            assert!(twins.clear.iter().zip(published).all(|(a, b)| (a - b).abs() < 1e-3), "image {at}");
            assert!(twins.fill < 1.0, "image {at}: {}", twins.fill);
            same += usize::from(class(&twins.clear) == class(&twins.polynomial));
            right += usize::from(Some(class(&twins.clear)) == one.label);
            error += twins.clear.iter().zip(&twins.polynomial).map(|(a, b)| (a - b).abs()).sum::<f64>() / 10.0;
        }
        let mean = error / normalized.len() as f64;
        eprintln!("polynomial twin: {same} of {} classes, mean score error {mean:.4}", normalized.len());
        assert!(right == 95 && same >= 98 && mean <= 0.05, "{right} {same} {mean}");
    }
}
