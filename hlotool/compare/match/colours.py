"""Colour the instructions of two computations by what they are and what surrounds them.

Weisfeiler–Leman refinement: equal colours mean equal surroundings. Landmarks, the pairs
made so far, have one colour of their own on both sides (a number below zero), so that
differences beyond a landmark do not show. Only what is no landmark is coloured: `sides` are
the instructions of both computations that are none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Final, TypeAlias

from hlotool.ir import Instruction

View: TypeAlias = Callable[[Instruction], int]
Colour: TypeAlias = Callable[[Instruction], Hashable]
Landmarks: TypeAlias = dict[Instruction, int]
Numbering: TypeAlias = Callable[[Hashable], int]
_REACH: Final = 2  # steps that `near_colours` looks


def upward_colours(
    sides: Sequence[Sequence[Instruction]], view: View, landmarks: Landmarks, number: Numbering
) -> dict[Instruction, int]:
    """Colour by the view and all operands, up to the landmarks."""
    colours: dict[Instruction, int] = {}
    for side in sides:
        for one in side:
            above = [landmarks.get(operand) or colours[operand] for operand in one.operands]
            colours[one] = number((view(one), *above))
    return colours


def downward_colours(
    sides: Sequence[Sequence[Instruction]], view: View, landmarks: Landmarks, number: Numbering
) -> dict[Instruction, int]:
    """Colour by the view and all uses, down to the landmarks."""
    colours: dict[Instruction, int] = {}
    for side in sides:
        uses = _list_uses(side, landmarks)
        for one in reversed(side):
            below = sorted(uses.pop(one, ()))
            colours[one] = mark = number(("down", view(one), one.is_root, *below))
            for place, operand in enumerate(one.operands):
                if operand not in landmarks:
                    uses[operand].append((mark, place))
    return colours


def _list_uses(
    side: Sequence[Instruction], landmarks: Landmarks
) -> dict[Instruction, list[tuple[int, int]]]:
    """List by which landmarks, and at which operand, each instruction that is none is used."""
    uses: dict[Instruction, list[tuple[int, int]]] = defaultdict(list)
    marked = {user for one in side for user in one.users if user in landmarks}
    for one in marked:
        for place, operand in enumerate(one.operands):
            if operand not in landmarks:
                uses[operand].append((landmarks[one], place))
    return uses


def near_colours(
    sides: Sequence[Sequence[Instruction]],
    free: Sequence[Sequence[Instruction]],
    view: View,
    landmarks: Landmarks,
    number: Numbering,
) -> Mapping[Instruction, int]:
    """Colour by the view and what stands within a few steps, users and operands alike.

    A colour that one side alone has is mixed no further: nothing there is of its kind, nor of the
    kind of what stands beside it.
    """
    colours = {one: number(view(one)) for side in sides for one in side}
    for _ in range(_REACH):
        here, there = ({colours[one] for one in side} for side in sides)
        shared = here & there
        wanted = [one for side in free for one in side if colours[one] in shared]
        seen = [
            number(
                (
                    colours[one],
                    tuple(landmarks.get(each) or colours[each] for each in one.operands),
                    tuple(sorted(landmarks.get(each) or colours[each] for each in one.users)),
                )
            )
            for one in wanted
        ]
        colours.update(zip(wanted, seen, strict=True))
    return colours
