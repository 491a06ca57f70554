"""Is the same work put into other fusions?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hlotool.compare.causes.cause import Cause
from hlotool.compare.causes.evidence import Evidence

_LEAST: Final = 0.001  # of the memory traffic, so that it is a reason for anything


def find_fusing(evidence: Evidence) -> Iterator[Cause]:
    """Yield one cause if the number of fusions differs, but the work does not.

    It is the same if XLA was given the same operations; where a text of these is missing, if the
    flops are. What moves less than a thousandth of the bytes more or less is no reason.
    `count` is how many more or fewer; bytes are those moved in memory in one run, by all that
    runs.
    """
    is_same = evidence.inputs.has_same_operations
    if is_same is None:
        is_same = not evidence.delta("cost.total_flops_per_run")
    if not is_same:
        return
    row = evidence.metrics.get("fusions.fusion_count")
    traffic = evidence.metrics.get("cost.memory_bytes_per_run")
    if row is None or not row.delta or traffic is None:
        return
    if abs(traffic.delta or 0) < _LEAST * (traffic.left or 0):
        return
    yield Cause(
        kind="fusing",
        count=abs(int(row.delta)),
        left=f"{row.left}",
        right=f"{row.right}",
        measure="traffic",
        delta_bytes=int(traffic.delta or 0),
    )
