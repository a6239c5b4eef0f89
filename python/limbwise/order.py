"""Encrypted arrays in order along an axis: sort, argsort, top_k, median.

All rows of an array go through one sorting network at once, whatever other axes there are; the engine chooses the network
by its levels, or by its time where it bootstraps. Values nearer to each other than the gap come out in either order, or
as mixtures of each other: their sum stays, and no value leaves the range of both. So equal values stay equal, and their
indices mix: the order is not stable. NaN is refused when it is encrypted, and so are values beyond a stated bound.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from limbwise._limbwise import Function
from limbwise._reports import logger
from limbwise.array import EncryptedArray
from limbwise.errors import EncodeError, ShapeError
from limbwise.functions import _interval, _misses, _real
from limbwise.layout import Layout
from limbwise.numeric import _one, _rows, _without

__all__ = ["argsort", "median", "sort", "top_k"]

# A number for both sides of zero, or the smallest and the greatest value.
Interval = float | tuple[float, float] | None


def _shortened(layout: Layout, axis: int, length: int) -> Layout:
    """Return the layout of the first values of an axis; the others are zero."""
    shape = tuple(length if i == axis else n for i, n in enumerate(layout.shape))
    if length > 1 or layout.extents[axis] == 1:
        return replace(layout, shape=shape, clean=True)
    without = _without(layout, axis, everywhere=False)
    strides, extents = ((*v[:axis], 1, *v[axis:]) for v in (without.strides, without.extents))
    return replace(without, shape=shape, strides=strides, extents=extents, clean=True)


def _sorted(
    x: EncryptedArray, axis: int, wanted: str, name: str, *, first: int | None = None, **how: Any
) -> list[EncryptedArray]:
    """Return the first sorted values along an axis, and their indices if they are wanted; or the medians."""
    low, high = _interval(x, how.pop("interval"))
    if not 0 < how["gap"] < 1:
        raise EncodeError(f"{name}: gap {how['gap']!r}: choose a part of the interval, between 0 and 1")
    number, along, others = _rows(x, axis)
    length = x.shape[number]
    if along[0] * along[1] > x._layout.slots:
        raise ShapeError(
            f"{name} along axis {axis} of shape {x.shape}: {length} values lie in several ciphertexts of "
            f"{x._layout.slots} slots: choose parameters with more slots, another axis, or parts of the array"
        )
    first = length if first is None else first
    params = x._context.params
    function = Function.sort(params, along, others, wanted=wanted, first=first, interval=(low, high), **how)
    network = function.network
    assert network is not None
    logger.info("%s: %d values, %d stages of sorters with %d inputs", name, length, network[2], network[0])
    _misses(x, name, how["gap"] * (high - low))
    if wanted == "places":
        _misses(x, f"{name}'s indices beyond its gap", 0.25)
    held, layout = x._native.apply(x._held, function), x._layout
    if wanted == "median":
        after = replace(_without(layout, number, everywhere=False), clean=True)
        return [x._context._checked(x._with(held, after), name)]
    after = _shortened(layout, number, first)
    results = [held]
    if wanted == "places":
        messages = range(layout.batch)
        results = [x._native.gather(held, [start + m for m in messages]) for start in (0, layout.batch)]
    return [x._context._checked(x._with(result, after), name) for result in results]


def _alone(x: EncryptedArray, axis: int) -> bool:
    """Whether an axis has one value, which is in order."""
    return x.shape[_one(axis, x.ndim)] == 1


def sort(
    x: EncryptedArray,
    axis: int = -1,
    *,
    descending: bool = False,
    interval: Interval = None,
    gap: float = 1 / 32,
) -> EncryptedArray:
    """Return the array sorted along an axis, as ``numpy.sort``.

    Args:
        x: encrypted, real.
        axis: along which; its values lie in one ciphertext.
        descending: whether the greatest comes first.
        interval: where values lie: a number for both sides of zero, or two; by default the bound that x has.
        gap: values that differ by less than this part of the interval's width come in either order, or mixed, and are
            then wrong by less than it.

    Raises:
        EncodeError: values that may lie beyond the interval, or a gap that their precision cannot tell.
        LevelError: more levels than there are, where the parameters cannot bootstrap.
        ShapeError: an axis that lies in several ciphertexts.
    """
    x = _real(x, "sort")
    if _alone(x, axis):
        return x
    return _sorted(x, axis, "values", "sort", descending=descending, interval=interval, gap=gap)[0]


def argsort(
    x: EncryptedArray,
    axis: int = -1,
    *,
    descending: bool = False,
    interval: Interval = None,
    gap: float = 1 / 32,
) -> EncryptedArray:
    """Return the indices that sort an array along an axis, as ``numpy.argsort``; round them after decryption.

    They move through the network with their values, wrong by a quarter at most where all values are further apart than
    the gap; those of equal values come out between each other. The arguments are those of :func:`sort`.
    """
    x = _real(x, "argsort")
    if _alone(x, axis):
        return x * 0.0
    return _sorted(x, axis, "places", "argsort", descending=descending, interval=interval, gap=gap)[1]


def top_k(
    x: EncryptedArray,
    k: int,
    axis: int = -1,
    *,
    largest: bool = True,
    interval: Interval = None,
    gap: float = 1 / 32,
) -> tuple[EncryptedArray, EncryptedArray]:
    """Return the k greatest values along an axis, the greatest first, and their indices, as PyTorch's ``topk``.

    Stages of the network that no wanted value needs are left out: for small k few are left.

    Args:
        x: encrypted, real.
        k: how many, from 1 to the length of the axis.
        axis: along which.
        largest: whether the greatest are wanted, else the smallest.
        interval: as for :func:`sort`.
        gap: as for :func:`sort`.

    Raises:
        ShapeError: another number of values than there are.
        EncodeError: as for :func:`sort`.
        LevelError: as for :func:`sort`.
    """
    x = _real(x, "top_k")
    length = x.shape[_one(axis, x.ndim)]
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= length:
        raise ShapeError(f"top_k: k = {k!r} of {length} values: choose 1 to {length}")
    if length == 1:
        return x, x * 0.0
    how = {"descending": largest, "interval": interval, "gap": gap}
    values, indices = _sorted(x, axis, "places", "top_k", first=k, **how)
    return values, indices


def median(
    x: EncryptedArray,
    axis: int = -1,
    *,
    interval: Interval = None,
    gap: float = 1 / 32,
    keepdims: bool = False,
) -> EncryptedArray:
    """Return the medians along an axis, as ``numpy.median``: the middle of the sorted values, or the mean of both.

    Args:
        x: encrypted, real.
        axis: along which.
        interval: as for :func:`sort`.
        gap: as for :func:`sort`.
        keepdims: whether the axis stays, with length one.
    """
    x = _real(x, "median")
    number = _one(axis, x.ndim)
    kept = tuple(1 if i == number else n for i, n in enumerate(x.shape))
    rest = tuple(n for i, n in enumerate(x.shape) if i != number)
    if _alone(x, axis):
        middle = x
    else:
        (middle,) = _sorted(x, axis, "median", "median", descending=False, interval=interval, gap=gap)
    return middle.reshape(kept if keepdims else rest)
