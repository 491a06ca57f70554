"""All that the page of `hlotool report` shows of one program, but for its tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from hlotool.program.page.memory import MemoryChart, chart_memory
from hlotool.program.page.panels import Panel, make_panels
from hlotool.program.page.tree import Tree, grow_trees
from hlotool.program.page.work import WorkChart, chart_work
from hlotool.program.program import Program


class Page(Struct, frozen=True):
    """What charts are drawn from; `memory` and `trees` are None where nothing tells of memory.

    Panels stand under what the program is called, which is nothing where there is only one.
    """

    memory: MemoryChart | None
    trees: Mapping[str, Tree] | None
    work: WorkChart
    panels: Mapping[str, Mapping[str, Panel]]


def make_page(program: Program, limit_bytes: int | None = None) -> Page:
    """Return what a page draws of a program; `limit_bytes` is the memory that it must fit."""
    memory = chart_memory(program, limit_bytes)
    work = chart_work(program)
    return Page(
        memory,
        grow_trees(program.peak_rows) if memory else None,
        work,
        {"": make_panels(_list_names(program, work), program)},
    )


def _list_names(program: Program, work: WorkChart) -> Iterator[str]:
    """Name the instructions that tables and charts name, those that matter most first."""
    yield from (one.instruction for one in program.findings if one.instruction)
    yield from (row.instruction for row in program.peak_rows[:200])
    yield from (row.name for row in program.collectives.rows)
    yield from (row.name for row in program.fusions.rows)
    yield from (step.first for step in work.steps)
    yield from (row.instruction for row in program.peak_rows)
