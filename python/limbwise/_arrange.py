"""Joining arrays, choosing between them, and sums and differences along an axis.

All of it is linear with public weights: one map by diagonals, one level, whatever the number of arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import comb
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from limbwise import _moves
from limbwise._products import contract
from limbwise.array import EncryptedArray
from limbwise.errors import DtypeError, ShapeError
from limbwise.layout import Layout

Piece = Any
Places = npt.NDArray[np.int64]

# Of a map that is made here: places and weights of more take over a gigabyte before anything is computed.
MOST_WEIGHTS = 1 << 24


def one_axis(axis: Any, ndim: int) -> int:
    """Return one axis as a number from 0."""
    if isinstance(axis, bool) or not isinstance(axis, (int, np.integer)):
        raise ShapeError(f"axis {axis!r}: give one whole number")
    return _moves.normal_axes(int(axis), ndim)[0]


def rearranged(function: Callable[..., Any]) -> Callable[..., EncryptedArray]:
    """Return a function of NumPy's that only puts values elsewhere or repeats them, for encrypted arrays.

    The function is asked where the values go: it is applied to the places of the array.
    """

    def of(a: Any, *args: Any, **kwargs: Any) -> EncryptedArray:
        if not isinstance(a, EncryptedArray):
            raise DtypeError(f"np.{function.__name__}: an encrypted argument after the first: only the array may be")
        if kwargs.get("out") is not None or any(isinstance(argument, np.ndarray) for argument in args[2:]):
            raise DtypeError(f"np.{function.__name__} of an encrypted array takes no out: leave it out")
        try:
            chosen = np.asarray(function(a._layout.index(), *args, **kwargs))
        except (ValueError, IndexError, TypeError) as error:
            raise ShapeError(f"np.{function.__name__} of shape {a.shape}: {error}") from None
        return _moves.pick(a, chosen)

    return of


def broadcast_to(a: EncryptedArray, shape: Any, subok: bool = False) -> EncryptedArray:
    """Return an array repeated along new axes and those of length 1; no words are copied."""
    wanted = _moves.numbers((shape,), "a shape")
    if any(n < 1 for n in wanted) or a._result_shape(wanted) != wanted:
        raise ShapeError(f"an array of shape {a.shape} repeats into {a._result_shape(wanted)}, not into {wanted}")
    layout = a._layout.broadcast(wanted, a._context.slots)
    if not a._layout.is_in(layout):
        return _moves.pick(a, np.broadcast_to(a._layout.index(), wanted))
    layout = replace(layout, clean=_moves.zero_padding(a._layout, layout))
    return a._with(_moves.placed(a, layout), layout)


def _first(pieces: Sequence[Piece]) -> EncryptedArray:
    return next(piece for piece in pieces if isinstance(piece, EncryptedArray))


def concatenate(
    arrays: Sequence[Piece], axis: int | None = 0, out: None = None, *, dtype: None = None, casting: str = "same_kind"
) -> EncryptedArray:
    """Join arrays along an axis; some of them may be clear."""
    if out is not None or dtype is not None:
        raise DtypeError("np.concatenate of encrypted arrays takes neither out nor dtype: leave them out")
    first = _first(arrays)
    pieces = [piece if isinstance(piece, EncryptedArray) else first._clear(piece) for piece in arrays]
    if axis is None:
        pieces, axis = [piece.reshape((piece.size,)) for piece in pieces], 0
        first = _first(pieces)
    if any(piece.ndim != first.ndim for piece in pieces) or first.ndim == 0:
        shapes = [tuple(piece.shape) for piece in pieces]
        raise ShapeError(
            f"np.concatenate of shapes {shapes}: as many axes in each, one at least; np.stack adds an axis"
        )
    along = one_axis(axis, first.ndim)
    if any(_without(piece.shape, along) != _without(first.shape, along) for piece in pieces):
        shapes = [tuple(piece.shape) for piece in pieces]
        raise ShapeError(f"np.concatenate of shapes {shapes}: all axes but axis {along} must be equal")
    ends = np.cumsum([piece.shape[along] for piece in pieces])
    shape = (*first.shape[:along], int(ends[-1]), *first.shape[along + 1 :])
    target = Layout.of(shape, first._context.slots)
    parts = np.split(target.index(), ends[:-1], along)
    clear, terms = None, []
    for piece, part, end in zip(pieces, parts, ends, strict=True):
        if isinstance(piece, EncryptedArray):
            first._same_context(piece, "concatenate")
            places = piece._layout.index().reshape(-1)
            terms.append(_moves.Term(piece, part.reshape(-1), places, np.ones(piece.size)))
        else:
            clear = np.zeros(shape, dtype=np.result_type(piece, np.float64)) if clear is None else clear
            clear = clear.astype(np.result_type(piece, clear), copy=False)
            np.moveaxis(clear, along, 0)[end - piece.shape[along] : end] = np.moveaxis(piece, along, 0)
    joined = _moves.summed(terms, target)
    return joined if clear is None else joined + clear


def _without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return shape[:axis] + shape[axis + 1 :]


def _shape(piece: Piece) -> tuple[int, ...]:
    return piece.shape if isinstance(piece, EncryptedArray) else np.shape(piece)


def stack(arrays: Sequence[Piece], axis: int = 0, out: None = None, **given: Any) -> EncryptedArray:
    """Join arrays of one shape along a new axis."""
    shape, given["out"] = _shape(arrays[0]), out
    if any(_shape(piece) != shape for piece in arrays):
        raise ShapeError("np.stack: arrays of different shapes: give all the same, or join them by np.concatenate")
    at = one_axis(axis, len(shape) + 1)
    wide = (*shape[:at], 1, *shape[at:])
    return concatenate([_reshaped(piece, wide) for piece in arrays], at, **given)


def _reshaped(piece: Piece, shape: tuple[int, ...]) -> Piece:
    return piece.reshape(shape) if isinstance(piece, EncryptedArray) else np.reshape(piece, shape)


def raised(least: int, behind: int, axis: int) -> Callable[..., EncryptedArray]:
    """Return vstack, hstack, dstack or column_stack: axes of length 1 are added to arrays that have few, then all are joined.

    Args:
        least: axes that each has at least.
        behind: of the axes added to a vector, those behind it.
        axis: along which they are joined.
    """

    def joined(tup: Sequence[Piece], **given: Any) -> EncryptedArray:
        pieces = []
        for piece in tup:
            shape = _shape(piece) or (1,)
            if len(shape) < least:
                tail = min(behind, least - len(shape))
                shape = (1,) * (least - len(shape) - tail) + shape + (1,) * tail
            pieces.append(_reshaped(piece, shape))
        return concatenate(pieces, min(axis, pieces[0].ndim - 1), **given)

    return joined


def where(condition: Any, x: Any = None, y: Any = None) -> EncryptedArray:
    """Choose by public booleans, or by an encrypted array of zeros and ones, as lw.compare and lw.equal give it."""
    if x is None or y is None:
        raise ShapeError("np.where of an encrypted condition alone: nobody here sees where it holds; give both values")
    x, y = (value if isinstance(value, EncryptedArray) else np.asarray(value) for value in (x, y))
    if isinstance(condition, EncryptedArray):
        return cast(EncryptedArray, condition * (x - y) + y)
    chosen = np.asarray(condition).astype(bool).astype(np.float64)
    return cast(EncryptedArray, x * chosen + y * (1.0 - chosen))


def cumsum(a: EncryptedArray, axis: int | None = None, dtype: None = None, out: None = None) -> EncryptedArray:
    """Return running sums along an axis, or of all values."""
    if dtype is not None or out is not None:
        raise DtypeError("np.cumsum of an encrypted array takes neither dtype nor out: leave them out")
    if axis is None:
        a, axis = a.ravel(), 0
    number = one_axis(axis, a.ndim)
    if a.shape[number] ** 2 > MOST_WEIGHTS:
        raise ShapeError(
            f"np.cumsum of {a.shape[number]} numbers: its map has a weight for each pair of them; reshape to rows and columns, "
            "sum along the rows, and add the sums of the rows before"
        )
    sums = contract(a, number, np.triu(np.ones((a.shape[number],) * 2)))
    order = [*range(number), a.ndim - 1, *range(number, a.ndim - 1)]
    return sums.transpose(*order)


def diff(a: EncryptedArray, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> EncryptedArray:
    """Return differences of neighbors along an axis, ``n`` times."""
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0:
        raise ShapeError(f"np.diff: n = {n!r}: give a whole number from 0")
    number = one_axis(axis, a.ndim)
    unset = (None, np._NoValue)
    more = [piece for piece in (prepend, append) if not any(piece is none for none in unset)]
    if more:
        raise DtypeError("np.diff of an encrypted array takes neither prepend nor append: join them by np.concatenate")
    length = a.shape[number] - int(n)
    if length < 1:
        raise ShapeError(f"np.diff: {n} differences of {a.shape[number]} values: nothing is left")
    index = np.moveaxis(a._layout.index(), number, 0)
    kept = [np.moveaxis(index[k : k + length], 0, number) for k in range(n + 1)]
    return weighted(a, [(places, float((-1) ** (n - k) * comb(n, k))) for k, places in enumerate(kept)])


def weighted(a: EncryptedArray, parts: Sequence[tuple[Places, float]]) -> EncryptedArray:
    """Return the sum of values of an array at places of one shape, each times its weight."""
    target = Layout.of(parts[0][0].shape, a._context.slots)
    outputs = np.tile(target.index().reshape(-1), len(parts))
    inputs = np.concatenate([places.reshape(-1) for places, _ in parts])
    weights = np.repeat([weight for _, weight in parts], target.size)
    return _moves.linear(a, target, outputs, inputs, weights)


def pad(array: EncryptedArray, pad_width: Any, mode: str = "constant", **given: Any) -> EncryptedArray:
    """Return an array with an edge of zeros or other numbers, or of its own values (edge, reflect, symmetric, wrap)."""
    index = array._layout.index()
    try:
        if mode in ("edge", "reflect", "symmetric", "wrap"):
            return _moves.pick(array, np.pad(index, pad_width, mode, **given))  # type: ignore[call-overload]
        if mode != "constant":
            raise ShapeError(f"np.pad: mode {mode!r}: choose constant, edge, reflect, symmetric or wrap")
        inside = np.pad(np.ones(array.shape), pad_width)
        around = np.pad(np.zeros(array.shape), pad_width, **given)
    except (ValueError, TypeError) as error:
        raise ShapeError(f"np.pad of shape {array.shape}: {error}") from None
    target = Layout.of(inside.shape, array._context.slots)
    outputs = target.index()[inside > 0]
    padded = _moves.linear(array, target, outputs, index.reshape(-1), np.ones(array.size))
    return padded + around if np.any(around) else padded


def trace(a: EncryptedArray, offset: int = 0, axis1: int = 0, axis2: int = 1, **given: Any) -> EncryptedArray:
    """Return the sum of a diagonal."""
    if any(value is not None for value in given.values()):
        raise DtypeError("np.trace of an encrypted array takes neither dtype nor out: leave them out")
    return rearranged(np.diagonal)(a, offset, axis1, axis2).sum(-1)


def average(
    a: EncryptedArray, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = False
) -> EncryptedArray:
    """Return the mean, with public weights."""
    kept = bool(keepdims) and keepdims is not np._NoValue
    if returned:
        raise DtypeError("np.average of an encrypted array returns no sum of weights: add up your weights")
    if weights is None:
        return a.mean(axis, kept)
    factors = a._clear(weights)
    axes = _moves.normal_axes(axis, a.ndim)
    if factors.shape != a.shape:
        if len(axes) != 1 or factors.shape != (a.shape[axes[0]],):
            raise ShapeError(f"np.average of shape {a.shape}: weights of shape {factors.shape}")
        factors = factors.reshape([-1 if i == axes[0] else 1 for i in range(a.ndim)])
    factors = np.broadcast_to(factors, a.shape)
    total = factors.sum(axes, keepdims=True)
    if np.any(total == 0):
        raise ShapeError("np.average: weights that add up to zero")
    scaled: EncryptedArray = a * (factors / total)
    return scaled.sum(axes, kept)


def convolve(a: Any, v: Any, mode: str = "full") -> EncryptedArray:
    """Return the convolution of two vectors, one of them clear: a map of as many diagonals as the clear one has values."""
    if isinstance(a, EncryptedArray) and isinstance(v, EncryptedArray):
        raise DtypeError("np.convolve of two encrypted arrays: one of them must be clear")
    x, kernel = (a, np.asarray(v)) if isinstance(a, EncryptedArray) else (v, np.asarray(a))
    kernel = x._clear(kernel)
    if x.ndim != 1 or kernel.ndim != 1 or kernel.size == 0 or kernel.dtype.kind != "f":
        raise ShapeError(f"np.convolve of shapes {x.shape} and {kernel.shape}: wanted two vectors of real numbers")
    n, m = x.size, kernel.size
    if n * m > MOST_WEIGHTS:
        raise ShapeError(
            f"np.convolve of {n} numbers with {m}: its map has a weight for each pair, at most {MOST_WEIGHTS}"
        )
    if mode not in ("full", "same", "valid"):
        raise ShapeError(f"np.convolve: mode {mode!r}: choose full, same or valid")
    length = {"full": n + m - 1, "same": max(n, m), "valid": abs(n - m) + 1}[mode]
    start = {"full": 0, "same": (min(n, m) - 1) // 2, "valid": min(n, m) - 1}[mode]
    at, by = np.meshgrid(np.arange(n), np.arange(m), indexing="ij")
    goal = at + by - start
    kept = (goal >= 0) & (goal < length)
    target = Layout.of((length,), x._context.slots)
    places = target.index(), x._layout.index()
    return _moves.linear(x, target, places[0][goal[kept]], places[1][at[kept]], kernel[by[kept]])
