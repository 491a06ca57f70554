"""`hlotool buffers`: who holds memory at the true peak."""

from __future__ import annotations

from typing import Any, Final

import click
from msgspec.structs import replace

from hlotool.analysis.memory.answer import BUFFERS
from hlotool.analysis.memory_text import OUT_OF_MEMORY, USAGE_REPORT
from hlotool.commands.buffers.answer import (
    Asked,
    answer_program,
    compile_without,
    expect_words,
    list_given,
    names_chip,
    refuse_contradictions,
)
from hlotool.commands.buffers.message import answer_text
from hlotool.commands.shared.command import document_command
from hlotool.commands.shared.complete import complete_space
from hlotool.commands.shared.options import (
    CHIP_MEMORY,
    RowOptions,
    dump_options,
    machine_options,
    stack_option,
)
from hlotool.commands.shared.output import print_document
from hlotool.commands.shared.request import Request, load_one
from hlotool.commands.shared.usage_report import check_usage
from hlotool.table.quantity import parse_size

_EXAMPLE: Final = """\
hlotool buffers dump/ --by class,scope
hlotool buffers dump/ --hbm 80GiB
hlotool buffers dump/ --at fusion.123 --space vmem"""


@document_command("buffers", BUFFERS, OUT_OF_MEMORY, USAGE_REPORT, example=_EXAMPLE)
@dump_options
@click.option(
    "--at",
    metavar="INSTANT",
    default="peak",
    help="Show this instant: a position, an instruction, or peak.",
)
@click.option(
    "--all", "is_all", is_flag=True, help="Show every allocation and value, whenever it is live."
)
@click.option(
    "--space",
    default="0",
    help="Memory space: a number, a name such as vmem, or all.",
    shell_complete=complete_space,
)
@click.option(
    "--peaks",
    type=click.IntRange(1, 1000),
    help="Also list this many of the highest separate peaks.",
)
@click.option(
    "--timeline", "has_timeline", is_flag=True, help="Show memory in use over the schedule."
)
@click.option(
    "--donation",
    "has_donation",
    is_flag=True,
    help="List parameters that are, or could be, donated.",
)
@stack_option
@click.option(
    "--without",
    metavar="EXPR",
    help="Show the program without the values for which EXPR holds.",
)
@click.option(
    "--hbm",
    metavar="SIZE",
    help="Show what is left of this much memory, such as 80GiB; if nothing, what would help.",
)
@machine_options(CHIP_MEMORY)
@click.option(
    "--dump",
    metavar="DIR",
    help="Of an out-of-memory message: the dump that holds its program.",
)
def buffers(
    request: Request,
    options: RowOptions,
    *,
    peaks: int | None,
    hbm: str | None,
    without: str | None,
    dump: str | None,
    **values: Any,
) -> None:
    """Show who holds memory at the peak, how much, and which line made it."""
    limit = None if hbm is None else parse_size(hbm, "--hbm")
    asked = Asked(
        **values,
        peak_count=peaks,
        limit_bytes=limit,
        without=None if without is None else compile_without(without),
    )
    refuse_contradictions(asked, request)
    text = answer_text(request, dump, list_given(asked, request), options)
    if text is None:
        return
    if limit is None and asked.without is None and not names_chip(request):
        asked = replace(asked, limit_bytes=text.limit_bytes)
    program = load_one(text.request, with_buffers=True)
    if without is not None:
        expect_words(without, program)
    check_usage(program)
    chip = program.machine.chip if program.machine else None
    if asked.limit_bytes is None and asked.without is None and chip:
        asked = replace(asked, limit_bytes=chip.hbm_bytes)
    document = answer_program(program, asked, options)
    print_document(replace(document, lines=(*text.lines, *document.lines)), options)


DOCUMENTS = (BUFFERS, OUT_OF_MEMORY, USAGE_REPORT)
