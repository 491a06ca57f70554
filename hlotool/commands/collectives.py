"""`hlotool collectives`: what crosses the interconnect, per step.

The sentences above the tables say what there is, and what is not hidden; those below them, what the
figures rest on, and where the dump does not answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Final

from hlotool.analysis.collectives.machine import Machine
from hlotool.analysis.collectives.mesh import parse_mesh_axes
from hlotool.analysis.collectives.report import (
    COLLECTIVES,
    CollectiveOptions,
    CollectiveReport,
    choose_collective_columns,
)
from hlotool.analysis.collectives.rows import HOST_LINE, HOST_TOTALS, CollectiveRow
from hlotool.analysis.collectives.totals import (
    BETWEEN_SLICES,
    BY_KIND,
    COLLECTIVE_TOTALS,
    CollectiveTotals,
    KindRow,
)
from hlotool.commands.shared import options as shared
from hlotool.commands.shared.command import document_command
from hlotool.commands.shared.many import many_programs
from hlotool.commands.shared.request import Request, load_one
from hlotool.hlo import Mesh, Module
from hlotool.table import Block, Document, Line, Unit
from hlotool.table.units import format_value
from hlotool.table.words import count_noun, list_some

_NAMES_SHOWN: Final = 3
_SYNC: Final = "are is_sync: they run on the compute stream, so no work overlaps them"
_KIND: Final = Block("kind", KindRow, BY_KIND.meaning)
_THRESHOLD: Final = re.compile(r"xla_gpu_(\w+)_combine_threshold_bytes=(\d+)")
_EXAMPLE = """\
hlotool collectives dump/ --mesh data=4,model=2 --by axes,kind
hlotool collectives dump/ --by program,axes --sort -sent_bytes_per_step -n 3
hlotool collectives dump/ --chip h100 --devices-per-node 8"""


@document_command("collectives", COLLECTIVES, example=_EXAMPLE, renamed={"--expand": "--operands"})
@shared.dump_options
@shared.option("--mesh AXIS=N,…", "Name the axes of the device mesh, slowest-varying first.")
@shared.option("--operands", "List the operands of combined collectives.", "has_operands")
@shared.stack_option
@shared.add_options(shared.MACHINE_AND_LATENCY)
@many_programs()
def collectives(
    request: Request,
    *,
    mesh: str | None,
    has_operands: bool,
    has_stacks: bool,
    options: shared.RowOptions,
) -> Document:
    """List collectives with the bytes they send per step and their overlap."""
    wanted = CollectiveOptions(
        mesh=parse_mesh_axes(mesh) if mesh is not None else None,
        with_groups=options.is_wide or options.names("replica_groups", "source_target_pairs"),
        with_operands=has_operands,
    )
    program = load_one(request)
    report = program.add_causes(program.analyze_collectives(wanted), wanted.mesh)
    rows = report.rows
    module, spec = program.expect_module(), choose_collective_columns(rows)
    is_default = not options.by and options.columns[:1] in {"", "+", "-"}
    with_axes = is_default or options.names("axes")  # whether a column of the answer has them
    notes = _note(report, wanted, program.machine, with_axes=with_axes)
    lists: dict[str, Sequence[object]] = {
        "rows": rows,
        "by_kind": report.totals.by_kind,
        "by_network": report.totals.by_network,
        "host_transfers": report.host.rows,
    }
    lines = tuple(_describe(module, report))
    if has_operands:
        lists["operands"] = report.operands
        flags = program.compilation.flags or ()
        lines += tuple(_say_thresholds(report.totals, flags, options.units))
    document = Document(
        spec=spec,
        input=program.paths,
        find_words=program.find_words,
        blocks={"totals": report.totals, "host": report.host.totals},
        rows=lists,
        lines=lines,
        notes=notes,
        shown=_choose_tables(lists),
    )
    return shared.print_stacks(document, module, "rows") if has_stacks else document


def _choose_tables(lists: Mapping[str, Sequence[object]]) -> tuple[str, ...]:
    """Leave out tables that would say nothing, or the same as the totals."""
    names = [name for name in ("by_kind", "by_network") if len(lists[name]) > 1]
    if "operands" in lists:
        names.insert(0, "operands")
    if lists["rows"] or not lists["host_transfers"]:
        names.insert(0, "rows")
    return (*names, "host_transfers") if lists["host_transfers"] else tuple(names)


# Sentences.


def _describe(module: Module, report: CollectiveReport) -> Iterator[Line]:
    """Say what there is, what it sends, and what is not hidden."""
    partitions, replicas = module.header.num_partitions, module.header.replica_count
    devices = f"{count_noun(partitions, 'partition')} × {count_noun(replicas, 'replica')}"
    if report.rows:
        yield Line(f"{module.name}: {devices}")
        yield from _describe_rows(module, report)
    else:
        told = "no collectives" + " in this part" * module.source.is_fragment
        yield Line(f"{module.name}: {told}; {devices}")
    if report.host.rows:
        yield Line(HOST_LINE, HOST_TOTALS, report.host.totals)


def _describe_rows(module: Module, report: CollectiveReport) -> Iterator[Line]:
    totals = report.totals
    noun = totals.by_kind[0].kind if len(totals.by_kind) == 1 else "collective"
    runs = f"{{count:{noun}}} ({{hlo_op_count:instruction}} in the text) run {{executions:time}}"
    sends = (
        "a device sends {sent_bytes_per_step} per step, for messages of {message_bytes_per_step}"
    )
    yield Line(runs, COLLECTIVE_TOTALS, totals)
    yield Line(sends, COLLECTIVE_TOTALS, totals)
    if (slices := totals.between_slices()) is not None:
        text = "between slices (dcn), {count} of them send {sent_bytes_per_step}"
        yield Line(text, BETWEEN_SLICES, slices)
    marked = sum(row.is_sync for row in report.rows)
    if not any(row.is_async for row in report.rows):
        if module.header.is_scheduled:
            yield Line("all are synchronous, so no work overlaps them")
    elif marked == len(report.rows):
        yield Line(f"all {_SYNC}")
    elif totals.exposed_bytes_per_step is not None:
        text = "{exposed_bytes_per_step} of it is exposed, by estimate"
        yield Line(f"{text}: rough, {_say_basis(totals)}", COLLECTIVE_TOTALS, totals)
    if 0 < marked < len(report.rows):
        yield Line(f"{marked:,} of them {_SYNC}")
    if totals.transfer_seconds is not None:
        text = "the estimated time is {transfer_seconds}"
        if totals.exposed_seconds is not None:
            text += ", of which {exposed_seconds} is exposed"
        yield Line(text, COLLECTIVE_TOTALS, totals)


def _say_basis(totals: CollectiveTotals) -> str:
    """Say what the estimate of what is exposed rests on; nobody has measured how far off it is."""
    nodes = f"; nodes of {totals.devices_per_node} assumed" if totals.is_node_assumed else ""
    if totals.reference_chip is None:
        return f"with chip and link at their peaks{nodes}"
    if totals.transfer_seconds is None:
        return f"at the ratios of {totals.reference_chip}; --chip gives times{nodes}"
    return (
        f"for work at the rates of {totals.reference_chip} and the given link; choose "
        f"yours with --chip{nodes}"
    )


def _note(
    report: CollectiveReport,
    options: CollectiveOptions,
    machine: Machine | None,
    *,
    with_axes: bool,
) -> tuple[Line, ...]:
    """Say what the figures rest on, and where the dump does not answer."""
    rows = report.rows
    said = [*_say_which(rows), *_say_of_mesh(rows, options.mesh)]
    if with_axes and options.mesh is None:
        said += _say_of_strides(rows)
    contrary = [f"groups of {row.name}: {row.problem}" for row in rows if row.problem]
    said += contrary[:_NAMES_SHOWN]
    if len(contrary) > _NAMES_SHOWN:
        said.append(f"{len(contrary):,} collectives have such problems: --where 'problem != null'")
    if machine is not None:
        said += _say_of_machine(rows, machine)
    said += _say_of_links(report, machine)
    return tuple(Line(text[0].upper() + text[1:]) for text in said)


def _say_thresholds(totals: CollectiveTotals, flags: Sequence[str], units: str) -> Iterator[Line]:
    """Say up to which size GPU's compiler combines collectives, and how much there is of them."""
    for flag, row in product(flags, totals.by_kind):
        match = _THRESHOLD.fullmatch(flag)
        if match and match[1].replace("_", "-") == row.kind:
            size = format_value(int(match[2]), Unit.BYTES, units)
            text = f"{row.kind}: combined up to a threshold of {size}; {{message_bytes_per_step}}"
            yield Line(f"{text} in all per step", _KIND, row)


def _say_which(rows: Sequence[CollectiveRow]) -> Iterator[str]:
    """Name the rows that are bounds, or not what they look like."""
    chosen = {
        "trip count unknown, counted once": [row for row in rows if row.executions is None],
        "upper bound, because the sent size depends on data": [
            row for row in rows if row.is_upper_bound
        ],
        "every branch of a conditional is counted": [row for row in rows if row.is_conditional],
        "bytes unknown, because the text gives no transfers between slices": [
            row for row in rows if row.interconnect == "dcn" and row.sent_bytes is None
        ],
        "all-reduce whose result each device cuts to its shard": [
            row for row in rows if row.opcode == "all-reduce" and row.kind == "reduce-scatter"
        ],
    }
    yield from (f"{what}: {_name(named)}" for what, named in chosen.items() if named)


def _say_of_mesh(rows: Sequence[CollectiveRow], mesh: Mesh | None) -> Iterator[str]:
    """Name the collectives whose groups lie along no axes of the user's mesh."""
    if mesh is None:
        return
    # Of what crosses the data center network no device is known.
    stray = [
        row for row in rows if row.axes is None and row.kind != "send" and row.interconnect != "dcn"
    ]
    if stray:
        text = ",".join(f"{axis.name}={axis.size}" for axis in mesh.axes)
        yield f"the axes of {text} do not form the groups of {_name(stray)}"


def _say_of_strides(rows: Sequence[CollectiveRow]) -> Iterator[str]:
    """Say what stands in the place of axes without a name."""
    unnamed = [one for row in rows if row.axes == row.strides for one in row.axes or ()]
    if unnamed:
        size, _, step = unnamed[0].partition("@")
        yield (
            f"unnamed axes: {unnamed[0]} are {size} devices with numbers {step} apart; "
            "name them with --mesh"
        )


def _say_of_machine(rows: Sequence[CollectiveRow], machine: Machine) -> Iterator[str]:
    """Say what estimates rest on, and for what there are none."""
    link, between, chip = machine.link, machine.between, machine.chip
    if chip is not None and any(row.overlapped_instructions for row in rows):
        yield (
            f"overlapping work: at the peak rates of {chip.description}; a second of work "
            "overlaps one transfer"
        )
    for one, where in ((link, ""), (between, " to other nodes")):
        if one is not None:
            yield f"estimates: bytes sent{where} at {one}, with nothing else on the link"
    if chip is not None and link is None:
        yield "no estimates of transfers, because the link's speed is unknown; give --bandwidth"


def _say_of_links(report: CollectiveReport, machine: Machine | None) -> Iterator[str]:
    """Say which transfers go over a link whose speed nobody states."""
    totals, between = report.totals, machine.between if machine else None
    if totals.is_node_assumed:
        yield (
            f"assumed: nodes of {totals.devices_per_node} consecutive devices; change it "
            "with --devices-per-node"
        )
    if between is not None or (machine is None and totals.reference_chip is None):
        return
    options = "--node-bandwidth" if machine and machine.chip else "--chip and --node-bandwidth"
    rest = f"overlap is unknown; give {options}"
    slices = [row for row in report.rows if row.interconnect == "dcn" and row.is_async]
    nodes = [row for row in report.rows if row.span == "inter-node" and row.interconnect is None]
    if nodes:
        yield f"between nodes, at an unknown speed: {_name(nodes)}; {rest}"
    if slices:
        yield f"between slices, at an unknown speed: {_name(slices)}; {rest}"


def _name(rows: Sequence[CollectiveRow]) -> str:
    """Name the first few."""
    return list_some([row.name for row in rows], _NAMES_SHOWN, " and {:,} more")
