"""Which figures of a program budgets and diffs may name, and where each is found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from hlotool.analysis.collectives.answer import COLLECTIVE_ROWS, COLLECTIVE_TOTALS
from hlotool.analysis.collectives.host_rows import HOST_ROWS, HOST_TOTALS
from hlotool.analysis.cost.report import COST
from hlotool.analysis.findings.finding import FINDINGS
from hlotool.analysis.fusions.answer import CUSTOM_CALLS, FUSION_ROWS, FUSION_TOTALS
from hlotool.analysis.measured.facts import MEASURED
from hlotool.analysis.memory.answer import DONATION, ROWS
from hlotool.analysis.memory.figures import ESTIMATED, SPACES, TOTALS
from hlotool.analysis.summary.answer import DTYPES, LOOPS, MODULE, OPCODES
from hlotool.analysis.summary.run_estimate import RUN_TIME
from hlotool.fields import Block, RowList


class NamedBlock(Struct, frozen=True):
    """A record of metrics, and the attributes of `Program` that lead to it."""

    block: Block
    found_at: str


class NamedRows(Struct, frozen=True):
    """A list of rows, and the attributes of `Program` that lead to it."""

    row_list: RowList
    found_at: str


BLOCKS: Final[Mapping[str, NamedBlock]] = {
    "buffers": NamedBlock(TOTALS, "memory.figures.totals"),
    "buffers.estimated": NamedBlock(ESTIMATED, "memory.figures.estimated"),
    "collectives": NamedBlock(COLLECTIVE_TOTALS, "collectives.totals"),
    "collectives.host": NamedBlock(HOST_TOTALS, "collectives.host.totals"),
    "fusions": NamedBlock(FUSION_TOTALS, "fusions.totals"),
    "cost": NamedBlock(COST, "cost"),
    "measured": NamedBlock(MEASURED, "measured_runs"),
    "module": NamedBlock(MODULE, "counts.module"),
    "run_time": NamedBlock(RUN_TIME, "run_estimate"),
}

LISTS: Final[Mapping[str, NamedRows]] = {
    "buffers": NamedRows(ROWS, "peak_rows"),
    "buffers.spaces": NamedRows(SPACES, "memory.figures.spaces"),
    "buffers.donation": NamedRows(DONATION, "donation_gains"),
    "collectives": NamedRows(COLLECTIVE_ROWS, "collectives.rows"),
    "collectives.host": NamedRows(HOST_ROWS, "collectives.host.rows"),
    "fusions": NamedRows(FUSION_ROWS, "fusions.rows"),
    "fusions.custom_calls": NamedRows(CUSTOM_CALLS, "custom_calls"),
    "summary.opcodes": NamedRows(OPCODES, "counts.opcodes"),
    "summary.dtypes": NamedRows(DTYPES, "counts.dtypes"),
    "summary.loops": NamedRows(LOOPS, "loops"),
    "summary.findings": NamedRows(FINDINGS, "findings"),
}

ROW_LISTS: Final[Mapping[str, RowList]] = {path: named.row_list for path, named in LISTS.items()}
