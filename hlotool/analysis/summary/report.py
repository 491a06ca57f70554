"""What is worth knowing first about one module, from every analysis?"""

from __future__ import annotations

from msgspec import Struct

from hlotool.analysis.collectives.host_rows import HostTotals
from hlotool.analysis.collectives.totals import CollectiveTotals
from hlotool.analysis.cost import CostReport
from hlotool.analysis.findings import Finding
from hlotool.analysis.measured.facts import MeasuredFacts
from hlotool.analysis.memory.figures import MemoryFigures
from hlotool.analysis.summary.dtype_rows import DtypeRow
from hlotool.analysis.summary.loop_rows import LoopRow
from hlotool.analysis.summary.module_facts import ModuleFacts
from hlotool.analysis.summary.opcode_rows import OpcodeRow


class Summary(Struct, frozen=True):
    """The answer of `hlotool summary`.

    `memory` is None where nothing tells of it: `memory_unknown` is the reason.
    """

    module: ModuleFacts
    opcodes: tuple[OpcodeRow, ...]
    dtypes: tuple[DtypeRow, ...]
    loops: tuple[LoopRow, ...]
    cost: CostReport
    memory: MemoryFigures | None
    collectives: CollectiveTotals
    host: HostTotals
    findings: tuple[Finding, ...]
    measured: MeasuredFacts | None = None
    memory_unknown: str = ""
