"""A worker of a cluster: one a node, which keeps the server's keys and evaluates parts with them.

What a node gets is the program's description, the server's keys and encrypted inputs. Files of any other kind are refused
before they are sent, and again by the program that reads them.
"""

from __future__ import annotations

import getpass
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from limbwise._limbwise import __version__

# Bytes of a key file that travel at once.
CHUNK = 1 << 26
# What a server's directory may send, and the kinds of these files (docs/file-format.md).
KEY_FILES = {"evaluation.keys": 3, "bootstrap.keys": 10}
PROGRAM = "program.json"
# The server's own numbers, with the ending of their file.
WEIGHTS = "weights"


@dataclass(frozen=True)
class Placed:
    """A file that each node has once."""

    name: str
    path: str
    size: int
    digest: str
    # What tells this very file from a copy: the running system, the device, the inode and the time of its last change.
    place: tuple[str, int, int, int]


def system() -> str:
    """Return what tells a running system, or a container of one, from others."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink('/proc/self/ns/mnt')}"
    except OSError:
        return f"{os.uname().nodename} {os.getpid()}"


def place(path: Path) -> tuple[str, int, int, int]:
    """Return where a file lies, so that another process of the same computer recognizes it."""
    found = path.stat()
    return system(), found.st_dev, found.st_ino, found.st_mtime_ns


def digest(path: Path) -> str:
    """Return the SHA-256 of a file, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def placed(path: Path) -> Placed:
    """Describe a file for the nodes."""
    return Placed(path.name, str(path), path.stat().st_size, digest(path), place(path))


class Lost(Exception):  # noqa: N818 - it is news, and no mistake
    """The process that evaluates has ended."""


class Worker:
    """Evaluates on its node; an actor of Ray. The keys of a program lie on a node once, as files under their digests."""

    def __init__(self, threads: int, share: bool) -> None:
        root = Path(tempfile.gettempdir()) / f"limbwise-node-{getpass.getuser()}"
        root.mkdir(mode=0o700, exist_ok=True)
        if root.is_symlink() or root.stat().st_uid != os.getuid():
            raise PermissionError(f"{root} is not this user's: remove it, or set TMPDIR")
        self._root, self._threads, self._share = root, min(threads, os.cpu_count() or 1), share
        self._server: Path | None = None
        self._process: subprocess.Popen[str] | None = None

    def about(self) -> dict[str, Any]:
        """Return what a driver looks at: the version, and who this is."""
        return {"version": __version__, "pid": os.getpid(), "root": str(self._root)}

    def missing(self, files: list[Placed]) -> list[Placed]:
        """Return those of the files that are not on this node. A file of the same computer is used where it lies."""
        name = hashlib.sha256(" ".join(file.digest for file in files).encode()).hexdigest()[:32]
        self._server = self._root / name
        self._server.mkdir(mode=0o700, exist_ok=True)
        return [file for file in files if not self._there(file)]

    def _there(self, file: Placed) -> bool:
        assert self._server is not None
        target = self._server / file.name
        if target.exists() and target.stat().st_size == file.size and digest(target) == file.digest:
            return True
        here = Path(file.path)
        if not self._share or not here.exists() or place(here) != file.place:
            return False
        link = target.with_name(f".{file.name}.{os.getpid()}")
        link.unlink(missing_ok=True)
        link.symlink_to(here)
        link.replace(target)
        return True

    def write(self, file: Placed, offset: int, piece: bytes) -> None:
        """Put a piece of a file; after the last one the file is compared with its digest and stands under its name."""
        assert self._server is not None
        target = self._server / file.name
        part = target.with_name(f".{file.name}.{os.getpid()}")
        with part.open("r+b" if offset else "wb") as out:
            out.seek(offset)
            out.write(piece)
        if offset + len(piece) == file.size:
            if digest(part) != file.digest:
                part.unlink()
                raise OSError(f"{file.name} came damaged: its digest is not {file.digest}")
            part.replace(target)

    def start(self) -> dict[str, Any]:
        """Start the evaluation, which reads the keys; return what it says of itself."""
        command = ["eval", "--parts", "--server", str(self._server), "--threads", str(self._threads)]
        folder = self._server
        for own in folder.glob(f"{WEIGHTS}.*") if folder else ():
            command += ["--weights", str(own)]
        run = [sys.executable, "-c", "from limbwise._command import main; main()", *command]
        self._process = subprocess.Popen(
            run, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        answer = self._hear()
        return {**answer, "evaluator": self._process.pid}

    def _hear(self) -> dict[str, Any]:
        process = self._process
        assert process is not None
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            code = process.wait()
            said = (process.stderr.read() if process.stderr else "").strip().removeprefix("error: ")
            if code == 2:
                return {"refused": said}
            raise Lost(f"limbwise eval ended with {code}: {said[-400:]}")
        return dict(json.loads(line))

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
        except OSError as error:
            raise Lost(f"limbwise eval went away: {error}") from None
        return self._hear()

    def evaluate(self, name: str, inputs: dict[str, bytes]) -> tuple[dict[str, Any], dict[str, bytes]]:
        """Evaluate a part; what an earlier attempt on this node left of it is gone on from."""
        part = self._place(name)
        _put(part / "in", inputs)
        _fresh(part / "out")
        request = {"inputs": str(part / "in"), "results": str(part / "out"), "checkpoint": str(part / "state")}
        return self._answer(part, {"evaluate": request})

    def add(self, name: str, results: list[dict[str, bytes]]) -> tuple[dict[str, Any], dict[str, bytes]]:
        """Add results of neighboring parts."""
        part = self._place(name)
        _fresh(part)
        _fresh(part / "out")
        places = []
        for number, files in enumerate(results):
            _put(part / f"{number:05}", files)
            places.append(str(part / f"{number:05}"))
        return self._answer(part, {"sum": {"of": places, "results": str(part / "out")}})

    def _place(self, name: str) -> Path:
        assert self._server is not None
        part = self._server / "parts" / name
        part.mkdir(parents=True, exist_ok=True)
        return part

    def _answer(self, part: Path, request: dict[str, Any]) -> tuple[dict[str, Any], dict[str, bytes]]:
        answer = self._ask(request)
        files = {path.name: path.read_bytes() for path in sorted((part / "out").glob("*.ct"))}
        shutil.rmtree(part, ignore_errors=True)
        return answer, files


def _fresh(place: Path) -> None:
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()


def _put(place: Path, files: dict[str, bytes]) -> None:
    _fresh(place)
    for name, content in files.items():
        (place / Path(name).name).write_bytes(content)
