"""`hlotool report`: a program as one page of HTML, or two side by side.

The page has the sentences and the lists of other commands; what is drawn, and what a click in a row
tells, is made by `page`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final
from zlib import crc32

import click
from msgspec import Struct
from msgspec.structs import replace

from hlotool import __version__
from hlotool.analysis.collectives.report import COLLECTIVE_ROWS
from hlotool.analysis.findings.finding import Finding, choose_finding_columns
from hlotool.analysis.fusions.rows import CUSTOM_CALLS, FUSION_ROWS
from hlotool.analysis.memory.answer import ROWS
from hlotool.analysis.memory.reduction_plan import RELIEF, Plan, plan_relief
from hlotool.analysis.memory.report import measure_fit
from hlotool.analysis.memory.rows import all_rows
from hlotool.analysis.memory.timeline import choose_positions
from hlotool.analysis.memory.told_twice import contradict_message
from hlotool.analysis.memory_text import choose_message_columns, report_out_of_memory
from hlotool.commands.buffers.command import choose_dump
from hlotool.commands.buffers.text import describe_message, describe_program
from hlotool.commands.diff.answers import describe_report
from hlotool.commands.diff.text import count_changes, say_difference
from hlotool.commands.shared import options as shared
from hlotool.commands.shared.command import HelpfulCommand
from hlotool.commands.shared.memory_text import say_fit, warn_of_each
from hlotool.commands.shared.messages import say
from hlotool.commands.shared.output import write_file, write_text
from hlotool.commands.shared.request import Request, load_one, progress
from hlotool.commands.summary import say_collectives, say_measured, say_memory, say_what, say_work
from hlotool.compare import inputs
from hlotool.compare.answer import name_columns
from hlotool.compare.changes.memory import list_spaces
from hlotool.compare.pairing import Pairing, pair_candidates
from hlotool.compare.report import DiffReport, compare_programs
from hlotool.dump.identity import name_inputs
from hlotool.dump.siblings import NamedFiles
from hlotool.dump.text_kind import TextKind
from hlotool.dump.workers import Failure, map_inputs
from hlotool.errors import NothingCheckedError, UsageError
from hlotool.oom.message import parse_out_of_memory
from hlotool.page import html
from hlotool.page.data import NO_PROGRAM, make_page, make_pair_page
from hlotool.page.sources import read_sources
from hlotool.program.fleet import Member, forget_text, measure_program
from hlotool.program.load import load_program
from hlotool.program.program import Assumptions, Program
from hlotool.table import InputPaths, Line, RowList, Unit, quote_braces
from hlotool.table.curve import draw_sparkline
from hlotool.table.units import format_value, parse_size

_Sides = tuple[inputs.DiffSide, inputs.DiffSide]
_Labels = tuple[str, str]
_Listed = tuple[str, str, RowList, Sequence[object]]  # its anchor, its title, what it lists
_EXAMPLES: Final = (
    "hlotool report dump/ --chip h100 --hbm 80GiB -o report.html",
    "hlotool report before/ after/ -o change.html",
    "hlotool report dumps/ -o pages/",
)

_MOST_FINDINGS: Final = 5  # on the first screen


def _list_tables(labels: tuple[str, ...], *lists: _Listed) -> tuple[html.PageTable, ...]:
    """Write lists as tables, the largest rows first, and leave out those without a row."""
    return tuple(html.make_table(*each, labels) for each in lists if each[-1])


@click.command("report", cls=HelpfulCommand, examples=_EXAMPLES)
@shared.dump_options
@click.argument("new", metavar="[NEW]", required=False, callback=shared.hide_typed)
@shared.option("--hbm SIZE", "Check whether the program fits in SIZE, such as 80GiB.")
@shared.option("--dump DIR", "With an out-of-memory message: the dump of the program that failed.")
@shared.option("--source DIR", "Include source lines from files below DIR.")
@shared.option(
    "-o, --output FILE", "Write to FILE; a directory gets a page per program.", required=True
)
@shared.add_options(shared.MACHINE)
def report(
    request: Request,
    *,
    new: str | None,
    hbm: str | None,
    dump: str | None,
    source: str | None,
    output: str,
) -> None:
    """Write a program as one page of HTML that works offline.

    It shows the verdict, steps, collectives, memory over time, and all tables. With NEW, it shows
    changes from PATH to NEW. If FILE is a directory, it writes a page for each program.
    """
    if shared.find_max_chars() is not None:
        raise UsageError("--max-chars shortens tables, markdown and JSON, not pages.")
    limit = None if hbm is None else parse_size(hbm, "--hbm")
    html.expect_templates()  # a missing extra is told before anything is read
    if source is not None and not Path(source).is_dir():
        raise UsageError(f"--source {source} is not a directory.")
    if new is None and (output.endswith("/") or Path(output).is_dir()):
        _write_folder(request, _Asked(limit, source), output)
        return
    if new is None:
        page, read = _write_one(request, _Asked(limit, source), dump)
    else:
        if dump is not None or source is not None:
            raise UsageError("--dump and --source need a single program.")
        page, read = _write_pair(request, new, limit)
    if output in {request.path, new, *read}:
        raise UsageError(f"--output {output} is the input itself; it was not overwritten.")
    write_text((page,), output)


class _Asked(Struct, frozen=True):
    """What the user wants of a page: a memory to fit, a directory with source text."""

    limit_bytes: int | None = None
    source: str | None = None


def _write_one(request: Request, asked: _Asked, dump: str | None) -> tuple[str, set[str]]:
    """Return the page about a program or a message, and the paths of what it was made from."""
    if (file := request.find_other(TextKind.OUT_OF_MEMORY)) is None:
        if dump is not None:
            raise UsageError("--dump needs an out-of-memory message; this is a dump.")
        return _write_program(load_one(request, with_buffers=True), asked)
    message = parse_out_of_memory(file.read())
    request.tell(tuple(warn_of_each(file, contradict_message(message))))
    said = report_out_of_memory(message)
    rows, parts = choose_message_columns(said.rows).row_lists
    tables = _list_tables(
        (),
        ("rows", "What the message lists", rows, said.rows),
        ("parts", "Parts", parts, said.parts),
    )
    found = choose_dump(message, request, dump) if dump is not None else None
    lines = found.lines if found else tuple(describe_message(said.figures))
    text = html.PageText("Out of memory", lines, (request.path,), __version__, others=tables)
    if found is None:
        return html.render_page(text, NO_PROGRAM), {request.path}
    limit = found.limit_bytes if asked.limit_bytes is None else asked.limit_bytes
    program = load_one(found.request, with_buffers=True)
    return _write_program(program, _Asked(limit, asked.source), text)


_ALONE: Final = html.PageText("", (), (), __version__)


def _write_program(
    program: Program, asked: _Asked, beside: html.PageText = _ALONE
) -> tuple[str, set[str]]:
    """Return the page about a program; `beside` is what a message adds to it."""
    limit_bytes = _find_limit(program, asked.limit_bytes)
    made_from = tuple(dict.fromkeys((*beside.made_from, *_list_paths(program.paths))))
    findings = program.findings if program.module else ()
    plan = _plan(program, limit_bytes)
    excerpts = read_sources(program.module, asked.source) if asked.source else ()
    text = html.PageText(
        program.module.name if program.module else program.name,
        (*beside.lines, *_say_all(program, limit_bytes)),
        made_from,
        __version__,
        findings=tuple(_make_finding(one) for one in findings[:_MOST_FINDINGS]),
        more="More findings are below." if len(findings) > _MOST_FINDINGS else "",
        leading=_list_tables((), ("relief", RELIEF.title, RELIEF, plan.rows)),
        others=(*beside.others, *_list_page_tables(program)),
        embedded=tuple(dict.fromkeys(one.path for one in excerpts)),
    )
    return html.render_page(text, make_page(program, limit_bytes, plan, *excerpts)), {*made_from}


def _find_limit(program: Program, limit_bytes: int | None) -> int | None:
    """Return the memory that a program must fit: what the user says, else that of the chip."""
    chip = program.machine.chip if program.machine else None
    return chip.hbm_bytes if limit_bytes is None and chip else limit_bytes


def _list_paths(found: InputPaths) -> Iterator[str]:
    """Yield the files that a page is made from: a text, and a buffer assignment."""
    yield found.module_path or found.path
    if found.buffers_path:
        yield found.buffers_path


def _say_all(program: Program, limit_bytes: int | None) -> Iterator[Line]:
    """Say whether it fits, then what `summary` says, and last what the program is."""
    if program.module is None:
        yield from describe_program(program, program.expect_memory(), 0, None, None)
        return
    found = program.summarize(limit_bytes=limit_bytes)
    if found.fit is not None:
        yield say_fit(found.fit)
    yield say_memory(found)[0]
    for write in (say_work, say_collectives, say_measured, say_what):
        yield from write(found)


def _make_finding(one: Finding) -> tuple[str, str, str]:
    """Write a finding as it stands in the table below, shorter."""
    size = f"{format_value(one.bytes, Unit.BYTES)}: " if one.bytes is not None else ""
    place = f" ({one.source.rpartition('/')[2]})" if one.source else ""
    advice = f" Try: {one.advice}." if one.advice else ""
    return f"{size}{one.message}{place}{advice}", one.severity, one.instruction or ""


def _plan(program: Program, limit_bytes: int | None) -> Plan:
    """Return the ways to fit; none where it does, or nothing tells."""
    if program.memory is None or limit_bytes is None:
        return Plan()
    return plan_relief(program.memory, program.module, measure_fit(program.memory, limit_bytes))


def _list_page_tables(program: Program) -> tuple[html.PageTable, ...]:
    findings = program.findings if program.module else ()
    held, title = program.rows("buffers"), "Values at the peak"
    if program.memory and not held:  # nothing says when values live
        held, title = all_rows(program.memory, 0), "Values"
    return _list_tables(
        (),
        ("findings", "Findings", choose_finding_columns(findings), findings),
        ("buffers", title, ROWS, held),
        ("fusions", "Fusions", FUSION_ROWS, program.rows("fusions")),
        ("collectives", "Collectives", COLLECTIVE_ROWS, program.rows("collectives")),
        ("calls", "Custom calls", CUSTOM_CALLS, program.rows("fusions.custom_calls")),
    )


# A directory.


def _write_folder(request: Request, asked: _Asked, folder: str) -> None:
    """Write a page of each program into a folder, and an index; a failure is a row of it."""
    found = request.find()
    members = [Member(forget_text(one), found.path) for one in found.inputs]
    Path(folder).mkdir(parents=True, exist_ok=True)
    work = partial(
        _write_member, assumptions=request.of_each().assumptions, asked=asked, folder=folder
    )
    with progress("writing pages", sum(one.size_bytes for one in members)) as advance:
        results = map_inputs(work, members, progress=advance)
    rows = [
        (name, "", (told.message,)) if isinstance(told, Failure) else (name, *told)
        for name, told in zip(name_inputs(found), results, strict=True)
    ]
    write_text(
        (html.render_index(request.path, _INDEX, rows, __version__),), f"{folder}/index.html"
    )


_INDEX: Final = ("program", "allocated", "peak", "step", "left", "memory over the program")
_MOST_DRAWN: Final = 40  # figures of the small curve


def _write_member(
    member: Member, assumptions: Assumptions, asked: _Asked, folder: str
) -> tuple[str, tuple[str, ...]]:
    """Write the page of one program; return its file, and what the index says of it."""
    path = member.chosen.path
    program = load_program(member.chosen, path, with_buffers=True, assumptions=assumptions)
    memory, row = program.memory, measure_program(program, path, member.place, None)
    # Several places may have the same.
    stem = re.sub(r"[^\w.-]+", "_", f"{row.module} {member.place}")
    file = f"{stem}.{crc32(path.encode('utf-8', 'surrogateescape')):08x}.html"
    write_file(f"{folder}/{file}", (_write_program(program, asked)[0],), "--output")
    time = program.step_estimate if program.module else None
    bounds = _find_limit(program, asked.limit_bytes)
    fit = measure_fit(memory, bounds) if memory and bounds is not None else None
    curve, live = (memory.map.curve(0), memory.map.live_ranges) if memory else (None, None)
    drawn = choose_positions(curve, live.end, _MOST_DRAWN) if curve and live else ()
    bound = "≥ " if row.is_memory_lower_bound else ""
    return file, (
        bound + format_value(row.allocated_bytes, Unit.BYTES),
        bound + format_value(row.peak_bytes, Unit.BYTES),
        format_value(time and time.estimated_seconds, Unit.SECONDS),
        format_value(fit and fit.free_bytes, Unit.BYTES, is_signed=True),
        draw_sparkline([curve.at(one) for one in drawn] if curve else []),
    )


# Two programs.


def _write_pair(request: Request, new: str, limit_bytes: int | None) -> tuple[str, set[str]]:
    """Return the page about two programs, and the paths of what it was made from."""
    if request.named != NamedFiles():
        raise UsageError("--buffers, --live-range and --module-text need a single program.")
    if request.budgets:
        raise UsageError("--budget needs a single program; hlotool check compares two.")
    arguments = inputs.parse_argument(request.path, "old"), inputs.parse_argument(new, "new")
    labels = arguments[0].label, arguments[1].label
    if labels[0] == labels[1]:
        raise UsageError(f"both sides have the name {labels[0]!r}.")
    found = [
        inputs.find_candidates(one, request.stage, request.module, request.unpacking)
        for one in arguments
    ]
    pair = _choose_pair(pair_candidates(found[0][0], found[1][0]))
    sides, facts = inputs.read_pair(pair, labels, request.assumptions)
    request.tell((*found[0][1], *found[1][1], *sides[0].notes(), *sides[1].notes()))
    report = compare_programs(*sides)
    machine = request.assumptions.machine
    if limit_bytes is None and machine and machine.chip:
        limit_bytes = machine.chip.hbm_bytes
    said = tuple(say_difference(report, "auto"))
    read = (one.input for one in facts)
    paths = tuple(path for one in read for path in _list_paths(one))
    leading, others = _list_changes(report, sides, labels)
    text = html.PageText(
        " → ".join(dict.fromkeys(one.name for one in pair)),
        (
            *said[:1],
            *_fit(sides, labels, limit_bytes),
            *said[1:],
            *count_changes(describe_report(report), report, labels),
        ),
        paths,
        __version__,
        labels,
        leading=leading,
        others=others,
    )
    return html.render_page(text, make_pair_page(sides, labels, limit_bytes)), {*paths}


def _choose_pair(pairs: Sequence[Pairing]) -> tuple[inputs.Candidate, inputs.Candidate]:
    """Choose the programs with most to read, and say so where there are others."""
    if not (whole := [(one.old, one.new) for one in pairs if one.old and one.new]):
        raise NothingCheckedError("no module has the same name on both sides.")
    chosen = max(whole, key=lambda pair: pair[0].size_bytes + pair[1].size_bytes)
    if len(whole) > 1:
        say(f"{len(whole)} modules match; shown: {chosen[1].name}. Choose with --module.")
    return chosen


def _fit(sides: _Sides, labels: _Labels, limit_bytes: int | None) -> Iterator[Line]:
    """Say of each side whether it fits."""
    for side, label in zip(sides, labels, strict=True):
        if side.program and limit_bytes is not None:
            fit = side.program.summarize(limit_bytes=limit_bytes).fit
            if fit is not None:
                line = say_fit(fit)
                yield replace(line, template=f"{quote_braces(label)}: {line.template}")


def _list_changes(
    report: DiffReport, sides: _Sides, labels: _Labels
) -> tuple[tuple[html.PageTable, ...], tuple[html.PageTable, ...]]:
    """List what is new at the peak and the figures first, then all that changed."""
    lists = {one.name: one for one in name_columns(*labels, report.collectives).row_lists}
    memory = lists["memory"]
    added = [row for row in report.memory if row.change == "added"]
    others = [row for row in report.memory if row.change != "added"]
    old, new = (one.program.memory if one.program else None for one in inputs.level_sides(sides))
    spaces = list_spaces(old.figures, new.figures) if old and new else ()
    shown = spaces if len(spaces) > 1 else ()

    def list_all(name: str, title: str, anchor: str = "") -> _Listed:
        return anchor or name, title, lists[name], getattr(report, name)

    return (
        _list_tables(
            labels,
            ("new", "New at the peak", memory, added),
            list_all("metrics", "Figures", anchor="figures"),
            ("spaces", "Memory spaces", lists["spaces"], shown),
        ),
        _list_tables(
            labels,
            list_all("causes", "Why", anchor="why"),
            ("gone", "Gone from the peak, or of another size", memory, others),
            list_all("collectives", "Collectives"),
            list_all("fusions", "Fusions"),
            list_all("instructions", "Instructions"),
            list_all("header", "Header"),
            list_all("flags", "Flags"),
        ),
    )
