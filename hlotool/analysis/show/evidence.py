"""What is an answer about one thing made from? The analyses of its program."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from msgspec import Struct

from hlotool.analysis.collectives.rows import CollectiveRow
from hlotool.analysis.cost import CostModel, CostReport
from hlotool.analysis.cost.cost import Cost
from hlotool.analysis.findings.finding import Finding
from hlotool.analysis.graph.call_graph import CallGraph
from hlotool.analysis.graph.executions import Executions
from hlotool.analysis.memory.holdings import find_holdings
from hlotool.analysis.memory.report import MemoryReport
from hlotool.analysis.memory.values.value_origin import ValueOrigin, ValueOrigins
from hlotool.analysis.show.names import Names
from hlotool.ir.buffers import Allocation, BufferValue
from hlotool.ir.computation import Computation
from hlotool.ir.instruction import Instruction
from hlotool.ir.measurement import Measurement
from hlotool.ir.module import Module
from hlotool.ir.values import ShapeIndex


class Runs(Struct, frozen=True):
    """How often something runs in one run of the entry: `known`, or more if not `is_exact`."""

    known: int = 0
    is_exact: bool = True

    @property
    def count(self) -> int | None:
        """The runs, None under a loop of unknown trip count."""
        return self.known if self.is_exact else None


class ShowEvidence(Struct, frozen=True, dict=True):
    """The analyses of one program.

    `memory` is None where nothing tells of it, `measured` without a profile.
    """

    module: Module
    graph: CallGraph
    executions: Executions
    costs: CostModel
    cost: CostReport
    memory: MemoryReport | None
    collectives: Sequence[CollectiveRow]
    findings: Sequence[Finding]
    measured: Measurement | None = None

    @cached_property
    def names(self) -> Names:
        """What its things are called."""
        return Names(self.module)

    @cached_property
    def values(self) -> dict[str, list[tuple[Allocation, BufferValue]]]:
        """The values that each instruction defines, with their allocations."""
        found: dict[str, list[tuple[Allocation, BufferValue]]] = {}
        if self.memory is not None:
            for allocation in self.memory.map.assignment.allocations:
                for value in allocation.values:
                    found.setdefault(value.instruction, []).append((allocation, value))
        return found

    @cached_property
    def _origins(self) -> ValueOrigins | None:
        """Finds where values come from."""
        if self.memory is None:
            return None
        return ValueOrigins(self.module, self.memory.map.assignment, self.memory.flow)

    def find_part_origin(self, instruction: Instruction, index: ShapeIndex) -> ValueOrigin | None:
        """Return where a part of a result comes from, None where it has no value of its own."""
        for _, value in self.values.get(instruction.name, ()):
            if value.index == index and self._origins is not None:
                return self._origins.of(value)
        return None

    @cached_property
    def peak_bytes(self) -> dict[int, dict[BufferValue, int]]:
        """What values hold at the peak of each space; a space without a known peak is absent."""
        if self.memory is None:
            return {}
        found = {}
        for space in self.memory.map.colors():
            position = self.memory.peak_of(space).position
            if position is not None:
                held = find_holdings(self.memory.map, position, space)
                found[space] = {one.value: one.occupied_bytes for one in held}
        return found

    @cached_property
    def callers(self) -> dict[Computation, list[Instruction]]:
        """The instructions that name each computation."""
        return self.graph.find_callers()

    @cached_property
    def runs(self) -> dict[Computation, Runs]:
        """How often each computation runs, those inside fusions and reducers as their callers.

        What a reducer or a sort does for each element counts once for each of its runs.
        """
        found: dict[Computation, Runs] = {}
        for one in reversed(self.graph.callees_first):
            if one in self.executions.counts:
                known = self.executions.lower_bound(one)
                found[one] = Runs(known, self.executions.of(one) is not None)
            else:
                above = [found[each.computation] for each in self.callers.get(one, ())]
                found[one] = Runs(
                    sum(each.known for each in above), all(each.is_exact for each in above)
                )
        return found

    @cached_property
    def trips(self) -> dict[Instruction, int | None]:
        """The trip counts of loops, None where unknown."""
        return {loop.instruction: loop.trip_count for loop in self.executions.loops}

    def cost_per_run(self, instruction: Instruction) -> Cost:
        """Return what all executions of an instruction cost in one run of the entry."""
        once = self.costs.of_with_trip_counts(instruction, self.trips)
        runs = self.runs[instruction.computation]
        return once.times(runs.known, is_exact=runs.is_exact)
