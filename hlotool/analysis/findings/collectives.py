"""Findings about collectives: what is exposed, what is wider than it need be, what is sent in vain.

Collectives of one line of the program share a finding; a group is large when what it is about comes
to `LEAST_BYTES` (with a chip: `LEAST_SECONDS`) and to `LEAST_SENT_SHARE` of what all of them send
per step.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from typing import Final, Literal, NamedTuple, TypeAlias

from msgspec.structs import replace

from hlotool.analysis.collectives.machine import Pricing
from hlotool.analysis.collectives.rows import CollectiveRow
from hlotool.analysis.collectives.transfers import MessagePart, Transfer
from hlotool.analysis.dataflow.values import Position
from hlotool.analysis.findings import finding
from hlotool.analysis.graph.backend import find_backend
from hlotool.analysis.origin import write_source
from hlotool.hlo import ArrayShape
from hlotool.table.sums import group_by
from hlotool.table.words import plural

LEAST_SENT_SHARE: Final = 0.01  # of all bytes sent per step


def group_collectives(
    evidence: finding.Evidence, tell_apart: Callable[[CollectiveRow], object] = lambda _: None
) -> list[list[CollectiveRow]]:
    """Group collectives of one line of the program that differ in name and scope alone.

    The largest comes first: a finding is about it, and its sentence names it.
    """
    report = evidence.collectives
    if report is None or find_backend(evidence.module) == "cpu":
        return []
    rows = sorted(report.rows, key=_order)
    return list(group_by(rows, lambda row: (_find_kin(row), tell_apart(row))).values())


def _find_kin(row: CollectiveRow) -> tuple[object, ...]:
    """Return what collectives of one line have in common that differ in name and scope alone."""
    return row.kind, row.dtype, row.axes, row.interconnect, row.source_file, row.source_line


def _order(row: CollectiveRow) -> int:
    return -row.known_sent_bytes_per_step


def make_finding(
    rows: list[CollectiveRow],
    size_bytes: int,
    severity: finding.Severity,
    code: finding.FindingCode,
    message: str,
) -> finding.Finding:
    """Make the finding about some collectives; the largest of them is named."""
    largest = min(rows, key=_order)
    place = next((row for row in (largest, *rows) if row.source_file is not None), largest)
    source = write_source(place.source_file, place.source_line)
    return finding.Finding(
        size_bytes, severity, code, message, largest.name, source, count=len(rows)
    )


class Waste(NamedTuple):
    """A collective of which some bytes per step need not be sent; `beside` is for the message."""

    row: CollectiveRow
    bytes: int
    beside: str = ""


def find_waste(
    evidence: finding.Evidence,
    code: finding.FindingCode,
    wastes: Iterable[Waste],
    say: Callable[[list[Waste], str], str],
    severity: finding.Severity = "warning",
) -> Iterator[finding.Finding]:
    """Find what is sent in vain; one finding for what a line of the program makes alike.

    `say` writes the message about some, of which it gets the names. Time is lost by what of it is
    exposed.
    """
    for group in group_by(wastes, lambda one: _find_kin(one.row)).values():
        size = sum(one.bytes for one in group)
        if size < max(finding.LEAST_BYTES, LEAST_SENT_SHARE * evidence.sent_bytes):
            continue
        group.sort(key=lambda one: _order(one.row))
        rows = [one.row for one in group]
        found = make_finding(
            rows, size, severity, code, say(group, finding.name_all([row.name for row in rows]))
        )
        parts = [one.bytes / (one.row.known_sent_bytes_per_step or 1) for one in group]
        seconds = [row.exposed_seconds for row in rows]
        times = [one * part for one, part in zip(seconds, parts, strict=True) if one is not None]
        weighed = [_weigh(evidence.pricing, [row]) for row in rows]
        weights = [one * part for one, part in zip(weighed, parts, strict=True) if one is not None]
        yield replace(
            found,
            estimated_seconds=sum(times) if times else None,
            weighted_bytes=round(sum(weights)) if weights else None,
        )


def list_results(transfer: Transfer) -> Iterator[tuple[MessagePart, Position]]:
    """Yield each array of a collective, and where what arrives of it is first seen.

    Nothing where the last of TPU's fusions that bring it makes something else, too.
    """
    one = transfer.collective
    seen = one.done or one.operation
    is_one = isinstance(seen.shape, ArrayShape)
    if one.is_fused and one.done and not is_one:
        return
    for number, part in enumerate(transfer.parts):
        yield part, (seen, () if is_one else (number,))


_Mode: TypeAlias = Literal["pair", "marked", "alone"]

_ADVICE: Final[dict[_Mode, str]] = {
    "pair": "",
    "marked": finding.MARKED_ADVICE,
    "alone": finding.SYNCHRONOUS_ADVICE,
}
_SCHEDULER: Final = re.compile(r"xla_\w*latency_hiding_scheduler=true")


_LEFT: Final = " Asynchronous collectives are on, but XLA left this one synchronous."
_OTHERS: Final = " Only other kinds of collectives are asynchronous here."


def _say_what_is_on(evidence: finding.Evidence, mode: _Mode, opcode: str) -> tuple[str, str]:
    """Say what the flags, or other collectives, show to be on; and what to turn on, if nothing.

    XLA has a flag for each kind: a TPU's all-gathers may be asynchronous, and no all-reduce.
    """
    rows = evidence.collectives.rows if evidence.collectives else ()
    on = {row.opcode for row in rows if row.is_async}
    if mode == "alone" and on:
        return _LEFT if opcode in on else _OTHERS, ""
    if mode != "pair" and any(map(_SCHEDULER.match, evidence.flags)):
        return _LEFT if mode == "alone" else "", ""
    return "", _ADVICE[mode]


def find_exposed_collectives(evidence: finding.Evidence) -> Iterator[finding.Finding]:
    """Find collectives of which much is sent that is exposed.

    With a chip that goes by time, where a time is known, else by bytes. Not on CPU, where that
    is all of it. What runs synchronously is told apart, as no work could hide it.
    """
    for group in group_collectives(evidence, _mode_of):
        measure, mode = _choose_measure(evidence, group), _mode_of(group[0])
        rows = [row for row in group if measure.exposed(row)]
        exposed, sent = sum(map(measure.exposed, rows)), sum(map(measure.sent, rows))
        if not rows or exposed < max(measure.least, LEAST_SENT_SHARE * measure.all_sent):
            continue
        size = sum(row.known_exposed_bytes_per_step for row in rows)
        share = f"{finding.percent(exposed, measure.all_sent)} of {measure.whole}."
        message = _say_exposed(rows, mode, finding.percent(exposed, sent), share)
        is_on, advice = _say_what_is_on(evidence, mode, rows[0].opcode)
        message += is_on + _say_dependence(evidence, rows[0])
        one = make_finding(rows, size, "warning", "exposed-collective", message)
        seconds = [row.exposed_seconds for row in rows if row.exposed_seconds is not None]
        yield replace(
            one,
            advice=advice,
            estimated_seconds=sum(seconds) if seconds else None,
            weighted_bytes=_weigh(evidence.pricing, rows),
        )


def _say_dependence(evidence: finding.Evidence, row: CollectiveRow) -> str:
    """Say what of a loop's state a collective needs that the round before makes, '' if nothing.

    Counters aside, by which slices are chosen: that round cannot send it earlier.
    """
    report = evidence.collectives
    rows = zip(report.rows if report else (), evidence.transfers, strict=True)
    begin = next(transfer.collective.begin for one, transfer in rows if one is row)
    if (loop := evidence.loops.get(begin.computation)) is None:
        return ""
    for one in evidence.flow.ancestors(list(begin.operands), loop.body) or ():
        is_state = one.opcode == "get-tuple-element" and one.operands[0] in loop.body.parameters
        is_array = isinstance(one.shape, ArrayShape) and bool(one.shape.dims)
        if (
            is_state
            and is_array
            and not evidence.flow.is_unchanged(loop.instruction, one.tuple_index)
        ):
            return f" The operand is made from {one.full_name} of the previous iteration."
    return ""


def _mode_of(row: CollectiveRow) -> _Mode:
    """Say whether something can be computed while it runs; if not, how the text tells.

    XLA marks a pair where nothing is scheduled between start and done
    (convert_async_collectives_to_sync.cc); a collective without a start was never asynchronous.
    """
    if not row.is_async:
        return "alone"
    return "marked" if row.is_sync else "pair"


class _Measure(NamedTuple):
    """What collectives are weighed by: seconds, or bytes; `whole` names what all come to."""

    exposed: Callable[[CollectiveRow], float]
    sent: Callable[[CollectiveRow], float]
    all_sent: float
    least: float
    whole: str


def _choose_measure(evidence: finding.Evidence, rows: list[CollectiveRow]) -> _Measure:
    """Weigh a group by time with a chip, where a time is known, else by bytes."""
    all_seconds = evidence.collectives.totals.transfer_seconds if evidence.collectives else None
    is_timed = any(row.exposed_seconds is not None for row in rows)
    if evidence.chip is not None and all_seconds is not None and is_timed:
        return _Measure(
            lambda row: row.exposed_seconds or 0.0,
            lambda row: row.transfer_seconds or 0.0,
            all_seconds,
            finding.LEAST_SECONDS,
            "the estimated time of all transfers",
        )
    return _Measure(
        attrgetter("known_exposed_bytes_per_step"),
        attrgetter("known_sent_bytes_per_step"),
        evidence.sent_bytes,
        finding.LEAST_BYTES,
        "all bytes sent",
    )


def _say_exposed(rows: list[CollectiveRow], mode: _Mode, exposed: str, share: str) -> str:
    """Write what is exposed, and why."""
    first = rows[0]
    names = f"{finding.name_all([row.name for row in rows])} ({first.kind})"
    over = f" over {', '.join(first.axes)}" if first.axes else ""
    over = " between slices" if first.interconnect == "dcn" else over
    runs = plural(len(rows), "runs", "run")
    if mode == "alone":
        return f"{names} {runs} synchronously{over}, without start and done: {share}"
    if mode == "marked":
        return (
            f"{names} {runs} synchronously{over}, marked is_sync, with nothing between "
            f"start and done: {share}"
        )
    is_busy = any(row.overlapped_instructions for row in rows)
    part = f"not fully overlapped: {exposed} exposed, " if is_busy else "not overlapped: "
    return f"{names}{over} {plural(len(rows), 'is', 'are')} {part}{share}"


def _weigh(pricing: Pricing, rows: list[CollectiveRow]) -> int | None:
    """Return what memory moves in the time that is exposed, None where no time is known."""
    times = [
        float(seconds) * row.exposed_share * row.known_executions
        for row in rows
        if row.exposed_share is not None
        if (
            seconds := pricing.links.estimate(
                row.sent_bytes, row.interconnect, row.span, row.group_size
            )
        )
        is not None
    ]
    return round(sum(times) * pricing.chip.hbm_bytes_per_second) if times else None
