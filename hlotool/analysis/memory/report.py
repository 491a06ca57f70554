"""How much memory a program takes: `analyze_memory`, one call for every command, and its report.

With a buffer assignment, its own allocations count; without one, those of an estimate. All sums are
about one memory space and leave thread-local memory out; `all_spaces_bytes` mixes fast and slow
memory, and is there to be compared with XLA's own total alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Final

from msgspec import Struct
from msgspec.structs import asdict, replace

from hlotool.analysis.cost.chips import Chip
from hlotool.analysis.dataflow.live_ranges import add_live_ranges
from hlotool.analysis.dataflow.schedule import find_problem
from hlotool.analysis.dataflow.values import Dataflow
from hlotool.analysis.graph.backend import Backend, find_backend, find_space_name
from hlotool.analysis.memory import estimate
from hlotool.analysis.memory.check_assignment import check_belonging, check_placed
from hlotool.analysis.memory.figures import (
    Fit,
    MemoryEstimate,
    MemoryFigures,
    MemoryTotals,
    Peak,
    SpaceRow,
)
from hlotool.analysis.memory.memory_map import (
    MemoryMap,
    list_holdings,
    padding_bytes_of,
    unpadded_bytes_of,
)
from hlotool.analysis.memory.value_origins import ValueOrigins
from hlotool.errors import InputError
from hlotool.hlo import Module
from hlotool.hlo.buffers import BufferAssignment


class MemoryReport(Struct, frozen=True, dict=True):
    """All figures about a module's memory, and the map they were read off.

    `figures` are mostly about space 0; the methods give those of another. `module` is the
    program's text, None without one. `temp_bytes` is what temporary values of an estimate take in
    each space, `flow` what it was made of.
    """

    figures: MemoryFigures
    map: MemoryMap
    module: Module | None
    temp_bytes: Mapping[int, int | None] = {}
    flow: Dataflow | None = None

    @cached_property
    def origins(self) -> ValueOrigins:
        """Finds where values come from, for all lists of them: a definer is looked up once."""
        return ValueOrigins(self.module, self.map.assignment, self.flow)

    @property
    def values(self) -> Dataflow | None:
        """The values of the module's text; None without one that is in the order it runs in."""
        return None if self.module is None or find_problem(self.module) else self.origins.flow

    def peak_of(self, color: int) -> Peak:
        """Return the peak of a space."""
        found = measure_peak(self.map, color)
        return _place_of(found) if self.figures.estimated else found

    def estimated_of(self, color: int) -> MemoryEstimate | None:
        """Return the estimate of a space, None where an assignment tells."""
        if self.figures.estimated is None:
            return None
        peak = measure_peak(self.map, color)
        return measure_estimate(self.map, peak, self.temp_bytes.get(color, 0))

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
    """Return the memory figures of a program (docs/memory.md), in bytes.

    With an assignment, its own allocations and, where printed, its live ranges; live ranges
    are derived from the module's schedule otherwise, if its names tell the values apart.
    Without one, an estimate. Thread-local memory is left out of every sum but the reported one.
    Raises InputError where the module that would have to tell is not scheduled or has sizes
    unknown, and ParseError where the assignment belongs to another module, or is cut short.
    """
    if assignment is None:
        if module is None:
            raise ValueError("neither a module nor a buffer assignment")
        if obstacle := estimate.find_obstacle(module):
            raise InputError(f"{module.source.name}: {obstacle.advice}")
        return _report_estimate(estimate.estimate_assignment(module), module)
    if module is None:
        backend = _find_backend_of(assignment)
    else:
        check_belonging(module, assignment)
        check_placed(module, assignment)
        backend = find_backend(module)
    # Derived live ranges are looked up by the names that the assignment has for instructions.
    is_told = module is not None and _are_told_apart(module, assignment)
    memory = MemoryMap(*add_live_ranges(assignment, module if is_told else None))
    spaces = tuple(measure_space(memory, color, backend) for color in memory.colors())
    figures = MemoryFigures(
        sizes_from="buffer-assignment",
        live_ranges_from=memory.live_ranges.source if memory.live_ranges else None,
        backend=backend,
        spaces=spaces,
        totals=add_all_spaces(memory, spaces[0]),
        peak=measure_peak(memory, 0),
        estimated=None,
    )
    return MemoryReport(figures, memory, module)


def find_memory(module: Module | None, assignment: BufferAssignment | None) -> MemoryReport | None:
    """Return the memory figures, None for a module without assignment that cannot be estimated."""
    if assignment is None:
        is_known = module is not None and estimate.find_obstacle(module) is None
        return analyze_memory(module, None) if is_known else None
    if assignment.live_ranges is None and module is not None and find_problem(module):
        # Sizes are known without it, live ranges by nothing.
        return replace(analyze_memory(None, assignment), module=module)
    return analyze_memory(module, assignment)


def _are_told_apart(module: Module, assignment: BufferAssignment) -> bool:
    """Whether each value outside thread-local memory names one instruction, not several."""
    repeated = module.repeated_names
    return not repeated or all(
        value.instruction not in repeated
        for allocation in assignment.allocations
        if not allocation.is_thread_local
        for value in allocation.values
    )


def _find_backend_of(assignment: BufferAssignment) -> Backend | None:
    """Return tpu where a shape is tiled, as only there; None where nothing tells."""
    values = (value for allocation in assignment.allocations for value in allocation.values)
    shapes = {id(value.shape): value.shape for value in values}  # one object a spelling: few
    leaves = (leaf for shape in shapes.values() for leaf in shape.leaves())
    return "tpu" if any(leaf.layout and leaf.layout.tiles for leaf in leaves) else None


def _report_estimate(found: estimate.EstimatedAssignment, module: Module) -> MemoryReport:
    memory = MemoryMap(found.assignment, found.live_ranges)
    peak = measure_peak(memory, 0)
    figures = MemoryFigures(
        sizes_from="estimate",
        live_ranges_from=found.live_ranges.source,
        backend=found.backend,
        spaces=(),
        totals=MemoryTotals(),
        peak=_place_of(peak),
        estimated=measure_estimate(memory, peak, found.temp_bytes.get(0, 0)),
    )
    return MemoryReport(figures, memory, module, found.temp_bytes, found.flow)


class SpaceSums(Struct, frozen=True):
    """Bytes of all allocations of a space, and of those that hold something; without peaks.

    `argument` and `output` both count `alias`, the donated parameters; thread-local memory
    is in none. The names are those of `SpaceRow`, which is made of them.
    """

    allocated_bytes: int
    argument_bytes: int
    output_bytes: int
    alias_bytes: int
    temp_bytes: int
    constant_bytes: int


def add_up_space(memory: MemoryMap, color: int) -> SpaceSums:
    """Return the sums of a space."""
    placed = list(memory.placed(color))
    return SpaceSums(
        allocated_bytes=sum(one.size_bytes for one in placed),
        argument_bytes=sum(one.size_bytes for one in placed if one.parameter is not None),
        output_bytes=sum(one.size_bytes for one in placed if one.is_live_out),
        alias_bytes=sum(one.size_bytes for one in placed if one.is_donated),
        temp_bytes=sum(one.size_bytes for one in placed if one.allocation_type == "temp"),
        constant_bytes=sum(one.size_bytes for one in placed if one.is_constant),
    )


def measure_space(memory: MemoryMap, color: int, backend: Backend | None) -> SpaceRow:
    """Return the figures of one space.

    Class sums follow CompiledMemoryStats (xla/pjrt/pjrt_executable.cc). Fragmentation is, over
    temp allocations, the size that is never in use at once.
    """
    peak = measure_peak(memory, color)
    temps = [one for one in memory.placed(color) if one.allocation_type == "temp"]
    measured = ((one, memory.measure(one)) for one in temps)
    unused = (one.size_bytes - found[0].peak()[0] for one, found in measured if found)
    return SpaceRow(
        space=color,
        name=find_space_name(backend, color),
        **asdict(add_up_space(memory, color)),
        peak_bytes=peak.bytes,
        peak_position=peak.position,
        peak_instruction=peak.instruction,
        temp_peak_bytes=peak.temp_peak_bytes,
        temp_peak_position=peak.temp_peak_position,
        reserved_peak_bytes=peak.reserved_peak_bytes,
        fragmentation_bytes=sum(unused) if memory.live_ranges else None,
        padding_bytes=_padding_bytes(memory, color, peak.position),
    )


def _padding_bytes(memory: MemoryMap, color: int, position: int | None) -> int | None:
    """Add up the padding of the values that hold bytes at a position."""
    if position is None:
        return None
    padding = [padding_bytes_of(one.value) for one in list_holdings(memory, position, color)]
    known = [one for one in padding if one is not None]
    return sum(known) if len(known) == len(padding) else None


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


def measure_peak(memory: MemoryMap, color: int) -> Peak:
    """Return where a space is fullest; without live ranges nothing but the space is known."""
    live = memory.assignment.live_ranges
    curve, temps = memory.curve(color), memory.curve(color, "temp")
    if curve is None or temps is None or memory.live_ranges is None:
        return Peak(color)
    most, position = curve.peak()
    temp_most, temp_position = temps.peak()
    sums = add_up_space(memory, color)
    at = live.peak_position if live else None
    entries = live.peak_entries if live and at is not None else None
    return Peak(
        space=color,
        bytes=most,
        position=position,
        sequence_length=memory.live_ranges.end,
        instruction=memory.live_ranges.instruction_at(position),
        temp_bytes=temps.at(position),
        temp_peak_bytes=temp_most,
        temp_peak_position=temp_position,
        reserved_peak_bytes=sums.allocated_bytes - sums.temp_bytes + temp_most,
        xla_position=at,
        xla_bytes=None if entries is None else sum(entry.size_bytes for entry in entries),
        bytes_at_xla_position=None if at is None else curve.at(at),
    )


def _place_of(peak: Peak) -> Peak:
    """Say where an estimated peak is; its bytes are in `MemoryEstimate`."""
    return Peak(
        peak.space,
        position=peak.position,
        sequence_length=peak.sequence_length,
        instruction=peak.instruction,
    )


# What the estimate gives an array that has an unknown dimension.
_UNSURE_BYTES: Final = frozenset((0, estimate.HOST_ARRAY_BYTES))


def measure_estimate(memory: MemoryMap, peak: Peak, temp_bytes: int | None) -> MemoryEstimate:
    """Return the figures of a space in an estimated assignment, whose peak is known.

    `temp_bytes` is what all its temp allocations take together, None where unknown: in the
    estimate each of them is apart, at its full size, and shares nothing with the others.
    """
    sums = add_up_space(memory, peak.space)
    others = sums.allocated_bytes - sums.temp_bytes
    return MemoryEstimate(
        allocated_bytes=None if temp_bytes is None else others + temp_bytes,
        peak_bytes=peak.bytes or 0,
        position=peak.position or 0,
        sequence_length=peak.sequence_length or 0,
        instruction=peak.instruction,
        argument_bytes=sums.argument_bytes,
        output_bytes=sums.output_bytes,
        alias_bytes=sums.alias_bytes,
        temp_peak_bytes=peak.temp_peak_bytes or 0,
        is_lower_bound=any(
            value.size_bytes in _UNSURE_BYTES and unpadded_bytes_of(value) is None
            for allocation in memory.placed(peak.space)
            for value in allocation.values
        ),
    )


def measure_fit(report: MemoryReport, limit_bytes: int, chip: Chip | None = None) -> Fit:
    """Compare what space 0 reserves with a limit; the program's code is not in a dump.

    `chip` is named where its memory is the limit.
    """
    name = chip.name if chip and chip.hbm_bytes == limit_bytes else None
    estimated = report.figures.estimated
    allocated = (estimated or report.figures.totals).allocated_bytes
    left = fits = None
    if allocated is not None:
        left = limit_bytes - allocated
        fits = left >= 0
        if estimated:
            accuracy = estimate.find_accuracy("allocated", report.figures.backend)
            is_near = accuracy is not None and abs(left) <= accuracy.margin_bytes(allocated)
            if is_near or (fits and estimated.is_lower_bound):
                fits = None
    return Fit(limit_bytes, allocated, left, fits, estimated is not None, name)
