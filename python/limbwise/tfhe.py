"""Exact encrypted integers and booleans: operators of NumPy's integers, results equal bit for bit.

>>> import numpy as np, limbwise as lw
>>> keys = lw.tfhe.keys()
>>> x = keys.encrypt(np.array([3, 200], np.uint8))
>>> y = keys.where(x < 100, x * 2, x - 100)
>>> keys.decrypt(y)
array([  6, 100], dtype=uint8)

Every operation is some dozens of programmable bootstrappings, milliseconds each; an array goes through them as one
batch. Integers wrap as NumPy's do.

The two sides: :func:`keys` owns both; :meth:`Keys.client` encrypts and decrypts, :func:`server` computes with the bytes of
:meth:`Keys.keys_to_bytes` and can decrypt nothing. What comes back is decrypted against the client's own recording:

>>> recording = lw.record(lambda x: x * 2, np.zeros(2, np.uint8), context=client)
>>> client.decrypt(client.from_bytes(data, expect=recording))
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
import numpy.typing as npt

from limbwise import _files
from limbwise._exact import Side, bytes_of, only, results_of
from limbwise._limbwise import TfheCiphertext, TfheExpected, TfheSession
from limbwise.errors import ContextError, DtypeError, ParamsError, ShapeError

__all__ = ["EncryptedIntegers", "Expected", "Keys", "Recording", "keys", "load", "server", "where"]

_DTYPES = tuple(np.dtype(t) for t in (bool, "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8"))


def keys(preset: str | os.PathLike[str] = "2-2-p128", *, threads: int | None = None) -> Keys:
    """Generate keys under a TFHE preset, or under the parameters of a TOML file.

    Integers take four message bits: ``2-2-p128`` (a bootstrapping fails with probability 2^-128) or ``2-2-p64``.

    Args:
        preset: a name that ``limbwise params show`` lists, or a file ``*.toml``.
        threads: threads of one operation; all by default.

    Raises:
        ParamsError: there is no such preset, or the file's parameters are refused.
    """
    path = Path(preset)
    if path.suffix != ".toml":
        return Keys._warned(TfheSession(str(preset), threads=threads))
    try:
        text = path.read_text()
    except OSError as error:
        raise ParamsError(f"{path}: cannot read: {error} (give a TOML file with parameters)") from None
    return Keys._warned(TfheSession(str(path), text, threads=threads))


def server(data: bytes | str | os.PathLike[str], *, threads: int | None = None) -> Keys:
    """Return a server from a client's keys: it computes and cannot decrypt.

    Args:
        data: bytes of :meth:`Keys.keys_to_bytes`, or a file of them.
        threads: threads of one operation; all by default.

    Raises:
        WireError: what are no such keys, or damaged ones.
    """
    header, rest = _files.unframe(bytes_of(data), "tfhe keys")
    name, text, lanes = _files.tfhe_of(header)
    return Keys._warned(TfheSession.server(name, text, rest, lanes, threads=threads))


def load(path: str | os.PathLike[str], *, passphrase: str | None = None, threads: int | None = None) -> Keys:
    """Load the keys of :meth:`Keys.save_secret`; the same bootstrapping keys are generated again.

    Args:
        path: the file.
        passphrase: the one that the secret key was saved with, if any.
        threads: threads of one operation; all by default.

    Raises:
        WireError: no such file, a damaged one, or another passphrase.
    """
    header, rest = _files.unframe(Path(path).read_bytes(), "tfhe secret")
    name, text, lanes = _files.tfhe_of(header)
    return Keys._warned(TfheSession.load(name, text, rest, lanes, passphrase=passphrase, threads=threads))


@dataclass(frozen=True)
class Expected:
    """Expected metadata of one result, from the client's own recording."""

    native: TfheExpected
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


class Recording:
    """A recorded program on exact values, without values; made by :func:`limbwise.record`."""

    def __init__(self, keys: Keys, results: list[EncryptedIntegers]) -> None:
        self._keys = keys
        self._results = results

    def expected(self) -> list[Expected]:
        """Return the expected metadata of each result, in order, for :meth:`Keys.from_bytes`."""
        session = self._keys._session
        return [Expected(session.expected(one._ciphertext), one.shape, one.dtype) for one in self._results]


@final
class Keys(Side):
    """One side of a computation, or both: the secret key, and the bootstrapping keys."""

    _scheme = "tfhe"
    _session: TfheSession

    def _header(self) -> dict[str, Any]:
        return {**super()._header(), "lanes": self._session.lanes}

    def from_bytes(
        self, data: bytes, *, expect: Recording | Expected | None = None, trusted: bool = False
    ) -> EncryptedIntegers:
        """Return encrypted values from :meth:`EncryptedIntegers.to_bytes`.

        Values say themselves in which range they lie and how much noise they carry. A server that lies about that could
        learn the secret key from what is decrypted, so this side decrypts what it has read only with ``expect``: its own
        recording of the program, for inputs of the same shapes and dtypes.

        Args:
            data: the bytes.
            expect: the recording of a program with one result, or one of :meth:`Recording.expected`.
            trusted: believe what the bytes say, because you wrote them yourself and nobody could change them.

        Raises:
            WireError: bytes that are no values, damaged, of other parameters, or of another key set.
            DecryptError: a result that is not what is expected.
        """
        header, rest = _files.unframe(data, "tfhe array")
        shape, dtype = _files.shape_of(header), _dtype_of(header.get("dtype"))
        held = self._session.read_bytes(rest, *_bits(dtype), trusted)
        if held.rows != int(np.prod(shape, dtype=object)):
            raise _files.wrong("the shape does not go with the values", "the bytes of one array, whole")
        if isinstance(expect, Recording):
            expect = only(expect.expected())
        if expect is not None:
            if (shape, dtype) != (expect.shape, expect.dtype):
                raise _files.wrong(
                    f"a result of shape {shape} and {dtype}", f"shape {expect.shape} and {expect.dtype} as recorded"
                )
            held = self._session.admit(held, expect.native)
        return EncryptedIntegers(self, held, shape, dtype)

    def _recorded(self, program: Callable[..., Any], inputs: Any) -> Recording:
        """Record a program on values of these shapes and dtypes."""
        trace = Keys(self._session.trace())
        every = inputs if isinstance(inputs, (tuple, list)) else [inputs]
        given = [trace._declared(np.asarray(one)) for one in every]
        return Recording(trace, results_of(program(*given), EncryptedIntegers, "values"))

    def _declared(self, array: npt.NDArray[Any]) -> EncryptedIntegers:
        if array.dtype not in _DTYPES or array.size == 0:
            raise DtypeError(
                f"an input of {array.dtype}, shape {array.shape}: give what will be encrypted, or zeros of it"
            )
        made = self._session.declare(array.size, *_bits(array.dtype))
        return EncryptedIntegers(self, made, array.shape, array.dtype)

    @property
    def insecure_reason(self) -> str | None:
        """Reason why the parameters may be insecure; None if they are secure."""
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
                raise _misfit(array, wanted)
            array = array.astype(wanted)
        if array.dtype not in _DTYPES:
            raise DtypeError(f"values of dtype {array.dtype}: encrypt bool, uint8 to uint64 or int8 to int64")
        if array.size == 0:
            raise ShapeError(f"an array of shape {array.shape} has nothing to encrypt")
        words = array.reshape(-1).astype(np.uint64).tolist()
        made = self._session.encrypt(words, *_bits(array.dtype))
        return EncryptedIntegers(self, made, array.shape, array.dtype)

    def decrypt(self, values: EncryptedIntegers) -> npt.NDArray[Any]:
        """Decrypt to an array of the same shape and dtype.

        Raises:
            ContextError: the values belong to other keys.
            KeyMissing: this side has no secret key.
            UnverifiedError: they were read from bytes, and nobody said what to expect (:meth:`from_bytes`).
            DecryptError: what is decrypted contradicts what is expected.
        """
        if _own(values, "a value").keys is not self:
            raise ContextError("these values belong to other keys: decrypt them with the keys that encrypted them")
        words = np.array(self._session.decrypt(values._ciphertext), np.uint64)
        return words.astype(values.dtype).reshape(values.shape)

    def where(self, choice: EncryptedIntegers, yes: EncryptedIntegers, no: EncryptedIntegers) -> EncryptedIntegers:
        """Select values of ``yes`` where the choice is true, else of ``no``.

        Raises:
            DtypeError: the choice is not encrypted booleans, the two have different dtypes, or one is not encrypted.
        """
        return where(choice, yes, no)


def _bits(dtype: np.dtype[Any]) -> tuple[int, bool]:
    """Return the bits of a dtype (1 for booleans) and whether it is signed."""
    return (1, False) if dtype.kind == "b" else (8 * dtype.itemsize, dtype.kind == "i")


def _dtype_of(name: Any) -> np.dtype[Any]:
    found = next((dtype for dtype in _DTYPES if dtype.name == name), None)
    if found is None:
        raise _files.wrong(f"values of dtype {name!r}", "bool, uint8 to uint64 or int8 to int64")
    return found


def _fits(array: npt.NDArray[Any], wanted: np.dtype[Any]) -> bool:
    if array.dtype.kind not in "bui":
        return False
    least, most = (0, 1) if wanted.kind == "b" else (int(np.iinfo(wanted).min), int(np.iinfo(wanted).max))
    return least <= int(array.min()) and int(array.max()) <= most


def _misfit(array: npt.NDArray[Any], wanted: np.dtype[Any]) -> DtypeError:
    if array.dtype.kind not in "bui":
        return DtypeError(f"values of {array.dtype} are no integers: round them first, x.astype(np.int64)")
    others = ", ".join(dtype.name for dtype in _DTYPES if _fits(array, dtype)) or "none"
    text = f"values from {array.min()} to {array.max()} are not all {wanted}: dtypes that have them: {others}"
    return DtypeError(text)


def _own(values: Any, what: str) -> EncryptedIntegers:
    if not isinstance(values, EncryptedIntegers):
        raise DtypeError(f"{what} of type {type(values).__name__} is not encrypted: pass what keys.encrypt returned")
    return values


def where(choice: EncryptedIntegers, yes: EncryptedIntegers, no: EncryptedIntegers) -> EncryptedIntegers:
    """Select values of ``yes`` where the choice is true, else of ``no``.

    Raises:
        DtypeError: the choice is not encrypted booleans, the two have different dtypes, or one is not encrypted.
    """
    choice, yes, no = _own(choice, "a choice"), _own(yes, "a value"), _own(no, "a value")
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

    def to_bytes(self) -> bytes:
        """Serialize the values for :meth:`Keys.from_bytes` of the other side."""
        header = {"shape": list(self.shape), "dtype": self.dtype.name}
        return _files.frame("tfhe array", header, self.keys._session.to_bytes(self._ciphertext))

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
                raise DtypeError(f"{self.dtype} and {other.dtype} do not go together: encrypt both with one dtype")
            return EncryptedIntegers(self.keys, session.binary(op, self._ciphertext, other._ciphertext), shape, dtype)
        value = _whole(other)
        if value is None and isinstance(other, (np.ndarray, list, tuple)):
            raise DtypeError(
                f"{op} of encrypted integers and clear ones of shape {np.shape(other)}: encrypt both, or give one integer"
            )
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

    def _equal(self, op: str, other: Any) -> EncryptedIntegers:
        if not isinstance(other, EncryptedIntegers) and _whole(other) is None:
            # Left to Python, it would be False.
            raise DtypeError(
                f"{self.dtype} is not compared with {type(other).__name__}: give encrypted values or an integer"
            )
        return self._apply(op, other, answers=True)

    def __eq__(self, other: Any) -> EncryptedIntegers:  # type: ignore[override]
        return self._equal("eq", other)

    def __ne__(self, other: Any) -> EncryptedIntegers:  # type: ignore[override]
        return self._equal("ne", other)

    def __lt__(self, other: Any) -> EncryptedIntegers:
        return self._apply("lt", other, answers=True)

    def __le__(self, other: Any) -> EncryptedIntegers:
        return self._apply("le", other, answers=True)

    def __gt__(self, other: Any) -> EncryptedIntegers:
        return self._apply("gt", other, answers=True)

    def __ge__(self, other: Any) -> EncryptedIntegers:
        return self._apply("ge", other, answers=True)

    def _extreme(self, op: str, other: Any) -> EncryptedIntegers:
        if not isinstance(other, EncryptedIntegers) and _whole(other) is None:
            raise DtypeError(
                f"{type(other).__name__} has no {op} with {self.dtype}: give encrypted values or an integer"
            )
        return self._apply(op, other)

    def minimum(self, other: EncryptedIntegers | int) -> EncryptedIntegers:
        """Return the element-wise minimum.

        Args:
            other: an encrypted array of the same keys, dtype and shape (or of one value), or a whole number of the dtype.

        Raises:
            ContextError, DtypeError, ShapeError: values of other keys, another dtype or another shape.
            EncodeError: a number that the dtype does not have.
        """
        return self._extreme("min", other)

    def maximum(self, other: EncryptedIntegers | int) -> EncryptedIntegers:
        """Return the element-wise maximum.

        Args:
            other: an encrypted array of the same keys, dtype and shape (or of one value), or a whole number of the dtype.

        Raises:
            ContextError, DtypeError, ShapeError: values of other keys, another dtype or another shape.
            EncodeError: a number that the dtype does not have.
        """
        return self._extreme("max", other)


def _whole(value: Any) -> int | None:
    """Return the value as a Python integer, if it is one."""
    if isinstance(value, (bool, np.bool_)):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None
