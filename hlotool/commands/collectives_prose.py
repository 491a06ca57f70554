"""What `hlotool collectives` says above and below its table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hlotool.analysis.collectives.answer_fields import EXPOSED, TOTALS
from hlotool.analysis.collectives.link_times import LinkSpeed
from hlotool.analysis.collectives.report import CollectiveOptions, CollectiveReport, CollectiveRow
from hlotool.fields import Line
from hlotool.ir import Module

_NAMES_SHOWN: Final = 3


def heading(module: Module, report: CollectiveReport) -> tuple[Line, ...]:
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
            TOTALS,
            totals,
        ),
        Line(
            "a device sends {wire_bytes_per_run} in one run, for payloads of "
            "{payload_bytes_per_run}",
            TOTALS,
            totals,
        ),
    ]
    if not any(row.is_async for row in report.rows):
        if module.header.is_scheduled:
            lines.append(Line("all are synchronous: nothing is computed meanwhile"))
    elif report.exposed.count or report.exposed.unknown_count:
        text = "no real work is done during {count} of them, which send {wire_bytes_per_run}"
        if report.exposed.unknown_count:
            text += "; of {unknown_count} that is not known"
        lines.append(Line(text, EXPOSED, report.exposed))
    return tuple(lines)


def notes(
    rows: Sequence[CollectiveRow], options: CollectiveOptions, link: LinkSpeed | None
) -> tuple[Line, ...]:
    """Say what the figures rest on, and where the dump does not answer."""
    said = []
    unknown = [row for row in rows if row.executions is None]
    if unknown:
        said.append(f"trip count unknown, counted once: {_name(unknown)}")
    data = [row for row in rows if row.is_upper_bound]
    if data:
        said.append(f"sends at most so much, the data decides: {_name(data)}")
    branches = [row for row in rows if row.is_conditional]
    if branches:
        said.append(f"every branch of a conditional is counted: {_name(branches)}")
    scattered = [row for row in rows if row.effective_kind != row.kind]
    if scattered:
        said.append(f"all-reduce of which each device keeps its shard: {_name(scattered)}")
    if options.mesh is not None:
        mesh = ",".join(f"{axis.name}={axis.size}" for axis in options.mesh.axes)
        stray = [row for row in rows if row.axes is None and row.kind != "send"]
        if stray:
            said.append(f"no set of axes of {mesh} makes the groups of {_name(stray)}")
    contrary = [f"groups of {row.name}: {row.problem}" for row in rows if row.problem]
    said += contrary[:_NAMES_SHOWN]
    if len(contrary) > _NAMES_SHOWN:
        said.append(f"such problems in {len(contrary):,} collectives: --where 'problem != null'")
    if link is not None:
        said.append(f"estimates: wire bytes over {link}; nothing else on the link")
        if link.is_within_node and any(row.span == "cross" for row in rows):
            said.append("no estimate across nodes, which that link does not join: --bandwidth")
    return tuple(Line(text[0].upper() + text[1:]) for text in said)


def _name(rows: Sequence[CollectiveRow]) -> str:
    """Name the first few."""
    names = ", ".join(row.name for row in rows[:_NAMES_SHOWN])
    rest = len(rows) - _NAMES_SHOWN
    return f"{names} and {rest:,} more" if rest > 0 else names


def _plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
