//! Two-dimensional convolutions of several channels, as linear maps on slots.

use super::{Image, ImageLayout, PackedMap, Spread, TensorError, matrix::check, packed_map::Builder};
use crate::error::Result;
use num_complex::Complex64;
use serde::{Deserialize, Serialize};

/// Values outside an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Padding {
    /// Zeros, so that stride 1 keeps the size: (k − 1)/2 before, the rest after.
    Same,
    /// No padding: filters stay inside the image.
    Valid,
}

/// The weights of a convolution. As in neural networks, filters are not reversed.
#[derive(Clone, Debug, PartialEq)]
pub struct Filters {
    shape: [usize; 4],
    weights: Vec<f64>,
    bias: Vec<f64>,
    stride: usize,
    padding: Padding,
}

impl Filters {
    /// Filters × channels × height × width weights, in this order, and one bias per filter or none.
    ///
    /// # Errors
    /// [`TensorError::Shape`] for another number of weights or biases, or a stride of 0;
    /// [`EncodeError::NotFinite`](crate::error::EncodeError::NotFinite).
    pub fn new(shape: [usize; 4], weights: Vec<f64>, bias: Vec<f64>, stride: usize, padding: Padding) -> Result<Self> {
        check("filters", &weights, &shape)?;
        if !bias.is_empty() {
            check("a bias", &bias, &[shape[0]])?;
        }
        if stride == 0 {
            return Err(TensorError::shape("a convolution", "a stride of 0", "at least 1").into());
        }
        Ok(Self { shape, weights, bias, stride, padding })
    }

    /// Text for error messages and reports.
    #[must_use]
    pub fn describe(&self) -> String {
        let [filters, channels, ky, kx] = self.shape;
        let padding = if self.padding == Padding::Same { "same" } else { "valid" };
        format!("{filters} filters of {channels}×{ky}×{kx}, stride {}, {padding} padding", self.stride)
    }

    /// The shape of the result.
    ///
    /// # Errors
    /// [`TensorError::Shape`] for another number of channels, or an image that a filter does not fit.
    pub fn output(&self, image: [usize; 3]) -> Result<[usize; 3]> {
        let [filters, channels, ky, kx] = self.shape;
        let [height, width] = self.axes(image).map(Axis::output);
        match (image[0] == channels, height, width) {
            (true, Some(height), Some(width)) => Ok([filters, height, width]),
            _ => {
                let got = format!("an image of {image:?} for filters of {ky}×{kx} on {channels} channels");
                let wanted = "equally many channels, and filters no larger than the image without padding";
                Err(TensorError::shape("a convolution", got, wanted).into())
            }
        }
    }

    /// The taps of a filter: weight, input channel, and offset of row and column.
    fn taps(&self, filter: usize) -> impl Iterator<Item = (f64, [usize; 3])> {
        let [_, channels, ky, kx] = self.shape;
        let weights = &self.weights[filter * channels * ky * kx..][..channels * ky * kx];
        (0..).zip(weights).map(move |(tap, &weight)| (weight, [tap / kx / ky, tap / kx % ky, tap % kx]))
    }

    /// The vertical and the horizontal axis of a convolution of an image (channels, height, width).
    fn axes(&self, image: [usize; 3]) -> [Axis; 2] {
        let &Self { shape: [_, _, ky, kx], stride, padding, .. } = self;
        [(image[1], ky), (image[2], kx)].map(|(size, taps)| Axis { size, taps, stride, padding })
    }

    /// The convolution in the clear: the reference for the encrypted one.
    ///
    /// # Errors
    /// As [`Self::output`].
    pub fn apply(&self, image: &Image) -> Result<Image> {
        let [filters, height, width] = self.output(image.shape())?;
        let mut values = vec![0.0; filters * height * width];
        let slides = self.stride == 1 && self.padding == Padding::Same && self.shape[2..] == [3, 3];
        if slides && !values.is_empty() && !image.values().is_empty() {
            self.add_slid(image, &mut values);
        } else {
            self.add_taps(image, &mut values);
        }
        for (filter, &bias) in self.bias.iter().enumerate() {
            values[filter * height * width..][..height * width].iter_mut().for_each(|sum| *sum += bias);
        }
        Image::new([filters, height, width], values)
    }

    /// Adds 3×3 filters by sliding them over zero-padded rows: the same terms in the same order as tap by tap, but
    /// three taps and a whole channel at a time.
    fn add_slid(&self, image: &Image, values: &mut [f64]) {
        let ([_, channels, ..], [_, rows, columns]) = (self.shape, image.shape());
        let pitch = columns + 2;
        let mut around = vec![0.0; channels * (rows + 2) * pitch + 2];
        for (at, row) in image.values().chunks_exact(columns).enumerate() {
            let (channel, y) = (at / rows, at % rows);
            around[(channel * (rows + 2) + y + 1) * pitch + 1..][..columns].copy_from_slice(row);
        }
        let mut sums = vec![0.0; rows * pitch];
        for (weights, into) in self.weights.chunks_exact(9 * channels).zip(values.chunks_exact_mut(rows * columns)) {
            sums.fill(0.0);
            for (tap, weights) in weights.chunks_exact(3).enumerate() {
                let from = &around[(tap / 3 * (rows + 2) + tap % 3) * pitch..][..rows * pitch + 2];
                let (first, second, third) = (from, &from[1..], &from[2..]);
                let terms = first.iter().zip(second).zip(third);
                for (sum, ((a, b), c)) in sums.iter_mut().zip(terms) {
                    *sum = *sum + weights[0] * a + weights[1] * b + weights[2] * c;
                }
            }
            let of = |(into, sums): (&mut [f64], &[f64])| into.copy_from_slice(&sums[..columns]);
            into.chunks_exact_mut(columns).zip(sums.chunks_exact(pitch)).for_each(of);
        }
    }

    /// Adds filters of any size.
    fn add_taps(&self, image: &Image, values: &mut [f64]) {
        let ([_, channels, ky, kx], [_, rows, columns]) = (self.shape, image.shape());
        let [vertical, horizontal] = self.axes(image.shape());
        let [height, width] = [vertical, horizontal].map(|axis| axis.output().expect("a filter that fits"));
        // One tap at a time along whole rows: the terms of the map, in an order that vectorizes.
        for (tap, &weight) in self.weights.iter().enumerate() {
            let (filter, channel) = (tap / (channels * ky * kx), tap / (ky * kx) % channels);
            let (dy, dx) = (tap / kx % ky, tap % kx);
            for y in 0..height {
                let Some(from) = vertical.read(y, dy) else { continue };
                let from = &image.values()[(channel * rows + from) * columns..][..columns];
                let into = &mut values[(filter * height + y) * width..][..width];
                let first = horizontal.before().saturating_sub(dx).div_ceil(self.stride);
                let from = from.get(first * self.stride + dx - horizontal.before()..).unwrap_or(&[]);
                let pairs = into[first..].iter_mut().zip(from.iter().step_by(self.stride));
                pairs.for_each(|(sum, x)| *sum += weight * x);
            }
        }
    }
}

/// One axis of a convolution: an image slid over by taps.
#[derive(Clone, Copy)]
struct Axis {
    /// Pixels of the image.
    size: usize,
    /// Pixels of a filter.
    taps: usize,
    stride: usize,
    padding: Padding,
}

impl Axis {
    /// Pixels of the result; `None` if no filter fits.
    fn output(self) -> Option<usize> {
        match self.padding {
            Padding::Same => Some(self.size.div_ceil(self.stride)),
            Padding::Valid => self.size.checked_sub(self.taps).map(|last| last / self.stride + 1),
        }
    }

    /// Pixels of padding before the first pixel of the image.
    fn before(self) -> usize {
        if self.padding == Padding::Same { (self.taps - 1) / 2 } else { 0 }
    }

    /// The pixel of the image that a tap reads for a pixel of the result; `None` in the padding.
    fn read(self, pixel: usize, tap: usize) -> Option<usize> {
        (pixel * self.stride + tap).checked_sub(self.before()).filter(|&at| at < self.size)
    }
}

/// A convolution between two layouts.
#[derive(Clone, Debug)]
pub struct Convolution {
    /// Layout of the image.
    pub input: ImageLayout,
    /// Layout of the result.
    pub output: ImageLayout,
    /// The map between the layouts.
    pub map: PackedMap,
}

impl Convolution {
    /// A convolution of images of this shape in the layout with the fewest rotations; a stride leaves gaps in the
    /// result.
    ///
    /// # Errors
    /// [`TensorError::TooLarge`] if image or result do not fit the slots, and the errors of [`Filters::output`].
    pub fn new(filters: &Filters, image: [usize; 3], slots: usize) -> Result<Self> {
        let shape = filters.output(image)?;
        let dense = ImageLayout::dense(image);
        let output = dense.strided(filters.stride, shape)?;
        let taps = filters.shape[2] * filters.shape[3];
        let blocks = Spread::for_map(dense.channels, dense.blocks.unit, output.blocks.extent, taps, slots);
        Self::between(filters, ImageLayout { blocks, ..dense }, output, slots)
    }

    /// A convolution between two given layouts, for an image from the layer before and a result for the next one.
    /// Blocks of equal size give few diagonals; any other output layout works with more diagonals.
    ///
    /// # Errors
    /// The errors of [`Self::new`], and layouts that do not match the image and the result.
    pub fn between(filters: &Filters, input: ImageLayout, output: ImageLayout, slots: usize) -> Result<Self> {
        let (input, output) = (input.checked()?, output.checked()?);
        let image = [input.channels, input.height, input.width];
        let shape = filters.output(image)?;
        if shape != [output.channels, output.height, output.width] {
            let got = format!("{:?}", [output.channels, output.height, output.width]);
            return Err(TensorError::shape("the layout of a convolution's result", got, format!("{shape:?}")).into());
        }
        input.fits(slots)?;
        output.fits(slots)?;
        let places = output.slots().div_ceil(input.blocks.unit);
        let taps = filters.shape[2] * filters.shape[3];
        let mut builder = Builder::new(input.blocks, places, taps, slots);
        let mut bias = vec![Complex64::default(); if filters.bias.is_empty() { 0 } else { slots }];
        let [vertical, horizontal] = filters.axes(image);
        for filter in 0..output.channels {
            let pixels: Vec<_> = output.places_of(filter).map(|(pixel, slot)| (pixel, builder.output(slot))).collect();
            for (weight, [channel, dy, dx]) in filters.taps(filter) {
                let (block, first) = input.place(channel, 0, 0);
                for &(pixel, slot) in &pixels {
                    if let (Some(y), Some(x)) = (vertical.read(pixel[0], dy), horizontal.read(pixel[1], dx)) {
                        builder.add(slot, block, first + input.within(y, x), weight);
                    }
                }
            }
            if let Some(&value) = filters.bias.get(filter) {
                output.places_of(filter).for_each(|(_, slot)| bias[slot] = value.into());
            }
        }
        Ok(Self { input, output, map: builder.finish(bias)? })
    }

    /// Slot count of every ciphertext.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.map.diagonals.slots()
    }

    /// The image packed into slots.
    ///
    /// # Errors
    /// As [`ImageLayout::pack`].
    pub fn pack(&self, image: &Image) -> Result<Vec<Complex64>> {
        self.input.pack(image, self.slots())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_that_slide_sum_the_same_terms_in_the_same_order() {
        let numbers = |count: usize, step: f64| (0..count).map(|i| (i as f64 * step).sin()).collect::<Vec<_>>();
        let filters = Filters::new([4, 3, 3, 3], numbers(108, 0.7), Vec::new(), 1, Padding::Same).unwrap();
        for shape in [[3, 5, 7], [3, 1, 1], [3, 8, 2]] {
            let image = Image::new(shape, numbers(shape.iter().product(), 1.3)).unwrap();
            let mut taps = vec![0.0; 4 * shape[1] * shape[2]];
            filters.add_taps(&image, &mut taps);
            assert_eq!(filters.apply(&image).unwrap().values(), taps, "{shape:?}");
        }
    }
}
