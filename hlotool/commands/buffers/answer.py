"""What the options of `hlotool buffers` ask, and which of them contradict each other.

How `hlotool buffers --timeline` draws memory over time, alone or stacked by groups.

Which lists, figures and sentences answer `hlotool buffers` about a program.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct

from hlotool.analysis.memory.answer import ROWS, choose_buffer_columns
from hlotool.analysis.memory.reduction_plan import (
    Without,
    choose_tenures,
    measure_without,
    plan_relief,
    take_away,
)
from hlotool.analysis.memory.report import MemoryReport, measure_headroom
from hlotool.analysis.memory.rows import BufferRow, all_rows, allocation_rows, rows_at
from hlotool.analysis.memory.timeline import (
    Instant,
    choose_peaks,
    find_position,
    instant_at,
    list_moments,
    stack_moments,
    timeline,
)
from hlotool.analysis.origin import add_stacks
from hlotool.commands.buffers.text import heading, notes, say_donation, say_relief
from hlotool.commands.shared.headroom import tell_headroom
from hlotool.commands.shared.options import RowOptions, explain_missing_stacks, show_stacks
from hlotool.commands.shared.output import make_look
from hlotool.commands.shared.request import Request
from hlotool.errors import UsageError
from hlotool.hlo import Module
from hlotool.program.program import Program
from hlotool.table import Document, Line
from hlotool.table.curve import MOST_GROUPS, count_columns, draw_curve, draw_stack
from hlotool.table.sums import read_folded
from hlotool.table.words import plural


class Asked(Struct, frozen=True):
    """What the command's own options ask for."""

    at: str = "peak"
    is_all: bool = False
    space: str = "0"
    peak_count: int | None = None
    has_timeline: bool = False
    has_donation: bool = False
    limit_bytes: int | None = None
    has_stacks: bool = False
    without: Callable[[BufferRow], bool] | None = None


def list_given(asked: Asked, request: Request) -> dict[str, bool]:
    """Say which options are given that ask about a program."""
    return {
        "--at": asked.at != "peak",
        "--all": asked.is_all,
        "--space": asked.space != "0",
        "--peaks": asked.peak_count is not None,
        "--timeline": asked.has_timeline,
        "--donation": asked.has_donation,
        "--hbm": asked.limit_bytes is not None,
        "--chip": names_chip(request),
        "--without": asked.without is not None,
        "--stack": asked.has_stacks,
        "--budget": bool(request.budgets),
    }


def compile_without(text: str) -> Callable[[BufferRow], bool]:
    """Return what --without asks of a value."""
    from hlotool.table.expression.where import compile_where  # noqa: PLC0415  pyparsing is slow to import

    return compile_where(text, ROWS.fields, "--without")


def expect_words(text: str, program: Program) -> None:
    """Raise QueryError for a word of --without that the program cannot hold."""
    from hlotool.table.expression.where import expect_row_words  # noqa: PLC0415  the same

    expect_row_words(text, ROWS.fields, (), program.find_words, "--without")


def refuse_contradictions(asked: Asked, request: Request) -> None:
    """Raise UsageError for options that contradict each other."""
    if asked.is_all and asked.at != "peak":
        raise UsageError(
            "--all shows values at any time, --at those of one instant; give only one."
        )
    if asked.limit_bytes is not None and names_chip(request):
        raise UsageError("--hbm and --chip each name a limit; give only one.")
    if asked.without is not None and (asked.limit_bytes is not None or names_chip(request)):
        raise UsageError(
            "--hbm and --chip are about the program as it is, --without about less; give only one. "
            "Alone, --without gives the peak of what is left: where that is above a limit it does "
            "not fit, where it is below it may, as more than the peak is reserved. Alone, --hbm "
            "lists what a program that does not fit would have to do without."
        )


def names_chip(request: Request) -> bool:
    """Whether --chip is given."""
    machine = request.assumptions.machine
    return machine is not None and machine.chip is not None and machine.must_fit


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


def answer_program(program: Program, asked: Asked, options: RowOptions) -> Document:
    """Return the answer about a program."""
    whole = program.expect_memory()
    color = _find_color(whole, asked.space)
    main = color or 0
    report, without = _take_away(program, whole, asked, main)
    position = find_position(report, asked.at, main)
    is_all = asked.is_all or position is None
    instant = None if is_all or position is None else instant_at(report, position, color)
    rows = _list_rows(program, report, asked, color, instant)
    blocks = _list_blocks(program, whole, report, asked, main)
    headroom = blocks.get("headroom")
    blocks |= {"at": instant} | ({"without": without} if without else {})
    if headroom is not None:
        rows["relief"] = plan_relief(report, program.module, headroom)
    focus = _focus(asked, options)
    curve = draw_timeline(rows, report, program.module, main, options)
    spec = choose_buffer_columns(
        is_tiled=report.figures.backend == "tpu",
        is_all=is_all,
        has_spaces=len({row.space for row in rows["rows"]}) > 1,
        donations=rows.get("donation", ()),
    )
    relief = rows.get("relief", ())
    missing = explain_missing_stacks(program.module) if asked.has_stacks else ()
    return Document(
        spec=show_stacks(spec) if asked.has_stacks else spec,
        input=program.paths,
        find_words=program.find_words,
        rows=rows,
        blocks=blocks,
        scalars=report.figures,
        lines=(
            *heading(program, whole, main, instant, without),
            *(tell_headroom(report, headroom) if headroom else ()),
            *curve,
        ),
        above={"relief": say_relief(headroom, relief)} if headroom and relief else {},
        notes=(*say_donation(rows.get("donation", ())), *notes(whole, main), *missing),
        shown=_shown(report, asked, is_all, focus, has_relief=bool(relief)),
        focus=focus,
    )


def _list_rows(
    program: Program, report: MemoryReport, asked: Asked, color: int | None, instant: Instant | None
) -> dict[str, Any]:
    """Return the values, at an instant or all, and the lists that options ask for."""
    values = (
        all_rows(report, program.module, color)
        if instant is None
        else rows_at(report, program.module, instant.position, color)
    )
    rows: dict[str, Any] = {
        "rows": add_stacks(values, program.module) if asked.has_stacks else values,
        "spaces": report.figures.spaces,
    }
    if instant is None:
        rows["allocations"] = allocation_rows(report.map, program.module, color)
    _add_lists(rows, program, report, asked, color or 0)
    return rows


def _list_blocks(
    program: Program, whole: MemoryReport, report: MemoryReport, asked: Asked, color: int
) -> dict[str, Any]:
    """Return the figures of the whole program, and whether it fits into a limit."""
    blocks: dict[str, Any] = {"totals": whole.figures.totals, "peak": whole.peak_of(color)}
    if report.figures.estimated:
        blocks["estimated"] = report.figures.estimated
    if asked.limit_bytes is not None:
        chip = program.machine.chip if program.machine else None
        blocks["headroom"] = measure_headroom(report, asked.limit_bytes, chip)
    return blocks


def _take_away(
    program: Program, whole: MemoryReport, asked: Asked, color: int
) -> tuple[MemoryReport, Without | None]:
    """Return the memory without what --without names, and how much less that is."""
    if asked.without is None:
        return whole, None
    tenures = choose_tenures(whole, program.module, asked.without)
    rest = take_away(whole, tenures)
    return rest, measure_without(whole.map, rest.map, tenures, color)


def _find_color(report: MemoryReport, space: str) -> int | None:
    """Return the number of the space asked for, None for all."""
    if space == "all":
        return None
    color = report.find_color(space.lower())
    if color is None:
        known = [
            f"{one.space} ({one.name})" if one.name else str(one.space)
            for one in report.figures.spaces
        ] or [str(one) for one in report.map.colors()]
        spaces = f"{plural(len(known), 'space')} {', '.join(known)}"
        raise UsageError(f"--space {space}: this program has {spaces}; all shows every one.")
    return color


def _add_lists(
    rows: dict[str, Any], program: Program, report: MemoryReport, asked: Asked, color: int
) -> None:
    """Add the lists that options ask for."""
    curve, lifetimes = report.map.curve(color), report.map.lifetimes
    if (asked.has_timeline or asked.peak_count) and (curve is None or lifetimes is None):
        raise UsageError(
            "--timeline and --peaks need lifetimes: the live-range file, or the module text."
        )
    if curve and lifetimes and asked.has_timeline:
        rows["timeline"] = timeline(curve, lifetimes.sequence)
    if curve and lifetimes and asked.peak_count:
        rows["peaks"] = choose_peaks(curve, lifetimes.sequence, asked.peak_count)
    if asked.has_donation:
        rows["donation"] = program.donation_gains


def _shown(
    report: MemoryReport, asked: Asked, is_all: bool, focus: str, *, has_relief: bool
) -> tuple[str, ...]:
    """Choose the tables, in order."""
    if focus:
        return (focus,)
    wanted = (
        ("spaces", len(report.figures.spaces) > 1 and asked.space in {"0", "all"}),
        ("peaks", asked.peak_count is not None),
        ("allocations", is_all),
        ("relief", has_relief),
        ("rows", True),
    )
    return tuple(name for name, is_wanted in wanted if is_wanted)


def _focus(asked: Asked, options: RowOptions) -> str:
    """Return the list that row options act on, '' for the values themselves."""
    is_one_list = options.format in {"jsonl", "csv", "tsv", "parquet", "markdown"}
    if asked.has_timeline and is_one_list:
        return "timeline"
    if asked.peak_count and is_one_list:
        return "peaks"
    return "donation" if asked.has_donation else ""
