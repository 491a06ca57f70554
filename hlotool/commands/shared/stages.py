"""How far is a command about one program? It reads, then asks for one thing after the other.

How long each takes is told from the length of the text alone: the shares are those that a training
step of 100 MB has, so the time left is an estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final, Literal, TypeAlias

from hlotool.commands.shared.progress import progress
from hlotool.errors import HlotoolError
from hlotool.program.program import Program

Stage: TypeAlias = Literal["executions", "costs", "memory", "prints", "fusions"]

_READING: Final = 17_000
_SHARES: Final[dict[Stage, int]] = {
    "executions": 4_000,
    "costs": 8_000,
    "memory": 30_000,
    "prints": 16_000,
    "fusions": 8_000,
}


class Stages:
    """Counts what is done of a program's stages."""

    def __init__(self, advance: Callable[[int], None]) -> None:
        self._advance = advance
        self._read = 0.0
        self._told = 0

    def watch(self, count: int, length: int) -> None:
        """Count characters of a text that has so many."""
        self._read = min(self._read + _READING * count / length, _READING)
        self._tell(int(self._read))

    def work_out(self, program: Program, stages: tuple[Stage, ...]) -> None:
        """Have a program, which is read, work out what the command will ask for.

        What cannot be worked out raises once more when the command asks, behind the notes.
        """
        self._tell(_READING)
        for stage in stages:
            with suppress(HlotoolError):
                getattr(program, stage)
            self._advance(_SHARES[stage])

    def _tell(self, done: int) -> None:
        self._advance(done - self._told)
        self._told = done


@contextmanager
def show_stages(stages: tuple[Stage, ...]) -> Iterator[Stages]:
    """Show how far reading and the stages are, once they take long."""
    with progress("working", _READING + sum(_SHARES[each] for each in stages)) as advance:
        yield Stages(advance)
