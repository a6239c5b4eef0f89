"""Functions of encrypted arrays that take several steps: inverse, root, exponential, softmax, extremes along an axis.

Each says where its values must lie. A value outside gives a wrong number; shadow mode (``lw.ckks(…, shadow=…)``) finds the
operation where that happens. Levels that are not left are bootstrapped, where the parameters can.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from limbwise import _limbwise
from limbwise._reports import logger
from limbwise.array import EncryptedArray
from limbwise.errors import EncodeError, LevelError
from limbwise.functions import _real, _series, _sign, maximum, minimum

__all__ = [
    "absolute",
    "amax",
    "amin",
    "argmax",
    "equal",
    "exp",
    "layer_norm",
    "log",
    "reciprocal",
    "rsqrt",
    "softmax",
    "sqrt",
]

# Degrees of polynomials: the largest of each depth.
_DEGREES = (3, 7, 15, 31, 63, 127)


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


def _fitted(x: EncryptedArray, f: Callable[[float], float], low: float, high: float, error: float) -> EncryptedArray:
    """Evaluate a smooth function by the polynomial of least depth with this error."""
    for degree in _DEGREES:
        coefficients, reached = _limbwise.fit(f, low, high, degree)
        if reached <= error:
            logger.info("%s: degree %d on [%g, %g], error %.2g", f.__name__, degree, low, high, reached)
            return _series(x, coefficients, low, high, f.__name__)
    raise LevelError(
        f"{f.__name__} on [{low:g}, {high:g}]: a polynomial of degree {degree} has error {reached:.2g}, "
        f"{error:.2g} was asked for: give a narrower interval, or allow more error"
    )


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
    return x * _sign(x, 1.0, bound, gap, error)


def equal(a: Any, b: Any, *, bound: float | None = None, gap: float = 1 / 32, error: float = 1 / 128) -> EncryptedArray:
    """Compare: 1 where a = b, 0 where they differ by ``gap·bound`` or more, something between elsewhere.

    ``bound`` is for the difference; ``error`` is the largest elsewhere.
    """
    s = _sign(_real(a - b, "equal"), 1.0, bound, gap, 0.5 * error)
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
    low, high = _ends(interval, "reciprocal")
    coefficients, iterations, residual = _limbwise.inverse_steps(low, high, error)
    y = _bounded(_series(x, coefficients, low, high, "reciprocal"), (1 + residual) / low)
    e = 1.0 - x * y
    for step in range(iterations):
        e = _bounded(e, residual)
        y = _bounded(y + y * e, 1 / low)
        residual *= residual
        if step + 1 < iterations:
            e = e * e
    return y


def _roots(x: EncryptedArray, interval: tuple[float, float], error: float, name: str) -> list[EncryptedArray]:
    """Evaluate ``√x`` and ``1/(2√x)``."""
    x = _real(x, name)
    low, high = _ends(interval, name)
    coefficients, iterations, residual = _limbwise.root_steps(low, high, error)
    half = _series(x, [0.5 * c for c in coefficients], low, high, name)
    pair = [x * half * 2.0, half]
    most = [math.sqrt(high) * (1 + residual), 0.5 * (1 + residual) / math.sqrt(low)]
    pair = [_bounded(z, m) for z, m in zip(pair, most, strict=True)]
    for _ in range(iterations):
        r = _bounded(0.5 - pair[0] * pair[1], 0.5 * residual)
        pair = [_bounded(z + z * r, m) for z, m in zip(pair, most, strict=True)]
        residual = 0.75 * residual**2 + 0.25 * residual**3
    return pair


def sqrt(x: EncryptedArray, *, interval: tuple[float, float], error: float = 2**-12) -> EncryptedArray:
    """Evaluate ``√x``; the arguments are those of :func:`reciprocal`."""
    return _roots(x, interval, error, "sqrt")[0]


def rsqrt(x: EncryptedArray, *, interval: tuple[float, float], error: float = 2**-12) -> EncryptedArray:
    """Evaluate ``1/√x``; the arguments are those of :func:`reciprocal`."""
    return _roots(x, interval, error, "rsqrt")[1] * 2.0


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
    return _fitted(x, math.exp, low, high, error)


def log(x: EncryptedArray, *, interval: tuple[float, float], error: float = 2**-12) -> EncryptedArray:
    """Evaluate the natural logarithm by the polynomial of least depth.

    Args:
        x: encrypted, real; all values must lie in the interval.
        interval: two positive numbers, the smaller first.
        error: the largest absolute error.

    Raises:
        LevelError: if no polynomial of degree 127 has so little error; narrower intervals need smaller degrees.
    """
    low, high = _ends(interval, "log")
    if low <= 0:
        raise EncodeError(f"log: interval {interval!r}: logarithms are of positive numbers")
    return _fitted(_real(x, "log"), math.log, low, high, error)


def softmax(x: EncryptedArray, axis: int = -1, *, bound: float | None = None, error: float = 2**-12) -> EncryptedArray:
    """Evaluate ``exp(x) / exp(x).sum(axis)``, as ``scipy.special.softmax``.

    Args:
        x: encrypted, real, all values from −bound to bound.
        axis: along which the results add up to one.
        bound: no value is larger; by default the bound that x has. It decides the levels: 4 takes about twenty.
        error: the largest error of a result, as a part of the greatest.
    """
    x = _real(x, "softmax")
    most = float(x.bound if bound is None else bound)
    if not 0 < most < 20:
        raise EncodeError(f"softmax: bound {most:g}: give one between 0 and 20; subtract a mean before")

    def shifted(value: float) -> float:
        return math.exp(value - most)

    # Relative to the smallest value that a sum can have.
    least = math.exp(-2 * most)
    powers = _fitted(x, shifted, -most, most, 0.25 * error * least)
    powers = _bounded(powers, 1.0)
    count = x.shape[axis]
    total = powers.sum(axis=axis, keepdims=True)
    return _bounded(powers * reciprocal(total, interval=(count * least, float(count)), error=0.5 * error), 1.0)


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
    centered = x - x.mean(axis=axis, keepdims=True)
    spread = (centered * centered).mean(axis=axis, keepdims=True) + eps
    return centered * rsqrt(spread, interval=(low + eps, high + eps), error=error)


def _everywhere(x: EncryptedArray, axis: int, pick: Callable[..., EncryptedArray], **how: Any) -> EncryptedArray:
    """Give every place of an axis the extreme of all: each step doubles how far it has looked."""
    step = 1
    while step < x.shape[axis]:
        x = pick(x, x.roll(step, axis=axis), **how)
        step *= 2
    return x


def _first(x: EncryptedArray, axis: int, keepdims: bool) -> EncryptedArray:
    key: list[Any] = [slice(None)] * x.ndim
    key[axis] = slice(0, 1) if keepdims else 0
    return x[tuple(key)]


def amax(
    x: EncryptedArray,
    axis: int = -1,
    *,
    bound: float | None = None,
    gap: float = 1 / 32,
    error: float = 1 / 128,
    keepdims: bool = False,
) -> EncryptedArray:
    """Return the greatest value along an axis, by log₂ n rounds of :func:`maximum`.

    Args:
        x: encrypted, real.
        axis: along which.
        bound: no two values differ by more; by default twice the bound that x has.
        gap: of two values nearer than ``gap·bound`` either may win.
        error: of :func:`maximum`; each round adds as much.
        keepdims: whether the axis stays, with length one.
    """
    how = {"bound": bound or 2 * x.bound, "gap": gap, "error": error}
    return _first(_everywhere(_real(x, "amax"), axis, maximum, **how), axis, keepdims)


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
    how = {"bound": bound or 2 * x.bound, "gap": gap, "error": error}
    return _first(_everywhere(_real(x, "amin"), axis, minimum, **how), axis, keepdims)


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

    Values within ``gap·bound`` of the greatest count as well: with two greatest, the places add up.

    Args:
        x: encrypted, real.
        axis: along which.
        bound: no two values differ by more; by default twice the bound that x has.
        gap: how far the greatest stands out, as a part of the bound. Its maximum is found four times as finely.
        error: the largest error of the ones and zeros.
        one_hot: whether the ones and zeros are returned, in the shape of x, instead of the place.
    """
    x = _real(x, "argmax")
    most = bound or 2 * x.bound
    greatest = _everywhere(x, axis, maximum, bound=most, gap=gap / 4, error=error / 4)
    hot = _is_greatest(x, greatest, most, gap, error)
    if one_hot:
        return hot
    places = np.arange(x.shape[axis], dtype=float)
    shape = [1] * x.ndim
    shape[axis] = -1
    return (hot * np.broadcast_to(places.reshape(shape), x.shape)).sum(axis=axis)


def _is_greatest(x: EncryptedArray, greatest: EncryptedArray, bound: float, gap: float, error: float) -> EncryptedArray:
    """Return 1 where x is within half the gap of the greatest, 0 where it is below by the gap."""
    distance = x - greatest + 0.75 * gap * bound
    return _sign(distance, 0.5, 1.25 * bound, 0.2 * gap, 2 * error) + 0.5
