"""Arrays of encrypted integers and booleans: NumPy's operators, with its dtypes and its results."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, cast, final

import numpy as np
import numpy.typing as npt

from limbwise import _files
from limbwise._protocols import NumpyProtocols
from limbwise.errors import ContextError, DtypeError, EncodeError, ShapeError

if TYPE_CHECKING:
    from types import ModuleType

    from limbwise._limbwise import TfheCiphertext, TfheSession
    from limbwise.tfhe import Keys

# NumPy's functions reach ours by its protocols, which its types do not know.
xp: Any = np

DTYPES = tuple(np.dtype(t) for t in (bool, "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8"))
_BOOL = np.dtype(bool)
_ANSWERS = ("eq", "ne", "lt", "le", "gt", "ge")
_SHIFTS = ("shl", "shr")
_DIVISIONS = ("floordiv", "mod")
# What an operation is with its operands exchanged.
_SWAPPED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"} | {
    op: op for op in ("add", "mul", "and", "or", "xor", "min", "max")
}
# NumPy adds booleans as "or" and multiplies them as "and"; it has no difference of them.
_OF_BOOLEANS = {"add": "or", "mul": "and"}


def bits_of(dtype: np.dtype[Any]) -> tuple[int, bool]:
    """Return the bits of a dtype (1 for booleans) and whether it is signed."""
    return (1, False) if dtype.kind == "b" else (8 * dtype.itemsize, dtype.kind == "i")


def is_whole(value: Any) -> bool:
    """Whether a value is a Python integer, which takes the dtype of what it goes with."""
    return isinstance(value, int) and not isinstance(value, bool)


def common(*dtypes: Any) -> np.dtype[Any]:
    """Return the dtype that NumPy gives to a result; integers have none with floats."""
    # A Python integer counts as one whatever its value.
    found = np.result_type(*(0 if is_whole(one) else one for one in dtypes))
    if found not in DTYPES:
        names = " and ".join(str(one) for one in dtypes)
        raise DtypeError(f"{names} are {found} together, which is no dtype of integers: convert one with x.astype(…)")
    return found


def clear(value: Any, what: str) -> npt.NDArray[Any]:
    """Return clear integers or booleans as an array."""
    array = np.asarray(value)
    if array.dtype not in DTYPES:
        raise DtypeError(f"{what} with {array.dtype}: give integers or booleans, or round first: x.astype(np.int64)")
    if array.size == 0:
        raise ShapeError(f"{what} with an array of shape {array.shape}, which has no values")
    return array


def _forward(op: str) -> Callable[[EncryptedIntegers, Any], EncryptedIntegers]:
    def call(self: EncryptedIntegers, other: Any) -> EncryptedIntegers:
        return self._operator(op, other)

    return call


def _backward(op: str) -> Callable[[EncryptedIntegers, Any], EncryptedIntegers]:
    def call(self: EncryptedIntegers, other: Any) -> EncryptedIntegers:
        return self._operator(op, other, swapped=True)

    return call


@final
class EncryptedIntegers(NumpyProtocols):
    """An array of encrypted integers or booleans of one dtype and any shape; made by :meth:`limbwise.tfhe.Keys.encrypt`.

    Operators take another such array, a NumPy array or a number. Shapes broadcast, dtypes are promoted, and integers wrap
    as NumPy's do. ``np.sort``, ``np.sum``, ``np.concatenate`` and other functions of NumPy's reach ours. Comparisons give
    encrypted booleans. What is decided by an encrypted value has no truth value here: use :func:`limbwise.tfhe.where`.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, keys: Keys, ciphertext: TfheCiphertext, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.keys = keys
        self.shape = shape
        self.dtype = dtype
        self._ciphertext = ciphertext

    @staticmethod
    def _numpy() -> ModuleType:
        from limbwise import _exact_numpy

        return _exact_numpy

    # What is known of it

    @property
    def size(self) -> int:
        """Number of values."""
        return self._ciphertext.rows

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def _session(self) -> TfheSession:
        return self.keys._session

    def to_bytes(self) -> bytes:
        """Serialize the values for :meth:`Keys.from_bytes` of the other side."""
        header = {"shape": list(self.shape), "dtype": self.dtype.name}
        return _files.frame("tfhe array", header, self._session.to_bytes(self._ciphertext))

    def __repr__(self) -> str:
        return f"<limbwise.tfhe.EncryptedIntegers of {self.dtype}, shape {self.shape}>"

    def __bool__(self) -> bool:
        raise DtypeError("an encrypted value is not true or false here: use lw.tfhe.where(condition, yes, no)")

    def __index__(self) -> NoReturn:
        raise DtypeError("an encrypted value is no public number: decrypt it first")

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an encrypted number has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[EncryptedIntegers]:
        return (self[i] for i in range(len(self)))

    # Where values are

    def _made(
        self, ciphertext: TfheCiphertext, shape: tuple[int, ...] | None = None, dtype: npt.DTypeLike | None = None
    ) -> EncryptedIntegers:
        return EncryptedIntegers(
            self.keys,
            ciphertext,
            self.shape if shape is None else shape,
            self.dtype if dtype is None else np.dtype(dtype),
        )

    def _places(self) -> npt.NDArray[np.int64]:
        """Return the number of each value in the ciphertext, in the array's shape."""
        return np.arange(self.size, dtype=np.int64).reshape(self.shape)

    def _at(self, places: npt.ArrayLike) -> EncryptedIntegers:
        """Return the values at places of the ciphertext, in the shape of the places; free where nothing moves."""
        wanted = np.asarray(places, np.int64)
        if wanted.size == 0:
            raise ShapeError(f"a result of shape {wanted.shape} has no values: choose one at least")
        flat = wanted.reshape(-1)
        if flat.size == self.size and np.array_equal(flat, np.arange(self.size)):
            return self._made(self._ciphertext, wanted.shape)
        return self._made(self._session.gather(self._ciphertext, flat.tolist()), wanted.shape)

    def _known(self, values: Any, dtype: np.dtype[Any]) -> EncryptedIntegers:
        """Return clear values as an array that goes with this one. It hides nothing."""
        array = np.asarray(values)
        made = self._session.known(self._ciphertext, array.reshape(-1).tolist(), *bits_of(dtype))
        return self._made(made, array.shape, dtype)

    def __getitem__(self, key: Any) -> EncryptedIntegers:
        every = key if isinstance(key, tuple) else (key,)
        if any(isinstance(one, EncryptedIntegers) for one in every):
            raise DtypeError("an encrypted index: indices are public; choose with lw.tfhe.where(condition, yes, no)")
        try:
            return self._at(self._places()[key])
        except IndexError as error:
            raise ShapeError(f"an index of an encrypted array of shape {self.shape}: {error}") from None

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise TypeError("an encrypted array does not change: join new values by np.concatenate, or use lw.tfhe.where")

    @property
    def T(self) -> EncryptedIntegers:  # noqa: N802 - NumPy's name
        """The array with its axes in reverse order."""
        return self._at(self._places().T)

    def reshape(self, *shape: Any) -> EncryptedIntegers:
        """Return the array in another shape; one axis may be -1. It costs nothing."""
        try:
            return self._at(self._places().reshape(*shape))
        except ValueError as error:
            raise ShapeError(str(error)) from None

    def ravel(self) -> EncryptedIntegers:
        """Return all values as one axis. It costs nothing."""
        return self._at(self._places().ravel())

    def transpose(self, *axes: Any) -> EncryptedIntegers:
        """Return the array with its axes in another order, reversed by default."""
        try:
            return self._at(self._places().transpose(*axes))
        except ValueError as error:
            raise ShapeError(str(error)) from None

    def astype(self, dtype: npt.DTypeLike) -> EncryptedIntegers:
        """Return the values in another dtype, as NumPy converts them: modulo 2^bits, and true for what is not 0.

        From unsigned integers, from booleans and to fewer bits it costs nothing; signed integers take a bootstrapping each
        to more bits, and booleans of integers a comparison.

        Raises:
            DtypeError: a dtype that is not bool, uint8 to uint64 or int8 to int64.
        """
        wanted = np.dtype(dtype)
        if wanted not in DTYPES:
            raise DtypeError(f"{wanted}: encrypted integers are bool, uint8 to uint64 or int8 to int64")
        if wanted == self.dtype:
            return self
        return self._made(self._session.cast(self._ciphertext, *bits_of(wanted)), dtype=wanted)

    # Operators

    def _shape_with(self, other: EncryptedIntegers) -> tuple[int, ...]:
        if other.keys is not self.keys:
            raise ContextError("values of different keys do not go together")
        return together(self.shape, other.shape)

    def _spread(self, shape: tuple[int, ...]) -> EncryptedIntegers:
        """Return the array broadcast to a shape; a single value stays one, because it goes with any number."""
        if self.size == 1:
            return self._made(self._ciphertext, shape)
        return self._at(np.broadcast_to(self._places(), shape))

    def _apply(self, op: str, other: Any, *, swapped: bool = False) -> EncryptedIntegers:
        """Carry out ``self op other``, or ``other op self`` if swapped, in the common dtype."""
        if isinstance(other, EncryptedIntegers):
            dtype = self._dtype_with(op, other.dtype)
            shape = self._shape_with(other)
            if self.size == other.size == 1:
                return self.astype(dtype)._both(op, other.astype(dtype), shape)
            return self.astype(dtype)._spread(shape)._both(op, other.astype(dtype)._spread(shape), shape)
        if is_whole(other):
            return self._with_number(op, int(other), swapped)
        return self._with_array(op, clear(other, op), swapped)

    def _with_number(self, op: str, number: int, swapped: bool) -> EncryptedIntegers:
        """Carry it out with a number of Python's, which takes the dtype of the array."""
        x = self.astype(self._dtype_with(op, number))
        if swapped and op in _SWAPPED:
            op, swapped = _SWAPPED[op], False
        if op in _ANSWERS and not x._has(number):
            # The answer is public: no value of the dtype equals the number, and all are on one side of it.
            answer = op == "ne" or op in (("gt", "ge") if number < 0 else ("lt", "le"))
            return x._known(np.full(x.shape, answer), _BOOL)
        if not swapped and op in _SHIFTS:
            return x._number(op, number)
        x._fits(number)
        if not swapped:
            return x._number(op, number)
        return (-x)._number("add", number) if op == "sub" else x._known(number, x.dtype)._apply(op, x)

    def _with_array(self, op: str, array: npt.NDArray[Any], swapped: bool) -> EncryptedIntegers:
        """Carry it out with clear integers or booleans."""
        dtype = self._dtype_with(op, array.dtype)
        x, shape, array = self.astype(dtype), together(self.shape, array.shape), array.astype(dtype)
        if swapped and op in _SWAPPED:
            op, swapped = _SWAPPED[op], False
        if swapped and op == "sub":
            return (-x)._with_array("add", array, False)
        if swapped or dtype.kind == "b":
            known = x._known(array, dtype)
            return known._apply(op, x) if swapped else x._apply(op, known)
        if array.size == 1:
            return x._spread(shape)._number(op, int(array.reshape(-1)[0]))
        if op == "mul" or op in _SHIFTS:
            return x._numbers(op, array, shape)
        if op in _DIVISIONS:
            every, numbers = x._spread(shape), np.broadcast_to(array, shape).reshape(-1).tolist()
            return every._divided(op, every._session.divided_clear(every._ciphertext, numbers), shape)
        return x._apply(op, x._known(array, dtype))

    def _dtype_with(self, op: str, other: Any) -> np.dtype[Any]:
        dtype = common(self.dtype, other)
        if dtype.kind == "b" and op in ("sub", *_SHIFTS, *_DIVISIONS):
            raise DtypeError(
                f"{op} is for encrypted integers, not for booleans: convert them, x.astype(np.int8), or use ^"
            )
        return dtype

    def _has(self, value: int) -> bool:
        info = np.iinfo(self.dtype)
        return info.min <= value <= info.max

    def _fits(self, value: int) -> None:
        info = np.iinfo(self.dtype)
        if not self._has(value):
            text = f"{value} is outside {self.dtype}'s {info.min} to {info.max}: choose a wider dtype, x.astype(…)"
            raise EncodeError(text)

    def _both(self, op: str, other: EncryptedIntegers, shape: tuple[int, ...]) -> EncryptedIntegers:
        """Carry out an operation with encrypted values of the same dtype."""
        if op in _DIVISIONS:
            return self._divided(op, self._session.divided(self._ciphertext, other._ciphertext), shape)
        dtype = _BOOL if op in _ANSWERS else self.dtype
        native = _OF_BOOLEANS.get(op, op) if self.dtype.kind == "b" else op
        return self._made(self._session.binary(native, self._ciphertext, other._ciphertext), shape, dtype)

    def _divided(self, op: str, both: list[TfheCiphertext], shape: tuple[int, ...]) -> EncryptedIntegers:
        return self._made(both[_DIVISIONS.index(op)], shape)

    def _number(self, op: str, number: int) -> EncryptedIntegers:
        """Carry out an operation with a clear number on the right, which the dtype has."""
        session, bits = self._session, 8 * self.dtype.itemsize
        if op in _DIVISIONS:
            return self._divided(op, session.divided_clear(self._ciphertext, [number]), self.shape)
        if op in _SHIFTS and number >= bits:
            # All bits are shifted out; of negative integers to the right the sign is left.
            if op == "shl" or self.dtype.kind == "u":
                return self._known(np.zeros(self.shape, self.dtype), self.dtype)
            number = bits - 1
        dtype = _BOOL if op in _ANSWERS else self.dtype
        return self._made(session.clear(op, self._ciphertext, number), dtype=dtype)

    def _numbers(self, op: str, array: npt.NDArray[Any], shape: tuple[int, ...]) -> EncryptedIntegers:
        """Carry out an operation with clear numbers on the right; equal ones together."""
        numbers = np.broadcast_to(array, shape).reshape(-1)
        every = self._at(np.broadcast_to(self._places(), shape)).ravel()
        kinds, which = np.unique(numbers, return_inverse=True)
        places = [np.flatnonzero(which == i) for i in range(len(kinds))]
        parts = [every._at(own)._number(op, int(kind)) for own, kind in zip(places, kinds, strict=True)]
        stacked = every._made(self._session.stack([part._ciphertext for part in parts]), (numbers.size,))
        return stacked._at(np.argsort(np.concatenate(places)).reshape(shape))

    def _operator(self, op: str, other: Any, *, swapped: bool = False) -> EncryptedIntegers:
        """Carry out an operator of Python's, or leave what is no array and no number to the other operand."""
        if not isinstance(other, (EncryptedIntegers, np.ndarray, np.generic, int, float, complex, list, tuple)):
            return NotImplemented  # type: ignore[no-any-return]
        return self._apply(op, other, swapped=swapped)

    __add__, __radd__ = _forward("add"), _backward("add")
    __sub__, __rsub__ = _forward("sub"), _backward("sub")
    __mul__, __rmul__ = _forward("mul"), _backward("mul")
    __floordiv__, __rfloordiv__ = _forward("floordiv"), _backward("floordiv")
    __mod__, __rmod__ = _forward("mod"), _backward("mod")
    __and__, __rand__ = _forward("and"), _backward("and")
    __or__, __ror__ = _forward("or"), _backward("or")
    __xor__, __rxor__ = _forward("xor"), _backward("xor")
    __lshift__, __rlshift__ = _forward("shl"), _backward("shl")
    __rshift__, __rrshift__ = _forward("shr"), _backward("shr")
    __lt__ = _forward("lt")
    __le__ = _forward("le")
    __gt__ = _forward("gt")
    __ge__ = _forward("ge")

    def __neg__(self) -> EncryptedIntegers:
        return self._made(self._session.unary("negative", self._ciphertext))

    def __pos__(self) -> EncryptedIntegers:
        return self

    def __invert__(self) -> EncryptedIntegers:
        return self._made(self._session.unary("invert", self._ciphertext))

    def __abs__(self) -> EncryptedIntegers:
        if self.dtype.kind != "i":
            return self
        return self._made(self._session.unary("absolute", self._ciphertext))

    def __divmod__(self, other: Any) -> tuple[EncryptedIntegers, EncryptedIntegers]:
        array = other if isinstance(other, EncryptedIntegers) else clear(other, "divmod")
        dtype = self._dtype_with("floordiv", other if is_whole(other) else array.dtype)
        if is_whole(other):
            self.astype(dtype)._fits(int(other))
        shape = together(self.shape, array.shape)
        x = self.astype(dtype)._spread(shape)
        if isinstance(array, EncryptedIntegers):
            x._shape_with(array)
            both = x._session.divided(x._ciphertext, array.astype(dtype)._spread(shape)._ciphertext)
        else:
            numbers = array.astype(dtype) if array.size == 1 else np.broadcast_to(array.astype(dtype), shape)
            both = x._session.divided_clear(x._ciphertext, numbers.reshape(-1).tolist())
        return x._made(both[0], shape), x._made(both[1], shape)

    def __rdivmod__(self, other: Any) -> tuple[EncryptedIntegers, EncryptedIntegers]:
        dtype = self._dtype_with("floordiv", other if is_whole(other) else clear(other, "divmod").dtype)
        return divmod(self._known(np.asarray(other), dtype), self)

    def __pow__(self, exponent: Any) -> EncryptedIntegers:
        if isinstance(exponent, EncryptedIntegers) or np.ndim(exponent) or self.dtype.kind == "b":
            raise DtypeError("a power of encrypted integers has one public exponent: x ** 3")
        number = operator.index(exponent)
        if number < 0:
            raise ShapeError(f"x ** {number}: integers have no negative powers")
        result, square = None, self
        for bit in bin(number)[:1:-1]:
            if bit == "1":
                result = square if result is None else result * square
            number >>= 1
            square = square * square if number else square
        return self._known(np.ones(self.shape, self.dtype), self.dtype) if result is None else result

    def __matmul__(self, other: Any) -> EncryptedIntegers:
        return cast("EncryptedIntegers", xp.matmul(self, other))

    def __rmatmul__(self, other: Any) -> EncryptedIntegers:
        return cast("EncryptedIntegers", xp.matmul(other, self))

    def _equal(self, op: str, other: Any) -> EncryptedIntegers:
        if not isinstance(other, (EncryptedIntegers, np.ndarray, np.generic, int, list, tuple)):
            # Left to Python, it would be False.
            name = type(other).__name__
            raise DtypeError(f"{self.dtype} is not compared with {name}: give encrypted values, or integers")
        return self._apply(op, other)

    def __eq__(self, other: Any) -> EncryptedIntegers:  # type: ignore[override]
        return self._equal("eq", other)

    def __ne__(self, other: Any) -> EncryptedIntegers:  # type: ignore[override]
        return self._equal("ne", other)

    # Reductions

    def sum(
        self, axis: int | Sequence[int] | None = None, dtype: npt.DTypeLike | None = None, *, keepdims: bool = False
    ) -> EncryptedIntegers:
        """Return sums along axes, of all values by default, as :func:`numpy.sum`.

        Args:
            axis: one axis or several.
            dtype: that of the result; by default NumPy's: 64 bits. A narrow one costs less, and wraps.
            keepdims: keep the axes with length 1.
        """
        return cast("EncryptedIntegers", xp.sum(self, axis=axis, dtype=dtype, keepdims=keepdims))

    def prod(
        self, axis: int | Sequence[int] | None = None, dtype: npt.DTypeLike | None = None, *, keepdims: bool = False
    ) -> EncryptedIntegers:
        """Return products along axes, of all values by default, as :func:`numpy.prod`; arguments as of :meth:`sum`."""
        return cast("EncryptedIntegers", xp.prod(self, axis=axis, dtype=dtype, keepdims=keepdims))

    def min(self, axis: int | Sequence[int] | None = None, *, keepdims: bool = False) -> EncryptedIntegers:
        """Return the smallest values along axes, of all values by default."""
        return cast("EncryptedIntegers", xp.min(self, axis=axis, keepdims=keepdims))

    def max(self, axis: int | Sequence[int] | None = None, *, keepdims: bool = False) -> EncryptedIntegers:
        """Return the largest values along axes, of all values by default."""
        return cast("EncryptedIntegers", xp.max(self, axis=axis, keepdims=keepdims))

    def any(self, axis: int | Sequence[int] | None = None, *, keepdims: bool = False) -> EncryptedIntegers:
        """Return whether any value is true (integers: not 0), along axes or of all."""
        return cast("EncryptedIntegers", xp.any(self, axis=axis, keepdims=keepdims))

    def all(self, axis: int | Sequence[int] | None = None, *, keepdims: bool = False) -> EncryptedIntegers:
        """Return whether all values are true (integers: not 0), along axes or of all."""
        return cast("EncryptedIntegers", xp.all(self, axis=axis, keepdims=keepdims))

    def argmin(self, axis: int | None = None) -> EncryptedIntegers:
        """Return the indices of the smallest values, the first of equal ones, as int64."""
        return cast("EncryptedIntegers", xp.argmin(self, axis=axis))

    def argmax(self, axis: int | None = None) -> EncryptedIntegers:
        """Return the indices of the largest values, the first of equal ones, as int64."""
        return cast("EncryptedIntegers", xp.argmax(self, axis=axis))

    def clip(self, low: Any = None, high: Any = None) -> EncryptedIntegers:
        """Return the values within bounds."""
        return cast("EncryptedIntegers", xp.clip(self, low, high))

    def _extreme(self, op: str, other: Any) -> EncryptedIntegers:
        if not isinstance(other, (EncryptedIntegers, np.ndarray, np.generic, int, list, tuple)):
            name = type(other).__name__
            raise DtypeError(f"{name} has no {op} with {self.dtype}: give encrypted values, or integers")
        return self._apply(op, other)

    def minimum(self, other: Any) -> EncryptedIntegers:
        """Return the element-wise minimum.

        Args:
            other: an encrypted array of the same keys, clear integers, or a whole number of the dtype.

        Raises:
            ContextError, DtypeError, ShapeError: values of other keys, no integers, or shapes that do not broadcast.
            EncodeError: a number that the dtype does not have.
        """
        return self._extreme("min", other)

    def maximum(self, other: Any) -> EncryptedIntegers:
        """Return the element-wise maximum; arguments and errors as of :meth:`minimum`."""
        return self._extreme("max", other)


def together(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that two shapes broadcast to."""
    try:
        return np.broadcast_shapes(one, other)
    except ValueError:
        raise ShapeError(f"shapes {one} and {other} do not broadcast to one shape") from None
