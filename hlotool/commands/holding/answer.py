"""Which lists, figures and sentences answer `hlotool buffers` about a program."""

from __future__ import annotations

from typing import Any

from hlotool.analysis.memory.allocation_rows import allocation_rows
from hlotool.analysis.memory.answer import choose_buffer_columns
from hlotool.analysis.memory.gains.fitting import find_relief
from hlotool.analysis.memory.gains.without import (
    Without,
    choose_tenures,
    measure_without,
    take_away,
)
from hlotool.analysis.memory.headroom import measure_headroom
from hlotool.analysis.memory.instant import Instant, find_position, instant_at
from hlotool.analysis.memory.report import MemoryReport
from hlotool.analysis.memory.timeline import find_peaks, timeline
from hlotool.analysis.memory.values.value_rows import all_rows, rows_at
from hlotool.analysis.origin.stack import add_stacks
from hlotool.commands.holding.asked import Asked
from hlotool.commands.holding.curve import draw_timeline
from hlotool.commands.prose.buffers import heading, notes, say_donation, say_relief
from hlotool.commands.prose.headroom import tell_headroom
from hlotool.commands.shared.row_options import RowOptions
from hlotool.commands.shared.stack_option import explain_missing_stacks, show_stacks
from hlotool.errors import UsageError
from hlotool.fields import Document
from hlotool.program.program import Program


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
        rows["relief"] = find_relief(report, program.module, headroom)
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
        spaces = f"space {known[0]}" if len(known) == 1 else f"spaces {', '.join(known)}"
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
        rows["peaks"] = find_peaks(curve, lifetimes.sequence, asked.peak_count)
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
