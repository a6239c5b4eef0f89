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
    try:
        np.broadcast_shapes(left[:-2], right[:-2])
    except ValueError:
        inner = -1
    if left[-1] != inner:
        raise ShapeError(
            f"matrix product of shapes {left} and {right}: wanted vectors or matrices, the last axis of the left as long "
            "as the first of the right, or stacks of matrices, as many in each or one"
        )


def matmul(x: EncryptedArray, other: EncryptedArray | Clear) -> EncryptedArray:
    """Return ``x @ other``."""
    _check(x.shape, other.shape)
    if isinstance(other, np.ndarray) and other.ndim <= 2:
        matrix = other if other.ndim == 2 else other[:, None]
        product = contract(x, x.ndim - 1, matrix)
        return product if other.ndim == 2 else product.reshape(product.shape[:-1])
    left = x.reshape((*x.shape, 1)) if other.ndim >= 2 else x
    right = other if other.ndim <= 2 else other.reshape((*other.shape[:-2], 1, *other.shape[-2:]))
    if x.ndim == 1 and other.ndim > 2:
        return (left * other).sum(-2)
    return (left * right).sum(-2 if other.ndim >= 2 else -1)


def clear_matmul(matrix: Clear, x: EncryptedArray) -> EncryptedArray:
    """Return ``matrix @ x``."""
    _check(matrix.shape, x.shape)
    if matrix.ndim > 2:
        right = x.reshape((*x.shape[:-2], 1, *x.shape[-2:])) if x.ndim >= 2 else x
        return (right * (matrix[..., None] if x.ndim >= 2 else matrix)).sum(-2 if x.ndim >= 2 else -1)
    rows = matrix if matrix.ndim == 2 else matrix[None, :]
    product = contract(x, max(x.ndim - 2, 0), rows.T)  # the other axes of x, then the rows
    if x.ndim >= 2:
        order = (*range(product.ndim - 2), product.ndim - 1, product.ndim - 2)
        product = product.transpose(*order)
    if matrix.ndim == 2:
        return product
    return product.reshape((*product.shape[:-2], product.shape[-1]) if x.ndim >= 2 else ())


def dot(a: Any, b: Any) -> Any:
    """Return the product as ``numpy.dot``: the last axis of the left with the last but one of the right."""
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    if a.ndim <= 2 and b.ndim <= 2:
        return a @ b
    return tensordot(a, b, ([a.ndim - 1], [max(b.ndim - 2, 0)]))


def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """Return the sum of products over axes of both, as ``numpy.tensordot``."""
    if isinstance(axes, (int, np.integer)):
        axes = range(a.ndim - axes, a.ndim), range(axes)
    pairs = [(one,) if isinstance(one, (int, np.integer)) else tuple(one) for one in axes]
    if len(pairs) != 2 or len(pairs[0]) != len(pairs[1]):
        raise ShapeError(f"np.tensordot: axes {axes!r}: give a number, or as many of the left as of the right")
    left, right = (_moves.normal_axes(one, x.ndim) for one, x in zip(pairs, (a, b), strict=True))
    if [a.shape[i] for i in left] != [b.shape[i] for i in right]:
        raise ShapeError(f"np.tensordot of shapes {a.shape} and {b.shape} over axes {axes}: their lengths differ")
    names = list(range(a.ndim))
    others = iter(range(a.ndim, a.ndim + b.ndim))
    theirs = [left[right.index(i)] if i in right else next(others) for i in range(b.ndim)]
    kept = [n for n in names if n not in left] + [n for n in theirs if n >= a.ndim]
    return contracted([(a, names), (b, theirs)], kept)


def inner(a: Any, b: Any) -> Any:
    """Return sums of products over the last axes of both, as ``numpy.inner``."""
    return a * b if a.ndim == 0 or b.ndim == 0 else tensordot(a, b, ([a.ndim - 1], [b.ndim - 1]))


def outer(a: Any, b: Any) -> Any:
    """Return all products of the values of both, as ``numpy.outer``."""
    return a.reshape((a.size, 1)) * b.reshape((1, b.size))


def einsum(subscripts: str, *operands: Any, **given: Any) -> Any:
    """Return the sum of products that the subscripts say, of one array or two, as ``numpy.einsum``."""
    given.pop("optimize", None)
    if given:
        raise DtypeError(f"np.einsum of encrypted arrays takes no {', '.join(given)}: leave it out")
    if not isinstance(subscripts, str) or len(operands) not in (1, 2):
        raise ShapeError("np.einsum of encrypted arrays: subscripts as text, then one array or two")
    left, arrow, result = subscripts.replace(" ", "").partition("->")
    letters = left.split(",")
    if not arrow:
        once = (letter for letter in set(left) - {",", "."} if left.count(letter) == 1)
        result = "..." * ("..." in left) + "".join(sorted(once))
    wrong = ShapeError(
        f"np.einsum({subscripts!r}) of shapes {', '.join(str(x.shape) for x in operands)}: a letter for each axis, or ... for "
        "some, none twice in one array (np.diagonal takes a diagonal)"
    )
    if len(letters) != len(operands):
        raise wrong
    # Axes under an ellipsis are counted from the last one: below zero, where no letter is.
    hidden = [x.ndim - len(text.replace("...", "")) for x, text in zip(operands, letters, strict=True)]
    named = [_named(text, count) for text, count in zip(letters, hidden, strict=True)]
    kept = _named(
        result, max(h for h, text in zip(hidden, letters, strict=True) if "..." in text) if "..." in left else 0
    )
    lengths: dict[int, int] = {}
    for x, names in zip(operands, named, strict=True):
        if len(names) != x.ndim or len(set(names)) != x.ndim:
            raise wrong
        for name, n in zip(names, x.shape, strict=True):
            known = lengths.setdefault(name, n)
            if known != n and (name >= 0 or 1 not in (known, n)):
                raise wrong
    if not set(kept) <= set(lengths) or len(set(kept)) != len(kept):
        raise wrong
    return contracted(list(zip(operands, named, strict=True)), kept)


def _named(text: str, hidden: int) -> list[int]:
    """Return a number for each axis that subscripts name: letters by their codes, those under an ellipsis below zero."""
    before, dots, behind = text.partition("...")
    return (
        [ord(letter) for letter in before] + list(range(-hidden, 0)) * bool(dots) + [ord(letter) for letter in behind]
    )


def contracted(terms: list[tuple[Any, list[int]]], kept: list[int]) -> Any:
    """Return the sum over all axes but those kept of the product of one array or two, whose axes have names."""
    if len(terms) == 2:
        for (x, names), (matrix, sides) in (terms, terms[::-1]):
            shared = [name for name in names if name in sides]
            plain = isinstance(matrix, np.ndarray) and matrix.ndim == 2 and len(shared) == 1 and shared[0] not in kept
            if plain and set(kept) == {*names, *sides} - {*shared}:
                by = matrix if sides[0] == shared[0] else matrix.T
                product = contract(x, names.index(shared[0]), by)
                order = [*(name for name in names if name != shared[0]), *(name for name in sides if name != shared[0])]
                return product.transpose(*(order.index(name) for name in kept))
    every = [*kept, *dict.fromkeys(name for _, names in terms for name in names if name not in kept)]
    aligned = []
    for x, names in terms:
        order = [names.index(name) for name in every if name in names]
        lengths = dict(zip(names, x.shape, strict=True))
        aligned.append(x.transpose(*order).reshape([lengths.get(name, 1) for name in every]))
    product = aligned[0] if len(aligned) == 1 else aligned[0] * aligned[1]
    gone = tuple(range(len(kept), len(every)))
    return product.sum(gone) if gone else product


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
