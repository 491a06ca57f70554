"""What does a row know of how far the peak would fall without it, and without others too?"""

from __future__ import annotations

from collections.abc import Iterable

from hlotool.analysis.memory.gains.space_peak import SpacePeak
from hlotool.analysis.memory.gains.tenure import Tenure, Tenures
from hlotool.analysis.memory.memory_map import MemoryMap
from hlotool.ir.buffers import Allocation, BufferValue
from hlotool.ir.node import Node


class Held(Node, eq=False):
    """The bytes that a value holds, with the peak of their space.

    `tenure` is None for what is in no curve: a value without a byte, and thread-local memory.
    """

    peak: SpacePeak
    tenure: Tenure | None

    def together(self, others: Iterable[Held]) -> int:
        """Return how far the peak falls without all of these, itself not counted unless named.

        The gains of several spaces are added up.
        """
        parts: dict[SpacePeak, list[Tenure]] = {}
        for one in others:
            if one.tenure is not None:
                parts.setdefault(one.peak, []).append(one.tenure)
        return sum(peak.gain(tenures) for peak, tenures in parts.items())


class Gains:
    """Finds what values hold, for one program."""

    def __init__(self, memory: MemoryMap) -> None:
        self.memory = memory
        self.tenures = Tenures(memory)
        self._peaks: dict[int, SpacePeak] = {}

    def of(self, allocation: Allocation, value: BufferValue) -> Held | None:
        """Return what a value holds, None where nothing says when values live."""
        peak = self.peak_of(allocation.color)
        return Held(peak, self.tenures.of(allocation).get(value)) if peak else None

    def peak_of(self, color: int) -> SpacePeak | None:
        """Return the peak of a space, None where nothing says when values live."""
        if color not in self._peaks:
            curve = self.memory.curve(color)
            if curve is None:
                return None
            self._peaks[color] = SpacePeak(curve)
        return self._peaks[color]
