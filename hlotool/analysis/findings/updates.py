"""Arrays that are copied whole so that a slice of them can be written in place."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from hlotool.analysis.cost.model import CostModel
from hlotool.analysis.dataflow.flow import Flow
from hlotool.hlo import Instruction

_UPDATE: Final = "dynamic-update-slice"
_SMALL: Final = 2  # an update of half of the array is worth its copy
_FILLED: Final = frozenset(("broadcast", "constant", "custom-call", "iota"))


def list_update_copies(
    costs: CostModel, flow: Flow, left_out: Collection[str]
) -> list[tuple[Instruction, list[Instruction]]]:
    """List updates of a part of an array, with the copies of all of it before and behind.

    Not of an array that is only filled, nor of a parameter of the program: its memory is not the
    program's, unless it is donated.
    """
    found = []
    for computation in costs.executions.executed:
        for one in computation.instructions:
            if (update := _find_update(one)) is None:
                continue
            target, size_bytes = update[0], costs.size_bytes(update[1].shape)
            copies: list[Instruction] = []
            while target.opcode == "copy" and target.full_name not in left_out:
                copies.append(target)
                target = target.operands[0]
            if copies:
                copies += [user for user in one.users if user.opcode == "copy"]
            made = flow.source(target).inner
            is_own = made.opcode not in _FILLED and not (
                made.opcode == "parameter" and made.computation.is_entry
            )
            if copies and is_own and size_bytes * _SMALL <= costs.size_bytes(one.shape):
                found.append((one, copies))
    return found


def _find_update(one: Instruction) -> tuple[Instruction, Instruction] | None:
    """Return the array that an instruction writes a part of, and that part; None if it does not."""
    body = one.callee() if one.opcode == "fusion" else None
    root = body.root if body else one
    if root.opcode != _UPDATE or not root.operands[1:]:
        return None
    target = root.operands[0]
    if root is one:
        return target, root.operands[1]
    while target.opcode == "bitcast":
        target = target.operands[0]
    if target.opcode != "parameter":
        return None
    return one.operands[target.parameter_number], root.operands[1]
