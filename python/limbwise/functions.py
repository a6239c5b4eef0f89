"""Functions of encrypted arrays. Others than polynomials are approximated, with stated interval and error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from limbwise import _limbwise, _moves
from limbwise._products import conv2d
from limbwise._reports import logger
from limbwise.array import EncryptedArray
from limbwise.errors import DtypeError, EncodeError, LevelError

__all__ = ["compare", "conv2d", "function", "maximum", "minimum", "poly", "relu", "sigmoid", "sign"]


def _real(x: EncryptedArray, name: str) -> EncryptedArray:
    if not isinstance(x, EncryptedArray):
        raise DtypeError(
            f"{name} wants an encrypted array, got {type(x).__name__}: for clear ones NumPy has what you want"
        )
    if x.is_complex:
        raise DtypeError(f"{name} of complex values means nothing: take x.real first")
    return x


def _interval(x: EncryptedArray, interval: float | tuple[float, float] | None) -> tuple[float, float]:
    if interval is None:
        return -x.bound, x.bound
    try:
        low, high = (-interval, interval) if isinstance(interval, (int, float, np.number)) else interval
        low, high = float(low), float(high)
    except (TypeError, ValueError):
        low = high = np.nan
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise EncodeError(
            f"interval {interval!r}: give a positive number for both sides of zero, or two, the smaller first"
        )
    return low, high


def _misses(x: EncryptedArray, name: str, error: float) -> None:
    """Note how far a result may be from the function that its polynomials stand for; a plan lists the largest."""
    noted = x._context._approximations
    noted[name] = max(error, noted.get(name, 0.0))


def _added(x: EncryptedArray, value: float) -> EncryptedArray:
    """Add to the values, not to padding and to leftovers of sums."""
    axes = [*x._layout.axes((0,) * x.ndim), *((s, e, 1, 0) for s, e in x._layout.dead)]
    held = x._native.add_array(x._held, np.array([value]), axes, batch=x._layout.batch, complex=False)
    return x._with(held, x._layout)


def _series(x: EncryptedArray, coefficients: Sequence[float], low: float, high: float, name: str) -> EncryptedArray:
    """Evaluate a Chebyshev series; padding is zero before and after."""
    factor = 2.0 / (high - low)
    unit = _moves.quiet(x, 1.0 if abs(factor - 1.0) < 1e-15 else factor)
    shift = -0.5 * (low + high) * factor

    # Padding and leftovers are zero. They go where zero goes, or to the middle where that is outside: there a polynomial
    # explodes.
    padding = shift if abs(shift) <= 1.0 else 0.0
    if shift != padding:
        unit = _added(unit, shift - padding)
    if padding != 0.0:
        unit = unit._with(x._native.add_scalar(unit._held, padding), unit._layout)
    held = x._native.series(unit._held, [float(c) for c in coefficients], -1.0, 1.0)
    result = unit._with(held, unit._layout)
    if result._layout.padded:
        nothing = float(np.polynomial.chebyshev.chebval(padding, coefficients))
        # Padding comes back to zero, and with it everything else.
        down = x._native.add_scalar(result._held, -nothing)
        result = _added(result._with(down, result._layout), nothing)
    return x._context._checked(result, name)


def poly(
    x: EncryptedArray, coefficients: Sequence[float], *, interval: float | tuple[float, float] | None = None
) -> EncryptedArray:
    """Evaluate ``Σ coefficients[k]·x**k``, constant first, as ``numpy.polynomial``.

    Degree d takes ⌈log₂(d+1)⌉ levels, and one more unless x is known to lie in [−1, 1].

    Args:
        x: encrypted, real.
        coefficients: real numbers.
        interval: where the values lie, for the numerics only; by default the bound that x has.
    """
    x = _real(x, "poly")
    clear = x._clear(np.asarray(coefficients))
    if clear.ndim != 1 or clear.dtype.kind != "f" or clear.size == 0:
        raise DtypeError(f"coefficients of shape {clear.shape}: give a list of real numbers, constant first")
    trimmed = np.trim_zeros(clear, "b")
    if trimmed.size < 2:
        return x * 0.0 + (float(clear[0]))
    if trimmed.size == 2:
        return x * float(trimmed[1]) + float(trimmed[0])
    low, high = _interval(x, interval)
    if interval is None and high <= 1.0:
        low, high = -1.0, 1.0
    return _series(x, _limbwise.power_series(trimmed.tolist(), low, high), low, high, "poly")


def function(
    x: EncryptedArray,
    f: Callable[[float], float],
    *,
    interval: float | tuple[float, float] | None = None,
    degree: int = 15,
) -> EncryptedArray:
    """Evaluate any smooth function by the polynomial that interpolates it at the Chebyshev nodes of an interval.

    The largest error on the interval is logged. Degrees 2ᵏ − 1 use all of their k levels, and one maps the interval.

    Args:
        x: encrypted, real; all values must lie in the interval, outside the polynomial explodes.
        f: a function of one number.
        interval: a number for both sides of zero, or two; by default the bound that x has.
        degree: of the polynomial, 1 to 1023.
    """
    x = _real(x, "function")
    low, high = _interval(x, interval)
    coefficients, error = _limbwise.fit(f, low, high, degree)
    logger.info("degree %d on [%g, %g]: error %.2g", degree, low, high, error)
    name = getattr(f, "__name__", "function")
    _misses(x, name, error)
    return _series(x, coefficients, low, high, name)


def _depth(coefficients: Sequence[float]) -> int:
    """Return the levels of a series on [−1, 1]."""
    return (len(coefficients) - 1).bit_length()


def _deepest(x: EncryptedArray) -> int:
    """Return the most levels of one polynomial: between two bootstrappings, or any without them."""
    return max(x._context.levels - 1, 1) if x._context.params.bootstraps else 10


def _needs(x: EncryptedArray, levels: int, name: str) -> None:
    """Fail before a function of several steps that has too few levels for all of them, where nothing bootstraps."""
    level = x.level - (x.log_scale > 1.5 * x._context.params.log_scale)
    if not x._context.params.bootstraps and level < levels:
        raise LevelError(
            f"{name} needs level {levels}; the ciphertext is at level {level} of {x._context.levels}: choose parameters "
            f"with at least {levels - level} more levels (limbwise params choose), or bootstrap"
        )


def sigmoid(x: EncryptedArray, *, interval: float | tuple[float, float] = 8.0, error: float = 1e-2) -> EncryptedArray:
    """Evaluate ``1 / (1 + exp(−x))`` on an interval by the polynomial of least depth; its error is logged.

    On [−8, 8] an error of 0.01 takes degree 15, four levels, and one for the interval; 0.001 degree 31.

    Args:
        x: encrypted, real.
        interval: a number for both sides of zero, or two; values outside give wrong results.
        error: the largest difference on the interval.

    Raises:
        DtypeError: ``x`` is not encrypted, or complex.
        EncodeError: an interval or an error that is none.
        LevelError: an error that no polynomial of degree 255 keeps, or more levels than there are.
    """
    x = _real(x, "sigmoid")
    low, high = _interval(x, interval)
    if not 0 < error < np.inf:
        raise EncodeError(f"sigmoid: error {error}: give one finite number above 0; smaller ones take more levels")
    coefficients, reached = _limbwise.fit_sigmoid(low, high, error, min(_deepest(x), 8))
    if not reached <= error:
        raise LevelError(
            f"sigmoid: the polynomial of degree {len(coefficients) - 1} on [{low:g}, {high:g}] has an error of "
            f"{reached:.2g}, wanted {error:g}: choose a narrower interval or a larger error"
        )
    logger.info("sigmoid: degree %d on [%g, %g], error %.2g", len(coefficients) - 1, low, high, reached)
    _needs(x, int((low, high) != (-1.0, 1.0)) + _depth(coefficients), "sigmoid")
    _misses(x, "sigmoid", reached)
    return _series(x, coefficients, low, high, "sigmoid")


def sign(
    x: EncryptedArray, *, bound: float | None = None, gap: float = 1 / 32, error: float = 1 / 128
) -> EncryptedArray:
    """Evaluate the sign of x: −1, 1, and 0 at 0.

    A composition of minimax polynomials. Smaller gaps and errors take more levels; where they end, it bootstraps.

    Args:
        x: encrypted, real.
        bound: no value is larger; by default the bound that x has.
        gap: between −gap·bound and gap·bound the result is anything between −1 and 1.
        error: the largest difference elsewhere.
    """
    x = _real(x, "sign")
    signs = _sign(x, 1.0, bound, gap, error)
    _misses(x, "sign beyond its gap", error)
    return signs


def _sign(x: EncryptedArray, factor: float, bound: float | None, gap: float, error: float) -> EncryptedArray:
    """Return the sign times a factor, which costs no level."""
    low, high = _interval(x, bound)
    if low != -high:
        raise EncodeError(f"bound {bound!r}: give one positive number")
    stages, reached = _limbwise.sign_stages(gap, error, min(_deepest(x), 5))
    stages[-1] = [factor * c for c in stages[-1]]
    logger.info("sign: degrees %s, error %.2g beyond %g", [len(s) - 1 for s in stages], reached, gap * high)
    _needs(x, int(high != 1.0) + sum(map(_depth, stages)), "sign")
    result = _series(x, stages[0], -high, high, "sign")
    for stage in stages[1:]:
        inside = result._with(x._native.bounded_by(result._held, 1.0), result._layout)
        result = _series(inside, stage, -1.0, 1.0, "sign")
    return result._with(x._native.bounded_by(result._held, factor * (1.0 + reached)), result._layout)


def compare(
    a: Any, b: Any, *, bound: float | None = None, gap: float = 1 / 32, error: float = 1 / 128
) -> EncryptedArray:
    """Compare: 1 where a > b, 0 where a < b, ½ where they are equal; in between within ``gap·bound`` of each other.

    Args:
        a: a real array, encrypted or clear.
        b: one that broadcasts with it; at least one of the two is encrypted.
        bound: no difference ``a − b`` is larger; by default the bound that the difference has.
        gap: as for :func:`sign`, of the difference.
        error: the largest difference of a result from 0 or 1 beyond the gap.

    Raises:
        DtypeError: neither is encrypted, or they are complex.
        EncodeError: a bound that is not one positive number.
    """
    difference = a - b
    difference = _real(difference, "compare")
    halves = _sign(difference, 0.5, bound, gap, 2 * error)
    _misses(difference, "compare beyond its gap", error)
    return halves + 0.5


def relu(
    x: EncryptedArray, *, bound: float | None = None, gap: float = 1 / 32, error: float = 1 / 128
) -> EncryptedArray:
    """Evaluate ``max(x, 0)`` with error at most ``error·bound/2``, and ``gap·bound`` near zero.

    Args:
        x: encrypted, real.
        bound: no value is larger; by default the bound that x has.
        gap: as for :func:`sign`.
        error: as for :func:`sign`.

    Raises:
        DtypeError: ``x`` is not encrypted, or complex.
        EncodeError: a bound that is not one positive number.
    """
    x = _moves.quiet(_real(x, "relu"))
    halves = _sign(x, 0.5, bound, gap, error)
    _misses(x, "relu", 0.5 * max(gap, error) * _interval(x, bound)[1])
    return x * halves + x * 0.5


def maximum(
    a: Any, b: Any, *, bound: float | None = None, gap: float = 1 / 32, error: float = 1 / 128
) -> EncryptedArray:
    """Evaluate the element-wise maximum ``b + relu(a − b)``; errors are those of :func:`relu`.

    Args:
        a: a real array, encrypted or clear.
        b: one that broadcasts with it; at least one of the two is encrypted.
        bound: no difference ``a − b`` is larger; by default the bound that the difference has.
        gap: as for :func:`sign`, of the difference.
        error: as for :func:`sign`, of the difference.

    Raises:
        DtypeError: neither is encrypted, or they are complex.
        EncodeError: a bound that is not one positive number.
    """
    difference = _real(a - b, "maximum")
    return relu(difference, bound=bound, gap=gap, error=error)._plus(b, 1)


def minimum(
    a: Any, b: Any, *, bound: float | None = None, gap: float = 1 / 32, error: float = 1 / 128
) -> EncryptedArray:
    """Evaluate the element-wise minimum ``a − relu(a − b)``; errors are those of :func:`relu`.

    Args:
        a: a real array, encrypted or clear.
        b: one that broadcasts with it; at least one of the two is encrypted.
        bound: no difference ``a − b`` is larger; by default the bound that the difference has.
        gap: as for :func:`sign`, of the difference.
        error: as for :func:`sign`, of the difference.

    Raises:
        DtypeError: neither is encrypted, or they are complex.
        EncodeError: a bound that is not one positive number.
    """
    return (-relu(_real(a - b, "minimum"), bound=bound, gap=gap, error=error))._plus(a, 1)
