"""Messages of the native extension while it computes: a log, and optional progress bars."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from limbwise import _limbwise

logger = logging.getLogger("limbwise")
_shown = threading.local()


class Bar(Protocol):
    """Interface of a progress bar, which those of tqdm have."""

    def update_to(self, name: str, done: int, total: int) -> None:
        """Show that ``done`` of ``total`` parts of a step are finished."""

    def close(self) -> None:
        """Stop showing."""


class _Line:
    """A progress line on standard error, rewritten in place; works in terminals and notebooks."""

    def update_to(self, name: str, done: int, total: int) -> None:
        of = f" {done}/{total}" if total else ""
        sys.stderr.write(f"\r\x1b[2K{name}{of}")
        sys.stderr.flush()

    def close(self) -> None:
        sys.stderr.write("\r\x1b[2K")
        sys.stderr.flush()


class _Tqdm:
    """A progress bar of tqdm, for a terminal or a notebook."""

    def __init__(self, tqdm: Any) -> None:
        self._tqdm = tqdm
        self._bar: Any = None
        self._name = ""

    def update_to(self, name: str, done: int, total: int) -> None:
        if name != self._name and not (self._name and name.startswith("bootstrap ")):
            self.close()
            self._bar, self._name = self._tqdm(total=total or None, desc=name, leave=False), name
        self._bar.n = done
        self._bar.refresh()

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
        self._bar, self._name = None, ""


def _bar() -> Bar:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Line()
    return _Tqdm(tqdm)


@contextmanager
def progress(bar: Bar | None = None) -> Iterator[None]:
    """Show the steps of long calls while the block runs.

    With tqdm installed it draws tqdm's bars, in a notebook those of notebooks; else one line on standard error. ``bar``
    is anything with ``update_to(name, done, total)`` and ``close()``. Every thread has its own.
    """
    before = getattr(_shown, "bar", None)
    _shown.bar = bar if bar is not None else _bar()
    try:
        yield
    finally:
        _shown.bar.close()
        _shown.bar = before


def size(count: float) -> str:
    """Format a number of bytes: 1.5 GB, with 1 GB = 10^9 bytes."""
    for unit, of in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= of:
            return f"{count / of:.3g} {unit}"
    return f"{count:.0f} B"


def _report(kind: str, name: str, done: int, total: int, count: int, seconds: float) -> None:
    if kind == "key":
        logger.info("made %s: %s in %.2f s", name, size(count), seconds)
    elif kind == "bootstrapper":
        logger.info("bootstrapping is ready (%s rotations): %s of maps, %.1f s", name, size(count), seconds)
    elif kind == "done":
        logger.info("%s: %.2f s", name, seconds)
    bar = getattr(_shown, "bar", None)
    if kind == "step" and bar is not None:
        bar.update_to(name, done, total)


_limbwise.set_reporter(_report)
