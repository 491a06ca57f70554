"""Memory in figures: totals of each space, and where it peaks. One call for every command."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from hlotool.analysis.dataflow.lifetimes import find_lifetimes
from hlotool.analysis.dataflow.schedule import find_problem
from hlotool.analysis.graph.backend import Backend, find_backend
from hlotool.analysis.memory.belonging import check_belonging
from hlotool.analysis.memory.estimate import estimate_assignment
from hlotool.analysis.memory.estimated_size import HOST_ARRAY_BYTES
from hlotool.analysis.memory.figures import (
    Estimated,
    MemoryFigures,
    Peak,
    SpaceRow,
    Totals,
)
from hlotool.analysis.memory.holdings import find_holdings
from hlotool.analysis.memory.memory_map import MemoryMap, map_memory
from hlotool.analysis.memory.space_sums import SpaceSums, add_up_space
from hlotool.ir.buffers import BufferAssignment, BufferValue
from hlotool.ir.module import Module
from hlotool.ir.shape import TupleShape

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
# What the estimate gives an array that has an unknown dimension.
_UNSURE_BYTES: Final = frozenset((0, HOST_ARRAY_BYTES))


class MemoryReport(Struct, frozen=True):
    """All figures about a module's memory, and the map they were read off.

    `figures` are mostly about space 0; the methods give those of another.
    """

    figures: MemoryFigures
    map: MemoryMap

    def peak_of(self, color: int) -> Peak:
        """Return the peak of a space."""
        found = _peak(self.map, color, add_up_space(self.map, color))
        return _place_of(found) if self.figures.estimated else found

    def estimated_of(self, color: int) -> Estimated | None:
        """Return the estimate of a space, None where an assignment tells."""
        if self.figures.estimated is None:
            return None
        sums = add_up_space(self.map, color)
        return _estimated(self.map, _peak(self.map, color, sums), sums)

    def totals_of(self, color: int) -> Totals:
        """Return the totals with the figures of another space than 0 in them."""
        for space in self.figures.spaces:
            if space.color == color:
                return _totals(self.map, space)
        return self.figures.totals

    def find_color(self, name: str) -> int | None:
        """Return the number of a space by its number or name, None if there is none such."""
        for color in self.map.colors():
            if name in {str(color), SPACE_NAMES.get((self.figures.backend, color))}:
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
        return _report_estimate(memory, estimate.backend)
    if module is not None:
        check_belonging(module, assignment)
    memory = map_memory(assignment, find_lifetimes(assignment, module))
    backend = find_backend(module) if module else _backend_of(assignment)
    return _report(memory, backend)


def find_memory(module: Module | None, assignment: BufferAssignment | None) -> MemoryReport | None:
    """Return the memory figures, None for a module that has neither assignment nor schedule."""
    has_schedule = module is not None and find_problem(module) is None
    if assignment is None and not has_schedule:
        return None
    if assignment is not None and assignment.live_ranges is None and not has_schedule:
        module = None
    return analyze_memory(module, assignment)


def find_memory_figures(
    module: Module | None, assignment: BufferAssignment | None
) -> MemoryFigures | None:
    """Return what `find_memory` does, without the map."""
    report = find_memory(module, assignment)
    return report.figures if report else None


def _report(memory: MemoryMap, backend: Backend | None) -> MemoryReport:
    spaces = tuple(_space(memory, color, backend) for color in memory.colors())
    figures = MemoryFigures(
        "buffer-assignment",
        memory.lifetimes.source if memory.lifetimes else None,
        backend,
        spaces,
        _totals(memory, spaces[0]),
        _peak(memory, 0, add_up_space(memory, 0)),
        None,
    )
    return MemoryReport(figures, memory)


def _report_estimate(memory: MemoryMap, backend: Backend | None) -> MemoryReport:
    sums = add_up_space(memory, 0)
    peak = _peak(memory, 0, sums)
    figures = MemoryFigures(
        "estimate",
        memory.lifetimes.source if memory.lifetimes else None,
        backend,
        (),
        _NO_TOTALS,
        _place_of(peak),
        _estimated(memory, peak, sums),
    )
    return MemoryReport(figures, memory)


def _space(memory: MemoryMap, color: int, backend: Backend | None) -> SpaceRow:
    sums = add_up_space(memory, color)
    peak = _peak(memory, color, sums)
    return SpaceRow(
        color=color,
        name=SPACE_NAMES.get((backend, color)),
        allocated_bytes=sums.allocated,
        argument_bytes=sums.argument,
        output_bytes=sums.output,
        alias_bytes=sums.alias,
        temp_bytes=sums.temp,
        constant_bytes=sums.constant,
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


def _peak(memory: MemoryMap, color: int, sums: SpaceSums) -> Peak:
    live = memory.assignment.live_ranges
    curve, temps = memory.curve(color), memory.curve(color, "temp")
    if curve is None or temps is None or memory.lifetimes is None:
        return Peak(color, *[None] * 11)
    most, position = curve.peak()
    temp_most, temp_position = temps.peak()
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
        reserved_peak_bytes=sums.allocated - sums.temp + temp_most,
        xla_position=at,
        xla_bytes=sum(entry.size_bytes for entry in live.peak_entries) if live else None,
        bytes_at_xla_position=None if at is None else curve.at(at),
    )


def _place_of(peak: Peak) -> Peak:
    """Say where an estimated peak is; its bytes are in `Estimated`."""
    place = (peak.position, peak.sequence_length, peak.instruction)
    return Peak(peak.color, None, *place, *[None] * 7)


def _estimated(memory: MemoryMap, peak: Peak, sums: SpaceSums) -> Estimated:
    return Estimated(
        peak_bytes=peak.bytes or 0,
        position=peak.position or 0,
        sequence_length=peak.sequence_length or 0,
        instruction=peak.instruction,
        argument_bytes=sums.argument,
        output_bytes=sums.output,
        alias_bytes=sums.alias,
        temp_peak_bytes=peak.temp_peak_bytes or 0,
        is_lower_bound=any(
            value.size_bytes in _UNSURE_BYTES and unpadded_bytes_of(value) is None
            for allocation in memory.placed(peak.color)
            for value in allocation.values
        ),
    )


def _fragmentation(memory: MemoryMap, color: int) -> int | None:
    """Add up, over temp allocations, the size that is never in use at once."""
    if memory.lifetimes is None:
        return None
    return sum(
        one.size_bytes - curve.peak()[0]
        for one in memory.placed(color)
        if one.allocation_class == "temp" and (curve := memory.curve_of(one))
    )


def _padding(memory: MemoryMap, color: int, position: int | None) -> int | None:
    """Add up the padding of the values that hold bytes at a position."""
    if position is None:
        return None
    parts = [padding_of(one.value) for one in find_holdings(memory, position, color)]
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


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
    name for name in SpaceRow.__struct_fields__ if name not in {"color", "name"}
)
_NO_TOTALS: Final = Totals(*[None] * len(Totals.__struct_fields__))
