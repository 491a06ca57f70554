"""Which results have a wider or a narrower element type?"""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.diff.causes.cause import Cause
from hlotool.diff.causes.evidence import Evidence
from hlotool.ir import ArrayShape
from hlotool.ir.opcodes import FREE


def find_dtypes(evidence: Evidence) -> Iterator[Cause]:
    """Yield each change of the element type of arrays that partners make, fused ones aside.

    `count` are arrays in the text, of equal dimensions; bytes those of all their runs.
    """
    counts: dict[tuple[str, str], int] = {}
    deltas: dict[tuple[str, str], int] = {}
    executions = evidence.right.executions
    for one, other in evidence.pairs.items():
        runs = executions.lower_bound(other.computation)
        if not runs or other.opcode in FREE or other.opcode.endswith("-done"):
            continue
        arrays = list(one.shape.leaves()), list(other.shape.leaves())
        if [each.dims for each in arrays[0]] != [each.dims for each in arrays[1]]:
            continue  # of what carries other arrays, no index says which are the same
        for left, right in zip(*arrays, strict=True):
            if left.dtype == right.dtype or not _are_known(left, right):
                continue
            key = left.dtype, right.dtype
            counts[key] = counts.get(key, 0) + 1
            delta = (right.size_bytes or 0) - (left.size_bytes or 0)
            deltas[key] = deltas.get(key, 0) + delta * runs
    wire: dict[str, int] = {}
    for row in evidence.collectives:
        for detail in row.details:
            wire[detail] = wire.get(detail, 0) + row.delta_bytes
    for key, count in counts.items():
        if deltas[key]:
            yield Cause(
                kind="dtype widened" if deltas[key] > 0 else "dtype narrowed",
                count=count,
                left=key[0],
                right=key[1],
                measure="results",
                delta_bytes=deltas[key],
                delta_wire_bytes=wire.get(f"dtype {key[0]} → {key[1]}"),
            )


def _are_known(left: ArrayShape, right: ArrayShape) -> bool:
    return left.size_bytes is not None and right.size_bytes is not None
