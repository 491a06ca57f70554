"""`hlotool collectives`: what crosses the interconnect, per run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import click

from hlotool.analysis.collectives.answer import (
    COLLECTIVE_TOTALS,
    COLLECTIVES,
    EXPOSED,
    choose_collective_columns,
)
from hlotool.analysis.collectives.link_times import (
    LinkSpeed,
    estimate_collective_times,
    find_link_speed,
)
from hlotool.analysis.collectives.mesh_axes import parse_mesh_axes
from hlotool.analysis.collectives.report import CollectiveOptions, CollectiveReport
from hlotool.analysis.collectives.rows import CollectiveRow
from hlotool.commands.shared.command import RowOptions, document_command, print_document
from hlotool.commands.shared.dump_options import dump_options
from hlotool.commands.shared.request import Request, load_one
from hlotool.fields import Document, Line
from hlotool.fields.quantity import parse_bandwidth, parse_time
from hlotool.ir import Module

_NAMES_SHOWN: Final = 3
_EXAMPLE = """\
hlotool collectives dump/ --mesh data=4,model=2 --by axes,kind
hlotool collectives dump/ --where 'is_exposed and wire_bytes_per_run > 64MiB'
hlotool collectives dump/ --chip h100 --devices-per-node 8"""


@document_command("collectives", COLLECTIVES, example=_EXAMPLE)
@dump_options
@click.option(
    "--mesh", metavar="AXIS=N,…", help="Name the axes of the device mesh, slowest-varying first."
)
@click.option(
    "--devices-per-node",
    type=click.IntRange(min=1),
    metavar="N",
    help="Say which collectives leave a node of N consecutive devices.",
)
@click.option("--expand", is_flag=True, help="List the operands of combined collectives.")
@click.option("--chip", metavar="NAME", help="Estimate times on this chip's links: h100, v5p, ….")
@click.option("--bandwidth", metavar="SPEED", help="Estimate times at this speed: 450GB/s.")
@click.option("--latency", metavar="TIME", help="Add this much for each collective: 5us.")
@click.option(
    "--chip-file",
    metavar="FILE",
    default="",
    help="TOML file of your own chips, in the form of chips.toml.",
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
    link = find_link_speed(
        chip,
        None if bandwidth is None else parse_bandwidth(bandwidth, "--bandwidth"),
        None if latency is None else parse_time(latency, "--latency"),
        chip_file,
    )
    program = load_one(request)
    report = program.analyze_collectives(wanted)
    rows = report.rows if link is None else estimate_collective_times(report.rows, link)
    lists: dict[str, Sequence[object]] = {"rows": rows, "by_kind": report.totals.by_kind}
    shown = ["rows", "by_kind"] if len(report.totals.by_kind) > 1 else ["rows"]
    if expand:
        lists["operands"] = report.operands
        shown.insert(1, "operands")
    document = Document(
        spec=choose_collective_columns(rows),
        input=program.paths,
        blocks={"totals": report.totals, "exposed": report.exposed},
        rows=lists,
        lines=_head(program.expect_module(), report),
        notes=_notes(rows, wanted, link),
        shown=tuple(shown),
    )
    print_document(document, options)


def _head(module: Module, report: CollectiveReport) -> tuple[Line, ...]:
    """Say what there is, what it sends, and what is not hidden."""
    partitions, replicas = module.header.num_partitions, module.header.replica_count
    devices = f"{_plural(partitions, 'partition')} × {_plural(replicas, 'replica')}"
    if not report.rows:
        return (Line(f"{module.name}: no collectives; {devices}"),)
    totals = report.totals
    lines = [
        Line(f"{module.name}: {devices}"),
        Line(
            "{count} collectives ({textual_count} instructions in the text) run {executions} times",
            COLLECTIVE_TOTALS,
            totals,
        ),
        Line(
            "a device sends {wire_bytes_per_run} in one run, for payloads of "
            "{payload_bytes_per_run}",
            COLLECTIVE_TOTALS,
            totals,
        ),
    ]
    if not any(row.is_async for row in report.rows):
        if module.header.is_scheduled:
            lines.append(Line("all are synchronous: nothing is computed while they run"))
    elif report.exposed.count or report.exposed.unknown_count:
        text = "no real work is done during {count} of them, which send {wire_bytes_per_run}"
        if report.exposed.unknown_count:
            text += "; for {unknown_count} that is unknown"
        lines.append(Line(text, EXPOSED, report.exposed))
    return tuple(lines)


def _notes(
    rows: Sequence[CollectiveRow], options: CollectiveOptions, link: LinkSpeed | None
) -> tuple[Line, ...]:
    """Say what the figures rest on, and where the dump does not answer."""
    said = []
    unknown = [row for row in rows if row.executions is None]
    if unknown:
        said.append(f"trip count unknown, counted once: {_name(unknown)}")
    data = [row for row in rows if row.is_upper_bound]
    if data:
        said.append(f"upper bound, as the data decides how much is sent: {_name(data)}")
    branches = [row for row in rows if row.is_conditional]
    if branches:
        said.append(f"every branch of a conditional is counted: {_name(branches)}")
    scattered = [row for row in rows if row.effective_kind != row.kind]
    if scattered:
        said.append(f"all-reduce of which each device keeps only its shard: {_name(scattered)}")
    if options.mesh is not None:
        mesh = ",".join(f"{axis.name}={axis.size}" for axis in options.mesh.axes)
        stray = [row for row in rows if row.axes is None and row.kind != "send"]
        if stray:
            said.append(f"no axes of {mesh} form the groups of {_name(stray)}")
    contrary = [f"groups of {row.name}: {row.problem}" for row in rows if row.problem]
    said += contrary[:_NAMES_SHOWN]
    if len(contrary) > _NAMES_SHOWN:
        said.append(f"{len(contrary):,} collectives have such problems: --where 'problem != null'")
    if link is not None:
        said.append(f"estimates: wire bytes at {link}, with nothing else on the link")
        if link.is_within_node and any(row.span == "cross" for row in rows):
            said.append(
                "no estimates across nodes, which this link does not connect; give --bandwidth"
            )
    return tuple(Line(text[0].upper() + text[1:]) for text in said)


def _name(rows: Sequence[CollectiveRow]) -> str:
    """Name the first few."""
    names = ", ".join(row.name for row in rows[:_NAMES_SHOWN])
    rest = len(rows) - _NAMES_SHOWN
    return f"{names} and {rest:,} more" if rest > 0 else names


def _plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


DOCUMENTS = (COLLECTIVES,)
