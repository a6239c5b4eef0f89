//! Between arrays in Python's memory and the slots of messages: read where they are, into what the encoder takes, and
//! written where they are to be. No copy of an array is made.

use crate::error::shape_error;
use limbwise::Complex64;
use pyo3::{
    buffer::PyBuffer,
    prelude::{Bound, PyAny, PyResult, Python},
};
use std::cell::Cell;

/// One axis of an array in slots: the index at slot s is `s / stride mod extent`; from `length` on there is nothing.
pub(crate) type Axis = (usize, usize, usize, usize);

/// How an array lies: axes as `(stride, extent, length, step)`, where `step` is in values of the array, and the messages.
pub(crate) struct Lie {
    pub(crate) axes: Vec<Axis>,
    pub(crate) slots: usize,
    pub(crate) batch: usize,
}

/// The numbers of a buffer where Python keeps them.
#[expect(unsafe_code, reason = "PyO3 has no safe way to read an array in its place: a copy of each would be the price")]
fn cells<'b>(buffer: &'b PyBuffer<f64>, _locked: Python<'b>) -> Option<&'b [Cell<f64>]> {
    let place = buffer.as_slice_ptr()?;
    // SAFETY: the buffer keeps the memory alive, aligned and of this length while it is borrowed; the interpreter's lock is
    // held, so no Python code writes to it meanwhile; cells have the layout of their contents and promise nothing of them.
    Some(unsafe { &*(place.as_ptr() as *const [Cell<f64>]) })
}

pub(crate) fn numbers<R>(array: &Bound<'_, PyAny>, read: impl FnOnce(&[Cell<f64>]) -> PyResult<R>) -> PyResult<R> {
    let buffer = PyBuffer::<f64>::get(array)?;
    let cells = cells(&buffer, array.py());
    read(cells.ok_or_else(|| shape_error("an array whose numbers do not lie one after another"))?)
}

/// The messages of an array times a factor. What no axis covers repeats.
pub(crate) fn pack(array: &Bound<'_, PyAny>, complex: bool, lie: &Lie, factor: f64) -> PyResult<Vec<Vec<Complex64>>> {
    numbers(array, |data| {
        let count = data.len() / if complex { 2 } else { 1 };
        let last: usize = lie.axes.iter().map(|&(_, _, length, step)| length.saturating_sub(1) * step).sum();
        let empty = |&(stride, extent, length, _): &Axis| stride == 0 || extent == 0 || length == 0;
        if lie.axes.iter().any(empty) || last >= count {
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
                true => Complex64::new(data[2 * at].get(), data[2 * at + 1].get()) * factor,
                false => (data[at].get() * factor).into(),
            }
        };
        let message = |number: usize| (0..lie.slots).map(|slot| value(number * lie.slots + slot)).collect();
        Ok((0..lie.batch).map(message).collect())
    })
}

/// Writes the array of messages, row after row, into a buffer of its size.
pub(crate) fn unpack(messages: &[Vec<Complex64>], array: &Bound<'_, PyAny>, complex: bool, lie: &Lie) -> PyResult<()> {
    let buffer = PyBuffer::<f64>::get(array)?;
    let out = cells(&buffer, array.py()).filter(|_| !buffer.readonly());
    let out = out.ok_or_else(|| shape_error("an array that cannot be written to, or whose numbers lie apart"))?;
    let width = if complex { 2 } else { 1 };
    let size: usize = lie.axes.iter().map(|axis| axis.2).product();
    if out.len() != size * width {
        return Err(shape_error("an array of another size than the layout's"));
    }
    for (at, place) in out.chunks_exact(width).enumerate() {
        let (mut rest, mut slot) = (at, 0);
        for &(stride, _, length, _) in lie.axes.iter().rev() {
            slot += rest % length * stride;
            rest /= length;
        }
        let row =
            messages.get(slot / lie.slots).ok_or_else(|| shape_error("a layout that reaches beyond the messages"))?;
        let z = row[slot % lie.slots];
        place[0].set(z.re);
        if complex {
            place[1].set(z.im);
        }
    }
    Ok(())
}
