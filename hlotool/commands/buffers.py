"""`hlotool buffers`: who holds memory at the true peak."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import click
from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.memory.allocation_rows import allocation_rows
from hlotool.analysis.memory.answer import BUFFERS, ROWS, choose_buffer_columns
from hlotool.analysis.memory.gains.fitting import find_relief
from hlotool.analysis.memory.gains.without import (
    Without,
    choose_tenures,
    measure_without,
    take_away,
)
from hlotool.analysis.memory.headroom import measure_headroom
from hlotool.analysis.memory.instant import find_position, instant_at
from hlotool.analysis.memory.moments import list_moments, stack_moments
from hlotool.analysis.memory.report import MemoryReport
from hlotool.analysis.memory.timeline import find_peaks, timeline
from hlotool.analysis.memory.values.value_rows import BufferRow, all_rows, rows_at
from hlotool.analysis.origin.stack import add_stacks
from hlotool.analysis.out_of_memory.answer import OUT_OF_MEMORY
from hlotool.analysis.usage_report.report import USAGE_REPORT
from hlotool.commands.buffers_message import answer_text
from hlotool.commands.prose.buffers import heading, notes
from hlotool.commands.shared.command import RowOptions, document_command, print_document
from hlotool.commands.shared.complete import complete_space
from hlotool.commands.shared.dump_options import dump_options
from hlotool.commands.shared.machine_options import CHIP_MEMORY, machine_options
from hlotool.commands.shared.output import make_look
from hlotool.commands.shared.request import Request, load_one
from hlotool.commands.shared.stack_option import (
    explain_missing_stacks,
    show_stacks,
    stack_option,
)
from hlotool.commands.usage_report import check_usage
from hlotool.errors import UsageError
from hlotool.fields import Document, Line
from hlotool.fields.quantity import parse_size
from hlotool.ir import Module
from hlotool.program.program import Program
from hlotool.query.fold import read_folded
from hlotool.render.curve import count_columns, draw_curve
from hlotool.render.stack import MOST_GROUPS, draw_stack

_PLAIN_WIDTH: Final = 100  # columns of the curve where the output is no terminal
_EXAMPLE: Final = """\
hlotool buffers dump/ --by class,scope
hlotool buffers dump/ --hbm 80GiB
hlotool buffers dump/ --at fusion.123 --space vmem"""


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


@document_command("buffers", BUFFERS, OUT_OF_MEMORY, USAGE_REPORT, example=_EXAMPLE)
@dump_options
@click.option(
    "--at",
    metavar="INSTANT",
    default="peak",
    help="Show this instant: a position, an instruction, or peak.",
)
@click.option(
    "--all", "is_all", is_flag=True, help="Show every allocation and value, whenever it is live."
)
@click.option(
    "--space",
    default="0",
    help="Memory space: a number, a name such as vmem, or all.",
    shell_complete=complete_space,
)
@click.option(
    "--peaks",
    type=click.IntRange(1, 1000),
    help="Also list this many of the highest separate peaks.",
)
@click.option(
    "--timeline", "has_timeline", is_flag=True, help="Show memory in use over the schedule."
)
@click.option(
    "--donation",
    "has_donation",
    is_flag=True,
    help="List parameters that are, or could be, donated.",
)
@stack_option
@click.option(
    "--without",
    metavar="EXPR",
    help="Show the program without the values for which EXPR holds.",
)
@click.option(
    "--hbm",
    metavar="SIZE",
    help="Show what is left of this much memory, such as 80GiB; if nothing, what would help.",
)
@machine_options(CHIP_MEMORY)
@click.option(
    "--dump",
    metavar="DIR",
    help="Of an out-of-memory message: the dump that holds its program.",
)
def buffers(
    request: Request,
    options: RowOptions,
    *,
    peaks: int | None,
    hbm: str | None,
    without: str | None,
    dump: str | None,
    **values: Any,
) -> None:
    """Show who holds memory at the peak, how much, and which line made it."""
    limit = None if hbm is None else parse_size(hbm, "--hbm")
    asked = Asked(
        **values,
        peak_count=peaks,
        limit_bytes=limit,
        without=None if without is None else _compile_without(without),
    )
    _check(asked, request)
    text = answer_text(request, dump, _list_given(asked, request), options)
    if text is None:
        return
    if limit is None and asked.without is None and not _names_chip(request):
        asked = replace(asked, limit_bytes=text.limit_bytes)
    program = load_one(text.request, "memory", with_buffers=True)
    if without is not None:
        _expect_words(without, program)
    check_usage(program)
    chip = program.machine.chip if program.machine else None
    if asked.limit_bytes is None and asked.without is None and chip:
        asked = replace(asked, limit_bytes=chip.hbm_bytes)
    document = _document(program, asked, options)
    print_document(replace(document, lines=(*text.lines, *document.lines)), options)


def _list_given(asked: Asked, request: Request) -> dict[str, bool]:
    """Say which options are given that ask about a program."""
    return {
        "--at": asked.at != "peak",
        "--all": asked.is_all,
        "--space": asked.space != "0",
        "--peaks": asked.peak_count is not None,
        "--timeline": asked.has_timeline,
        "--donation": asked.has_donation,
        "--hbm": asked.limit_bytes is not None,
        "--chip": _names_chip(request),
        "--without": asked.without is not None,
        "--stack": asked.has_stacks,
        "--budget": bool(request.budgets),
    }


def _compile_without(text: str) -> Callable[[BufferRow], bool]:
    from hlotool.query.where import compile_where  # noqa: PLC0415  pyparsing is slow to import

    return compile_where(text, ROWS.fields, "--without")


def _expect_words(text: str, program: Program) -> None:
    from hlotool.query.where import expect_row_words  # noqa: PLC0415  the same

    expect_row_words(text, ROWS.fields, (), program.find_words, "--without")


def _check(asked: Asked, request: Request) -> None:
    """Refuse options that contradict each other."""
    names_chip = _names_chip(request)
    if asked.is_all and asked.at != "peak":
        raise UsageError(
            "--all shows values at any time, --at those of one instant; give only one."
        )
    if asked.limit_bytes is not None and names_chip:
        raise UsageError("--hbm and --chip each name a limit; give only one.")
    if asked.without is not None and (asked.limit_bytes is not None or names_chip):
        raise UsageError(
            "--hbm and --chip are about the program as it is, --without about less; give only one."
        )


def _names_chip(request: Request) -> bool:
    """Whether --chip is given."""
    machine = request.assumptions.machine
    return machine is not None and machine.chip is not None and machine.must_fit


def _document(program: Program, asked: Asked, options: RowOptions) -> Document:
    whole = program.expect_memory()
    color = _find_color(whole, asked.space)
    main = color or 0
    report, without = _take_away(program, whole, asked, main)
    position = find_position(report, asked.at, main)
    is_all = asked.is_all or position is None
    instant = None if is_all or position is None else instant_at(report, position, color)
    values = (
        all_rows(report, program.module, color)
        if instant is None
        else rows_at(report, program.module, instant.position, color)
    )
    rows: dict[str, Any] = {
        "rows": add_stacks(values, program.module) if asked.has_stacks else values,
        "spaces": report.figures.spaces,
    }
    blocks: dict[str, Any] = {
        "totals": whole.figures.totals,
        "peak": whole.peak_of(main),
        "at": instant,
    }
    if report.figures.estimated:
        blocks["estimated"] = report.figures.estimated
    if asked.limit_bytes is not None:
        headroom = blocks["headroom"] = measure_headroom(report, asked.limit_bytes)
        rows["relief"] = find_relief(report, program.module, headroom)
    if without is not None:
        blocks["without"] = without
    if is_all:
        rows["allocations"] = allocation_rows(report.map, program.module, color)
    _add_lists(rows, program, report, asked, main)
    focus = _focus(asked, options)
    curve = _curve_lines(rows, report, program.module, main, options)
    spec = choose_buffer_columns(
        is_tiled=report.figures.backend == "tpu",
        is_all=is_all,
        has_spaces=len({row.space for row in values}) > 1,
        has_copies=any(row.copy_instruction for row in rows.get("donation", ())),
    )
    missing = explain_missing_stacks(program.module) if asked.has_stacks else ()
    return Document(
        spec=show_stacks(spec) if asked.has_stacks else spec,
        input=program.paths,
        find_words=program.find_words,
        rows=rows,
        blocks=blocks,
        scalars=report.figures,
        lines=(*heading(program, whole, main, instant, without), *curve),
        notes=(*notes(whole, main, blocks.get("headroom"), rows.get("relief", ())), *missing),
        shown=_shown(report, asked, is_all, focus, has_relief=bool(rows.get("relief"))),
        focus=focus,
    )


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
        rows["donation"] = program.donations


def _curve_lines(
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


DOCUMENTS = (BUFFERS, OUT_OF_MEMORY, USAGE_REPORT)
