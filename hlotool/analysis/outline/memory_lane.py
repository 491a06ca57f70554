"""Which of the copies and transfers under way does idle memory move?

They share the memory with the work: it moves for them while work computes, or waits for a link.
As transfers share a link (`overlap/open_transfers`), the one that started first goes first.
"""

from __future__ import annotations

from collections import OrderedDict

from hlotool.ir.instruction import Instruction


class MemoryLane:
    """What is under way in one execution of a computation, by the instruction that waits for it."""

    def __init__(self) -> None:
        self._left: OrderedDict[Instruction, float] = OrderedDict()  # what has something left
        self._begun: set[Instruction] = set()

    def begin(self, done: Instruction, seconds: float) -> None:
        """Let what takes memory so long begin; `done` waits for it."""
        self._begun.add(done)
        self._left[done] = self._left.get(done, 0.0) + seconds

    def has(self, done: Instruction) -> bool:
        """Whether what an instruction waits for began here."""
        return done in self._begun

    def give(self, seconds: float) -> None:
        """Let memory that has nothing else to do move what is under way."""
        while self._left and seconds > 0:
            done = next(iter(self._left))
            left = self._left[done] - seconds
            seconds = -left
            if left > 0:
                self._left[done] = left
            else:
                del self._left[done]

    def end(self, done: Instruction) -> float:
        """Return how long it takes to move what is left, and forget it."""
        self._begun.discard(done)
        return self._left.pop(done, 0.0)
