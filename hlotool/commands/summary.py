"""`hlotool summary`: one screen about a module, or a table of modules."""

from __future__ import annotations

import click

from hlotool.analysis.summary.answer_fields import SUMMARY
from hlotool.analysis.summary.program_row_fields import SUMMARY_DIRECTORY
from hlotool.commands.common import RowOptions, document_command, print_document
from hlotool.commands.load import dump_options
from hlotool.commands.modules import print_modules
from hlotool.commands.request import Request, load_one
from hlotool.commands.summary_prose import describe_summary


@document_command(
    "summary",
    SUMMARY,
    SUMMARY_DIRECTORY,
    example="hlotool summary dump/module_0001.jit_step.txt\nhlotool summary dump/ -n 5",
)
@dump_options
@click.option("--no-findings", is_flag=True, help="Leave out what is worth a look.")
def summary(request: Request, no_findings: bool, options: RowOptions) -> int:
    """Show what a module is and what is in it, on one screen; for a directory, its modules."""
    found = request.find()
    if found.is_directory:
        return print_modules(found, options)
    program = load_one(request, with_buffers=True)
    answer = program.summarize(with_findings=not no_findings)
    print_document(describe_summary(answer, program.paths, has_findings=not no_findings), options)
    return 0


DOCUMENTS = (SUMMARY, SUMMARY_DIRECTORY)
