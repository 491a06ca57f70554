"""`hlotool summary DIR`: one row for each program, read in parallel, on one machine or many."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote
from typing import Final

from hlotool.analysis.summary.answer import MODULES, choose_directory_columns
from hlotool.analysis.summary.program_row import ProgramRow, find_too_large
from hlotool.commands.shared.alike import fold_alike
from hlotool.commands.shared.directory_options import DirectoryMeans
from hlotool.commands.shared.output import print_document
from hlotool.commands.shared.progress import progress
from hlotool.commands.shared.request import Request
from hlotool.commands.shared.row_options import RowOptions
from hlotool.commands.shared.say import say, say_all
from hlotool.fields import Document, InputPaths, Line, Unit, quote_braces
from hlotool.inputs.read.text import STDIN
from hlotool.program.fleet import Member, measure_members
from hlotool.query.order import sort_rows
from hlotool.render.units import format_value

_WHOLE: Final = frozenset(("table", "markdown", "json"))  # forms that hold more than rows


def asks_for_one(request: Request, means: DirectoryMeans, options: RowOptions) -> bool:
    """Whether a path leads to one program, and is not asked for a table of programs.

    Who filters or sorts without naming a list, or wants rows alone, means the programs of a
    directory, however many there are.
    """
    found = request.find()
    if not found.is_directory:
        return True
    if len(found.inputs) > 1 or means != DirectoryMeans() or options.rows == MODULES.name:
        return False
    return bool(options.rows) or (not options.chooses_rows and options.format in _WHOLE)


def _say_deeper(request: Request, rows: Sequence[ProgramRow]) -> tuple[Line, ...]:
    """Say what to type to see one program, the first that could be read."""
    readable = sort_rows(MODULES, [row for row in rows if row.error is None], "")
    first = next((row for row in readable if isinstance(row, ProgramRow)), None)
    if first is None or len(rows) == 1 or request.path == STDIN:
        return ()
    typed = f"hlotool summary {quote(request.path)} --module {quote(first.place)}"
    return (Line(f"{quote_braces(typed)}  # one of them", is_typed=True),)


def _say_fits(rows: Sequence[ProgramRow], limit_bytes: int) -> Line:
    """Say which programs do not fit into so much memory, and of how many nobody can tell."""
    found = find_too_large(rows, limit_bytes)
    limit = format_value(limit_bytes, Unit.BYTES)
    named = [f"{'~ ' * row.is_estimate}{row.module} ({row.place})" for row in found.too_large]
    said = f"do not fit in {limit}: {quote_braces(', '.join(named))}"
    if not named:
        said = f"none is larger than {limit}" if found.unknown_count else f"all fit in {limit}"
    unknown = found.unknown_count
    return Line(f"{said}; unknown of {unknown:,}" if unknown else said)


def print_modules(
    request: Request, means: DirectoryMeans, options: RowOptions, limit_bytes: int | None = None
) -> int:
    """Print the table of a directory; a program that cannot be read costs one row.

    Errors go to stderr too, alike ones as one; the exit code returned is that of the first one.
    """
    found = request.find()
    members = [Member(one, found.path) for one in found.inputs]
    with (
        progress("reading", sum(each.size_bytes for each in members)) as advance,
        means.open(request.assumptions.for_several(), advance) as opened,
    ):
        measured = measure_members(members, opened)
        if opened.cache:
            say_all(opened.cache.notes)
    say_all(note for each in measured for note in each.notes)
    errors = [each.row.error for each in measured if each.row.error is not None]
    for error in fold_alike(errors, "--where 'error != null' --columns error -n 0 lists all"):
        say(error)
    rows = [each.row for each in measured]
    notes = _say_deeper(request, rows) if options.wants_overview else ()
    if limit_bytes is not None:
        notes = (_say_fits(rows, limit_bytes), *notes)
    paths = InputPaths(found.path)
    print_document(
        Document(choose_directory_columns(rows), paths, rows={"modules": rows}, notes=notes),
        options,
    )
    return next((each.exit_code for each in measured if each.exit_code), 0)
