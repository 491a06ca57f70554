"""Which collectives are told of together, and how much do they send?

Which collectives does no work hide, and why?

In which precision does a program compute?

Which collectives send wider values than the program computes with?
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, Literal, TypeAlias

from msgspec import Struct
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
    first_source,
    name_all,
    percent,
)
from hlotool.analysis.graph.executions import Executions
from hlotool.hlo import ArrayShape, Computation, Instruction
from hlotool.hlo.opcodes import COLLECTIVES, MATRIX_PRODUCTS, MAY_CALL
from hlotool.hlo.shape import DTYPE_BITS
from hlotool.table.words import plural

LEAST_WIRE_SHARE: Final = 0.01  # of all bytes sent in one run


def group_collectives(
    evidence: Evidence, tell_apart: Callable[[CollectiveRow], object] = lambda _: None
) -> list[list[CollectiveRow]]:
    """Group collectives of one line of the program that differ in name and scope alone."""
    report = evidence.collectives
    if report is None or evidence.backend == "cpu":
        return []
    groups: dict[tuple[object, ...], list[CollectiveRow]] = {}
    for row in report.rows:
        place = row.source_file, row.source_line
        key = row.kind, row.dtype, row.axes, row.network, tell_apart(row), *place
        groups.setdefault(key, []).append(row)
    return list(groups.values())


def is_large_sent(evidence: Evidence, size_bytes: int) -> bool:
    """Whether so many bytes are worth a finding, beside all that is sent."""
    return size_bytes >= max(LEAST_BYTES, LEAST_WIRE_SHARE * add_all_sent(evidence))


def add_all_sent(evidence: Evidence) -> int:
    """Return what all collectives send in one run."""
    return evidence.collectives.totals.wire_bytes_per_run if evidence.collectives else 0


def add_sent(rows: list[CollectiveRow]) -> int:
    """Return what some collectives send in one run, as far as known."""
    return sum(row.known_wire_bytes_per_run for row in rows)


def make_finding(
    rows: list[CollectiveRow],
    severity: Severity,
    code: FindingCode,
    message: str,
    advice: str = "",
) -> Finding:
    """Make the finding about some collectives; the largest of them is named."""
    largest = max(rows, key=lambda row: row.known_wire_bytes_per_run)
    source = first_source((row.source_file, row.source_line) for row in [largest, *rows])
    return Finding(
        add_sent(rows),
        severity,
        code,
        message,
        largest.name,
        source,
        advice,
        count=len(rows),
    )


_Mode: TypeAlias = Literal["pair", "marked", "alone"]

_ADVICE: Final[dict[_Mode, str]] = {
    "pair": "",
    "marked": MARKED_ADVICE,
    "alone": SYNCHRONOUS_ADVICE,
}


class _Exposed(Struct, frozen=True):
    """What a group of collectives exposes, of what they send and of what all send.

    All three are in seconds, or all in bytes; `whole` names the last.
    """

    rows: list[CollectiveRow]
    exposed: float
    sent: float
    all_sent: float
    least: float
    whole: str

    @property
    def is_large(self) -> bool:
        """Whether it is worth a finding."""
        share = LEAST_WIRE_SHARE * self.all_sent
        return bool(self.rows) and self.exposed >= max(self.least, share)


def find_exposed_collectives(evidence: Evidence) -> Iterator[Finding]:
    """Find collectives of which much is sent that no work hides.

    With a chip that goes by time, where a time is known, else by bytes. Not on CPU, where that
    is all of it. What runs synchronously is told apart, as no work could hide it.
    """
    for rows in group_collectives(evidence, _find_mode):
        found = _expose_time(evidence, rows) or _expose_bytes(evidence, rows)
        if not found.is_large:
            continue
        one = make_finding(
            found.rows,
            "warning",
            "exposed-collective",
            _say_exposed(found),
            _ADVICE[_find_mode(rows[0])],
        )
        yield replace(
            one,
            bytes=sum(row.known_exposed_wire_bytes_per_run for row in found.rows),
            estimated_seconds=_add_seconds(found.rows),
            weighted_bytes=_weigh(evidence.pricing, found.rows),
        )


def _find_mode(row: CollectiveRow) -> _Mode:
    """Say whether something can be computed while it runs; if not, how the text tells.

    XLA marks a pair where nothing is scheduled between start and done
    (convert_async_collectives_to_sync.cc); a collective without a start was never asynchronous.
    """
    if not row.is_async:
        return "alone"
    return "marked" if row.is_sync else "pair"


def _say_exposed(found: _Exposed) -> str:
    """Write what is exposed, and why."""
    rows = found.rows
    first = rows[0]
    names = f"{name_all([row.name for row in rows])} ({first.kind})"
    over = f" over {', '.join(first.axes)}" if first.axes else ""
    over = " between slices" if first.network == "dcn" else over
    share = f"{percent(found.exposed, found.all_sent)} of {found.whole}."
    runs = plural(len(rows), "runs", "run")
    if _find_mode(first) == "alone":
        return f"{names} {runs} synchronously{over}, not as a start and a done: {share}"
    if _find_mode(first) == "marked":
        return (
            f"{names} {runs} synchronously{over}, marked is_sync, as where nothing is scheduled "
            f"between start and done: {share}"
        )
    is_busy = any(row.overlap_instructions for row in rows)
    what = "Too little" if is_busy else "Nothing"
    part = f"{percent(found.exposed, found.sent)} of it is exposed, " if is_busy else ""
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


def _expose_time(evidence: Evidence, rows: list[CollectiveRow]) -> _Exposed | None:
    """Measure a group by time, None without a chip, and where no time is known."""
    totals = evidence.collectives.totals if evidence.collectives else None
    timed = [row for row in rows if row.exposed_seconds is not None]
    if evidence.chip is None or totals is None or totals.transfer_seconds is None or not timed:
        return None
    exposed = [row for row in timed if row.exposed_seconds]
    return _Exposed(
        exposed,
        sum(row.exposed_seconds or 0.0 for row in exposed),
        sum(row.transfer_seconds or 0.0 for row in exposed),
        totals.transfer_seconds,
        LEAST_SECONDS,
        "the estimated time of all transfers",
    )


def _expose_bytes(evidence: Evidence, rows: list[CollectiveRow]) -> _Exposed:
    exposed = [row for row in rows if row.known_exposed_wire_bytes_per_run]
    return _Exposed(
        exposed,
        sum(row.known_exposed_wire_bytes_per_run for row in exposed),
        add_sent(exposed),
        add_all_sent(evidence),
        LEAST_BYTES,
        "all bytes sent",
    )


def _add_seconds(rows: list[CollectiveRow]) -> float | None:
    """Add up the time that no work hides, None where no time is known."""
    known = [row.exposed_seconds for row in rows if row.exposed_seconds is not None]
    return sum(known) if known else None


_MATRIX_TARGETS = ("__cublas$", "__cudnn$", "te_fused_attn")
_HALF_BITS = 16


def computes_in_16_bits(executions: Executions) -> bool:
    """Whether more than half of the matrix products have operands of 16 bits or fewer.

    Counted are dots, convolutions and the custom calls that stand for them, in executed
    computations and the fusions there, each once.
    """
    narrow = wide = 0
    for computation in executions.executed:
        for instruction in computation.instructions:
            for one in _inside(instruction):
                if is_matrix_product(one):
                    if _is_narrow(one):
                        narrow += 1
                    else:
                        wide += 1
    return narrow > wide


def _inside(instruction: Instruction) -> list[Instruction]:
    body: Computation | None = instruction.callee() if instruction.opcode == "fusion" else None
    return body.instructions if body else [instruction]


def is_matrix_product(instruction: Instruction) -> bool:
    """Whether an instruction is a dot, a convolution, or a library's."""
    if instruction.opcode == "custom-call":
        return instruction.custom_call_target.startswith(_MATRIX_TARGETS)
    return instruction.opcode in MATRIX_PRODUCTS


def _is_narrow(instruction: Instruction) -> bool:
    """Whether the first operand's elements have 16 bits or fewer."""
    shape = instruction.operands[0].shape if instruction.operands else None
    return isinstance(shape, ArrayShape) and DTYPE_BITS.get(shape.dtype, 64) <= _HALF_BITS


_REDUCING: Final = COLLECTIVES & MAY_CALL  # they call what adds up


def find_f32_collectives(evidence: Evidence) -> Iterator[Finding]:
    """Find large collectives of f32 in a program whose matrix products have 16-bit operands.

    Of one that sends several types, the f32 counts. A warning where data only moves, which could
    be converted before; else, in a reduction, the wider sum may be meant.
    """
    large = [
        (rows, size)
        for rows in group_collectives(evidence)
        if (size := sum(_sent_f32(row) for row in rows)) and is_large_sent(evidence, size)
    ]
    if not large or not computes_in_16_bits(evidence.executions):
        return
    for rows, size in large:
        is_sum = rows[0].kind in _REDUCING
        names = name_all([row.name for row in rows])
        verb = plural(len(rows), "sends", "send")
        others = [dtype for dtype in rows[0].dtype.split(",") if dtype != "f32"]
        beside = f" beside {', '.join(others)}" if others else ""
        one = make_finding(
            rows,
            "info" if is_sum else "warning",
            "f32-collective",
            f"{names} ({rows[0].kind}) {verb} f32{beside} in a program that computes in 16 bits.",
        )
        yield replace(one, bytes=size)


def _sent_f32(row: CollectiveRow) -> int:
    return dict(row.wire_bytes_by_dtype).get("f32", 0)
