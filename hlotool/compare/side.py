"""What is compared: a program or its saved figures, and under what it was compiled."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from hlotool.compare.saved import SavedFigures
from hlotool.inputs import DumpFile
from hlotool.ir import Module
from hlotool.program.program import Program

Flags = Mapping[str, tuple[str, ...]]


class DiffSide(Struct, frozen=True):
    """One side: a program or the figures a saved document holds, and what it was compiled under.

    `before` is the text that XLA was given, `build` that of the TPU compiler.
    """

    figures: Program | SavedFigures
    flags: Flags | None = None
    tpu_flags: Flags | None = None
    before: DumpFile | None = None
    build: int | None = None

    @property
    def program(self) -> Program | None:
        """The program, None where only figures were saved."""
        return self.figures if isinstance(self.figures, Program) else None

    @property
    def module(self) -> Module | None:
        """The module, None where the side has none."""
        return self.program.module if self.program else None

    def find_words(self) -> frozenset[str]:
        """Return the opcodes that its text holds."""
        return self.program.find_words() if self.program else frozenset()

    def notes(self) -> tuple[str, ...]:
        """Say what of its files was not understood."""
        return self.program.notes() if self.program else ()


def level_sides(left: DiffSide, right: DiffSide) -> tuple[DiffSide, DiffSide]:
    """Estimate memory on both sides where only one has a buffer assignment."""
    here, there = left.program, right.program
    if here is None or there is None or (here.assignment is None) == (there.assignment is None):
        return left, right
    if here.module is None or there.module is None:
        return left, right
    return (
        replace(left, figures=here.without_assignment()),
        replace(right, figures=there.without_assignment()),
    )
