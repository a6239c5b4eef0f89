//! Handwritten digits as one-bit images.

use super::network::{NnError, SIDE};
use crate::data::idx::Images;

/// Bytes of a shipped digit: its label, then one bit per pixel, row by row, least significant bit first.
const RECORD: usize = 1 + SIDE * SIDE / 8;

/// One-bit images with their labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digits {
    /// Bits of each image, row by row.
    pub images: Vec<Vec<u64>>,
    pub labels: Vec<u8>,
}

impl Digits {
    /// Thresholds gray images: a pixel is 1 from half of white upwards.
    ///
    /// # Errors
    /// [`NnError::Image`] unless the size is 28×28.
    pub fn new(images: &Images) -> Result<Self, NnError> {
        if let Some(at) = images.pixels.iter().position(|image| image.len() != SIDE * SIDE) {
            return Err(NnError::Image { at: at + 1, got: images.pixels[at].len() });
        }
        let bits = |image: &Vec<f64>| image.iter().map(|&p| u64::from(p > 0.5)).collect();
        Ok(Self { images: images.pixels.iter().map(bits).collect(), labels: images.labels.clone() })
    }

    /// The first of the shipped images: MNIST's test images from number 8000 on, none of them used in training.
    ///
    /// # Errors
    /// [`NnError::Shipped`] if more are requested than are shipped.
    pub fn shipped(count: usize) -> Result<Self, NnError> {
        Self::shipped_from(0, count)
    }

    /// The same without the first `skip`.
    pub(super) fn shipped_from(skip: usize, count: usize) -> Result<Self, NnError> {
        let records = include_bytes!("../../data/mnist_sample.bits").chunks_exact(RECORD);
        if skip.saturating_add(count) > records.len() {
            return Err(NnError::Shipped { got: skip.saturating_add(count), shipped: records.len() });
        }
        let bit = |bits: &[u8], p: usize| u64::from(bits[p / 8] >> (p % 8) & 1);
        let image = |record: &[u8]| (0..SIDE * SIDE).map(|p| bit(&record[1..], p)).collect();
        let records = records.skip(skip).take(count);
        Ok(Self { images: records.clone().map(image).collect(), labels: records.map(|r| r[0]).collect() })
    }
}
