"""Which results have a wider or a narrower element type?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from hlotool.compare.causes.cause import Cause
from hlotool.compare.causes.evidence import Evidence, find_inner_scope
from hlotool.ir import ArrayShape, Instruction
from hlotool.ir.opcodes import CONTROL_FLOW, FREE

_MAKE_NOTHING: Final = FREE | CONTROL_FLOW  # what runs in them makes it


def find_dtypes(evidence: Evidence) -> Iterator[Cause]:
    """Yield each change of the element type of arrays that partners make, fused ones aside.

    `count` are arrays in the text, of equal dimensions; bytes those of all their runs. Left out
    are partners in doubt: whose operands are none, that stand in different scopes, or that read
    a loop's values where it hands on more or fewer.
    """
    counts: Counter[tuple[str, str]] = Counter()
    deltas: Counter[tuple[str, str]] = Counter()
    for left, right, runs in _list_changed(evidence):
        counts[left.dtype, right.dtype] += 1
        deltas[left.dtype, right.dtype] += ((right.size_bytes or 0) - (left.size_bytes or 0)) * runs
    wire: Counter[str] = Counter()
    for row in evidence.collectives:
        for detail in row.details:
            wire[detail] += row.delta_bytes
    for (old, new), count in counts.items():
        delta = deltas[old, new]
        if delta:
            yield Cause(
                kind="dtype widened" if delta > 0 else "dtype narrowed",
                count=count,
                left=old,
                right=new,
                measure="results",
                delta_bytes=delta,
                delta_wire_bytes=wire[f"dtype {old} → {new}"],
            )


def _list_changed(evidence: Evidence) -> Iterator[tuple[ArrayShape, ArrayShape, int]]:
    """Yield arrays of partners that differ in their element type, and how often they are made."""
    executions = evidence.right.executions
    for one, other in evidence.pairs.items():
        runs = executions.lower_bound(other.computation)
        if not runs or other.opcode in _MAKE_NOTHING or other.opcode.endswith("-done"):
            continue
        here, there = list(one.shape.leaves()), list(other.shape.leaves())
        if [each.dims for each in here] != [each.dims for each in there]:
            continue  # of what carries other arrays, no index says which are the same
        changed = [
            (left, right)
            for left, right in zip(here, there, strict=True)
            if left.dtype != right.dtype and None not in (left.size_bytes, right.size_bytes)
        ]
        if changed and _are_sure(evidence, one, other):
            yield from ((left, right, runs) for left, right in changed)


def _are_sure(evidence: Evidence, left: Instruction, right: Instruction) -> bool:
    scopes = {scope for scope in (find_inner_scope(left), find_inner_scope(right)) if scope}
    if len(scopes) > 1 or not evidence.have_same_operands(left, right):
        return False
    return not any(map(_are_of_other_tuples, left.operands, right.operands))


def _are_of_other_tuples(left: Instruction, right: Instruction) -> bool:
    """Say whether two elements of another type are of tuples that hold more or fewer.

    A loop that hands on more values may have put another one there.
    """
    if left.opcode != "get-tuple-element" or right.opcode != left.opcode:
        return False
    if str(left.shape) == str(right.shape):
        return False
    sizes = [sum(1 for _ in one.operands[0].shape.leaves()) for one in (left, right)]
    return sizes[0] != sizes[1]
