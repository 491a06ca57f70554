"""`hlotool shardings`: where the user's arrays lie on the devices, and what moves them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from hlotool.analysis.collectives.mesh import parse_mesh_axes
from hlotool.analysis.collectives.totals import COLLECTIVE_TOTALS
from hlotool.analysis.shardings.report import SHARDINGS, TOTALS, ShardingReport
from hlotool.analysis.shardings.rows import RESHARDS, WHY
from hlotool.commands.shared.command import document_command
from hlotool.commands.shared.many import many_programs
from hlotool.commands.shared.options import RowOptions, dump_options, option
from hlotool.commands.shared.request import Request, load_one
from hlotool.program.program import Program
from hlotool.table import Document, Line
from hlotool.table.document import quote_braces

_EXAMPLE: Final = """\
hlotool shardings dump/ --where 'copies > 1 and local_bytes > 64MiB'
hlotool shardings dump/ --rows reshards --by cause
hlotool shardings dump/ --why all-gather.3"""
_NOT_TOLD: Final = (
    "the sharding of some results is unknown; a protobuf has it: add "
    "XLA_FLAGS=--xla_dump_hlo_as_proto"
)
_PROBLEMS_SHOWN: Final = 3
_SENT: Final = "{count:collective}: a device sends {sent_bytes_per_step} per step"
_NO_PASSES: Final = (
    "some specs, and which reshards are involuntary, are unknown without texts of passes; "
    "add XLA_FLAGS=--xla_dump_hlo_pass_re=.*"
)


@document_command("shardings", SHARDINGS, example=_EXAMPLE)
@dump_options
@option("--mesh AXIS=N,…", "Name the axes of the device mesh, slowest-varying first.")
@option("--why NAME", "Show the chain to a collective, or to those that move a value.")
@many_programs(about_one=("why",))
def shardings(
    request: Request, *, mesh: str | None, why: str | None, options: RowOptions
) -> Document:
    """List shardings: global shapes, specs, replicated arrays, and causes of collectives."""
    program = load_one(request)
    given = parse_mesh_axes(mesh) if mesh is not None else None
    report = program.find_shardings(given) if given else program.shardings
    lists: dict[str, Sequence[object]] = {
        "parameters": report.parameters,
        "results": report.results,
    }
    lines, notes, focus = (_describe(report),), tuple(_note(report)), ""
    if why is not None:
        lists[WHY.name] = program.explain_chain(why, given)
        lines, notes = (Line(f"chain to {why}"),), _note_passes(program)
        focus = WHY.name
    elif options.rows == RESHARDS.name or not options.is_for_eyes:
        lists[RESHARDS.name] = program.find_reshards(given)
        if options.rows == RESHARDS.name:
            line = Line(_SENT, COLLECTIVE_TOTALS, program.collectives.totals)
            lines, notes = (line,), _note_passes(program)
    return Document(
        SHARDINGS,
        program.paths,
        rows=lists,
        blocks={TOTALS.name: report.totals},
        lines=lines,
        notes=notes,
        shown=_choose_tables(report, why),
        focus=focus,
        limits_all=True,
    )


def _choose_tables(report: ShardingReport, why: str | None) -> tuple[str, ...]:
    """Leave out results of which no file says anything."""
    if why is not None:
        return (WHY.name,)
    has_results = any(row.global_shape is not None for row in report.results)
    return ("parameters", "results") if has_results else ("parameters",)


def _note_passes(program: Program) -> tuple[Line, ...]:
    """Say what would tell more, where it is missing."""
    is_told = program.partitioned.texts.after is not None or not program.collectives.rows
    return () if is_told else (Line(_NO_PASSES),)


def _describe(report: ShardingReport) -> Line:
    totals = report.totals
    where = f" on mesh {' × '.join(totals.mesh)}" if totals.mesh else ""
    told = "{parameter_count:parameter}, {local_bytes} on a device"
    if totals.replicated_bytes:
        told += (
            ", {replicated_bytes} of it replicated; sharding over every axis saves {saves_bytes}"
        )
    if totals.unknown_count:
        told += "; the sharding of {unknown_count:parameter} is unknown"
    return Line(f"{{device_count:device}}{quote_braces(where)}: {told}", TOTALS, totals)


def _note(report: ShardingReport) -> Iterator[Line]:
    """Say what files contradict, and what none of them says."""
    problems = [row.problem for row in (*report.parameters, *report.results) if row.problem]
    yield from map(Line, problems[:_PROBLEMS_SHOWN])
    if len(problems) > _PROBLEMS_SHOWN:
        yield Line(f"and {len(problems) - _PROBLEMS_SHOWN:,} more that do not fit")
    if any(row.spec_text is None for row in report.results):
        yield Line(_NOT_TOLD)
