"""All that is worth knowing first about one module, from every analysis at once."""

from __future__ import annotations

from msgspec import Struct

from hlotool.analysis.collectives.report import CollectiveTotals, analyze_collectives
from hlotool.analysis.cost import CostReport, analyze_cost, measure_costs
from hlotool.analysis.findings import Evidence, Finding, find_findings
from hlotool.analysis.graph.call_graph import read_call_graph
from hlotool.analysis.graph.executions import count_executions
from hlotool.analysis.memory.figures import MemoryFigures
from hlotool.analysis.memory.report import find_memory_figures
from hlotool.analysis.summary.module_counts import (
    DtypeRow,
    LoopRow,
    ModuleFacts,
    OpcodeRow,
    take_inventory,
)
from hlotool.ir import Module
from hlotool.ir.buffers import BufferAssignment


class Summary(Struct, frozen=True):
    """Answer of `summarize`. `memory` is None for a module that is not scheduled."""

    module: ModuleFacts
    opcodes: tuple[OpcodeRow, ...]
    dtypes: tuple[DtypeRow, ...]
    loops: tuple[LoopRow, ...]
    cost: CostReport
    memory: MemoryFigures | None
    collectives: CollectiveTotals
    findings: tuple[Finding, ...]


def summarize(
    module: Module,
    assignment: BufferAssignment | None = None,
    *,
    with_findings: bool = True,
) -> Summary:
    """Run the analyses that a summary shows; each docstring says what it counts.

    Memory comes from the buffer assignment; without one it is an estimate, and None where
    there is no schedule either. Raises what the analyses raise.
    """
    executions = count_executions(module)
    inventory = take_inventory(module, executions)
    graph = read_call_graph(module)
    costs = measure_costs(module, graph)
    cost = analyze_cost(module, executions, costs)
    collectives = analyze_collectives(module, executions, costs, graph=graph)
    memory = find_memory_figures(module, assignment)
    evidence = Evidence(module, executions, costs, cost, collectives, memory)
    return Summary(
        inventory.module,
        inventory.opcodes,
        inventory.dtypes,
        inventory.loops,
        cost,
        memory,
        collectives.totals,
        find_findings(evidence) if with_findings else (),
    )
