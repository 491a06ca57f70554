"""Pair what is left by what it stands beside, in whichever computation.

What an instruction stands beside are its operands and users that have partners: fusions, calls and
tuples are looked through (`flow`), and so is what has no partner and but one operand. Of two
instructions of one opcode each that both stand beside at the same place counts. The pairs with
most in common are taken first, and others stand beside them then; what has as much in common with
several waits. Something else must speak for a pair as well: the same dimensions or op_name; of
different opcodes both must be the same, but for elementwise ones without op_name.

    t = tanh(e)            |  n = negate(e)
                           |  t = tanh(n)
    ROOT a = add(t, f)     |  ROOT m = maximum(t, g)

If a and m are partners, so are both t, though no operand of theirs is.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from itertools import chain, groupby, islice
from typing import Final

from hlotool.compare.match.flow import Flow
from hlotool.compare.match.signature import Signatures
from hlotool.compare.match.views import family
from hlotool.ir import Instruction
from hlotool.ir.opcodes import ELEMENTWISE

_ROUNDS: Final = 16
_MOST: Final = 64  # instructions that stand beside one at one place, so that it tells anything
_FARTHEST: Final = 4  # operations looked through


def pair_beside(
    free: tuple[Iterable[Instruction], Iterable[Instruction]],
    marks: Mapping[Instruction, Instruction],
    flow: Flow,
    signatures: Signatures,
    *,
    is_last: bool,
) -> dict[Instruction, Instruction]:
    """Pair free instructions of two modules; `marks` has the right one of each pair, by either.

    What has as much in common with several waits until others have partners; `is_last` pairs it
    with the first of them.
    """
    finder = _Finder(free, marks, flow, signatures)
    for _ in range(_ROUNDS):
        if not finder.find(is_last=is_last):
            break
    return finder.found


class _Finder:
    """Pairs as found so far; a mark is the right one of a pair, for both of it."""

    def __init__(
        self,
        free: tuple[Iterable[Instruction], Iterable[Instruction]],
        marks: Mapping[Instruction, Instruction],
        flow: Flow,
        signatures: Signatures,
    ) -> None:
        self._left = dict.fromkeys(free[0])
        self._right = dict.fromkeys(free[1])
        self._marks = dict(marks)
        self._flow = flow
        self._signatures = signatures
        self._waiting: set[Instruction] = set()  # in one round
        self.found: dict[Instruction, Instruction] = {}

    def find(self, *, is_last: bool) -> int:
        """Pair those that have most in common; return how many pairs that made."""
        before = len(self.found)
        weighed = sorted(self._weigh().items(), key=lambda item: -item[1])
        for _, same in groupby(weighed, key=lambda item: item[1]):
            pairs = [pair for pair, _ in same if self._are_free(*pair)]
            counts = Counter(chain.from_iterable(pairs))
            for one, other in pairs:
                if is_last or counts[one] == counts[other] == 1:
                    self._pair(one, other)
                else:
                    self._waiting.update((one, other))
        self._waiting.clear()
        return len(self.found) - before

    def _are_free(self, one: Instruction, other: Instruction) -> bool:
        is_free = one in self._left and other in self._right
        return is_free and one not in self._waiting and other not in self._waiting

    def _pair(self, one: Instruction, other: Instruction) -> None:
        if one in self._left and other in self._right:
            self.found[one] = self._marks[one] = self._marks[other] = other
            del self._left[one], self._right[other]

    def _weigh(self) -> Mapping[tuple[Instruction, Instruction], int]:
        """Return how much speaks for each pair that anything speaks for."""
        places: dict[Hashable, list[Instruction]] = defaultdict(list)
        for other in self._right:
            for place in dict.fromkeys(self._list_places(other)):
                places[place].append(other)
        common: Counter[tuple[Instruction, Instruction]] = Counter()
        for one in self._left:
            for place in dict.fromkeys(self._list_places(one)):
                others = places.get(place, ())
                if len(others) <= _MOST:
                    common.update((one, other) for other in others)
        weighed = {pair: (count, self._likeness(*pair)) for pair, count in common.items()}
        return {pair: 4 * count + like for pair, (count, like) in weighed.items() if like}

    def _likeness(self, left: Instruction, right: Instruction) -> int:
        signatures = self._signatures
        name = signatures.op_name(left)
        same_name = bool(name) and name == signatures.op_name(right)
        same_dims = signatures.dims(left.shape) == signatures.dims(right.shape)
        if family(left) != family(right):
            are_alike = {left.opcode, right.opcode} <= ELEMENTWISE and not name
            return 1 if same_dims and (same_name or are_alike) else 0
        return 3 * same_name + 2 * same_dims

    def _list_places(self, one: Instruction) -> Iterator[Hashable]:
        """Yield beside what an instruction stands, and how."""
        for place, operand in enumerate(one.operands):
            for mark in (self._marks.get(operand), self._mark_above(operand)):
                if mark is not None:
                    yield "above", place, mark
        if one.opcode == "parameter":
            for meant in self._flow.meanings(one)[1:]:
                mark = self._marks.get(meant)
                if mark is not None:
                    yield "passed", mark
        for user, place in self._list_users(one):
            yield "below", place, user

    def _mark_above(self, value: Instruction) -> Instruction | None:
        """Return the mark of what a value is, or of the nearest that it is made of."""
        for _ in range(_FARTHEST):
            meanings = self._flow.meanings(value)
            for one in reversed(meanings):
                mark = self._marks.get(one)
                if mark is not None:
                    return mark
            if len(meanings[-1].operands) != 1:
                break
            value = meanings[-1].operands[0]
        return None

    def _list_users(self, one: Instruction) -> Iterator[tuple[Instruction, int]]:
        """Yield the marks of what computes with a value, and at which of its operands."""
        pending: Iterable[Instruction] = (one,)
        for _ in range(_FARTHEST):
            further: dict[Instruction, None] = {}
            for value in pending:
                own = ((user, user.operands.index(value)) for user in value.users)
                for user, place in islice(chain(self._flow.users(value), own), _MOST):
                    mark = self._marks.get(user)
                    if mark is not None:
                        yield mark, place
                    elif len(user.operands) == 1:
                        further[user] = None
            pending = islice(further, _MOST)
