"""NumPy's own functions of encrypted integers and booleans, with its dtypes and its results.

A function that only moves values is carried out by NumPy on their places, and the result tells from where each value is
taken. What reduces an axis takes the parts of that axis together, all other axes as one batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from limbwise import _exact_products as _products
from limbwise._exact_array import DTYPES, EncryptedIntegers, bits_of, clear, common, is_whole, together, xp
from limbwise._moves import normal_axes
from limbwise.errors import ContextError, DtypeError, ShapeError, TraceError

Array = EncryptedIntegers


def _none(name: str, **given: Any) -> None:
    for argument, value in given.items():
        if value is not None and value is not np._NoValue:
            raise DtypeError(f"np.{name} of encrypted integers takes no {argument}: leave it out")


# Moves


def _encrypted_in(given: Any) -> Iterator[EncryptedIntegers]:
    """Yield the encrypted arrays among arguments."""
    if isinstance(given, dict):
        given = list(given.values())
    yield from (one for one in _leaves(given) if isinstance(one, Array))


def _joined(sources: Sequence[EncryptedIntegers]) -> EncryptedIntegers:
    """Return all values of arrays of one dtype as one axis."""
    if len(sources) == 1:
        return sources[0].ravel()
    if any(one.keys is not sources[0].keys for one in sources):
        raise ContextError("values of different keys do not go together")
    made = sources[0]._session.stack([one._ciphertext for one in sources])
    return sources[0]._made(made, (sum(one.size for one in sources),))


class _Places:
    """The arguments of a function that only moves values, with places in the stead of encrypted arrays."""

    def __init__(self, name: str, args: Any, kwargs: Any, moved: slice) -> None:
        values = args[moved]
        before, behind = args[: moved.start], args[moved.start + len(values) :]
        if not values or any(True for _ in (*_encrypted_in((before, behind)), *_encrypted_in(kwargs))):
            raise DtypeError(
                f"np.{name}: encrypted values go in the place of its values; indices and shapes are public"
            )
        # Clear arrays beside encrypted ones become encrypted ones of their keys, which hide nothing.
        self.like = next(_encrypted_in(values))
        every = [one if isinstance(one, Array) else clear(one, f"np.{name}") for one in _leaves(values)]
        self.dtype = common(*(_dtype_of(one) for one in every))
        self.sources: list[EncryptedIntegers] = []
        self.args = [*before, *(self._of(one) for one in values), *behind]

    def _of(self, given: Any) -> Any:
        if isinstance(given, (list, tuple)):
            return type(given)(self._of(one) for one in given)
        one = given if isinstance(given, Array) else self.like._known(np.asarray(given), self.dtype)
        start = sum(source.size for source in self.sources)
        self.sources.append(one.astype(self.dtype))
        return one._places() + start


def _leaves(given: Any) -> Iterator[Any]:
    if isinstance(given, (list, tuple)):
        for one in given:
            yield from _leaves(one)
    else:
        yield given


def _moving(function: Callable[..., Any], moved: slice) -> Callable[..., Any]:
    """Return a function of NumPy's that only moves the values of some of its arguments, for encrypted ones."""

    def move(*args: Any, **kwargs: Any) -> Any:
        places = _Places(function.__name__, args, kwargs, moved)
        try:
            result = function(*places.args, **kwargs)
        except (ValueError, IndexError) as error:
            raise ShapeError(f"np.{function.__name__} of encrypted integers: {error}") from None
        whole = _joined(places.sources)
        if isinstance(result, (list, tuple)):
            return type(result)(whole._at(one) for one in result)
        return whole._at(result)

    return move


_MOVES = (
    *(np.reshape, np.ravel, np.transpose, np.swapaxes, np.moveaxis, np.rollaxis, np.squeeze, np.expand_dims),
    *(np.broadcast_to, np.atleast_1d, np.atleast_2d, np.atleast_3d),
    *(np.concatenate, np.stack, np.vstack, np.hstack, np.dstack, np.column_stack, np.block),
    *(np.split, np.array_split, np.vsplit, np.hsplit, np.dsplit),
    *(np.tile, np.repeat, np.roll, np.rot90, np.flip, np.fliplr, np.flipud, np.resize, np.delete),
    *(np.take, np.take_along_axis, np.diagonal),
)


# Reductions


def _dtype_of(array: Any) -> np.dtype[Any]:
    dtype: np.dtype[Any] = array.dtype
    return dtype


def _along(x: EncryptedIntegers, axis: Any) -> tuple[EncryptedIntegers, int, tuple[int, ...], tuple[int, ...]]:
    """Return the values with the given axes first, as one; their number, the other axes, and the shape that keeps all."""
    axes = normal_axes(axis, x.ndim) if x.ndim else ()
    rest = tuple(i for i in range(x.ndim) if i not in axes)
    places = x._places().transpose(*axes, *rest)
    length = math.prod(x.shape[i] for i in axes)
    kept = tuple(1 if i in axes else n for i, n in enumerate(x.shape))
    return x._at(places).reshape(length, -1), length, tuple(x.shape[i] for i in rest), kept


def _reduction(name: str, reduce: Callable[..., EncryptedIntegers]) -> Callable[..., EncryptedIntegers]:
    """Return a reduction of NumPy's: ``reduce`` takes the axis first, all others as the second one."""

    def call(
        a: EncryptedIntegers,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = None,
        where: Any = None,
    ) -> EncryptedIntegers:
        _none(name, out=out, initial=initial, where=where)
        x, length, shape, kept = _along(a, axis)
        keep = bool(keepdims) and keepdims is not np._NoValue
        return reduce(x, length, dtype).reshape(kept if keep else shape)

    return call


def _short(reduce: Callable[..., EncryptedIntegers]) -> Callable[..., EncryptedIntegers]:
    """Return a reduction whose third argument is no dtype but ``out``, as of ``np.min``."""

    def call(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, **given: Any) -> EncryptedIntegers:
        return reduce(a, axis, None, out, keepdims, **given)

    return call


def _width(x: EncryptedIntegers, length: int, total: np.dtype[Any]) -> tuple[int, bool]:
    """Return the bits that a sum needs, even and at most those of its dtype, and whether it is signed."""
    bits, signed = bits_of(x.dtype)
    needed = bits + max(length - 1, 0).bit_length()
    return min(needed + needed % 2, 8 * total.itemsize), signed


def _sum(x: EncryptedIntegers, length: int, dtype: Any) -> EncryptedIntegers:
    total = _dtype_of(np.sum(np.zeros(1, x.dtype), dtype=dtype))
    if total not in DTYPES:
        raise DtypeError(f"a sum as {total}: encrypted sums are bool, uint8 to uint64 or int8 to int64")
    if total.kind == "b":
        return _any(x, length, None)
    session = x._session
    if x.dtype.kind == "b":
        return x._made(session.count(x._ciphertext, length, *bits_of(total)), x.shape[1:], total)
    # In as many bits as the sum has; what lies above them costs nothing, or one bootstrapping for the sign.
    made = session.sum(x._ciphertext, [1] * length, _width(x, length, total), bits_of(total))
    return x._made(made, x.shape[1:], total)


def _tree(op: str) -> Callable[..., EncryptedIntegers]:
    """Return a reduction by an operation of two halves."""

    def reduce(x: EncryptedIntegers, length: int, dtype: Any) -> EncryptedIntegers:
        if op == "mul":
            x = x.astype(_dtype_of(np.prod(np.ones(1, x.dtype), dtype=dtype)))
        while length > 1:
            half = length // 2
            low, high = x[:half], x[half : 2 * half]
            made = low._apply(op, high)
            x = xp.concatenate([made, x[2 * half :]]) if length % 2 else made
            length -= half
        return x[0]

    return reduce


def _any(x: EncryptedIntegers, length: int, _: Any) -> EncryptedIntegers:
    x = x.astype(bool)
    return x._made(x._session.reduce("any", x._ciphertext, length), x.shape[1:])


def _all(x: EncryptedIntegers, length: int, _: Any) -> EncryptedIntegers:
    x = x.astype(bool)
    return x._made(x._session.reduce("all", x._ciphertext, length), x.shape[1:])


def _place(op: str) -> Callable[..., EncryptedIntegers]:
    """Return the index of the smallest or largest value, the first of equal ones."""

    def call(a: EncryptedIntegers, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> EncryptedIntegers:
        _none("argmin" if op == "lt" else "argmax", out=out)
        x, length, shape, kept = _along(a, axis)
        keep = bool(keepdims) and keepdims is not np._NoValue
        narrow = np.dtype(np.uint8 if length <= 256 else np.uint16 if length <= 65536 else np.uint32)
        numbers = np.broadcast_to(np.arange(length, dtype=narrow)[:, None], x.shape)
        at = x._known(numbers, narrow)
        while length > 1:
            # Neighbors, so that those on the left always come before those on the right.
            even, odd = slice(0, length - 1, 2), slice(1, length, 2)
            better = x[odd]._apply(op, x[even])
            x = _with_last(where(better, x[odd], x[even]), x, length)
            at = _with_last(where(better, at[odd], at[even]), at, length)
            length = (length + 1) // 2
        return at[0].astype(np.int64).reshape(kept if keep else shape)

    return call


def _with_last(made: EncryptedIntegers, x: EncryptedIntegers, length: int) -> EncryptedIntegers:
    return xp.concatenate([made, x[length - 1 :]]) if length % 2 else made


def _cumsum(a: EncryptedIntegers, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    _none("cumsum", out=out)
    x = a.ravel() if axis is None else a
    number = 0 if axis is None else normal_axes(axis, x.ndim)[0]
    x = xp.moveaxis(x.astype(_dtype_of(np.cumsum(np.zeros(1, x.dtype), dtype=dtype))), number, 0)
    sums = [x[0]]
    for i in range(1, len(x)):
        sums.append(sums[-1] + x[i])
    return xp.moveaxis(xp.stack(sums), 0, number)


def _diff(a: EncryptedIntegers, n: Any = 1, axis: Any = -1, prepend: Any = None, append: Any = None) -> Any:
    _none("diff", prepend=prepend, append=append)
    number = normal_axes(axis, a.ndim)[0]
    for _ in range(n):
        x = xp.moveaxis(a, number, 0)
        step = x[1:] ^ x[:-1] if x.dtype.kind == "b" else x[1:] - x[:-1]
        a = xp.moveaxis(step, 0, number)
    return a


def _sort(a: EncryptedIntegers, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """Sort along an axis. Equal integers are the same, so every sorting is stable."""
    _none("sort", order=order)
    x = a.ravel() if axis is None else a
    if x.ndim == 0:
        raise ShapeError("np.sort of an encrypted number, which has no axes")
    number = 0 if axis is None else normal_axes(axis, x.ndim)[0]
    x = xp.moveaxis(x, number, 0)
    # Booleans are sorted as integers of four bits, the narrowest.
    bits = (4, False) if x.dtype.kind == "b" else bits_of(x.dtype)
    made = x._session.sort(x._session.cast(x._ciphertext, *bits), len(x))
    return xp.moveaxis(x._made(x._session.cast(made, *bits_of(x.dtype))), 0, number)


# Choices and products


def where(condition: Any, yes: Any, no: Any) -> EncryptedIntegers:
    """Select values of ``yes`` where the condition is true, else of ``no``, as :func:`numpy.where` with three arguments.

    Args:
        condition: encrypted or clear booleans.
        yes: values where the condition is true: an encrypted array, a clear one or a number. All three broadcast.
        no: the same where it is false.

    Raises:
        DtypeError: the condition is no booleans, nothing is encrypted, or the dtypes have no common integer dtype.
        ContextError: values of different keys.
        ShapeError: shapes that do not broadcast.
    """
    one = next(_encrypted_in((condition, yes, no)), None)
    if one is None:
        raise DtypeError("where: nothing here is encrypted: use np.where")
    if any(other.keys is not one.keys for other in _encrypted_in((condition, yes, no))):
        raise ContextError("values of different keys do not go together")
    sides = [side if isinstance(side, Array) or is_whole(side) else clear(side, "where") for side in (yes, no)]
    both_whole = all(is_whole(side) for side in sides)
    kinds = [np.dtype(np.int64)] if both_whole else [s if is_whole(s) else s.dtype for s in sides]
    dtype = common(*kinds)
    made = []
    for side in sides:
        if isinstance(side, Array):
            made.append(side.astype(dtype))
            continue
        if is_whole(side) and dtype.kind != "b":
            one._made(one._ciphertext, dtype=dtype)._fits(int(side))
        made.append(one._known(side if is_whole(side) else np.asarray(side).astype(dtype), dtype))
    choice = condition if isinstance(condition, Array) else clear(condition, "where")
    if choice.dtype.kind != "b":
        raise DtypeError(f"a condition of dtype {choice.dtype}: give booleans, for example x < y")
    shape = together(together(choice.shape, made[0].shape), made[1].shape)
    first, second = (side._at(xp.broadcast_to(side._places(), shape)) for side in made)
    if isinstance(choice, Array):
        spread = choice._at(xp.broadcast_to(choice._places(), shape))
        chosen = one._session.select(spread._ciphertext, first._ciphertext, second._ciphertext)
        return first._made(chosen, shape)
    return _joined([first, second])._at(np.where(choice, first._places(), second._places() + first.size))


def lookup(x: EncryptedIntegers, table: Any) -> EncryptedIntegers:
    """Return ``table[x]`` for unsigned integers x; 0 beyond the table.

    Args:
        x: encrypted unsigned integers of any shape, or booleans.
        table: 1 to 1024 clear integers or booleans, whose dtype the results have. Equal entries side by side cost less.

    Raises:
        DtypeError: signed indices, or entries that are no integers.
        ShapeError: a table that is no list of numbers.
    """
    entries = clear(table, "lookup")
    if entries.ndim != 1:
        raise ShapeError(f"lookup: a table of shape {entries.shape}: give a list of 1 to 1024 integers")
    if x.dtype.kind == "i":
        raise DtypeError(f"lookup: indices of {x.dtype}: indices are unsigned, x.astype(np.uint8)")
    index = x.astype(np.uint8) if x.dtype.kind == "b" else x
    made = x._session.lookup(index._ciphertext, entries.tolist(), *bits_of(entries.dtype))
    return x._made(made, dtype=entries.dtype)


def _clip(a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, **given: Any) -> Any:
    _none("clip", out=out)
    low, high = given.pop("min", a_min), given.pop("max", a_max)
    _none("clip", **given)
    x = a if low is None else xp.maximum(a, low)
    return x if high is None else xp.minimum(x, high)


def _isin(
    element: Any, test_elements: Any, assume_unique: Any = False, invert: Any = False, *, kind: Any = None
) -> Any:
    if isinstance(element, Array) and not isinstance(test_elements, Array):
        among = np.unique(clear(test_elements, "isin"))
        found = xp.stack([element == one for one in among.astype(common(element.dtype, among.dtype))])
    else:
        every = xp.ravel(_products.operand(test_elements, "isin"))
        found = xp.stack([_products.operand(element, "isin") == every[i] for i in range(len(every))])
    answer = xp.any(found, axis=0)
    return ~answer if invert else answer


def _array_equal(a1: Any, a2: Any, equal_nan: Any = False) -> Any:
    a, b = _products.operand(a1, "array_equal"), _products.operand(a2, "array_equal")
    return xp.all(a == b) if a.shape == b.shape else False


def _trace(a: EncryptedIntegers, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    return xp.sum(xp.diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype)


def _append(arr: Any, values: Any, axis: Any = None) -> Any:
    parts = [_products.operand(arr, "append"), _products.operand(values, "append")]
    return xp.concatenate([xp.ravel(one) for one in parts] if axis is None else parts, axis=axis or 0)


def _like(value: int) -> Callable[..., npt.NDArray[Any]]:
    """Return clear values of an array's shape and dtype."""

    def call(a: EncryptedIntegers, dtype: Any = None, **given: Any) -> npt.NDArray[Any]:
        shape = given.get("shape")
        return np.full(a.shape if shape is None else shape, value, a.dtype if dtype is None else dtype)

    return call


def _ptp(a: EncryptedIntegers, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    _none("ptp", out=out)
    return xp.max(a, axis=axis, keepdims=keepdims) - xp.min(a, axis=axis, keepdims=keepdims)


def _count_nonzero(a: EncryptedIntegers, axis: Any = None, *, keepdims: Any = False) -> Any:
    return xp.sum(a.astype(bool), axis=axis, keepdims=keepdims)


def _fraction(name: str) -> Callable[..., Any]:
    def refuse(*_: Any, **__: Any) -> Any:
        raise DtypeError(f"np.{name} of encrypted integers is no integer: take sums and //, or decrypt first")

    return refuse


_REDUCED = {
    np.add: _reduction("sum", _sum),
    np.multiply: _reduction("prod", _tree("mul")),
    np.minimum: _reduction("min", _tree("min")),
    np.maximum: _reduction("max", _tree("max")),
    np.logical_or: _reduction("any", _any),
    np.logical_and: _reduction("all", _all),
    np.bitwise_and: _reduction("bitwise_and.reduce", _tree("and")),
    np.bitwise_or: _reduction("bitwise_or.reduce", _tree("or")),
    np.bitwise_xor: _reduction("bitwise_xor.reduce", _tree("xor")),
}

FUNCTIONS: dict[Any, Callable[..., Any]] = {
    **{function: _moving(function, slice(0, 1)) for function in _MOVES},
    **{function: _moving(function, slice(1, 2)) for function in (np.compress, np.extract)},
    np.broadcast_arrays: _moving(np.broadcast_arrays, slice(0, None)),
    np.append: _append,
    np.sum: _REDUCED[np.add],
    np.prod: _REDUCED[np.multiply],
    np.min: _short(_REDUCED[np.minimum]),
    np.max: _short(_REDUCED[np.maximum]),
    np.any: _short(_REDUCED[np.logical_or]),
    np.all: _short(_REDUCED[np.logical_and]),
    np.argmin: _place("lt"),
    np.argmax: _place("gt"),
    np.count_nonzero: _count_nonzero,
    np.cumsum: _cumsum,
    np.diff: _diff,
    np.ptp: _ptp,
    np.trace: _trace,
    np.sort: _sort,
    np.where: where,
    np.clip: _clip,
    np.dot: _products.dot,
    np.vdot: _products.vdot,
    np.inner: _products.inner,
    np.outer: _products.outer,
    np.isin: _isin,
    np.array_equal: _array_equal,
    **{f: _fraction(f.__name__) for f in (np.mean, np.average, np.median, np.var, np.std, np.quantile, np.percentile)},
    np.copy: lambda a, *_, **__: a,  # nothing changes an encrypted array
    np.shape: lambda a: a.shape,
    np.ndim: lambda a: a.ndim,
    np.size: lambda a, axis=None: a.size if axis is None else a.shape[axis],
    np.zeros_like: _like(0),
    np.ones_like: _like(1),
    np.real: lambda val: val,
}


# Functions of values, one by one


def _operator(op: str) -> Callable[..., EncryptedIntegers]:
    def call(a: Any, b: Any) -> EncryptedIntegers:
        return a._apply(op, b) if isinstance(a, Array) else b._apply(op, a, swapped=True)

    return call


def _logical(op: str) -> Callable[..., EncryptedIntegers]:
    def call(a: Any, b: Any) -> EncryptedIntegers:
        a, b = (side.astype(bool) if isinstance(side, Array) else clear(side, op) != 0 for side in (a, b))
        return _operator(op)(a, b)

    return call


def _sign(x: EncryptedIntegers) -> EncryptedIntegers:
    if x.dtype.kind == "b":
        raise DtypeError("np.sign of encrypted booleans: NumPy has none either")
    above = (x > 0).astype(x.dtype)
    return above if x.dtype.kind == "u" else above - (x < 0).astype(x.dtype)


def _negative(x: EncryptedIntegers) -> EncryptedIntegers:
    if x.dtype.kind == "b":
        raise DtypeError("np.negative of encrypted booleans: use ~")
    return -x


def _square(x: EncryptedIntegers) -> EncryptedIntegers:
    # NumPy squares booleans as int8.
    return x.astype(np.int8) if x.dtype.kind == "b" else x * x


def _power(x: Any, exponent: Any) -> Any:
    if not isinstance(x, Array):
        raise DtypeError("np.power with an encrypted exponent: a power has one public exponent")
    return x**exponent


ELEMENTWISE: dict[Any, Callable[..., Any]] = {
    np.add: _operator("add"),
    np.subtract: _operator("sub"),
    np.multiply: _operator("mul"),
    np.floor_divide: _operator("floordiv"),
    np.remainder: _operator("mod"),
    np.divmod: lambda a, b: divmod(a, b) if isinstance(a, Array) else b.__rdivmod__(a),
    np.bitwise_and: _operator("and"),
    np.bitwise_or: _operator("or"),
    np.bitwise_xor: _operator("xor"),
    np.left_shift: _operator("shl"),
    np.right_shift: _operator("shr"),
    np.equal: _operator("eq"),
    np.not_equal: _operator("ne"),
    np.less: _operator("lt"),
    np.less_equal: _operator("le"),
    np.greater: _operator("gt"),
    np.greater_equal: _operator("ge"),
    np.minimum: _operator("min"),
    np.maximum: _operator("max"),
    np.fmin: _operator("min"),
    np.fmax: _operator("max"),
    np.logical_and: _logical("and"),
    np.logical_or: _logical("or"),
    np.logical_xor: _logical("xor"),
    np.logical_not: lambda x: ~x.astype(bool),
    np.invert: lambda x: ~x,
    np.negative: _negative,
    np.positive: lambda x: x,
    np.absolute: abs,
    np.sign: _sign,
    np.square: _square,
    np.power: _power,
    np.matmul: _products.matmul,
}
_WHOLE = (np.floor, np.ceil, np.trunc, np.rint, np.conjugate)  # of an integer, the integer
ELEMENTWISE |= dict.fromkeys(_WHOLE, lambda x: x)


def elementwise(ufunc: np.ufunc, method: str, *inputs: Any, **given: Any) -> Any:
    """Carry out one of NumPy's element-wise functions, or its reduction."""
    name = ufunc.__name__
    if method == "reduce" and ufunc in _REDUCED:
        axis = given.pop("axis", 0)
        return _REDUCED[ufunc](inputs[0], axis, **given)
    if method != "__call__":
        raise DtypeError(f"np.{name}.{method} of encrypted integers: use functions of arrays, such as np.sum")
    _none(name, **given)
    ours = ELEMENTWISE.get(ufunc)
    if ours is not None:
        return ours(*inputs)
    if name == "divide":
        raise DtypeError("/ of encrypted integers has no integer result: use // and %")
    if name in ("isnan", "isinf", "isfinite", "signbit"):
        raise TraceError(f"np.{name} of encrypted integers: compare them, x < 0")
    raise DtypeError(f"np.{name} of encrypted integers is not built: use + - * // %, bits, shifts and comparisons")
