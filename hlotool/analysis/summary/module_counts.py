"""What is in a module, counted, before any question about time or memory?"""

from __future__ import annotations

from msgspec import Struct

from hlotool.analysis.graph.executions import Executions
from hlotool.analysis.summary.dtype_rows import DtypeRow, count_dtypes
from hlotool.analysis.summary.module_facts import ModuleFacts, describe_module
from hlotool.analysis.summary.opcode_rows import OpcodeRow, count_opcodes
from hlotool.analysis.summary.result_counts import ResultCounts
from hlotool.ir import Module


class ModuleCounts(Struct, frozen=True):
    """Answer of `count_module`."""

    module: ModuleFacts
    opcodes: tuple[OpcodeRow, ...]
    dtypes: tuple[DtypeRow, ...]


def count_module(module: Module, executions: Executions) -> ModuleCounts:
    """Count instructions and result bytes of a module; each part says what it counts."""
    results = ResultCounts(module, executions)
    return ModuleCounts(
        describe_module(module, executions),
        count_opcodes(results),
        count_dtypes(results),
    )
