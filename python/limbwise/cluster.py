"""Programs on a Ray cluster: a batch in parts, each two sides by files (``pip install "limbwise[ray]"``).

The client makes keys and encrypts, as with files; the cluster gets the program, the server's keys and the encrypted parts,
and never a secret key. Parts are independent, so a part whose worker dies is repeated, nodes that join are used, and a run
that was killed goes on with the parts that are there, with the same bits.

>>> client, server = lw.workload("pbs", batch=16).keygen("mine", "theirs")
>>> parts = [Path("in-0"), Path("in-1")]
>>> for part in parts:
...     client.encrypt(part)
>>> done = lw.cluster.run(client, server, parts, out="results")
>>> client.decrypt(done.parts[0], inputs=parts[0])
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import shutil
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from limbwise._limbwise import __version__
from limbwise._nodes import CHUNK, KEY_FILES, PROGRAM, WEIGHTS, Placed, Worker, placed
from limbwise._workloads import ClientFiles, PathLike, ServerFiles
from limbwise.errors import LimbwiseError, WireError, need

__all__ = ["ClusterError", "Evaluated", "run"]

# Results that are added in one task: a power of two, so that the tree is the client's.
_ARITY = 8
# Workers that a part may lose before it is called the part's fault.
_MOST_LOST = 100
# Failed starts on a node before it is left alone.
_MOST_STARTS = 5
# Seconds between two looks at the nodes.
_LOOK = 1.0
# Beside the results of a part: what they are results of.
_INPUTS = "inputs.sha256"

Tell = Callable[[dict[str, Any]], None]


class ClusterError(LimbwiseError):
    """The cluster cannot evaluate: no node is left, or none has this version or the memory."""


@dataclass
class Evaluated:
    """What a cluster did. ``parts`` are directories of results, in the order of the inputs; ``None`` where refused."""

    parts: list[Path | None]
    #: Directory of the results that were added over all parts, for programs that sum rows.
    total: Path | None = None
    #: Why a part was refused, by its number.
    refused: dict[int, str] = field(default_factory=dict)
    #: Parts that were there.
    known: int = 0
    #: Workers and nodes that were lost on the way.
    lost: int = 0
    #: Time of all evaluations together.
    seconds: float = 0.0


def run(
    program: PathLike | ClientFiles,
    server_keys: PathLike | ServerFiles,
    inputs: Sequence[PathLike],
    *,
    out: PathLike,
    address: str | None = None,
    weights: PathLike | None = None,
    tell: Tell | None = None,
    share_files: bool = True,
) -> Evaluated:
    """Evaluate the parts of a batch on a Ray cluster.

    Run it again with the same ``out`` after a kill: parts that are there stay, the others go on from their checkpoints on
    the nodes, and all bits are the same.

    Args:
        program: the client's ``program.json``, or its directory: the server's keys must be for it.
        server_keys: the server's directory: description, ``evaluation.keys``, ``bootstrap.keys``.
        inputs: a directory of encrypted inputs for each part, in order.
        out: where results go: a directory a part, and ``total``.
        address: of a running cluster; by default that of ``RAY_ADDRESS``, or a cluster on this computer for this call.
        weights: the server's own numbers, of programs that leave some to it: the file of a network or a forest.
        tell: is given what happens, a dictionary at a time, with the seconds that are left.
        share_files: use key files where they lie on nodes that are this computer; else each node gets a copy.

    Raises:
        WireError: keys of another program, or a file that is no public key.
        ClusterError: no node can evaluate.
        MissingDependency: Ray is not installed.
    """
    files = _checked(program, server_keys)
    if weights is not None:
        files.append(_of_server(Path(weights)))
    if not inputs:
        raise WireError("no inputs: give a directory of encrypted inputs for each part")
    for part in inputs:
        if not list(Path(part).glob("*.ct")):
            raise WireError(f"{part}: no ciphertext (*.ct) in this directory: encrypt the part first")
    with _ray(address) as ray:
        return _Driver(ray, files, [Path(part) for part in inputs], Path(out), tell or _quiet, share_files).run()


def _of_server(path: Path) -> Placed:
    """Return the file of a server's own numbers under the name that nodes know it by; its ending says what it is."""
    with path.open("rb") as file:
        if file.read(8) == b"LIMBWISE":
            raise WireError(f"{path}: a file of this library; the server's numbers are a network or a forest")
    return replace(placed(path), name=f"{WEIGHTS}{path.suffix}")


def _quiet(_: dict[str, Any]) -> None:
    pass


def _checked(program: PathLike | ClientFiles, server_keys: PathLike | ServerFiles) -> list[Placed]:
    """Return the files that nodes get: the description and public keys, and nothing else of the server's directory."""
    mine = program.directory if isinstance(program, ClientFiles) else Path(program)
    mine = mine / PROGRAM if mine.is_dir() else mine
    server = server_keys.directory if isinstance(server_keys, ServerFiles) else Path(server_keys)
    if (server / PROGRAM).read_bytes() != mine.read_bytes():
        raise WireError(f"{server}: keys of another program than {mine}: make keys for this one (limbwise keygen)")
    files = [server / PROGRAM]
    for name, kind in KEY_FILES.items():
        path = server / name
        if path.exists():
            with path.open("rb") as file:
                head = file.read(12)
            if head[:8] != b"LIMBWISE" or int.from_bytes(head[10:12], "little") != kind:
                raise WireError(f"{path}: not the server's keys; nothing else is sent to a cluster")
            files.append(path)
    if len(files) == 1:
        raise WireError(f"{server}: neither {' nor '.join(KEY_FILES)}: make the keys of this program (limbwise keygen)")
    return [placed(path) for path in files]


@contextmanager
def _ray(address: str | None) -> Iterator[Any]:
    """Connect to a cluster, or start one; one that was there stays."""
    try:
        ray: Any = importlib.import_module("ray")
    except ModuleNotFoundError:
        raise need("ray", "ray", "limbwise.cluster") from None
    if ray.is_initialized():
        yield ray
        return
    address = address or os.environ.get("RAY_ADDRESS")
    try:
        ray.init(
            address=address, include_dashboard=None if address else False, log_to_driver=False, logging_level="ERROR"
        )
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise ClusterError(f"no cluster at {address}: {error} (ray start --head starts one)") from None
    try:
        yield ray
    finally:
        ray.shutdown()


@dataclass(eq=False)
class _Node:
    """A node with its worker, and what it is asked for."""

    node: str
    actor: Any
    ready: bool = False
    tasks: int = 0


@dataclass(frozen=True)
class _Task:
    """A part (level 0), or a sum of neighbors."""

    level: int
    index: int


class _Driver:
    def __init__(
        self, ray: Any, files: list[Placed], inputs: list[Path], out: Path, tell: Tell, share_files: bool
    ) -> None:
        self._ray, self._files, self._inputs, self._out = ray, files, inputs, out
        self._tell, self._share = tell, share_files
        self._names = [_name(files, part) for part in inputs]
        self._nodes: dict[str, _Node] = {}
        self._starts: dict[str, int] = {}
        self._given_up: dict[str, str] = {}
        # What is under way: a task, or None for the start of a worker.
        self._running: dict[Any, tuple[_Node, _Task | None]] = {}
        self._pending: deque[_Task] = deque()
        self._attempts: dict[_Task, int] = {}
        self._sums: dict[_Task, dict[str, bytes]] = {}
        self._summed: int | None = None
        self._done: set[int] = set()
        self._found = Evaluated(parts=[None] * len(inputs))
        self._began = time.monotonic()

    def run(self) -> Evaluated:
        self._out.mkdir(parents=True, exist_ok=True)
        for index in range(len(self._inputs)):
            if self._is_there(index):
                self._done.add(index)
            else:
                self._pending.append(_Task(0, index))
        self._found.known = len(self._done)
        self._tell({"known": self._found.known})
        try:
            while not self._over():
                self._look()
                self._feed()
                self._wait()
        finally:
            for node in self._nodes.values():
                self._ray.kill(node.actor)
        self._found.parts = [self._place(index) if index in self._done else None for index in range(len(self._inputs))]
        self._tell({"total": None if self._found.total is None else str(self._found.total)})
        return self._found

    def _over(self) -> bool:
        parts = len(self._done) + len(self._found.refused) == len(self._inputs)
        if not parts or self._found.refused or self._summed == 0:
            return parts
        return self._found.total is not None

    def _place(self, index: int) -> Path:
        return self._out / f"part-{index:05}"

    def _is_there(self, index: int) -> bool:
        mark = self._place(index) / _INPUTS
        return mark.exists() and mark.read_text() == self._names[index]

    def _look(self) -> None:
        """Begin a worker on every node that has none."""
        strategy = importlib.import_module("ray.util.scheduling_strategies").NodeAffinitySchedulingStrategy
        alive = {node["NodeID"]: node["Resources"] for node in self._ray.nodes() if node["Alive"]}
        for name, resources in alive.items():
            cpus = int(resources.get("CPU", 0))
            if cpus < 1 or name in self._nodes or name in self._given_up:
                continue
            remote = self._ray.remote(Worker).options(
                num_cpus=cpus, scheduling_strategy=strategy(name, soft=False), max_restarts=0
            )
            node = _Node(name, remote.remote(cpus, self._share))
            self._nodes[name] = node
            self._running[node.actor.about.remote()] = (node, None)
        for name in [name for name in self._nodes if name not in alive]:
            self._lose(self._nodes[name], "the node left")
        if not self._nodes:
            reasons = "; ".join(self._given_up.values()) or "the cluster has no CPU"
            raise ClusterError(f"no node is left that can evaluate: {reasons}")

    def _feed(self) -> None:
        """Give tasks to workers; a second one each while there are many, so that nobody waits for inputs."""
        ready = [node for node in self._nodes.values() if node.ready]
        most = 2 if len(self._pending) > 2 * len(ready) else 1
        for depth in range(most):
            for node in ready:
                if self._pending and node.tasks == depth:
                    self._submit(node, self._pending.popleft())

    def _submit(self, node: _Node, task: _Task) -> None:
        if task.level == 0:
            ref = node.actor.evaluate.remote(self._names[task.index], _read(self._inputs[task.index]))
        else:
            ref = node.actor.add.remote(f"{self._names[0]}-{task.level}-{task.index}", self._below(task))
        node.tasks += 1
        self._running[ref] = (node, task)

    def _wait(self) -> None:
        refs = list(self._running)
        if not refs:
            time.sleep(_LOOK)
            return
        done, _ = self._ray.wait(refs, num_returns=1, timeout=_LOOK)
        for ref in done:
            if ref not in self._running:
                continue  # of a worker that was lost meanwhile
            node, task = self._running.pop(ref)
            node.tasks -= task is not None
            try:
                answer = self._ray.get(ref)
            except self._ray.exceptions.RayError as error:
                if task is not None:
                    self._again(task)
                self._lose(node, _first_line(error))
                continue
            if task is None:
                self._begun(node, answer)
            else:
                self._answered(task, *answer)

    def _begun(self, node: _Node, answer: dict[str, Any]) -> None:
        """Go on with the start of a worker: version, files, keys."""
        if "version" in answer:
            if answer["version"] != __version__:
                self._give_up(node, f"it has limbwise {answer['version']}, this is {__version__}: install this version")
                return
            self._running[node.actor.missing.remote(self._files)] = (node, None)
        elif isinstance(answer, list):
            for file in answer:
                self._send(node, file)
            self._running[node.actor.start.remote()] = (node, None)
        elif "ready" in answer:
            node.ready = True
            self._starts.pop(node.node, None)
            self._tell({"note": f"node {node.node[:8]} has its keys"})
            if self._summed is None:
                self._summed = int(answer["ready"]["summed"])
                for index in self._done:
                    self._joined(_Task(0, index))
        else:
            self._give_up(node, answer["refused"])

    def _send(self, node: _Node, file: Placed) -> None:
        """Send a file to a node, a piece at a time; the calls of an actor are done in their order."""
        with Path(file.path).open("rb") as source:
            for offset in range(0, max(file.size, 1), CHUNK):
                ref = node.actor.write.remote(file, offset, source.read(CHUNK))
                try:
                    self._ray.get(ref)
                except self._ray.exceptions.RayError:
                    return  # the start that follows fails too, and says why

    def _lose(self, node: _Node, why: str) -> None:
        """Forget a worker; its parts are asked for again. The node gets another worker, if it is there."""
        self._found.lost += 1
        self._tell({"note": f"a worker on node {node.node[:8]} was lost ({why}); its parts are repeated"})
        self._drop(node)
        if not node.ready:
            self._starts[node.node] = self._starts.get(node.node, 0) + 1
            if self._starts[node.node] >= _MOST_STARTS:
                self._given_up[node.node] = f"node {node.node[:8]}: {why}"

    def _give_up(self, node: _Node, why: str) -> None:
        self._given_up[node.node] = f"node {node.node[:8]}: {why}"
        self._tell({"note": f"node {node.node[:8]} is not used: {why}"})
        self._drop(node)

    def _drop(self, node: _Node) -> None:
        self._nodes.pop(node.node, None)
        with suppress(Exception):
            self._ray.kill(node.actor)
        for ref in [ref for ref, (of, _) in self._running.items() if of is node]:
            _, task = self._running.pop(ref)
            if task is not None:
                self._again(task)

    def _again(self, task: _Task) -> None:
        self._attempts[task] = self._attempts.get(task, 0) + 1
        if self._attempts[task] < _MOST_LOST:
            self._pending.appendleft(task)
        else:
            self._refuse(task, f"{_MOST_LOST} workers were lost with it: its memory may be more than a node has")

    def _refuse(self, task: _Task, why: str) -> None:
        if task.level > 0:
            raise ClusterError(f"the results of the parts are there, their sum is not: {why}")
        self._found.refused[task.index] = why
        self._tell({"refused": {"part": task.index, "why": why}})

    def _answered(self, task: _Task, answer: dict[str, Any], files: dict[str, bytes]) -> None:
        if "refused" in answer:
            self._refuse(task, answer["refused"])
            return
        if task.level > 0:
            self._sums[task] = files
            self._joined(task)
            return
        _put(self._place(task.index), {**files, _INPUTS: self._names[task.index].encode()})
        self._done.add(task.index)
        seconds = float(answer["done"]["seconds"])
        self._found.seconds += seconds
        done, new = len(self._done), len(self._done) - self._found.known
        left = (time.monotonic() - self._began) / new * (len(self._inputs) - done)
        self._tell({"done": {"part": task.index, "seconds": seconds, "done": done, "left_seconds": left}})
        self._joined(task)

    def _width(self, level: int) -> int:
        """Return how many sums a level has; level 0 are the parts."""
        width = len(self._inputs)
        for _ in range(level):
            width = -(-width // _ARITY)
        return width

    def _below(self, task: _Task) -> list[dict[str, bytes]]:
        first = task.index * _ARITY
        below = range(first, min(first + _ARITY, self._width(task.level - 1)))
        if task.level > 1:
            return [self._sums[_Task(task.level - 1, index)] for index in below]
        places = [sorted(self._place(index).glob("*.ct"))[: self._summed] for index in below]
        return [{path.name: path.read_bytes() for path in files} for files in places]

    def _joined(self, task: _Task) -> None:
        """Ask for the sum above, if all that it is made of is there; at the top is the total."""
        if not self._summed:
            return
        if task.level > 0 and self._width(task.level) == 1:
            total = self._out / "total"
            _put(total, self._sums.pop(task))
            self._found.total = total
            return
        above = _Task(task.level + 1, task.index // _ARITY)
        first = above.index * _ARITY
        below = range(first, min(first + _ARITY, self._width(task.level)))
        there = self._done if task.level == 0 else {of.index for of in self._sums if of.level == task.level}
        asked = above in self._sums or above in self._pending or any(of == above for _, of in self._running.values())
        if all(index in there for index in below) and not asked:
            self._pending.appendleft(above)


def _name(files: list[Placed], part: Path) -> str:
    """Return what a part is: a hash of the program, its keys and its inputs."""
    whole = hashlib.sha256(" ".join(file.digest for file in files).encode())
    for path in sorted(part.glob("*.ct")):
        whole.update(hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()


def _read(part: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(part.glob("*.ct"))}


def _put(place: Path, files: dict[str, bytes]) -> None:
    """Put a directory into its place when all of it is written: a kill leaves it whole, or not at all."""
    hidden = place.with_name(f".{place.name}.{os.getpid()}")
    shutil.rmtree(hidden, ignore_errors=True)
    hidden.mkdir()
    for name, content in files.items():
        with (hidden / name).open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    shutil.rmtree(place, ignore_errors=True)
    hidden.rename(place)


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if lines else type(error).__name__)[:200]


def main() -> None:
    """Run for ``limbwise run --on ray``: one line says what, and what happens is told in lines."""
    # Standard output is for lines alone.
    lines, sys.stdout = sys.stdout, sys.stderr
    heard = sys.stdin.readline()
    if not heard:
        sys.exit(1)
    work = json.loads(heard)

    def tell(what: dict[str, Any]) -> None:
        lines.write(json.dumps(what) + "\n")
        lines.flush()

    try:
        run(
            work["program"],
            work["server"],
            work["inputs"],
            out=work["out"],
            address=work["address"],
            weights=work.get("weights"),
            tell=tell,
        )
    except (LimbwiseError, OSError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
