"""`hlotool shardings`: where the user's arrays lie on the devices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hlotool.analysis.collectives.mesh import parse_mesh_axes
from hlotool.analysis.shardings.report import SHARDINGS, TOTALS, ShardingReport
from hlotool.commands.shared.command import document_command
from hlotool.commands.shared.options import RowOptions, dump_options, option
from hlotool.commands.shared.output import print_document
from hlotool.commands.shared.request import Request, load_one
from hlotool.table import Document, Line
from hlotool.table.document import quote_braces

_EXAMPLE: Final = """\
hlotool shardings dump/ --by origin
hlotool shardings dump/ --where 'copies > 1 and local_bytes > 64MiB'
hlotool shardings step.txt --mesh data=4,model=2"""
_NOT_TOLD: Final = (
    "of some results no file here says the sharding; a protobuf does, which "
    "XLA_FLAGS=--xla_dump_hlo_as_proto adds to a dump"
)
_PROBLEMS_SHOWN: Final = 3


@document_command("shardings", SHARDINGS, example=_EXAMPLE)
@dump_options
@option("--mesh AXIS=N,…", "Name the axes of the device mesh, slowest-varying first.")
def shardings(request: Request, *, mesh: str | None, options: RowOptions) -> None:
    """List where arrays lie: global shapes, specs, and what is replicated."""
    program = load_one(request)
    report = program.find_shardings(parse_mesh_axes(mesh) if mesh is not None else None)
    has_results = any(row.global_shape is not None for row in report.results)
    document = Document(
        SHARDINGS,
        program.paths,
        rows={"parameters": report.parameters, "results": report.results},
        blocks={TOTALS.name: report.totals},
        lines=(_describe(report),),
        notes=tuple(_note(report)),
        shown=("parameters", "results") if has_results else ("parameters",),
        limits_all=True,
    )
    print_document(document, options)


def _describe(report: ShardingReport) -> Line:
    totals = report.totals
    where = f" on mesh {' × '.join(totals.mesh)}" if totals.mesh else ""
    told = "{parameter_count:parameter}, {local_bytes} on a device"
    if totals.replicated_bytes:
        told += (
            ", of which {replicated_bytes} is replicated; sharded over every axis it would be "
            "{saves_bytes} less"
        )
    if totals.unknown_count:
        told += "; of {unknown_count:parameter} no file here says the sharding"
    return Line(f"{{device_count:device}}{quote_braces(where)}: {told}", TOTALS, totals)


def _note(report: ShardingReport) -> Iterator[Line]:
    """Say what files contradict, and what none of them says."""
    problems = [row.problem for row in (*report.parameters, *report.results) if row.problem]
    for problem in problems[:_PROBLEMS_SHOWN]:
        yield Line(problem)
    if len(problems) > _PROBLEMS_SHOWN:
        yield Line(f"and {len(problems) - _PROBLEMS_SHOWN:,} more that do not fit")
    if any(row.spec_text is None for row in report.results):
        yield Line(_NOT_TOLD)
