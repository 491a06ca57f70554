"""`hlotool report`: a program as one page of HTML, or two side by side.

The page has the sentences and the lists of other commands; what is drawn, and what a click in a row
tells, is made by `page`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import click
from msgspec import Struct
from msgspec.structs import replace

from hlotool import __version__
from hlotool.analysis.collectives.report import COLLECTIVE_ROWS
from hlotool.analysis.findings.finding import Finding, choose_finding_columns
from hlotool.analysis.fusions.rows import CUSTOM_CALLS, FUSION_ROWS
from hlotool.analysis.memory.answer import ROWS
from hlotool.commands.diff.answers import describe_report
from hlotool.commands.diff.text import count_changes, say_difference
from hlotool.commands.shared.command import HelpfulCommand
from hlotool.commands.shared.memory_text import say_fit
from hlotool.commands.shared.messages import say
from hlotool.commands.shared.options import (
    MACHINE,
    add_options,
    dump_options,
    find_max_chars,
    hide_typed,
    option,
)
from hlotool.commands.shared.output import write_text
from hlotool.commands.shared.request import Request, load_one
from hlotool.commands.summary import say_collectives, say_measured, say_memory, say_what, say_work
from hlotool.compare.answer import name_columns
from hlotool.compare.changes.fusions import FusionChange
from hlotool.compare.changes.instructions import InstructionChange
from hlotool.compare.changes.memory import MemoryChange, list_spaces
from hlotool.compare.inputs import (
    Candidate,
    DiffSide,
    find_candidates,
    level_sides,
    parse_argument,
    read_pair,
)
from hlotool.compare.pairing import Pairing, pair_candidates
from hlotool.compare.report import DiffReport, compare_programs
from hlotool.dump.siblings import NamedFiles
from hlotool.errors import NothingCheckedError, UsageError
from hlotool.page.data import make_page, make_pair_page
from hlotool.page.html import (
    MOST_ROWS,
    FindLink,
    Link,
    PageFinding,
    PageTable,
    PageTables,
    PageText,
    expect_templates,
    make_table,
    render_page,
)
from hlotool.program.program import Program
from hlotool.table import InputPaths, Line, RowList, Unit, quote_braces
from hlotool.table.select import Query, select_rows
from hlotool.table.units import format_value, parse_size

_Sides = tuple[DiffSide, DiffSide]
_Labels = tuple[str, str]
_EXAMPLES: Final = (
    "hlotool report dump/ -o report.html",
    "hlotool report dump/ --chip h100 --hbm 80GiB -o report.html",
    "hlotool report before/ after/ -o change.html",
)

_MOST_FINDINGS: Final = 5  # on the first screen


class Listed(Struct, frozen=True):
    """A list that is a table of the page, if it has rows."""

    anchor: str
    title: str
    row_list: RowList
    rows: Sequence[object]
    find_link: FindLink | None = None


def _list_tables(*lists: Listed) -> tuple[PageTable, ...]:
    """Write lists as tables, the largest rows first, and leave out those without a row."""
    return tuple(
        make_table(
            each.anchor,
            each.title,
            select_rows(each.row_list, each.rows, Query(default_limit=MOST_ROWS)),
            each.find_link,
        )
        for each in lists
        if each.rows
    )


def _link_by(name: str, text: str = "") -> FindLink:
    """Return what finds the instruction that a row names, and the cell that shows it."""

    def find(record: object) -> Link | None:
        found = getattr(record, name)
        return Link(getattr(record, text or name), found) if found else None

    return find


@click.command("report", cls=HelpfulCommand, examples=_EXAMPLES)
@dump_options
@click.argument("new", metavar="[NEW]", required=False, callback=hide_typed)
@option("--hbm SIZE", "Check whether the program fits in SIZE, such as 80GiB.")
@option("-o, --output FILE", "Write the page to FILE.", required=True)
@add_options(MACHINE)
def report(request: Request, *, new: str | None, hbm: str | None, output: str) -> None:
    """Write a program as one page of HTML that works offline.

    It shows the verdict, memory over time, every value's memory, the peak, steps, collectives,
    and all tables behind them. With NEW, it shows changes from PATH to NEW: values at the peak,
    figures side by side, memory over time.
    """
    if find_max_chars() is not None:
        raise UsageError("--max-chars shortens tables, markdown and JSON, and no page.")
    limit = None if hbm is None else parse_size(hbm, "--hbm")
    expect_templates()  # a missing extra is told before anything is read
    if new is None:
        page, inputs = _write_one(request, limit)
    else:
        page, inputs = _write_pair(request, new, limit)
    if output in {request.path, new, *inputs}:
        raise UsageError(f"--output {output} is the input itself; it was not overwritten.")
    write_text((page,), output)


def _write_one(request: Request, limit_bytes: int | None) -> tuple[str, set[str]]:
    """Return the page about a program, and the paths of what it was made from."""
    program = load_one(request, with_buffers=True)
    if limit_bytes is None and program.machine and program.machine.chip:
        limit_bytes = program.machine.chip.hbm_bytes
    made_from = tuple(_list_paths(program.paths))
    text = PageText(
        program.expect_module().name,
        tuple(_say_all(program, limit_bytes)),
        made_from,
        __version__,
        findings=tuple(_make_finding(one) for one in program.findings[:_MOST_FINDINGS]),
        more="More findings are below." if len(program.findings) > _MOST_FINDINGS else "",
    )
    page = make_page(program, limit_bytes)
    return render_page(text, _list_page_tables(program), page), {*made_from}


def _list_paths(found: InputPaths) -> Iterator[str]:
    """Yield the files that a page is made from: a text, and a buffer assignment."""
    yield found.module_path or found.path
    if found.buffers_path:
        yield found.buffers_path


def _say_all(program: Program, limit_bytes: int | None) -> Iterator[Line]:
    """Say whether it fits, then what `summary` says, and last what the program is."""
    found = program.summarize(limit_bytes=limit_bytes)
    if found.fit is not None:
        yield say_fit(found.fit)
    yield say_memory(found)[0]
    for write in (say_work, say_collectives, say_measured, say_what):
        yield from write(found)


def _make_finding(one: Finding) -> PageFinding:
    """Write a finding as it stands in the table below, shorter."""
    size = f"{format_value(one.bytes, Unit.BYTES)}: " if one.bytes is not None else ""
    place = f" ({one.source.rpartition('/')[2]})" if one.source else ""
    advice = f" Try: {one.advice}." if one.advice else ""
    return PageFinding(f"{size}{one.message}{place}{advice}", one.severity, one.instruction or "")


def _list_page_tables(program: Program) -> PageTables:
    findings, columns = program.findings, choose_finding_columns(program.findings)
    buffers, calls = program.peak_rows, program.custom_calls
    fusions, collectives = program.fusions.rows, program.collectives.rows
    by_name = _link_by("name")
    tables = _list_tables(
        Listed("findings", "Findings", columns, findings, _link_by("instruction")),
        Listed("buffers", "Values at the peak", ROWS, buffers, _link_by("instruction", "value")),
        Listed("fusions", "Fusions", FUSION_ROWS, fusions, by_name),
        Listed("collectives", "Collectives", COLLECTIVE_ROWS, collectives, by_name),
        Listed("calls", "Custom calls", CUSTOM_CALLS, calls),
    )
    return PageTables((), tables)


# Two programs.


def _write_pair(request: Request, new: str, limit_bytes: int | None) -> tuple[str, set[str]]:
    """Return the page about two programs, and the paths of what it was made from."""
    if request.named != NamedFiles():
        raise UsageError("--buffers, --live-range and --module-text need a single program.")
    if request.budgets:
        raise UsageError("--budget needs a single program; hlotool check compares two.")
    arguments = parse_argument(request.path, "old"), parse_argument(new, "new")
    labels = arguments[0].label, arguments[1].label
    if labels[0] == labels[1]:
        raise UsageError(f"both sides have the name {labels[0]!r}.")
    found = [
        find_candidates(one, request.stage, request.module, request.unpacking) for one in arguments
    ]
    pair = _choose_pair(pair_candidates(found[0][0], found[1][0]))
    sides, facts = read_pair(pair, labels, request.assumptions)
    request.tell((*found[0][1], *found[1][1], *sides[0].notes(), *sides[1].notes()))
    report = compare_programs(*sides)
    machine = request.assumptions.machine
    if limit_bytes is None and machine and machine.chip:
        limit_bytes = machine.chip.hbm_bytes
    said = tuple(say_difference(report, "auto"))
    read = (one.input for one in facts)
    paths = tuple(path for one in read for path in _list_paths(one))
    text = PageText(
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
    )
    page = make_pair_page(sides, labels, limit_bytes)
    return render_page(text, _list_changes(report, sides, labels), page), {*paths}


def _choose_pair(pairs: Sequence[Pairing]) -> tuple[Candidate, Candidate]:
    """Choose the programs with most to read, and say so where there are others."""
    whole = [(one.old, one.new) for one in pairs if one.old and one.new]
    if not whole:
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


def _list_changes(report: DiffReport, sides: _Sides, labels: _Labels) -> PageTables:
    """List what is new at the peak and the figures first, then all that changed."""
    lists = {one.name: one for one in name_columns(*labels, report.collectives).row_lists}
    memory = lists["memory"]
    added = [row for row in report.memory if row.change == "added"]
    others = [row for row in report.memory if row.change != "added"]
    to_memory, to_fusion, to_instruction = _link_changes(labels)
    old, new = (one.program.memory if one.program else None for one in level_sides(sides))
    spaces = list_spaces(old.figures, new.figures) if old and new else ()
    shown = spaces if len(spaces) > 1 else ()

    def list_all(
        name: str, title: str, find_link: FindLink | None = None, anchor: str = ""
    ) -> Listed:
        return Listed(anchor or name, title, lists[name], getattr(report, name), find_link)

    return PageTables(
        _list_tables(
            Listed("new", "New at the peak", memory, added, to_memory),
            list_all("metrics", "Figures", anchor="figures"),
            Listed("spaces", "Memory spaces", lists["spaces"], shown),
        ),
        _list_tables(
            list_all("causes", "Why", anchor="why"),
            Listed("gone", "Gone from the peak, or of another size", memory, others, to_memory),
            list_all("collectives", "Collectives"),
            list_all("fusions", "Fusions", to_fusion),
            list_all("instructions", "Instructions", to_instruction),
            list_all("header", "Header"),
            list_all("flags", "Flags"),
        ),
    )


def _link_changes(labels: _Labels) -> tuple[FindLink, FindLink, FindLink]:
    """Return what a click tells of: the new instruction, of what is gone the old one."""

    def memory(row: object) -> Link | None:
        if not isinstance(row, MemoryChange):
            return None
        return Link(row.value, row.instruction, labels[row.change != "removed"])

    def fusion(row: object) -> Link | None:
        if not isinstance(row, FusionChange):
            return None
        names = row.new_names or row.old_names
        return Link(row.name, names[0], labels[bool(row.new_names)]) if names else None

    def instruction(row: object) -> Link | None:
        if not isinstance(row, InstructionChange):
            return None
        name = row.new_name or row.old_name
        return Link(row.name, name, labels[bool(row.new_name)]) if name else None

    return memory, fusion, instruction
