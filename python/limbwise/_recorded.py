"""Recorded programs of any scheme."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from limbwise._limbwise import ExactRecorded
    from limbwise.program import Timing


class Recorded(ABC):
    """A recorded program of any origin; input to :func:`time`."""

    def __init__(self, native: Any) -> None:
        self._native = native
        self._facts: dict[str, Any] | None = None

    @property
    def facts(self) -> dict[str, Any]:
        """Nodes, operation counts, traffic by role, keys with their levels; levels left, or bootstrappings."""
        if self._facts is None:
            self._facts = json.loads(self._native.record())
        return self._facts

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the graph, one JSON object per line (docs/graph-format.md).

        Args:
            path: the file; one that exists is replaced.
        """
        self._native.save(Path(path))

    def time(self, machine: str, changes: list[tuple[str, str]], events: int) -> Timing:
        """Schedule the recording on a machine.

        Args:
            machine: a built-in model (:func:`limbwise.machines`), "cpu" for this host as measured, or a TOML file.
            changes: numbers of the machine to change, each as path and value.
            events: number of tasks of the schedule kept for plots.

        Raises:
            MachineError: no such machine, no such number, or a machine without units for the program.
        """
        from limbwise.program import Timing

        report, trace, *way = self._timed(machine, changes, events)
        return Timing.of(report, trace, self, dict(changes), *way)

    @abstractmethod
    def _timed(self, machine: str, changes: list[tuple[str, str]], events: int) -> tuple[Any, ...]:
        """Return the report, the trace and, of a workload, the way it is run."""


class FunctionRecording(Recorded):
    """A recorded Python function of encrypted arrays, of any scheme."""

    @property
    def operations(self) -> list[str]:
        """The operations of the program by name, in order."""
        return list(self._native.operations)

    def _timed(self, machine: str, changes: list[tuple[str, str]], events: int) -> tuple[Any, ...]:
        return self._native.time(machine, changes, events)  # type: ignore[no-any-return]


class ExactRecording(FunctionRecording):
    """A recorded program on exact values; input to :func:`limbwise.plan` and :func:`limbwise.time`."""

    _native: ExactRecorded

    def __repr__(self) -> str:
        facts = self.facts
        work = f"{facts['bootstrappings']} bootstrappings" if facts["bootstrappings"] else f"{len(facts['keys'])} keys"
        return (
            f"<limbwise.Recording {facts['preset']}: {len(self.operations)} operations, {facts['nodes']} nodes, {work}>"
        )
