"""All that a page about two programs draws: memory of both over time, and what a click tells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from hlotool.compare.inputs import DiffSide, level_sides
from hlotool.compare.report import DiffReport
from hlotool.page.charts import MemoryChart, chart_memory
from hlotool.page.data import Panel, make_panels


class PairPage(Struct, frozen=True):
    """What charts are drawn from, old and new; None where nothing tells of memory over time."""

    labels: tuple[str, str]
    memories: tuple[MemoryChart | None, MemoryChart | None]
    panels: Mapping[str, Mapping[str, Panel]]


def make_pair_page(
    left: DiffSide,
    right: DiffSide,
    report: DiffReport,
    labels: tuple[str, str],
    limit_bytes: int | None = None,
) -> PairPage:
    """Return what a page draws of two programs; memory is estimated on both if it is on one."""
    old, new = level_sides((left, right))
    charts = _chart(old, limit_bytes), _chart(new, limit_bytes)
    named = {label: list(_name(report, place)) for place, label in enumerate(labels)}
    for label, chart in zip(labels, charts, strict=True):
        named[label] += _name_held(chart)
    return PairPage(
        labels,
        charts,
        {
            label: make_panels(named[label], side.program)
            for label, side in zip(labels, (old, new), strict=True)
            if side.program and side.module
        },
    )


def _chart(side: DiffSide, limit_bytes: int | None) -> MemoryChart | None:
    """Draw memory over time, without the addresses, which the page does not show."""
    chart = chart_memory(side.program, limit_bytes) if side.program else None
    return replace(chart, rectangles=(), allocations=()) if chart else None


def _name(report: DiffReport, place: int) -> Iterator[str]:
    """Name the instructions of a side that the tables name."""
    for row in report.memory:
        if place == (row.change != "removed"):
            yield row.instruction
    for fusion in report.fusions:
        yield from (fusion.left_names, fusion.right_names)[place][:1]
    for one in report.instructions:
        yield (one.left_name, one.right_name)[place] or ""


def _name_held(chart: MemoryChart | None) -> Iterator[str]:
    """Name who lives at the peak, then what runs at the moments."""
    if chart is not None:
        for index, _ in chart.holders[chart.peak]:
            yield chart.values[index].instruction
        yield from chart.instructions
