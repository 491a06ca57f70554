"""Pair the instructions of two computations that do the same work.

Stage by stage, from the strictest view of an instruction to the loosest; what is paired
stays paired. At each stage instructions are coloured by their view and their surroundings
(`colours`), where pairs made before are landmarks. Colours that occur once on each side
pair up, then those that occur equally often: twins, one by one, each followed by its own
surroundings. Then pairs grow outwards, each looking only at its own operands and users.
Last come instructions that were replaced by another opcode in the same place, and what is
left but agrees in opcode and op_name. Between these steps `structure` looks for code that moved.

What counts as equal follows xla/hlo/tools/hlo_diff. Every stage is linear in instructions
and edges, up to sorting. Among indistinguishable twins the order of the dump decides.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice, product
from typing import Final, TypeAlias

from hlotool.compare.match.colours import (
    Colour,
    Landmarks,
    View,
    downward_colours,
    near_colours,
    upward_colours,
)
from hlotool.compare.match.content_numbers import ContentNumbers
from hlotool.compare.match.places import Places
from hlotool.compare.match.replaced import Replacer
from hlotool.compare.match.signature import Signatures
from hlotool.compare.match.views import family, list_views
from hlotool.ir import Computation, Instruction

Pairs: TypeAlias = dict[Instruction, Instruction]
_Classes: TypeAlias = dict[Hashable, list[Instruction]]
_PlacePairs: TypeAlias = tuple[tuple[int, int], ...]  # places in two computations
# What steps found between computations that say the same, by all that they follow from.
KnownSteps: TypeAlias = dict[Hashable, _PlacePairs]
_STRICT: Final = 3  # views under which what is paired says nearly the same
_ROUNDS: Final = 4  # colours are mixed anew as long as that finds pairs, at most so often
_MOST_COMPARED: Final = 64  # pairs of equal expressions whose users are counted

# An example. The right side has a `negate` more, which is now the operand of `tanh`:
#
#     p = parameter(0)          |  p = parameter(0)
#     e = exponential(p)        |  e = exponential(p)
#                               |  n = negate(e)
#     t = tanh(e)               |  t = tanh(n)
#     ROOT s = add(t, e)        |  ROOT s = add(t, e)
#
# By expression and uses together nothing agrees: every instruction uses, or feeds, what differs.
# By expression alone p and e occur once on each side and pair up; by uses alone t and s do.
# n is left: "added". Had the right side `logistic(e)` in the place of t, no view would pair them;
# `_pair_replaced` would, as their operands have partners.


class Matcher:
    """The pairs between two computations, left to right and back."""

    def __init__(
        self,
        left: Computation,
        right: Computation,
        signatures: Signatures,
        numbers: ContentNumbers,
        *,
        seeds: Pairs,
        taken: AbstractSet[Instruction],
        known: KnownSteps,
    ) -> None:
        self.left = left
        self.right = right
        self.signatures = signatures
        self._numbers = numbers
        self._views = list_views(
            signatures, numbers.signature, has_numbers=self._has_as_many_parameters()
        )
        self.pairs: Pairs = {}
        self.back: Pairs = {}
        self._landmarks: Landmarks = {}
        self._fresh: list[tuple[Instruction, Instruction]] = []
        self._place = Places().of
        self._taken = taken  # those with a partner in another computation
        self._known = known
        self._written = self._tell_written(left), self._tell_written(right)
        self._unpaired = left.instructions, right.instructions  # and others, paired meanwhile
        for one, other in seeds.items():
            if one not in self.pairs and other not in self.back:
                self._pair(one, other)

    def match_strictly(self) -> Pairs:
        """Pair what says the same, or nearly; return the new pairs."""
        return self._take("strictly", self._match_strictly)

    def match_loosely(self) -> Pairs:
        """Pair what is called alike, or does alike, in like surroundings; return the new pairs."""
        return self._take("loosely", lambda: self._look(self._views[_STRICT:]))

    def finish(self) -> Pairs:
        """Pair what was replaced, and what stands beside it; return the new pairs."""
        return self._take("replaced", self._finish)

    def pair_named(self) -> Pairs:
        """Pair what is left and called alike; return the new pairs."""
        return self._take("named", self._pair_all_named)

    def _take(self, name: str, step: Callable[[], None]) -> Pairs:
        """Take a step; return the new pairs. What is known of computations written alike is used.

        A step follows from what both say, and from what has a partner by now.
        """
        count = len(self.pairs)
        if self._is_done():
            return {}
        state = name, self._written, self._tell_places(self.pairs.items()), self._list_taken()
        found = self._known.get(state)
        if found is None:
            step()
            found = self._tell_places(islice(self.pairs.items(), count, None))
            self._known[state] = found
        else:
            here, there = self.left.instructions, self.right.instructions
            for left, right in found:
                self._pair(here[left], there[right])
        return dict(islice(self.pairs.items(), count, None))

    def _tell_written(self, computation: Computation) -> Hashable:
        """Return what a computation says, names of instructions aside."""
        names = tuple([self.signatures.op_name(one) for one in computation.instructions])
        return self._numbers.contents[computation], self.signatures.table.number(names)

    def _tell_places(self, pairs: Iterable[tuple[Instruction, Instruction]]) -> _PlacePairs:
        place = self._numbers.place
        return tuple([(place(one), place(other)) for one, other in pairs])

    def _list_taken(self) -> tuple[tuple[int, ...], ...]:
        """List the places of what has a partner in another computation."""
        return tuple(
            tuple([place for place, one in enumerate(side.instructions) if one in self._taken])
            for side in (self.left, self.right)
        )

    def _match_strictly(self) -> None:
        if not self.pairs and self._has_as_many_parameters():
            self._pair_classes(self._numbers.both)
        self._look(self._views[:_STRICT])

    def _finish(self) -> None:
        self._pair_lone_names(self._name)
        self._pair_replaced()
        self._look(self._views[-1:])

    def _pair_all_named(self) -> None:
        self._pair_named()
        self._pair_lone_names(self._place_name)

    def accept(self, left: Instruction, right: Instruction) -> None:
        """Take a pair that was found otherwise."""
        self._pair(left, right)

    def _look(self, views: Sequence[View]) -> None:
        barren: list[int] = []  # how the last view saw what has no partner, if it found no more
        for view in views:
            if self._is_done():
                break
            if self._see(view) == barren:
                continue
            self._fresh = self._list_beside_free()
            barren = self._see(view) if self._pair_by_colour(view) else []

    def _see(self, view: View) -> list[int]:
        """Return which unpaired instructions a view sees alike: those of one number."""
        left, right = self._list_unpaired()
        seen: dict[int, int] = {}
        return [seen.setdefault(view(one), len(seen)) for one in (*left, *right)]

    def _has_as_many_parameters(self) -> bool:
        return len(self.left.parameters) == len(self.right.parameters)

    def _is_done(self) -> bool:
        return len(self.pairs) == min(len(self.left.instructions), len(self.right.instructions))

    def _may_pair(self, left: Instruction, right: Instruction) -> bool:
        is_free = left not in self.pairs and right not in self.back
        is_free = is_free and left not in self._taken and right not in self._taken
        return is_free and (self.signatures.are_related(left, right) or self._is_held(left, right))

    def _is_held(self, left: Instruction, right: Instruction) -> bool:
        """Say whether all operands of two instructions are partners, or all their users are.

        Then they stand in the same place, whatever they do.
        """
        if left.operands and [self.pairs.get(one) for one in left.operands] == list(right.operands):
            return True
        users = [self.pairs.get(one) for one in left.users]
        return bool(users) and None not in users and set(users) == set(right.users)

    def _pair(self, left: Instruction, right: Instruction) -> None:
        self.pairs[left] = right
        self.back[right] = left
        self._landmarks[left] = self._landmarks[right] = -len(self.pairs)
        self._fresh.append((left, right))

    def list_free(self) -> tuple[list[Instruction], list[Instruction]]:
        """List the instructions of both sides that have no partner yet."""
        taken = self._taken
        left, right = self._list_unpaired()
        return [one for one in left if one not in taken], [one for one in right if one not in taken]

    def _list_unpaired(self) -> tuple[list[Instruction], list[Instruction]]:
        """List the instructions of both sides that have no partner in the other computation."""
        left, right = self._unpaired
        self._unpaired = (
            [one for one in left if one not in self.pairs],
            [one for one in right if one not in self.back],
        )
        return self._unpaired

    def _list_beside_free(self) -> list[tuple[Instruction, Instruction]]:
        """List the pairs from which others may grow: some operand or user has no partner."""
        free, _ = self._list_unpaired()
        near = {each for one in free for each in (*one.operands, *one.users)}
        return [pair for pair in self.pairs.items() if pair[0] in near]

    def _pair_by_colour(self, view: View) -> bool:
        """Pair by expression and uses, by either alone, then by what stands near; repeat.

        Returns whether the view has nothing more to give: the last round found nothing.
        """
        number, marks = self.signatures.table.number, self._landmarks
        for _ in range(_ROUNDS):
            before = len(self.pairs)
            sides = self._list_unpaired()
            up = upward_colours(sides, view, marks, number)
            down = downward_colours(sides, view, marks, number)
            self._pair_classes(lambda one, up=up, down=down: (up[one], down[one]))  # type: ignore[misc]
            self._pair_classes(up.__getitem__, only_unique=True)
            self._pair_classes(down.__getitem__, only_unique=True)
            near = near_colours(sides, self.list_free(), view, marks, number)
            self._pair_classes(near.__getitem__, only_unique=True)
            self._pair_by_users(up)
            self._grow(view)
            if len(self.pairs) == before:
                return True
            if self._is_done():
                break
        return False

    def _pair_classes(self, colour: Colour, *, only_unique: bool = False) -> None:
        """Pair free instructions of one colour, where both sides have equally many.

        Twins come last, and each pair of twins takes along the neighbours whose colours
        agree, so that what belongs to one twin is not paired with the other's.
        """
        left, right = self.list_free()
        here, there = _by_colour(left, colour), _by_colour(right, colour)
        self._pair_lone(here, there)
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
        left, right = self.list_free()
        there = _by_colour(right, colour.__getitem__)
        for name, found in _by_colour(left, colour.__getitem__).items():
            others = there.get(name, ())
            if len(found) == len(others) or len(found) * len(others) > _MOST_COMPARED:
                continue
            shared = [(self._count_shared(*pair), pair) for pair in product(found, others)]
            for count, pair in sorted(shared, key=lambda one: -one[0]):
                if count and self._may_pair(*pair):
                    self._pair(*pair)

    def _count_shared(self, left: Instruction, right: Instruction) -> int:
        """Count the users of one instruction whose partners use the other."""
        return sum(self.pairs.get(one) in right.users for one in left.users)

    def _pair_twins(
        self, twins: list[Instruction], others: list[Instruction], colour: Colour
    ) -> None:
        rest = iter(others)
        for one in twins:
            if one in self.pairs:
                continue
            other = next((other for other in rest if self._may_pair(one, other)), None)
            if other is None:
                return
            kept, self._fresh = self._fresh, []
            self._pair(one, other)
            kept += self._grow(colour)
            self._fresh = kept

    def _grow(self, colour: Colour) -> list[tuple[Instruction, Instruction]]:
        """Pair operands and users of fresh pairs while that makes new ones; return all."""
        grown = []
        while self._fresh:
            pair = self._fresh.pop()
            grown.append(pair)
            self._pair_operands(*pair, colour)
            self._pair_users(*pair, colour)
        return grown

    def _pair_operands(self, left: Instruction, right: Instruction, colour: Colour) -> None:
        """Pair operands of one colour at the same place; in order where places moved."""
        if all(one in self.pairs for one in left.operands):
            return
        if len(left.operands) == len(right.operands):
            for one, other in zip(left.operands, right.operands, strict=True):
                if self._may_pair(one, other) and colour(one) == colour(other):
                    self._pair(one, other)
            return
        here = _by_colour((one for one in left.operands if one not in self.pairs), colour)
        there = _by_colour((one for one in right.operands if one not in self.back), colour)
        for name, found in here.items():
            others = there.get(name, [])
            if len(found) == len(others):
                for one, other in zip(found, others, strict=True):
                    if self._may_pair(one, other):
                        self._pair(one, other)

    def _pair_users(self, left: Instruction, right: Instruction, colour: Colour) -> None:
        """Pair users that alone on each side have this colour and use this at this place."""
        free = [one for one in left.users if one not in self.pairs]
        if not free:
            return
        others = [one for one in right.users if one not in self.back]
        self._pair_lone(
            _by_colour(free, lambda one: (colour(one), self._place(left, one))),
            _by_colour(others, lambda one: (colour(one), self._place(right, one))),
        )

    def _pair_lone(self, here: _Classes, there: _Classes) -> None:
        """Pair where a class has one member on each side."""
        for name, found in here.items():
            others = there.get(name, ())
            if len(found) == 1 and len(others) == 1 and self._may_pair(found[0], others[0]):
                self._pair(found[0], others[0])

    def _pair_replaced(self) -> None:
        """Pair what has another opcode but the same operands."""
        replacer = Replacer(self._landmarks, self.signatures, self._may_pair, self._pair)
        replacer.run(*self.list_free())

    def _pair_named(self) -> None:
        """Pair what is left where opcode and op_name agree: in order, if equally many."""
        left, right = self.list_free()
        there = _by_colour(right, self._name)
        for key, found in _by_colour(left, self._name).items():
            others = there.get(key, [])
            if len(found) == len(others):
                for one, other in zip(found, others, strict=True):
                    if self._may_pair(one, other):
                        self._pair(one, other)

    def _pair_lone_names(self, name: Colour) -> None:
        """Pair what alone on each side is called so."""
        left, right = self.list_free()
        self._pair_lone(_by_colour(left, name), _by_colour(right, name))

    def _name(self, one: Instruction) -> Hashable:
        return family(one), self.signatures.op_name(one) or one

    def _place_name(self, one: Instruction) -> Hashable:
        return self.signatures.dims(one.shape), self.signatures.op_name(one) or one


def _by_colour(instructions: Iterable[Instruction], colour: Colour) -> _Classes:
    classes: _Classes = defaultdict(list)
    for one in instructions:
        classes[colour(one)].append(one)
    return classes
