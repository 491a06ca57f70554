"""Which bytes of which allocation are in use, at every position? The memory map."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct, field

from hlotool.analysis.dataflow.lifetimes import Lifetimes
from hlotool.analysis.memory.curve import Curve, OccupiedBlock, add_curves
from hlotool.analysis.memory.joined_blocks import join_blocks
from hlotool.analysis.memory.occupancy import add_up_groups
from hlotool.ir.buffers import Allocation, AllocationClass, BufferAssignment, BufferValue, LiveRange


class MemoryMap(Struct, frozen=True):
    """An assignment with its lifetimes, None where nothing says when values are live.

    Curves are measured when they are asked for, and kept: `_curves`, with the places of values that
    share bytes, by the number of the allocation, `_sums` by space and class.
    """

    assignment: BufferAssignment
    lifetimes: Lifetimes | None
    _curves: dict[int, tuple[Curve, list[list[int]]]] = field(default_factory=dict)
    _sums: dict[tuple[int, AllocationClass | None], Curve] = field(default_factory=dict)

    def colors(self) -> tuple[int, ...]:
        """Return the memory spaces that hold anything beside thread-local memory, and 0."""
        return tuple(sorted({0} | {one.color for one in self.placed()}))

    def placed(self, color: int | None = None) -> Iterator[Allocation]:
        """Yield the allocations of a space, or of all, without thread-local ones."""
        for allocation in self.assignment.allocations:
            if not allocation.is_thread_local and (color is None or allocation.color == color):
                yield allocation

    def curve(self, color: int, only: AllocationClass | None = None) -> Curve | None:
        """Return the bytes in use in a space over time, of one class of allocations or of all."""
        if self.lifetimes is None:
            return None
        if not self._sums:
            self._sums.update(self._add_up())
        return self._sums.get((color, only), Curve())

    def curve_of(self, allocation: Allocation) -> Curve | None:
        """Return the bytes in use of an allocation over time.

        Thread-local memory has no curve: it belongs to threads, not to the program.
        """
        known = self._measure(allocation)
        return known[0] if known else None

    def groups_of(self, allocation: Allocation) -> list[list[int]]:
        """Return the places of an allocation's values that share bytes while they live.

        Values that share none are in no group; nor are those of thread-local memory.
        """
        known = self._measure(allocation) if len(allocation.values) > 1 else None
        return known[1] if known else []

    def _measure(self, allocation: Allocation) -> tuple[Curve, list[list[int]]] | None:
        if self.lifetimes is None or allocation.is_thread_local:
            return None
        known = self._curves.get(allocation.number)
        if known is None:
            blocks = self.blocks_of(allocation.values)
            groups = join_blocks(blocks)
            known = self._curves[allocation.number] = add_up_groups(blocks, groups), groups
        return known

    def blocks_of(self, values: Iterable[BufferValue]) -> list[OccupiedBlock]:
        """Return which bytes values hold, and when; empty without lifetimes."""
        if self.lifetimes is None:
            return []
        throughout = LiveRange(0, self.lifetimes.end)
        blocks = []
        for value in values:
            low, found = value.offset, value.live or throughout
            blocks.append(OccupiedBlock(low, low + value.size_bytes, found.start, found.end))
        return blocks

    def live_at(
        self, position: int, color: int
    ) -> Iterator[tuple[Allocation, BufferValue, LiveRange]]:
        """Yield what is live at a position in a space, and when; zero-sized values left out."""
        if self.lifetimes is None:
            return
        throughout = LiveRange(0, self.lifetimes.end)
        for allocation in self.placed(color):
            for value in allocation.values:
                found = value.live or throughout
                if found.start <= position <= found.end and value.size_bytes:
                    yield allocation, value, found

    def range_of(self, value: BufferValue) -> LiveRange | None:
        """Return when a value is live: as known, else throughout; None without lifetimes."""
        if self.lifetimes is None:
            return None
        return value.live or LiveRange(0, self.lifetimes.end)

    def _add_up(self) -> dict[tuple[int, AllocationClass | None], Curve]:
        """Sum the curves of each space, by class and (None) of all classes."""
        parts: dict[tuple[int, AllocationClass], tuple[list[Curve], list[BufferValue]]] = {}
        for one in self.placed():
            key = one.color, one.allocation_class
            if key not in parts:
                parts[key] = [], []
            shared, alone = parts[key]
            if len(one.values) == 1:  # as in most of an estimate: no curve of its own is needed
                alone.append(one.values[0])
            elif curve := self.curve_of(one):
                shared.append(curve)
        sums: dict[tuple[int, AllocationClass | None], Curve] = {}
        for key, (shared, alone) in parts.items():
            sums[key] = add_curves(shared, self.blocks_of(alone))
        for color in {color for color, _ in sums}:
            sums[color, None] = add_curves([sums[key] for key in sums if key[0] == color])
        return sums


def map_memory(assignment: BufferAssignment, lifetimes: Lifetimes | None) -> MemoryMap:
    """Return the map of an assignment (docs/buffers.md).

    A value without a range, such as a constant of a fused computation, is live throughout.
    """
    return MemoryMap(assignment, lifetimes)
