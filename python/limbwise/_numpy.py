"""NumPy's own functions of encrypted arrays: which of ours each of them is.

Arguments that mean nothing here (``out``, ``dtype``, ``where``, an order of memory) are refused where they are given. What
NumPy has no argument for, such as the gap of a comparison, has our default; the bound is that of the array.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from limbwise import numeric
from limbwise import order as _ordered
from limbwise.array import EncryptedArray
from limbwise.errors import DtypeError, ShapeError


def _none(name: str, **given: Any) -> None:
    for argument, value in given.items():
        if value is not None:
            raise DtypeError(f"np.{name} of an encrypted array takes no {argument}: leave it out")


def _encrypted(a: Any, name: str) -> EncryptedArray:
    if not isinstance(a, EncryptedArray):
        raise DtypeError(f"np.{name}: the array must be the encrypted argument, got {type(a).__name__}")
    return a


def _line(a: Any, axis: Any, name: str) -> tuple[EncryptedArray, int]:
    """Return an array and one of its axes; without an axis all values are one."""
    x = _encrypted(a, name)
    if axis is None:
        return x.ravel(), 0
    if isinstance(axis, bool) or not isinstance(axis, (int, np.integer)):
        raise ShapeError(f"np.{name} of an encrypted array: axis {axis!r}: give one number, or None for all values")
    return x, int(axis)


def _unstable(name: str, kind: Any, stable: Any) -> None:
    if stable or kind in ("stable", "mergesort"):
        raise DtypeError(f"np.{name}: sorting of encrypted values is not stable: equal ones come out mixed")


def _kept(result: EncryptedArray, a: Any, axis: Any, keepdims: Any) -> EncryptedArray:
    if not keepdims:
        return result
    x = _encrypted(a, "reshape")
    number = None if axis is None else int(axis) % x.ndim
    return result.reshape(tuple(1 if number in (None, i) else n for i, n in enumerate(x.shape)))


def _sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> EncryptedArray:
    _none("sort", order=order)
    _unstable("sort", kind, stable)
    return _ordered.sort(*_line(a, axis, "sort"))


def _argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> EncryptedArray:
    _none("argsort", order=order)
    _unstable("argsort", kind, stable)
    return _ordered.argsort(*_line(a, axis, "argsort"))


def _partition(a: Any, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None) -> EncryptedArray:
    """Sorted rows: what is before and behind each place is as a partition has it."""
    _none("partition", order=order)
    x, number = _line(a, axis, "partition")
    places = np.atleast_1d(np.asarray(kth))
    (along,) = (x.shape[i] for i in range(x.ndim) if i == number % max(x.ndim, 1)) or (1,)
    if places.dtype.kind not in "iu" or places.ndim != 1:
        raise ShapeError(f"np.partition: kth = {kth!r}: give whole numbers")
    if np.any(places < -along) or np.any(places >= along):
        raise ShapeError(f"np.partition: kth = {kth!r} of {along} values: choose {-along} to {along - 1}")
    return _ordered.sort(x, number)


def _median(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: Any = False, keepdims: Any = False
) -> EncryptedArray:
    _none("median", out=out)
    return _kept(_ordered.median(*_line(a, axis, "median")), a, axis, keepdims)


def _extreme(name: str, call: Callable[..., EncryptedArray]) -> Callable[..., EncryptedArray]:
    def extreme(
        a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = None
    ) -> EncryptedArray:
        _none(name, out=out, initial=initial, where=where)
        return _kept(call(*_line(a, axis, name)), a, axis, keepdims)

    return extreme


def _place(name: str, sign: int) -> Callable[..., EncryptedArray]:
    def place(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> EncryptedArray:
        _none(name, out=out)
        x, number = _line(a, axis, name)
        return _kept(numeric.argmax(x if sign > 0 else -x, number), a, axis, keepdims)

    return place


def _sum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = None,
) -> EncryptedArray:
    _none("sum", dtype=dtype, out=out, initial=initial, where=where)
    return _encrypted(a, "sum").sum(axis, bool(keepdims))


def _mean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = None
) -> EncryptedArray:
    _none("mean", dtype=dtype, out=out, where=where)
    return _encrypted(a, "mean").mean(axis, bool(keepdims))


def _var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: Any = None,
) -> EncryptedArray:
    _none("var", dtype=dtype, out=out, where=where, mean=mean, correction=correction)
    return _encrypted(a, "var").var(axis, ddof, bool(keepdims))


def _reshape(a: Any, shape: Any, order: Any = "C", *, copy: Any = None) -> EncryptedArray:
    if order != "C":
        raise DtypeError(f"np.reshape: order {order!r}: encrypted arrays are row-major")
    return _encrypted(a, "reshape").reshape(*((shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)))


def _transpose(a: Any, axes: Any = None) -> EncryptedArray:
    return _encrypted(a, "transpose").transpose(*(() if axes is None else tuple(axes)))


def _roll(a: Any, shift: Any, axis: Any = None) -> EncryptedArray:
    x = _encrypted(a, "roll")
    return x.ravel().roll(shift, 0).reshape(x.shape) if axis is None else x.roll(shift, axis)


FUNCTIONS: dict[Any, Callable[..., EncryptedArray]] = {
    np.sort: _sort,
    np.argsort: _argsort,
    np.partition: _partition,
    np.median: _median,
    np.max: _extreme("max", numeric.amax),
    np.amax: _extreme("amax", numeric.amax),
    np.min: _extreme("min", numeric.amin),
    np.amin: _extreme("amin", numeric.amin),
    np.argmax: _place("argmax", 1),
    np.argmin: _place("argmin", -1),
    np.sum: _sum,
    np.mean: _mean,
    np.var: _var,
    np.reshape: _reshape,
    np.transpose: _transpose,
    np.roll: _roll,
}
