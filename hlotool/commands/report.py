"""`hlotool report`: a program as one page of HTML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import click
from msgspec import Struct

from hlotool import __version__
from hlotool.analysis.collectives.answer import COLLECTIVE_ROWS
from hlotool.analysis.findings.finding import FINDINGS
from hlotool.analysis.fusions.answer import CUSTOM_CALLS, FUSION_ROWS
from hlotool.analysis.memory.answer import ROWS
from hlotool.commands.shared.command import write_text
from hlotool.commands.shared.dump_options import dump_options
from hlotool.commands.shared.help import HelpfulCommand
from hlotool.commands.shared.machine_options import MACHINE, machine_options
from hlotool.commands.shared.request import Request, load_one
from hlotool.commands.summary_prose import say_all
from hlotool.errors import UsageError
from hlotool.fields import Line, RowList
from hlotool.fields.quantity import parse_size
from hlotool.program.page.page import make_page
from hlotool.program.program import Program
from hlotool.query.select import Query, select_rows
from hlotool.render.report.libraries import expect_chart_script, expect_templates
from hlotool.render.report.page import PageText, render_page
from hlotool.render.report.tables import MOST_ROWS, PageTable, make_table

_EXAMPLES: Final = (
    "hlotool report dump/ -o report.html",
    "hlotool report dump/ --chip h100 --hbm 80GiB -o report.html",
    "hlotool report dump/ --module jit_step -o step.html",
)


class _Listed(Struct, frozen=True):
    """A list of a program that is a table of the page."""

    anchor: str
    title: str
    row_list: RowList
    rows: Sequence[object]
    named_by: str


@click.command("report", cls=HelpfulCommand, examples=_EXAMPLES)
@dump_options
@click.option("--hbm", metavar="SIZE", help="Show what is left of this much memory, such as 80GiB.")
@click.option("-o", "--output", metavar="FILE", required=True, help="Write the page to FILE.")
@machine_options(MACHINE)
def report(request: Request, *, hbm: str | None, output: str) -> None:
    """Write a program as one page of HTML that opens anywhere, without a network.

    It has the verdict, memory over time, where every value lies, who holds the peak, what runs and
    what is sent, and all tables behind them.
    """
    limit = None if hbm is None else parse_size(hbm, "--hbm")
    expect_templates()  # a missing extra is told before anything is read
    expect_chart_script()
    program = load_one(request, "executions", "costs", "memory", "fusions", with_buffers=True)
    paths = program.paths
    if output in {paths.path, paths.module_path, paths.buffers_path}:
        raise UsageError(f"--output {output} is the input itself; it was not overwritten.")
    if limit is None and program.machine and program.machine.chip:
        limit = program.machine.chip.hbm_bytes
    text = PageText(
        program.expect_module().name,
        tuple(_list_lines(program, limit)),
        tuple(filter(None, (paths.module_path or paths.path, paths.buffers_path))),
        __version__,
    )
    page = render_page(text, tuple(_list_tables(program)), make_page(program, limit))
    write_text((page,), output)


def _list_lines(program: Program, limit_bytes: int | None) -> Iterator[Line]:
    """Yield what `summary` says, and whether the program fits."""
    yield from say_all(program.summarize(limit_bytes=limit_bytes))


def _list_tables(program: Program) -> Iterator[PageTable]:
    for each in _list_rows(program):
        if each.rows:
            query = Query(default_limit=MOST_ROWS)
            selection = select_rows(each.row_list, each.rows, query)
            yield make_table(each.anchor, each.title, selection, each.named_by, "auto")


def _list_rows(program: Program) -> Iterator[_Listed]:
    yield _Listed("buffers", "Values at the peak", ROWS, program.peak_rows, "instruction")
    yield _Listed("fusions", "Fusions", FUSION_ROWS, program.fusions.rows, "name")
    rows = program.collectives.rows
    yield _Listed("collectives", "Collectives", COLLECTIVE_ROWS, rows, "name")
    yield _Listed("calls", "Custom calls", CUSTOM_CALLS, program.custom_calls, "")
    yield _Listed("findings", "Findings", FINDINGS, program.findings, "instruction")


DOCUMENTS = ()
