"""All that is worth knowing first about one module, from every analysis at once."""

from __future__ import annotations

from dataclasses import dataclass

from hlotool.analysis.cost.model import measure_costs
from hlotool.analysis.cost.report import CostReport, analyze_cost
from hlotool.analysis.executions import count_executions
from hlotool.analysis.inventory import DtypeRow, LoopRow, ModuleFacts, OpcodeRow, take_inventory
from hlotool.analysis.memory import MemoryReport, find_memory
from hlotool.ir import Module
from hlotool.ir.buffers import BufferAssignment


@dataclass(frozen=True, slots=True)
class Summary:
    """Answer of `summarize`. `memory` is None for a module that is not scheduled."""

    module: ModuleFacts
    opcodes: tuple[OpcodeRow, ...]
    dtypes: tuple[DtypeRow, ...]
    loops: tuple[LoopRow, ...]
    cost: CostReport
    memory: MemoryReport | None


def summarize(module: Module, assignment: BufferAssignment | None = None) -> Summary:
    """Run the analyses that a summary shows; each docstring says what it counts.

    Memory comes from the buffer assignment; without one it is an estimate, and None where
    there is no schedule either. Raises what the analyses raise.
    """
    executions = count_executions(module)
    inventory = take_inventory(module, executions)
    costs = measure_costs(module)
    return Summary(
        inventory.module,
        inventory.opcodes,
        inventory.dtypes,
        inventory.loops,
        analyze_cost(module, executions, costs),
        find_memory(module, assignment),
    )
