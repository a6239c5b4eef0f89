//! The network as linear maps on slots: the layout of each stage, and the maps between layouts.
//!
//! Every stage keeps the raster of the image. A stride leaves gaps, which other channels fill (multiplexed packing
//! \[LLL22\]), so that later stages take fewer slots. A stage's blocks are cyclic: its message has as many slots as its
//! blocks and repeats in all others, so that a rotation stays within the message. Several images are interleaved slot
//! by slot, which does not change the maps.
//!
//! Values are in units of their activation's range, so that slots are in [−1, 1]. The maps include the factors.

use super::{
    ResnetError,
    network::{Network, Position, Step, shortcut},
};
use crate::threads;
use limbwise::{
    Complex64,
    ckks::{
        Diagonals,
        tensor::{Convolution, Fold, Image, ImageLayout, PackedMap},
    },
};

/// What is added to the result of a block's second convolution.
#[derive(Clone, Debug)]
pub(super) enum Shortcut {
    /// The block's input times a factor.
    Factor(f64),
    Map(PackedMap),
}

#[derive(Clone, Debug)]
pub(super) struct PackedStep {
    pub(super) map: PackedMap,
    pub(super) shortcut: Option<Shortcut>,
    /// Slots of a message before and after; both repeat.
    pub(super) slots: [usize; 2],
}

/// The mean of all pixels and the linear layer.
#[derive(Clone, Debug)]
pub(super) struct Head {
    /// Sums over a row and over a column of pixels come first.
    pub(super) folds: [Fold; 2],
    pub(super) map: PackedMap,
    pub(super) slots: usize,
}

impl PackedStep {
    fn interleaved(self, count: usize) -> Self {
        let shortcut = self.shortcut.map(|shortcut| match shortcut {
            Shortcut::Map(map) => Shortcut::Map(map.interleaved(count)),
            factor => factor,
        });
        Self { map: self.map.interleaved(count), shortcut, slots: self.slots.map(|slots| slots * count) }
    }
}

impl Head {
    fn interleaved(self, count: usize) -> Self {
        let folds = self.folds.map(|fold| Fold { stride: fold.stride * count, ..fold });
        Self { folds, map: self.map.interleaved(count), slots: self.slots * count }
    }
}

/// A whole network on slots.
#[derive(Clone, Debug)]
pub(super) struct Packed {
    /// Images that take turns.
    pub(super) together: usize,
    pub(super) input: ImageLayout,
    pub(super) input_slots: usize,
    pub(super) steps: Vec<PackedStep>,
    pub(super) head: Head,
}

/// Slots that one image takes at most, a power of two.
pub(super) fn slots_of_image(network: &Network) -> usize {
    let architecture = &network.architecture;
    let unit = architecture.side * architecture.side;
    let blocks = |(stage, &width): (usize, &usize)| width.div_ceil(1 << (2 * stage)).next_power_of_two();
    let stages = architecture.widths.iter().enumerate().map(blocks);
    unit * stages.chain([architecture.channels.next_power_of_two()]).max().unwrap_or(1)
}

/// How a stage lies, its blocks repeated over so many slots; and the slots until they come again.
fn layout([channels, height, width]: [usize; 3], side: usize, slots: usize) -> limbwise::Result<(ImageLayout, usize)> {
    let gap = side / height;
    let dense = ImageLayout::dense([channels, height, width]);
    let raster = ImageLayout { gap, ..dense };
    let unit = side * side;
    let blocks = channels.div_ceil(gap * gap);
    let period = blocks.next_power_of_two();
    let spread =
        limbwise::ckks::tensor::Spread { items: blocks, unit, period, extent: slots.max(unit * period) / unit };
    let layout = ImageLayout { pitch: side, per_block: gap * gap, blocks: spread, ..raster };
    Ok((layout.repeated(period, spread.extent)?, unit * period))
}

impl Packed {
    /// A network with its activations' ranges, for so many images at once.
    pub(super) fn new(network: &Network, ranges: &[f64], together: usize) -> Result<Self, ResnetError> {
        let architecture = &network.architecture;
        let steps = architecture.steps();
        let side = architecture.side;
        let image = |step: &Step| {
            if step.position == Position::Stem {
                [architecture.channels, side, side]
            } else {
                architecture.image(step.stages[0])
            }
        };
        let packed = |&(index, step): &(usize, Step)| -> Result<PackedStep, ResnetError> {
            // The stem's input is in units of 1.
            let from = if index == 0 { 1.0 } else { ranges[index - 1] };
            let shapes = [image(&step), architecture.image(step.stages[1])];
            let filters = network.filters(index, &step, [from, ranges[index]])?;
            let (map, slots) = between(&filters, shapes, side)?;
            let shortcut = match step.position {
                Position::Second => {
                    Some(packed_shortcut(&steps[index - 1], shapes[1], side, ranges[index - 2] / ranges[index])?)
                }
                _ => None,
            };
            let step = PackedStep { map, shortcut, slots };
            Ok(step.interleaved(together))
        };
        let numbered: Vec<(usize, Step)> = steps.iter().copied().enumerate().collect();
        let packed = threads::each(&numbered, packed).into_iter().collect::<Result<_, _>>()?;
        let (input, input_slots) = layout(image(&steps[0]), side, 0)?;
        let last = ranges[ranges.len() - 1];
        let head = head(network, last)?;
        let head = head.interleaved(together);
        Ok(Self { together, input, input_slots: input_slots * together, steps: packed, head })
    }

    /// Images in slots; missing ones are zeros.
    pub(super) fn pack(&self, images: &[Image]) -> limbwise::Result<Vec<Complex64>> {
        let mut slots = vec![Complex64::default(); self.input_slots];
        for (turn, image) in images.iter().enumerate().take(self.together) {
            let one = self.input.pack(image, self.input_slots / self.together)?;
            slots.iter_mut().skip(turn).step_by(self.together).zip(one).for_each(|(slot, z)| *slot = z);
        }
        Ok(slots)
    }
}

/// The map of filters between two shapes, on as many slots as the larger message has; and the slots of both messages.
fn between(
    filters: &limbwise::ckks::tensor::Filters,
    [from, to]: [[usize; 3]; 2],
    side: usize,
) -> limbwise::Result<(PackedMap, [usize; 2])> {
    let slots = [layout(from, side, 0)?.1, layout(to, side, 0)?.1];
    let most = slots[0].max(slots[1]);
    let (input, output) = (layout(from, side, most)?.0, layout(to, side, most)?.0);
    Ok((Convolution::between(filters, input, output, most)?.map, slots))
}

/// What a block adds to its result, from the layout of its input to that of its result.
fn packed_shortcut(first: &Step, to: [usize; 3], side: usize, factor: f64) -> limbwise::Result<Shortcut> {
    if first.stride() == 1 && first.channels[0] == first.channels[1] {
        return Ok(Shortcut::Factor(factor));
    }
    let from = [first.channels[0], to[1] * first.stride(), to[2] * first.stride()];
    Ok(Shortcut::Map(between(&shortcut(first.channels, first.stride(), factor)?, [from, to], side)?.0))
}

/// Sums over all pixels, which fall into each channel's first, and the linear layer from there to the first slots.
fn head(network: &Network, range: f64) -> limbwise::Result<Head> {
    let architecture = &network.architecture;
    let last = architecture.image(architecture.widths.len() - 1);
    let (layout, slots) = layout(last, architecture.side, 0)?;
    let [channels, height, width] = last;
    let share = range / (height * width) as f64;
    // As many slots as there are scores, should they be more than values.
    let slots = slots.max(architecture.classes.next_power_of_two());
    let mut diagonals = vec![Vec::new(); slots];
    for (class, row) in network.linear.weights.chunks_exact(channels).enumerate() {
        for (channel, weight) in row.iter().enumerate() {
            let from = layout.slot(channel, 0, 0);
            let diagonal: &mut Vec<Complex64> = &mut diagonals[(from + slots - class) % slots];
            diagonal.resize(slots, Complex64::default());
            diagonal[class] += weight * share;
        }
    }
    let filled = (0i64..).zip(diagonals).filter(|(_, values)| !values.is_empty());
    let diagonals = Diagonals::new(slots, filled)?;
    let mut bias: Vec<Complex64> = network.linear.bias.iter().map(|&b| b.into()).collect();
    bias.resize(slots, Complex64::default());
    let folds = [Fold { stride: layout.gap, count: width }, Fold { stride: layout.gap * layout.pitch, count: height }];
    Ok(Head { folds, map: PackedMap { diagonals, fold: Fold { stride: 0, count: 1 }, bias }, slots })
}
