"""What took far longer in a profile than its bytes and flops say?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

from hlotool.analysis.findings.evidence import LEAST_SECONDS, Evidence
from hlotool.analysis.findings.finding import Finding, FindingCode
from hlotool.analysis.findings.wording import name_all, percent, write_source

_TIMES: Final = 3  # what is so many times the estimate is worth a look
_LEAST_SHARE: Final = 0.01  # of a run


class _Slow(Struct, frozen=True):
    """A row that took longer than it should have."""

    name: str
    source: str | None
    size_bytes: int
    measured: float
    estimated: float

    @property
    def lost(self) -> float:
        """What it took too long."""
        return self.measured - self.estimated


def find_slow_fusions(evidence: Evidence) -> Iterator[Finding]:
    """Find fusions that took three times what the chip needs for their bytes and flops.

    With a profile and a chip. Those count that lose a hundredth of a run, and 10 µs. The estimate
    is at the chip's peaks, and leaves out launches: small fusions are below it anyway.
    """
    found = [
        _Slow(
            row.name,
            write_source(row.source_file, row.source_line),
            row.known_memory_bytes_per_run,
            row.measured_seconds,
            row.estimated_seconds,
        )
        for row in evidence.fusions
        if row.measured_seconds is not None and row.estimated_seconds is not None
    ]
    yield from _write(evidence, found, "slow-fusion", "at the chip's peaks")


def find_slow_collectives(evidence: Evidence) -> Iterator[Finding]:
    """Find collectives that took three times what the link needs for their bytes.

    With a profile and a chip, as `find_slow_fusions`.
    """
    rows = evidence.collectives.rows if evidence.collectives and evidence.chip else ()
    found = [
        _Slow(
            row.name,
            write_source(row.source_file, row.source_line),
            row.known_wire_bytes_per_run,
            row.measured_seconds,
            row.transfer_seconds,
        )
        for row in rows
        if row.measured_seconds is not None and row.transfer_seconds is not None
    ]
    yield from _write(evidence, found, "slow-collective", "at the speed of the link")


def _write(
    evidence: Evidence, found: Iterable[_Slow], code: FindingCode, speed: str
) -> Iterator[Finding]:
    """Write one finding about all rows that are slow, the one that loses most first."""
    run = evidence.measured.run_seconds if evidence.measured else None
    least = max(LEAST_SECONDS, _LEAST_SHARE * (run or 0))
    slow = [each for each in found if each.measured > _TIMES * each.estimated and each.lost > least]
    if not slow:
        return
    slow.sort(key=lambda each: (-each.lost, each.name))
    measured, estimated = (sum(each.measured for each in slow), sum(e.estimated for e in slow))
    lost = measured - estimated
    share = f", {percent(measured, run)} of a run" if run else ""
    yield Finding(
        sum(each.size_bytes for each in slow),
        "warning",
        code,
        f"{name_all([each.name for each in slow])} took {measured * 1e6:,.0f} µs in one run"
        f"{share}, where {estimated * 1e6:,.0f} µs are enough {speed}.",
        slow[0].name,
        slow[0].source,
        estimated_seconds=lost,
        weighted_bytes=round(lost * evidence.pricing.chip.hbm_bytes_per_second),
        count=len(slow),
    )
