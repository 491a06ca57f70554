"""What a click on a name tells: the answer of `hlotool show`, short.

All that the page of `hlotool report` shows of one program, but for its tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from msgspec import Struct

from hlotool.analysis.origin import write_short_source
from hlotool.analysis.show.report import ShowReport
from hlotool.errors import UsageError
from hlotool.page.charts import MemoryChart, Tree, WorkChart, chart_memory, chart_work, grow_trees
from hlotool.program.program import Program

MOST_PANELS: Final = 600
_MOST_NEIGHBOURS: Final = 24
_MOST_VALUES: Final = 12


class PanelValue(Struct, frozen=True):
    """One value that the instruction defines."""

    name: str
    size_bytes: int
    born: int | None
    dies: int | None
    peak_bytes: int | None


class Panel(Struct, frozen=True):
    """One instruction."""

    definition: tuple[str, ...]
    way: tuple[str, ...]
    scope: str
    source: str
    stack: tuple[str, ...]
    executions: int | None
    flops: int
    memory_bytes: int
    size_bytes: int | None
    operands: tuple[str, ...]
    users: tuple[str, ...]
    values: tuple[PanelValue, ...]


def make_panels(names: Iterable[str], program: Program) -> dict[str, Panel]:
    """Return the panels of the first so many different names that are instructions."""
    panels: dict[str, Panel] = {}
    for name in dict.fromkeys(names):
        if len(panels) >= MOST_PANELS:
            break
        try:
            found = program.show((name,))
        except UsageError:  # a name of the assignment that the text does not have
            continue
        if len(found.subjects) == 1 and found.subjects[0].name == name:
            panels[name] = _make_panel(found)
    return panels


def _make_panel(found: ShowReport) -> Panel:
    subject = found.subjects[0]
    return Panel(
        subject.definition,
        subject.call_path,
        subject.scope or "",
        write_short_source(subject.source_file, subject.source_line) or "",
        subject.stack or (),
        subject.executions,
        subject.flops_per_run,
        subject.memory_bytes_per_run,
        subject.size_bytes,
        _name_neighbours(found, "operand"),
        _name_neighbours(found, "user"),
        tuple(
            PanelValue(one.value, one.size_bytes, one.born, one.dies, one.peak_bytes)
            for one in found.memory[:_MOST_VALUES]
        ),
    )


def _name_neighbours(found: ShowReport, relation: str) -> tuple[str, ...]:
    named = [row.name for row in found.neighbours if row.relation == relation]
    return tuple(named[:_MOST_NEIGHBOURS])


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
