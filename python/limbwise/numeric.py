"""Functions of encrypted arrays that take several steps: inverse, root, exponential, softmax, extremes along an axis.

Each is planned by the engine before any key exists: it says where values must lie, and its levels. A value outside gives
a wrong number; shadow mode (``lw.ckks(…, shadow=…)``) finds the operation where that happens. Levels that are not left
are bootstrapped, where the parameters can. Sorting is in :mod:`limbwise.order`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from limbwise import _exact_numpy, _moves
from limbwise._exact_array import EncryptedIntegers
from limbwise._limbwise import Function
from limbwise.array import EncryptedArray
from limbwise.errors import EncodeError, ShapeError
from limbwise.functions import _added, _interval, _misses, _real, _sign
from limbwise.layout import Layout

__all__ = [
    "absolute",
    "amax",
    "amin",
    "argmax",
    "equal",
    "exp",
    "layer_norm",
    "log",
    "lookup",
    "reciprocal",
    "rsqrt",
    "softmax",
    "sqrt",
]

# Stride, extent and length of an axis, as planned functions take them.
Place = tuple[int, int, int]


def _bounded(x: EncryptedArray, most: float) -> EncryptedArray:
    return x._with(x._native.bounded_by(x._held, most), x._layout)


def _ends(interval: tuple[float, float], name: str) -> tuple[float, float]:
    try:
        low, high = (float(end) for end in interval)
    except (TypeError, ValueError):
        raise EncodeError(f"{name}: interval {interval!r}: give two numbers, the smaller first") from None
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise EncodeError(f"{name}: interval {interval!r}: give two finite numbers, the smaller first")
    return low, high


def _positive(interval: tuple[float, float], name: str) -> tuple[float, float]:
    low, high = _ends(interval, name)
    if low <= 0:
        raise EncodeError(f"{name}: interval {interval!r}: give two positive numbers, the smaller first")
    return low, high


def _mapped(
    x: EncryptedArray, function: Function, low: float, high: float, name: str, error: float = 0.0
) -> EncryptedArray:
    """Evaluate a function of one value, whose interval is a promise; padding is zero before and after."""
    x = _moves.quiet(x)
    _misses(x, name, error)
    layout = x._layout
    hidden = layout.padded or bool(layout.dead)
    # Padding and leftovers are zero; where zero is outside of the interval, they go to its middle.
    filling = 0.0 if not hidden or low <= 0.0 <= high else 0.5 * (low + high)
    x = _bounded(x, max(abs(low), abs(high)))
    if filling:
        most = max(x.bound, filling)
        x = _bounded(_added(x._with(x._native.add_scalar(x._held, filling), layout), -filling), most)
    result = x._with(x._native.apply(x._held, function), layout)
    if layout.padded:
        nothing = function.evaluate(filling)
        most = result.bound
        result = _added(result._with(result._native.add_scalar(result._held, -nothing), layout), nothing)
        result = _bounded(result, most)
    return x._context._checked(result, name)


def _one(axis: int, ndim: int) -> int:
    """Return an axis as a number from 0."""
    if not isinstance(axis, (int, np.integer)):
        raise ShapeError(f"axis {axis!r}: give one whole number, or x.reshape(-1) to take all values as one row")
    return _moves.normal_axes(axis, ndim)[0]


def _rows(x: EncryptedArray, axis: int) -> tuple[int, Place, list[Place]]:
    """Return the number of an axis, its place, and those of the other axes and of leftovers."""
    number = _one(axis, x.ndim)
    layout = x._layout
    places = list(zip(layout.strides, layout.extents, layout.shape, strict=True))
    along = places.pop(number)
    return number, along, [*(p for p in places if p[1] > 1), *((s, e, 1) for s, e in layout.dead)]


def _without(layout: Layout, axis: int, *, everywhere: bool) -> Layout:
    """Return the layout of what is left of an axis at its first index, or at every one where a row is all slots."""
    rest = [i for i in range(len(layout.shape)) if i != axis]
    stride, extent = layout.strides[axis], layout.extents[axis]
    dead = layout.dead if extent == 1 or everywhere else (*layout.dead, (stride, extent))
    shape, strides, extents = (tuple(v[i] for i in rest) for v in (layout.shape, layout.strides, layout.extents))
    return replace(layout, shape=shape, strides=strides, extents=extents, dead=dead)


def lookup(x: Any, table: Any) -> Any:
    """Evaluate ``table[x]`` for integers x, by a bootstrapping whatever levels are left.

    Exact integers of TFHE go to :func:`limbwise.tfhe.lookup`.

    The table's polynomial has slope zero at the integers, so small errors of x are squared away and results have levels
    again: gates on packed bits are tables of sums of bits. Between integers the result lies between entries.

    Args:
        x: encrypted integers from 0 to ``len(table) - 1``; others are taken modulo the next power of two.
        table: 2 to 1024 real numbers. A table of t entries takes log₂ t of the levels that bootstrapping gives.

    Raises:
        BootstrapError: a table longer than the parameters have levels for, parameters without bootstrapping or with a
            cosine in it, values so noisy that a result could be wrong with a probability above 2⁻⁶⁰.
    """
    if isinstance(x, EncryptedIntegers):
        return _exact_numpy.lookup(x, table)
    x = _real(x, "lookup")
    entries = x._clear(np.asarray(table))
    if entries.ndim != 1 or entries.dtype.kind != "f":
        raise EncodeError(f"lookup: a table of shape {entries.shape}: give a list of 2 to 1024 real numbers")
    return _mapped(x, Function.lookup(entries.tolist()), 0.0, float(max(entries.size - 1, 1)), "lookup")


def absolute(
    x: EncryptedArray, *, bound: float | None = None, gap: float = 1 / 32, error: float = 1 / 128
) -> EncryptedArray:
    """Evaluate ``|x|`` with error at most ``error·bound``, and ``gap·bound`` near zero.

    Args:
        x: encrypted, real.
        bound: no value is larger; by default the bound that x has.
        gap: values nearer to zero than ``gap·bound`` come out between zero and themselves.
        error: the largest error of the sign elsewhere.
    """
    x = _real(x, "absolute")
    signs = _sign(x, 1.0, bound, gap, error)
    _misses(x, "absolute", max(gap, error) * _interval(x, bound)[1])
    return x * signs


def equal(a: Any, b: Any, *, bound: float | None = None, gap: float = 1 / 32, error: float = 1 / 128) -> EncryptedArray:
    """Compare: 1 where a = b, 0 where they differ by ``gap·bound`` or more, something between elsewhere.

    ``bound`` is for the difference; ``error`` is the largest elsewhere.
    """
    s = _sign(_real(a - b, "equal"), 1.0, bound, gap, 0.5 * error)
    _misses(s, "equal beyond its gap", error)
    return 1.0 - s * s


def reciprocal(x: EncryptedArray, *, interval: tuple[float, float], error: float = 2**-12) -> EncryptedArray:
    """Evaluate ``1/x`` by a polynomial and Goldschmidt's iteration.

    On [1/1024, 1] an error of 2⁻¹² takes ten levels.

    Args:
        x: encrypted, real; all values must lie in the interval.
        interval: two positive numbers, the smaller first.
        error: the largest relative error.

    Raises:
        EncodeError: if the interval is not one of positive numbers, or is too wide for the error.
    """
    x = _real(x, "reciprocal")
    low, high = _positive(interval, "reciprocal")
    return _mapped(x, Function.inverse(low, high, error), low, high, "reciprocal", error / low)


def sqrt(x: EncryptedArray, *, interval: tuple[float, float], error: float = 2**-12) -> EncryptedArray:
    """Evaluate ``√x``; the arguments are those of :func:`reciprocal`."""
    x = _real(x, "sqrt")
    low, high = _positive(interval, "sqrt")
    return _mapped(x, Function.root(low, high, error), low, high, "sqrt", error * math.sqrt(high))


def rsqrt(x: EncryptedArray, *, interval: tuple[float, float], error: float = 2**-12) -> EncryptedArray:
    """Evaluate ``1/√x``; the arguments are those of :func:`reciprocal`."""
    x = _real(x, "rsqrt")
    low, high = _positive(interval, "rsqrt")
    return _mapped(x, Function.inverse_root(low, high, error), low, high, "rsqrt", error / math.sqrt(low))


def exp(x: EncryptedArray, *, interval: tuple[float, float] | None = None, error: float = 2**-12) -> EncryptedArray:
    """Evaluate ``exp(x)`` by the polynomial of least depth.

    Args:
        x: encrypted, real; all values must lie in the interval.
        interval: two numbers, the smaller first; by default the bound that x has, both sides of zero.
        error: the largest absolute error.

    Raises:
        LevelError: if no polynomial of degree 127 has so little error.
    """
    x = _real(x, "exp")
    low, high = (-x.bound, x.bound) if interval is None else _ends(interval, "exp")
    return _mapped(x, Function.exp(low, high, error), low, high, "exp", error)


def log(x: EncryptedArray, *, interval: tuple[float, float], error: float = 2**-12) -> EncryptedArray:
    """Evaluate the natural logarithm by the polynomial of least depth.

    Args:
        x: encrypted, real; all values must lie in the interval.
        interval: two positive numbers, the smaller first.
        error: the largest absolute error.

    Raises:
        LevelError: if no polynomial of degree 127 has so little error; narrower intervals need smaller degrees.
    """
    low, high = _positive(interval, "log")
    return _mapped(_real(x, "log"), Function.log(low, high, error), low, high, "log", error)


def softmax(x: EncryptedArray, axis: int = -1, *, bound: float | None = None, error: float = 2**-12) -> EncryptedArray:
    """Evaluate ``exp(x) / exp(x).sum(axis)``, as ``scipy.special.softmax``.

    Results along n values are of the size of 1/n; noise is not, so of a long axis few bits are left (``expected_bits``).

    Args:
        x: encrypted, real, all values from −bound to bound.
        axis: along which the results add up to one.
        bound: no value is larger; by default the bound that x has. It decides the levels: 4 takes about twenty. Above 7
            values are halved and their powers squared, as often as it takes: 10 takes about thirty levels, 40 about
            forty-five. Where the program bootstraps, ``exp(2*bound)`` over the length of the axis must be among the values
            that the preset bootstraps, for a bound above 7 that of the halved ones.
        error: the largest error of a result, as a part of the greatest.
    """
    x = _real(x, "softmax")
    most = float(x.bound if bound is None else bound)
    x = _bounded(_moves.quiet(x), most)
    _, along, others = _rows(x, axis)
    function = Function.softmax(along, others, most, error)
    _misses(x, "softmax", error)
    return x._context._checked(x._with(x._native.apply(x._held, function), replace(x._layout, clean=True)), "softmax")


def layer_norm(
    x: EncryptedArray, axis: int = -1, *, variance: tuple[float, float], eps: float = 1e-5, error: float = 2**-12
) -> EncryptedArray:
    """Evaluate ``(x − mean) / √(var + eps)`` along an axis, without weights.

    Args:
        x: encrypted, real.
        axis: along which mean and variance are taken.
        variance: least and greatest variance that occurs.
        eps: added to the variance.
        error: the largest relative error of the inverse root.
    """
    x = _real(x, "layer_norm")
    low, high = _ends(variance, "layer_norm")
    if not (eps >= 0 and 0 < low + eps < np.inf):
        raise EncodeError(
            f"layer_norm: variance from {low:g}, eps {eps}: give an eps of 0 or more; with it the least variance is above 0"
        )
    x = _moves.quiet(x)
    _, along, others = _rows(x, axis)
    function = Function.layer_norm(along, others, (low, high), eps, error)
    _misses(x, "layer_norm", error * math.sqrt(along[2]))
    return x._context._checked(
        x._with(x._native.apply(x._held, function), replace(x._layout, clean=True)), "layer_norm"
    )


def _greatest(
    x: EncryptedArray, axis: int, wanted: str, bound: float | None, gap: float, error: float, name: str
) -> EncryptedArray:
    """Return the greatest values along an axis, their indices, or ones where they are."""
    if not (0 < gap < 1 and 0 < error < 1):
        raise EncodeError(
            f"{name}: gap {gap} and error {error}: choose both between 0 and 1; smaller ones take more levels"
        )
    x = _moves.quiet(_real(x, name))
    width = float(2 * x.bound if bound is None else bound)
    if not (math.isfinite(width) and width > 0):
        raise EncodeError(f"{name}: bound {bound!r}: give one positive number")
    number, along, others = _rows(x, axis)
    # What fills padding is below all values, by twice their bound at most.
    whole = max(width, 2 * x.bound) if x._layout.padded or x._layout.dead else width
    function = Function.extreme(along, others, wanted, whole, gap * width, error)
    # Each round takes the greater of two, which is off by half of the gap or of the sign's error of their difference.
    rounds = (along[2] - 1).bit_length()
    missed = {"one-hot": 0.5 * error, "index": 0.25, "value": 0.5 * rounds * max(gap, error) * width}
    _misses(x, name if wanted == "value" else f"{name} beyond its gap", missed[wanted])
    held = x._native.apply(x._held, function)
    if wanted == "one-hot":
        layout = replace(x._layout, clean=not x._layout.padded)
    else:
        folded = x._layout.folded(number)
        layout = _without(folded, number, everywhere=along[0] * along[1] >= x._layout.slots)
        layout = replace(layout, clean=not layout.padded)
    return x._context._checked(x._with(held, layout), name)


def _kept(x: EncryptedArray, shape: tuple[int, ...], axis: int, keepdims: bool) -> EncryptedArray:
    number = _one(axis, len(shape))
    return x.reshape(tuple(1 if i == number else n for i, n in enumerate(shape))) if keepdims else x


def amax(
    x: EncryptedArray,
    axis: int = -1,
    *,
    bound: float | None = None,
    gap: float = 1 / 32,
    error: float = 1 / 128,
    keepdims: bool = False,
) -> EncryptedArray:
    """Return the greatest value along an axis, by log₂ n rounds of :func:`maximum`; ``numpy.max`` comes here too.

    An axis that lies in several ciphertexts is compared ciphertext by ciphertext first.

    Args:
        x: encrypted, real.
        axis: along which.
        bound: no two values differ by more; by default twice the bound that x has.
        gap: of two values nearer than ``gap·bound`` either may win.
        error: of :func:`maximum`; each round adds as much.
        keepdims: whether the axis stays, with length one.
    """
    greatest = _greatest(x, axis, "value", bound, gap, error, "amax")
    return _kept(greatest, x.shape, axis, keepdims)


def amin(
    x: EncryptedArray,
    axis: int = -1,
    *,
    bound: float | None = None,
    gap: float = 1 / 32,
    error: float = 1 / 128,
    keepdims: bool = False,
) -> EncryptedArray:
    """Return the smallest value along an axis; the arguments are those of :func:`amax`."""
    least = -_greatest(-_real(x, "amin"), axis, "value", bound, gap, error, "amin")
    return _kept(least, x.shape, axis, keepdims)


def argmax(
    x: EncryptedArray,
    axis: int = -1,
    *,
    bound: float | None = None,
    gap: float = 1 / 32,
    error: float = 1 / 128,
    one_hot: bool = False,
) -> EncryptedArray:
    """Return the place of the greatest value along an axis, or 1 there and 0 elsewhere.

    Values within ``gap·bound`` of the greatest count as well: with two greatest, the places add up. A place is wrong by a
    quarter at most, and by noise.

    Args:
        x: encrypted, real.
        axis: along which.
        bound: no two values differ by more; by default twice the bound that x has.
        gap: how far the greatest stands out, as a part of the bound. Its maximum is found four times as finely.
        error: the largest error of the ones and zeros.
        one_hot: whether the ones and zeros are returned, in the shape of x, instead of the place.

    Raises:
        EncodeError: an axis so long that noise hides the place.
    """
    return _greatest(x, axis, "one-hot" if one_hot else "index", bound, gap, error, "argmax")
