//! The lines that a pass of a transform visits.

use crate::layout::Line;
use std::ops::Range;

/// A part of a forward transform: the passes over several blocks on a strip, given by its first column, or those within a
/// block, given by its number.
#[derive(Clone, Copy)]
pub(super) enum TransformPart {
    Strip(usize),
    Block(usize),
}

/// The lines that one pass visits: rows `stride` lines apart, of which it visits some columns.
pub(super) struct Rows {
    /// Lines from one row to the next.
    pub(super) stride: usize,
    /// Lines of each row that are visited.
    pub(super) columns: Range<usize>,
}

impl Rows {
    /// Whole rows of `stride` lines.
    #[inline]
    pub(super) fn all(stride: usize) -> Self {
        Self { stride, columns: 0..stride }
    }
}

/// The lines of some columns in each of the four quarters of a group.
#[inline]
pub(super) fn quarters(
    group: &mut [Line],
    stride: usize,
    columns: Range<usize>,
) -> impl Iterator<Item = [&mut Line; 4]> {
    let (low, high) = group.split_at_mut(2 * stride);
    let ((a, b), (c, d)) = (low.split_at_mut(stride), high.split_at_mut(stride));
    let [a, b, c, d] = [a, b, c, d].map(|row| row[columns.clone()].iter_mut());
    a.zip(b).zip(c.zip(d)).map(|((a, b), (c, d))| [a, b, c, d])
}
