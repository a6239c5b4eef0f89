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

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
import numpy.typing as npt

from limbwise import _files
from limbwise._exact import Side, bytes_of, only, results_of, set_of
from limbwise._exact_array import DTYPES, EncryptedIntegers, bits_of
from limbwise._exact_numpy import lookup, where
from limbwise._limbwise import TfheExpected, TfheSession
from limbwise._recorded import ExactRecording
from limbwise.errors import ContextError, DtypeError, ShapeError

__all__ = [
    "EncryptedIntegers",
    "Expected",
    "Keys",
    "Recording",
    "keys",
    "load",
    "lookup",
    "parameters",
    "server",
    "where",
]


def keys(preset: str | os.PathLike[str] = "2-2-p128", *, threads: int | None = None) -> Keys:
    """Generate keys under a TFHE preset, or under the parameters of a TOML file.

    Integers take four message bits: ``2-2-p128`` (a bootstrapping fails with probability 2^-128) or ``2-2-p64``.

    Args:
        preset: a name that ``limbwise params show`` lists, or a file ``*.toml``.
        threads: threads of one operation; all by default.

    Raises:
        ParamsError: there is no such preset, or the file's parameters are refused.
    """
    return Keys._warned(TfheSession(*set_of(preset), threads=threads))


def parameters(preset: str | os.PathLike[str] = "2-2-p128", *, threads: int | None = None) -> Keys:
    """Return parameters without keys, for :func:`limbwise.record`, :func:`limbwise.plan` and :func:`limbwise.time`.

    Args:
        preset: as for :func:`keys`.
        threads: threads that will compute; carries are propagated by their number.

    Raises:
        ParamsError: there is no such preset, or the file's parameters are refused.
    """
    return Keys(TfheSession.declared(*set_of(preset), threads=threads))


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


class Recording(ExactRecording):
    """A recorded program on exact values, without values; made by :func:`limbwise.record`."""

    def __init__(self, keys: Keys, results: list[EncryptedIntegers]) -> None:
        if any(one.keys is not keys for one in results):
            raise ContextError("the program returned values of other keys, or of another recording")
        super().__init__(keys._session.finish([one._ciphertext for one in results]))
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
        held = self._session.read_bytes(rest, *bits_of(dtype), trusted)
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
        if array.dtype not in DTYPES or array.size == 0:
            raise DtypeError(
                f"an input of {array.dtype}, shape {array.shape}: give what will be encrypted, or zeros of it"
            )
        made = self._session.declare(array.size, *bits_of(array.dtype))
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
            if wanted in DTYPES and array.size and not _fits(array, wanted):
                raise _misfit(array, wanted)
            array = array.astype(wanted)
        if array.dtype not in DTYPES:
            raise DtypeError(f"values of dtype {array.dtype}: encrypt bool, uint8 to uint64 or int8 to int64")
        if array.size == 0:
            raise ShapeError(f"an array of shape {array.shape} has nothing to encrypt")
        words = array.reshape(-1).astype(np.uint64).tolist()
        made = self._session.encrypt(words, *bits_of(array.dtype))
        return EncryptedIntegers(self, made, array.shape, array.dtype)

    def decrypt(self, values: EncryptedIntegers) -> npt.NDArray[Any]:
        """Decrypt to an array of the same shape and dtype.

        Raises:
            ContextError: the values belong to other keys.
            KeyMissing: this side has no secret key.
            UnverifiedError: they were read from bytes, and nobody said what to expect (:meth:`from_bytes`).
            DecryptError: what is decrypted contradicts what is expected.
        """
        if not isinstance(values, EncryptedIntegers):
            name = type(values).__name__
            raise DtypeError(f"a value of type {name} is not encrypted: pass what keys.encrypt returned")
        if values.keys is not self:
            raise ContextError("these values belong to other keys: decrypt them with the keys that encrypted them")
        words = np.array(self._session.decrypt(values._ciphertext), np.uint64)
        return words.astype(values.dtype).reshape(values.shape)

    def where(self, condition: Any, yes: Any, no: Any) -> EncryptedIntegers:
        """Select values of ``yes`` where the condition is true, else of ``no``: :func:`where`."""
        return where(condition, yes, no)


def _dtype_of(name: Any) -> np.dtype[Any]:
    found = next((dtype for dtype in DTYPES if dtype.name == name), None)
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
    others = ", ".join(dtype.name for dtype in DTYPES if _fits(array, dtype)) or "none"
    text = f"values from {array.min()} to {array.max()} are not all {wanted}: dtypes that have them: {others}"
    return DtypeError(text)
