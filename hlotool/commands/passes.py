"""`hlotool passes`: which pass of a compilation took the time, and which made the program large."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from hlotool.commands.diff.passes import choose_compilation
from hlotool.commands.shared.command import document_command
from hlotool.commands.shared.options import (
    RowOptions,
    hide_typed,
    module_option,
    option,
    unpacking_option,
)
from hlotool.commands.shared.output import print_document
from hlotool.compare import pass_times
from hlotool.compare.passes import PassRow, list_steps
from hlotool.dump.budget import ByteBudget
from hlotool.dump.read import read_unpacked
from hlotool.dump.siblings import find_pass_metadata
from hlotool.table import Block, Document, InputPaths, Line, quote_braces

_EXAMPLE = """\
hlotool passes dump/ --module jit_step
hlotool passes dump/ --by pipeline
hlotool passes dump/ --profile host.xplane.pb --where 'own_seconds > 0.1'"""
_ROW = Block("pass", PassRow, pass_times.TIMED.meaning)


@document_command("passes", pass_times.PASS_TIMES, example=_EXAMPLE)
@click.argument("path", metavar="DIR", callback=hide_typed)
@option("--profile FILE", "A profile of the compilation: *.xplane.pb.", default="")
@module_option
@unpacking_option
def passes(
    path: str, *, profile: str, module: str | None, unpacking: ByteBudget, options: RowOptions
) -> None:
    """List the passes of a compilation: time, growth, constants."""
    program, whole = choose_compilation(path, module, unpacking, is_timed=True), None
    steps = list_steps(program) if program.passes else ()
    runs = pass_times.read_runs(find_pass_metadata(program, unpacking))
    if profile:
        runs, whole = pass_times.read_events(
            profile, read_unpacked(profile, unpacking), program.name
        )
    rows, totals = pass_times.list_pass_times(runs, steps, whole)
    lists, blocks = {"passes": rows}, {"totals": totals}
    lines = tuple(_say(quote_braces(program.name), rows, totals))
    print_document(
        Document(pass_times.PASS_TIMES, InputPaths(path), lists, blocks, lines=lines), options
    )


def _say(name: str, rows: Sequence[PassRow], totals: pass_times.PassTotals) -> Iterator[Line]:
    """Say how long passes took, which made the program large, and what was folded."""
    if totals.seconds is not None:
        said = "{pass_count:run} of passes in {pipeline_count:pipeline} took {seconds}"
        said += "" if totals.folded_bytes is None else ", writing dumps included"
        yield Line(f"{name}: {said}", pass_times.TOTALS, totals)
        outside = "{outside_seconds} more were outside passes"
        if totals.outside_seconds is None:
            outside = "work outside of passes is not timed here; --profile times it"
        yield Line(outside, pass_times.TOTALS, totals)
    most = max(rows, key=lambda row: row.growth, default=None)
    if most and most.growth > 0:
        said = "from {old_instruction_count} to {new_instruction_count} instructions"
        where = " in {pipeline}" if most.pipeline else ""
        yield Line(f"grew most: {{pass_name}}{where}, {said}", _ROW, most)
    if totals.folded_bytes:
        yield Line("constant folding made {folded_bytes} of constants", pass_times.TOTALS, totals)
