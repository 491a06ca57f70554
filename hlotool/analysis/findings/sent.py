"""Which collectives are told of together, and how much do they send?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hlotool.analysis.collectives.rows import CollectiveRow
from hlotool.analysis.findings.evidence import LEAST_BYTES, Evidence
from hlotool.analysis.findings.finding import Finding, FindingCode, Severity
from hlotool.analysis.findings.wording import first_source

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
