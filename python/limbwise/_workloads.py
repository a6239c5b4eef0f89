"""Workloads: the built-in programs, by name, with the options of the command line."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from limbwise import _files, _limbwise, _tables
from limbwise._options import change_of, parse_size, warn_insecure, whole
from limbwise._recorded import Recorded
from limbwise.errors import ParamsError
from limbwise.program import Plan, Timing

PathLike = str | os.PathLike[str]


def workloads() -> dict[str, str]:
    """Return the names of the workloads, each with a description."""
    return dict(_limbwise.workloads())


def workload(name: str, *, memory: str | int | None = None, **options: Any) -> Workload:
    """Return a workload with its options.

    Args:
        name: as on the command line, see :func:`workloads`.
        memory: budget of the whole process, such as ``"3GB"``: selects the fastest configuration within it. Without
            it, the smallest that takes at most a tenth longer than the fastest.
        options: those of ``limbwise run NAME``: ``data_seed=3`` for ``--data-seed 3``, ``True`` for a flag, a list where
            several values may be given. ``None`` and ``False`` leave an option out.

    Raises:
        ParamsError: no such workload, no such option, or a value that is refused.

    >>> lw.workload("pbs", batch=64).plan()
    """
    return Workload(name, memory=memory, **options)


def _words(value: Any) -> list[str] | None:
    """Return the values of an option as command-line words; None if it is absent."""
    if value is None or value is False:
        return None
    if value is True:
        return []
    if isinstance(value, (list, tuple, range, np.ndarray)):
        return [os.fspath(one) if isinstance(one, os.PathLike) else str(one) for one in value]
    return [os.fspath(value) if isinstance(value, os.PathLike) else str(value)]


class Workload:
    """A workload with its options; made by :func:`limbwise.workload`."""

    def __init__(self, name: str, *, memory: str | int | None = None, **options: Any) -> None:
        # An empty list is no value, and not a flag. What is left out must be an option still.
        given = [(option, (_words(value) or None) if value is not True else []) for option, value in options.items()]
        self.name = name
        self._native = _limbwise.Workload(name, given, None if memory is None else parse_size(memory))

    @property
    def scheme(self) -> str:
        """Scheme of the workload: ckks, tfhe, bgv, or tfhe+ckks."""
        return self._native.scheme

    @property
    def ways(self) -> list[str]:
        """Configurations that the options leave open: rotations, plaintexts and keys."""
        return list(self._native.ways)

    def record(self) -> WorkloadRecording:
        """Record the configuration that :meth:`plan` takes: exact counts, keys and traffic."""
        return WorkloadRecording(self)

    def plan(self) -> Plan:
        """Plan before any key exists: the configuration that fits best (``memory``), beside the others.

        Raises:
            MemoryBudgetError: no configuration fits the memory given or available.
        """
        return Plan(self.record(), json.loads(self._native.plan()))

    def time(self, machine: str = "ark", *, events: int = 20_000, **numbers: Any) -> Timing:
        """Schedule the fastest configuration on a machine model; ``timing.way`` names the configuration.

        Args:
            machine: a built-in model (:func:`limbwise.machines`), "cpu" for this host as measured, or a TOML file.
            events: number of tasks of the schedule kept for plots.
            numbers: numbers of the machine to change, such as ``clusters=8``; ``__`` stands for a dot.

        Raises:
            MachineError: no such machine, no such number, or a machine that can run none of the ways.
        """
        changes = [change_of(name, value) for name, value in numbers.items()]
        report, trace, way = self._native.time(machine, changes, events)
        return Timing.of(report, trace, self.record(), dict(changes), way)

    def run(self, *, device: str | None = None, threads: int | None = None, profile: bool = False) -> Run:
        """Run client and server in one process: keys, encryption, evaluation, decryption, comparison.

        Args:
            device: what computes, as ``limbwise list`` names it; ``"cpu"`` by default.
            threads: threads of one operation, from 1; all by default.
            profile: whether the times of the evaluation's regions are taken, beside those predicted, into ``facts["profile"]``:
                path, seconds, how often it was entered. Of the CPU alone.

        Raises:
            ParamsError: a number of threads below 1; a profile of another device.
        """
        whole("threads", threads, 1)
        warn_insecure(self._native.insecure_reason)
        return Run(json.loads(self._native.run(device=device, threads=threads, profile=profile)))

    def keygen(
        self, client: PathLike, server: PathLike, *, passphrase: str | None = None, replace: bool = False
    ) -> tuple[ClientFiles, ServerFiles]:
        """Write the secret key to the client's directory and all others to the server's, as ``limbwise keygen``.

        Args:
            client: directory of the client, made if it is missing.
            server: directory of the server, another one.
            passphrase: encrypts the secret key; without one it lies in the clear, readable by its owner only.
            replace: replaces keys that are in the directories; what was encrypted under them is lost.

        Raises:
            LimbwiseError: one of the directories already holds keys.
        """
        warn_insecure(self._native.insecure_reason)
        locking = _files.locking(passphrase)
        _limbwise.keygen_files(self._native, Path(client), Path(server), passphrase=locking, replace=replace)
        return ClientFiles(client, passphrase=passphrase), ServerFiles(server)

    def __repr__(self) -> str:
        return f"<limbwise.Workload {self.name}: {self.scheme}, {self._native.preset}, {len(self.ways)} ways>"


class WorkloadRecording(Recorded):
    """A recorded workload, in the configuration that its plan takes on this host."""

    def __init__(self, of: Workload) -> None:
        super().__init__(of._native)
        self.workload = of

    def _timed(self, machine: str, changes: list[tuple[str, str]], events: int) -> tuple[Any, ...]:
        return self._native.time_recorded(machine, changes, events)  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        facts = self.facts
        return (
            f"<limbwise.WorkloadRecording {self.workload.name}, {facts['preset']}: {facts['nodes']} nodes, "
            f"{len(facts['keys'])} keys, {facts['way']}>"
        )


class Run:
    """Result of a run; prints as a table, also in notebooks. ``facts`` is the output of ``limbwise run --json``."""

    def __init__(self, facts: dict[str, Any]) -> None:
        self.facts = facts

    def __getattr__(self, name: str) -> Any:
        facts = self.__dict__.get("facts", {})
        if name in facts:
            return facts[name]
        raise AttributeError(f"a run has no {name!r}; it has {', '.join(sorted(facts))}")

    def __str__(self) -> str:
        return _tables.table(_tables.of_run(self.facts))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return _tables.html(_tables.of_run(self.facts))


def run(
    name: str | Workload,
    *,
    device: str | None = None,
    threads: int | None = None,
    profile: bool = False,
    **options: Any,
) -> Run:
    """Run a workload, client and server in one, and compare its results with the clear twin's.

    Args:
        name: a workload's name with its ``options`` (:func:`workload`), or a :class:`Workload`.
        device: name of the device; ``"cpu"`` by default.
        threads: number of threads; all by default.
        profile: see :meth:`Workload.run`.
        options: see :func:`workload`.

    >>> lw.run("gates").wrong
    0
    """
    if isinstance(name, Workload):
        if options:
            raise ParamsError(f"{', '.join(options)}: a workload that is made has its options: make it with these")
        return name.run(device=device, threads=threads, profile=profile)
    return workload(name, **options).run(device=device, threads=threads, profile=profile)


@dataclass(frozen=True)
class Decrypted:
    """A decrypted result."""

    name: str
    values: npt.NDArray[Any]


class ClientFiles:
    """A client's directory, with the command line's files: it encrypts and decrypts."""

    def __init__(self, directory: PathLike, *, passphrase: str | None = None) -> None:
        self.directory = Path(directory)
        self._passphrase = passphrase

    @property
    def inputs(self) -> list[str]:
        """Names of the program's inputs, in order."""
        return _limbwise.input_names(self.directory)

    def encrypt(
        self,
        out: PathLike,
        *,
        data: PathLike | list[PathLike] | None = None,
        key: Literal["secret", "public"] | None = None,
        replace: bool = False,
    ) -> list[Path]:
        """Encrypt the inputs of the program into a directory, and return their files.

        Args:
            out: the directory, created if absent.
            data: files in the place of the data that the keys were made for, of the same shape.
            key: the key to encrypt with; by default that of the program's plan.
            replace: whether existing files are replaced.
        """
        if key not in (None, "secret", "public"):
            raise ParamsError(f"key = {key!r}: choose 'secret' or 'public'")
        files = [] if data is None else [Path(one) for one in (data if isinstance(data, list) else [data])]
        public = None if key is None else key == "public"
        written = _limbwise.encrypt_inputs(
            self.directory, Path(out), data=files, public=public, passphrase=self._passphrase, replace=replace
        )
        return [Path(path) for path in written]

    def decrypt(
        self,
        results: PathLike,
        *,
        inputs: PathLike | None = None,
        parts: Sequence[PathLike] = (),
        gain: float = 1.0,
    ) -> list[Decrypted]:
        """Decrypt results, as NumPy arrays with their names; each is first compared with this client's own recording.

        What makes results doubtful is told by a ``UserWarning``: groups of a query whose order noise decides, or, where they
        are compared, a network's layer that left its range.

        Numbers on slots (CKKS) carry errors that tell of the secret key: what others may see is made by ``limbwise
        decrypt --share``.

        Args:
            results: their directory, or a file.
            inputs: the encrypted inputs that they are of; by default those that were encrypted last.
            parts: the directories of the encrypted parts, where the results are sums over them (:mod:`limbwise.cluster`).
            gain: where the server has numbers of its own, how many times larger they may make values and errors.

        Raises:
            DecryptError: a result that is not what is expected.
            WireError: files of another program, key set or other inputs; damaged ones.
        """
        return self._opened(results, inputs, gain, parts, compare=False)[0]

    def compare(self, results: PathLike, *, inputs: PathLike | None = None) -> dict[str, Any]:
        """Decrypt results and return how they compare with the clear twin on the client's data.

        Args:
            results: their directory, or a file.
            inputs: the encrypted inputs that they are of; by default those that were encrypted last.

        Raises:
            LimbwiseError: the server alone has the model, so there is no twin.
            DecryptError, WireError: as for :meth:`decrypt`.
        """
        facts = self._opened(results, inputs, 1.0, (), compare=True)[1]
        return facts or {}

    def _opened(
        self, results: PathLike, inputs: PathLike | None, gain: float, parts: Sequence[PathLike], *, compare: bool
    ) -> tuple[list[Decrypted], dict[str, Any] | None]:
        found, text, doubts = _limbwise.decrypt_results(
            self.directory,
            Path(results),
            inputs=None if inputs is None else Path(inputs),
            parts=[Path(part) for part in parts],
            compare=compare,
            gain=gain,
            passphrase=self._passphrase,
        )
        for doubt in doubts:
            warnings.warn(doubt, UserWarning, 3)
        facts = None if text is None else json.loads(text)
        if facts is not None and doubts:
            facts["warnings"] = doubts
        return [Decrypted(name, _array(shape, kind, real, imag)) for name, shape, kind, real, imag in found], facts

    def __repr__(self) -> str:
        return f"<limbwise.ClientFiles {self.directory}>"


def _array(shape: list[int], kind: str, real: list[float], imaginary: list[float]) -> npt.NDArray[Any]:
    values: npt.NDArray[Any] = np.array(real)
    if kind == "complex":
        values = values + 1j * np.array(imaginary)
    elif kind == "whole":
        values = values.astype(np.int64)
    elif kind == "words":
        values = values.astype(np.uint64) | (np.array(imaginary).astype(np.uint64) << np.uint64(32))
    return values.reshape(shape)


class ServerFiles:
    """A server's directory, with the command line's files: it evaluates and cannot decrypt."""

    def __init__(self, directory: PathLike) -> None:
        self.directory = Path(directory)

    def evaluate(
        self,
        inputs: PathLike,
        out: PathLike,
        *,
        weights: PathLike | None = None,
        bias: PathLike | None = None,
        prepared: PathLike | None = None,
        memory: str | int | None = None,
        replace: bool = False,
        device: str | None = None,
        threads: int | None = None,
    ) -> dict[str, Any]:
        """Evaluate the program on encrypted inputs; return the report, as ``limbwise eval --json`` has it.

        Args:
            inputs: the directory of the encrypted inputs, or the file of a single one.
            out: where the results go: a directory, made if it is not there.
            weights: the server's own numbers, where the program leaves some to it.
            bias: the same, added.
            prepared: a file of :meth:`prepare`, whose plaintexts are read and not encoded again.
            memory: a budget for the whole process, such as ``"3GB"``.
            replace: whether existing files are replaced.
            device: name of the device; ``"cpu"`` by default.
            threads: number of threads; all by default.

        Raises:
            WireError: files of another program or key set; damaged ones.
        """
        whole("threads", threads, 1)
        report: dict[str, Any] = json.loads(
            _limbwise.evaluate_inputs(
                self.directory,
                Path(inputs),
                Path(out),
                weights=None if weights is None else Path(weights),
                bias=None if bias is None else Path(bias),
                prepared=None if prepared is None else Path(prepared),
                memory=None if memory is None else parse_size(memory),
                replace=replace,
                device_name=device,
                threads=threads,
            )
        )
        return report

    def prepare(
        self,
        out: PathLike,
        *,
        weights: PathLike | None = None,
        bias: PathLike | None = None,
        memory: str | int | None = None,
        replace: bool = False,
    ) -> dict[str, Any]:
        """Encode the program's numbers once into a file, from which evaluations read them; return the report.

        Args:
            out: the file; keep it as you keep the weights.
            weights: the server's own numbers, where the program leaves some to it.
            bias: the same, added.
            memory: a budget for the whole process, such as ``"3GB"``.
            replace: whether an existing file is replaced.

        Raises:
            LimbwiseError: a program that encodes nothing before its inputs come.
        """
        report: dict[str, Any] = json.loads(
            _limbwise.prepare_plaintexts(
                self.directory,
                Path(out),
                weights=None if weights is None else Path(weights),
                bias=None if bias is None else Path(bias),
                memory=None if memory is None else parse_size(memory),
                replace=replace,
            )
        )
        return report

    def __repr__(self) -> str:
        return f"<limbwise.ServerFiles {self.directory}>"
