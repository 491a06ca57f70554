"""Pair the instructions of two computations that do the same work.

Stage by stage, from the strictest view of an instruction to the loosest; what is paired
stays paired (`partners`). At each stage instructions are coloured by their view and their
surroundings (`colours`), where pairs made before are landmarks, and pairs grow out of others
(`growth`). Last come instructions that were replaced by another opcode in the same place, and what
is left but agrees in opcode and op_name. Between these steps `pairing_steps` looks for code that
moved.

What counts as equal follows xla/hlo/tools/hlo_diff. Every stage is linear in instructions
and edges, up to sorting.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import Final, TypeAlias

from hlotool.compare.match.colours import Colour, ContentNumbers, View, family, list_views
from hlotool.compare.match.growth import Growth, Replacer
from hlotool.compare.match.partners import Partners, by_colour
from hlotool.compare.match.signature import Signatures
from hlotool.hlo import Computation, Instruction

Pairs: TypeAlias = dict[Instruction, Instruction]
_PlacePairs: TypeAlias = tuple[tuple[int, int], ...]  # places in two computations
# What steps found between computations that say the same, by all that they follow from.
KnownSteps: TypeAlias = dict[Hashable, _PlacePairs]
_STRICT: Final = 3  # views under which what is paired says nearly the same

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
        self._partners = Partners(left, right, signatures, taken)
        self._growth = Growth(self._partners)
        self.pairs: Pairs = self._partners.pairs  # grow as partners are found
        self._taken = taken  # those with a partner in another computation
        self._known = known
        self._written = self._tell_written(left), self._tell_written(right)
        for one, other in seeds.items():
            if one not in self.pairs and other not in self._partners.back:
                self._partners.pair(one, other)

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
        if self._partners.is_done():
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
                self._partners.pair(here[left], there[right])
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
            self._growth.pair_classes(self._numbers.both)
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
        self._partners.pair(left, right)

    def _look(self, views: Sequence[View]) -> None:
        barren: list[int] = []  # how the last view saw what has no partner, if it found no more
        for view in views:
            if self._partners.is_done():
                break
            if self._see(view) == barren:
                continue
            self._partners.fresh = self._partners.list_beside_free()
            barren = self._see(view) if self._growth.pair_by_colour(view) else []

    def _see(self, view: View) -> list[int]:
        """Return which unpaired instructions a view sees alike: those of one number."""
        left, right = self._partners.list_unpaired()
        seen: dict[int, int] = {}
        return [seen.setdefault(view(one), len(seen)) for one in (*left, *right)]

    def _has_as_many_parameters(self) -> bool:
        return len(self.left.parameters) == len(self.right.parameters)

    def list_free(self) -> tuple[list[Instruction], list[Instruction]]:
        """List the instructions of both sides that have no partner yet."""
        return self._partners.list_free()

    def _pair_replaced(self) -> None:
        """Pair what has another opcode but the same operands."""
        partners = self._partners
        replacer = Replacer(partners.landmarks, self.signatures, partners.may_pair, partners.pair)
        replacer.run(*self.list_free())

    def _pair_named(self) -> None:
        """Pair what is left where opcode and op_name agree: in order, if equally many."""
        left, right = self.list_free()
        there = by_colour(right, self._name)
        for key, found in by_colour(left, self._name).items():
            others = there.get(key, [])
            if len(found) == len(others):
                for one, other in zip(found, others, strict=True):
                    if self._partners.may_pair(one, other):
                        self._partners.pair(one, other)

    def _pair_lone_names(self, name: Colour) -> None:
        """Pair what alone on each side is called so."""
        left, right = self.list_free()
        self._partners.pair_lone(by_colour(left, name), by_colour(right, name))

    def _name(self, one: Instruction) -> Hashable:
        return family(one), self.signatures.op_name(one) or one

    def _place_name(self, one: Instruction) -> Hashable:
        return self.signatures.dims(one.shape), self.signatures.op_name(one) or one
