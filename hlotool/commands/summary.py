"""`hlotool summary`: one screen about a module, or a table of modules."""

from __future__ import annotations

import click

from hlotool.analysis.module_row_fields import SUMMARY_DIRECTORY
from hlotool.analysis.summary_fields import SUMMARY
from hlotool.commands.common import RowOptions, document_command
from hlotool.commands.load import dump_options
from hlotool.commands.request import Request
from hlotool.commands.summary_answer import answer_summary


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
    return answer_summary(request, options, with_findings=not no_findings)


DOCUMENTS = (SUMMARY, SUMMARY_DIRECTORY)
