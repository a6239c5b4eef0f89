//! Clear images of several channels, and the layout of an encrypted image in slots.

use super::{Spread, TensorError, matrix::check};
use crate::error::Result;
use num_complex::Complex64;

/// Channels × height × width real values, in this order.
#[derive(Clone, Debug, PartialEq)]
pub struct Image {
    channels: usize,
    height: usize,
    width: usize,
    values: Vec<f64>,
}

impl Image {
    /// An image of `shape` (channels, height, width) from its values.
    ///
    /// # Errors
    /// [`TensorError::Shape`] for another number of values, or none;
    /// [`EncodeError::NotFinite`](crate::error::EncodeError::NotFinite).
    pub fn new(shape: [usize; 3], values: Vec<f64>) -> Result<Self> {
        check("an image", &values, &shape)?;
        let [channels, height, width] = shape;
        Ok(Self { channels, height, width, values })
    }

    /// Channels, height, width.
    #[must_use]
    pub fn shape(&self) -> [usize; 3] {
        [self.channels, self.height, self.width]
    }

    /// All values: channels, then rows, then columns.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The value of one pixel.
    ///
    /// # Panics
    /// If the pixel is outside the image.
    #[must_use]
    pub fn at(&self, channel: usize, y: usize, x: usize) -> f64 {
        assert!(y < self.height && x < self.width, "({y}, {x}) of {}×{}", self.height, self.width);
        self.values[(channel * self.height + y) * self.width + x]
    }

    /// The image cut into phases, in the shape that [`Filters::in_phases`](super::Filters::in_phases) gives: channel
    /// (c·s + i)·s + j holds the pixels of channel c whose row is i and whose column is j modulo the stride s. What lies
    /// outside the image is zero, and pixels that no filter reads are left out.
    ///
    /// # Errors
    /// [`TensorError::Shape`] for another number of channels, or a stride of 0.
    pub fn in_phases(&self, stride: usize, shape: [usize; 3]) -> Result<Self> {
        let [phases, height, width] = shape;
        if stride == 0 || phases != self.channels * stride * stride {
            let wanted = format!("{} channels times the square of a stride", self.channels);
            return Err(TensorError::shape("phases of an image", format!("{phases}, stride {stride}"), wanted).into());
        }
        let pixel = |at: usize| {
            let (phase, y, x) = (at / width / height, at / width % height, at % width);
            let (channel, i, j) = (phase / stride / stride, phase / stride % stride, phase % stride);
            let (y, x) = (y * stride + i, x * stride + j);
            if y < self.height && x < self.width { self.at(channel, y, x) } else { 0.0 }
        };
        Self::new(shape, (0..phases * height * width).map(pixel).collect())
    }
}

/// Layout of an encrypted image in slots.
///
/// Channels lie in blocks of equal size. A block is a raster of rows of `pitch` slots; neighboring pixels are `gap`
/// slots and `gap` raster rows apart. The gaps that a stride leaves hold further channels, up to `gap²` per block
/// (multiplexed packing \[LLL22\]), or nothing. Blocks may repeat as [`Spread`] describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageLayout {
    /// Number of channels.
    pub channels: usize,
    /// Pixels in a column.
    pub height: usize,
    /// Pixels in a row.
    pub width: usize,
    /// Distance between neighboring pixels, in slots and in raster rows.
    pub gap: usize,
    /// Slots in a raster row.
    pub pitch: usize,
    /// Channels in one block, 1 … gap².
    pub per_block: usize,
    /// Arrangement of the blocks; its unit is the slots of one block.
    pub blocks: Spread,
}

impl ImageLayout {
    /// The layout of an image of `shape` (channels, height, width): channel after channel, row after row, without gaps
    /// or repetition.
    #[must_use]
    pub fn dense(shape: [usize; 3]) -> Self {
        let [channels, height, width] = shape;
        let blocks = Spread::once(channels, height * width);
        Self { channels, height, width, gap: 1, pitch: width, per_block: 1, blocks }
    }

    /// The same channels in rasters with more and longer rows: room for strides that do not divide the size.
    ///
    /// # Errors
    /// [`TensorError::Shape`] for a raster that is smaller than the image.
    pub fn in_raster(self, rows: usize, pitch: usize) -> Result<Self> {
        Self { pitch, blocks: Spread { unit: rows * pitch, ..self.blocks }, ..self }.checked()
    }

    /// The layout after a layer that keeps every `stride`th pixel in place: the gap grows, the raster stays, and each
    /// channel has its own block. `shape` is that of the result: channels, height, width.
    ///
    /// # Errors
    /// [`TensorError::Shape`] if the pixels leave the raster.
    pub fn strided(self, stride: usize, shape: [usize; 3]) -> Result<Self> {
        let [channels, height, width] = shape;
        let blocks = Spread::once(channels, self.blocks.unit);
        Self { channels, height, width, gap: self.gap * stride, per_block: 1, blocks, ..self }.checked()
    }

    /// The same layout with every gap filled by channels.
    ///
    /// # Errors
    /// [`TensorError::Shape`] if the raster ends before the last gap; choose a larger one.
    pub fn multiplexed(self) -> Result<Self> {
        let per_block = self.gap * self.gap;
        let blocks = Spread::once(self.channels.div_ceil(per_block), self.blocks.unit);
        Self { per_block, blocks, ..self }.checked()
    }

    /// The same layout with its blocks repeated.
    ///
    /// # Errors
    /// [`TensorError::Shape`] for a period that is shorter than the blocks.
    pub fn repeated(self, period: usize, extent: usize) -> Result<Self> {
        Self { blocks: Spread { period, extent, ..self.blocks }, ..self }.checked()
    }

    pub(super) fn checked(self) -> Result<Self> {
        let Self { channels, height, width, gap, pitch, per_block, blocks } = self;
        let what = "the layout of an image";
        if [channels, height, width, gap, pitch, per_block, blocks.unit].contains(&0) {
            return Err(TensorError::shape(what, format!("{self:?}"), "no size of 0").into());
        }
        // Only the last channel of a full block uses the last gap.
        let last = per_block.min(channels) - 1;
        let (rows, columns) = ((height - 1) * gap + last / gap + 1, (width - 1) * gap + last.min(gap - 1) + 1);
        let raster = [blocks.unit / pitch, pitch];
        if rows > raster[0] || columns > raster[1] || per_block > gap * gap {
            let got = format!("{per_block} channels a block of {rows}×{columns} slots in a raster of {raster:?}");
            return Err(TensorError::shape(what, got, "at most gap² channels in a raster at least as large").into());
        }
        if blocks.items != channels.div_ceil(per_block) || blocks.period < blocks.items || blocks.extent < blocks.items
        {
            let got = format!("{blocks:?} for {channels} channels, {per_block} a block");
            return Err(TensorError::shape(what, got, "every block once at least, and a period no shorter").into());
        }
        Ok(self)
    }

    /// Block of a pixel and its offset in the block.
    pub(super) fn place(&self, channel: usize, y: usize, x: usize) -> (usize, usize) {
        let (block, within) = (channel / self.per_block, channel % self.per_block);
        (block, within / self.gap * self.pitch + within % self.gap + self.within(y, x))
    }

    /// Slots from a channel's first pixel to another.
    pub(super) fn within(&self, y: usize, x: usize) -> usize {
        (y * self.pitch + x) * self.gap
    }

    /// The first slot of a pixel.
    #[must_use]
    pub fn slot(&self, channel: usize, y: usize, x: usize) -> usize {
        let (block, offset) = self.place(channel, y, x);
        block * self.blocks.unit + offset
    }

    /// Slots up to and including the last block.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.blocks.slots()
    }

    /// All pixels as channel, row, column.
    pub(super) fn pixels(&self) -> impl Iterator<Item = [usize; 3]> + use<> {
        let Self { channels, height, width, .. } = *self;
        (0..channels * height * width).map(move |at| [at / width / height, at / width % height, at % width])
    }

    /// The pixels of a channel as row and column, each with the slots of all its repetitions.
    pub(super) fn places_of(&self, channel: usize) -> impl Iterator<Item = ([usize; 2], usize)> + use<> {
        let (layout, width) = (*self, self.width);
        let pixels = (0..self.height * width).map(move |at| [at / width, at % width]);
        pixels.flat_map(move |[y, x]| layout.all_slots(channel, y, x).map(move |slot| ([y, x], slot)))
    }

    /// The slots of all repetitions of a pixel.
    pub(super) fn all_slots(&self, channel: usize, y: usize, x: usize) -> impl Iterator<Item = usize> + use<> {
        let (first, Spread { unit, period, extent, .. }) = (self.place(channel, y, x), self.blocks);
        (first.0..extent).step_by(period).map(move |block| block * unit + first.1)
    }

    /// The image packed into slots; gaps are zero.
    ///
    /// # Errors
    /// [`TensorError::Shape`] for an image of another shape, [`TensorError::TooLarge`] for too few slots.
    pub fn pack(&self, image: &Image, slots: usize) -> Result<Vec<Complex64>> {
        if image.shape() != [self.channels, self.height, self.width] {
            let wanted = format!("{:?}", [self.channels, self.height, self.width]);
            return Err(TensorError::shape("a packed image", format!("{:?}", image.shape()), wanted).into());
        }
        self.fits(slots)?;
        let mut packed = vec![Complex64::default(); slots];
        for [channel, y, x] in self.pixels() {
            self.all_slots(channel, y, x).for_each(|slot| packed[slot] = image.at(channel, y, x).into());
        }
        Ok(packed)
    }

    pub(super) fn fits(&self, slots: usize) -> Result<()> {
        if self.slots() <= slots {
            return Ok(());
        }
        let what = format!("an image of {} channels of {}×{}", self.channels, self.height, self.width);
        let next = "choose a larger ring (limbwise params show), or share the channels out over several ciphertexts";
        Err(TensorError::TooLarge { what, needed: self.slots(), slots, next }.into())
    }

    /// The image from decrypted slots: real parts of each pixel's first slot.
    ///
    /// # Errors
    /// [`TensorError::Shape`] for too few slots.
    pub fn unpack(&self, slots: &[Complex64]) -> Result<Image> {
        let values = self.pixels().map(|[channel, y, x]| slots.get(self.slot(channel, y, x)).map(|z| z.re));
        let Some(values) = values.collect() else {
            let (got, wanted) = (format!("{} slots", slots.len()), format!("{}", self.slots()));
            return Err(TensorError::shape("a decrypted image", got, wanted).into());
        };
        Image::new([self.channels, self.height, self.width], values)
    }
}
