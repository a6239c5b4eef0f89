"""Moves of values between slots: broadcasting, sums along axes, slicing, and maps between layouts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from limbwise.errors import ShapeError
from limbwise.layout import Layout, power_of_two

if TYPE_CHECKING:
    from limbwise._limbwise import Ciphertext
    from limbwise.array import EncryptedArray

Places = npt.NDArray[np.int64]
Weights = npt.NDArray[np.float64]


def normal_axes(axis: int | tuple[int, ...] | None, ndim: int) -> tuple[int, ...]:
    """Return axes as numbers from 0."""
    given = tuple(range(ndim)) if axis is None else (axis,) if not isinstance(axis, (tuple, list)) else tuple(axis)
    if not all(isinstance(a, (int, np.integer)) and not isinstance(a, bool) for a in given):
        raise ShapeError(f"axis {axis!r}: give whole numbers")
    axes = tuple(int(a) for a in given)
    if ndim == 0 and axes:
        raise ShapeError(f"axis {axis} of an encrypted number, which has no axes: encrypt an array")
    if any(not -ndim <= a < ndim for a in axes) or len({a % ndim for a in axes}) != len(axes):
        raise ShapeError(f"axis {axis} of an array of {ndim} axes: choose {-ndim} to {ndim - 1}, each once")
    return tuple(a % ndim for a in axes)


def zero_padding(mine: Layout, whole: Layout) -> bool:
    """Whether the padding of the axes of ``whole`` is zero in an array that repeats in it."""
    missing = len(whole.shape) - len(mine.shape)
    own = [False] * missing + [n > 1 for n in mine.shape]
    padded = [n < e for n, e in zip(whole.shape, whole.extents, strict=True)]
    return not any(padded) or (mine.clean and all(o for o, p in zip(own, padded, strict=True) if p))


def placed(x: EncryptedArray, layout: Layout) -> Ciphertext:
    """Return the ciphertext of an array in the slots and batch of a larger one that it repeats in; no words are copied."""
    native, held = x._native, x._held
    if held.slots != layout.slots:
        held = native.with_slots(held, layout.slots)
    if held.batch != layout.batch:
        mine = x._layout
        missing = len(layout.shape) - len(mine.shape)
        pairs = [(s, e) for s, e in zip(mine.strides, mine.extents, strict=True) if e > 1] + list(mine.dead)
        assert missing >= 0
        messages = np.arange(layout.batch) * layout.slots
        places = sum((messages // s % e * s for s, e in pairs), np.zeros_like(messages))
        held = native.gather(held, np.minimum(places // layout.slots, held.batch - 1).tolist())
    return held


def together(
    a: EncryptedArray, b: EncryptedArray, shape: tuple[int, ...]
) -> tuple[EncryptedArray, EncryptedArray, Layout]:
    """Return two arrays in a common layout of the result, and that layout; one is moved if needed."""
    most = a._context.slots
    for first, second in ((a, b), (b, a)):
        layout = _with_dead(first._layout.broadcast(shape, most), second._layout, most)
        if first._layout.is_in(layout) and second._layout.is_in(layout):
            return a, b, layout
    # The smaller one moves; leftovers of sums of either are cleared by a map.
    a, b = (x if not x._layout.dead else moved(x, Layout.of(x.shape, most), x._layout.index()) for x in (a, b))
    large, small = (a, b) if a.size >= b.size else (b, a)
    layout = large._layout.broadcast(shape, most)
    if not small._layout.is_in(layout):
        small = moved_into(small, layout)
    return (large, small, layout) if a.size >= b.size else (small, large, layout)


def _with_dead(layout: Layout, other: Layout, most: int) -> Layout:
    dead = tuple(dict.fromkeys(layout.dead + other.dead))
    return layout if dead == layout.dead else replace(layout, dead=dead).within(most)


def moved_into(x: EncryptedArray, whole: Layout) -> EncryptedArray:
    """Return an array with its axes at the places of the larger layout ``whole``."""
    missing = len(whole.shape) - len(x.shape)
    strides = [s if n > 1 else 1 for n, s in zip(x.shape, whole.strides[missing:], strict=True)]
    extents = [e if n > 1 else 1 for n, e in zip(x.shape, whole.extents[missing:], strict=True)]
    target = Layout(x.shape, tuple(strides), tuple(extents), 1, 1).within(x._context.slots)
    return moved(x, target, x._layout.index())


def moved(x: EncryptedArray, target: Layout, source: Places) -> EncryptedArray:
    """Return an array in another layout: the value at each index is that of ``x`` at the place in ``source``."""
    places = np.arange(target.batch * target.slots, dtype=np.int64)
    at, valid = np.zeros_like(places), np.ones(places.shape, dtype=bool)
    for stride, extent, length, step in target.axes(_row_steps(target.shape)):
        index = places // stride % extent
        valid &= index < length
        at += np.minimum(index, length - 1) * step
    for stride, extent in target.dead:
        valid &= places // stride % extent == 0
    outputs = places[valid]
    return linear(x, replace(target, clean=True), outputs, source.reshape(-1)[at[valid]], np.ones(len(outputs)))


def _row_steps(shape: tuple[int, ...]) -> tuple[int, ...]:
    steps = np.cumprod([1, *reversed(shape)])[:-1]
    return tuple(int(s) for s in reversed(steps))


def linear(
    x: EncryptedArray,
    target: Layout,
    outputs: Places,
    inputs: Places,
    weights: Weights,
    folds: tuple[int, int] = (1, 1),
) -> EncryptedArray:
    """Return the array with ``Σ weights·x[inputs]`` at the places ``outputs``: see :func:`summed`."""
    return summed([Term(x, outputs, inputs, weights)], target, folds)


@dataclass(frozen=True)
class Term:
    """What an array gives to a result: ``weights·array[inputs]`` is added to the places ``outputs``."""

    array: EncryptedArray
    outputs: Places
    inputs: Places
    weights: Weights


def summed(terms: Sequence[Term], target: Layout, folds: tuple[int, int] = (1, 1)) -> EncryptedArray:
    """Return the sum of terms in a layout: maps by diagonals, one level; none where messages are taken as they are.

    Places of an array repeat beyond its slots where it is one message. ``folds`` is the stride and count of a sum after it.
    """
    x = terms[0].array
    native = x._native
    slots = max(target.slots, *(term.array._held.slots for term in terms))
    again = target.slots if target.slots < slots and folds[1] == 1 else 0  # a result of few slots is repeated in all
    batch = target.batch if target.slots == slots else 1
    sources = [native.with_slots(h, slots) if h.slots < slots else h for h in (term.array._held for term in terms)]
    maps = [_maps(term, slots, again) for term in terms]
    if len(terms) == 1 and sources[0].batch == batch > 1 and _all_alike(maps[0], batch):
        result = _mapped(native, sources[0], maps[0][0, 0])
    else:
        results = []
        for to in range(batch):
            parts = [
                _mapped(native, native.gather(held, [source]) if held.batch > 1 else held, chosen[t, source])
                for held, chosen in zip(sources, maps, strict=True)
                for t, source in chosen
                if t == to
            ]
            if not parts:  # a message that is padding alone is a map of nothing
                first = native.gather(sources[0], [0]) if sources[0].batch > 1 else sources[0]
                parts = [native.linear(first, [0], np.zeros(slots))]
            total = parts[0]
            for part in parts[1:]:
                total = native.add(total, part)
            results.append(total)
        result = results[0] if len(results) == 1 else native.stack(results)
    # No value is larger than the largest of all with the weights of one output; diagonals, whose bounds add up, lie apart.
    sizes = [np.abs(term.weights) * term.array.bound for term in terms]
    most = float(np.bincount(np.concatenate([term.outputs for term in terms]), np.concatenate(sizes)).max())
    if 0 < most < result.peak:
        result = native.bounded_by(result, most)
    if folds[1] > 1:
        result = native.inner_sum(result, *folds)
    if result.slots != target.slots:
        result = native.with_slots(result, target.slots)
    is_complex = any(term.array.is_complex for term in terms)
    return x._context._checked(x._with(result, target, is_complex), "moving values")


Map = tuple[list[int], Weights]


def _maps(term: Term, slots: int, again: int) -> dict[tuple[int, int], Map]:
    """Return the diagonals of a term from each message to each; with ``again``, each output again after so many slots."""
    outputs, inputs, weights, held = term.outputs, term.inputs, term.weights, term.array._held
    period = held.slots if held.batch == 1 else slots
    if again:
        copies = np.arange(0, slots, again, dtype=np.int64)
        outputs = (outputs[:, None] + copies).reshape(-1)
        inputs, weights = np.repeat(inputs, len(copies)), np.repeat(weights, len(copies))
    from_message = inputs // slots if held.batch > 1 else np.zeros_like(inputs)
    to_message = outputs // slots
    away = (inputs - outputs) % slots % period
    maps = {}
    for to in np.unique(to_message):
        for source in np.unique(from_message[to_message == to]):
            chosen = (to_message == to) & (from_message == source)
            maps[int(to), int(source)] = _diagonals(away[chosen], outputs[chosen] % slots, weights[chosen], slots)
    return maps


def _mapped(native: Any, held: Ciphertext, chosen: Map) -> Ciphertext:
    """Return a message through its map; as it is if the map is the identity."""
    indices, values = chosen
    return held if indices == [0] and np.all(values == 1) else native.linear(held, indices, values)


def _diagonals(away: Places, at: Places, weights: Weights, slots: int) -> Map:
    indices, which = np.unique(away, return_inverse=True)
    values = np.zeros((len(indices), slots))
    np.add.at(values, (which, at), weights)
    return indices.tolist(), values.reshape(-1)


def _all_alike(maps: dict[tuple[int, int], Map], batch: int) -> bool:
    if set(maps) != {(i, i) for i in range(batch)}:
        return False
    indices, values = maps[0, 0]
    return all(i == indices and np.array_equal(v, values) for i, v in maps.values())


def quiet(x: EncryptedArray, factor: float = 1.0) -> EncryptedArray:
    """Return an array times a factor whose padding and leftovers of sums are zero: one level, none if there are none."""
    layout = x._layout
    if not layout.dead and (layout.clean or not layout.padded):
        return x if factor == 1.0 else x * factor
    axes = [*layout.axes((0,) * x.ndim), *((s, e, 1, 0) for s, e in layout.dead)]
    held = x._native.mul_array(x._held, np.array([factor]), axes, batch=layout.batch, complex=False)
    return x._with(held, replace(layout, clean=True))


def sum_axis(x: EncryptedArray, axis: int) -> EncryptedArray:
    """Return the sums along one axis, which is removed."""
    shape = x.shape[:axis] + x.shape[axis + 1 :]
    if x.shape[axis] == 1:
        return reshape(x, shape)
    if x.shape[axis] < x._layout.extents[axis] and not x._layout.clean:
        x = quiet(x)
    x = _sum_of_messages(x, axis)
    layout, native, held = x._layout, x._native, x._held
    stride, extent = layout.strides[axis], layout.extents[axis]
    dead = layout.dead
    if extent > 1:
        held = native.inner_sum(held, stride, extent)
        if stride * extent != held.slots:
            dead = (*dead, (stride, extent))
    rest = [i for i in range(x.ndim) if i != axis]
    strides, extents = tuple(layout.strides[i] for i in rest), tuple(layout.extents[i] for i in rest)
    result = Layout(shape, strides, extents, held.slots, held.batch, dead, layout.clean)
    if held.batch == 1:
        result = result.within(x._context.slots)
        held = native.with_slots(held, result.slots) if result.slots != held.slots else held
    return x._context._checked(x._with(held, result), "sum")


def _sum_of_messages(x: EncryptedArray, axis: int) -> EncryptedArray:
    """Return the array summed over the part of an axis across messages; the part inside messages remains."""
    layout, native, slots = x._layout, x._native, x._held.slots
    stride, extent = layout.strides[axis], layout.extents[axis]
    within = min(extent, max(slots // stride, 1))
    over = extent // within
    if over == 1:
        return x
    apart = max(stride // slots, 1)
    messages = np.arange(layout.batch)
    index = messages // apart % over
    goal = messages % apart + messages // (apart * over) * apart
    total: Ciphertext | None = None
    for k in range(over):
        part = messages[index == k]
        if len(part) == 0:
            break
        term = native.gather(x._held, part.tolist())
        if total is None:
            total, count = term, len(part)
        elif len(part) == count:
            total = native.add(total, term)
        else:  # the last ones hold padding only
            known = {int(goal[m]): i for i, m in enumerate(part)}
            kept = sorted(set(range(count)) - set(known))
            summed = native.add(native.gather(total, sorted(known)), term)
            order = np.argsort([*sorted(known), *kept])
            total = native.gather(native.stack([summed, native.gather(total, kept)]), order.tolist())
    assert total is not None
    return x._with(total, layout.folded(axis))


def numbers(given: Sequence[Any], what: str) -> tuple[int, ...]:
    """Return whole numbers that were given one by one or as one sequence."""
    one = given[0] if len(given) == 1 else given
    every = tuple(one) if isinstance(one, (tuple, list, range, np.ndarray)) else tuple(given)
    if not all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in every):
        raise ShapeError(f"{what} of {every!r}: give whole numbers")
    return tuple(int(n) for n in every)


def reshape(x: EncryptedArray, shape: tuple[int, ...]) -> EncryptedArray:
    """Return the same values in row-major order under another shape."""
    sides = [int(n) for n in shape]
    if sides.count(-1) == 1 and -1 not in (known := [n for n in sides if n != -1]) and np.prod(known) > 0:
        sides[sides.index(-1)] = x.size // int(np.prod(known, dtype=np.int64))
    if any(n < 1 for n in sides) or np.prod(sides, dtype=np.int64) != x.size:
        raise ShapeError(f"{x.size} values of shape {x.shape} do not make {shape}: choose one with as many values")
    if [n for n in sides if n > 1] == [
        n for n in x.shape if n > 1
    ]:  # products do this each time: no place is looked at
        return x._with(x._held, x._layout.squeezed_into(tuple(sides)))
    return pick(x, x._layout.index().reshape(sides))


def pick(x: EncryptedArray, chosen: Places) -> EncryptedArray:
    """Return the values of an array at these of its places; free where they lie as an array of that shape may."""
    if chosen.size == 0:
        raise ShapeError(f"nothing of shape {chosen.shape} is left of {x.shape}")
    lying = _lying_as(chosen, x._layout)
    if lying is not None:
        return x._with(x._held, lying)
    return moved(x, Layout.of(chosen.shape, x._context.slots), chosen)


def _lying_as(index: Places, like: Layout) -> Layout | None:
    """Return the layout in which all values of another one already are at these places, if there is one."""
    if index.size != like.size:
        return None
    strides, extents = [1] * index.ndim, [1] * index.ndim
    known = {(s, n): e for s, n, e in zip(like.strides, like.shape, like.extents, strict=True) if n > 1}
    for axis, n in enumerate(index.shape):
        if n > 1:
            strides[axis] = int(np.take(index, 1, axis).flat[0] - np.take(index, 0, axis).flat[0])
            extents[axis] = known.get((strides[axis], n), power_of_two(n))
    mine = [(s, n) for s, n in zip(strides, index.shape, strict=True) if n > 1]
    if sorted(mine) != sorted(known):  # axes that are cut otherwise: all of them must be full
        whole = all(n == e for n, e in zip(index.shape, extents, strict=True))
        powers = all(s > 0 and s == power_of_two(s) for s in strides)
        apart = len(np.unique(index)) == index.size
        if not (whole and powers and apart and not like.padded):
            return None
    layout = replace(like, shape=index.shape, strides=tuple(strides), extents=tuple(extents))
    return layout if np.array_equal(layout.index(), index) else None


def take(x: EncryptedArray, key: Any) -> EncryptedArray:
    """Return part of an array."""
    parts = key if isinstance(key, tuple) else (key,)
    if any(isinstance(part, type(x)) for part in parts):
        raise ShapeError("an encrypted index: nobody here sees values to choose by; lw.lookup reads a table by one")
    try:
        chosen = x._layout.index()[key]
    except (IndexError, ValueError) as error:  # the latter for a step of zero
        raise ShapeError(f"{error}: the shape is {x.shape}") from None
    except TypeError as error:
        raise ShapeError(f"{error}: give whole numbers") from None
    return pick(x, np.asarray(chosen))


def roll(x: EncryptedArray, shift: int, axis: int) -> EncryptedArray:
    """Return the array rolled along an axis."""
    if not isinstance(shift, (int, np.integer)):
        raise ShapeError(f"a shift of {shift!r}: give a whole number")
    (number,) = normal_axes(axis, x.ndim)
    layout, length = x._layout, x.shape[number]
    steps = int(-shift) % length
    if steps == 0:
        return x
    stride = layout.strides[number]
    if length == layout.extents[number] and stride * length == layout.slots and layout.batch == 1:
        short = steps - length if steps > length // 2 else steps
        return x._like(x._native.rotate(x._held, short * stride), "rotate")
    return moved(x, replace(layout, dead=()).within(x._context.slots), np.roll(layout.index(), shift, number))
