"""Which figures of a program budgets and diffs may name, and where each is found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.collectives.answer import COLLECTIVE_ROWS, COLLECTIVE_TOTALS
from hlotool.analysis.cost.report import COST
from hlotool.analysis.findings.finding import FINDINGS
from hlotool.analysis.fusions.answer import FUSION_ROWS, FUSION_TOTALS
from hlotool.analysis.memory import answer as buffers_fields
from hlotool.analysis.memory import figures as memory_fields
from hlotool.analysis.summary.answer import DTYPES, LOOPS, MODULE, OPCODES
from hlotool.fields import Block, Field, RowList

if TYPE_CHECKING:  # a program reads its figures from here
    from hlotool.program.program import Program


class NamedBlock(Struct, frozen=True):
    """A record of metrics; without a module it is unknown, unless it is about memory."""

    block: Block
    read: Callable[[Program], object | None]
    needs_module: bool = True


class NamedRows(Struct, frozen=True):
    """A list of rows; without a module it is unknown, unless it is about memory."""

    row_list: RowList
    read: Callable[[Program], Sequence[object]]
    needs_module: bool = True


def _memory(name: str) -> Callable[[Program], object | None]:
    return lambda program: getattr(program.memory.figures, name) if program.memory else None


BLOCKS: Final[Mapping[str, NamedBlock]] = {
    "buffers": NamedBlock(memory_fields.TOTALS, _memory("totals"), needs_module=False),
    "buffers.estimated": NamedBlock(
        memory_fields.ESTIMATED, _memory("estimated"), needs_module=False
    ),
    "collectives": NamedBlock(COLLECTIVE_TOTALS, lambda program: program.collectives.totals),
    "fusions": NamedBlock(FUSION_TOTALS, lambda program: program.fusions.totals),
    "cost": NamedBlock(COST, lambda program: program.cost),
    "module": NamedBlock(MODULE, lambda program: program.counts.module),
}

METRICS: Final[Mapping[str, Field]] = {
    f"{prefix}.{field.name}": replace(field, name=f"{prefix}.{field.name}")
    for prefix, source in BLOCKS.items()
    for field in source.block.fields
}

ROWS: Final[Mapping[str, NamedRows]] = {
    "buffers": NamedRows(
        buffers_fields.ROWS, lambda program: program.peak_rows, needs_module=False
    ),
    "buffers.spaces": NamedRows(
        memory_fields.SPACES,
        lambda program: program.memory.figures.spaces if program.memory else (),
        needs_module=False,
    ),
    "buffers.donation": NamedRows(buffers_fields.DONATION, lambda program: program.donations),
    "collectives": NamedRows(COLLECTIVE_ROWS, lambda program: program.collectives.rows),
    "fusions": NamedRows(FUSION_ROWS, lambda program: program.fusions.rows),
    "summary.opcodes": NamedRows(OPCODES, lambda program: program.counts.opcodes),
    "summary.dtypes": NamedRows(DTYPES, lambda program: program.counts.dtypes),
    "summary.loops": NamedRows(LOOPS, lambda program: program.counts.loops),
    "summary.findings": NamedRows(FINDINGS, lambda program: program.findings),
}

ROW_LISTS: Final[Mapping[str, RowList]] = {path: source.row_list for path, source in ROWS.items()}
