"""Which collectives does less work hide, or more?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hlotool.analysis.collectives.rows import CollectiveRow
from hlotool.compare.blocks.collectives import CollectiveChange
from hlotool.compare.causes.cause import Cause
from hlotool.compare.causes.communication import name_collectives
from hlotool.compare.causes.evidence import Evidence


def find_overlap(evidence: Evidence) -> Iterator[Cause]:
    """Yield one cause if more, or fewer, collectives have nothing at all that hides them.

    So it does where as many are exposed and their bytes differ by more than those sent do.
    `count` is how many more or fewer; `left` and `right` are how many of each side; the bytes are
    wire bytes in one run that nothing hides.
    """
    left, right = evidence.left.collectives.rows, evidence.right.collectives.rows
    exposed = _count_exposed(left), _count_exposed(right)
    delta = int(evidence.delta("collectives.exposed_wire_bytes_per_run"))
    wire = int(evidence.delta("collectives.wire_bytes_per_run"))
    is_of_wire = wire * delta > 0 and abs(delta) <= abs(wire)
    if not delta or (is_of_wire and exposed[0] == exposed[1]):
        return
    changes = [row for row in evidence.collectives if (_delta(row) > 0) == (delta > 0)]
    largest = max(changes, key=lambda row: abs(_delta(row)), default=None)
    yield Cause(
        kind="overlap lost" if delta > 0 else "overlap gained",
        count=abs(exposed[1] - exposed[0]),
        subject=name_collectives(largest) if largest else None,
        left=str(exposed[0]),
        right=str(exposed[1]),
        measure="exposed",
        delta_bytes=delta,
    )


def _delta(row: CollectiveChange) -> int:
    return (row.right_exposed_bytes or 0) - (row.left_exposed_bytes or 0)


def _count_exposed(rows: Sequence[CollectiveRow]) -> int:
    return sum(row.exposed_share == 1 for row in rows)
