"""What is worth a look about what crosses the interconnect?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hlotool.analysis.collectives.rows import CollectiveRow
from hlotool.analysis.findings.evidence import LEAST_BYTES, Evidence
from hlotool.analysis.findings.finding import Finding, FindingCode, Severity
from hlotool.analysis.findings.precision import computes_in_16_bits
from hlotool.analysis.findings.wording import first_source, name_all, percent
from hlotool.ir.opcodes import COLLECTIVES, MAY_CALL

LEAST_WIRE_SHARE: Final = 0.01  # of all bytes sent in one run
_REDUCING: Final = COLLECTIVES & MAY_CALL  # they call what adds up


def find_exposed_collectives(evidence: Evidence) -> Iterator[Finding]:
    """Find large collectives during which nothing is computed, or too little to hide them.

    Not on CPU, where all are such.
    """
    for rows in _group_large(evidence):
        exposed = [row for row in rows if row.is_exposed]
        if exposed and _is_large(evidence, exposed):
            names = name_all([row.name for row in exposed])
            over = f" over {', '.join(exposed[0].axes)}" if exposed[0].axes else ""
            over = " between slices" if exposed[0].network == "dcn" else over
            verb = "sends" if len(exposed) == 1 else "send"
            is_busy = any(row.overlap_instructions and not row.is_sync for row in exposed)
            what = "Next to nothing" if is_busy else "Nothing"
            yield _make(
                exposed,
                "warning",
                "exposed-collective",
                f"{what} is computed while {names} ({exposed[0].effective_kind}) {verb}{over}: "
                f"{_share(evidence, exposed)} of all bytes sent.",
            )


def find_f32_collectives(evidence: Evidence) -> Iterator[Finding]:
    """Find large collectives of f32 in a program whose matrix products have 16-bit operands.

    A warning where data only moves, which could be converted before; else, in a reduction,
    the wider sum may be meant.
    """
    rows = [rows for rows in _group_large(evidence) if rows[0].dtype == "f32"]
    if not rows or not computes_in_16_bits(evidence.executions):
        return
    for same in rows:
        is_sum = same[0].effective_kind in _REDUCING
        names = name_all([row.name for row in same])
        verb = "sends" if len(same) == 1 else "send"
        yield _make(
            same,
            "info" if is_sum else "warning",
            "f32-collective",
            f"{names} ({same[0].effective_kind}) {verb} f32 in a program that computes in 16 bits.",
        )


def _group_large(evidence: Evidence) -> list[list[CollectiveRow]]:
    """Group collectives that differ in name alone, and keep the groups that send much."""
    report = evidence.collectives
    if report is None or evidence.backend == "cpu":
        return []
    groups: dict[tuple[object, ...], list[CollectiveRow]] = {}
    for row in report.rows:
        place = (row.scope, row.source_file, row.source_line)
        key = row.effective_kind, row.dtype, row.axes, row.network, *place
        groups.setdefault(key, []).append(row)
    return [rows for rows in groups.values() if _is_large(evidence, rows)]


def _is_large(evidence: Evidence, rows: list[CollectiveRow]) -> bool:
    whole = evidence.collectives.totals.wire_bytes_per_run if evidence.collectives else 0
    return _sent(rows) >= max(LEAST_BYTES, LEAST_WIRE_SHARE * whole)


def _sent(rows: list[CollectiveRow]) -> int:
    return sum(row.known_wire_bytes_per_run for row in rows)


def _share(evidence: Evidence, rows: list[CollectiveRow]) -> str:
    whole = evidence.collectives.totals.wire_bytes_per_run if evidence.collectives else 0
    return percent(_sent(rows), whole)


def _make(
    rows: list[CollectiveRow], severity: Severity, code: FindingCode, message: str
) -> Finding:
    largest = max(rows, key=lambda row: row.known_wire_bytes_per_run)
    source = first_source((row.source_file, row.source_line) for row in [largest, *rows])
    return Finding(_sent(rows), severity, code, message, largest.name, source)
