"""`hlotool summary DIR`: one row for each program, read in parallel, on one machine or many."""

from __future__ import annotations

from hlotool.analysis.summary.answer import choose_directory_columns
from hlotool.commands.shared.directory_options import DirectoryMeans
from hlotool.commands.shared.output import print_document
from hlotool.commands.shared.progress import progress
from hlotool.commands.shared.request import Request
from hlotool.commands.shared.row_options import RowOptions
from hlotool.commands.shared.say import say, say_all
from hlotool.fields import Document, InputPaths
from hlotool.program.fleet import Member, measure_members


def print_modules(request: Request, means: DirectoryMeans, options: RowOptions) -> int:
    """Print the table of a directory; a program that cannot be read costs one row.

    Its error goes to stderr too, and the exit code returned is then that of the first one.
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
    for each in measured:
        if each.row.error is not None:
            say(each.row.error)
    rows = [each.row for each in measured]
    print_document(
        Document(choose_directory_columns(rows), InputPaths(found.path), rows={"modules": rows}),
        options,
    )
    return next((each.exit_code for each in measured if each.exit_code), 0)
