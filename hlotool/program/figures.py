"""Which figures budgets and diffs may name, with the declarations of the commands' own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from hlotool.analysis.collectives import answer_fields as collectives_fields
from hlotool.analysis.collectives.rows_fields import ROWS as COLLECTIVE_ROWS
from hlotool.analysis.cost.report import COST
from hlotool.analysis.findings.fields import FINDINGS
from hlotool.analysis.fusions import answer_fields as fusions_fields
from hlotool.analysis.memory import figures_fields as memory_fields
from hlotool.analysis.memory import value_rows_fields as buffers_fields
from hlotool.analysis.summary.answer_fields import DTYPES, LOOPS, MODULE, OPCODES
from hlotool.fields import Block, Field, RowList

# The record of each is what `Program.record` returns.
BLOCKS: Final[Mapping[str, Block]] = {
    "buffers": memory_fields.TOTALS,
    "buffers.estimated": memory_fields.ESTIMATED,
    "collectives": collectives_fields.TOTALS,
    "fusions": fusions_fields.TOTALS,
    "cost": COST,
    "module": MODULE,
}

METRICS: Final[Mapping[str, Field]] = {
    f"{prefix}.{field.name}": replace(field, name=f"{prefix}.{field.name}")
    for prefix, block in BLOCKS.items()
    for field in block.fields
}

# The rows of each are what `Program.rows` returns.
ROW_LISTS: Final[Mapping[str, RowList]] = {
    "buffers": buffers_fields.ROWS,
    "buffers.spaces": memory_fields.SPACES,
    "buffers.donation": buffers_fields.DONATION,
    "collectives": COLLECTIVE_ROWS,
    "fusions": fusions_fields.ROWS,
    "summary.opcodes": OPCODES,
    "summary.dtypes": DTYPES,
    "summary.loops": LOOPS,
    "summary.findings": FINDINGS,
}
