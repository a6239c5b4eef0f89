"""NumPy's own functions of encrypted arrays: which of ours each of them is.

Arguments that mean nothing here (``out``, ``dtype``, ``where``, an order of memory) are refused where they are given. What
NumPy has no argument for, such as the gap of a comparison, has our default; the bound is that of the array.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from limbwise import _moves, numeric
from limbwise import order as _ordered
from limbwise.array import EncryptedArray
from limbwise.errors import DtypeError, ShapeError


def _none(name: str, **given: Any) -> None:
    for argument, value in given.items():
        if value is not None:
            raise DtypeError(f"np.{name} of an encrypted array takes no {argument}: leave it out")


def _line(a: EncryptedArray, axis: Any, name: str) -> tuple[EncryptedArray, int]:
    """Return an array and one of its axes; without an axis all values are one."""
    if axis is None:
        return a.ravel(), 0
    if isinstance(axis, bool) or not isinstance(axis, (int, np.integer)):
        raise ShapeError(f"np.{name} of an encrypted array: axis {axis!r}: give one number, or None for all values")
    return a, int(axis)


def _unstable(name: str, kind: Any, stable: Any) -> None:
    if stable or kind in ("stable", "mergesort"):
        raise DtypeError(f"np.{name}: sorting of encrypted values is not stable: equal ones come out mixed")


def _kept(result: EncryptedArray, a: EncryptedArray, axis: Any, keepdims: Any) -> EncryptedArray:
    if not keepdims:
        return result
    number = None if axis is None else int(axis) % a.ndim
    return result.reshape(tuple(1 if number in (None, i) else n for i, n in enumerate(a.shape)))


def _sort(
    a: EncryptedArray, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> EncryptedArray:
    _none("sort", order=order)
    _unstable("sort", kind, stable)
    return _ordered.sort(*_line(a, axis, "sort"))


def _argsort(
    a: EncryptedArray, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> EncryptedArray:
    _none("argsort", order=order)
    _unstable("argsort", kind, stable)
    return _ordered.argsort(*_line(a, axis, "argsort"))


def _partition(
    a: EncryptedArray, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None
) -> EncryptedArray:
    """Sorted rows: what is before and behind each place is as a partition has it."""
    _none("partition", order=order)
    x, number = _line(a, axis, "partition")
    places = np.atleast_1d(np.asarray(kth))
    along = x.shape[_moves.normal_axes(number, x.ndim)[0]]
    if places.dtype.kind not in "iu" or places.ndim != 1:
        raise ShapeError(f"np.partition: kth = {kth!r}: give whole numbers")
    if np.any(places < -along) or np.any(places >= along):
        raise ShapeError(f"np.partition: kth = {kth!r} of {along} values: choose {-along} to {along - 1}")
    return _ordered.sort(x, number)


def _median(
    a: EncryptedArray, axis: Any = None, out: Any = None, overwrite_input: Any = False, keepdims: Any = False
) -> EncryptedArray:
    _none("median", out=out)
    return _kept(_ordered.median(*_line(a, axis, "median")), a, axis, keepdims)


def _extreme(name: str, call: Callable[..., EncryptedArray]) -> Callable[..., EncryptedArray]:
    def extreme(
        a: EncryptedArray,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = None,
        where: Any = None,
    ) -> EncryptedArray:
        _none(name, out=out, initial=initial, where=where)
        return _kept(call(*_line(a, axis, name)), a, axis, keepdims)

    return extreme


def _place(name: str, sign: int) -> Callable[..., EncryptedArray]:
    def place(a: EncryptedArray, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> EncryptedArray:
        _none(name, out=out)
        x, number = _line(a, axis, name)
        return _kept(numeric.argmax(x if sign > 0 else -x, number), a, axis, keepdims)

    return place


def _sum(
    a: EncryptedArray,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = None,
) -> EncryptedArray:
    _none("sum", dtype=dtype, out=out, initial=initial, where=where)
    return a.sum(axis, bool(keepdims))


def _mean(
    a: EncryptedArray, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = None
) -> EncryptedArray:
    _none("mean", dtype=dtype, out=out, where=where)
    return a.mean(axis, bool(keepdims))


def _var(
    a: EncryptedArray,
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
    return a.var(axis, ddof, bool(keepdims))


def _reshape(a: EncryptedArray, shape: Any, order: Any = "C", *, copy: Any = None) -> EncryptedArray:
    if order != "C":
        raise DtypeError(f"np.reshape: order {order!r}: encrypted arrays are row-major")
    return a.reshape(*((shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)))


def _transpose(a: EncryptedArray, axes: Any = None) -> EncryptedArray:
    return a.transpose(*(() if axes is None else tuple(axes)))


def _roll(a: EncryptedArray, shift: Any, axis: Any = None) -> EncryptedArray:
    return a.ravel().roll(shift, 0).reshape(a.shape) if axis is None else a.roll(shift, axis)


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
