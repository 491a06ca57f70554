"""The memory map: which bytes of which allocation are in use, at every position."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.analysis.lifetimes import Lifetimes
from hlotool.analysis.occupancy import Block, Curve, add_curves, occupancy
from hlotool.ir.buffers import Allocation, AllocationClass, BufferAssignment, BufferValue, LiveRange
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
        if (color, only) not in self._sums:
            self._sums[color, only] = add_curves(
                self.curves[allocation.number]
                for allocation in self.placed(color)
                if only in {None, allocation.allocation_class}
            )
        return self._sums[color, only]

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
        else occupancy(
            Block(
                value.offset,
                value.offset + value.size_bytes,
                *_ends(lifetimes.ranges.get(value.key, unknown)),
            )
            for value in allocation.values
        )
        for allocation in assignment.allocations
    )
    return MemoryMap(assignment, lifetimes, curves)


def _ends(found: LiveRange) -> tuple[int, int]:
    return found.start, found.end
