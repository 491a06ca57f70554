"""The figures of one program by name, each worked out when it is first asked for.

Budgets and diffs name figures as the commands do: `buffers.temp_bytes`, `collectives.count`,
the rows of `fusions`. What they are is declared in `figure_fields`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from hlotool.analysis.collectives.report import CollectiveReport, analyze_collectives
from hlotool.analysis.cost.model import CostModel, measure_costs
from hlotool.analysis.cost.report import CostReport, analyze_cost
from hlotool.analysis.findings import Evidence, Finding, find_findings
from hlotool.analysis.fusions.report import FusionReport, find_fusions
from hlotool.analysis.graph.executions import Executions, count_executions
from hlotool.analysis.memory.donation import find_donations
from hlotool.analysis.memory.report import MemoryReport, find_memory
from hlotool.analysis.memory.value_rows import BufferRow, rows_at
from hlotool.analysis.summary.module_counts import Inventory, take_inventory
from hlotool.ir import Module
from hlotool.ir.buffers import BufferAssignment


class Program:
    """One program: its module, its buffer assignment, or both.

    Figures of a part that the dump does not hold are None, and its rows are none at all.
    Asking raises what the analyses raise.
    """

    def __init__(
        self, name: str, module: Module | None, assignment: BufferAssignment | None = None
    ) -> None:
        self.name = name
        self.module = module
        self.assignment = assignment

    @cached_property
    def executions(self) -> Executions | None:
        """How often each computation runs."""
        return count_executions(self.module) if self.module else None

    @cached_property
    def costs(self) -> CostModel | None:
        """The cost of every instruction."""
        return measure_costs(self.module) if self.module else None

    @cached_property
    def cost(self) -> CostReport | None:
        """What one run computes."""
        if self.module is None or self.executions is None:
            return None
        return analyze_cost(self.module, self.executions, self.costs)

    @cached_property
    def inventory(self) -> Inventory | None:
        """What the module is."""
        if self.module is None or self.executions is None:
            return None
        return take_inventory(self.module, self.executions)

    @cached_property
    def memory(self) -> MemoryReport | None:
        """What memory it takes; an estimate where there is no buffer assignment."""
        return find_memory(self.module, self.assignment)

    @cached_property
    def peak_rows(self) -> tuple[BufferRow, ...]:
        """The values of space 0 that hold memory at its peak."""
        report = self.memory
        if report is None or report.figures.peak.position is None:
            return ()
        return tuple(rows_at(report, self.module, report.figures.peak.position, 0))

    @cached_property
    def collectives(self) -> CollectiveReport | None:
        """What crosses the interconnect."""
        if self.module is None or self.executions is None:
            return None
        return analyze_collectives(self.module, self.executions, self.costs)

    @cached_property
    def fusions(self) -> FusionReport | None:
        """What each fusion costs."""
        if self.module is None or self.executions is None:
            return None
        return find_fusions(self.module, self.executions, self.costs)

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What is worth a look."""
        module, executions, costs = self.module, self.executions, self.costs
        cost, collectives = self.cost, self.collectives
        if not (module and executions and costs and cost and collectives):
            return ()
        memory = self.memory.figures if self.memory else None
        evidence = Evidence(module, executions, costs, cost, collectives, memory)
        return find_findings(evidence)

    def record(self, block: str) -> object | None:
        """Return the record that holds the metrics of a block, None where nothing tells."""
        match block:
            case "buffers":
                return self.memory.figures.totals if self.memory else None
            case "buffers.estimated":
                return self.memory.figures.estimated if self.memory else None
            case "collectives":
                return self.collectives.totals if self.collectives else None
            case "fusions":
                return self.fusions.totals if self.fusions else None
            case "cost":
                return self.cost
            case "module":
                return self.inventory.module if self.inventory else None
        raise KeyError(block)

    def metric(self, path: str) -> object:
        """Return a metric, such as `buffers.temp_bytes`; None where unknown."""
        block, _, name = path.rpartition(".")
        record = self.record(block)
        return None if record is None else getattr(record, name)

    def bounds(self, path: str) -> tuple[bool, bool]:
        """Say whether a metric is a lower and an upper bound."""
        record = self.record(path.rpartition(".")[0])
        is_lower = bool(getattr(record, "is_lower_bound", False))
        return is_lower, bool(getattr(record, "is_upper_bound", False))

    def knows_rows(self, path: str) -> bool:
        """Say whether the dump tells of a list at all, empty or not."""
        if path.startswith("buffers") and path != "buffers.donation":
            return self.memory is not None
        return self.module is not None

    def rows(self, path: str) -> Sequence[object]:
        """Return the rows of a list, such as `collectives`."""
        report, inventory = self.memory, self.inventory
        match path:
            case "buffers":
                return self.peak_rows
            case "buffers.spaces":
                return report.figures.spaces if report else ()
            case "buffers.donation":
                return find_donations(self.module) if self.module else ()
            case "collectives":
                return self.collectives.rows if self.collectives else ()
            case "fusions":
                return self.fusions.rows if self.fusions else ()
            case "summary.opcodes":
                return inventory.opcodes if inventory else ()
            case "summary.dtypes":
                return inventory.dtypes if inventory else ()
            case "summary.loops":
                return inventory.loops if inventory else ()
            case "summary.findings":
                return self.findings
        raise KeyError(path)
