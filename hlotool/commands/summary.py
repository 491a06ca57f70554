"""`hlotool summary`: one screen about a module, or a table of modules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import click

from hlotool.analysis.summary.answer import SUMMARY, SUMMARY_DIRECTORY, choose_summary_columns
from hlotool.analysis.summary.report import Summary
from hlotool.analysis.usage_report.report import USAGE_REPORT
from hlotool.commands.prose.summary import (
    say_collectives,
    say_findings,
    say_measured,
    say_memory,
    say_order,
    say_what,
    say_work,
)
from hlotool.commands.shared.command import RowOptions, document_command, print_document
from hlotool.commands.shared.directory_options import DirectoryMeans, directory_options
from hlotool.commands.shared.dump_options import dump_options
from hlotool.commands.shared.machine_options import MACHINE, machine_options
from hlotool.commands.shared.request import Request, load_one
from hlotool.commands.summary_directory import asks_for_one, print_modules
from hlotool.commands.usage_report import describe_usage
from hlotool.fields import Document, Line
from hlotool.fields.quantity import parse_size
from hlotool.inputs.read.text_kind import TextKind
from hlotool.program.program import Program

_EXAMPLE: Final = """\
hlotool summary dump/module_0001.jit_step.txt
hlotool summary dump/ --sort -peak_bytes -n 5
hlotool summary dump/ --module jit_step --chip h100"""

_MOST_HOLDERS: Final = 2_000  # that a summary looks at; `buffers` has them all


@document_command(
    "summary",
    SUMMARY,
    SUMMARY_DIRECTORY,
    USAGE_REPORT,
    example=_EXAMPLE,
)
@dump_options
@machine_options(MACHINE)
@click.option("--hbm", metavar="SIZE", help="Show what is left of this much memory, such as 80GiB.")
@directory_options
@click.option("--no-findings", is_flag=True, help="Leave out the findings.")
def summary(
    request: Request, means: DirectoryMeans, hbm: str | None, no_findings: bool, options: RowOptions
) -> int:
    """Summarize a module on one screen; of a directory with several, list them."""
    limit = None if hbm is None else parse_size(hbm, "--hbm")
    request = means.prepare(request)
    report = request.find_other(TextKind.MEMORY_REPORT)
    if report is not None:
        print_document(describe_usage(report, request, "spaces", "allocations"), options)
        return 0
    if not asks_for_one(request, means, options):
        return print_modules(request, means, options, limit)
    means.refuse()
    program = load_one(request, "executions", "memory", "costs", with_buffers=True)
    found = program.summarize(with_findings=not no_findings, limit_bytes=limit)
    document = _describe(found, program, options, has_findings=not no_findings)
    print_document(document, options)
    return 0


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
    blocks: dict[str, object] = {
        "module": found.module,
        "compilation": found.compilation,
        "cost": found.cost,
        "memory": found.memory,
        "collectives": found.collectives,
        "host": found.host,
        "measured": found.measured,
    }
    if found.headroom is not None:
        blocks["headroom"] = found.headroom
    if found.bound is not None:
        blocks["bound"] = found.bound
        blocks["run_time"] = found.run_time
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
    memory, work = (
        say_memory(found),
        (*say_work(found), *say_collectives(found), *say_measured(found)),
    )
    findings = say_findings(found)
    if len(rows.get("holders", ())) == _MOST_HOLDERS:
        note = f"of the values at the peak the {_MOST_HOLDERS:,} largest are looked at; "
        findings = (Line(f"{note}`hlotool buffers` has them all"), *findings)
    lines, above, notes = what, {}, findings
    if rows.get("holders"):
        above["holders"] = memory
    else:
        lines = (*lines, Line(""), *memory)
    if rows.get("loops"):
        above["loops"] = work if above else (*work,)
    else:
        notes = (*work, *((Line(""), *notes) if notes else ()))
    if not above:
        return (*lines, Line(""), *notes), above, ()
    return lines, above, notes


DOCUMENTS = (SUMMARY, SUMMARY_DIRECTORY)
