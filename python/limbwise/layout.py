"""Layouts of arrays in slots.

An array is laid into a line of places, a power of two for each axis. The first ``slots`` places are the first message of
a batch, the next ones the second, and so on. A layout says for each axis the places from an index to the next
(``stride``) and the places there are for indices (``extent``, a power of two except at the top of a batch). What no axis
covers repeats: an array of few slots is in more of them again and again, so broadcasting is free wherever an axis that is
missing takes places above or between those of the others.

*Dead* places (``dead``) hold leftovers of sums: only the value at index 0 counts. *Padding* is the places of an axis from
its length on; ``clean`` says that it is zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

Shape = tuple[int, ...]
Axes = list[tuple[int, int, int, int]]


def power_of_two(n: int) -> int:
    """Return the smallest power of two that is at least n."""
    return 1 << max(n - 1, 0).bit_length()


@dataclass(frozen=True)
class Layout:
    """The slots of an array's values.

    ``strides`` and ``extents`` have an entry for each axis of ``shape``; an axis of length 1 takes no place (extent 1).
    ``dead`` are pairs (stride, extent) of places that belong to no axis and do not repeat.
    """

    shape: Shape
    strides: tuple[int, ...]
    extents: tuple[int, ...]
    slots: int
    batch: int
    dead: tuple[tuple[int, int], ...] = ()
    clean: bool = True

    @staticmethod
    def of(shape: Shape, most_slots: int, order: tuple[int, ...] | None = None) -> Layout:
        """Return the row-major layout; ``order`` lists the axes from the topmost to the lowest."""
        order = tuple(range(len(shape))) if order is None else order
        strides, extents = [1] * len(shape), [1] * len(shape)
        place = 1
        for axis in reversed(order):
            if shape[axis] > 1:
                strides[axis], extents[axis] = place, power_of_two(shape[axis])
                place *= extents[axis]
        return Layout(shape, tuple(strides), tuple(extents), 1, 1).within(most_slots)

    def within(self, most_slots: int) -> Layout:
        """Return the layout in the fewest slots, as a batch if one message is too small."""
        top = max(self.tops(), default=1)
        slots = min(top, most_slots)
        last = sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True))
        last += sum((e - 1) * s for s, e in self.dead)
        return replace(self, slots=slots, batch=last // slots + 1)

    def tops(self) -> list[int]:
        """Return the ends of the places of each axis and of unused places."""
        ends = [s * e for s, e in zip(self.strides, self.extents, strict=True)]
        return ends + [s * e for s, e in self.dead]

    @property
    def size(self) -> int:
        """Number of values."""
        return math.prod(self.shape)

    @property
    def padded(self) -> bool:
        """Whether an axis is padded."""
        return any(n < e for n, e in zip(self.shape, self.extents, strict=True))

    def axes(self, steps: tuple[int, ...]) -> Axes:
        """Return the axes for packing: stride, extent, length and step in the array."""
        every = zip(self.strides, self.extents, self.shape, steps, strict=True)
        return [axis for axis in every if axis[1] > 1]

    def index(self) -> npt.NDArray[np.int64]:
        """Return the slot of each value, in the shape of the array."""
        place = np.zeros(self.shape, dtype=np.int64)
        for axis, (stride, length) in enumerate(zip(self.strides, self.shape, strict=True)):
            steps = np.arange(length, dtype=np.int64) * stride
            place += steps.reshape([-1 if i == axis else 1 for i in range(len(self.shape))])
        return place

    def squeezed_into(self, shape: Shape) -> Layout:
        """Return the same values under a shape that differs by axes of length 1 only."""
        kept = [i for i, n in enumerate(self.shape) if n > 1]
        strides, extents = [1] * len(shape), [1] * len(shape)
        places = iter(kept)
        for axis, n in enumerate(shape):
            if n > 1:
                old = next(places)
                strides[axis], extents[axis] = self.strides[old], self.extents[old]
        return replace(self, shape=shape, strides=tuple(strides), extents=tuple(extents))

    def folded(self, axis: int) -> Layout:
        """Return the layout after the messages of an axis were combined slot by slot, one message for each of its rows.

        The part of the axis inside a message remains, without padding.
        """
        stride, extent = self.strides[axis], self.extents[axis]
        within = min(extent, max(self.slots // stride, 1))
        over, apart = extent // within, max(stride // self.slots, 1)
        if over == 1:
            return self

        def lower(s: int) -> int:
            return s // over if s >= stride * extent else s

        def with_axis(values: Shape, value: int) -> Shape:
            return (*values[:axis], value, *values[axis + 1 :])

        # A message of the batch that holds part 0 of a row is never left out before another of the row.
        batch = sum(message // apart % over == 0 for message in range(self.batch))
        strides = with_axis(tuple(lower(s) for s in self.strides), 1 if within == 1 else stride)
        dead = tuple((lower(s), e) for s, e in self.dead)
        shape, extents = with_axis(self.shape, within), with_axis(self.extents, within)
        return replace(self, shape=shape, strides=strides, extents=extents, batch=batch, dead=dead)

    def permuted(self, order: tuple[int, ...]) -> Layout:
        """Return the layout with its axes in another order; values stay in place."""
        shape, strides, extents = (tuple(v[i] for i in order) for v in (self.shape, self.strides, self.extents))
        return replace(self, shape=shape, strides=strides, extents=extents)

    def broadcast(self, shape: Shape, most_slots: int) -> Layout:
        """Return the layout of a larger array that contains this one; new axes take the places above."""
        missing = len(shape) - len(self.shape)
        strides, extents = [1] * missing + list(self.strides), [1] * missing + list(self.extents)
        top = max([*self.tops(), 1])
        for axis in reversed(range(len(shape))):
            if shape[axis] > 1 and extents[axis] == 1:
                strides[axis], extents[axis] = top, power_of_two(shape[axis])
                top *= extents[axis]
        grown = replace(self, shape=shape, strides=tuple(strides), extents=tuple(extents))
        return grown.within(most_slots)

    def is_in(self, other: Layout) -> bool:
        """Whether the values of this array are, repeated, where ``other`` has those of the larger array."""
        missing = len(other.shape) - len(self.shape)
        mine = list(zip(self.shape, self.strides, self.extents, strict=True))
        theirs = list(zip(other.strides, other.extents, strict=True))[missing:]
        fits = all(n == 1 or (s, e) == place for (n, s, e), place in zip(mine, theirs, strict=True))
        taken = [(s, e) for s, e in zip(other.strides, other.extents, strict=True) if e > 1]
        apart = not any(_overlap(d, t) for d in (*self.dead, *other.dead) for t in taken)
        return fits and apart


def _overlap(a: tuple[int, int], b: tuple[int, int]) -> bool:
    return a[0] < b[0] * b[1] and b[0] < a[0] * a[1]
