"""`hlotool buffers`: who holds memory at the true peak; and what an out-of-memory message says.

PATH is a dump, or a text about memory without one: an out-of-memory message, a memory-usage report.
Of a message the dump of its program may be named beside it, which is then answered as any other,
with what the message says above it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import click
from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.graph.backend import SPACE_NAMES
from hlotool.analysis.memory import timeline
from hlotool.analysis.memory.answer import BUFFERS, ROWS, choose_buffer_columns
from hlotool.analysis.memory.reduction_plan import Plan, plan_relief, take_away
from hlotool.analysis.memory.report import MemoryReport, measure_fit
from hlotool.analysis.memory.rows import BufferRow, all_rows, allocation_rows, rows_at
from hlotool.analysis.memory_text import (
    OUT_OF_MEMORY,
    USAGE_REPORT,
    choose_message_columns,
    report_out_of_memory,
)
from hlotool.commands.buffers import text
from hlotool.commands.shared import memory_text
from hlotool.commands.shared import options as shared
from hlotool.commands.shared.command import document_command
from hlotool.commands.shared.many import many_programs
from hlotool.commands.shared.messages import say
from hlotool.commands.shared.output import make_look
from hlotool.commands.shared.request import Request, load_one
from hlotool.dump.text_kind import TextKind
from hlotool.errors import UsageError
from hlotool.oom.wordings import OutOfMemory
from hlotool.program.oom_match import asks_for_main_memory, find_program
from hlotool.program.program import Program
from hlotool.table import Document, InputPaths, Line
from hlotool.table.curve import MOST_GROUPS, count_columns, draw_curve, draw_stack
from hlotool.table.expression.compile import compile_where, expect_row_words
from hlotool.table.sums import read_folded
from hlotool.table.units import parse_size
from hlotool.table.words import plural

_PLAIN_WIDTH: Final = 100  # columns of the curve where the output is no terminal

_EXAMPLE: Final = """\
hlotool buffers dump/ --by allocation_type,scope
hlotool buffers dump/ --hbm 80GiB
hlotool buffers dump/ --at fusion.123 --space vmem"""


@document_command("buffers", BUFFERS, OUT_OF_MEMORY, USAGE_REPORT, example=_EXAMPLE)
@shared.dump_options
@shared.option(
    "--at INSTANT", "Show one instant: a position, an instruction, or peak.", default="peak"
)
@shared.option("--all", "Show every allocation and value at any time.", "is_all")
@shared.option(
    "--space TEXT",
    "Memory space: a number, a name such as vmem, or all.",
    default="0",
    shell_complete=shared.completing(
        lambda _: ((name, "") for name in (*sorted(SPACE_NAMES), "all"))
    ),
)
@shared.option(
    "--peaks", "Also list the N highest separate peaks.", "peak_count", type=click.IntRange(1, 1000)
)
@shared.option("--timeline", "Show memory in use over the schedule.", "has_timeline")
@shared.option("--donation", "List parameters that are or could be donated.", "has_donation")
@shared.stack_option
@shared.option("--without EXPR", "Recompute the peak without the values that match EXPR.")
@shared.option(
    "--hbm SIZE", "Check whether the program fits in SIZE, such as 80GiB; if not, list ways to fit."
)
@shared.add_options(shared.CHIP_MEMORY)
@shared.option("--dump DIR", "With an out-of-memory message: the dump of the program that failed.")
@many_programs(
    TextKind.OUT_OF_MEMORY,
    TextKind.MEMORY_REPORT,
    about_one=("at",),
    listing={"has_timeline": "timeline", "peak_count": "peaks", "has_donation": "donation"},
)
def buffers(
    request: Request,
    options: shared.RowOptions,
    *,
    hbm: str | None,
    without: str | None,
    dump: str | None,
    **values: Any,
) -> Document:
    """List the values that hold memory at the peak, with sizes and source lines."""
    limit = None if hbm is None else parse_size(hbm, "--hbm")
    left_out = None
    if without is not None:
        left_out = compile_where(without, ROWS.fields, "--without")
    asked = Asked(**values, limit_bytes=limit, without=left_out, is_typed=limit is not None)
    machine = request.assumptions.machine
    names_chip = machine is not None and machine.chip is not None and machine.must_fit
    _refuse_contradictions(asked, names_chip=names_chip)
    given = asked.list_given() | {"--chip": names_chip, "--budget": bool(request.budgets)}
    about = _answer_text(request, dump, [name for name, is_given in given.items() if is_given])
    if isinstance(about, Document):
        return about
    if limit is None and left_out is None and not names_chip:
        asked = replace(asked, limit_bytes=about.limit_bytes)
    program = load_one(about.request, with_buffers=True)
    if without is not None:
        expect_row_words(without, ROWS.fields, (), program.find_words, "--without")
    memory_text.check_usage(program, request.unpacking)
    chip = program.machine.chip if program.machine else None
    if asked.limit_bytes is None and left_out is None and chip:
        asked = replace(asked, limit_bytes=chip.hbm_bytes)
    document = _answer_program(program, asked, options)
    return replace(document, lines=(*about.lines, *document.lines))


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
    is_typed: bool = False  # whether the limit is

    @property
    def asks_peaks(self) -> bool:
        """Whether it is about more than the one peak."""
        return self.has_timeline or self.peak_count is not None

    def list_given(self) -> dict[str, bool]:
        """Say which options are given that ask about a program, in the order of the help."""
        return {
            "--at": self.at != "peak",
            "--all": self.is_all,
            "--space": self.space != "0",
            "--peaks": self.peak_count is not None,
            "--timeline": self.has_timeline,
            "--donation": self.has_donation,
            "--hbm": self.limit_bytes is not None,
            "--chip": False,
            "--without": self.without is not None,
            "--stack": self.has_stacks,
        }


def _refuse_contradictions(asked: Asked, *, names_chip: bool) -> None:
    """Raise UsageError for options that contradict each other."""
    if asked.is_all and asked.at != "peak":
        raise UsageError("--all covers all times, --at one instant; give only one.")
    if asked.limit_bytes is not None and names_chip:
        raise UsageError("--hbm and --chip each name a limit; give only one.")
    if asked.without is not None and (asked.limit_bytes is not None or names_chip):
        raise UsageError(
            "--without excludes --hbm and --chip. It prints the peak of the remaining "
            "values; XLA reserves more than the peak. --hbm lists ways to fit."
        )


# A program.


def _answer_program(program: Program, asked: Asked, options: shared.RowOptions) -> Document:
    """Return the answer about a program."""
    whole = report = program.expect_memory()
    color = _choose_color(whole, asked.space)
    main, module, without = color or 0, program.module, None
    if asked.without is not None:
        report, without = take_away(whole, asked.without, main)
    position = timeline.find_position(report, asked.at, main)
    instant = None
    if position is not None and not asked.is_all:
        instant = timeline.instant_at(report, position, color)
    values = rows_at(report, instant.position, color) if instant else all_rows(report, color)
    placed = program.place_rows(values)
    rows: dict[str, Any] = {
        "rows": placed,
        "spaces": report.figures.spaces,
        "replicated": program.replicated,
        **({} if instant else {"allocations": allocation_rows(report.map, module, color)}),
        **_list_asked(program, report, asked, main),
    }
    blocks: dict[str, Any] = {
        "totals": whole.figures.totals,
        "peak": whole.peak_of(main),
        "at": instant,
        **({"estimated": report.figures.estimated} if report.figures.estimated else {}),
        **({"without": without} if without else {}),
    }
    fit = None
    planned = Plan()
    if asked.limit_bytes is not None:
        chip = program.machine.chip if program.machine else None
        fit = measure_fit(report, asked.limit_bytes, chip)
    if fit is not None:
        planned = plan_relief(report, module, fit)
        blocks["fit"], rows["relief"] = fit, planned.rows
    donations = rows.get("donation", ())
    curve = _draw_timeline(rows, report, main, options)
    spec = choose_buffer_columns(
        is_tiled=report.figures.backend == "tpu",
        is_all=instant is None,
        has_spaces=len({row.space for row in rows["rows"]}) > 1,
        is_placed=any(row.is_placed for row in placed),
        donations=donations,
    )
    shown = {
        "spaces": len(report.figures.spaces) > 1 and asked.space in {"0", "all"},
        "peaks": asked.peak_count is not None,
        "allocations": instant is None,
        "relief": bool(planned.rows),
        "rows": True,
    }
    focus = _choose_focus(asked, options)
    document = Document(
        spec=spec,
        input=program.paths,
        find_words=program.find_words,
        rows=rows,
        blocks=blocks,
        scalars=report.figures,
        lines=(
            *text.describe_program(program, whole, main, instant, without),
            *(text.say_replicated(program.replicated) if without is None else ()),
            *(memory_text.explain_fit(report, fit, is_typed=asked.is_typed) if fit else ()),
            *text.say_reasons(whole, values, is_all=asked.space == "all"),
            *curve,
        ),
        above={"relief": text.say_relief(fit, planned)} if fit and planned.rows else {},
        notes=(
            *(
                text.say_relief(fit, planned)
                if fit and fit.fits is False and not planned.rows
                else ()
            ),
            *text.say_donation(donations),
            *text.note_program(whole, main, asks_peaks=asked.asks_peaks),
        ),
        shown=(focus,) if focus else tuple(name for name, is_shown in shown.items() if is_shown),
        focus=focus,
    )
    return shared.print_stacks(document, module, "rows") if asked.has_stacks else document


def _choose_color(report: MemoryReport, space: str) -> int | None:
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
        raise UsageError(f"--space {space}: this program has {spaces}; `all` shows every space.")
    return color


def _list_asked(program: Program, report: MemoryReport, asked: Asked, color: int) -> dict[str, Any]:
    """Return the lists that options ask for."""
    rows: dict[str, Any] = {}
    if asked.has_timeline or asked.peak_count:
        curve, live_ranges = report.map.curve(color), report.map.live_ranges
        if curve is None or live_ranges is None:
            raise UsageError(
                "--timeline and --peaks need live ranges: give --live-range or --module-text."
            )
        if asked.has_timeline:
            rows["timeline"] = timeline.timeline(curve, live_ranges.sequence)
        if asked.peak_count:
            rows["peaks"] = timeline.choose_peaks(curve, live_ranges.sequence, asked.peak_count)
    if asked.has_donation:
        rows["donation"] = program.donation_savings
    return rows


def _choose_focus(asked: Asked, options: shared.RowOptions) -> str:
    """Return the list that row options act on, '' for the values themselves."""
    is_one_list = options.format in {"jsonl", "csv", "tsv", "parquet", "markdown"}
    if asked.has_timeline and is_one_list:
        return "timeline"
    if asked.peak_count and is_one_list:
        return "peaks"
    return "donation" if asked.has_donation else ""


def _draw_timeline(
    rows: dict[str, Any], report: MemoryReport, color: int, options: shared.RowOptions
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
        return (Line(""), *(Line(line) for line in draw_curve(levels, peak, width, options.units)))
    read = read_folded(first)
    columns = count_columns(levels, width, options.units)
    found = timeline.list_moments(report, color, columns)
    stacks = timeline.stack_moments(found, lambda row: str(read(row) or "(none)"), MOST_GROUPS)
    stacked = draw_stack(levels, stacks, peak, width, options.units, has_color=look.has_color)
    return (Line(""), *stacked)


# A text about memory.


class AskedDump(Struct, frozen=True):
    """The dump that is asked about; of a message's, what it may have, and a heading."""

    request: Request
    limit_bytes: int | None = None
    lines: tuple[Line, ...] = ()


def _answer_text(request: Request, dump: str | None, given: list[str]) -> AskedDump | Document:
    """Return the answer about PATH if it is no dump, else the dump that is to be shown.

    `given` are the options that ask for what only a program has.
    """
    file = request.find_other(TextKind.OUT_OF_MEMORY, TextKind.MEMORY_REPORT)
    if file is None:
        if dump is not None:
            raise UsageError("--dump needs an out-of-memory message; this is a dump.")
        return AskedDump(request)
    if file.kind is TextKind.MEMORY_REPORT:
        if given:
            raise UsageError(f"{given[0]} needs a program, but this is a memory-usage report.")
        return memory_text.describe_usage(file, request, "spaces", "allocations", "rows")
    from hlotool.analysis.memory.told_twice import contradict_message  # noqa: PLC0415  rare
    from hlotool.oom.message import parse_out_of_memory  # noqa: PLC0415  most are dumps

    message = parse_out_of_memory(file.read())
    request.tell(tuple(memory_text.warn_of_each(file, contradict_message(message))))
    if dump is not None:
        return choose_dump(message, request, dump)
    if given:
        raise UsageError(
            f"{given[0]} needs a program, but this is an out-of-memory message; give its "
            "dump with --dump DIR."
        )
    report = report_out_of_memory(message)
    lists = {"rows": report.rows, "parts": report.parts}
    return Document(
        choose_message_columns(report.rows),
        InputPaths(request.path),
        rows=lists,
        scalars=report.figures,
        lines=(*text.describe_message(report.figures), *text.say_why(report)),
        notes=text.note_message(report.figures, file.read().text),
        shown=tuple(name for name, rows in lists.items() if rows),
    )


def choose_dump(message: OutOfMemory, request: Request, dump: str) -> AskedDump:
    """Return the program of a message."""
    asked = replace(request, path=dump, found=None, told=set())
    found = asked.find()
    matched = find_program(message, found)
    say(text.name_program(matched, message, found.path))
    asked.found = replace(found, inputs=(matched.chosen,))
    figures = report_out_of_memory(message).figures
    limit = figures.limit_bytes if asks_for_main_memory(message) else None
    return AskedDump(
        asked, limit, (*text.describe_message(figures), *text.say_fit(message, matched, limit))
    )
