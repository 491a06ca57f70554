"""By how much may a program get worse before somebody should look?"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction
from typing import Final

from msgspec import Struct

from hlotool.compare.changes.figures import MetricRow
from hlotool.errors import UsageError
from hlotool.table import Unit
from hlotool.table.quantity import PERCENT, TIMES, find_share, parse_size, parse_time

# Of these less is better; of a count, of fusions say, that is not so.
JUDGED: Final = frozenset(
    (
        "buffers.peak_bytes", "buffers.reserved_peak_bytes", "buffers.allocated_bytes",
        "buffers.all_spaces_bytes", "buffers.estimated.peak_bytes",
        "collectives.wire_bytes_per_run", "collectives.exposed_wire_bytes_per_run",
        "collectives.exposed_seconds",
        "cost.total_flops_per_run", "cost.memory_bytes_per_run",
    )
)  # fmt: skip
_OPTION: Final = "--threshold"
_PART: Final = re.compile(r"[0-9.eE+-]+ ?(?P<unit>%|s|ms|us|µs|ns)")


class Threshold(Struct, frozen=True):
    """What a figure may grow by: a part of the left side, bytes, seconds.

    Where a part and an amount are given, the looser counts, as in budgets: a part of little is
    noise, and a fixed amount of much is nothing. A figure in neither bytes nor seconds, such as
    flops, has the part alone, and without one no limit.
    """

    share: Fraction | None = None
    size_bytes: int | None = None
    seconds: float | None = None

    def allows(self, row: MetricRow) -> bool:
        """Say whether a figure has grown by no more. What a side does not know is allowed."""
        if row.delta is None or row.left is None:
            return True
        amounts = {Unit.BYTES: self.size_bytes, Unit.SECONDS: self.seconds}
        amount = amounts.get(row.unit)
        part = None if self.share is None else self.share * Fraction(row.left)
        limits = [limit for limit in (part, amount) if limit is not None]
        return not limits or row.delta <= max(limits)


def parse_threshold(text: str) -> Threshold:
    """Read `--threshold '2%,64MiB'`.

    threshold = limit { "," limit }
    limit = number "%" | size | time

    Raises UsageError for anything else, and for two limits of one kind.
    """
    found: dict[str, Fraction | int | float] = {}
    value: Fraction | int | float
    for part in (one.strip() for one in text.split(",")):
        match = _PART.fullmatch(part)
        unit = match["unit"] if match else ""
        share = find_share(part) if unit == PERCENT else None
        if share is not None:
            name, value = "share", share
        elif unit in TIMES:
            name, value = "seconds", parse_time(part, _OPTION)
        else:
            name, value = "size_bytes", parse_size(part, _OPTION)
        if name in found:
            raise UsageError(f"{_OPTION} {text}: expected one part, one size and one time at most.")
        found[name] = value
    return Threshold(**found)  # type: ignore[arg-type]


def find_worse(rows: Iterable[MetricRow], threshold: Threshold | None) -> tuple[MetricRow, ...]:
    """Return the figures of which less is better and that grew by more, if there is a limit."""
    if threshold is None:
        return ()
    return tuple(row for row in rows if row.metric in JUDGED and not threshold.allows(row))
