"""The program at one step: which figures does a walk compare?"""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import Final

from hlotool.compare.passes.steps import Step
from hlotool.ir import Instruction, Module
from hlotool.parse import parse_module
from hlotool.program.program import Program

_COPIES: Final = frozenset(("copy", "copy-start"))
_FUSIONS: Final = frozenset(("fusion", "fusion-start"))


class State:
    """What one text holds; steps with equal texts share it."""

    def __init__(self, program: Program, text: str) -> None:
        self.program = program
        self.text = text

    @property
    def module(self) -> Module:
        """The module."""
        return self.program.expect_module()

    @cached_property
    def texts(self) -> dict[str, tuple[Instruction, str]]:
        """Each instruction by its name, with its text up to the line of the next."""
        instructions = list(self.module.instructions())
        lines = [self.text.rfind("\n", 0, one.start) for one in instructions]
        ends = [*lines[1:], len(self.text)]
        return {
            one.full_name: (one, self.text[start : max(start, end)])
            for one, start, end in zip(instructions, lines, ends, strict=True)
        }

    @cached_property
    def opcodes(self) -> Counter[str]:
        """How many instructions of each opcode there are."""
        return Counter(one.opcode for one in self.module.instructions())

    @cached_property
    def collectives(self) -> tuple[int, int]:
        """How many there are, and their wire bytes."""
        totals = self.program.collective_totals
        return totals.count, totals.wire_bytes_per_run

    @cached_property
    def peak_bytes(self) -> int | None:
        """The estimated peak, None for a module that is not scheduled."""
        memory = self.program.memory
        return memory.figures.estimated.peak_bytes if memory and memory.figures.estimated else None

    @property
    def fusion_count(self) -> int:
        """How many fusions there are."""
        return sum(self.opcodes[opcode] for opcode in _FUSIONS)

    @property
    def copy_count(self) -> int:
        """How many copies there are, fused ones too."""
        return sum(self.opcodes[opcode] for opcode in _COPIES)


class Snapshot:
    """A step, and what its text holds."""

    def __init__(self, step: Step, state: State) -> None:
        self.step = step
        self.state = state


def read_snapshot(step: Step, before: Snapshot | None = None) -> Snapshot:
    """Read a step; a text that is the same as the one before is not read again.

    Raises what reading a module raises.
    """
    source = step.file.read()
    if before is not None and before.state.text == source.text:
        return Snapshot(step, before.state)
    module = parse_module(source)
    return Snapshot(step, State(Program(module.name, module), module.source.text))
