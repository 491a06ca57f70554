"""Findings about collectives: transfers that no work hides, and f32 sent by a 16-bit program.

Collectives of one line of the program share a finding. A group is large when what it is about comes
to `LEAST_BYTES` (with a chip: `LEAST_SECONDS`) and to `LEAST_WIRE_SHARE` of what all of them send
in one run. On CPU there are none: nothing is asynchronous there, and nothing leaves the host.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Final, Literal, NamedTuple, TypeAlias

from msgspec.structs import replace

from hlotool.analysis.collectives.machine import Pricing
from hlotool.analysis.collectives.rows import CollectiveRow
from hlotool.analysis.findings.finding import (
    LEAST_BYTES,
    LEAST_SECONDS,
    MARKED_ADVICE,
    SYNCHRONOUS_ADVICE,
    Evidence,
    Finding,
    FindingCode,
    Severity,
    name_all,
    percent,
)
from hlotool.analysis.graph.backend import find_backend
from hlotool.analysis.graph.executions import Executions
from hlotool.analysis.origin import write_source
from hlotool.hlo import ArrayShape
from hlotool.hlo.opcodes import COLLECTIVES, MATRIX_PRODUCTS, MAY_CALL
from hlotool.hlo.shape import DTYPE_BITS
from hlotool.table.words import plural

LEAST_WIRE_SHARE: Final = 0.01  # of all bytes sent in one run


def _group_collectives(
    evidence: Evidence, tell_apart: Callable[[CollectiveRow], object] = lambda _: None
) -> list[list[CollectiveRow]]:
    """Group collectives of one line of the program that differ in name and scope alone."""
    report = evidence.collectives
    if report is None or find_backend(evidence.module) == "cpu":
        return []
    groups: defaultdict[object, list[CollectiveRow]] = defaultdict(list)
    for row in report.rows:
        place = row.source_file, row.source_line
        groups[row.kind, row.dtype, row.axes, row.network, tell_apart(row), place].append(row)
    return list(groups.values())


def _make_finding(
    rows: list[CollectiveRow],
    size_bytes: int,
    severity: Severity,
    code: FindingCode,
    message: str,
) -> Finding:
    """Make the finding about some collectives; the largest of them is named."""
    largest = max(rows, key=lambda row: row.known_wire_bytes_per_run)
    place = next((row for row in (largest, *rows) if row.source_file is not None), largest)
    source = write_source(place.source_file, place.source_line)
    return Finding(size_bytes, severity, code, message, largest.name, source, count=len(rows))


_Mode: TypeAlias = Literal["pair", "marked", "alone"]

_ADVICE: Final[dict[_Mode, str]] = {
    "pair": "",
    "marked": MARKED_ADVICE,
    "alone": SYNCHRONOUS_ADVICE,
}


def find_exposed_collectives(evidence: Evidence) -> Iterator[Finding]:
    """Find collectives of which much is sent that no work hides.

    With a chip that goes by time, where a time is known, else by bytes. Not on CPU, where that
    is all of it. What runs synchronously is told apart, as no work could hide it.
    """
    for group in _group_collectives(evidence, _mode_of):
        measure, mode = _choose_measure(evidence, group), _mode_of(group[0])
        rows = [row for row in group if measure.exposed(row)]
        exposed, sent = sum(map(measure.exposed, rows)), sum(map(measure.sent, rows))
        if not rows or exposed < max(measure.least, LEAST_WIRE_SHARE * measure.all_sent):
            continue
        size = sum(row.known_exposed_wire_bytes_per_run for row in rows)
        share = f"{percent(exposed, measure.all_sent)} of {measure.whole}."
        message = _say_exposed(rows, mode, percent(exposed, sent), share)
        one = _make_finding(rows, size, "warning", "exposed-collective", message)
        seconds = [row.exposed_seconds for row in rows if row.exposed_seconds is not None]
        yield replace(
            one,
            advice=_ADVICE[mode],
            estimated_seconds=sum(seconds) if seconds else None,
            weighted_bytes=_weigh(evidence.pricing, rows),
        )


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


def _choose_measure(evidence: Evidence, rows: list[CollectiveRow]) -> _Measure:
    """Weigh a group by time with a chip, where a time is known, else by bytes."""
    all_seconds = evidence.collectives.totals.transfer_seconds if evidence.collectives else None
    is_timed = any(row.exposed_seconds is not None for row in rows)
    if evidence.chip is not None and all_seconds is not None and is_timed:
        return _Measure(
            lambda row: row.exposed_seconds or 0.0,
            lambda row: row.transfer_seconds or 0.0,
            all_seconds,
            LEAST_SECONDS,
            "the estimated time of all transfers",
        )
    return _Measure(
        attrgetter("known_exposed_wire_bytes_per_run"),
        attrgetter("known_wire_bytes_per_run"),
        evidence.sent_bytes,
        LEAST_BYTES,
        "all bytes sent",
    )


def _say_exposed(rows: list[CollectiveRow], mode: _Mode, exposed: str, share: str) -> str:
    """Write what is exposed, and why."""
    first = rows[0]
    names = f"{name_all([row.name for row in rows])} ({first.kind})"
    over = f" over {', '.join(first.axes)}" if first.axes else ""
    over = " between slices" if first.network == "dcn" else over
    runs = plural(len(rows), "runs", "run")
    if mode == "alone":
        return f"{names} {runs} synchronously{over}, not as a start and a done: {share}"
    if mode == "marked":
        return (
            f"{names} {runs} synchronously{over}, marked is_sync, as where nothing is scheduled "
            f"between start and done: {share}"
        )
    is_busy = any(row.overlap_instructions for row in rows)
    what = "Too little" if is_busy else "Nothing"
    part = f"{exposed} of it is exposed, " if is_busy else ""
    sends = plural(len(rows), "sends", "send")
    return f"{what} is computed while {names} {sends}{over}: {part}{share}"


def _weigh(pricing: Pricing, rows: list[CollectiveRow]) -> int | None:
    """Return what memory moves in the time that no work hides, None where no time is known."""
    times = [
        float(seconds) * row.exposed_share * row.known_executions
        for row in rows
        if row.exposed_share is not None
        if (seconds := pricing.links.estimate(row.wire_bytes, row.network, row.span)) is not None
    ]
    return round(sum(times) * pricing.chip.hbm_bytes_per_second) if times else None


_MATRIX_TARGETS = ("__cublas$", "__cudnn$", "te_fused_attn")
_HALF_BITS = 16
# They call what adds up; a sum in f32 may be meant, to lose no bits.
_REDUCING: Final = COLLECTIVES & MAY_CALL


def find_f32_collectives(evidence: Evidence) -> Iterator[Finding]:
    """Find large collectives of f32 in a program whose matrix products have 16-bit operands.

    Of one that sends several types, the f32 counts. A warning where data only moves, which could
    be converted before; else, in a reduction, the wider sum may be meant.
    """
    least = max(LEAST_BYTES, LEAST_WIRE_SHARE * evidence.sent_bytes)
    large = []
    for rows in _group_collectives(evidence):
        size = sum(dict(row.wire_bytes_by_dtype).get("f32", 0) for row in rows)
        if size >= least:
            large.append((rows, size))
    # The precision takes a walk over the program, so it comes last.
    if not large or not computes_in_16_bits(evidence.executions):
        return
    for rows, size in large:
        names = name_all([row.name for row in rows])
        verb = plural(len(rows), "sends", "send")
        others = [dtype for dtype in rows[0].dtype.split(",") if dtype != "f32"]
        beside = f" beside {', '.join(others)}" if others else ""
        yield _make_finding(
            rows,
            size,
            "info" if rows[0].kind in _REDUCING else "warning",
            "f32-collective",
            f"{names} ({rows[0].kind}) {verb} f32{beside} in a program that computes in 16 bits.",
        )


def computes_in_16_bits(executions: Executions) -> bool:
    """Whether more than half of the matrix products have operands of 16 bits or fewer.

    Counted are dots, convolutions and the custom calls that stand for them, in executed
    computations and the fusions there, each once. The first operand's type is that of a product.
    """
    narrow = wide = 0
    for computation in executions.executed:
        for instruction in computation.instructions:
            body = instruction.callee() if instruction.opcode == "fusion" else None
            for one in body.instructions if body else (instruction,):
                if (
                    one.custom_call_target.startswith(_MATRIX_TARGETS)
                    if one.opcode == "custom-call"
                    else one.opcode in MATRIX_PRODUCTS
                ):
                    shape = one.operands[0].shape if one.operands else None
                    dtype = shape.dtype if isinstance(shape, ArrayShape) else ""
                    if DTYPE_BITS.get(dtype, 64) <= _HALF_BITS:
                        narrow += 1
                    else:
                        wide += 1
    return narrow > wide
