"""What runs in a program, and what does it cost? Instructions, fusions and custom calls."""

from __future__ import annotations

from functools import cached_property

from msgspec.structs import replace

from hlotool.analysis.cost.model import CostModel, measure_costs
from hlotool.analysis.cost.report import CostReport, analyze_cost
from hlotool.analysis.fusions.call_census import CustomCallRow, count_custom_calls
from hlotool.analysis.fusions.call_totals import CustomCallTotals, add_up_calls
from hlotool.analysis.fusions.measured import add_measured_calls, add_measured_times
from hlotool.analysis.fusions.missed import MissedRow, find_missed
from hlotool.analysis.fusions.outside import OutsideFusions, measure_outside
from hlotool.analysis.fusions.recompute import RecomputeRow, find_recomputed
from hlotool.analysis.fusions.report import FusionReport, find_fusions
from hlotool.analysis.fusions.roofline import estimate_call_times, estimate_fusions
from hlotool.analysis.fusions.rows import FusionRow
from hlotool.analysis.graph.call_graph import CallGraph, read_call_graph
from hlotool.analysis.graph.executions import Executions, count_executions
from hlotool.analysis.graph.fingerprint import Fingerprints
from hlotool.analysis.measured.facts import MeasuredFacts, describe_runs
from hlotool.analysis.measured.instructions import MeasuredInstruction, rank_instructions
from hlotool.analysis.summary.measured import measure_opcodes
from hlotool.analysis.summary.module_counts import ModuleCounts, count_module
from hlotool.program.call_rules import compile_call_rules
from hlotool.program.given import GivenProgram


class ProgramWork(GivenProgram):
    """What a program does on one device, and how long a profiler saw it take.

    Raises InputError where there is no module, and what the analyses raise.
    """

    @cached_property
    def graph(self) -> CallGraph:
        """Which computations call which."""
        return read_call_graph(self.expect_module())

    @cached_property
    def prints(self) -> Fingerprints:
        """Which computations are the same."""
        return Fingerprints(self.graph)

    @cached_property
    def executions(self) -> Executions:
        """How often each computation runs."""
        return count_executions(self.expect_module(), self.graph)

    @cached_property
    def costs(self) -> CostModel:
        """The cost of every instruction."""
        find_stated = compile_call_rules(self.assumptions.call_rules)
        return measure_costs(self.expect_module(), self.graph, find_stated)

    @cached_property
    def cost(self) -> CostReport:
        """What one run computes."""
        return analyze_cost(self.expect_module(), self.executions, self.costs)

    @cached_property
    def counts(self) -> ModuleCounts:
        """What the module is, and what is in it."""
        found = count_module(self.expect_module(), self.executions)
        if self.measured is None:
            return found
        opcodes = measure_opcodes(found.opcodes, self.executions, self.measured)
        return replace(found, opcodes=opcodes)

    @property
    def measured_runs(self) -> MeasuredFacts | None:
        """How often a profiler saw it run, and how long; None without a profile."""
        return describe_runs(self.measured)

    @cached_property
    def measured_instructions(self) -> tuple[MeasuredInstruction, ...]:
        """What takes most of the measured time; nothing without a profile."""
        return rank_instructions(self.executions, self.measured) if self.measured else ()

    @cached_property
    def outside_fusions(self) -> OutsideFusions | None:
        """How much of the measured time lies outside fusions; None where none was measured."""
        return measure_outside(self.measured_instructions)

    @cached_property
    def fusions(self) -> FusionReport:
        """What each fusion costs; with a chip, how long it takes."""
        return self._find_fusions(tells_places=False)

    @cached_property
    def fusions_by_place(self) -> tuple[FusionRow, ...]:
        """The same rows, those of equal bodies apart where they come from different places."""
        return self._find_fusions(tells_places=True).rows

    def _find_fusions(self, *, tells_places: bool) -> FusionReport:
        found = find_fusions(
            self.graph, self.prints, self.executions, self.costs, tells_places=tells_places
        )
        if self.measured is not None:
            found = replace(found, rows=add_measured_times(found.rows, self.measured))
        if self.machine is None or self.machine.chip is None:
            return found
        return estimate_fusions(found, self.machine.chip)

    @cached_property
    def custom_calls(self) -> tuple[CustomCallRow, ...]:
        """Which custom calls run, and what is known of their cost; with a chip, how long."""
        return self._count_custom_calls(tells_places=False)

    @cached_property
    def custom_calls_by_place(self) -> tuple[CustomCallRow, ...]:
        """The same rows, those alike apart where they come from different places."""
        return self._count_custom_calls(tells_places=True)

    def _count_custom_calls(self, *, tells_places: bool) -> tuple[CustomCallRow, ...]:
        found = count_custom_calls(
            self.graph, self.executions, self.costs, tells_places=tells_places
        )
        if self.measured is not None:
            found = add_measured_calls(found, self.measured)
        machine = self.machine
        if machine is None or machine.chip is None:
            return found
        return estimate_call_times(found, machine.chip)

    @cached_property
    def custom_call_totals(self) -> CustomCallTotals:
        """What all custom calls cost together."""
        return add_up_calls(self.custom_calls, self.cost)

    def find_missed(self, least_bytes: int) -> tuple[MissedRow, ...]:
        """Return the operations outside fusions that move so much in one run."""
        return find_missed(self.executions, self.costs, least_bytes)

    @cached_property
    def recomputed(self) -> tuple[RecomputeRow, ...]:
        """Which expensive operations are made several times."""
        return find_recomputed(self.graph, self.prints, self.executions, self.costs)
