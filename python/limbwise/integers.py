"""Exact integers: NumPy integer arrays in, exactly the same arithmetic modulo a prime, NumPy integer arrays out (BGV).

With a preset of several plaintext primes, arrays of ``uint64`` are exact modulo 2^64, as NumPy's are.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from limbwise import _files
from limbwise._exact import Side, bytes_of, only, results_of, set_of
from limbwise._limbwise import IntegerCiphertext, IntegerExpected, IntegerSession
from limbwise._recorded import ExactRecording
from limbwise.errors import ContextError, DtypeError, ShapeError


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

    Arrays of ``uint64`` wrap round 2^64 as NumPy's do, with a preset for them:

    >>> words = lw.bgv("zn64-n12")
    >>> x = words.encrypt(np.array([2**64 - 1, 3], dtype=np.uint64))
    >>> words.decrypt(x * x)
    array([1, 9], dtype=uint64)
    """
    return IntegerContext._warned(IntegerSession(*set_of(preset), threads))


def parameters(preset: str | os.PathLike[str] = "bgv-n13") -> IntegerContext:
    """Return parameters without keys, for :func:`limbwise.record`, :func:`limbwise.plan` and :func:`limbwise.time`.

    Args:
        preset: as for :func:`bgv`.

    Raises:
        ParamsError: there is no such preset, or the file's parameters are refused.
    """
    return IntegerContext(IntegerSession.declared(*set_of(preset)))


def server(data: bytes | str | os.PathLike[str], *, threads: int | None = None) -> IntegerContext:
    """Return a server from a client's keys: it computes and cannot decrypt.

    Args:
        data: bytes of :meth:`IntegerContext.keys_to_bytes`, or a file of them.
        threads: threads of one operation; all by default.

    Raises:
        WireError: what are no such keys, or damaged ones.
    """
    header, rest = _files.unframe(bytes_of(data), "bgv keys")
    return IntegerContext._warned(IntegerSession.server(*_files.named_of(header), rest, threads=threads))


def load(path: str | os.PathLike[str], *, passphrase: str | None = None, threads: int | None = None) -> IntegerContext:
    """Load the context of :meth:`IntegerContext.save_secret`; evaluation keys are generated again.

    Args:
        path: the file.
        passphrase: the one that the secret key was saved with, if any.
        threads: threads of one operation; all by default.

    Raises:
        WireError: no such file, a damaged one, or another passphrase.
    """
    header, rest = _files.unframe(Path(path).read_bytes(), "bgv secret")
    named = _files.named_of(header)
    return IntegerContext._warned(IntegerSession.load(*named, rest, passphrase=passphrase, threads=threads))


@dataclass(frozen=True)
class Expected:
    """Expected metadata of one result, from the client's own recording."""

    native: IntegerExpected
    shape: tuple[int, ...]
    summed: bool
    beyond: bool = False


class Recording(ExactRecording):
    """A recorded program on integers, without values; made by :func:`limbwise.record`."""

    def __init__(self, context: IntegerContext, results: list[EncryptedIntegers]) -> None:
        if any(one.context is not context for one in results):
            raise ContextError("the program returned integers of another context, or of another recording")
        super().__init__(context._session.finish([one._inner for one in results]))
        self._context = context
        self._results = results

    def expected(self) -> list[Expected]:
        """Return the expected metadata of each result, in order, for :meth:`IntegerContext.from_bytes`."""
        session = self._context._session
        every = [(session.expected(one._inner), one) for one in self._results]
        return [Expected(native, one.shape, one._summed, one._beyond) for native, one in every]


class IntegerContext(Side):
    """One side of an encrypted computation on integers, or both; made by :func:`bgv`, :func:`server`, :func:`load`."""

    _scheme = "bgv"
    _session: IntegerSession

    def prepare(self, program: Callable[..., Any], inputs: Any) -> None:
        """Generate all evaluation keys that a program on such inputs needs, to give them to a server."""
        self._session.make_keys(self._recorded(program, inputs)._context._session)

    def from_bytes(
        self, data: bytes, *, expect: Recording | Expected | None = None, trusted: bool = False
    ) -> EncryptedIntegers:
        """Return encrypted integers from :meth:`EncryptedIntegers.to_bytes`.

        Integers say themselves how much noise they carry. A server that lies about that could learn the secret key from
        what is decrypted, so this side decrypts what it has read only with ``expect``: its own recording of the program,
        for inputs of the same shapes.

        Args:
            data: the bytes.
            expect: the recording of a program with one result, or one of :meth:`Recording.expected`.
            trusted: believe what the bytes say, because you wrote them yourself and nobody could change them.

        Raises:
            WireError: bytes that are no integers, damaged, of other parameters, or of another key set.
            DecryptError: a result that is not what is expected.
        """
        header, rest = _files.unframe(data, "bgv array")
        shape, summed = _files.shape_of(header), header.get("summed") is True
        beyond = header.get("beyond") is True
        files, bits = _residues_of(header, rest)
        held = self._session.read_bytes(files, bits, trusted)
        batch = int(np.prod(shape if summed else shape[:-1], dtype=object))
        fits = summed or (len(shape) > 0 and shape[-1] <= self.slots)
        if len(shape) > 2 or not fits or held.batch != batch:
            raise _files.wrong("the shape does not go with the ciphertext", "the bytes of one array, whole")
        if isinstance(expect, Recording):
            expect = only(expect.expected())
        if expect is not None:
            if (shape, summed) != (expect.shape, expect.summed):
                raise _files.wrong(f"a result of shape {shape}", f"shape {expect.shape} as recorded")
            held, beyond = self._session.admit(held, expect.native), expect.beyond
        return EncryptedIntegers(self, held, shape, summed=summed, beyond=beyond)

    def _recorded(self, program: Callable[..., Any], inputs: Any) -> Recording:
        """Record a program on integers of these shapes."""
        trace = IntegerContext(self._session.trace())
        arrays = [trace._kind(one)[0] for one in (inputs if isinstance(inputs, (tuple, list)) else [inputs])]
        if any(array.ndim not in (1, 2) or array.size == 0 for array in arrays):
            raise ShapeError(
                "inputs of a recording: give vectors or matrices as they will be encrypted, or zeros of them"
            )
        given = [
            EncryptedIntegers(
                trace,
                trace._session.declare(1 if array.ndim == 1 else array.shape[0], array.dtype == np.uint64),
                array.shape,
            )
            for array in arrays
        ]
        return Recording(trace, results_of(program(*given), EncryptedIntegers, "integers"))

    def __repr__(self) -> str:
        s = self._session
        return (
            f"IntegerContext({s.name}: {s.slots} integers modulo {s.modulus}, {s.levels} levels, "
            f"{s.security_bits} bits by {s.security_standard})"
        )

    @property
    def modulus(self) -> int:
        """Plaintext modulus t, a prime; values lie in [−(t−1)/2, (t−1)/2]."""
        return self._session.modulus

    @property
    def slots(self) -> int:
        """Number of integers in one ciphertext."""
        return self._session.slots

    @property
    def keys(self) -> dict[str, int]:
        """Evaluation keys made so far, each with its size in bytes."""
        return dict(self._session.keys())

    def encrypt(self, values: npt.ArrayLike) -> EncryptedIntegers:
        """Encrypt a vector of integers, up to :attr:`slots` of them, or a matrix, one row per ciphertext of a batch.

        With a preset of several plaintext primes an array of ``uint64`` is encrypted as 64-bit words: exact modulo 2^64
        and beyond. Every other array is integers modulo :attr:`modulus`.

        Raises:
            EncodeError: a value that the modulus does not hold, or more than there are slots.
            DtypeError: values that are no integers.
        """
        array, words = self._kind(values)
        if array.ndim not in (1, 2) or array.size == 0:
            raise ShapeError(f"an array of shape {array.shape}: give a vector, or a matrix with a row a message")
        rows = np.atleast_2d(array)
        encrypt = self._session.encrypt_words if words else self._session.encrypt
        return EncryptedIntegers(self, encrypt(rows.tolist()), array.shape)

    def _kind(self, values: Any) -> tuple[npt.NDArray[Any], bool]:
        """Return an array as it is encrypted, and whether as words."""
        if np.asarray(values).dtype == np.uint64 and self._session.moduli > 1:
            return np.asarray(values), True
        return _integers(values), False

    def decrypt(self, values: EncryptedIntegers, *, wide: bool = False) -> npt.NDArray[Any]:
        """Return the integers exactly, in the array's shape.

        Integers modulo :attr:`modulus` are ``int64`` from -(modulus-1)/2 to (modulus-1)/2; words are ``uint64``, modulo
        2^64.

        Args:
            values: what :meth:`encrypt` returned, or computed from it.
            wide: of words, the whole integers as Python's, negative ones too, in an array of objects.

        Raises:
            DtypeError, ContextError: values that are not encrypted, or of another context.
            KeyMissing: this side has no secret key.
            UnverifiedError: they were read from bytes, and nobody said what to expect (:meth:`from_bytes`).
            DecryptError: what is decrypted contradicts what is expected.
        """
        self._own(values)
        rows: npt.NDArray[Any]
        if values.dtype == np.uint64:
            words, data = self._session.decrypt_words(values._inner, wide)
            rows = _wide(data, words) if wide else np.frombuffer(data, dtype="<u8").astype(np.uint64)
            rows = rows.reshape(-1, self.slots)
        elif wide:
            raise DtypeError("wide=True is for words: encrypt an array of uint64")
        else:
            rows = np.array(self._session.decrypt(values._inner), dtype=np.int64)
        width = values.shape[-1] if values._summed is False else 1
        rows = rows[:, :width]
        return rows.reshape(values.shape)

    def noise_budget(self, values: EncryptedIntegers) -> tuple[float, float]:
        """Return the remaining noise budget in bits: measured with the secret key, and by the noise bound.

        Args:
            values: what :meth:`encrypt` returned, or computed from it.

        Raises:
            DtypeError, ContextError: values that are not encrypted, or of another context.
            KeyMissing: this side has no secret key.
            UnverifiedError: as for :meth:`decrypt`.
        """
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
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        context: IntegerContext,
        inner: IntegerCiphertext,
        shape: tuple[int, ...],
        *,
        summed: bool = False,
        beyond: bool = False,
    ) -> None:
        self.context = context
        self.shape = shape
        self._inner = inner
        # Every slot holds the sum of its message.
        self._summed = summed
        # Slots beyond the message may hold integers too: rotations move them there.
        self._beyond = beyond

    @property
    def dtype(self) -> np.dtype[Any]:
        """``uint64`` for words, exact modulo 2^64; ``int64`` for integers modulo the context's modulus."""
        return np.dtype(np.int64 if self._inner.word_bits is None else np.uint64)

    def __repr__(self) -> str:
        return f"EncryptedIntegers(shape={self.shape}, level {self._inner.level}, noise 2^{self._inner.noise_bits:.0f})"

    def to_bytes(self) -> bytes:
        """Serialize the integers for :meth:`IntegerContext.from_bytes` of the other side."""
        header: dict[str, Any] = {"shape": list(self.shape), "summed": self._summed}
        if self._beyond:
            header["beyond"] = True
        files = self.context._session.to_bytes(self._inner)
        if self._inner.word_bits is not None:
            header |= {"word_bits": self._inner.word_bits, "residues": [len(one) for one in files]}
        return _files.frame("bgv array", header, b"".join(files))

    def _made(self, inner: IntegerCiphertext, *, beyond: bool | None = None) -> EncryptedIntegers:
        beyond = self._beyond if beyond is None else beyond
        return EncryptedIntegers(self.context, inner, self.shape, summed=self._summed, beyond=beyond)

    def __bool__(self) -> bool:
        raise DtypeError("encrypted integers are not true or false here: decrypt them first")

    def _compare(self, other: Any) -> bool:
        text = "BGV does not compare encrypted integers: decrypt first, or use lw.tfhe, whose == and < are encrypted"
        raise DtypeError(text)

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _compare

    def _clear(self, other: Any) -> npt.NDArray[Any]:
        """Return clear integers of this array's kind."""
        return _integers(other) if self._inner.word_bits is None else _words(other)

    def _values(self, other: Any) -> list[list[int]]:
        """Lay out clear integers like this array: one row per message, or one for all."""
        array = self._clear(other)
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
            return self._made(session.add(self._inner, self._pair(other)), beyond=self._beyond or other._beyond)
        add = session.add_values if self._inner.word_bits is None else session.add_words
        return self._made(add(self._inner, self._values(other)))

    __radd__ = __add__

    def __neg__(self) -> EncryptedIntegers:
        return self._made(self.context._session.negate(self._inner))

    def __sub__(self, other: Any) -> EncryptedIntegers:
        if isinstance(other, EncryptedIntegers):
            made = self.context._session.sub(self._inner, self._pair(other))
            return self._made(made, beyond=self._beyond or other._beyond)
        return -((-self).__add__(other))

    def __rsub__(self, other: Any) -> EncryptedIntegers:
        return (-self).__add__(other)

    def __mul__(self, other: Any) -> EncryptedIntegers:
        session = self.context._session
        if isinstance(other, EncryptedIntegers):
            return self._made(session.mul(self._inner, self._pair(other)), beyond=self._beyond and other._beyond)
        if self._inner.word_bits is not None:
            return self._made(session.mul_words(self._inner, self._values(other)))
        array = _integers(other)
        if array.ndim == 0:
            return self._made(session.mul_scalar(self._inner, int(array)))
        return self._made(session.mul_values(self._inner, self._values(array)), beyond=False)

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
        return self._moved(self.context._session.rotate(self._inner, steps))

    def swap_rows(self) -> EncryptedIntegers:
        """Exchange the two rows of slots."""
        return self._moved(self.context._session.swap_rows(self._inner))

    def _moved(self, inner: IntegerCiphertext) -> EncryptedIntegers:
        """Return slots in other places: a message of fewer than all leaves its own."""
        return self._made(inner, beyond=not self._summed and self.shape[-1] < self.context.slots)

    def sum(self, axis: int | None = -1, *, out: None = None) -> EncryptedIntegers:
        """Return the sum of the integers of each message, as ``numpy.sum`` along the last axis.

        What a rotation has moved out of the message does not count: it is multiplied by zero first, which takes as much
        noise as a product with clear integers.

        Args:
            axis: the last one; rows of a batch are added by nobody.
            out: for ``numpy.sum``, which passes it.

        Raises:
            LevelError: not enough noise is left for that.
            ShapeError: another axis, or None where there are several.
        """
        if out is not None or axis not in ((-1, 0, None) if len(self.shape) < 2 else (-1, len(self.shape) - 1)):
            raise ShapeError(f"the sum along axis {axis} of integers of shape {self.shape}: wanted the last axis, -1")
        if self._summed:
            return self
        held = self._inner
        if self._beyond:
            held = self.context._session.mul_values(held, self._values(1))
        inner = self.context._session.slot_sum(held)
        return EncryptedIntegers(self.context, inner, self.shape[:-1], summed=True)


def _integers(values: Any) -> npt.NDArray[np.int64]:
    array = np.asarray(values)
    if array.dtype.kind not in "iub":
        raise DtypeError(f"values of dtype {array.dtype} are not integers: round them first, for example x.astype(int)")
    if array.dtype.kind == "u" and array.size and array.max() > np.iinfo(np.int64).max:
        raise DtypeError("values of 2^63 and more: no modulus holds them")
    return array.astype(np.int64)


def _words(values: Any) -> npt.NDArray[np.uint64]:
    """Return clear integers as words of 64 bits."""
    array = np.asarray(values)
    if array.dtype.kind not in "iub":
        raise DtypeError(f"values of dtype {array.dtype} are no words: give integers from 0 to 2^64 - 1")
    if array.dtype.kind == "i" and array.size and array.min() < 0:
        raise DtypeError("negative values among words of 64 bits: subtract their absolute values")
    return array.astype(np.uint64)


def _wide(data: bytes, words: int) -> npt.NDArray[np.object_]:
    """Return signed integers of so many words each as Python's."""
    size = 8 * words
    every = [int.from_bytes(data[at : at + size], "little", signed=True) for at in range(0, len(data), size)]
    array = np.empty(len(every), dtype=object)
    array[:] = every
    return array


def _residues_of(header: dict[str, Any], data: bytes) -> tuple[list[bytes], float | None]:
    """Return the files of all residues, and the magnitude of words."""
    bits, sizes = header.get("word_bits"), header.get("residues")
    if bits is None and sizes is None:
        return [data], None
    listed = isinstance(sizes, list) and all(type(one) is int and one > 0 for one in sizes)
    if not isinstance(bits, float) or not isinstance(sizes, list) or not listed or sum(sizes) != len(data):
        raise _files.wrong("the residues do not go with the bytes", "the bytes of one array, whole")
    files = []
    for size in sizes:
        files.append(data[:size])
        data = data[size:]
    return files, bits
