"""At which place of a user's operands does a value stand first? Without searching twice."""

from __future__ import annotations

from typing import Final

from hlotool.ir import Instruction

_WIDE: Final = 8  # operands from which their places are remembered


class Places:
    """The places of the operands of instructions that have many."""

    def __init__(self) -> None:
        self._known: dict[Instruction, dict[Instruction, int]] = {}

    def of(self, operand: Instruction, user: Instruction) -> int:
        """Return the first place at which an operand stands."""
        if len(user.operands) <= _WIDE:
            return user.operands.index(operand)
        places = self._known.get(user)
        if places is None:
            numbered = list(enumerate(user.operands))
            places = self._known[user] = {one: place for place, one in reversed(numbered)}
        return places[operand]
