"""How `hlotool buffers --timeline` draws memory over time, alone or stacked by groups."""

from __future__ import annotations

from typing import Any, Final

from hlotool.analysis.memory.answer import ROWS
from hlotool.analysis.memory.moments import list_moments, stack_moments
from hlotool.analysis.memory.report import MemoryReport
from hlotool.commands.shared.output import make_look
from hlotool.commands.shared.row_options import RowOptions
from hlotool.fields import Line
from hlotool.ir import Module
from hlotool.query.fold import read_folded
from hlotool.render.curve import count_columns, draw_curve
from hlotool.render.stack import MOST_GROUPS, draw_stack

_PLAIN_WIDTH: Final = 100  # columns of the curve where the output is no terminal


def draw_timeline(
    rows: dict[str, Any],
    report: MemoryReport,
    module: Module | None,
    color: int,
    options: RowOptions,
) -> tuple[Line, ...]:
    """Draw the timeline where a table is printed; the list itself is for programs.

    With --by it is divided into the groups of its first field.
    """
    if options.format != "table" or "timeline" not in rows:
        return ()

    levels = [row.bytes for row in rows.pop("timeline")]
    look = make_look(options)
    width = look.width or _PLAIN_WIDTH
    peak = report.peak_of(color).position or 0
    first = next((one for one in ROWS.fields if one.name == options.by.partition(",")[0]), None)
    if first is None:
        drawn = draw_curve(levels, peak, width, options.units)
        return (Line(""), *(Line(line) for line in drawn))
    read = read_folded(first)
    found = list_moments(report, module, color, count_columns(levels, width, options.units))
    stacks = stack_moments(found, lambda row: str(read(row) or "(none)"), MOST_GROUPS)
    stacked = draw_stack(levels, stacks, peak, width, options.units, has_color=look.has_color)
    return (Line(""), *stacked)
