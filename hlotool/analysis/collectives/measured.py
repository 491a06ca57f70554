"""How long did collectives take in a profile, and how long did nothing else run?"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from hlotool.analysis.collectives.report import CollectiveReport
from hlotool.analysis.collectives.rows import CollectiveRow
from hlotool.analysis.measured.join import join_times
from hlotool.ir.measurement import Measurement


def measure_collectives(report: CollectiveReport, measured: Measurement) -> CollectiveReport:
    """Set what was measured of every collective, and of all together.

    The time of one in several steps is that in which any of them ran: the start, what goes on
    beside the work, the wait at its end.
    """
    rows = tuple(_add(row, measured) for row in report.rows)
    totals = replace(
        report.totals,
        measured_seconds=_sum([row.measured_seconds for row in rows]),
        measured_exposed_seconds=_sum([row.measured_exposed_seconds for row in rows]),
        is_measured_lower_bound=any(row.measured_seconds is None for row in rows),
    )
    return replace(report, rows=rows, totals=totals)


def _add(row: CollectiveRow, measured: Measurement) -> CollectiveRow:
    time = join_times(measured, (row.name, *row.members))
    return replace(
        row,
        measured_count=time.count,
        measured_seconds=time.seconds,
        measured_exposed_seconds=time.exposed_seconds,
    )


def _sum(times: Sequence[float | None]) -> float | None:
    """Add up the times that are known, None if none is."""
    known = [time for time in times if time is not None]
    return sum(known) if known else None
