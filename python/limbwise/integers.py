"""Exact integers: NumPy integer arrays in, exactly the same arithmetic modulo a prime, NumPy integer arrays out (BGV)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from limbwise._limbwise import IntegerCiphertext, IntegerSession
from limbwise._options import warn_insecure
from limbwise.errors import ContextError, DtypeError, ParamsError, ShapeError


def bgv(preset: str | os.PathLike[str] = "bgv-n13", *, threads: int | None = None) -> IntegerContext:
    """Return a context for exact integers that owns both sides: it encrypts, computes and decrypts.

    Results are exact modulo :attr:`IntegerContext.modulus`; an operation that might leave too much noise is an error,
    never a wrong integer. Evaluation keys are made when an operation first needs them.

    Args:
        preset: a BGV preset's name (``limbwise params show``) or a TOML file.
        threads: how many compute; all there are by default.

    >>> ctx = lw.bgv("bgv-n13")
    >>> x = ctx.encrypt(np.arange(100))
    >>> ctx.decrypt((x + 1).sum())
    array(5050)
    """
    return IntegerContext(preset, threads=threads)


class IntegerContext:
    """Parameters and keys of one encrypted computation on integers."""

    def __init__(self, preset: str | os.PathLike[str], *, threads: int | None = None) -> None:
        if not isinstance(preset, (str, os.PathLike)):
            raise ParamsError(f"parameters of type {type(preset).__name__}: give a preset's name or a TOML file")
        name = os.fspath(preset)
        text = Path(name).read_text() if name.endswith(".toml") else None
        self._session = IntegerSession(name, text, threads)
        warn_insecure(self._session.insecure_reason)

    def __repr__(self) -> str:
        s = self._session
        return (
            f"IntegerContext({s.name}: {s.slots} integers modulo {s.modulus}, {s.levels} levels, "
            f"{s.security_bits} bits by {s.security_standard})"
        )

    @property
    def modulus(self) -> int:
        """The prime that integers are exact modulo; values lie between plus and minus half of it."""
        return self._session.modulus

    @property
    def slots(self) -> int:
        """Integers in one ciphertext."""
        return self._session.slots

    @property
    def security_bits(self) -> int:
        """The class of the security gate."""
        return self._session.security_bits

    @property
    def keys(self) -> dict[str, int]:
        """The evaluation keys made so far, each with its bytes."""
        return dict(self._session.keys())

    def encrypt(self, values: npt.ArrayLike) -> EncryptedIntegers:
        """Encrypt a vector of integers, up to :attr:`slots` of them, or a matrix, a row a ciphertext of one batch.

        Raises:
            EncodeError: a value that the modulus does not hold, or more than there are slots.
            DtypeError: values that are no integers.
        """
        array = _integers(values)
        if array.ndim not in (1, 2) or array.size == 0:
            raise ShapeError(f"an array of shape {array.shape}: give a vector, or a matrix with a row a message")
        rows = np.atleast_2d(array)
        return EncryptedIntegers(self, self._session.encrypt(rows.tolist()), array.shape)

    def decrypt(self, values: EncryptedIntegers) -> npt.NDArray[np.int64]:
        """Return the integers exactly, from -(modulus-1)/2 to (modulus-1)/2, in the array's shape."""
        self._own(values)
        rows = np.array(self._session.decrypt(values._inner), dtype=np.int64)
        width = values.shape[-1] if values._summed is False else 1
        rows = rows[:, :width]
        return rows.reshape(values.shape)

    def noise_budget(self, values: EncryptedIntegers) -> tuple[float, float]:
        """Return the bits of noise budget left: measured with the secret key, and by the bound that decides."""
        self._own(values)
        return self._session.budget(values._inner)

    def _own(self, values: EncryptedIntegers) -> None:
        if not isinstance(values, EncryptedIntegers):
            raise DtypeError(f"{type(values).__name__} is nothing encrypted: pass what ctx.encrypt returned")
        if values.context is not self:
            raise ContextError("integers of another context: decrypt them with the one that encrypted them")


class EncryptedIntegers:
    """An encrypted vector or matrix of integers. Operators are NumPy's, exact modulo the context's modulus."""

    __array_ufunc__ = None  # NumPy leaves the operators to this class

    def __init__(
        self, context: IntegerContext, inner: IntegerCiphertext, shape: tuple[int, ...], *, summed: bool = False
    ) -> None:
        self.context = context
        self.shape = shape
        self._inner = inner
        # Every slot holds the sum of its message.
        self._summed = summed

    def __repr__(self) -> str:
        return f"EncryptedIntegers(shape={self.shape}, level {self._inner.level}, noise 2^{self._inner.noise_bits:.0f})"

    def _made(self, inner: IntegerCiphertext) -> EncryptedIntegers:
        return EncryptedIntegers(self.context, inner, self.shape, summed=self._summed)

    def _values(self, other: Any) -> list[list[int]]:
        """Lay clear integers out as this array is: one row a message, or one for all."""
        array = _integers(other)
        try:
            np.broadcast_shapes(array.shape, self.shape)
            array = np.broadcast_to(array, self.shape if array.ndim == len(self.shape) else self.shape[-1:])
        except ValueError:
            raise ShapeError(f"shapes {self.shape} and {array.shape} do not go together") from None
        if self._summed:
            return [[int(value)] * self.context.slots for value in array.ravel()]
        rows: list[list[int]] = np.atleast_2d(array).tolist()
        return rows

    def _pair(self, other: EncryptedIntegers) -> IntegerCiphertext:
        """Return another array's ciphertext, if it can meet this one slot by slot."""
        if other.context is not self.context:
            raise ContextError("integers of another context: compute with those that one context encrypted")
        if other.shape != self.shape or other._summed is not self._summed:
            raise ShapeError(f"shapes {self.shape} and {other.shape} of encrypted integers do not go together")
        return other._inner

    def __add__(self, other: Any) -> EncryptedIntegers:
        session = self.context._session
        if isinstance(other, EncryptedIntegers):
            return self._made(session.add(self._inner, self._pair(other)))
        return self._made(session.add_values(self._inner, self._values(other)))

    __radd__ = __add__

    def __neg__(self) -> EncryptedIntegers:
        return self._made(self.context._session.negate(self._inner))

    def __sub__(self, other: Any) -> EncryptedIntegers:
        if isinstance(other, EncryptedIntegers):
            return self._made(self.context._session.sub(self._inner, self._pair(other)))
        return self + -_integers(other)

    def __rsub__(self, other: Any) -> EncryptedIntegers:
        return (-self).__add__(other)

    def __mul__(self, other: Any) -> EncryptedIntegers:
        session = self.context._session
        if isinstance(other, EncryptedIntegers):
            return self._made(session.mul(self._inner, self._pair(other)))
        array = _integers(other)
        if array.ndim == 0:
            return self._made(session.mul_scalar(self._inner, int(array)))
        return self._made(session.mul_values(self._inner, self._values(array)))

    __rmul__ = __mul__

    def __rmatmul__(self, other: Any) -> EncryptedIntegers:
        matrix = _integers(other)
        half = self.context.slots // 2
        if matrix.ndim != 2 or self._summed or matrix.shape[1] != self.shape[-1] or max(matrix.shape) > half:
            raise ShapeError(
                f"a matrix of shape {matrix.shape} times integers of shape {self.shape}: "
                f"wanted columns as there are integers, and at most {half} rows and columns"
            )
        inner = self.context._session.matvec(self._inner, matrix.tolist())
        return EncryptedIntegers(self.context, inner, (*self.shape[:-1], matrix.shape[0]))

    def rotate(self, steps: int) -> EncryptedIntegers:
        """Rotate both rows of slots (half of all each) left by ``steps``; zeros beyond the array move in."""
        return self._made(self.context._session.rotate(self._inner, steps))

    def swap_rows(self) -> EncryptedIntegers:
        """Exchange the two rows of slots."""
        return self._made(self.context._session.swap_rows(self._inner))

    def sum(self) -> EncryptedIntegers:
        """Return the sum of each message's integers."""
        if self._summed:
            return self
        inner = self.context._session.slot_sum(self._inner)
        return EncryptedIntegers(self.context, inner, self.shape[:-1], summed=True)


def _integers(values: Any) -> npt.NDArray[np.int64]:
    array = np.asarray(values)
    if array.dtype.kind not in "iub":
        raise DtypeError(f"values of dtype {array.dtype} are not integers: round them first, for example x.astype(int)")
    if array.dtype.kind == "u" and array.size and array.max() > np.iinfo(np.int64).max:
        raise DtypeError("values of 2^63 and more: no modulus holds them")
    return array.astype(np.int64)
