//! Windows that slide over images: which pixels an output reads, and convolutions in the clear.

use serde::{Deserialize, Serialize};

/// What is told of an entry of a row: the input's element, and its weight.
pub type Tell<'f> = &'f mut dyn FnMut(usize, f64);

/// Windows that slide over images of several channels. All pairs are rows and columns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// Channels of the input and of the result.
    pub channels: [usize; 2],
    /// Parts that the channels fall into, each with filters of its own.
    pub groups: usize,
    /// Rows and columns of the input.
    pub image: [usize; 2],
    /// Taps of a filter.
    pub kernel: [usize; 2],
    /// Pixels of the input from one of the result's to the next.
    pub strides: [usize; 2],
    /// Rows and columns of zeros before the first pixel.
    pub pads: [usize; 2],
    /// Pixels of the input from one tap to the next.
    pub dilations: [usize; 2],
    /// Rows and columns of the result.
    pub result: [usize; 2],
}

impl Window {
    /// Elements of the input and of the result; `None` for sizes that do not go together.
    #[must_use]
    pub fn sizes(&self) -> Option<[usize; 2]> {
        let Self { channels, groups, image, kernel, strides, dilations, result, pads } = self;
        let positive = [channels, image, kernel, strides, dilations, result].into_iter().flatten().all(|&n| n > 0);
        let bounded = kernel.iter().chain(strides).chain(dilations).chain(pads).all(|&n| n < 1 << 16)
            && image.iter().chain(channels).chain(result).all(|&n| n < 1 << 25);
        let shared = *groups > 0 && channels.iter().all(|c| c.is_multiple_of(*groups));
        // Every window begins in the image or its padding, which is no longer than a filter.
        let inside =
            (0..2).all(|at| (result[at] - 1).checked_mul(strides[at]).is_some_and(|x| x < image[at] + pads[at]));
        (positive && bounded && shared && inside).then_some(())?;
        let size = |channels: usize, [rows, columns]: [usize; 2]| channels.checked_mul(rows)?.checked_mul(columns);
        Some([size(channels[0], *image)?, size(channels[1], *result)?])
    }

    /// Number of weights of a convolution: result channels × channels of a group × taps. `None` beyond a word.
    #[must_use]
    pub fn weights(&self) -> Option<usize> {
        let each = self.channels[0].checked_div(self.groups)?;
        self.channels[1].checked_mul(each)?.checked_mul(self.kernel[0])?.checked_mul(self.kernel[1])
    }

    /// The pixels that an output reads of the first channel of its group: tap and element; and that group's number.
    fn taps(&self, out: usize, tell: &mut dyn FnMut(usize, usize)) {
        let Self { image: [height, width], kernel: [ky, kx], strides, pads, dilations, result: [_, columns], .. } =
            self;
        let (y, x) = (out / columns % self.result[0], out % columns);
        for dy in 0..*ky {
            let Some(row) = (y * strides[0] + dy * dilations[0]).checked_sub(pads[0]).filter(|r| r < height) else {
                continue;
            };
            for dx in 0..*kx {
                let column = (x * strides[1] + dx * dilations[1]).checked_sub(pads[1]).filter(|c| c < width);
                if let Some(column) = column {
                    tell(dy * kx + dx, row * width + column);
                }
            }
        }
    }

    /// The entries of a convolution's row.
    ///
    /// # Panics
    /// For sizes that do not go together, fewer weights, or a row beyond the last.
    pub fn convolution(&self, weights: &[f64], out: usize, tell: Tell<'_>) {
        let filter = out / (self.result[0] * self.result[1]);
        let (each, taps) = (self.channels[0] / self.groups, self.kernel[0] * self.kernel[1]);
        let first = filter / (self.channels[1] / self.groups) * each;
        let pixels = self.image[0] * self.image[1];
        self.taps(out, &mut |tap, pixel| {
            for channel in 0..each {
                tell((first + channel) * pixels + pixel, weights[(filter * each + channel) * taps + tap]);
            }
        });
    }

    /// The entries of a row of means over windows; those at the border have fewer pixels, unless zeros count.
    ///
    /// # Panics
    /// As [`Self::convolution`].
    pub fn mean(&self, zeros_count: bool, out: usize, tell: Tell<'_>) {
        let mut read = Vec::new();
        self.taps(out, &mut |_, pixel| read.push(pixel));
        let count = if zeros_count { self.kernel[0] * self.kernel[1] } else { read.len().max(1) };
        let channel = out / (self.result[0] * self.result[1]) * self.image[0] * self.image[1];
        read.into_iter().for_each(|pixel| tell(channel + pixel, 1.0 / count as f64));
    }

    /// The result's places, from the first to behind the last, whose tap number `tap` is inside of the image along a side.
    fn inside(&self, side: usize, tap: usize) -> std::ops::Range<usize> {
        let (ahead, stride) = (tap * self.dilations[side], self.strides[side]);
        let first = self.pads[side].saturating_sub(ahead).div_ceil(stride);
        let end = (self.image[side] + self.pads[side]).saturating_sub(ahead).div_ceil(stride).min(self.result[side]);
        first.min(end)..end
    }

    /// A convolution in the clear: a network's ranges are measured on hundreds of images, with thousands of millions of
    /// products, so that no entry is told. Weights are result channels × channels of a group × taps.
    ///
    /// # Panics
    /// If weights or image are shorter than the sizes say, or channels do not fall into groups.
    #[must_use]
    pub fn apply(&self, weights: &[f64], x: &[f64]) -> Vec<f64> {
        let Self {
            channels, groups, image: [_, width], kernel: [rows, columns], strides, pads, dilations, result, ..
        } = *self;
        let (pixels, places, each) = (self.image[0] * width, result[0] * result[1], channels[0] / groups);
        let mut all = vec![0.0; channels[1] * places];
        for (filter, out) in all.chunks_exact_mut(places.max(1)).enumerate() {
            let first = filter / (channels[1] / groups) * each;
            for channel in 0..each {
                let plane = &x[(first + channel) * pixels..][..pixels];
                for tap in 0..rows * columns {
                    let weight = weights[(filter * each + channel) * rows * columns + tap];
                    let [dy, dx] = [tap / columns, tap % columns];
                    let across = self.inside(1, dx);
                    if across.is_empty() {
                        continue;
                    }
                    let begin = across.start * strides[1] + dx * dilations[1] - pads[1];
                    for y in self.inside(0, dy) {
                        let row = &plane[(y * strides[0] + dy * dilations[0] - pads[0]) * width..][begin..width];
                        let out = &mut out[y * result[1]..][across.clone()];
                        if strides[1] == 1 {
                            out.iter_mut().zip(row).for_each(|(sum, x)| *sum += weight * x);
                        } else {
                            out.iter_mut().zip(row.iter().step_by(strides[1])).for_each(|(sum, x)| *sum += weight * x);
                        }
                    }
                }
            }
        }
        all
    }
}
