"""Plots of timings with Matplotlib, which is optional."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from limbwise.errors import TraceError, need

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from limbwise.program import Timing

# Roles in one order and color everywhere; an eight-color palette that the color-blind can tell apart (Okabe and Ito).
_COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")


def _axes(ax: Axes | None, height: float = 3.2) -> Axes:
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise need("matplotlib", "plots", "a plot") from None
    return plt.subplots(figsize=(9, height), layout="constrained")[1]


def _scaled(seconds: float) -> tuple[float, str]:
    for factor, unit in ((1.0, "s"), (1e3, "ms")):
        if seconds * factor >= 1:
            return factor, unit
    return 1e6, "µs"


def timeline(timing: Timing, ax: Axes | None = None) -> Axes:
    """Draw one row per unit and one bar per task, colored by region; omitted tasks are stated.

    Args:
        timing: a timing with a schedule: :func:`limbwise.time` with ``events``.
        ax: the Matplotlib axes to draw on; new ones by default.

    Raises:
        TraceError: the timing has no schedule.
    """
    events = [e for e in timing.trace["traceEvents"] if e["ph"] == "X"]
    names = {e["tid"]: e["args"]["name"] for e in timing.trace["traceEvents"] if e["ph"] == "M"}
    if not events:
        raise TraceError("this timing has no schedule to draw: call lw.time with events=20000")
    used = sorted({e["tid"] for e in events})
    ax = _axes(ax, 1.4 + 0.34 * len(used))
    end = max(e["ts"] + e["dur"] for e in events) * 1e-6
    factor, unit = _scaled(end)
    depth = _telling_depth(events)
    regions: dict[str, list[dict[str, Any]]] = {}
    for event in events:
        regions.setdefault(_region(event, depth), []).append(event)
    ordered = sorted(regions, key=lambda r: -sum(e["dur"] for e in regions[r]))
    shown = ordered[: len(_COLORS) - 1]
    for number, region in enumerate(ordered):
        color = _COLORS[number] if region in shown else _COLORS[-1]
        label = region if region in shown else "others" if number == len(shown) else None
        for row, tid in enumerate(used):
            bars = [(e["ts"] * 1e-6 * factor, e["dur"] * 1e-6 * factor) for e in regions[region] if e["tid"] == tid]
            if bars:
                ax.broken_barh(bars, (row - 0.4, 0.8), color=color, linewidth=0, label=label)
                label = None
    busy = timing.report["utilization"]
    rows = [names.get(tid, str(tid)) for tid in used]
    ax.set_yticks(range(len(used)), [f"{name}  {busy[name]:4.0%}" if name in busy else name for name in rows])
    ax.invert_yaxis()
    ax.set_xlim(0, end * factor)
    ax.set_xlabel(f"time ({unit})")
    ax.set_title(f"{timing.label}: {timing.seconds * factor:.3g} {unit}, and how busy each unit is", loc="left")
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize="small")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _region(event: dict[str, Any], depth: int) -> str:
    path = str(event["args"].get("region", "")).split("/")
    return "/".join(path[:depth]) or "program"


def _telling_depth(events: list[dict[str, Any]]) -> int:
    """Return the smallest depth of regions with at least two different names."""
    for depth in range(1, 6):
        if len({_region(e, depth) for e in events}) > 1:
            return depth
    return 1


def roofline(timings: Sequence[Timing], ax: Axes | None = None) -> Axes:
    """Draw each program's multiplications per second against multiplications per byte of off-chip memory.

    The roofs are the peaks of the machine's specification.

    Args:
        timings: one point each.
        ax: the Matplotlib axes to draw on; new ones by default.

    Raises:
        TraceError: a machine whose off-chip bytes are not counted.
    """
    points = [_roof(timing) for timing in timings]
    for timing, point in zip(timings, points, strict=True):
        if point is None:
            raise TraceError(
                f"the model {timing.machine} has no off-chip memory whose bytes are counted: a roofline needs one, as ark's"
            )
    roofs = [point for point in points if point is not None]
    places = [x for intensity, _, units, memory in roofs for x in (intensity, units / memory)]
    low, high = min(places) / 4, max(places) * 4
    ax = _axes(ax, 4.2)
    for number, (timing, (intensity, rate, units, memory)) in enumerate(zip(timings, roofs, strict=True)):
        color = _COLORS[number % len(_COLORS)]
        factor, unit = _scaled(timing.seconds)
        label = f"{timing.label}: {timing.seconds * factor:.3g} {unit}"
        # Roofs of one height lie on each other: each is drawn thinner than the one before.
        width = 1.5 + 1.2 * (len(roofs) - 1 - number)
        ax.plot([low, units / memory, high], [low * memory, units, units], color=color, linewidth=width)
        ax.plot([intensity], [rate], "o", color=color, markersize=8, label=label)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("multiplications a byte of off-chip memory")
    ax.set_ylabel("multiplications a second")
    ax.set_title("roofline: programs below what memory and units allow", loc="left")
    ax.legend(frameon=False, loc="lower right")
    ax.grid(True, which="major", alpha=0.3)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _roof(timing: Timing) -> tuple[float, float, float, float] | None:
    """Return work per byte, work per second, and the roofs of units and memory, in work and bytes per second."""
    roof = timing.report.get("roofline")
    if not roof:
        return None
    rate = timing.report["products"] / timing.seconds
    return roof["intensity"], rate, roof["peak_products_s"], roof["bandwidth_bytes_s"]


def traffic(timing: Timing, ax: Axes | None = None) -> Axes:
    """Draw one bar per memory, split by the role of the data moved.

    Args:
        timing: a timing on a machine with memories.
        ax: the Matplotlib axes to draw on; new ones by default.

    Raises:
        TraceError: a machine that counts no bytes.
    """
    rows = timing.to_records("bytes")
    if not rows:
        raise TraceError(f"the model {timing.machine} counts no bytes: choose one with memories, as ark")
    memories = list(dict.fromkeys(row["memory"] for row in rows))
    ax = _axes(ax, 1.5 + 0.45 * len(memories))
    roles = list(dict.fromkeys(row["role"] for row in rows))
    totals = [sum(r["bytes"] for r in rows if r["memory"] == memory) for memory in memories]
    unit, of = next(((u, f) for u, f in (("GB", 1e9), ("MB", 1e6)) if max(totals) >= f), ("kB", 1e3))
    left = [0.0] * len(memories)
    for number, role in enumerate(roles):
        widths = [sum(r["bytes"] for r in rows if r["memory"] == m and r["role"] == role) / of for m in memories]
        color, label = _COLORS[number % len(_COLORS)], role.replace("_", " ")
        ax.barh(range(len(memories)), widths, left=left, label=label, color=color, height=0.6)
        left = [before + width for before, width in zip(left, widths, strict=True)]
    for row, total in enumerate(totals):
        ax.annotate(f"{total / of:.3g}", (total / of, row), (4, 0), textcoords="offset points", va="center")
    ax.set_yticks(range(len(memories)), memories)
    ax.invert_yaxis()
    ax.margins(x=0.14)
    ax.set_xlabel(f"moved ({unit})")
    ax.set_title(f"{timing.label}: traffic by role", loc="left")
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize="small")
    ax.spines[["top", "right"]].set_visible(False)
    return ax
