"""Pair what was replaced: another opcode, but the same operands and the same name or shape.

Works downwards from the landmarks. An instruction is looked at once all of its operands have
partners; it then has a place, the numbers of its operands' pairs, and takes as its partner
what stands at the same place on the other side. That may complete the operands of others.
Linear in instructions and edges.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable

from hlotool.compare.match.colours import Landmarks
from hlotool.compare.match.signature import Signatures
from hlotool.ir import Instruction

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
