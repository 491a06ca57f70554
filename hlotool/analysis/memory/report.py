"""How much memory does a program take? One call for every command."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from hlotool.analysis.dataflow.dataflow import Dataflow
from hlotool.analysis.dataflow.lifetimes import add_lifetimes
from hlotool.analysis.dataflow.schedule import find_problem
from hlotool.analysis.graph.backend import Backend, find_backend
from hlotool.analysis.graph.space_names import find_space_name
from hlotool.analysis.memory.belonging import check_belonging
from hlotool.analysis.memory.estimate.assignment import EstimatedAssignment, estimate_assignment
from hlotool.analysis.memory.estimate.obstacle import find_obstacle
from hlotool.analysis.memory.figures import MemoryEstimate, MemoryFigures, MemoryTotals, Peak
from hlotool.analysis.memory.memory_map import MemoryMap, map_memory
from hlotool.analysis.memory.space_figures import (
    add_all_spaces,
    measure_estimate,
    measure_peak,
    measure_space,
)
from hlotool.analysis.memory.space_sums import add_up_space
from hlotool.analysis.memory.unplaced import check_placed
from hlotool.analysis.memory.values.definers import are_told_apart
from hlotool.errors import InputError
from hlotool.ir.buffers import BufferAssignment
from hlotool.ir.module import Module


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
