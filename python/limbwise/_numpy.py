"""NumPy's own functions of encrypted arrays: which of ours each of them is.

Arguments that mean nothing here (``out``, ``dtype``, ``where``, an order of memory) are refused where they are given. What
NumPy has no argument for, such as the gap of a comparison, has our default; the bound is that of the array.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from limbwise import _arrange, _moves, _products, functions, numeric
from limbwise import order as _ordered
from limbwise.array import EncryptedArray
from limbwise.errors import DtypeError, ShapeError, TraceError


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


def _clip(a: EncryptedArray, a_min: Any = None, a_max: Any = None, out: Any = None, **given: Any) -> EncryptedArray:
    _none("clip", out=out, **{name: value for name, value in given.items() if name not in ("min", "max")})
    low, high = given.get("min", a_min), given.get("max", a_max)
    above = a if low is None else functions.maximum(a, low)
    return above if high is None else functions.minimum(above, high)


def _ptp(a: EncryptedArray, axis: Any = None, out: Any = None, keepdims: Any = False) -> EncryptedArray:
    _none("ptp", out=out)
    kept = bool(keepdims) and keepdims is not np._NoValue
    greatest, least = (_extreme("ptp", call)(a, axis, None, kept) for call in (numeric.amax, numeric.amin))
    return greatest - least


def _root(name: str, of: str) -> Callable[..., EncryptedArray]:
    def refused(*_: Any, **__: Any) -> EncryptedArray:
        raise DtypeError(
            f"np.{name} of an encrypted array: a root wants its interval: lw.sqrt({of}, interval=(low, high))"
        )

    return refused


def _product(call: Callable[..., EncryptedArray]) -> Callable[..., EncryptedArray]:
    """Return a product of two arrays, of which one may be clear."""

    def product(a: Any, b: Any, *args: Any, **given: Any) -> EncryptedArray:
        one = a if isinstance(a, EncryptedArray) else b
        left, right = (x if isinstance(x, EncryptedArray) else one._clear(x) for x in (a, b))
        return call(left, right, *args, **given)

    return product


def _einsum(subscripts: Any, *operands: Any, **given: Any) -> EncryptedArray:
    one = next((x for x in operands if isinstance(x, EncryptedArray)), None)
    if one is None:
        raise ShapeError("np.einsum of encrypted arrays: subscripts as text, then the arrays")
    arrays = [x if isinstance(x, EncryptedArray) else one._clear(x) for x in operands]
    made: EncryptedArray = _products.einsum(subscripts, *arrays, **given)
    return made


# These put values elsewhere or repeat them, whatever the values are.
_REARRANGES = (
    np.take,
    np.repeat,
    np.tile,
    np.flip,
    np.fliplr,
    np.flipud,
    np.rot90,
    np.swapaxes,
    np.moveaxis,
    np.rollaxis,
    np.expand_dims,
    np.squeeze,
    np.ravel,
    np.diagonal,
    np.delete,
    np.resize,
    np.take_along_axis,
)

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
    np.concatenate: _arrange.concatenate,
    np.stack: _arrange.stack,
    np.vstack: _arrange.raised(2, 0, 0),
    np.hstack: _arrange.raised(1, 0, 1),
    np.dstack: _arrange.raised(3, 1, 2),
    np.column_stack: _arrange.raised(2, 1, 1),
    np.broadcast_to: _arrange.broadcast_to,
    np.where: _arrange.where,
    np.pad: _arrange.pad,
    np.cumsum: _arrange.cumsum,
    np.diff: _arrange.diff,
    np.trace: _arrange.trace,
    np.average: _arrange.average,
    np.convolve: _arrange.convolve,
    np.dot: _product(_products.dot),
    np.inner: _product(_products.inner),
    np.outer: _product(_products.outer),
    np.tensordot: _product(_products.tensordot),
    np.einsum: _einsum,
    np.clip: _clip,
    np.ptp: _ptp,
    np.std: _root("std", "x.var(axis)"),
    np.linalg.norm: _root("linalg.norm", "(x * x).sum(axis)"),
    np.copy: lambda a, *_, **__: a,  # nothing changes an encrypted array
    np.real: lambda val: val.real,
    np.imag: lambda val: val.imag,
    **{function: _arrange.rearranged(function) for function in _REARRANGES},
}


def _power(x: Any, exponent: Any) -> Any:
    if not isinstance(x, EncryptedArray):
        raise DtypeError(
            "np.power with an encrypted exponent: approximate with lw.function(x, f, interval=(low, high), degree=…)"
        )
    whole = isinstance(exponent, (float, np.floating)) and float(exponent).is_integer()
    return x ** (int(exponent) if whole else exponent)


def _operator(name: str) -> Callable[..., Any]:
    """Return an operator by the method of the operand that is encrypted."""

    def call(a: Any, b: Any) -> Any:
        return getattr(a, f"__{name}__")(b) if isinstance(a, EncryptedArray) else getattr(b, f"__r{name}__")(a)

    return call


# Functions of values, one by one. Those that are polynomials on an interval alone take it from the bound of the array, or
# have no default and are named in the refusal.
ELEMENTWISE: dict[Any, Callable[..., Any]] = {
    np.add: _operator("add"),
    np.subtract: _operator("sub"),
    np.multiply: _operator("mul"),
    np.divide: _operator("truediv"),
    np.matmul: _operator("matmul"),
    np.negative: lambda x: -x,
    np.positive: lambda x: x,
    np.square: lambda x: x * x,
    np.power: _power,
    np.float_power: _power,
    np.conjugate: lambda x: x.conj(),
    np.absolute: numeric.absolute,
    np.fabs: numeric.absolute,
    np.sign: functions.sign,
    np.exp: numeric.exp,
    np.maximum: functions.maximum,
    np.minimum: functions.minimum,
    np.fmax: functions.maximum,
    np.fmin: functions.minimum,
}
_INTERVALS = ("sqrt", "log", "reciprocal")
_ASKS = ("isnan", "isinf", "isfinite", "signbit", "logical_and", "logical_or", "logical_xor", "logical_not")


def elementwise(ufunc: np.ufunc, method: str, *inputs: Any, **given: Any) -> Any:
    """Carry out one of NumPy's element-wise functions."""
    name = ufunc.__name__
    if method != "__call__":
        raise DtypeError(f"np.{name}.{method} of an encrypted array: use the array's methods, such as sum")
    if given:
        raise DtypeError(f"np.{name} of an encrypted array takes no {', '.join(given)}: leave it out")
    one = next(x for x in inputs if isinstance(x, EncryptedArray))
    if name in ("equal", "not_equal"):
        one._equal_refused(None)
    if name in ("less", "less_equal", "greater", "greater_equal"):
        one._compare_refused(None)
    ours = ELEMENTWISE.get(ufunc)
    if ours is not None:
        return ours(*inputs)
    if name in _ASKS:
        raise TraceError(f"np.{name} of an encrypted array: nobody here sees its values")
    if ufunc.nin > 1:
        text = "operators and lw's functions, which make it of sums and products"
    elif name in _INTERVALS:
        text = f"lw.{name}(x, interval=(low, high)), which wants the interval of the values"
    else:
        text = f"lw.function(x, np.{name}, interval=(low, high), degree=…), a polynomial on an interval"
    raise DtypeError(f"np.{name} of an encrypted array: use {text}")
