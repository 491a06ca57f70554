"""Memory in figures: totals of each space, and where it peaks. One call for every command."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, TypeAlias

from hlotool.analysis.backend import Backend, find_backend
from hlotool.analysis.belonging import check_belonging
from hlotool.analysis.estimate import estimate_assignment
from hlotool.analysis.instant import find_holdings
from hlotool.analysis.lifetimes import find_lifetimes
from hlotool.analysis.memory_map import MemoryMap, map_memory
from hlotool.analysis.memory_records import Estimated, Peak, SpaceRow, Totals
from hlotool.analysis.schedule import find_problem
from hlotool.ir.buffers import Allocation, BufferAssignment, BufferValue
from hlotool.ir.module import Module
from hlotool.ir.shape import TupleShape
from hlotool.records import field_names, record

MemorySource: TypeAlias = Literal["buffer-assignment", "estimate"]

# What the compilers call the spaces; numbers of unknown backends stay numbers.
SPACE_NAMES: Final[dict[tuple[Backend | None, int], str]] = {
    ("tpu", 0): "hbm",
    ("tpu", 1): "vmem",
    ("tpu", 2): "smem",
    ("tpu", 4): "host",
    ("gpu", 0): "device",
    ("gpu", 1): "collective",
    ("gpu", 5): "host",
    ("cpu", 0): "host",
}


@record
class MemoryReport:
    """All figures about a module's memory, and the map they were read off.

    `peak` and `estimated` are about space 0; `peak_of` gives the peak of another.
    """

    source: MemorySource
    lifetimes: Literal["live-range", "derived"] | None
    backend: Backend | None
    spaces: tuple[SpaceRow, ...]
    totals: Totals
    peak: Peak
    estimated: Estimated | None
    map: MemoryMap

    def peak_of(self, color: int) -> Peak:
        """Return the peak of a space."""
        return _estimated_peak(self.map, color) if self.estimated else _peak(self.map, color)

    def estimated_of(self, color: int) -> Estimated | None:
        """Return the estimate of a space, None where an assignment tells."""
        return _estimated(self.map, color) if self.estimated else None

    def totals_of(self, color: int) -> Totals:
        """Return the totals with the figures of another space than 0 in them."""
        for space in self.spaces:
            if space.color == color:
                return _totals(self.map, space)
        return self.totals

    def find_color(self, name: str) -> int | None:
        """Return the number of a space by its number or name, None if there is none such."""
        for color in self.map.colors():
            if name in {str(color), SPACE_NAMES.get((self.backend, color))}:
                return color
        return None


def analyze_memory(module: Module | None, assignment: BufferAssignment | None) -> MemoryReport:
    """Return the memory figures of a program (docs/semantics.md, Memory), in bytes.

    With an assignment, its own allocations and, where printed, its live ranges; lifetimes
    are derived from the module's schedule otherwise. Without one, an estimate. Class sums
    follow CompiledMemoryStats (xla/pjrt/pjrt_executable.cc); thread-local memory is left
    out of all of them. Raises InputError where the module that would have to tell is not
    scheduled, and ParseError where the assignment belongs to another module.
    """
    if assignment is None:
        if module is None:
            raise ValueError("neither a module nor a buffer assignment")
        estimate = estimate_assignment(module)
        memory = map_memory(estimate.assignment, estimate.lifetimes)
        return _report(memory, find_backend(module), "estimate")
    if module is not None:
        check_belonging(module, assignment)
    memory = map_memory(assignment, find_lifetimes(assignment, module))
    backend = find_backend(module) if module else _backend_of(assignment)
    return _report(memory, backend, "buffer-assignment")


def find_memory(module: Module | None, assignment: BufferAssignment | None) -> MemoryReport | None:
    """Return the memory figures, None for a module that has neither assignment nor schedule."""
    has_schedule = module is not None and find_problem(module) is None
    if assignment is None and not has_schedule:
        return None
    if assignment is not None and assignment.live_ranges is None and not has_schedule:
        module = None
    return analyze_memory(module, assignment)


def _report(memory: MemoryMap, backend: Backend | None, source: MemorySource) -> MemoryReport:
    lifetimes = memory.lifetimes.source if memory.lifetimes else None
    if source == "estimate":
        return MemoryReport(
            source,
            lifetimes,
            backend,
            (),
            _NO_TOTALS,
            _estimated_peak(memory, 0),
            _estimated(memory, 0),
            memory,
        )
    spaces = tuple(_space(memory, color, backend) for color in memory.colors())
    peak = _peak(memory, 0)
    return MemoryReport(
        source, lifetimes, backend, spaces, _totals(memory, spaces[0]), peak, None, memory
    )


def _space(memory: MemoryMap, color: int, backend: Backend | None) -> SpaceRow:
    peak = _peak(memory, color)
    return SpaceRow(
        color=color,
        name=SPACE_NAMES.get((backend, color)),
        allocated_bytes=_sum(memory, color, _is_any),
        argument_bytes=_sum(memory, color, _is_argument),
        output_bytes=_sum(memory, color, _is_output),
        alias_bytes=_sum(memory, color, _is_alias),
        temp_bytes=_sum(memory, color, _is_temp),
        constant_bytes=_sum(memory, color, _is_constant),
        peak_bytes=peak.bytes,
        peak_position=peak.position,
        peak_instruction=peak.instruction,
        temp_peak_bytes=peak.temp_peak_bytes,
        temp_peak_position=peak.temp_peak_position,
        reserved_peak_bytes=peak.reserved_peak_bytes,
        fragmentation_bytes=_fragmentation(memory, color),
        padding_bytes=_padding(memory, color, peak.position),
    )


def _totals(memory: MemoryMap, default: SpaceRow) -> Totals:
    allocations = memory.assignment.allocations
    reported = memory.assignment.reported_total_bytes
    everything = sum(one.size_bytes for one in allocations)
    thread_local = sum(one.size_bytes for one in allocations if one.is_thread_local)
    return Totals(
        **{name: getattr(default, name) for name in _SHARED_NAMES},
        thread_local_bytes=thread_local,
        all_spaces_bytes=everything - thread_local,
        reported_total_bytes=reported,
        reported_total_matches=None if reported is None else reported == everything,
    )


def _peak(memory: MemoryMap, color: int) -> Peak:
    live = memory.assignment.live_ranges
    curve, temps = memory.curve(color), memory.curve(color, "temp")
    if curve is None or temps is None or memory.lifetimes is None:
        return Peak(color, *[None] * 11)
    most, position = curve.peak()
    temp_most, temp_position = temps.peak()
    kept = _sum(memory, color, _is_any) - _sum(memory, color, _is_temp)
    at = live.peak_position if live else None
    return Peak(
        color=color,
        bytes=most,
        position=position,
        sequence_length=memory.lifetimes.end,
        instruction=memory.lifetimes.instruction_at(position),
        temp_bytes=temps.at(position),
        temp_peak_bytes=temp_most,
        temp_peak_position=temp_position,
        reserved_peak_bytes=kept + temp_most,
        xla_position=at,
        xla_bytes=sum(entry.size_bytes for entry in live.peak_entries) if live else None,
        bytes_at_xla_position=None if at is None else curve.at(at),
    )


def _estimated_peak(memory: MemoryMap, color: int) -> Peak:
    """Say where the estimated peak is; its bytes are in `Estimated`."""
    found = _peak(memory, color)
    place = (found.position, found.sequence_length, found.instruction)
    return Peak(color, None, *place, *[None] * 7)


def _estimated(memory: MemoryMap, color: int) -> Estimated:
    peak = _peak(memory, color)
    return Estimated(
        peak_bytes=peak.bytes or 0,
        position=peak.position or 0,
        sequence_length=peak.sequence_length or 0,
        instruction=peak.instruction,
        argument_bytes=_sum(memory, color, _is_argument),
        output_bytes=_sum(memory, color, _is_output),
        alias_bytes=_sum(memory, color, _is_alias),
        temp_peak_bytes=peak.temp_peak_bytes or 0,
        is_lower_bound=any(
            unpadded_bytes_of(value) is None
            for allocation in memory.placed(color)
            for value in allocation.values
        ),
    )


def _sum(memory: MemoryMap, color: int, chosen: Callable[[Allocation], bool]) -> int:
    return sum(one.size_bytes for one in memory.placed(color) if chosen(one))


def _is_any(_: Allocation) -> bool:
    return True


def _is_argument(allocation: Allocation) -> bool:
    return allocation.parameter is not None


def _is_output(allocation: Allocation) -> bool:
    return allocation.is_live_out


def _is_alias(allocation: Allocation) -> bool:
    return allocation.is_donated


def _is_temp(allocation: Allocation) -> bool:
    return allocation.allocation_class == "temp"


def _is_constant(allocation: Allocation) -> bool:
    return allocation.allocation_class == "constant"


def _fragmentation(memory: MemoryMap, color: int) -> int | None:
    """Add up, over temp allocations, the size that is never in use at once."""
    if memory.curves is None:
        return None
    return sum(
        one.size_bytes - memory.curves[one.number].peak()[0]
        for one in memory.placed(color)
        if _is_temp(one)
    )


def _padding(memory: MemoryMap, color: int, position: int | None) -> int | None:
    """Add up the padding of the values that hold bytes at a position."""
    if position is None:
        return None
    return sum(padding_of(one.value) or 0 for one in find_holdings(memory, position, color))


def padding_of(value: BufferValue) -> int | None:
    """Return what tiles and allocator minima add to a value; None where that is unknown."""
    unpadded = unpadded_bytes_of(value)
    return None if unpadded is None else value.size_bytes - unpadded


def unpadded_bytes_of(value: BufferValue) -> int | None:
    """Return the bytes of a value's elements; a tuple's table has no tiles to leave out."""
    if isinstance(value.shape, TupleShape):
        return value.size_bytes
    return value.shape.unpadded_bytes


def _backend_of(assignment: BufferAssignment) -> Backend | None:
    """Return tpu where a shape is tiled, as only there; None where nothing tells."""
    for allocation in assignment.allocations:
        for value in allocation.values:
            for leaf in value.shape.leaves():
                if leaf.layout and leaf.layout.tiles:
                    return "tpu"
    return None


_SHARED_NAMES: Final = tuple(
    name for name in field_names(SpaceRow) if name not in {"color", "name"}
)
_NO_TOTALS: Final = Totals(*[None] * len(field_names(Totals)))
