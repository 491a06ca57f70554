"""Which collectives does less work hide, or more?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from hlotool.analysis.collectives.rows import CollectiveRow
from hlotool.compare.blocks.collectives import CollectiveChange
from hlotool.compare.causes.cause import Cause
from hlotool.compare.causes.communication import name_collectives
from hlotool.compare.causes.evidence import Evidence

_LEAST: Final = 0.01  # of the wire bytes


def find_overlap(evidence: Evidence) -> Iterator[Cause]:
    """Yield one cause if another part of what collectives send has nothing that hides it.

    `count` is how many more or fewer have nothing at all; `left` and `right` are how many of each
    side. Bytes are wire bytes in one run that nothing hides, beyond what would be if the part of
    those sent were the left side's: twice as much that is sent is no overlap lost. Less than a
    hundredth of what is sent is no reason, nor is a larger part of less that is exposed.
    """
    left, right = evidence.left.collectives, evidence.right.collectives
    parts = [_exposed_part(evidence, side) for side in ("left", "right")]
    wire = evidence.metrics.get("collectives.wire_bytes_per_run")
    if None in parts or wire is None:
        return
    change = (parts[1] or 0) - (parts[0] or 0)
    is_opposed = evidence.delta("collectives.exposed_wire_bytes_per_run") * change < 0
    if abs(change) < _LEAST or is_opposed:
        return
    exposed = _count_exposed(left.rows), _count_exposed(right.rows)
    changes = [row for row in evidence.collectives if (_delta(row) > 0) == (change > 0)]
    largest = max(changes, key=lambda row: abs(_delta(row)), default=None)
    yield Cause(
        kind="overlap lost" if change > 0 else "overlap gained",
        count=abs(exposed[1] - exposed[0]),
        subject=name_collectives(largest) if largest else None,
        left=str(exposed[0]),
        right=str(exposed[1]),
        measure="exposed",
        delta_bytes=round(change * (wire.right or 0)),
    )


def _exposed_part(evidence: Evidence, side: str) -> float | None:
    """Return the part of the wire bytes of a side that nothing hides, None where nobody knows."""
    wire = evidence.metrics.get("collectives.wire_bytes_per_run")
    exposed = evidence.metrics.get("collectives.exposed_wire_bytes_per_run")
    values = [getattr(row, side) if row else None for row in (exposed, wire)]
    return values[0] / values[1] if values[0] is not None and values[1] else None


def _delta(row: CollectiveChange) -> int:
    return (row.right_exposed_bytes or 0) - (row.left_exposed_bytes or 0)


def _count_exposed(rows: Sequence[CollectiveRow]) -> int:
    return sum(row.exposed_share == 1 for row in rows)
