//! Between arrays in Python's memory and the slots of messages: the only copy there is, into what the encoder takes.

use crate::error::shape_error;
use limbwise::Complex64;
use pyo3::{
    buffer::PyBuffer,
    prelude::{Bound, PyAny, PyResult},
};

/// One axis of an array in slots: the index at slot s is `s / stride mod extent`; from `length` on there is nothing.
pub(crate) type Axis = (usize, usize, usize, usize);

/// How an array lies: axes as `(stride, extent, length, step)`, where `step` is in values of the array, and the messages.
pub(crate) struct Lie {
    pub(crate) axes: Vec<Axis>,
    pub(crate) slots: usize,
    pub(crate) batch: usize,
}

/// The messages of an array. What no axis covers repeats.
pub(crate) fn pack(array: &Bound<'_, PyAny>, complex: bool, lie: &Lie) -> PyResult<Vec<Vec<Complex64>>> {
    let data = PyBuffer::<f64>::get(array)?.to_vec(array.py())?;
    let width = if complex { 2 } else { 1 };
    let count = data.len() / width;
    let last: usize = lie.axes.iter().map(|&(_, _, length, step)| length.saturating_sub(1) * step).sum();
    if lie.axes.iter().any(|&(stride, extent, length, _)| stride == 0 || extent == 0 || length == 0) || last >= count {
        return Err(shape_error("an array without values, or a layout that reaches beyond it"));
    }
    let value = |slot: usize| {
        let mut at = 0;
        for &(stride, extent, length, step) in &lie.axes {
            let index = slot / stride % extent;
            if index >= length {
                return Complex64::default();
            }
            at += index * step;
        }
        match complex {
            true => Complex64::new(data[2 * at], data[2 * at + 1]),
            false => data[at].into(),
        }
    };
    Ok((0..lie.batch).map(|message| (0..lie.slots).map(|slot| value(message * lie.slots + slot)).collect()).collect())
}

/// Writes the array of messages, row after row, into a buffer of its size.
pub(crate) fn unpack(messages: &[Vec<Complex64>], array: &Bound<'_, PyAny>, complex: bool, lie: &Lie) -> PyResult<()> {
    let buffer = PyBuffer::<f64>::get(array)?;
    let width = if complex { 2 } else { 1 };
    let size: usize = lie.axes.iter().map(|axis| axis.2).product();
    let mut out = Vec::with_capacity(size * width);
    for at in 0..size {
        let (mut rest, mut slot) = (at, 0);
        for &(stride, _, length, _) in lie.axes.iter().rev() {
            slot += rest % length * stride;
            rest /= length;
        }
        let row =
            messages.get(slot / lie.slots).ok_or_else(|| shape_error("a layout that reaches beyond the messages"))?;
        let z = row[slot % lie.slots];
        out.push(z.re);
        out.extend(complex.then_some(z.im));
    }
    buffer.copy_from_slice(array.py(), &out)
}
