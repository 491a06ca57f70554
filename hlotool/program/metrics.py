"""The figures and lists of a program that budgets and diffs may name, as they are declared.

This imports the declarations of every answer: only who asks by name does. Where a program has
each of them is beside `Program`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from hlotool.analysis.collectives.report import COLLECTIVE_ROWS
from hlotool.analysis.collectives.rows import HOST_ROWS, HOST_TOTALS
from hlotool.analysis.collectives.totals import COLLECTIVE_TOTALS
from hlotool.analysis.cost.model import COST
from hlotool.analysis.findings.finding import FINDINGS
from hlotool.analysis.fusions.rows import CUSTOM_CALLS, FUSION_ROWS, FUSION_TOTALS
from hlotool.analysis.measured import MEASURED
from hlotool.analysis.memory.answer import DONATION, ROWS
from hlotool.analysis.memory.figures import ESTIMATED, SPACES, TOTALS
from hlotool.analysis.memory.placed import REPLICATED
from hlotool.analysis.shardings.report import PARAMETERS, RESULTS
from hlotool.analysis.shardings.report import TOTALS as SHARDING_TOTALS
from hlotool.analysis.shardings.rows import RESHARDS
from hlotool.analysis.summary.report import DTYPES, LOOPS, MODULE, OPCODES, STEP_TIME
from hlotool.table import Block, Field, RowList

BLOCKS: Final[Mapping[str, Block]] = {
    "buffers": TOTALS,
    "buffers.estimated": ESTIMATED,
    "collectives": COLLECTIVE_TOTALS,
    "collectives.host": HOST_TOTALS,
    "fusions": FUSION_TOTALS,
    "cost": COST,
    "measured": MEASURED,
    "module": MODULE,
    "step_time": STEP_TIME,
    "shardings": SHARDING_TOTALS,
}
ROW_LISTS: Final[Mapping[str, RowList]] = {
    "buffers": ROWS,
    "buffers.spaces": SPACES,
    "buffers.donation": DONATION,
    "buffers.replicated": REPLICATED,
    "collectives": COLLECTIVE_ROWS,
    "collectives.host": HOST_ROWS,
    "fusions": FUSION_ROWS,
    "fusions.custom_calls": CUSTOM_CALLS,
    "shardings": PARAMETERS,
    "shardings.reshards": RESHARDS,
    "shardings.results": RESULTS,
    "summary.opcodes": OPCODES,
    "summary.dtypes": DTYPES,
    "summary.loops": LOOPS,
    "summary.findings": FINDINGS,
}
METRICS: Final[Mapping[str, Field]] = {
    f"{prefix}.{field.name}": replace(field, name=f"{prefix}.{field.name}")
    for prefix, block in BLOCKS.items()
    for field in block.fields
}
