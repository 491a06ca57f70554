"""What does a row know of how far the peak would fall without it, and without others too?"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from msgspec import Struct

from hlotool.analysis.memory.gains.space_peak import SpacePeak
from hlotool.analysis.memory.gains.tenure import Tenure, Tenures
from hlotool.analysis.memory.memory_map import MemoryMap
from hlotool.ir.buffers import Allocation, BufferValue
from hlotool.ir.values import ShapeIndex


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
