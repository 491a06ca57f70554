"""Which values hold the same bytes, from when the first takes them until the last is done?

A value hands its bytes on while both are live: to what is written over it, to the next round of a
loop, to the output that a donated parameter becomes. What only comes to lie there later, when
nothing lives there, has them anew.

    value        bytes      positions
    a            [0, 64)    0 … 2      a tenure of 64 bytes, 0 … 5: a, and b that took over
    b            [0, 64)    2 … 5
    c            [0, 64)    6 … 9      another
    d            [64, 96)   4 … 9      and a third, of 32 bytes
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from hlotool.analysis.memory.curve import Curve, OccupiedBlock
from hlotool.analysis.memory.memory_map import MemoryMap
from hlotool.analysis.memory.occupancy import add_up_groups
from hlotool.ir.buffers import Allocation, BufferValue
from hlotool.ir.node import Node


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
