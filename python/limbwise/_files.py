r"""Arrays, keys and contexts as bytes: a short JSON header before a file of the Rust library.

The header says what the file itself does not: the shape of an array and how it lies, or which parameters a context has.
Nothing in it is trusted: it is bounded, parsed as JSON, and every number is checked before it is used. Since version 2 a
checksum covers it and, but for keys, the beginning of the file behind it, which names the rest. It finds damage, and
proves nothing of who wrote the bytes.

Version 2: ``LWPY2\n``, the header's length (4 bytes, little-endian), the checksum (BLAKE2b, 32 bytes), the header. Version
1 had no checksum and is still read.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from itertools import pairwise
from pathlib import Path
from typing import Any

from limbwise._limbwise import Params
from limbwise.errors import WireError
from limbwise.layout import Layout, power_of_two

_MAGICS = {1: b"LWPY1\n", 2: b"LWPY2\n"}
_VERSION = 2
_CHECKSUM = 32
_PREAMBLE = 184
_FIELDS = {
    "array": {"shape", "strides", "extents", "dead", "clean", "complex"},
    "keys": {"params", "slots", "complex", "bootstrapping", "seeded"},
    "public": {"params", "slots", "complex"},
    "context": {"params", "slots", "complex"},
    "tfhe array": {"shape", "dtype"},
    "tfhe keys": {"params", "name", "lanes"},
    "tfhe secret": {"params", "name", "lanes"},
    "bgv array": {"shape", "summed"},
    "bgv keys": {"params", "name"},
    "bgv secret": {"params", "name"},
}
# Fields that not every header of a kind has: words are integers with a magnitude and several residues, and rotated
# integers may lie beyond their message.
_OPTIONAL = {"bgv array": {"word_bits", "residues", "beyond"}}
_LONGEST = 1 << 16
_MOST = 1 << 40
_LENGTH = "bytes before the file"


def wrong(got: str, wanted: str) -> WireError:
    """Return the error for wrong or damaged bytes."""
    return WireError(f"{got}: wanted {wanted}")


def frame(kind: str, header: dict[str, Any], data: bytes) -> bytes:
    """Return a header followed by its data."""
    text = json.dumps({"kind": kind, **header}).encode()
    length = len(text).to_bytes(4, "little")
    return _MAGICS[_VERSION] + length + _checksum(kind, length, text, data) + text + data


def _checksum(kind: str, length: bytes, text: bytes, data: bytes | memoryview) -> bytes:
    # Keys are written one after the other behind their header, which is there before them.
    begin = b"" if kind == "keys" else bytes(data[:_PREAMBLE])
    return hashlib.blake2b(length + text + begin, digest_size=_CHECKSUM).digest()


def head_of(path: Path) -> bytes:
    """Return the first bytes of a file, at least its header if it has one."""
    with path.open("rb") as file:
        return file.read(len(_MAGICS[_VERSION]) + 4 + _CHECKSUM + _LONGEST)


def length_of(header: dict[str, Any]) -> int:
    """Return the bytes before the file of the Rust library, for a header as :func:`unframe` gave it."""
    return int(header[_LENGTH])


def unframe(data: bytes | bytearray | memoryview, kind: str, *, whole: bool = True) -> tuple[dict[str, Any], bytes]:
    """Return the header and the data after it; no data if only the beginning of a file is given."""
    names = {
        "array": "x.to_bytes()",
        "keys": "context.keys_to_bytes()",
        "public": "context.public_key_to_bytes()",
        "context": "context.save_secret(path)",
        "tfhe array": "x.to_bytes()",
        "tfhe keys": "keys.keys_to_bytes()",
        "tfhe secret": "keys.save_secret(path)",
        "bgv array": "x.to_bytes()",
        "bgv keys": "context.keys_to_bytes()",
        "bgv secret": "context.save_secret(path)",
    }
    wanted = f"what {names[kind]} gave"
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise wrong(f"{type(data).__name__} instead of bytes", wanted)
    data = memoryview(data).cast("B")
    magic = bytes(data[: len(_MAGICS[_VERSION])])
    version = next((number for number, known in _MAGICS.items() if known == magic), None)
    if version is None:
        raise wrong(f"{len(data)} bytes that do not begin as a file of limbwise for Python does", wanted)
    start = len(magic) + 4 + (_CHECKSUM if version > 1 else 0)
    length = int.from_bytes(data[len(magic) : len(magic) + 4], "little")
    if length > _LONGEST or start + length > len(data):
        raise wrong(f"a header of {length} bytes in {len(data)}", wanted)
    text, rest = bytes(data[start : start + length]), data[start + length :]
    if version > 1 and data[start - _CHECKSUM : start] != _checksum(
        kind, bytes(data[len(magic) : len(magic) + 4]), text, rest
    ):
        raise wrong(
            "a header whose checksum differs, of damaged bytes or of another kind", f"{wanted}, as it was given"
        )
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        raise wrong("a header that is not JSON", wanted) from None
    if not isinstance(header, dict) or header.get("kind") != kind:
        got = header.get("kind") if isinstance(header, dict) else type(header).__name__
        raise wrong(f"a file of kind {got!r}", wanted)
    del header["kind"]
    unknown, missing = (
        sorted(header.keys() - _FIELDS[kind] - _OPTIONAL.get(kind, set())),
        sorted(_FIELDS[kind] - header.keys()),
    )
    if unknown or missing:
        raise wrong(f"a header with fields too many {unknown} or too few {missing}", wanted)
    header[_LENGTH] = start + length
    return header, bytes(rest) if whole else b""


def _whole(value: Any, most: int = _MOST) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most:
        return value
    raise wrong(f"{value!r} in the header", f"a whole number from 1 to {most}")


def _list(header: dict[str, Any], key: str) -> list[Any]:
    value = header.get(key)
    if not isinstance(value, list) or len(value) > 64:
        raise wrong(f"{key} = {value!r} in the header", "a list of at most 64")
    return value


def header_of(layout: Layout, is_complex: bool) -> dict[str, Any]:
    """Return the header of an array's layout."""
    return {
        "shape": list(layout.shape),
        "strides": list(layout.strides),
        "extents": list(layout.extents),
        "dead": [list(pair) for pair in layout.dead],
        "clean": layout.clean,
        "complex": is_complex,
    }


def layout_of(header: dict[str, Any], most_slots: int) -> tuple[Layout, bool]:
    """Return a layout from a header, and whether values are complex."""
    shape = tuple(_whole(n) for n in _list(header, "shape"))
    strides = tuple(_whole(n) for n in _list(header, "strides"))
    extents = tuple(_whole(n) for n in _list(header, "extents"))
    if len(shape) != len(strides) or len(shape) != len(extents):
        raise wrong("axes of different numbers in the header", "a stride and an extent for each axis")
    pairs = _list(header, "dead")
    if any(not isinstance(pair, list) or len(pair) != 2 for pair in pairs):
        raise wrong("dead places that are no pairs", "pairs of stride and extent")
    dead = tuple((_whole(s), _whole(e)) for s, e in pairs)
    places = [(s, e) for s, e in zip(strides, extents, strict=True) if e > 1] + list(dead)
    if any(p != power_of_two(p) for pair in places for p in pair):
        raise wrong("a layout with odd places", "powers of two")
    if any(n > e for n, e in zip(shape, extents, strict=True)):
        raise wrong("a shape beyond its places", "an extent that is at least the length of its axis")
    ordered = sorted(places)
    if any(a[0] * a[1] > b[0] for a, b in pairwise(ordered)):
        raise wrong("axes that lie on each other", "a layout as it was written")
    layout = Layout(shape, strides, extents, 1, 1, dead, header.get("clean") is True).within(most_slots)
    return layout, header.get("complex") is True


def shape_of(header: dict[str, Any]) -> tuple[int, ...]:
    """Return the shape of exact values from a header; ``()`` for a single value."""
    return tuple(_whole(n) for n in _list(header, "shape"))


def named_of(header: dict[str, Any]) -> tuple[str, str]:
    """Return name and parameters of keys of exact values."""
    name, text = header.get("name"), header.get("params")
    if not isinstance(name, str) or not isinstance(text, str):
        raise wrong("a header without parameters", "the file that keys wrote")
    return name, text


def tfhe_of(header: dict[str, Any]) -> tuple[str, str, int]:
    """Return name, parameters, and the number of rows bootstrapped at a time."""
    return (*named_of(header), _whole(header.get("lanes"), 1 << 20))


def locking(passphrase: str | None) -> str | None:
    """Return a passphrase for a new file of a secret key; an empty one locks nothing."""
    if passphrase == "":
        raise wrong("an empty passphrase", "one with letters, or None for a key that lies in the clear")
    return passphrase


def save(path: Path, data: bytes, mode: int = 0o666, *, replace: bool = True) -> None:
    """Write a file whole or not at all: one that is there stays until all of the new one is on the disk."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.tmp")
    temporary.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        _placed(temporary, path, replace=replace)
    finally:
        temporary.unlink(missing_ok=True)


def _placed(temporary: Path, path: Path, *, replace: bool) -> None:
    if replace:
        temporary.replace(path)
        return
    try:
        # A second name, which no other file may have; renaming would replace one.
        path.hardlink_to(temporary)
    except FileExistsError:
        raise _exists(path) from None
    except OSError:
        # File systems without second names: an empty file of that name is there first, which only one can make.
        try:
            path.touch(0o600, exist_ok=False)
        except FileExistsError:
            raise _exists(path) from None
        temporary.replace(path)


def _exists(path: Path) -> FileExistsError:
    return FileExistsError(
        f"{path} exists, and may have a secret key that nobody can make again: choose another name, or replace=True"
    )


def vacant(path: Path, *, replace: bool) -> None:
    """Fail for a secret key's file that is there and may not be replaced."""
    if not replace and os.path.lexists(path):
        raise _exists(path)


def save_secret(path: Path, data: bytes, *, replace: bool) -> None:
    """Write a secret, with owner-only permissions from its first byte on: a file that is there may be open to others."""
    vacant(path, replace=replace)
    save(path, data, 0o600, replace=replace)


def context_of(header: dict[str, Any]) -> tuple[Params, int, bool]:
    """Return parameters, slots, and whether values are complex."""
    text = header.get("params")
    if not isinstance(text, str):
        raise wrong("a header without parameters", "the file that a context wrote")
    params = Params.from_toml(text)
    slots = _whole(header.get("slots"), params.max_slots)
    if slots != power_of_two(slots):
        raise wrong(f"{slots} slots in the header", "a power of two")
    return params, slots, header.get("complex") is True
