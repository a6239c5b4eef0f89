//! Two-dimensional convolutions of several channels, as linear maps on slots.

use super::{
    Image, ImageLayout, PackedMap, Spread, TensorError,
    matrix::check,
    packed_map::{Builder, Read},
};
use crate::error::Result;
use ndarray::ArrayView2;
use num_complex::Complex64;
use serde::{Deserialize, Serialize};
use std::ops::Range;

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

    /// The same convolution without a stride, on [`Image::in_phases`]: a channel for each remainder of row and column
    /// modulo the stride, in place of gaps in the result. Returned with the shape of that image.
    ///
    /// # Errors
    /// Those of [`Self::output`], and [`TensorError::Shape`] for [`Padding::Same`]: pad the image before.
    pub fn in_phases(&self, image: [usize; 3]) -> Result<(Self, [usize; 3])> {
        let ([filters, channels, ky, kx], stride) = (self.shape, self.stride);
        let [_, height, width] = self.output(image)?;
        if self.padding == Padding::Same {
            return Err(TensorError::shape("phases of a convolution", "same padding", "valid padding").into());
        }
        let shape = [filters, channels * stride * stride, ky.div_ceil(stride), kx.div_ceil(stride)];
        let [_, phases, rows, columns] = shape;
        let mut weights = vec![0.0; filters * phases * rows * columns];
        for filter in 0..filters {
            for (weight, [channel, dy, dx]) in self.taps(filter) {
                let phase = (channel * stride + dy % stride) * stride + dx % stride;
                weights[((filter * phases + phase) * rows + dy / stride) * columns + dx / stride] = weight;
            }
        }
        let filters = Self { shape, weights, bias: self.bias.clone(), stride: 1, padding: Padding::Valid };
        Ok((filters, [phases, height + rows - 1, width + columns - 1]))
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
        let windows = self.windows(image, [height, width]);
        let terms: usize = self.shape[1..].iter().product();
        let sums = matrix([filters, terms], &self.weights).dot(&matrix([terms, height * width], &windows));
        let bias = |filter: usize| self.bias.get(filter).copied().unwrap_or(0.0);
        let values = sums.rows().into_iter().enumerate();
        let values = values.flat_map(|(filter, sums)| sums.to_vec().into_iter().map(move |sum| sum + bias(filter)));
        Image::new([filters, height, width], values.collect())
    }

    /// What each tap reads for each output pixel, a tap a row; zeros outside the image.
    fn windows(&self, image: &Image, [height, width]: [usize; 2]) -> Vec<f64> {
        let ([_, channels, ky, kx], [_, rows, columns]) = (self.shape, image.shape());
        let [vertical, horizontal] = self.axes(image.shape());
        let mut windows = vec![0.0; channels * ky * kx * height * width];
        for (at, into) in windows.chunks_exact_mut(width.max(1)).enumerate() {
            let (y, tap) = (at % height, at / height);
            let pixels = horizontal.pixels(tap % kx, width);
            let (Some(y), Some(x)) = (vertical.read(y, tap / kx % ky), horizontal.read(pixels.start, tap % kx)) else {
                continue;
            };
            let row = image.values()[(tap / kx / ky * rows + y) * columns..][..columns][x..].iter();
            into[pixels].iter_mut().zip(row.step_by(self.stride)).for_each(|(value, pixel)| *value = *pixel);
        }
        windows
    }
}

fn matrix(shape: [usize; 2], values: &[f64]) -> ArrayView2<'_, f64> {
    ArrayView2::from_shape(shape, values).expect("as many values as rows times columns")
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

    /// The pixels of a result of this size for which a tap reads a pixel of the image.
    fn pixels(self, tap: usize, size: usize) -> Range<usize> {
        let reads = |pixel: &usize| self.read(*pixel, tap).is_some();
        let start = (0..size).find(reads).unwrap_or(size);
        start..(start..size).rfind(reads).map_or(start, |last| last + 1)
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

    /// A convolution of images of this shape whose result repeats at no cost ([`Spread::of_result`]), for a next map that
    /// has few diagonals by that. Rasters are powers of two, so that the next map can divide what repeats into parts.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn repeating(filters: &Filters, image: [usize; 3], slots: usize) -> Result<Self> {
        let shape = filters.output(image)?;
        let [rows, columns] = [image[1], image[2]].map(usize::next_power_of_two);
        let dense = ImageLayout::dense(image).in_raster(rows, columns)?;
        let output = dense.strided(filters.stride, shape)?;
        dense.fits(slots)?;
        let (taps, unit) = (filters.shape[2] * filters.shape[3], rows * columns);
        let blocks = Spread::for_map(image[0], unit, shape[0], taps, slots).continued(slots);
        let repeated = blocks.of_result(shape[0], taps, slots);
        Self::between(filters, ImageLayout { blocks, ..dense }, ImageLayout { blocks: repeated, ..output }, slots)
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
        let taps = filters.shape[2] * filters.shape[3];
        let same = output.blocks.unit == input.blocks.unit;
        let places = output.slots().div_ceil(input.blocks.unit);
        let blocks = if same { output.blocks } else { Spread::once(places, input.blocks.unit) };
        let mut builder = Builder::new(input.blocks, &blocks, taps, slots);
        let given = ImageLayout { blocks: if same { builder.given(blocks) } else { output.blocks }, ..output };
        let mut bias = vec![Complex64::default(); if filters.bias.is_empty() { 0 } else { slots }];
        let [vertical, horizontal] = filters.axes(image);
        for filter in 0..output.channels {
            let runs = builder.runs(&given, filter);
            for (weight, [channel, dy, dx]) in filters.taps(filter) {
                let (item, first) = input.place(channel, 0, 0);
                let pixels = horizontal.pixels(dx, output.width);
                for run in &runs {
                    let x = run.columns.start.max(pixels.start)..run.columns.end.min(pixels.end);
                    let row = vertical.read(run.row, dy).filter(|_| !x.is_empty());
                    let (Some(y), Some(column)) = (row, horizontal.read(x.start, dx)) else { continue };
                    let (offset, step) = (first + input.within(y, column), input.within(0, filters.stride));
                    builder.add_run(run, &x, Read { item, offset, step }, weight);
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
    fn phases_take_the_stride_away() {
        let numbers = |count: usize, step: f64| (0..count).map(|i| (i as f64 * step).sin()).collect::<Vec<_>>();
        for (k, stride, shape) in
            [(5, 2, [1, 29, 29]), (3, 2, [3, 8, 9]), (4, 3, [2, 11, 10]), (3, 1, [2, 5, 6]), (1, 2, [2, 4, 5])]
        {
            let weights = numbers(4 * shape[0] * k * k, 0.7);
            let filters = Filters::new([4, shape[0], k, k], weights, numbers(4, 0.3), stride, Padding::Valid).unwrap();
            let image = Image::new(shape, numbers(shape.iter().product(), 1.3)).unwrap();
            let (phased, wanted) = filters.in_phases(shape).unwrap();
            let phases = image.in_phases(stride, wanted).unwrap();
            assert_eq!(phased.stride, 1);
            let (got, wanted) = (phased.apply(&phases).unwrap(), filters.apply(&image).unwrap());
            assert_eq!(got.shape(), wanted.shape());
            let close = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-12;
            assert!(got.values().iter().zip(wanted.values()).all(close), "{k} {stride} {shape:?}");
        }
        let same = Filters::new([1, 1, 3, 3], vec![1.0; 9], Vec::new(), 2, Padding::Same).unwrap();
        assert!(same.in_phases([1, 8, 8]).is_err());
    }

    #[test]
    fn filters_in_the_clear_are_sums_over_their_taps() {
        let numbers = |count: usize, step: f64| (0..count).map(|i| (i as f64 * step).sin()).collect::<Vec<_>>();
        for (k, stride, padding) in
            [(3, 1, Padding::Same), (2, 1, Padding::Same), (3, 2, Padding::Same), (1, 2, Padding::Valid)]
        {
            let weights = numbers(4 * 3 * k * k, 0.7);
            let filters = Filters::new([4, 3, k, k], weights, numbers(4, 0.3), stride, padding).unwrap();
            for shape in [[3, 5, 7], [3, 1, 1], [3, 8, 2]] {
                let image = Image::new(shape, numbers(shape.iter().product(), 1.3)).unwrap();
                let got = filters.apply(&image).unwrap();
                let ([_, height, width], axes) = (got.shape(), filters.axes(shape));
                for (at, value) in got.values().iter().enumerate() {
                    let (filter, pixel) = (at / width / height, [at / width % height, at % width]);
                    let read = |[channel, dy, dx]: [usize; 3]| {
                        let (y, x) = (axes[0].read(pixel[0], dy)?, axes[1].read(pixel[1], dx)?);
                        Some(image.values()[(channel * shape[1] + y) * shape[2] + x])
                    };
                    let sum: f64 = filters.taps(filter).map(|(w, at)| w * read(at).unwrap_or(0.0)).sum();
                    assert!((value - sum - filters.bias[filter]).abs() < 1e-12, "{k} {stride} {shape:?} {at}");
                }
            }
        }
    }
}
