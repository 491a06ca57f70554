"""What do the allocations of one memory space add up to, by what they hold?

What does one memory space hold, where does it peak, and what do all spaces hold together?

How much memory does a program take? One call for every command.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import asdict

from hlotool.analysis.dataflow.lifetimes import add_lifetimes
from hlotool.analysis.dataflow.schedule import find_problem
from hlotool.analysis.dataflow.values import Dataflow
from hlotool.analysis.graph.backend import Backend, find_backend, find_space_name
from hlotool.analysis.memory.check_assignment import check_belonging, check_placed
from hlotool.analysis.memory.estimate.assignment import (
    EstimatedAssignment,
    estimate_assignment,
    find_obstacle,
)
from hlotool.analysis.memory.figures import (
    MemoryEstimate,
    MemoryFigures,
    MemoryTotals,
    Peak,
    SpaceRow,
)
from hlotool.analysis.memory.memory_map import MemoryMap, find_holdings, map_memory
from hlotool.analysis.memory.producers import are_told_apart
from hlotool.analysis.memory.sizes import HOST_ARRAY_BYTES, padding_bytes_of, unpadded_bytes_of
from hlotool.errors import InputError
from hlotool.hlo import Module
from hlotool.hlo.buffers import BufferAssignment


class SpaceSums(Struct, frozen=True):
    """Bytes of all allocations of a space, and of those that hold something; without peaks.

    `argument` and `output` both count `alias`, the donated parameters; thread-local memory
    is in none.
    """

    allocated: int
    argument: int
    output: int
    alias: int
    temp: int
    constant: int


def add_up_space(memory: MemoryMap, color: int) -> SpaceSums:
    """Return the sums of a space in one pass over its allocations."""
    allocated = argument = output = alias = temp = constant = 0
    for one in memory.placed(color):
        size = one.size_bytes
        allocated += size
        if one.parameter is not None:
            argument += size
        if one.is_live_out:
            output += size
        if one.is_donated:
            alias += size
        if one.is_constant:
            constant += size
        elif one.allocation_class == "temp":
            temp += size
    return SpaceSums(allocated, argument, output, alias, temp, constant)


# What the estimate gives an array that has an unknown dimension.
_UNSURE_BYTES: Final = frozenset((0, HOST_ARRAY_BYTES))


def measure_space(memory: MemoryMap, color: int, backend: Backend | None) -> SpaceRow:
    """Return the figures of one space.

    Class sums follow CompiledMemoryStats (xla/pjrt/pjrt_executable.cc).
    """
    sums = add_up_space(memory, color)
    peak = measure_peak(memory, color, sums)
    return SpaceRow(
        space=color,
        name=find_space_name(backend, color),
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
        fragmentation_bytes=_fragmentation_bytes(memory, color),
        padding_bytes=_padding_bytes(memory, color, peak.position),
    )


def add_all_spaces(memory: MemoryMap, space: SpaceRow) -> MemoryTotals:
    """Return the figures of a space with those of all spaces beside them."""
    allocations = memory.assignment.allocations
    reported = memory.assignment.reported_total_bytes
    everything = sum(one.size_bytes for one in allocations)
    thread_local = sum(one.size_bytes for one in allocations if one.is_thread_local)
    return MemoryTotals(
        **asdict(space),
        thread_local_bytes=thread_local,
        all_spaces_bytes=everything - thread_local,
        reported_total_bytes=reported,
        reported_total_matches=None if reported is None else reported == everything,
    )


def measure_peak(memory: MemoryMap, color: int, sums: SpaceSums) -> Peak:
    """Return where a space is fullest; without lifetimes nothing but the space is known."""
    live = memory.assignment.live_ranges
    curve, temps = memory.curve(color), memory.curve(color, "temp")
    if curve is None or temps is None or memory.lifetimes is None:
        return Peak(color)
    most, position = curve.peak()
    temp_most, temp_position = temps.peak()
    at = live.peak_position if live else None
    entries = live.peak_entries if live and at is not None else None
    return Peak(
        space=color,
        bytes=most,
        position=position,
        sequence_length=memory.lifetimes.end,
        instruction=memory.lifetimes.instruction_at(position),
        temp_bytes=temps.at(position),
        temp_peak_bytes=temp_most,
        temp_peak_position=temp_position,
        reserved_peak_bytes=sums.allocated - sums.temp + temp_most,
        xla_position=at,
        xla_bytes=None if entries is None else sum(entry.size_bytes for entry in entries),
        bytes_at_xla_position=None if at is None else curve.at(at),
    )


def measure_estimate(
    memory: MemoryMap, peak: Peak, sums: SpaceSums, temp_bytes: int | None
) -> MemoryEstimate:
    """Return the figures of the peak's space in an estimated assignment.

    `temp_bytes` is what all its temp allocations take together, None where unknown.
    """
    return MemoryEstimate(
        allocated_bytes=None if temp_bytes is None else sums.allocated - sums.temp + temp_bytes,
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
            for allocation in memory.placed(peak.space)
            for value in allocation.values
        ),
    )


def _fragmentation_bytes(memory: MemoryMap, color: int) -> int | None:
    """Add up, over temp allocations, the size that is never in use at once."""
    if memory.lifetimes is None:
        return None
    return sum(
        one.size_bytes - curve.peak()[0]
        for one in memory.placed(color)
        if one.allocation_class == "temp" and (curve := memory.curve_of(one))
    )


def _padding_bytes(memory: MemoryMap, color: int, position: int | None) -> int | None:
    """Add up the padding of the values that hold bytes at a position."""
    if position is None:
        return None
    total = 0
    for holding in find_holdings(memory, position, color):
        padding = padding_bytes_of(holding.value)
        if padding is None:
            return None
        total += padding
    return total


class MemoryReport(Struct, frozen=True):
    """All figures about a module's memory, and the map they were read off.

    `figures` are mostly about space 0; the methods give those of another. `temp_bytes` is what
    temporary values of an estimate take in each space, `flow` what it was made of.
    """

    figures: MemoryFigures
    map: MemoryMap
    temp_bytes: Mapping[int, int | None] = {}
    flow: Dataflow | None = None

    def peak_of(self, color: int) -> Peak:
        """Return the peak of a space."""
        found = measure_peak(self.map, color, add_up_space(self.map, color))
        return _place_of(found) if self.figures.estimated else found

    def estimated_of(self, color: int) -> MemoryEstimate | None:
        """Return the estimate of a space, None where an assignment tells."""
        if self.figures.estimated is None:
            return None
        sums = add_up_space(self.map, color)
        peak = measure_peak(self.map, color, sums)
        return measure_estimate(self.map, peak, sums, self.temp_bytes.get(color, 0))

    def totals_of(self, color: int) -> MemoryTotals:
        """Return the totals with the figures of another space than 0 in them."""
        for space in self.figures.spaces:
            if space.space == color:
                return add_all_spaces(self.map, space)
        return self.figures.totals

    def find_color(self, name: str) -> int | None:
        """Return the number of a space by its number or name, None if there is none such."""
        for color in self.map.colors():
            if name in {str(color), find_space_name(self.figures.backend, color)}:
                return color
        return None


def analyze_memory(module: Module | None, assignment: BufferAssignment | None) -> MemoryReport:
    """Return the memory figures of a program (docs/buffers.md), in bytes.

    With an assignment, its own allocations and, where printed, its live ranges; lifetimes
    are derived from the module's schedule otherwise, if its names tell the values apart.
    Without one, an estimate. Thread-local
    memory is left out of every sum but the reported one. Raises InputError where the module
    that would have to tell is not scheduled or has sizes unknown, and ParseError where the
    assignment belongs to another module, or is cut short.
    """
    if assignment is None:
        if module is None:
            raise ValueError("neither a module nor a buffer assignment")
        obstacle = find_obstacle(module)
        if obstacle:
            raise InputError(f"{module.source.name}: {obstacle.advice}")
        return _report_estimate(estimate_assignment(module))
    if module is not None:
        check_belonging(module, assignment)
        check_placed(module, assignment)
    is_told = module is not None and are_told_apart(module, assignment)
    memory = map_memory(*add_lifetimes(assignment, module if is_told else None))
    backend = find_backend(module) if module else _find_backend_of(assignment)
    return _report_assignment(memory, backend)


def find_memory(module: Module | None, assignment: BufferAssignment | None) -> MemoryReport | None:
    """Return the memory figures, None for a module without assignment that cannot be estimated."""
    if assignment is None:
        is_known = module is not None and find_obstacle(module) is None
        return analyze_memory(module, None) if is_known else None
    if assignment.live_ranges is None and module is not None and find_problem(module):
        module = None
    return analyze_memory(module, assignment)


def _report_assignment(memory: MemoryMap, backend: Backend | None) -> MemoryReport:
    spaces = tuple(measure_space(memory, color, backend) for color in memory.colors())
    figures = MemoryFigures(
        sizes_from="buffer-assignment",
        lifetimes=memory.lifetimes.source if memory.lifetimes else None,
        backend=backend,
        spaces=spaces,
        totals=add_all_spaces(memory, spaces[0]),
        peak=measure_peak(memory, 0, add_up_space(memory, 0)),
        estimated=None,
    )
    return MemoryReport(figures, memory)


def _report_estimate(found: EstimatedAssignment) -> MemoryReport:
    memory = map_memory(found.assignment, found.lifetimes)
    sums = add_up_space(memory, 0)
    peak = measure_peak(memory, 0, sums)
    figures = MemoryFigures(
        sizes_from="estimate",
        lifetimes=found.lifetimes.source,
        backend=found.backend,
        spaces=(),
        totals=MemoryTotals(),
        peak=_place_of(peak),
        estimated=measure_estimate(memory, peak, sums, found.temp_bytes.get(0, 0)),
    )
    return MemoryReport(figures, memory, found.temp_bytes, found.flow)


def _place_of(peak: Peak) -> Peak:
    """Say where an estimated peak is; its bytes are in `MemoryEstimate`."""
    return Peak(
        peak.space,
        position=peak.position,
        sequence_length=peak.sequence_length,
        instruction=peak.instruction,
    )


def _find_backend_of(assignment: BufferAssignment) -> Backend | None:
    """Return tpu where a shape is tiled, as only there; None where nothing tells."""
    values = (value for allocation in assignment.allocations for value in allocation.values)
    shapes = {id(value.shape): value.shape for value in values}  # one object a spelling: few
    leaves = (leaf for shape in shapes.values() for leaf in shape.leaves())
    return "tpu" if any(leaf.layout and leaf.layout.tiles for leaf in leaves) else None
