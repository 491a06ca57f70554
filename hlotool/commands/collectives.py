"""`hlotool collectives`: what crosses the interconnect, per run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

from hlotool.analysis.collectives.answer import COLLECTIVES, choose_collective_columns
from hlotool.analysis.collectives.groups.mesh_axes import parse_mesh_axes
from hlotool.analysis.collectives.report import CollectiveOptions
from hlotool.analysis.origin.stack import add_stacks
from hlotool.commands.prose.collectives import describe, find_notes
from hlotool.commands.shared.command import RowOptions, document_command, print_document
from hlotool.commands.shared.dump_options import dump_options
from hlotool.commands.shared.machine_options import MACHINE_AND_LATENCY, machine_options
from hlotool.commands.shared.request import Request, load_one
from hlotool.commands.shared.stack_option import (
    explain_missing_stacks,
    show_stacks,
    stack_option,
)
from hlotool.fields import Document

_EXAMPLE = """\
hlotool collectives dump/ --mesh data=4,model=2 --by axes,kind
hlotool collectives dump/ --where 'exposed_wire_bytes_per_run > 64MiB'
hlotool collectives dump/ --chip h100 --devices-per-node 8"""


@document_command("collectives", COLLECTIVES, example=_EXAMPLE, renamed={"--expand": "--operands"})
@dump_options
@click.option(
    "--mesh", metavar="AXIS=N,…", help="Name the axes of the device mesh, slowest-varying first."
)
@click.option(
    "--operands",
    "has_operands",
    is_flag=True,
    help="List the operands of combined collectives.",
)
@stack_option
@machine_options(MACHINE_AND_LATENCY)
def collectives(
    request: Request,
    *,
    mesh: str | None,
    has_operands: bool,
    has_stacks: bool,
    options: RowOptions,
) -> None:
    """List what crosses the interconnect in a run: logical collectives, bytes, overlap."""
    wanted = CollectiveOptions(
        mesh=parse_mesh_axes(mesh) if mesh is not None else None,
        with_groups=options.is_wide or options.names("replica_groups", "source_target_pairs"),
        with_operands=has_operands,
    )
    program = load_one(request, "executions", "costs")
    report = program.analyze_collectives(wanted)
    rows = report.rows
    spec, notes = (
        choose_collective_columns(rows),
        find_notes(report, wanted, program.machine, with_axes=_shows_axes(options)),
    )
    if has_stacks:
        module = program.expect_module()
        rows, spec = add_stacks(rows, module), show_stacks(spec)
        notes += explain_missing_stacks(module)
    lists: dict[str, Sequence[object]] = {
        "rows": rows,
        "by_kind": report.totals.by_kind,
        "by_network": report.totals.by_network,
        "host_transfers": report.host.rows,
    }
    if has_operands:
        lists["operands"] = report.operands
    document = Document(
        spec=spec,
        input=program.paths,
        find_words=program.find_words,
        blocks={
            "totals": report.totals,
            "host": report.host.totals,
        },
        rows=lists,
        lines=describe(program.expect_module(), report),
        notes=notes,
        shown=_choose_tables(lists),
    )
    print_document(document, options)


def _choose_tables(lists: Mapping[str, Sequence[object]]) -> tuple[str, ...]:
    """Leave out tables that would say nothing, or the same as the totals."""
    names = [name for name in ("by_kind", "by_network") if len(lists[name]) > 1]
    if "operands" in lists:
        names.insert(0, "operands")
    if lists["rows"] or not lists["host_transfers"]:
        names.insert(0, "rows")
    return (*names, "host_transfers") if lists["host_transfers"] else tuple(names)


def _shows_axes(options: RowOptions) -> bool:
    """Whether a column of the answer has axes."""
    is_default = not options.by and options.columns[:1] in {"", "+", "-"}
    return is_default or options.names("axes")


DOCUMENTS = (COLLECTIVES,)
