"""Which of the copies and transfers under way does idle memory move?

They share the memory with the work: it moves for them while work computes, or waits for a link.
As transfers share a link (`overlap/open_transfers`), the one that started first goes first.
"""

from __future__ import annotations

from hlotool.ir.instruction import Instruction


class MemoryLane:
    """What is under way in one execution of a computation, by the instruction that waits for it."""

    def __init__(self) -> None:
        self._left: dict[Instruction, float] = {}

    def begin(self, done: Instruction, seconds: float) -> None:
        """Let what takes memory so long begin; `done` waits for it."""
        self._left[done] = self._left.get(done, 0.0) + seconds

    def has(self, done: Instruction) -> bool:
        """Whether what an instruction waits for began here."""
        return done in self._left

    def give(self, seconds: float) -> None:
        """Let memory that has nothing else to do move what is under way."""
        for done, left in self._left.items():
            if seconds <= 0:
                return
            taken = min(left, seconds)
            self._left[done] = left - taken
            seconds -= taken

    def end(self, done: Instruction) -> float:
        """Return how long it takes to move what is left, and forget it."""
        return self._left.pop(done, 0.0)
