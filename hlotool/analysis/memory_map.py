"""The memory map: which bytes of which allocation are in use, at every position."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hlotool.analysis.lifetimes import Lifetimes
from hlotool.analysis.occupancy import Block, Curve, add_curves, occupancy
from hlotool.ir.buffers import (
    Allocation,
    AllocationClass,
    BufferAssignment,
    BufferValue,
    LiveRange,
    ValueKey,
)
from hlotool.records import default, record


@record
class MemoryMap:
    """An assignment with its lifetimes; `curves` are by the number of the allocation.

    Both are None where nothing says when values are live. Thread-local memory has no curve:
    it belongs to threads, not to the program.
    """

    assignment: BufferAssignment
    lifetimes: Lifetimes | None
    curves: tuple[Curve, ...] | None
    _sums: dict[tuple[int, AllocationClass | None], Curve] = default(dict)

    def colors(self) -> tuple[int, ...]:
        """Return the memory spaces that hold anything beside thread-local memory, and 0."""
        return tuple(sorted({0} | {one.color for one in self.placed()}))

    def placed(self, color: int | None = None) -> Iterator[Allocation]:
        """Yield the allocations of a space, or of all, without thread-local ones."""
        for allocation in self.assignment.allocations:
            if not allocation.is_thread_local and color in {None, allocation.color}:
                yield allocation

    def curve(self, color: int, only: AllocationClass | None = None) -> Curve | None:
        """Return the bytes in use in a space over time, of one class of allocations or of all."""
        if self.curves is None:
            return None
        if not self._sums:
            self._sums.update(self._add_up(self.curves))
        return self._sums.get((color, only), Curve())

    def _add_up(self, curves: tuple[Curve, ...]) -> dict[tuple[int, AllocationClass | None], Curve]:
        """Sum the curves of each space, by class and (None) over all classes."""
        alike: dict[tuple[int, AllocationClass | None], list[Curve]] = {}
        for one in self.placed():
            alike.setdefault((one.color, one.allocation_class), []).append(curves[one.number])
        sums = {key: add_curves(parts) for key, parts in alike.items()}
        for color in {color for color, _ in alike}:
            sums[color, None] = add_curves(sums[key] for key in alike if key[0] == color)
        return sums

    def live_at(self, position: int, color: int) -> Iterator[tuple[Allocation, BufferValue]]:
        """Yield the values of a space that are live at a position, zero-sized ones left out."""
        for allocation in self.placed(color):
            for value in allocation.values:
                found = self.range_of(value)
                if found and found.start <= position <= found.end and value.size_bytes:
                    yield allocation, value

    def range_of(self, value: BufferValue) -> LiveRange | None:
        """Return when a value is live: as known, else throughout; None without lifetimes."""
        if self.lifetimes is None:
            return None
        return self.lifetimes.ranges.get(value.key) or LiveRange(0, self.lifetimes.end)


def map_memory(assignment: BufferAssignment, lifetimes: Lifetimes | None) -> MemoryMap:
    """Measure every allocation over time (docs/semantics.md, Memory).

    A value without a range, such as a constant of a fused computation, is live throughout.
    """
    if lifetimes is None:
        return MemoryMap(assignment, None, None)
    unknown = LiveRange(0, lifetimes.end)
    curves = tuple(
        Curve()
        if allocation.is_thread_local
        else occupancy(_blocks(allocation, lifetimes.ranges, unknown))
        for allocation in assignment.allocations
    )
    return MemoryMap(assignment, lifetimes, curves)


def _blocks(
    allocation: Allocation, ranges: Mapping[ValueKey, LiveRange], unknown: LiveRange
) -> list[Block]:
    blocks = []
    for value in allocation.values:
        found = ranges.get((value.instruction, value.index or ()), unknown)
        low = value.offset
        blocks.append(Block(low, low + value.size_bytes, found.start, found.end))
    return blocks
