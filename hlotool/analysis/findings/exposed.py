"""Which collectives does no work hide, and why?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.collectives.overlap.pricing import Pricing
from hlotool.analysis.collectives.rows import CollectiveRow
from hlotool.analysis.findings.evidence import LEAST_BYTES, LEAST_SECONDS, Evidence
from hlotool.analysis.findings.finding import MARKED_ADVICE, SYNCHRONOUS_ADVICE, Finding
from hlotool.analysis.findings.sent import (
    LEAST_WIRE_SHARE,
    add_all_sent,
    add_sent,
    group_collectives,
    make_finding,
)
from hlotool.analysis.findings.wording import name_all, percent

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
    first, is_one = rows[0], len(rows) == 1
    names = f"{name_all([row.name for row in rows])} ({first.kind})"
    over = f" over {', '.join(first.axes)}" if first.axes else ""
    over = " between slices" if first.network == "dcn" else over
    share = f"{percent(found.exposed, found.all_sent)} of {found.whole}."
    runs = "runs" if is_one else "run"
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
    return f"{what} is computed while {names} {'sends' if is_one else 'send'}{over}: {part}{share}"


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
