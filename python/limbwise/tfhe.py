"""Exact encrypted integers and booleans: operators of NumPy's integers, results equal bit for bit.

>>> import numpy as np, limbwise as lw
>>> keys = lw.tfhe.keys()
>>> x = keys.encrypt(np.array([3, 200], np.uint8))
>>> y = keys.where(x < 100, x * 2, x - 100)
>>> keys.decrypt(y)
array([  6, 100], dtype=uint8)

Every operation is some dozens of programmable bootstrappings, milliseconds each; an array goes through them as one
batch. Integers wrap as NumPy's do.
"""

from __future__ import annotations

import operator
import os
from pathlib import Path
from typing import Any, final

import numpy as np
import numpy.typing as npt

from limbwise._limbwise import TfheCiphertext, TfheSession
from limbwise._options import warn_insecure
from limbwise.errors import ContextError, DtypeError, ParamsError, ShapeError

__all__ = ["EncryptedIntegers", "Keys", "keys", "where"]

_DTYPES = tuple(np.dtype(t) for t in (bool, "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8"))


def keys(preset: str | os.PathLike[str] = "2-2-p128", *, threads: int | None = None) -> Keys:
    """Make keys under a TFHE preset, or under the parameters of a TOML file.

    Integers take four message bits: ``2-2-p128`` (a bootstrapping fails with probability 2^-128) or ``2-2-p64``.

    Raises:
        ParamsError: there is no such preset, or the file's parameters are refused.
    """
    path = Path(preset)
    if path.suffix != ".toml":
        return Keys(TfheSession(str(preset), threads=threads))
    try:
        text = path.read_text()
    except OSError as error:
        raise ParamsError(f"{path}: cannot read: {error} (give a TOML file with parameters)") from None
    return Keys(TfheSession(str(path), text, threads=threads))


@final
class Keys:
    """Both sides of a computation: the secret key, and the keys that bootstrap."""

    def __init__(self, session: TfheSession) -> None:
        self._session = session
        warn_insecure(session.insecure_reason)

    @property
    def security_bits(self) -> int:
        """The security class of the weaker key."""
        return self._session.security_bits

    @property
    def insecure_reason(self) -> str | None:
        """Why the parameters may be insecure, where they are."""
        return self._session.insecure_reason

    @property
    def log2_failure(self) -> float:
        """The base-2 logarithm of the probability that a bootstrapping fails."""
        return self._session.log2_failure

    def __repr__(self) -> str:
        warning = f", INSECURE: {self.insecure_reason}" if self.insecure_reason else ""
        return f"<limbwise.tfhe.Keys {self._session.name}: {self.security_bits} bits{warning}>"

    def encrypt(self, values: npt.ArrayLike, dtype: npt.DTypeLike | None = None) -> EncryptedIntegers:
        """Encrypt booleans, or integers of 8, 16, 32 or 64 bits.

        Raises:
            DtypeError: values of another kind; a Python number is an int64 if ``dtype`` says nothing else.
            ShapeError: an array without values.
        """
        array = np.asarray(values)
        if dtype is not None:
            wanted = np.dtype(dtype)
            if wanted in _DTYPES and array.size and not _fits(array, wanted):
                raise DtypeError(f"values from {array.min()} to {array.max()} are not all {wanted}: choose a wider one")
            array = array.astype(wanted)
        if array.dtype not in _DTYPES:
            raise DtypeError(f"values of dtype {array.dtype}: encrypt bool, uint8 to uint64 or int8 to int64")
        if array.size == 0:
            raise ShapeError(f"an array of shape {array.shape} has nothing to encrypt")
        bits = 1 if array.dtype == bool else 8 * array.dtype.itemsize
        words = array.reshape(-1).astype(np.uint64).tolist()
        made = self._session.encrypt(words, bits, array.dtype.kind == "i")
        return EncryptedIntegers(self, made, array.shape, array.dtype)

    def decrypt(self, values: EncryptedIntegers) -> npt.NDArray[Any]:
        """Decrypt to an array of the same shape and dtype.

        Raises:
            ContextError: the values belong to other keys.
        """
        if values.keys is not self:
            raise ContextError("these values belong to other keys: decrypt them with the keys that encrypted them")
        words = np.array(self._session.decrypt(values._ciphertext), np.uint64)
        return words.astype(values.dtype).reshape(values.shape)

    def where(self, choice: EncryptedIntegers, yes: EncryptedIntegers, no: EncryptedIntegers) -> EncryptedIntegers:
        """Take values of ``yes`` where the choice is true, else of ``no``.

        Raises:
            DtypeError: the choice is not encrypted booleans, or the two have different dtypes.
        """
        return where(choice, yes, no)


def _fits(array: npt.NDArray[Any], wanted: np.dtype[Any]) -> bool:
    if array.dtype.kind not in "bui":
        return False
    least, most = (0, 1) if wanted.kind == "b" else (int(np.iinfo(wanted).min), int(np.iinfo(wanted).max))
    return least <= int(array.min()) and int(array.max()) <= most


def where(choice: EncryptedIntegers, yes: EncryptedIntegers, no: EncryptedIntegers) -> EncryptedIntegers:
    """Take values of ``yes`` where the choice is true, else of ``no``.

    Raises:
        DtypeError: the choice is not encrypted booleans, or the two have different dtypes.
    """
    if choice.dtype != bool:
        raise DtypeError(f"a choice of dtype {choice.dtype}: give encrypted booleans, for example x < y")
    shape = choice._shape_with(yes)
    if yes.dtype != no.dtype:
        raise DtypeError(f"values of {yes.dtype} and {no.dtype}: both sides of a choice have one dtype")
    shape = max(shape, yes._shape_with(no), choice._shape_with(no), key=lambda s: (np.prod(s, dtype=int), len(s)))
    made = choice.keys._session.select(choice._ciphertext, yes._ciphertext, no._ciphertext)
    return EncryptedIntegers(choice.keys, made, shape, yes.dtype)


@final
class EncryptedIntegers:
    """An array of encrypted integers or booleans of one dtype.

    Operators take another such array of the same dtype and shape (or of one value), or a Python integer that the dtype
    has. Comparisons give encrypted booleans. What is decided by an encrypted value has no truth value here: use
    :func:`where`.
    """

    __array_ufunc__ = None  # NumPy leaves operators with arrays to this class
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, keys: Keys, ciphertext: TfheCiphertext, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.keys = keys
        self.shape = shape
        self.dtype = dtype
        self._ciphertext = ciphertext

    @property
    def size(self) -> int:
        """Number of values."""
        return self._ciphertext.rows

    def __repr__(self) -> str:
        return f"<limbwise.tfhe.EncryptedIntegers of {self.dtype}, shape {self.shape}>"

    def __bool__(self) -> bool:
        raise DtypeError("an encrypted value is not true or false here: use lw.tfhe.where(condition, yes, no)")

    def _shape_with(self, other: EncryptedIntegers) -> tuple[int, ...]:
        if other.keys is not self.keys:
            raise ContextError("values of different keys do not go together")
        if self.shape != other.shape and 1 not in (self.size, other.size):
            raise ShapeError(f"shapes {self.shape} and {other.shape}: equal ones go together, or one value with any")
        return max(self.shape, other.shape, key=lambda shape: (np.prod(shape, dtype=int), len(shape)))

    def _apply(self, op: str, other: Any, *, answers: bool = False) -> EncryptedIntegers:
        session = self.keys._session
        dtype = np.dtype(bool) if answers else self.dtype
        if isinstance(other, EncryptedIntegers):
            shape = self._shape_with(other)
            if self.dtype != other.dtype:
                raise DtypeError(
                    f"{self.dtype} and {other.dtype} do not go together: use one dtype, as astype gives it"
                )
            return EncryptedIntegers(self.keys, session.binary(op, self._ciphertext, other._ciphertext), shape, dtype)
        value = _whole(other)
        if value is None:
            return NotImplemented  # type: ignore[no-any-return]
        return EncryptedIntegers(self.keys, session.clear(op, self._ciphertext, value), self.shape, dtype)

    def __add__(self, other: Any) -> EncryptedIntegers:
        return self._apply("add", other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> EncryptedIntegers:
        return self._apply("sub", other)

    def __rsub__(self, other: Any) -> EncryptedIntegers:
        return (-self)._apply("add", other)

    def __mul__(self, other: Any) -> EncryptedIntegers:
        return self._apply("mul", other)

    __rmul__ = __mul__

    def __neg__(self) -> EncryptedIntegers:
        return EncryptedIntegers(self.keys, self.keys._session.negated(self._ciphertext), self.shape, self.dtype)

    def __invert__(self) -> EncryptedIntegers:
        return EncryptedIntegers(self.keys, self.keys._session.complement(self._ciphertext), self.shape, self.dtype)

    def __and__(self, other: Any) -> EncryptedIntegers:
        return self._apply("and", other)

    __rand__ = __and__

    def __or__(self, other: Any) -> EncryptedIntegers:
        return self._apply("or", other)

    __ror__ = __or__

    def __xor__(self, other: Any) -> EncryptedIntegers:
        return self._apply("xor", other)

    __rxor__ = __xor__

    def _shift(self, op: str, by: Any) -> EncryptedIntegers:
        if isinstance(by, EncryptedIntegers):
            raise DtypeError("shifts are by a clear number of bits")
        if _whole(by) is None:
            return NotImplemented  # type: ignore[no-any-return]
        return self._apply(op, by)

    def __lshift__(self, by: Any) -> EncryptedIntegers:
        return self._shift("shl", by)

    def __rshift__(self, by: Any) -> EncryptedIntegers:
        return self._shift("shr", by)

    def __eq__(self, other: Any) -> EncryptedIntegers:  # type: ignore[override]
        return self._apply("eq", other, answers=True)

    def __ne__(self, other: Any) -> EncryptedIntegers:  # type: ignore[override]
        return self._apply("ne", other, answers=True)

    def __lt__(self, other: Any) -> EncryptedIntegers:
        return self._apply("lt", other, answers=True)

    def __le__(self, other: Any) -> EncryptedIntegers:
        return self._apply("le", other, answers=True)

    def __gt__(self, other: Any) -> EncryptedIntegers:
        return self._apply("gt", other, answers=True)

    def __ge__(self, other: Any) -> EncryptedIntegers:
        return self._apply("ge", other, answers=True)

    def minimum(self, other: EncryptedIntegers) -> EncryptedIntegers:
        """Return the smaller of each two values."""
        return self._apply("min", other)

    def maximum(self, other: EncryptedIntegers) -> EncryptedIntegers:
        """Return the larger of each two values."""
        return self._apply("max", other)


def _whole(value: Any) -> int | None:
    """Return the value as a Python integer, if it is one."""
    if isinstance(value, (bool, np.bool_)):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None
