"""Pairs of the instructions of two computations that do the same work.

Stage by stage, from the strictest view of an instruction to the loosest; what is paired
stays paired. At each stage instructions are coloured by their view and their
surroundings (`colours`), where pairs made before are landmarks. Colours that occur once on each
side pair up, then those that occur equally often: twins, one by one, each followed by its own
surroundings. Then pairs grow outwards, each looking only at its own operands and users. Among
indistinguishable twins the order of the dump decides. Last come instructions that were replaced by
another opcode in the same place, and what is left but agrees in opcode and op_name. Between these
steps `structure` looks for code that moved.

    p = parameter(0)          |  p = parameter(0)
    e = exponential(p)        |  e = exponential(p)
                              |  n = negate(e)
    t = tanh(e)               |  t = tanh(n)
    ROOT s = add(t, e)        |  ROOT s = add(t, e)

By expression and uses together nothing agrees: every instruction uses, or feeds, what differs.
By expression alone p and e occur once on each side and pair up; by uses alone t and s do.
n is left: "added". Had the new side `logistic(e)` in the place of t, no view would pair them;
`Replacer` would, as their operands have counterparts.

What counts as equal follows xla/hlo/tools/hlo_diff. Every stage is linear in instructions
and edges, up to sorting.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice, product
from typing import Final, TypeAlias

from msgspec import Struct

from hlotool.compare.match import colours
from hlotool.compare.match.colours import Colour, ContentNumbers, Landmarks, View
from hlotool.compare.match.signature import Signatures, Table, family
from hlotool.hlo import Computation, Instruction
from hlotool.table.sums import group_by

Pairs: TypeAlias = dict[Instruction, Instruction]
Classes: TypeAlias = dict[Hashable, list[Instruction]]
_PlacePairs: TypeAlias = tuple[tuple[int, int], ...]  # places in two computations
_STRICT: Final = 3  # views under which what is paired says nearly the same
_ROUNDS: Final = 4  # colours are mixed anew as long as that finds pairs, at most so often
_MOST_COMPARED: Final = 64  # pairs of equal expressions whose users are counted


class Shared(Struct, frozen=True, eq=False):
    """What all matchers of two programs know; `taken` have counterparts in other computations."""

    signatures: Signatures
    numbers: ContentNumbers
    taken: set[Instruction]
    steps: dict[Hashable, _PlacePairs]  # what each found, by all that it follows from


class Matcher:
    """The pairs between two computations, old to new and back."""

    def __init__(self, old: Computation, new: Computation, shared: Shared, seeds: Pairs) -> None:
        self.old, self.new = old, new
        self.signatures, self._numbers = shared.signatures, shared.numbers
        self._taken, self._known = shared.taken, shared.steps
        # More or fewer parameters shift the numbers of all that follow, which then tell nothing.
        self._has_numbers = len(old.parameters) == len(new.parameters)
        # Views are made anew for each pair of computations: what they remember is of these alone.
        self._views = colours.list_views(
            self.signatures, self._numbers.signature, has_numbers=self._has_numbers
        )
        self.counterparts = Counterparts(old, new, self.signatures, self._taken)
        self.pairs: Pairs = self.counterparts.pairs  # grow as counterparts are found
        self._written = self._describe_text(old), self._describe_text(new)
        for one, other in seeds.items():
            if one not in self.pairs and other not in self.counterparts.back:
                self.counterparts.pair(one, other)

    def match_strictly(self) -> None:
        """Pair what says the same, or nearly."""
        if not self.pairs and self._has_numbers:
            self.counterparts.pair_classes(self._numbers.both)
        self._look(self._views[:_STRICT])

    def match_loosely(self) -> None:
        """Pair what is called alike, or does alike, in like surroundings."""
        self._look(self._views[_STRICT:])

    def finish(self) -> None:
        """Pair what was replaced, and what stands beside it."""
        self.counterparts.pair_lone(*self._group(family))
        _Replacer(self.counterparts, self.signatures).run(*self.counterparts.list_free())
        self._look(self._views[-1:])

    def pair_named(self) -> None:
        """Pair what is left and called alike."""
        dims = self.signatures.dims
        self.counterparts.pair_in_order(*self._group(family))
        self.counterparts.pair_lone(*self._group(lambda one: dims(one.shape)))

    def take(self, step: Callable[[Matcher], None]) -> Pairs:
        """Take a step; return the new pairs. What is known of computations written alike is used.

        A step follows from what both say, and from what has a counterpart by now.
        """
        count = len(self.pairs)
        if self.counterparts.is_done():
            return {}
        taken = [
            tuple([place for place, one in enumerate(side.instructions) if one in self._taken])
            for side in (self.old, self.new)
        ]
        state = step, self._written, self._list_places(self.pairs.items()), *taken
        found = self._known.get(state)
        if found is None:
            step(self)
            found = self._list_places(islice(self.pairs.items(), count, None))
            self._known[state] = found
        else:
            here, there = self.old.instructions, self.new.instructions
            for old, new in found:
                self.counterparts.pair(here[old], there[new])
        return dict(islice(self.pairs.items(), count, None))

    def _describe_text(self, computation: Computation) -> Hashable:
        """Return what a computation says, names of instructions aside."""
        names = tuple([self.signatures.op_name(one) for one in computation.instructions])
        return self._numbers.contents[computation], self.signatures.table.number(names)

    def _list_places(self, pairs: Iterable[tuple[Instruction, Instruction]]) -> _PlacePairs:
        place = self._numbers.place
        return tuple([(place(one), place(other)) for one, other in pairs])

    def _look(self, views: Sequence[View]) -> None:
        barren: View | None = None  # the last view, if it found no more
        for view in views:
            if self.counterparts.is_done():
                break
            # A looser view that tells no more apart than the last one, which found nothing, finds
            # nothing.
            if barren is not None and self._see(view) == self._see(barren):
                continue
            self.counterparts.fresh = self.counterparts.list_beside_free()
            barren = view if self.counterparts.pair_by_colour(view) else None

    def _see(self, view: View) -> list[int]:
        """Return which unpaired instructions a view sees alike: those of one number."""
        old, new = self.counterparts.list_unpaired()
        seen: dict[int, int] = {}
        return [seen.setdefault(view(one), len(seen)) for one in (*old, *new)]

    def _group(self, kind: Colour) -> tuple[Classes, Classes]:
        """Return what has no counterpart by its kind and op_name; without a name each by itself."""
        name = self.signatures.op_name
        old, new = self.counterparts.list_free()

        def key(one: Instruction) -> Hashable:
            return kind(one), name(one) or one

        return group_by(old, key), group_by(new, key)


class Counterparts:
    """The pairs between two computations, old to new and back. What is paired stays paired."""

    def __init__(
        self,
        old: Computation,
        new: Computation,
        signatures: Signatures,
        taken: AbstractSet[Instruction],
    ) -> None:
        self.pairs: dict[Instruction, Instruction] = {}
        self.back: dict[Instruction, Instruction] = {}
        self.landmarks: Landmarks = {}
        self.fresh: list[tuple[Instruction, Instruction]] = []  # from which others may grow
        self._signatures = signatures
        self._taken = taken  # those with a counterpart in another computation
        self._most = min(len(old.instructions), len(new.instructions))
        self._unpaired = old.instructions, new.instructions  # and others, paired meanwhile

    def pair(self, old: Instruction, new: Instruction) -> None:
        """Make two instructions counterparts."""
        self.pairs[old] = new
        self.back[new] = old
        self.landmarks[old] = self.landmarks[new] = -len(self.pairs)
        self.fresh.append((old, new))

    def may_pair(self, old: Instruction, new: Instruction) -> bool:
        """Say whether two instructions have no counterpart yet, and may be counterparts."""
        if old in self.pairs or new in self.back or old in self._taken or new in self._taken:
            return False
        if self._signatures.are_related(old, new):
            return True
        # If all their operands are counterparts, or all users, they stand in the same place.
        if old.operands and [self.pairs.get(one) for one in old.operands] == list(new.operands):
            return True
        users = [self.pairs.get(one) for one in old.users]
        return bool(users) and None not in users and set(users) == set(new.users)

    def pair_lone(self, here: Classes, there: Classes) -> None:
        """Pair where a class has one member on each side."""
        for name, found in here.items():
            others = there.get(name, ())
            if len(found) == 1 and len(others) == 1 and self.may_pair(found[0], others[0]):
                self.pair(found[0], others[0])

    def pair_in_order(self, here: Classes, there: Classes) -> None:
        """Pair where a class has as many members on each side."""
        for name, found in here.items():
            others = there.get(name, [])
            if len(found) == len(others):
                for one, other in zip(found, others, strict=True):
                    if self.may_pair(one, other):
                        self.pair(one, other)

    def is_done(self) -> bool:
        """Say whether all of a side are paired."""
        return len(self.pairs) == self._most

    def list_free(self) -> tuple[list[Instruction], list[Instruction]]:
        """List the instructions of both sides that have no counterpart yet."""
        taken = self._taken
        old, new = self.list_unpaired()
        return [one for one in old if one not in taken], [one for one in new if one not in taken]

    def list_unpaired(self) -> tuple[list[Instruction], list[Instruction]]:
        """List the instructions of both sides that have no counterpart in the other computation."""
        old, new = self._unpaired
        self._unpaired = (
            [one for one in old if one not in self.pairs],
            [one for one in new if one not in self.back],
        )
        return self._unpaired

    def list_beside_free(self) -> list[tuple[Instruction, Instruction]]:
        """List the pairs from which others may grow: some operand or user has no counterpart."""
        free, _ = self.list_unpaired()
        near = {each for one in free for each in (*one.operands, *one.users)}
        return [pair for pair in self.pairs.items() if pair[0] in near]

    def pair_by_colour(self, view: View) -> bool:
        """Pair by expression and uses, by either alone, then by what stands near; repeat.

        Returns whether the view has nothing more to give: the last round found nothing.
        """
        marks = self.landmarks
        for _ in range(_ROUNDS):
            table = Table()  # of colours, which the next round mixes anew
            before = len(self.pairs)
            sides = self.list_unpaired()
            up = colours.upward_colours(sides, view, marks, table)
            down = colours.downward_colours(sides, view, marks, table)
            self.pair_classes(lambda one, up=up, down=down: (up[one], down[one]))  # type: ignore[misc]
            self.pair_classes(up.__getitem__, only_unique=True)
            self.pair_classes(down.__getitem__, only_unique=True)
            near = colours.near_colours(sides, self.list_free(), view, marks, table)
            self.pair_classes(near.__getitem__, only_unique=True)
            self._pair_by_users(up)
            self._grow(view)
            if len(self.pairs) == before:
                return True
            if self.is_done():
                break
        return False

    def pair_classes(self, colour: Colour, *, only_unique: bool = False) -> None:
        """Pair free instructions of one colour, where both sides have equally many.

        Twins come last, and each pair of twins takes along the neighbours whose colours
        agree, so that what belongs to one twin is not paired with the other's.
        """
        here, there = (group_by(side, colour) for side in self.list_free())
        self.pair_lone(here, there)
        if only_unique:
            return
        # Unique pairs came first, so that twins are told apart by the neighbours they are left
        # with.
        for name, twins in here.items():
            others = there.get(name, [])
            if len(twins) > 1 and len(twins) == len(others):
                self._pair_twins(twins, others, colour)

    def _pair_by_users(self, colour: Mapping[Instruction, int]) -> None:
        """Pair equal expressions, of which a side has more, by the users that they share.

        Of a value that is computed twice now, the copy with most of the old users is the old one.
        """
        old, new = self.list_free()
        there = group_by(new, colour.__getitem__)
        for name, found in group_by(old, colour.__getitem__).items():
            others = there.get(name, ())
            if len(found) == len(others) or len(found) * len(others) > _MOST_COMPARED:
                continue
            shared = []
            for one, other in product(found, others):
                count = sum(self.pairs.get(user) in other.users for user in one.users)
                shared.append((count, one, other))
            for count, one, other in sorted(shared, key=lambda each: -each[0]):
                if count and self.may_pair(one, other):
                    self.pair(one, other)

    def _pair_twins(
        self, twins: list[Instruction], others: list[Instruction], colour: Colour
    ) -> None:
        rest = iter(others)
        for one in twins:
            if one in self.pairs:
                continue
            other = next((other for other in rest if self.may_pair(one, other)), None)
            if other is None:
                return
            # Other fresh pairs wait: this pair alone may grow before the next twin is looked at.
            kept, self.fresh = self.fresh, []
            self.pair(one, other)
            kept += self._grow(colour)
            self.fresh = kept

    def _grow(self, colour: Colour) -> list[tuple[Instruction, Instruction]]:
        """Pair operands and users of fresh pairs while that makes new ones; return all."""
        grown = []
        while self.fresh:
            pair = self.fresh.pop()
            grown.append(pair)
            self._pair_operands(*pair, colour)
            self._pair_users(*pair, colour)
        return grown

    def _pair_operands(self, old: Instruction, new: Instruction, colour: Colour) -> None:
        """Pair operands of one colour at the same place; in order where places moved."""
        if all(one in self.pairs for one in old.operands):
            return
        if len(old.operands) == len(new.operands):
            for one, other in zip(old.operands, new.operands, strict=True):
                if self.may_pair(one, other) and colour(one) == colour(other):
                    self.pair(one, other)
            return
        self.pair_in_order(
            group_by((one for one in old.operands if one not in self.pairs), colour),
            group_by((one for one in new.operands if one not in self.back), colour),
        )

    def _pair_users(self, old: Instruction, new: Instruction, colour: Colour) -> None:
        """Pair users that alone on each side have this colour and use this at this place."""
        free = [one for one in old.users if one not in self.pairs]
        if not free:
            return
        others = [one for one in new.users if one not in self.back]
        self.pair_lone(
            group_by(free, lambda one: (colour(one), one.places_of(old)[0])),
            group_by(others, lambda one: (colour(one), one.places_of(new)[0])),
        )


class _Replacer:
    """Pairs free instructions of another opcode, but of the same operands and name or shape.

    Works downwards from the landmarks. An instruction is looked at once all of its operands have
    counterparts; it then has a place, the numbers of its operands' pairs, and takes as its
    counterpart what stands at the same place on the other side. That may complete the operands of
    others. Linear in instructions and edges.
    """

    def __init__(self, counterparts: Counterparts, signatures: Signatures) -> None:
        self._counterparts = counterparts
        self._landmarks = counterparts.landmarks
        self._signatures = signatures
        self._missing: dict[Instruction, int] = {}  # operands without counterpart
        self._waiting: dict[Hashable, deque[Instruction]] = defaultdict(deque)

    def run(self, old: Iterable[Instruction], new: Iterable[Instruction]) -> None:
        """Pair what can be paired of the free instructions of both sides."""
        ready: deque[tuple[bool, Instruction]] = deque()
        for is_old, side in ((True, old), (False, new)):
            for one in side:
                operands = dict.fromkeys(one.operands)
                missing = sum(operand not in self._landmarks for operand in operands)
                self._missing[one] = missing
                if operands and not missing:
                    ready.append((is_old, one))
        while ready:
            is_old, one = ready.popleft()
            if one in self._landmarks:
                continue
            found = self._find_counterpart(one, is_old=is_old)
            if found is not None:
                pair = (one, found) if is_old else (found, one)
                self._counterparts.pair(*pair)
                ready.extend((True, user) for user in self._complete(pair[0]))
                ready.extend((False, user) for user in self._complete(pair[1]))

    def _find_counterpart(self, one: Instruction, *, is_old: bool) -> Instruction | None:
        """Return what waits at the same place on the other side, by name, else by shape."""
        keys = self._keys(one)
        for key in keys:
            waiting = self._waiting[not is_old, key]
            # What waits may have found a counterpart otherwise meanwhile; it is thrown out when
            # met.
            while waiting and waiting[0] in self._landmarks:
                waiting.popleft()
            if waiting:
                other = waiting[0]
                if self._counterparts.may_pair(*((one, other) if is_old else (other, one))):
                    return other
        for key in keys:
            self._waiting[is_old, key].append(one)
        return None

    def _keys(self, one: Instruction) -> list[Hashable]:
        place = tuple(self._landmarks[operand] for operand in one.operands)
        name = self._signatures.op_name(one)
        element = one.tuple_index if one.opcode == "get-tuple-element" else None
        keys: list[Hashable] = [("shape", place, element, self._signatures.dims(one.shape))]
        return [("name", place, name), *keys] if name else keys

    def _complete(self, operand: Instruction) -> list[Instruction]:
        """Return the users for which this was the last operand without counterpart."""
        found = []
        for user in operand.users:
            if user in self._missing:
                self._missing[user] -= 1
                if not self._missing[user]:
                    found.append(user)
        return found
