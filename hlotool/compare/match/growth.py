"""Which instructions are of one colour, and which pairs grow out of others?

Colours that occur once on each side pair up, then those that occur equally often: twins, one by
one, each followed by its own surroundings. Then pairs grow outwards, each looking only at its own
operands and users. Among indistinguishable twins the order of the dump decides.

Pair what was replaced: another opcode, but the same operands and the same name or shape.

Works downwards from the landmarks. An instruction is looked at once all of its operands have
partners; it then has a place, the numbers of its operands' pairs, and takes as its partner
what stands at the same place on the other side. That may complete the operands of others.
Linear in instructions and edges.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Mapping
from itertools import product
from typing import Final

from hlotool.compare.match.colours import (
    Colour,
    Landmarks,
    View,
    downward_colours,
    near_colours,
    upward_colours,
)
from hlotool.compare.match.flow import Places
from hlotool.compare.match.partners import Partners, by_colour
from hlotool.compare.match.signature import Signatures, Table
from hlotool.hlo import Instruction

_ROUNDS: Final = 4  # colours are mixed anew as long as that finds pairs, at most so often
_MOST_COMPARED: Final = 64  # pairs of equal expressions whose users are counted


class Growth:
    """Pairs instructions by colour, and lets pairs grow."""

    def __init__(self, partners: Partners) -> None:
        self._partners = partners
        self._place = Places().of

    def pair_by_colour(self, view: View) -> bool:
        """Pair by expression and uses, by either alone, then by what stands near; repeat.

        Returns whether the view has nothing more to give: the last round found nothing.
        """
        partners = self._partners
        marks = partners.landmarks
        for _ in range(_ROUNDS):
            number = Table().number  # of colours, which the next round mixes anew
            before = len(partners.pairs)
            sides = partners.list_unpaired()
            up = upward_colours(sides, view, marks, number)
            down = downward_colours(sides, view, marks, number)
            self.pair_classes(lambda one, up=up, down=down: (up[one], down[one]))  # type: ignore[misc]
            self.pair_classes(up.__getitem__, only_unique=True)
            self.pair_classes(down.__getitem__, only_unique=True)
            near = near_colours(sides, partners.list_free(), view, marks, number)
            self.pair_classes(near.__getitem__, only_unique=True)
            self._pair_by_users(up)
            self._grow(view)
            if len(partners.pairs) == before:
                return True
            if partners.is_done():
                break
        return False

    def pair_classes(self, colour: Colour, *, only_unique: bool = False) -> None:
        """Pair free instructions of one colour, where both sides have equally many.

        Twins come last, and each pair of twins takes along the neighbours whose colours
        agree, so that what belongs to one twin is not paired with the other's.
        """
        left, right = self._partners.list_free()
        here, there = by_colour(left, colour), by_colour(right, colour)
        self._partners.pair_lone(here, there)
        if only_unique:
            return
        for name, twins in here.items():
            others = there.get(name, [])
            if len(twins) > 1 and len(twins) == len(others):
                self._pair_twins(twins, others, colour)

    def _pair_by_users(self, colour: Mapping[Instruction, int]) -> None:
        """Pair equal expressions, of which a side has more, by the users that they share.

        Of a value that is computed twice now, the copy with most of the old users is the old one.
        """
        partners = self._partners
        left, right = partners.list_free()
        there = by_colour(right, colour.__getitem__)
        for name, found in by_colour(left, colour.__getitem__).items():
            others = there.get(name, ())
            if len(found) == len(others) or len(found) * len(others) > _MOST_COMPARED:
                continue
            shared = [(self._count_shared(*pair), pair) for pair in product(found, others)]
            for count, pair in sorted(shared, key=lambda one: -one[0]):
                if count and partners.may_pair(*pair):
                    partners.pair(*pair)

    def _count_shared(self, left: Instruction, right: Instruction) -> int:
        """Count the users of one instruction whose partners use the other."""
        return sum(self._partners.pairs.get(one) in right.users for one in left.users)

    def _pair_twins(
        self, twins: list[Instruction], others: list[Instruction], colour: Colour
    ) -> None:
        partners = self._partners
        rest = iter(others)
        for one in twins:
            if one in partners.pairs:
                continue
            other = next((other for other in rest if partners.may_pair(one, other)), None)
            if other is None:
                return
            kept, partners.fresh = partners.fresh, []
            partners.pair(one, other)
            kept += self._grow(colour)
            partners.fresh = kept

    def _grow(self, colour: Colour) -> list[tuple[Instruction, Instruction]]:
        """Pair operands and users of fresh pairs while that makes new ones; return all."""
        partners = self._partners
        grown = []
        while partners.fresh:
            pair = partners.fresh.pop()
            grown.append(pair)
            self._pair_operands(*pair, colour)
            self._pair_users(*pair, colour)
        return grown

    def _pair_operands(self, left: Instruction, right: Instruction, colour: Colour) -> None:
        """Pair operands of one colour at the same place; in order where places moved."""
        partners = self._partners
        if all(one in partners.pairs for one in left.operands):
            return
        if len(left.operands) == len(right.operands):
            for one, other in zip(left.operands, right.operands, strict=True):
                if partners.may_pair(one, other) and colour(one) == colour(other):
                    partners.pair(one, other)
            return
        here = by_colour((one for one in left.operands if one not in partners.pairs), colour)
        there = by_colour((one for one in right.operands if one not in partners.back), colour)
        for name, found in here.items():
            others = there.get(name, [])
            if len(found) == len(others):
                for one, other in zip(found, others, strict=True):
                    if partners.may_pair(one, other):
                        partners.pair(one, other)

    def _pair_users(self, left: Instruction, right: Instruction, colour: Colour) -> None:
        """Pair users that alone on each side have this colour and use this at this place."""
        partners = self._partners
        free = [one for one in left.users if one not in partners.pairs]
        if not free:
            return
        others = [one for one in right.users if one not in partners.back]
        partners.pair_lone(
            by_colour(free, lambda one: (colour(one), self._place(left, one))),
            by_colour(others, lambda one: (colour(one), self._place(right, one))),
        )


MayPair = Callable[[Instruction, Instruction], bool]
Pair = Callable[[Instruction, Instruction], None]


class Replacer:
    """Finds replaced instructions among the free ones of two computations."""

    def __init__(
        self, landmarks: Landmarks, signatures: Signatures, may_pair: MayPair, pair: Pair
    ) -> None:
        self._landmarks = landmarks
        self._signatures = signatures
        self._may_pair = may_pair
        self._pair = pair
        self._missing: dict[Instruction, int] = {}  # operands without partner
        self._waiting: dict[Hashable, deque[Instruction]] = defaultdict(deque)

    def run(self, left: Iterable[Instruction], right: Iterable[Instruction]) -> None:
        """Pair what can be paired of the free instructions of both sides."""
        ready: deque[tuple[bool, Instruction]] = deque()
        for is_left, side in ((True, left), (False, right)):
            for one in side:
                operands = dict.fromkeys(one.operands)
                missing = sum(operand not in self._landmarks for operand in operands)
                self._missing[one] = missing
                if operands and not missing:
                    ready.append((is_left, one))
        while ready:
            is_left, one = ready.popleft()
            if one in self._landmarks:
                continue
            found = self._find_partner(one, is_left=is_left)
            if found is not None:
                pair = (one, found) if is_left else (found, one)
                self._pair(*pair)
                ready.extend((True, user) for user in self._completed(pair[0]))
                ready.extend((False, user) for user in self._completed(pair[1]))

    def _find_partner(self, one: Instruction, *, is_left: bool) -> Instruction | None:
        """Return what waits at the same place on the other side, by name, else by shape."""
        keys = self._keys(one)
        for key in keys:
            waiting = self._waiting[not is_left, key]
            while waiting and waiting[0] in self._landmarks:
                waiting.popleft()
            if waiting:
                other = waiting[0]
                if self._may_pair(*((one, other) if is_left else (other, one))):
                    return other
        for key in keys:
            self._waiting[is_left, key].append(one)
        return None

    def _keys(self, one: Instruction) -> list[Hashable]:
        place = tuple(self._landmarks[operand] for operand in one.operands)
        name = self._signatures.op_name(one)
        element = one.tuple_index if one.opcode == "get-tuple-element" else None
        keys: list[Hashable] = [("shape", place, element, self._signatures.dims(one.shape))]
        return [("name", place, name), *keys] if name else keys

    def _completed(self, operand: Instruction) -> list[Instruction]:
        """Return the users for which this was the last operand without partner."""
        found = []
        for user in operand.users:
            if user in self._missing:
                self._missing[user] -= 1
                if not self._missing[user]:
                    found.append(user)
        return found
