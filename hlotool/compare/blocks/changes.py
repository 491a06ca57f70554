"""Which instructions were added, removed or changed?

An added or removed instruction that calls a computation stands for what is inside it. A
change inside a fused computation is a row of its own; the fusion that calls it has none
unless it differs itself.
"""

from __future__ import annotations

from collections.abc import Container

from msgspec import Struct

from hlotool.compare.blocks.fold import Folder, Found, InstructionChange
from hlotool.compare.blocks.reasons import Reason, Reasoner
from hlotool.compare.match.matching import Pairs
from hlotool.compare.match.structure import Structure
from hlotool.ir import Instruction


class InstructionDiff(Struct, frozen=True):
    """All changes, those that weigh most first, and how many instructions have partners.

    The counts are of instructions, those inside fusions included: each side's, and the left
    ones with a partner. What belongs to no execution (dead computations) is not counted.
    """

    rows: tuple[InstructionChange, ...]
    matched_count: int
    changed_count: int
    left_only_count: int
    right_only_count: int


def compare_instructions(
    structure: Structure, reasoner: Reasoner, *, is_folded: bool = True
) -> InstructionDiff:
    """List what changed, each once however often its computation is compared.

    Follows the pairs of `compare_structure`; raises nothing of its own.
    """
    pairs, back = reasoner.pairs, reasoner.back
    found = [] if structure.is_equal else _find(structure, reasoner)
    rows = Folder(*structure.programs).rows(found, is_folded=is_folded) if found else ()
    # Of a computation that several on the other side are like, one has the partner.
    once = {left: right for left, right in pairs.items() if back.get(right) is left}
    return InstructionDiff(
        rows,
        matched_count=len(once),
        changed_count=sum(1 for one in found if one.reasons),
        left_only_count=_alone(structure, once, is_left=True),
        right_only_count=_alone(structure, set(once.values()), is_left=False),
    )


def _find(structure: Structure, reasoner: Reasoner) -> list[Found]:
    """List every change; an instruction compared twice is told of once."""
    found: dict[Instruction, Found] = {}
    for pair in structure.computations:
        if pair.is_equal:
            continue
        for left in pair.left.instructions:
            right = pair.pairs.get(left)
            if left in found:
                continue
            if right is not None:
                reasons = reasoner.reasons(left, right)
                if reasons and not _follows(left, reasons, found):
                    found[left] = Found(left, right, reasons)
            elif left not in reasoner.pairs and not _is_told(left, reasoner.pairs):
                found[left] = Found(left, None)
        for right in pair.right_only():
            if right not in reasoner.back and not _is_told(right, reasoner.back):
                found[right] = Found(None, right)
    _find_moved(structure, reasoner, found)
    return list(found.values())


def _find_moved(structure: Structure, reasoner: Reasoner, found: dict[Instruction, Found]) -> None:
    """Add what changed in code that stands in another computation now."""
    for left, right in structure.moved.items():
        reasons = reasoner.reasons(left, right)
        if reasons and not _follows(left, reasons, found):
            found[left] = Found(left, right, reasons)


def _follows(
    done: Instruction, reasons: tuple[Reason, ...], found: dict[Instruction, Found]
) -> bool:
    """Say whether this is the `done` of a start whose own change explains its shape."""
    if not done.opcode.endswith("-done") or not done.operands:
        return False
    start = found.get(done.operands[0])
    kinds = {reason.kind for reason in reasons}
    return start is not None and kinds <= {reason.kind for reason in start.reasons} | {"operands"}


def _is_told(done: Instruction, paired: Pairs) -> bool:
    """Say whether this is the `done` of a start whose own row tells of it.

    That start has no partner either, or one synchronous operation does its work.
    """
    if not done.opcode.endswith("-done") or not done.operands:
        return False
    start = done.operands[0]
    partner = paired.get(start)
    return partner is None or partner.opcode != start.opcode


def _alone(structure: Structure, paired: Container[Instruction], *, is_left: bool) -> int:
    """Count the instructions of one side that have no partner."""
    seen = {pair.left if is_left else pair.right for pair in structure.computations}
    seen.update(structure.left_only if is_left else structure.right_only)
    return sum(one not in paired for computation in seen for one in computation.instructions)
