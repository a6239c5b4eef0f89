"""Programs, recorded, planned and timed before any key exists: Python functions of encrypted arrays, or workloads."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import numpy.typing as npt

from limbwise import _limbwise, _reports, _tables, integers, tfhe
from limbwise._limbwise import Params, Session
from limbwise._options import change_of, choose, parse_size, warn_insecure
from limbwise._recorded import ExactRecording, FunctionRecording, Recorded
from limbwise.array import EncryptedArray
from limbwise.context import Context
from limbwise.errors import EncodeError, LevelError, ParamsError, ShapeError, TraceError, need
from limbwise.integers import IntegerContext
from limbwise.tfhe import Keys

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from limbwise._workloads import Workload, WorkloadRecording
    from limbwise.layout import Layout

# What a program is traced with to learn how many levels it takes.
_DEEP = "n16-l32-s40"


@dataclass(frozen=True)
class Like:
    """An input given by shape and bound only, for plans before there is data."""

    shape: tuple[int, ...]
    bound: float = 1.0
    complex: bool = False


def like(shape: int | tuple[int, ...], bound: float = 1.0, *, complex: bool = False) -> Like:
    """Return an input by its shape and bound alone, for plans before there is data.

    Args:
        shape: the length of a vector, or the lengths of all axes; positive whole numbers.
        bound: no value is larger in absolute value; a positive number.
        complex: whether values may be complex.

    Raises:
        ShapeError: lengths that are not positive whole numbers.
        EncodeError: a bound that is not positive and finite.
    """
    sides = (shape,) if isinstance(shape, int) else tuple(shape)
    if not all(isinstance(n, (int, np.integer)) and n > 0 for n in sides):
        raise ShapeError(f"an input of shape {shape!r}: give positive whole numbers")
    if not (np.isfinite(bound) and bound > 0):
        raise EncodeError(f"a bound of {bound}: give a positive number")
    return Like(tuple(int(n) for n in sides), float(bound), complex)


def as_inputs(inputs: Any) -> list[tuple[npt.ArrayLike, float | None]]:
    """Return the inputs of a program, each with the bound promised."""
    every = inputs if isinstance(inputs, (tuple, list)) else [inputs]
    values: list[tuple[npt.ArrayLike, float | None]] = []
    for one in every:
        if isinstance(one, Like):
            kind = np.complex128 if one.complex else np.float64
            values.append((np.full(one.shape, one.bound, dtype=kind), one.bound))
        else:
            values.append((one, None))
    return values


def _results(value: Any) -> list[EncryptedArray]:
    if isinstance(value, EncryptedArray):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [x for one in value for x in _results(one)]
    raise TraceError(f"the program returned {type(value).__name__}: return encrypted arrays, one or several")


@dataclass
class _Traced:
    native: _limbwise.Recorded
    params: Params
    slots: int
    complex: bool
    least_level: int
    layouts: list[tuple[Layout, bool]]
    approximations: dict[str, float]


@dataclass(frozen=True)
class Expected:
    """Expected metadata of one result, from the client's own recording; see :meth:`Recording.expected`."""

    native: _limbwise.Expected
    layout: Layout
    is_complex: bool


def _trace(
    program: Callable[..., Any], inputs: Any, params: Params, slots: int, complex: bool, boot: str | None
) -> _Traced:
    session = Session.trace(params, slots=slots, complex=complex, bootstrapping=boot)
    context = Context(session, params, slots, complex)
    encrypted = [context.encrypt(values, bound=bound) for values, bound in as_inputs(inputs)]
    results = _results(program(*encrypted))
    native = session.finish([x._held for x in results])
    layouts = [(x._layout, x.is_complex) for x in results]
    # What is computed and not returned takes levels as well.
    least = min(context._least_level, *(x.settle().level for x in results))
    return _Traced(native, params, slots, complex, least, layouts, context._approximations)


def _trace_counted(
    program: Callable[..., Any], inputs: Any, params: Params, slots: int, complex: bool, boot: str | None
) -> _Traced:
    """Trace a program; where its levels do not suffice, the error says how many all of it takes."""
    try:
        return _trace(program, inputs, params, slots, complex, boot)
    except LevelError as first:
        deep = Params.preset(_DEEP)
        if params.bootstraps or params.levels >= deep.levels:
            raise
        try:
            needed = deep.levels - _trace(program, inputs, deep, min(slots, deep.max_slots), complex, None).least_level
        except LevelError:
            needed = deep.levels + 1
        if needed <= params.levels:
            raise
        takes, more = f"{needed} levels", f"{needed - params.levels} more"
        if needed > deep.levels:
            takes, more = f"more than {deep.levels} levels", f"more than {deep.levels}"
        raise LevelError(
            f"the program takes {takes}, {params.name} has {params.levels}: choose parameters with {more} "
            "(limbwise params choose), or with bootstrapping"
        ) from first


def _choose(
    program: Callable[..., Any], inputs: Any, slots: int | None, precision: int | None, complex: bool
) -> Params:
    """Return the smallest parameters with the levels that a program takes."""
    deep = Params.preset(_DEEP)
    try:
        traced = _trace(program, inputs, deep, min(slots or deep.max_slots, deep.max_slots), complex, None)
    except LevelError:
        return choose(slots=slots, precision=precision, bootstrap=True)
    largest = max((int(np.prod(np.shape(v))) for v, _ in as_inputs(inputs)), default=1)
    wanted = slots or min(largest, 1 << 12)
    return choose(depth=deep.levels - traced.least_level, slots=wanted, precision=precision)


class Recording(FunctionRecording):
    """A recorded program: exact counts, keys and traffic; input to :func:`time`."""

    def __init__(self, traced: _Traced) -> None:
        super().__init__(traced.native)
        self._traced = traced
        self.params = traced.params
        self.slots = traced.slots

    @property
    def approximations(self) -> list[dict[str, Any]]:
        """How far results of functions may be from what they stand for, at most, by function; noise comes on top."""
        return [{"function": name, "error": error} for name, error in self._traced.approximations.items()]

    def expected(self, *, key: Literal["secret", "public"] = "secret", gain: float | None = None) -> list[Expected]:
        """Return the expected level, scale, largest value and error of each result, in order, for :meth:`Context.from_bytes`.

        Args:
            key: under which the inputs are encrypted.
            gain: where the server computes with numbers of its own, by how many times they may make values and errors
                larger than those that were recorded; without it a result must be exactly as recorded.
        """
        native = self._native.expected(key == "public", gain)
        return [Expected(one, *layout) for one, layout in zip(native, self._traced.layouts, strict=True)]

    def __repr__(self) -> str:
        facts = self.facts
        return (
            f"<limbwise.Recording {self.params.name}: {len(self.operations)} operations, {facts['nodes']} nodes, "
            f"{len(facts['keys'])} keys, {facts['levels_left']} levels left>"
        )


def _named(
    name: str, inputs: Any, context: Context | Keys | IntegerContext | None, options: dict[str, Any]
) -> Workload:
    """Return a workload by its name; raise for arguments that only functions take."""
    from limbwise._workloads import Workload

    if inputs is not None or context is not None:
        raise ParamsError(f"inputs and context are for functions: the workload {name!r} has options, lw.workloads()")
    return Workload(name, **options)


@overload
def record(program: str, **options: Any) -> WorkloadRecording: ...


@overload
def record(program: Callable[..., Any], inputs: Any, *, context: Keys) -> tfhe.Recording: ...


@overload
def record(program: Callable[..., Any], inputs: Any, *, context: IntegerContext) -> integers.Recording: ...


@overload
def record(
    program: Callable[..., Any],
    inputs: Any,
    *,
    context: Context | None = None,
    preset: str | Params | None = None,
    depth: int | None = None,
    slots: int | None = None,
    precision: int | None = None,
    complex: bool = False,
) -> Recording: ...


def record(  # noqa: D417 - named together
    program: Callable[..., Any] | str,
    inputs: Any = None,
    *,
    context: Context | Keys | IntegerContext | None = None,
    **choices: Any,
) -> Recorded | tfhe.Recording | integers.Recording:
    """Record a program without computing anything: no key, no encryption, no polynomial memory.

    Args:
        program: a function of as many encrypted arrays as there are inputs; it may use everything but ``decrypt``. Or a
            workload's name, with its options in the place of all that follows (:func:`workload`).
        inputs: an array, or a list of them, or :func:`like` where there is no data yet.
        context: record for its parameters: of a :class:`Context`, of :class:`limbwise.tfhe.Keys` or of an
            :class:`IntegerContext`. :func:`limbwise.tfhe.parameters` and :func:`limbwise.integers.parameters` have no keys.
        preset, depth, slots, precision, complex: else as for :func:`limbwise.ckks`; without any, the smallest secure
            parameters with the levels that the program takes.
    """
    if isinstance(program, str):
        return _named(program, inputs, context, choices).record()
    if isinstance(context, (Keys, IntegerContext)):
        if choices:
            raise ParamsError(f"{', '.join(choices)}: this context has its parameters: leave it out")
        return context._recorded(program, inputs)
    return _recorded(program, inputs, context, **choices)


def _recorded(
    program: Callable[..., Any],
    inputs: Any,
    context: Context | None,
    *,
    preset: str | Params | None = None,
    depth: int | None = None,
    slots: int | None = None,
    precision: int | None = None,
    complex: bool = False,
) -> Recording:
    if context is not None:
        boot = context._session.bootstrapping
        return Recording(_trace_counted(program, inputs, context.params, context.slots, context.complex, boot))
    if preset is None and depth is None:
        params = _choose(program, inputs, slots, precision, complex)
    else:
        params = choose(preset, depth=depth, slots=slots, precision=precision)
    return Recording(_trace_counted(program, inputs, params, slots or params.max_slots, complex, None))


def plan(
    program: Callable[..., Any] | Recorded | Workload | str,
    inputs: Any = None,
    *,
    memory: str | int | None = None,
    context: Context | Keys | IntegerContext | None = None,
    **choices: Any,
) -> Plan:
    """Plan a program before any key exists: security, levels, keys, bytes, precision, seconds on this host.

    Args:
        program: a function of encrypted arrays and its inputs, or a recording. Or a workload's name, with its
            options (:func:`workload`).
        inputs: see :func:`record`.
        memory: a budget for the whole process, such as ``"3GB"``: the fastest way that stays within it is planned.
        context: plan for its parameters; for exact values :func:`limbwise.tfhe.parameters` or
            :func:`limbwise.integers.parameters` has them without keys.
        choices: see :func:`record`; the options of a workload.

    Raises:
        MemoryBudgetError: no way stays within the budget.
        ParamsError: no such workload, or no such option.
    """
    from limbwise._workloads import Workload

    if isinstance(program, str):
        program = _named(program, inputs, context, {"memory": memory, **choices})
    if isinstance(program, Workload):
        return program.plan()
    recording: Recorded
    if isinstance(program, Recorded):
        recording = program
    elif isinstance(context, (Keys, IntegerContext)):
        recording = context._recorded(program, inputs)
    else:
        recording = record(program, inputs, context=context, **choices)
    if isinstance(recording, ExactRecording):
        return Plan(recording, json.loads(recording._native.plan(None if memory is None else parse_size(memory))))
    if not isinstance(recording, Recording):
        raise TraceError("the recording of a workload is planned by its name: lw.plan(name, …)")
    text, keys, boot = recording._native.plan(None if memory is None else parse_size(memory))
    facts = json.loads(text)
    facts["approximations"] = recording.approximations
    return Plan(recording, facts, (keys, boot))


class Plan:
    """The plan of a program; prints as a table, also in notebooks. ``facts`` has every number."""

    def __init__(self, recording: Recorded, facts: dict[str, Any], way: tuple[str, str | None] | None = None) -> None:
        self.recording = recording
        self.facts = facts
        self._way = way

    def __getattr__(self, name: str) -> Any:
        facts = self.__dict__.get("facts", {})
        if name in facts:
            return facts[name]
        raise AttributeError(f"a plan has no {name!r}; it has {', '.join(sorted(facts))}")

    def to_records(self) -> list[dict[str, Any]]:
        """Return the keys, a dictionary each, as ``pandas.DataFrame`` takes them."""
        return list(self.facts["keys"])

    def context(self, **options: Any) -> Context:
        """Return a context that runs the planned configuration."""
        if not isinstance(self.recording, Recording) or self._way is None:
            if isinstance(self.recording, ExactRecording):
                raise TraceError("this is the plan of exact values: make keys, lw.tfhe.keys(preset) or lw.bgv(preset)")
            raise TraceError("this is the plan of a workload, which has data of its own: run it, lw.run(name, …)")
        traced, (keys, boot) = self.recording._traced, self._way
        session = Session.open(
            traced.params,
            slots=traced.slots,
            complex=traced.complex,
            keys=keys,
            bootstrapping=boot,
            **options,
        )
        warn_insecure(traced.params.insecure_reason)
        return Context(session, traced.params, traced.slots, traced.complex)

    def rows(self) -> list[tuple[str, str]]:
        """Return the rows of the table: name and value."""
        return _tables.of_plan(self.facts)

    def __str__(self) -> str:
        return _tables.table(self.rows())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return _tables.html(self.rows())


def machines() -> list[str]:
    """Return the names of the built-in machine models."""
    return _limbwise.machines()


def time(
    program: Callable[..., Any] | Recorded | Plan | Workload | str,
    machine: str = "ark",
    inputs: Any = None,
    *,
    events: int = 20_000,
    context: Context | Keys | IntegerContext | None = None,
    **numbers: Any,
) -> Timing:
    """Schedule a program on a model of a machine.

    Args:
        program: a :class:`Recording`, a :class:`Plan`, or a function with its ``inputs``: timed as recorded. Or a
            workload, by its name with its options or as :func:`workload` made it: of all ways that its options leave open
            the one that is fastest on the machine, which ``timing.way`` names.
        machine: a built-in model (:func:`machines`), "cpu" for this host as measured, or a TOML file.
        inputs: see :func:`record`.
        events: tasks of the schedule that are kept for plots.
        context: record for its parameters.
        numbers: numbers of the machine to change, such as ``clusters=8``; ``__`` stands for a dot. After a workload's
            name they are its options; for both, ``lw.time(lw.workload("pbs", batch=64), "ark", clusters=8)``.

    Raises:
        MachineError: no such machine, or no such number.
        ParamsError: no such workload, or no such option.
    """
    from limbwise._workloads import Workload

    if isinstance(program, str):
        return _named(program, inputs, context, numbers).time(machine, events=events)
    if isinstance(program, Workload):
        return program.time(machine, events=events, **numbers)
    if isinstance(program, Plan):
        program = program.recording
    if isinstance(program, Recorded):
        recording = program
    elif isinstance(context, (Keys, IntegerContext)):
        recording = context._recorded(program, inputs)
    else:
        recording = record(program, inputs, context=context)
    return recording.time(machine, [change_of(name, value) for name, value in numbers.items()], events)


class Timing:
    """A program on a machine: ``seconds``, ``report`` with every number, and plots; ``way`` is how a workload was run."""

    def __init__(
        self, report: dict[str, Any], trace: dict[str, Any], recording: Recorded, changes: dict[str, str] | None = None
    ) -> None:
        self.report = report
        self.trace = trace
        self.recording = recording
        self.changes = changes or {}
        self.way: str | None = None

    @classmethod
    def of(
        cls, report: str, trace: str | None, recording: Recorded, changes: dict[str, str], way: str | None = None
    ) -> Timing:
        """Return the timing of a report in JSON."""
        made = cls(json.loads(report), json.loads(trace) if trace else {"traceEvents": []}, recording, changes)
        made.way = way
        return made

    @property
    def label(self) -> str:
        """The machine with the numbers that were changed, for plots."""
        return ", ".join([self.machine, *(f"{name} = {value}" for name, value in self.changes.items())])

    @property
    def machine(self) -> str:
        """Name of the machine."""
        return str(self.report["machine"])

    @property
    def seconds(self) -> float:
        """Time of the program."""
        return float(self.report["seconds"])

    def to_records(self, table: str = "regions") -> list[dict[str, Any]]:
        """Return a table as dictionaries, as ``pandas.DataFrame`` takes them.

        Args:
            table: "regions" (where the time goes), "units" (how busy each is), "bytes" (by memory and role), "assumed".
        """
        report = self.report
        if table == "units":
            return [{"unit": unit, "busy": busy} for unit, busy in report["utilization"].items()]
        if table == "bytes":
            return [
                {"memory": memory, "role": role, "bytes": count}
                for memory, roles in report["bytes"].items()
                for role, count in roles.items()
            ]
        if table in ("regions", "assumed"):
            return list(report[table])
        raise KeyError(f"no table {table!r}: choose regions, units, bytes or assumed")

    def to_frame(self, table: str = "regions") -> Any:
        """Return a table as a pandas DataFrame.

        Args:
            table: as for :meth:`to_records`.

        Raises:
            KeyError: no such table.
            ImportError: pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError:
            raise need("pandas", "pandas", "Timing.to_frame") from None
        return pd.DataFrame(self.to_records(table))

    def plot_timeline(self, ax: Axes | None = None) -> Axes:
        """Draw the busy times of each unit, colored by the outermost region; see :func:`limbwise.plots.timeline`.

        Args:
            ax: the Matplotlib axes to draw on; new ones by default.

        Raises:
            TraceError: this timing has no schedule: call :func:`time` with ``events``.
        """
        from limbwise import plots

        return plots.timeline(self, ax)

    def plot_roofline(self, others: Sequence[Timing] = (), ax: Axes | None = None) -> Axes:
        """Draw attained work against work per byte, under the roofs of memory and units.

        Args:
            others: timings to draw beside this one.
            ax: the Matplotlib axes to draw on; new ones by default.

        Raises:
            TraceError: a machine whose off-chip bytes are not counted.
        """
        from limbwise import plots

        return plots.roofline([self, *others], ax)

    def plot_traffic(self, ax: Axes | None = None) -> Axes:
        """Draw the bytes moved in each memory by role.

        Args:
            ax: the Matplotlib axes to draw on; new ones by default.

        Raises:
            TraceError: a machine that counts no bytes.
        """
        from limbwise import plots

        return plots.traffic(self, ax)

    def __str__(self) -> str:
        lines = [f"{self.machine}: {self.seconds:.4g} s" + (f" ({self.way})" if self.way else "")]
        lines += [f"  {unit:<18} busy {100 * busy:5.1f} %" for unit, busy in self.report["utilization"].items()]
        for row in self.to_records("bytes"):
            lines.append(f"  {row['memory']:<18} {row['role']:<16} {_reports.size(row['bytes'])}")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        import html

        units = "".join(
            f"<tr><td>{html.escape(unit)}</td><td>{100 * busy:.1f} %</td></tr>"
            for unit, busy in self.report["utilization"].items()
        )
        head = f"<p><b>{html.escape(self.machine)}</b>: {self.seconds:.4g} s</p>"
        return f"{head}<table><tr><th>unit</th><th>busy</th></tr>{units}</table>"
