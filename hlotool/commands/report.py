"""`hlotool report`: a program as one page of HTML."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import click

from hlotool import __version__
from hlotool.analysis.collectives.answer import COLLECTIVE_ROWS
from hlotool.analysis.findings.finding import Finding, choose_finding_columns
from hlotool.analysis.fusions.answer import CUSTOM_CALLS, FUSION_ROWS
from hlotool.analysis.memory.answer import ROWS
from hlotool.commands.pages.pair import write_pair
from hlotool.commands.pages.tables import Listed, link_by, list_tables, no_link
from hlotool.commands.prose.headroom import say_headroom
from hlotool.commands.prose.summary import (
    say_collectives,
    say_measured,
    say_memory,
    say_what,
    say_work,
)
from hlotool.commands.shared.command import write_text
from hlotool.commands.shared.dump_options import dump_options
from hlotool.commands.shared.help import HelpfulCommand
from hlotool.commands.shared.machine_options import MACHINE, machine_options
from hlotool.commands.shared.request import Request, load_one
from hlotool.errors import UsageError
from hlotool.fields import Line, Unit
from hlotool.fields.quantity import parse_size
from hlotool.program.page.page import make_page
from hlotool.program.program import Program
from hlotool.render.report.libraries import expect_chart_script, expect_templates
from hlotool.render.report.page import PageFinding, PageTables, PageText, render_page
from hlotool.render.units import format_value

_EXAMPLES: Final = (
    "hlotool report dump/ -o report.html",
    "hlotool report dump/ --chip h100 --hbm 80GiB -o report.html",
    "hlotool report before/ after/ -o change.html",
)

_MOST_FINDINGS: Final = 5  # on the first screen


@click.command("report", cls=HelpfulCommand, examples=_EXAMPLES)
@dump_options
@click.argument("new", metavar="[NEW]", required=False)
@click.option("--hbm", metavar="SIZE", help="Show what is left of this much memory, such as 80GiB.")
@click.option("-o", "--output", metavar="FILE", required=True, help="Write the page to FILE.")
@machine_options(MACHINE)
def report(request: Request, *, new: str | None, hbm: str | None, output: str) -> None:
    """Write a program as one page of HTML that opens anywhere, without a network.

    It has the verdict, memory over time, where every value lies, who holds the peak, what runs and
    what is sent, and all tables behind them. With NEW, what changed from PATH to it: what is new
    at the peak, figures side by side, and memory of both over time.
    """
    limit = None if hbm is None else parse_size(hbm, "--hbm")
    expect_templates()  # a missing extra is told before anything is read
    expect_chart_script()
    if new is None:
        page, inputs = _write_one(request, limit)
    else:
        page, inputs = write_pair(request, new, limit)
    if output in {request.path, new, *inputs}:
        raise UsageError(f"--output {output} is the input itself; it was not overwritten.")
    write_text((page,), output)


def _write_one(request: Request, limit_bytes: int | None) -> tuple[str, set[str]]:
    """Return the page about a program, and the paths of what it was made from."""
    program = load_one(request, "executions", "memory", "costs", "fusions", with_buffers=True)
    if limit_bytes is None and program.machine and program.machine.chip:
        limit_bytes = program.machine.chip.hbm_bytes
    paths = program.paths
    made_from = tuple(filter(None, (paths.module_path or paths.path, paths.buffers_path)))
    text = PageText(
        program.expect_module().name,
        tuple(_list_lines(program, limit_bytes)),
        made_from,
        __version__,
        findings=tuple(_tell(one) for one in program.findings[:_MOST_FINDINGS]),
        more="More findings are below." if len(program.findings) > _MOST_FINDINGS else "",
    )
    return render_page(text, _list_tables(program), make_page(program, limit_bytes)), {*made_from}


def _list_lines(program: Program, limit_bytes: int | None) -> Iterator[Line]:
    """Say whether it fits, then what `summary` says, and last what the program is."""
    found = program.summarize(limit_bytes=limit_bytes)
    if found.headroom is not None:
        yield say_headroom(found.headroom)
    yield say_memory(found)[0]
    for say in (say_work, say_collectives, say_measured, say_what):
        yield from say(found)


def _tell(one: Finding) -> PageFinding:
    """Write a finding as it stands in the table below, shorter."""
    size = f"{format_value(one.bytes, Unit.BYTES)}: " if one.bytes is not None else ""
    place = f" ({one.source.rpartition('/')[2]})" if one.source else ""
    advice = f" Try: {one.advice}." if one.advice else ""
    return PageFinding(f"{size}{one.message}{place}{advice}", one.severity, one.instruction or "")


def _list_tables(program: Program) -> PageTables:
    buffers = link_by("instruction", "value")
    return PageTables(
        (),
        list_tables(
            Listed(
                "findings",
                "Findings",
                choose_finding_columns(program.findings),
                program.findings,
                link_by("instruction"),
            ),
            Listed("buffers", "Values at the peak", ROWS, program.peak_rows, buffers),
            Listed("fusions", "Fusions", FUSION_ROWS, program.fusions.rows, link_by("name")),
            Listed(
                *("collectives", "Collectives", COLLECTIVE_ROWS, program.collectives.rows),
                link_by("name"),
            ),
            Listed("calls", "Custom calls", CUSTOM_CALLS, program.custom_calls, no_link),
        ),
    )


DOCUMENTS = ()
