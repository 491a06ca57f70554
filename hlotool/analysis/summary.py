"""All that is worth knowing first about one module, from every analysis at once."""

from __future__ import annotations

from dataclasses import dataclass

from hlotool.analysis.executions import count_executions
from hlotool.analysis.inventory import DtypeRow, LoopRow, ModuleFacts, OpcodeRow, take_inventory
from hlotool.ir import Module


@dataclass(frozen=True, slots=True)
class Summary:
    """Answer of `summarize`."""

    module: ModuleFacts
    opcodes: tuple[OpcodeRow, ...]
    dtypes: tuple[DtypeRow, ...]
    loops: tuple[LoopRow, ...]


def summarize(module: Module) -> Summary:
    """Run the analyses that a summary shows; each docstring says what it counts."""
    executions = count_executions(module)
    inventory = take_inventory(module, executions)
    return Summary(inventory.module, inventory.opcodes, inventory.dtypes, inventory.loops)
