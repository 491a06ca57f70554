"""`hlotool summary`: one screen about a module, or of a directory a row for each program.

Programs of a directory are read in parallel, on one machine or many.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hlotool.analysis.memory_text import USAGE_REPORT
from hlotool.analysis.summary.report import (
    MODULES,
    SUMMARY,
    SUMMARY_DIRECTORY,
    Summary,
    choose_directory_columns,
    choose_summary_columns,
)
from hlotool.commands.shared.command import document_command
from hlotool.commands.shared.memory_text import describe_usage
from hlotool.commands.shared.messages import fold_alike, say, say_all
from hlotool.commands.shared.options import (
    MACHINE,
    FleetOptions,
    RowOptions,
    add_options,
    directory_options,
    dump_options,
    option,
)
from hlotool.commands.shared.output import print_document
from hlotool.commands.shared.request import Request, load_one, progress
from hlotool.commands.summary.text import (
    point_to_program,
    say_collectives,
    say_findings,
    say_fits,
    say_measured,
    say_memory,
    say_order,
    say_what,
    say_work,
)
from hlotool.dump.text_kind import TextKind
from hlotool.program.program import Program
from hlotool.table import Document, InputPaths, Line
from hlotool.table.quantity import parse_size

_EXAMPLE: Final = """\
hlotool summary dump/module_0001.jit_step.txt
hlotool summary dump/ --sort -peak_bytes -n 5
hlotool summary dump/ --module jit_step --chip h100"""

_WHOLE: Final = frozenset(("table", "markdown", "json"))  # forms that hold more than rows
_MOST_HOLDERS: Final = 2_000  # that a summary looks at; `buffers` has them all


@document_command("summary", SUMMARY, SUMMARY_DIRECTORY, USAGE_REPORT, example=_EXAMPLE)
@dump_options
@add_options(MACHINE)
@option("--hbm SIZE", "Show what is left of this much memory, such as 80GiB.")
@directory_options
@option("--no-findings", "Leave out the findings.")
def summary(
    request: Request, fleet: FleetOptions, hbm: str | None, no_findings: bool, options: RowOptions
) -> int:
    """Summarize a module on one screen; of a directory with several, list them."""
    limit = None if hbm is None else parse_size(hbm, "--hbm")
    request = fleet.prepare(request)
    report = request.find_other(TextKind.MEMORY_REPORT)
    if report is not None:
        print_document(describe_usage(report, request, "spaces", "allocations"), options)
        return 0
    if not _asks_for_one(request, fleet, options):
        return _print_modules(request, fleet, options, limit)
    fleet.refuse()
    program = load_one(request, with_buffers=True)
    found = program.summarize(with_findings=not no_findings, limit_bytes=limit)
    print_document(_describe(found, program, options, has_findings=not no_findings), options)
    return 0


def _asks_for_one(request: Request, fleet: FleetOptions, options: RowOptions) -> bool:
    """Whether a path leads to one program, and is not asked for a table of programs.

    Who filters or sorts without naming a list, or wants rows alone, means the programs of a
    directory, however many there are.
    """
    found = request.find()
    if not found.is_directory:
        return True
    if len(found.inputs) > 1 or fleet != FleetOptions() or options.rows == MODULES.name:
        return False
    return bool(options.rows) or (not options.chooses_rows and options.format in _WHOLE)


def _describe(
    found: Summary, program: Program, options: RowOptions, *, has_findings: bool
) -> Document:
    """Return the answer: for eyes in the order of the questions, else all that there is."""
    rows: dict[str, Sequence[object]] = {
        "opcodes": found.opcodes,
        "dtypes": found.dtypes,
        "loops": found.loops,
    }
    if found.measured is not None:
        rows["instructions"] = found.instructions
    if has_findings:
        rows["findings"] = found.findings
    if options.wants_overview or options.rows == "holders":
        rows["holders"] = program.list_holders(_MOST_HOLDERS)
    names = ["module", "compilation", "cost", "memory", "collectives", "host", "measured"]
    names += ["headroom"] if found.headroom is not None else []
    names += ["bound", "run_time"] if found.bound is not None else []
    blocks = {name: getattr(found, name) for name in names}
    lines, above, notes = _place_prose(found, rows, options)
    return Document(
        spec=choose_summary_columns(found),
        input=program.paths,
        blocks=blocks,
        rows=rows,
        lines=lines,
        above=above,
        notes=notes,
        shown=tuple(above),
        find_words=program.find_words,
    )


def _place_prose(
    found: Summary, rows: dict[str, Sequence[object]], options: RowOptions
) -> tuple[tuple[Line, ...], dict[str, tuple[Line, ...]], tuple[Line, ...]]:
    """Put the sentences before, between and behind the tables of holders and loops.

    Who asks for certain rows sees what the program is, and those rows.
    """
    what = say_what(found)
    if not options.wants_overview:
        is_ordered = options.rows == "findings" and not (options.sort or options.by)
        return what, {}, say_order(found.findings) if is_ordered else ()
    memory, findings = say_memory(found), say_findings(found)
    work = (*say_work(found), *say_collectives(found), *say_measured(found))
    if len(rows.get("holders", ())) == _MOST_HOLDERS:
        note = f"of the values at the peak the {_MOST_HOLDERS:,} largest are looked at; "
        findings = (Line(f"{note}`hlotool buffers` has them all"), *findings)
    lines, above, notes = what, {}, findings
    if rows.get("holders"):
        above["holders"] = memory
    else:
        lines = (*lines, Line(""), *memory)
    if rows.get("loops"):
        above["loops"] = work
    else:
        notes = (*work, *((Line(""), *notes) if notes else ()))
    if not above:
        return (*lines, Line(""), *notes), above, ()
    return lines, above, notes


def _print_modules(
    request: Request, fleet: FleetOptions, options: RowOptions, limit_bytes: int | None
) -> int:
    """Print the table of a directory; a program that cannot be read costs one row.

    Errors go to stderr too, alike ones as one; the exit code returned is that of the first one.
    """
    from hlotool.program.fleet import Member, measure_members  # noqa: PLC0415  start-up time

    found = request.find()
    members = [Member(one, found.path) for one in found.inputs]
    with (
        progress("reading", sum(each.size_bytes for each in members)) as advance,
        fleet.open(request.assumptions.for_several(), advance) as opened,
    ):
        measured = measure_members(members, opened)
        if opened.cache:
            say_all(opened.cache.notes)
    say_all(note for each in measured for note in each.notes)
    errors = [each.row.error for each in measured if each.row.error is not None]
    for error in fold_alike(errors, "--where 'error != null' --columns error -n 0 lists all"):
        say(error)
    rows = [each.row for each in measured]
    notes = point_to_program(request.path, rows) if options.wants_overview else ()
    if limit_bytes is not None:
        notes = (say_fits(rows, limit_bytes), *notes)
    paths = InputPaths(found.path)
    print_document(
        Document(choose_directory_columns(rows), paths, rows={"modules": rows}, notes=notes),
        options,
    )
    return next((each.exit_code for each in measured if each.exit_code), 0)


DOCUMENTS = (SUMMARY, SUMMARY_DIRECTORY)
