"""Which instructions of two computations are partners by now, and which may become it?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable
from collections.abc import Set as AbstractSet
from typing import TypeAlias

from hlotool.compare.match.colours import Colour, Landmarks
from hlotool.compare.match.signature import Signatures
from hlotool.hlo import Computation, Instruction

Classes: TypeAlias = dict[Hashable, list[Instruction]]


class Partners:
    """The pairs between two computations, left to right and back. What is paired stays paired."""

    def __init__(
        self,
        left: Computation,
        right: Computation,
        signatures: Signatures,
        taken: AbstractSet[Instruction],
    ) -> None:
        self.pairs: dict[Instruction, Instruction] = {}
        self.back: dict[Instruction, Instruction] = {}
        self.landmarks: Landmarks = {}
        self.fresh: list[tuple[Instruction, Instruction]] = []  # from which others may grow
        self._signatures = signatures
        self._taken = taken  # those with a partner in another computation
        self._most = min(len(left.instructions), len(right.instructions))
        self._unpaired = left.instructions, right.instructions  # and others, paired meanwhile

    def pair(self, left: Instruction, right: Instruction) -> None:
        """Make two instructions partners."""
        self.pairs[left] = right
        self.back[right] = left
        self.landmarks[left] = self.landmarks[right] = -len(self.pairs)
        self.fresh.append((left, right))

    def may_pair(self, left: Instruction, right: Instruction) -> bool:
        """Say whether two instructions have no partner yet, and may be partners."""
        is_free = left not in self.pairs and right not in self.back
        is_free = is_free and left not in self._taken and right not in self._taken
        return is_free and (self._signatures.are_related(left, right) or self._is_held(left, right))

    def _is_held(self, left: Instruction, right: Instruction) -> bool:
        """Say whether all operands of two instructions are partners, or all their users are.

        Then they stand in the same place, whatever they do.
        """
        if left.operands and [self.pairs.get(one) for one in left.operands] == list(right.operands):
            return True
        users = [self.pairs.get(one) for one in left.users]
        return bool(users) and None not in users and set(users) == set(right.users)

    def pair_lone(self, here: Classes, there: Classes) -> None:
        """Pair where a class has one member on each side."""
        for name, found in here.items():
            others = there.get(name, ())
            if len(found) == 1 and len(others) == 1 and self.may_pair(found[0], others[0]):
                self.pair(found[0], others[0])

    def is_done(self) -> bool:
        """Say whether all of a side are paired."""
        return len(self.pairs) == self._most

    def list_free(self) -> tuple[list[Instruction], list[Instruction]]:
        """List the instructions of both sides that have no partner yet."""
        taken = self._taken
        left, right = self.list_unpaired()
        return [one for one in left if one not in taken], [one for one in right if one not in taken]

    def list_unpaired(self) -> tuple[list[Instruction], list[Instruction]]:
        """List the instructions of both sides that have no partner in the other computation."""
        left, right = self._unpaired
        self._unpaired = (
            [one for one in left if one not in self.pairs],
            [one for one in right if one not in self.back],
        )
        return self._unpaired

    def list_beside_free(self) -> list[tuple[Instruction, Instruction]]:
        """List the pairs from which others may grow: some operand or user has no partner."""
        free, _ = self.list_unpaired()
        near = {each for one in free for each in (*one.operands, *one.users)}
        return [pair for pair in self.pairs.items() if pair[0] in near]


def by_colour(instructions: Iterable[Instruction], colour: Colour) -> Classes:
    """Return instructions by colour, in order."""
    classes: Classes = defaultdict(list)
    for one in instructions:
        classes[colour(one)].append(one)
    return classes
