"""Which values hold the same bytes, from when the first takes them until the last is done?

A value hands its bytes on while both are live: to what is written over it, to the next round of a
loop, to the output that a donated parameter becomes. What only comes to lie there later, when
nothing lives there, has them anew.

    value        bytes      positions
    a            [0, 64)    0 … 2      a tenure of 64 bytes, 0 … 5: a, and b that took over
    b            [0, 64)    2 … 5
    c            [0, 64)    6 … 9      another
    d            [64, 96)   4 … 9      and a third, of 32 bytes

How far does the peak of a memory space fall without some of its bytes?

What does a row know of how far the peak would fall without it, and without others too?
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final

from msgspec import Struct

from hlotool.analysis.memory.curve import Curve, OccupiedBlock, add_curves, add_up_groups
from hlotool.analysis.memory.memory_map import MemoryMap
from hlotool.hlo.buffers import Allocation, BufferValue
from hlotool.hlo.module import Node
from hlotool.hlo.values import ShapeIndex


class Tenure(Node, eq=False):
    """Values of an allocation that share bytes while they live, directly or through others.

    Two tenures never hold a byte at one position, so that the curves of all that an allocation
    has add up to its own. `is_owner`: a parameter, an output or a constant, for which the
    allocation is there; others in it are guests.
    """

    allocation: Allocation
    values: list[BufferValue]
    blocks: list[OccupiedBlock]
    is_owner: bool = False

    @property
    def end(self) -> int:
        """The last position at which one of its values is live."""
        return max(block.end for block in self.blocks)

    def curve(self) -> Curve:
        """Return the bytes it holds over time; its blocks are one group."""
        numbers = range(len(self.blocks))
        return add_up_groups(self.blocks, [numbers] if len(numbers) > 1 else ())


class Tenures:
    """Finds the tenures of some values, an allocation at a time; each is worked out once."""

    def __init__(self, memory: MemoryMap, wanted: Collection[BufferValue]) -> None:
        self.memory = memory
        self.wanted = wanted
        self._known: dict[int, dict[BufferValue, Tenure]] = {}

    def of(self, allocation: Allocation) -> dict[BufferValue, Tenure]:
        """Return the tenure of each wanted value of an allocation; one without a byte has none.

        None of them has where nothing says when values live, or in thread-local memory.
        """
        known = self._known.get(allocation.number)
        if known is None:
            known = self._known[allocation.number] = self._find(allocation)
        return known

    def _find(self, allocation: Allocation) -> dict[BufferValue, Tenure]:
        if self.memory.lifetimes is None or allocation.is_thread_local:
            return {}
        wanted = {
            place
            for place, value in enumerate(allocation.values)
            if value.size_bytes and value in self.wanted
        }
        groups = [
            group for group in self.memory.groups_of(allocation) if not wanted.isdisjoint(group)
        ]
        alone = wanted.difference(*groups)
        found: dict[BufferValue, Tenure] = {}
        for places in (*groups, *([place] for place in sorted(alone))):
            held = [allocation.values[place] for place in places]
            parts = self.memory.blocks_of(held)
            tenure = Tenure(
                allocation, held, parts, _is_owner(allocation, parts, self.memory.lifetimes.end)
            )
            found.update((value, tenure) for value in held)
        return found


def _is_owner(allocation: Allocation, blocks: Sequence[OccupiedBlock], last: int) -> bool:
    """Whether an allocation is there for some of its values: what is given, and what leaves."""
    of = allocation.allocation_class
    is_given = of in {"parameter", "constant"} and any(not block.start for block in blocks)
    return is_given or (of != "temp" and any(block.end >= last for block in blocks))


_STRETCH: Final = 16  # levels whose highest is written down


class SpacePeak:
    """The peak of one curve, and what it would be without parts of it; exact for this schedule."""

    def __init__(self, curve: Curve) -> None:
        self.positions = curve.positions
        self.peak_bytes, _ = curve.peak()
        self._levels = levels = (0, *curve.levels)  # level 0 is before the first
        stretches = [levels[at : at + _STRETCH] for at in range(0, len(levels), _STRETCH)]
        # rows[k][n]: the highest of the 2^k stretches from the n-th on.
        self._rows: list[list[int]] = [list(map(max, stretches))]
        self._gains: dict[frozenset[Tenure], int] = {}  # many values may be of one tenure

    def gain(self, tenures: Iterable[Tenure]) -> int:
        """Return how far the peak falls if all of these were not there; the next one stays.

        Something that is not alive at every position of the peak gains nothing.
        """
        parts = frozenset(tenures)
        found = self._gains.get(parts)
        if found is None:
            part = add_curves([tenure.curve() for tenure in parts])
            found = self._gains[parts] = self.peak_bytes - self.peak_without(part)
        return found

    def peak_without(self, part: Curve) -> int:
        """Return the peak that is left when a part of the curve is taken away."""
        removed, first, highest = 0, 0, 0
        for position, level in zip(part.positions, part.levels, strict=True):
            last = bisect_left(self.positions, position)
            highest = max(highest, self._highest(first, last) - removed)
            first, removed = bisect_right(self.positions, position), level
        return max(highest, self._highest(first, len(self.positions)) - removed)

    def _highest(self, first: int, last: int) -> int:
        """Return the highest of the levels from one to another, both included."""
        levels, rows = self._levels, self._rows
        begin, end = -(-first // _STRETCH), (last + 1) // _STRETCH  # the whole stretches between
        if begin >= end:
            return max(levels[first : last + 1])
        row = (end - begin).bit_length() - 1
        while len(rows) <= row:
            above, half = rows[-1], 1 << (len(rows) - 1)
            rows.append(list(map(max, above, above[half:])))
        around = levels[first : begin * _STRETCH] + levels[end * _STRETCH : last + 1]
        return max(rows[row][begin], rows[row][end - (1 << row)], *around)


class Held(Struct, frozen=True, dict=True):
    """The bytes that a value holds, with the peak of their space.

    It is no part of what a row says: rows are compared, and written down, without it. So it has no
    fields; `hold` keeps the rest beside them.
    """

    @property
    def peak(self) -> SpacePeak | None:
        """The peak of the space; None of what was written down and read back."""
        return self.__dict__.get("peak")

    @property
    def tenure(self) -> Tenure | None:
        """Its bytes; None of a value without a byte, and in thread-local memory."""
        return self.__dict__.get("tenure")

    def together(self, others: Iterable[Held]) -> int:
        """Return how far the peak falls without all of these, itself not counted unless named.

        The gains of several spaces are added up.
        """
        parts: dict[SpacePeak, list[Tenure]] = {}
        for one in others:
            if one.peak is not None and one.tenure is not None:
                parts.setdefault(one.peak, []).append(one.tenure)
        return sum(peak.gain(tenures) for peak, tenures in parts.items())


def hold(peak: SpacePeak, tenure: Tenure | None) -> Held:
    """Return what a row keeps of its bytes."""
    held = Held()
    held.__dict__.update(peak=peak, tenure=tenure)
    return held


class Donatable(Struct, frozen=True, dict=True):
    """An array that may be donated, with what that gains beside others.

    As `Held`, it is no part of what a row says, and has no fields; `offer` keeps the rest.
    """

    def together(self, others: Iterable[Donatable]) -> int:
        """Return what donating all of these gains; 0 of what was written down and read back."""
        measure: Callable[[list[ShapeIndex]], int] | None = self.__dict__.get("measure")
        outputs = [output for one in others if (output := one.__dict__.get("output")) is not None]
        return measure(outputs) if measure is not None else 0


def offer(measure: Callable[[list[ShapeIndex]], int], output: ShapeIndex | None) -> Donatable:
    """Return what a row keeps of an output that could have its memory, None where one has it."""
    found = Donatable()
    found.__dict__.update(measure=measure, output=output)
    return found


class Gains:
    """Finds what some values of a program hold."""

    def __init__(self, memory: MemoryMap, wanted: Collection[BufferValue]) -> None:
        self.memory = memory
        self.tenures = Tenures(memory, wanted)
        self._peaks: dict[int, SpacePeak] = {}

    def of(self, allocation: Allocation, value: BufferValue) -> Held | None:
        """Return what a value holds, None where nothing says when values live."""
        peak = self.peak_of(allocation.color)
        return hold(peak, self.tenures.of(allocation).get(value)) if peak else None

    def peak_of(self, color: int) -> SpacePeak | None:
        """Return the peak of a space, None where nothing says when values live."""
        if color not in self._peaks:
            curve = self.memory.curve(color)
            if curve is None:
                return None
            self._peaks[color] = SpacePeak(curve)
        return self._peaks[color]
