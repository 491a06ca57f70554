"""A memory-usage report as PATH of `buffers` and `summary`, and beside a dump as a check."""

from __future__ import annotations

import os

from hlotool.analysis.memory_text import USAGE_FIGURES, USAGE_REPORT, compare_totals, list_usage
from hlotool.commands.shared.messages import say
from hlotool.commands.shared.request import Request
from hlotool.dump.files import DumpFile
from hlotool.dump.siblings import find_sibling
from hlotool.dump.text_kind import TextKind
from hlotool.errors import HlotoolError
from hlotool.oom.usage_report import parse_usage_report
from hlotool.program.program import Program
from hlotool.table import Document, InputPaths, Line, Unit, quote_braces
from hlotool.table.units import format_value


def describe_usage(file: DumpFile, request: Request, *shown: str) -> Document:
    """Return the answer about a report without a dump."""
    found = list_usage(parse_usage_report(file.read()))
    name = quote_braces(os.path.basename(request.path))  # noqa: PTH119  paths stay strings
    return Document(
        USAGE_REPORT,
        InputPaths(request.path),
        rows={"rows": found.slots, "allocations": found.allocations, "spaces": found.spaces},
        scalars=found.figures,
        lines=(
            Line(
                f"{name}: {{total_bytes}} in all; {{allocation_count}} allocations are listed",
                USAGE_FIGURES,
                found.figures,
            ),
        ),
        notes=(
            Line(
                "A report has no lifetimes: what is in use at once is not in it. Sizes are rounded."
            ),
        ),
        shown=shown,
    )


def check_usage(program: Program) -> None:
    """Say on stderr where the report beside a dump has other totals than its allocations."""
    path = program.paths.buffers_path
    file = find_sibling(path, TextKind.MEMORY_REPORT) if path and program.assignment else None
    if file is None or program.assignment is None:
        return
    try:
        found = compare_totals(parse_usage_report(file.read()), program.assignment)
    except HlotoolError as error:
        say(*str(error).split("\n"))
        return
    for each in found:
        space = "in all" if each.space is None else f"in space {each.space}"
        reported = format_value(each.reported_bytes, Unit.BYTES)
        assigned = format_value(each.assigned_bytes, Unit.BYTES)
        say(
            f"{file.path}: {each.reported_bytes:,} bytes ({reported}) {space}, where the "
            f"allocations of {path} are {each.assigned_bytes:,} ({assigned}); "
            "the two are not of one compilation."
        )
