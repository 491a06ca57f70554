"""What is worth knowing first about one module, from every analysis?"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from hlotool.analysis.collectives.host_rows import HostTotals
from hlotool.analysis.collectives.rows import CollectiveRow
from hlotool.analysis.collectives.totals import CollectiveTotals
from hlotool.analysis.cost import CostReport
from hlotool.analysis.findings import Finding
from hlotool.analysis.measured.facts import MeasuredFacts
from hlotool.analysis.measured.instructions import MeasuredInstruction
from hlotool.analysis.memory.figures import MemoryFigures
from hlotool.analysis.memory.headroom import Headroom
from hlotool.analysis.summary.compilation import Compilation
from hlotool.analysis.summary.dtype_rows import DtypeRow
from hlotool.analysis.summary.loop_rows import LoopRow
from hlotool.analysis.summary.module_facts import ModuleFacts
from hlotool.analysis.summary.opcode_rows import OpcodeRow
from hlotool.analysis.summary.run_bound import RunBound
from hlotool.analysis.summary.run_estimate import RunEstimate


class Summary(Struct, frozen=True):
    """The answer of `hlotool summary`.

    `memory` is None where nothing tells of it: `memory_unknown` is the reason. `bound` and
    `run_time` are None without a chip, `headroom` without a limit. `instructions` are those that a
    profile has times of, the longest first.
    """

    module: ModuleFacts
    compilation: Compilation
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
    bound: RunBound | None = None
    headroom: Headroom | None = None
    worst_collective: CollectiveRow | None = None
    instructions: tuple[MeasuredInstruction, ...] = ()
    run_time: RunEstimate | None = None


def find_worst(rows: Sequence[CollectiveRow]) -> CollectiveRow | None:
    """Return the collective of which most is exposed, in time or else in bytes; None if none is."""
    by_time = [row for row in rows if row.exposed_seconds]
    if by_time:
        return max(by_time, key=lambda row: row.exposed_seconds or 0)
    by_bytes = [row for row in rows if row.exposed_wire_bytes_per_run]
    return max(by_bytes, key=lambda row: row.exposed_wire_bytes_per_run or 0, default=None)
