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
from hlotool.compare.pass_times import (
    PASS_TIMES,
    PASSES,
    TOTALS,
    PassTime,
    PassTotals,
    list_pass_times,
    parse_metadata,
    read_events,
)
from hlotool.compare.passes import list_steps
from hlotool.dump.budget import ByteBudget
from hlotool.dump.read import read_source, read_unpacked
from hlotool.dump.siblings import find_pass_metadata
from hlotool.table import Block, Document, InputPaths, Line, quote_braces

_EXAMPLE = """\
hlotool passes dump/ --module jit_step
hlotool passes dump/ --by pipeline
hlotool passes dump/ --profile host.xplane.pb --where 'own_seconds > 0.1'"""
_ROW = Block("pass", PassTime, PASS_TIMES.meaning)


@document_command("passes", PASSES, example=_EXAMPLE)
@click.argument("path", metavar="DIR", callback=hide_typed)
@option("--profile FILE", "A profile of the compilation: *.xplane.pb.", default="")
@module_option
@unpacking_option
def passes(
    path: str, *, profile: str, module: str | None, unpacking: ByteBudget, options: RowOptions
) -> None:
    """List the passes of a compilation: time, growth, constants."""
    program = choose_compilation(path, module, unpacking, is_timed=True, is_any=bool(profile))
    steps, whole = list_steps(program), None
    first = next(step.file for step in steps)
    metadata = find_pass_metadata(first.raw_path, unpacking)
    runs = (
        [] if metadata is None else parse_metadata(read_source(metadata.raw_path, unpacking).text)
    )
    if profile:
        runs, whole = read_events(profile, read_unpacked(profile, unpacking), program.name)
    rows, totals = list_pass_times(runs, steps if program.passes else (), whole)
    lines = _say(program.name, rows, totals, has_dumps=bool(program.passes))
    print_document(
        Document(
            PASSES, InputPaths(path), {"passes": rows}, {"totals": totals}, lines=tuple(lines)
        ),
        options,
    )


def _say(
    name: str, rows: Sequence[PassTime], totals: PassTotals, *, has_dumps: bool
) -> Iterator[Line]:
    """Say how long passes took, which made the program large, and what was folded."""
    if totals.seconds is not None:
        said = "{pass_count:run} of passes in {pipeline_count:pipeline} took {seconds}"
        said += ", writing dumps included" if has_dumps else ""
        yield Line(f"{quote_braces(name)}: {said}", TOTALS, totals)
        outside = "what ran outside of these is not timed here; --profile has it"
        if totals.outside_seconds is not None:
            outside = "outside passes: {outside_seconds} of {compile_seconds}"
        yield Line(outside, TOTALS, totals)
    most = max(rows, key=lambda row: row.instruction_delta or 0, default=None)
    if most and most.instruction_delta:
        where = " in {pipeline}" if most.pipeline else ""
        said = "{instruction_delta} to {new_instruction_count} instructions"
        yield Line(f"grew most: {{pass_name}}{where}, {said}", _ROW, most)
    if totals.folded_bytes:
        yield Line("constant folding made {folded_bytes} of constants", TOTALS, totals)
