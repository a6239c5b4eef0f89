"""Common parts of the contexts of exact values: client and server side, and keys as bytes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

from limbwise import _files
from limbwise._options import warn_insecure
from limbwise.errors import ParamsError, ShapeError, TraceError

One = TypeVar("One")


class Side:
    """One side of a computation on exact values, or both."""

    _scheme: ClassVar[str]
    _session: Any

    def __init__(self, session: Any) -> None:
        self._session = session

    @classmethod
    def _warned(cls, session: Any) -> Self:
        """Return a side of a new session; warn if its parameters are insecure."""
        warn_insecure(session.insecure_reason, 4)
        return cls(session)

    @property
    def has_secret(self) -> bool:
        """Whether this side can decrypt."""
        return bool(self._session.has_secret)

    @property
    def security_bits(self) -> int:
        """Security class of the parameters in bits; with two keys, that of the weaker."""
        return int(self._session.security_bits)

    def client(self) -> Self:
        """Return the client's side: it encrypts and decrypts, and has no evaluation keys."""
        return type(self)(self._session.client_side())

    def server(self) -> Self:
        """Return the server's side with the keys made so far: it computes and cannot decrypt."""
        return type(self)(self._session.server_side())

    def _header(self) -> dict[str, Any]:
        return {"params": self._session.to_toml(), "name": self._session.name}

    def keys_to_bytes(self) -> bytes:
        """Return the evaluation keys made so far, for the server. They are public and cannot decrypt."""
        return _files.frame(f"{self._scheme} keys", self._header(), self._session.keys_to_bytes())

    def save_keys(self, path: str | os.PathLike[str]) -> None:
        """Write :meth:`keys_to_bytes` to a file.

        Args:
            path: the file; one that exists is replaced.
        """
        _files.save(Path(path), self.keys_to_bytes())

    def save_secret(
        self, path: str | os.PathLike[str], *, passphrase: str | None = None, replace: bool = False
    ) -> None:
        """Write the secret key with owner-only permissions; ``load`` reads it.

        Args:
            path: the file.
            passphrase: encrypts the key; without one it lies in the clear.
            replace: replace a file that exists, which may have another key.

        Raises:
            KeyMissing: this side has no secret key.
            FileExistsError: the file exists.
        """
        data = self._session.secret_to_bytes(_files.locking(passphrase))
        _files.save_secret(Path(path), _files.frame(f"{self._scheme} secret", self._header(), data), replace=replace)


def bytes_of(data: bytes | str | os.PathLike[str]) -> bytes:
    """Return the given bytes, or those of a file."""
    if isinstance(data, (bytes, bytearray, memoryview)):
        return bytes(data)
    return Path(data).read_bytes()


def results_of(returned: Any, kind: type, what: str) -> list[Any]:
    """Return a program's results as a list, if all are of the given type."""
    results = list(returned) if isinstance(returned, (tuple, list)) else [returned]
    if not results or not all(isinstance(one, kind) for one in results):
        raise TraceError(f"the program returned something else than encrypted {what}: return what it computed")
    return results


def only(every: list[One]) -> One:
    """Return the expectation of a program with one result."""
    if len(every) != 1:
        raise ShapeError(f"a recording with {len(every)} results: give one of recording.expected() for each")
    return every[0]


def set_of(preset: str | os.PathLike[str]) -> tuple[str, str | None]:
    """Return the name of a preset, or that of a TOML file and its text."""
    if not isinstance(preset, (str, os.PathLike)):
        raise ParamsError(f"parameters of type {type(preset).__name__}: give a preset's name or a TOML file")
    name = os.fspath(preset)
    if not name.endswith(".toml"):
        return name, None
    try:
        return name, Path(name).read_text()
    except OSError as error:
        raise ParamsError(f"{name}: cannot read: {error} (give a TOML file with parameters)") from None
