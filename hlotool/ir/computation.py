"""One computation: a node, compared with `is`. It lists its instructions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import field

from hlotool.ir.instruction import Instruction
from hlotool.ir.node import Node

if TYPE_CHECKING:  # a cycle: each leads to the others
    from hlotool.ir.module import Module


class Computation(Node, eq=False, dict=True):
    """A named list of instructions, in dump order; that is schedule order when scheduled.

    There is at least one instruction, and the parameters are numbered 0, 1, 2, … without gap.
    """

    name: str
    module: Module
    is_entry: bool = False
    instructions: list[Instruction] = field(default_factory=list)
    execution_thread: str = "main"
    marked_root: Instruction | None = None

    @property
    def root(self) -> Instruction:
        """The result: the instruction marked ROOT, else the last one."""
        return self.marked_root or self.instructions[-1]

    @cached_property
    def parameters(self) -> tuple[Instruction, ...]:
        """The parameters by number."""
        found = [one for one in self.instructions if one.opcode == "parameter"]
        return tuple(sorted(found, key=lambda one: one.parameter_number))

    @cached_property
    def by_name(self) -> Mapping[str, Instruction]:
        """The instructions by name, which is unique here and need not be in the module."""
        return {one.name: one for one in self.instructions}

    @cached_property
    def users(self) -> Mapping[Instruction, tuple[Instruction, ...]]:
        """Users by instruction, each once, in dump order; unused instructions are absent."""
        lists: dict[Instruction, list[Instruction]] = {}
        for instruction in self.instructions:
            for operand in instruction.operands:
                users = lists.get(operand)
                if users is None:
                    lists[operand] = [instruction]
                elif users[-1] is not instruction:  # an operand may be given twice
                    users.append(instruction)
        return {operand: tuple(users) for operand, users in lists.items()}
