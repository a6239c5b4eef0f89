//! Windows that slide over images: which pixels an output reads, and convolutions in the clear.

use serde::{Deserialize, Serialize};
use std::array::from_fn;

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

/// What one tap of a filter adds to neighboring results of one row.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowOfTap {
    /// The element that the first result reads.
    pub(super) element: usize,
    /// Elements from one that is read to the next.
    pub(super) stride: usize,
    /// The first result.
    pub(super) out: usize,
    /// Results.
    pub(super) count: usize,
    pub(super) weight: f64,
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
        (positive && bounded && shared).then_some(())?;
        let size = |channels: usize, [rows, columns]: [usize; 2]| channels.checked_mul(rows)?.checked_mul(columns);
        Some([size(channels[0], *image)?, size(channels[1], *result)?])
    }

    /// Number of weights of a convolution: result channels × channels of a group × taps. `None` beyond a word.
    #[must_use]
    pub fn weights(&self) -> Option<usize> {
        let each = self.channels[0].checked_div(self.groups)?;
        self.channels[1].checked_mul(each)?.checked_mul(self.kernel[0])?.checked_mul(self.kernel[1])
    }

    /// Patches that an image is cut into and numbers in each, where filters neither overlap nor leave pixels out.
    #[must_use]
    pub fn patches(&self) -> Option<[usize; 2]> {
        let Self { image, kernel, strides, pads, dilations, result, .. } = self;
        let is_cut = kernel == strides && *pads == [0; 2] && *dilations == [1; 2] && self.groups == 1;
        let is_whole = (0..2).all(|at| result[at] * kernel[at] == image[at]);
        (is_cut && is_whole).then(|| [result[0] * result[1], self.channels[0] * kernel[0] * kernel[1]])
    }

    /// The patch of an element of the input, and its place there.
    #[must_use]
    pub fn patch_of(&self, element: usize) -> [usize; 2] {
        let Self { image: [height, width], kernel: [ky, kx], result: [_, columns], .. } = *self;
        let (x, y, channel) = (element % width, element / width % height, element / width / height);
        [y / ky * columns + x / kx, (channel * ky + y % ky) * kx + x % kx]
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

    /// The entries of one filter of a convolution, tap by tap, and of a tap row by row of the result.
    ///
    /// # Panics
    /// As [`Self::convolution`].
    pub(super) fn each_of_filter(&self, weights: &[f64], filter: usize, mut tell: impl FnMut(RowOfTap)) {
        let Self {
            image: [height, width], kernel: [ky, kx], strides, pads, dilations, result: [rows, columns], ..
        } = *self;
        let (each, taps) = (self.channels[0] / self.groups, ky * kx);
        let first = filter / (self.channels[1] / self.groups) * each;
        for channel in 0..each {
            for tap in 0..taps {
                let weight = weights[(filter * each + channel) * taps + tap];
                let [down, across] = [tap / kx * dilations[0], tap % kx * dilations[1]];
                // The places of a row whose tap lies within the image.
                let begin = pads[1].saturating_sub(across).div_ceil(strides[1]);
                let end = (width + pads[1]).saturating_sub(across).div_ceil(strides[1]).min(columns);
                let Some(count) = end.checked_sub(begin).filter(|&count| count > 0) else { continue };
                for y in 0..rows {
                    let Some(row) = (y * strides[0] + down).checked_sub(pads[0]).filter(|row| *row < height) else {
                        continue;
                    };
                    let element = ((first + channel) * height + row) * width + begin * strides[1] + across - pads[1];
                    tell(RowOfTap {
                        element,
                        stride: strides[1],
                        out: (filter * rows + y) * columns + begin,
                        count,
                        weight,
                    });
                }
            }
        }
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

    /// What one tap of some places reads of a channel, row by row of the result: zeros where padding is.
    fn read(&self, plane: &[f64], tap: usize, places: std::ops::Range<usize>, to: &mut [f64; PLACES]) {
        let &Self { image: [height, width], kernel, strides, pads, dilations, result, .. } = self;
        let [down, across] = [tap / kernel[1] * dilations[0], tap % kernel[1] * dilations[1]];
        to.fill(0.0);
        let mut place = places.start;
        while place < places.end {
            let [row, column] = [place / result[1], place % result[1]];
            let count = (result[1] - column).min(places.end - place);
            let to = &mut to[place - places.start..][..count];
            place += count;
            // Wraps where padding comes before the image.
            let y = (row * strides[0] + down).wrapping_sub(pads[0]);
            let Some(source) = plane.chunks_exact(width).nth(y).filter(|_| y < height) else { continue };
            let x = |k: usize| ((column + k) * strides[1] + across).wrapping_sub(pads[1]);
            if strides[1] == 1 {
                let before = pads[1].saturating_sub(column + across).min(count);
                let from = (x(before)).min(width);
                let some = (width - from).min(count - before);
                to[before..before + some].copy_from_slice(&source[from..from + some]);
            } else {
                (0..count).zip(to).for_each(|(k, to)| *to = source.get(x(k)).copied().unwrap_or(0.0));
            }
        }
    }

    /// A convolution in the clear: a network's ranges are measured on hundreds of images, with thousands of millions of
    /// products. What the windows of some places read is laid out once, for all filters; sums stay in registers. Products of
    /// an output are added channel by channel, tap by tap, so that the result is the same on every processor.
    ///
    /// # Panics
    /// If weights or image are shorter than the sizes say, or channels do not fall into groups.
    #[must_use]
    pub fn apply(&self, weights: &[f64], x: &[f64]) -> Vec<f64> {
        let &Self { channels, groups, image: [height, width], kernel, result, .. } = self;
        let (image, places, taps) = (height * width, result[0] * result[1], kernel[0] * kernel[1]);
        let [each, filters] = channels.map(|count| count / groups);
        let mut all = vec![0.0; channels[1] * places];
        // By channel and tap: what each place reads.
        let mut read = vec![[0.0; PLACES]; READ.min(each * taps)];
        for (group, out) in all.chunks_exact_mut(filters * places).enumerate() {
            let planes = &x[group * each * image..][..each * image];
            for first in (0..places).step_by(PLACES) {
                let some = first..places.min(first + PLACES);
                for begin in (0..each * taps).step_by(READ) {
                    let read = &mut read[..READ.min(each * taps - begin)];
                    for (x, at) in read.iter_mut().zip(begin..) {
                        self.read(&planes[at / taps * image..][..image], at % taps, some.clone(), x);
                    }
                    for filter in (0..filters).step_by(FILTERS) {
                        let count = FILTERS.min(filters - filter);
                        let rows = |at: usize| &weights[((group * filters + filter + at) * each * taps + begin)..];
                        let out = &mut out[filter * places..][..count * places];
                        match count {
                            FILTERS => products::<FILTERS>(from_fn(rows), read, (out, places), some.clone()),
                            _ => (0..count).for_each(|at| {
                                let out = &mut out[at * places..][..places];
                                products::<1>([rows(at)], read, (out, places), some.clone());
                            }),
                        }
                    }
                }
            }
        }
        all
    }
}

/// Places whose windows are laid out at a time.
const PLACES: usize = 64;
/// Channels and taps whose pixels are laid out at a time: half a megabyte, however large a filter is.
const READ: usize = 1024;
/// Filters and places whose sums are held in registers: 16 sums in eight registers of two.
const FILTERS: usize = 4;
const TOGETHER: usize = 4;

/// Adds the products of F filters with what some places read, into rows of so many places.
fn products<const F: usize>(
    rows: [&[f64]; F],
    read: &[[f64; PLACES]],
    (out, stride): (&mut [f64], usize),
    places: std::ops::Range<usize>,
) {
    let rows = rows.map(|row| &row[..read.len()]);
    for at in (0..places.len()).step_by(TOGETHER) {
        let count = TOGETHER.min(places.len() - at);
        let mut sums = [[0.0; TOGETHER]; F];
        for (f, sums) in sums.iter_mut().enumerate() {
            sums[..count].copy_from_slice(&out[f * stride + places.start + at..][..count]);
        }
        for (k, x) in read.iter().enumerate() {
            let x: &[f64; TOGETHER] = x[at..].first_chunk().expect("places are a multiple");
            // Loops, not `from_fn`: their sums become pairs in registers.
            for (sums, row) in sums.iter_mut().zip(&rows) {
                let weight = row[k];
                for (sum, x) in sums.iter_mut().zip(x) {
                    *sum += weight * x;
                }
            }
        }
        for (f, sums) in sums.iter().enumerate() {
            out[f * stride + places.start + at..][..count].copy_from_slice(&sums[..count]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Window;
    use std::collections::BTreeMap;

    #[test]
    fn rows_of_taps_are_the_entries_of_rows() {
        let windows = [
            ([3, 2], 1, [5, 7], [3, 3], [1, 1], [1, 1], [1, 1], [5, 7]),
            ([4, 6], 2, [6, 5], [3, 2], [2, 1], [2, 0], [1, 2], [4, 3]),
            // Pads as long as the kernel, places that read nothing, and one row.
            ([1, 1], 1, [1, 4], [1, 3], [1, 3], [0, 3], [1, 2], [1, 3]),
            ([2, 2], 2, [4, 4], [2, 2], [3, 3], [0, 1], [1, 1], [2, 2]),
            // Padding longer than the kernel, before and after: whole rows and columns read nothing.
            ([2, 4], 1, [3, 2], [1, 2], [1, 2], [2, 3], [1, 1], [7, 5]),
        ];
        for (channels, groups, image, kernel, strides, pads, dilations, result) in windows {
            let window = Window { channels, groups, image, kernel, strides, pads, dilations, result };
            let [_, outputs] = window.sizes().unwrap();
            let weights: Vec<f64> = (1..=window.weights().unwrap()).map(|i| i as f64).collect();
            let (mut by_row, mut by_tap) = (BTreeMap::new(), BTreeMap::new());
            for out in 0..outputs {
                window.convolution(&weights, out, &mut |element, weight| {
                    assert!(by_row.insert((element, out), weight).is_none());
                });
            }
            for filter in 0..channels[1] {
                window.each_of_filter(&weights, filter, |row| {
                    for k in 0..row.count {
                        let at = (row.element + k * row.stride, row.out + k);
                        assert!(by_tap.insert(at, row.weight).is_none());
                    }
                });
            }
            assert_eq!(by_row, by_tap, "{window:?}");
            let x: Vec<f64> = (0..window.sizes().unwrap()[0]).map(|i| i as f64).collect();
            let mut wanted = vec![0.0; outputs];
            by_row.iter().for_each(|(&(element, out), weight)| wanted[out] += weight * x[element]);
            assert_eq!(window.apply(&weights, &x), wanted, "{window:?}");
        }
    }
}
