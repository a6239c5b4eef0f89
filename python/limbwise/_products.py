"""Products of matrices and convolutions.

A product repeats one factor along a new axis, multiplies place by place and sums: one level, and as many rotations as the
summed axis has bits. Where that would take many ciphertexts, a map by diagonals takes one with more rotations.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from limbwise import _moves
from limbwise.errors import DtypeError, ShapeError
from limbwise.layout import Layout, power_of_two

if TYPE_CHECKING:
    from limbwise.array import EncryptedArray

Clear = npt.NDArray[Any]

# Ciphertexts of a product place by place from which on a map by diagonals is cheaper.
MANY = 8


def _check(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    if not left or not right:
        raise ShapeError(f"matrix product of shapes {left} and {right}: numbers are multiplied by *")
    inner = right[-2] if len(right) > 1 else right[0]
    if left[-1] != inner or len(left) > 2 or len(right) > 2:
        raise ShapeError(
            f"matrix product of shapes {left} and {right}: wanted vectors or matrices, the last axis of the left as long "
            "as the first of the right"
        )


def matmul(x: EncryptedArray, other: EncryptedArray | Clear) -> EncryptedArray:
    """Return ``x @ other``."""
    _check(x.shape, other.shape)
    if isinstance(other, np.ndarray):
        matrix = other if other.ndim == 2 else other[:, None]
        product = contract(x, x.ndim - 1, matrix)
        return product if other.ndim == 2 else product.reshape(product.shape[:-1])
    left = x.reshape((*x.shape, 1)) if other.ndim == 2 else x
    return (left * other).sum(x.ndim - 1)


def clear_matmul(matrix: Clear, x: EncryptedArray) -> EncryptedArray:
    """Return ``matrix @ x``."""
    _check(matrix.shape, x.shape)
    rows = matrix if matrix.ndim == 2 else matrix[None, :]
    product = contract(x, 0, rows.T)  # the other axes of x, then the rows
    order = (product.ndim - 1, *range(product.ndim - 1))
    product = product.transpose(*order)
    return product if matrix.ndim == 2 else product.reshape(product.shape[1:])


def contract(x: EncryptedArray, axis: int, matrix: Clear) -> EncryptedArray:
    """Contract an axis with the rows of a matrix (axis × p): the axis is removed, the last has length p."""
    shape = (*x.shape, matrix.shape[1])
    layout = x._layout.squeezed_into((*x.shape, 1)).broadcast(shape, x._context.slots)
    if layout.batch > MANY and matrix.dtype.kind == "f":
        return _by_map(x, axis, matrix)
    sides = [1] * len(shape)
    sides[axis], sides[-1] = matrix.shape
    return (x.reshape((*x.shape, 1)) * matrix.reshape(sides)).sum(axis)


def _by_map(x: EncryptedArray, axis: int, matrix: Clear) -> EncryptedArray:
    """Return :func:`contract` by a linear map, folded if the axis is the topmost of one message. Source: JVC18 §4."""
    n, p = matrix.shape
    layout, most = x._layout, x._context.slots
    stride, extent = layout.strides[axis], layout.extents[axis]
    rest = [i for i in range(x.ndim) if i != axis]
    shape = (*(x.shape[i] for i in rest), p)
    width = power_of_two(p)
    if layout.batch == 1 and stride * extent == layout.slots and width < extent and not layout.dead:
        strides = (*(layout.strides[i] for i in rest), stride)
        extents = (*(layout.extents[i] for i in rest), width if p > 1 else 1)
        places = np.arange(layout.slots, dtype=np.int64)
        part, lane = places // stride, places % stride
        outputs, inputs, weights = [], [], []
        for diagonal in range(width):
            column = (part + diagonal) % extent
            row = part % width
            kept = (column < n) & (row < p)
            outputs.append(places[kept])
            inputs.append(column[kept] * stride + lane[kept])
            weights.append(matrix[column[kept], row[kept]])
        target = Layout(shape, strides, extents, 1, 1).within(most)
        entries = np.concatenate(outputs), np.concatenate(inputs), np.concatenate(weights)
        return _moves.linear(x, target, *entries, folds=(stride * width, extent // width))
    target = Layout.of(shape, most)
    source = np.moveaxis(layout.index(), axis, -1)[..., None, :]  # rest × 1 × n
    goal = target.index()[..., None]  # rest × p × 1
    taken, there, factors = np.broadcast_arrays(source, goal, matrix.T)
    return _moves.linear(x, target, there.reshape(-1), taken.reshape(-1), factors.reshape(-1))


def conv2d(
    x: EncryptedArray,
    filters: npt.ArrayLike,
    *,
    bias: npt.ArrayLike | None = None,
    stride: int = 1,
    padding: str = "same",
) -> EncryptedArray:
    """Convolve encrypted images with clear filters.

    Args:
        x: channels × height × width.
        filters: output channels × channels × height × width.
        bias: a number for each output channel.
        stride: pixels from a result to the next.
        padding: ``"same"`` puts zeros around, so that stride 1 keeps the size; ``"valid"`` does not.
    """
    weights = x._clear(filters)
    if weights.dtype.kind != "f":
        raise DtypeError("complex filters: convolve with real and imaginary parts apart")
    if x.ndim != 3 or weights.ndim != 4 or weights.shape[1] != x.shape[0]:
        raise ShapeError(
            f"convolution of {x.shape} with filters {weights.shape}: wanted channels × height × width, "
            "and output channels × the same channels × height × width"
        )
    if padding not in ("same", "valid") or stride < 1:
        raise ShapeError(f"padding {padding!r} with stride {stride}: choose 'same' or 'valid', and a stride from 1")
    most, layout = x._context.slots, x._layout
    kernel = weights.shape[2:]
    before = [(k - 1) // 2 if padding == "same" else 0 for k in kernel]
    spans = [n if padding == "same" else n - k + 1 for n, k in zip(x.shape[1:], kernel, strict=True)]
    if min(spans) < 1:
        raise ShapeError(f"filters of {kernel} do not fit images of {x.shape[1:]} without padding")
    shape = (weights.shape[0], *(-(-n // stride) for n in spans))
    target = _convolved(layout, shape, stride, most)
    source, goal = layout.index(), target.index()
    outputs, inputs, values = [], [], []
    for dy in range(kernel[0]):
        for dx in range(kernel[1]):
            rows = np.arange(shape[1]) * stride + dy - before[0]
            columns = np.arange(shape[2]) * stride + dx - before[1]
            up = (rows >= 0) & (rows < x.shape[1])
            across = (columns >= 0) & (columns < x.shape[2])
            taken = source[:, rows[up]][:, :, columns[across]]  # channels × rows × columns
            there = goal[:, up][:, :, across]  # output channels × rows × columns
            every = np.broadcast_arrays(there[:, None], taken[None], weights[:, :, dy, dx][:, :, None, None])
            outputs.append(every[0].reshape(-1))
            inputs.append(every[1].reshape(-1))
            values.append(every[2].reshape(-1))
    result = _moves.linear(x, target, np.concatenate(outputs), np.concatenate(inputs), np.concatenate(values))
    if bias is None:
        return result
    added = x._clear(bias)
    if added.shape != (shape[0],):
        raise ShapeError(f"a bias of shape {added.shape} for {shape[0]} output channels: give a number for each")
    return result + added[:, None, None]


def _convolved(layout: Layout, shape: tuple[int, ...], stride: int, most: int) -> Layout:
    """Return the layout of results: that of their pixels if they fit, for few diagonals; else row-major."""
    one = power_of_two(stride) == stride and all(layout.extents[i] > stride for i in (1, 2)) and layout.extents[0] > 1
    fits = one and all(n <= e // stride for n, e in zip(shape[1:], layout.extents[1:], strict=True))
    block = layout.extents[1] * layout.extents[2]
    if not fits or layout.dead or layout.strides[1:] != (layout.extents[2], 1) or layout.strides[0] != block:
        return Layout.of(shape, most)
    strides = (block, layout.strides[1] * stride, stride)
    extents = (power_of_two(shape[0]), layout.extents[1] // stride, layout.extents[2] // stride)
    axes = [(n, s if n > 1 else 1, e if n > 1 else 1) for n, s, e in zip(shape, strides, extents, strict=True)]
    used = {s: e for _, s, e in axes if e > 1}
    dead, place = [], 1
    while place < block:
        if place in used:
            place *= used[place]
        else:
            dead.append((place, 2))
            place *= 2
    target = Layout(shape, tuple(a[1] for a in axes), tuple(a[2] for a in axes), 1, 1, tuple(dead))
    return replace(target, clean=True).within(most)
