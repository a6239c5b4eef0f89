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
        let side = |size: usize, k: usize| match self.padding {
            Padding::Same => Some(size.div_ceil(self.stride)),
            Padding::Valid => size.checked_sub(k).map(|last| last / self.stride + 1),
        };
        match (image[0] == channels, side(image[1], ky), side(image[2], kx)) {
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

    /// The row that a tap reads for a row of the output, if the image has it; the same for columns.
    fn read(&self, output: usize, tap: usize, k: usize, size: usize) -> Option<usize> {
        let before = if self.padding == Padding::Same { (k - 1) / 2 } else { 0 };
        (output * self.stride + tap).checked_sub(before).filter(|&at| at < size)
    }

    /// The output columns, from and until, whose tap reads a column that the image has.
    fn read_within(&self, tap: usize, [size, width]: [usize; 2]) -> [usize; 2] {
        let reads = |x: &usize| self.read(*x, tap, self.shape[3], size).is_some();
        let from = (0..width).find(reads).unwrap_or(width);
        [from, (from..width).rfind(reads).map_or(from, |last| last + 1)]
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
        let mut windows = vec![0.0; channels * ky * kx * height * width];
        for (at, into) in windows.chunks_exact_mut(width.max(1)).enumerate() {
            let (y, tap) = (at % height, at / height);
            let ([from, until], dx) = (self.read_within(tap % kx, [columns, width]), tap % kx);
            let source = |y| Some((y, self.read(from, dx, kx, columns).filter(|_| from < until)?));
            let Some((y, x)) = self.read(y, tap / kx % ky, ky, rows).and_then(source) else { continue };
            let pixels = image.values()[(tap / kx / ky * rows + y) * columns..][..columns][x..].iter();
            into[from..until].iter_mut().zip(pixels.step_by(self.stride)).for_each(|(value, pixel)| *value = *pixel);
        }
        windows
    }
}

fn matrix(shape: [usize; 2], values: &[f64]) -> ArrayView2<'_, f64> {
    ArrayView2::from_shape(shape, values).expect("as many values as rows times columns")
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
        for filter in 0..output.channels {
            let runs = builder.runs(&output, filter);
            for (weight, [channel, dy, dx]) in filters.taps(filter) {
                let (item, first) = input.place(channel, 0, 0);
                let [from, until] = filters.read_within(dx, [image[2], output.width]);
                for run in &runs {
                    let x = run.columns.start.max(from)..run.columns.end.min(until);
                    let row = filters.read(run.row, dy, filters.shape[2], image[1]).filter(|_| !x.is_empty());
                    let column = filters.read(x.start, dx, filters.shape[3], image[2]);
                    let (Some(y), Some(column)) = (row, column) else { continue };
                    let read =
                        Read { item, offset: first + input.within(y, column), step: input.within(0, filters.stride) };
                    builder.add_run(run, x, read, weight);
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
                let [_, height, width] = got.shape();
                for (at, value) in got.values().iter().enumerate() {
                    let (filter, pixel) = (at / width / height, [at / width % height, at % width]);
                    let read = |[channel, dy, dx]: [usize; 3]| {
                        let (y, x) =
                            (filters.read(pixel[0], dy, k, shape[1])?, filters.read(pixel[1], dx, k, shape[2])?);
                        Some(image.values()[(channel * shape[1] + y) * shape[2] + x])
                    };
                    let sum: f64 = filters.taps(filter).map(|(w, at)| w * read(at).unwrap_or(0.0)).sum();
                    assert!((value - sum - filters.bias[filter]).abs() < 1e-12, "{k} {stride} {shape:?} {at}");
                }
            }
        }
    }
}
