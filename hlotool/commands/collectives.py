"""`hlotool collectives`: what crosses the interconnect, per run."""

from __future__ import annotations

from collections.abc import Sequence

import click

from hlotool.analysis.collectives.answer_fields import COLLECTIVES, choose_columns
from hlotool.analysis.collectives.link_times import estimate_times, find_link_speed
from hlotool.analysis.collectives.mesh_axes import parse_mesh_axes
from hlotool.analysis.collectives.report import CollectiveOptions
from hlotool.commands.collectives_prose import heading, notes
from hlotool.commands.common import RowOptions, document_command, print_document
from hlotool.commands.load import dump_options
from hlotool.commands.request import Request, load_one
from hlotool.fields import Document

_EXAMPLE = """\
hlotool collectives dump/ --mesh data=4,model=2 --by axes,kind
hlotool collectives dump/ --where 'is_exposed and wire_bytes_per_run > 64MiB'
hlotool collectives dump/ --chip h100 --devices-per-node 8"""


@document_command("collectives", COLLECTIVES, example=_EXAMPLE)
@dump_options
@click.option("--mesh", metavar="AXIS=N,…", help="Name the axes of the device mesh, slowest first.")
@click.option(
    "--devices-per-node",
    type=click.IntRange(min=1),
    metavar="N",
    help="Say which collectives leave a node of N consecutive devices.",
)
@click.option("--expand", is_flag=True, help="List the operands of those that have several.")
@click.option("--chip", metavar="NAME", help="Estimate times on this chip's links: h100, v5p, ….")
@click.option("--bandwidth", metavar="SPEED", help="Estimate times at this speed: 450GB/s.")
@click.option("--latency", metavar="TIME", help="Added once for each collective: 5us.")
@click.option(
    "--chip-file", metavar="FILE", default="", help="TOML with chips of your own, as chips.toml."
)
def collectives(
    request: Request,
    *,
    mesh: str | None,
    devices_per_node: int | None,
    expand: bool,
    chip: str | None,
    bandwidth: str | None,
    latency: str | None,
    chip_file: str,
    options: RowOptions,
) -> None:
    """List what crosses the interconnect in a run: logical collectives, bytes, overlap."""
    wanted = CollectiveOptions(
        mesh=parse_mesh_axes(mesh) if mesh is not None else None,
        devices_per_node=devices_per_node,
        with_groups=options.is_wide,
        with_operands=expand,
    )
    link = find_link_speed(chip, bandwidth, latency, chip_file)
    program = load_one(request)
    report = program.analyze_collectives(wanted)
    rows = report.rows if link is None else estimate_times(report.rows, link)
    lists: dict[str, Sequence[object]] = {"rows": rows, "by_kind": report.totals.by_kind}
    shown = ["rows", "by_kind"] if len(report.totals.by_kind) > 1 else ["rows"]
    if expand:
        lists["operands"] = report.operands
        shown.insert(1, "operands")
    document = Document(
        spec=choose_columns(rows),
        input=program.paths,
        blocks={"totals": report.totals, "exposed": report.exposed},
        rows=lists,
        lines=heading(program.expect_module(), report),
        notes=notes(rows, wanted, link),
        shown=tuple(shown),
    )
    print_document(document, options)


DOCUMENTS = (COLLECTIVES,)
