"""Pair what stands in another computation now: outlined, inlined, fused, or split off.

Computations are looked through (`flow`). An instruction without partner whose operands, so
seen, all have partners takes as its own what does the same with theirs; one whose users all
have, what those use at the same places. Each pair may complete another's operands or users.

    s = add(a, b)          |  c = call(a, b), to_apply={p, q, ROOT s = add(p, q)}
    ROOT r = negate(s)     |  ROOT r = negate(c)

The two `s` are partners, as p is a and q is b; r uses the same on both sides; c is new.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Mapping
from itertools import islice
from typing import Final, TypeAlias

from hlotool.compare.match.content_numbers import ContentNumbers
from hlotool.compare.match.flow import Flow
from hlotool.compare.match.signature import Signatures
from hlotool.compare.match.views import family
from hlotool.ir import Instruction

View: TypeAlias = Callable[[Instruction], Hashable]
# What waits for a partner, first come first served, by its side and what it does with which pairs.
_Waiting: TypeAlias = dict[tuple[bool, Hashable], OrderedDict[Instruction, None]]
_FARTHEST: Final = 4  # operations looked through
_MOST_ASKED: Final = 64  # that wait, for the one in the computation of a partner
_PASSING: Final = frozenset(("parameter", "get-tuple-element", "tuple", "call"))


def pair_moved(
    free: tuple[Iterable[Instruction], Iterable[Instruction]],
    marks: Mapping[Instruction, Instruction],
    flow: Flow,
    signatures: Signatures,
    numbers: ContentNumbers,
    *,
    is_bridging: bool,
) -> dict[Instruction, Instruction]:
    """Pair free instructions of two modules, left to right, by what they do and stand on.

    `marks` has the right one of each pair, by either.
    `is_bridging` looks through operations of one operand that have no partner themselves: in
    `tanh(sign(a))` and `tanh(a)`, both stand on a.
    """
    mover = _Mover(marks, flow, numbers.up, is_bridging=is_bridging)
    passing = _PASSING - {"parameter"} if is_bridging else _PASSING
    sides = [[one for one in side if one.opcode not in passing] for side in free]
    if all(sides):
        mover.run(sides, numbers.signature)
        mover.run(sides, lambda one: (family(one), signatures.dims(one.shape)))
    return mover.found


class _Mover:
    """Pairs as found so far; a mark is the right one of a pair, for both of it."""

    def __init__(
        self,
        marks: Mapping[Instruction, Instruction],
        flow: Flow,
        expression: Callable[[Instruction], int],
        *,
        is_bridging: bool,
    ) -> None:
        self._flow = flow
        self._expression = expression
        self._farthest = _FARTHEST if is_bridging else 1
        self._before = marks
        self._marks = dict(marks)
        self._hopeless: set[Instruction] = set()  # until something near has a partner
        self.found: dict[Instruction, Instruction] = {}

    def run(self, sides: list[list[Instruction]], view: View) -> None:
        """Pair under one view while that makes new pairs; what one side alone has cannot pair."""
        waiting: _Waiting = defaultdict(OrderedDict)
        seen = [{one: view(one) for one in side if one not in self._marks} for side in sides]
        shared = set(seen[0].values()) & set(seen[1].values())
        seen = [{one: kind for one, kind in side.items() if kind in shared} for side in seen]
        queue = deque((bool(place), one) for place, side in enumerate(seen) for one in side)
        while queue:
            is_right, one = queue.popleft()
            if one in self._marks or one in self._hopeless:
                continue
            other = self._find_waiting(one, seen[is_right][one], waiting, is_right=is_right)
            if other is None:
                continue
            left, right = (other, one) if is_right else (one, other)
            self.found[left] = self._marks[left] = self._marks[right] = right
            for side, made in ((False, left), (True, right)):
                near = list(self._near(made))
                self._hopeless.difference_update(near)
                queue.extend((side, each) for each in near if each in seen[side])

    def _find_waiting(
        self,
        one: Instruction,
        kind: Hashable,
        waiting: _Waiting,
        *,
        is_right: bool,
    ) -> Instruction | None:
        """Return what waits on the other side for the same operands or users; else wait."""
        above, below = self._above(one), self._below(one)
        if above is below is None:
            self._hopeless.add(one)
            return None
        keys = [(kind, way) for way in (above, below) if way is not None]
        for key in keys:
            others = waiting.get((not is_right, key))
            if not others:
                continue
            first = list(islice(others, _MOST_ASKED))
            for other in first:
                if other in self._marks:
                    del others[other]
            first = [other for other in first if other in others]
            if first:
                alike = (other for other in first if self._are_called_alike(one, other))
                found = next(alike, first[0])
                del others[found]
                return found
        for key in keys:
            waiting[is_right, key].setdefault(one)
        return None

    def _are_called_alike(self, one: Instruction, other: Instruction) -> bool:
        """Say whether what calls the computations of both were partners before."""
        callers = self._flow.caller(one.computation), self._flow.caller(other.computation)
        if callers[0] is None or callers[1] is None:
            return callers[0] is callers[1]
        mark = self._before.get(callers[0])
        return mark is not None and mark is self._before.get(callers[1])

    def _deepest_mark(self, value: Instruction) -> Hashable:
        """Return the mark of what a value is in truth; of what hangs on nothing, its expression."""
        meanings = self._flow.meanings(value)
        made = meanings[-1]
        for _ in range(self._farthest):
            for one in reversed(meanings):
                if one in self._marks:
                    return self._marks[one]
            if len(meanings[-1].operands) != 1:
                break
            meanings = self._flow.meanings(meanings[-1].operands[0])
        return self._expression(made) if _is_constant(made) else None

    def _above(self, one: Instruction) -> Hashable:
        """Return on which partners an instruction stands, None while one has none.

        What is made of constants alone could stand anywhere.
        """
        marks = []
        for operand in one.operands:
            mark = self._deepest_mark(operand)
            if mark is None:
                return None
            marks.append(mark)
        is_anywhere = not any(isinstance(mark, Instruction) for mark in marks)
        return None if is_anywhere else tuple(marks)

    def _below(self, one: Instruction) -> Hashable:
        """Return which partners use an instruction, and where; None while one has none."""
        uses = []
        for user, place in self._flow.users(one):
            mark = self._marks.get(user)
            if mark is None:
                return None
            uses.append((mark, place))
        return frozenset(uses) if uses else None

    def _near(self, one: Instruction) -> Iterable[Instruction]:
        """Yield what an instruction uses, and what uses it."""
        for operand in one.operands:
            yield from self._flow.meanings(operand)
        for user, _ in self._flow.users(one):
            yield user


def _is_constant(one: Instruction) -> bool:
    """Say whether a value is a constant, or one broadcast and converted."""
    while len(one.operands) == 1:
        one = one.operands[0]
    return one.opcode in {"constant", "iota"}
