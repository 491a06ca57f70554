"""All that is worth knowing first about one module, from every analysis at once."""

from __future__ import annotations

from collections.abc import Callable

from hlotool.analysis.call_graph import read_call_graph
from hlotool.analysis.collectives import CollectiveTotals, analyze_collectives
from hlotool.analysis.cost import CostReport, analyze_cost, measure_costs
from hlotool.analysis.executions import count_executions
from hlotool.analysis.findings import Evidence, Finding, find_findings
from hlotool.analysis.inventory import DtypeRow, LoopRow, ModuleFacts, OpcodeRow, take_inventory
from hlotool.analysis.memory_records import MemoryFigures
from hlotool.ir import Module
from hlotool.ir.buffers import BufferAssignment
from hlotool.records import record


@record
class Summary:
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
    find_memory: Callable[[], MemoryFigures | None] | None = None,
) -> Summary:
    """Run the analyses that a summary shows; each docstring says what it counts.

    Memory comes from the buffer assignment; without one it is an estimate, and None where
    there is no schedule either. `find_memory` gives its figures where somebody is already
    making them, and is asked last. Raises what the analyses raise.
    """
    executions = count_executions(module)
    inventory = take_inventory(module, executions)
    graph = read_call_graph(module)
    costs = measure_costs(module, graph)
    cost = analyze_cost(module, executions, costs)
    collectives = analyze_collectives(module, executions, costs, graph=graph)
    memory = find_memory() if find_memory else _find_memory(module, assignment)
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


def _find_memory(module: Module, assignment: BufferAssignment | None) -> MemoryFigures | None:
    from hlotool.analysis.memory import find_memory_figures  # noqa: PLC0415  start-up time

    return find_memory_figures(module, assignment)
