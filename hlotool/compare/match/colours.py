"""Colour the instructions of two computations by what they are and what surrounds them.

Weisfeiler–Leman refinement: equal colours mean equal surroundings. Landmarks, the pairs
made so far, have one colour of their own on both sides (a number below zero), so that
differences beyond a landmark do not show.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Final, TypeAlias

from hlotool.ir import Computation, Instruction

View: TypeAlias = Callable[[Instruction], int]
Colour: TypeAlias = Callable[[Instruction], Hashable]
Landmarks: TypeAlias = dict[Instruction, int]
Numbering: TypeAlias = Callable[[Hashable], int]
_REACH: Final = 2  # steps that `near_colours` looks


def upward_colours(
    sides: Sequence[Computation], view: View, landmarks: Landmarks, number: Numbering
) -> dict[Instruction, int]:
    """Colour by the view and all operands, up to the landmarks."""
    colours: dict[Instruction, int] = {}
    for computation in sides:
        for one in computation.instructions:
            mark = landmarks.get(one)
            if mark is None:
                mark = number((view(one), *[colours[operand] for operand in one.operands]))
            colours[one] = mark
    return colours


def downward_colours(
    sides: Sequence[Computation], view: View, landmarks: Landmarks, number: Numbering
) -> dict[Instruction, int]:
    """Colour by the view and all uses, down to the landmarks."""
    colours: dict[Instruction, int] = {}
    for computation in sides:
        root = computation.root
        uses: dict[Instruction, list[tuple[int, int]]] = defaultdict(list)
        for one in reversed(computation.instructions):
            mark = landmarks.get(one)
            if mark is None:
                mark = number(("down", view(one), one is root, *sorted(uses.pop(one, ()))))
            colours[one] = mark
            for place, operand in enumerate(one.operands):
                if operand not in landmarks:
                    uses[operand].append((mark, place))
    return colours


def near_colours(
    sides: Sequence[Computation],
    free: Sequence[Sequence[Instruction]],
    view: View,
    landmarks: Landmarks,
    number: Numbering,
) -> Mapping[Instruction, int]:
    """Colour by the view and what stands within a few steps, users and operands alike."""
    colours = {
        one: landmarks.get(one) or view(one)
        for computation in sides
        for one in computation.instructions
    }
    wanted = [one for side in free for one in side]
    for _ in range(_REACH):
        seen = [
            number(
                (
                    colours[one],
                    tuple(colours[operand] for operand in one.operands),
                    tuple(sorted(colours[user] for user in one.users)),
                )
            )
            for one in wanted
        ]
        colours.update(zip(wanted, seen, strict=True))
    return colours
