"""How long did the instructions of each opcode take in a profile?"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from hlotool.analysis.graph.executions import Executions
from hlotool.analysis.measured.join import join_times
from hlotool.analysis.summary.opcode_rows import OpcodeRow
from hlotool.ir.measurement import Measurement


def measure_opcodes(
    rows: Iterable[OpcodeRow], executions: Executions, measured: Measurement
) -> tuple[OpcodeRow, ...]:
    """Set what was measured of the executed instructions of every opcode."""
    names: dict[str, list[str]] = {}
    for computation in executions.executed:
        for instruction in computation.instructions:
            names.setdefault(instruction.opcode, []).append(instruction.name)
    return tuple(_add(row, names.get(row.opcode, []), measured) for row in rows)


def _add(row: OpcodeRow, names: Iterable[str], measured: Measurement) -> OpcodeRow:
    time = join_times(measured, names)
    return replace(row, measured_count=time.count, measured_seconds=time.seconds)
