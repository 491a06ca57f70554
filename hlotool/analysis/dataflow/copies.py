"""Why a copy is there: one cause for each, for every command that speaks of copies.

XLA puts in copies where two uses of an array do not go together: they want other layouts, another
memory space, or one of them writes where the other still reads. `CopyReader.read` follows a copy to
what it copies and to who takes it; the first cause of `COPY_CAUSES` that holds is told.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.analysis.dataflow.flow import Flow, Made
from hlotool.hlo import ArrayShape, Instruction, Module
from hlotool.hlo.opcodes import COLLECTIVES, GIVEN, MOVES
from hlotool.hlo.shape import Layout

CopyCause: TypeAlias = Literal[
    "memory-space", "layout", "donated-and-read", "returned", "loop-carry", "loop-aliasing",
    "sharding",
]  # fmt: skip
# Why, behind "copies": who makes what is copied, who asks for the copy, and both layouts.
COPY_CAUSES: Final[Mapping[CopyCause, str]] = {
    "memory-space": "into another memory space",
    "layout": "from {before} of {source} to {after} for {user}",
    "donated-and-read": "as {source} is donated and still read",
    "returned": "as {source} is a result, in memory of its own",
    "loop-carry": "as {user} overwrites what enters it",
    "loop-aliasing": "as an iteration still reads what it overwrites",
    "sharding": "behind {source}",
}
_COPYING: Final = MOVES | {"convert", "copy-done", "copy-start", "fusion"}


class Copy(Struct, frozen=True):
    """A copy and its cause, None where the text does not show it.

    `source` makes what is copied, `user` asks for it. `layouts` are those of source and copy where
    they differ.
    """

    cause: CopyCause | None
    source: Instruction
    user: Instruction | None
    layouts: tuple[str, str] | None = None

    @property
    def because(self) -> str:
        """The cause, behind what is said of the copy; empty where it is not known."""
        if self.cause is None:
            return ""
        before, after = self.layouts or ("", "")
        user = self.user.full_name if self.user is not None else "the result"
        name = self.source.metadata().op_name if self.source.opcode == "parameter" else ""
        source = name or self.source.full_name
        said = COPY_CAUSES[self.cause]
        return f", {said.format(before=before, after=after, source=source, user=user)}"


class CopyReader:
    """Reads the causes of copies in one module."""

    def __init__(self, module: Module, flow: Flow) -> None:
        self._entry = module.entry
        self._flow = flow
        self._donated = {(one.number, one.index) for one in module.header.aliases}

    def find_parameter(self, one: Instruction) -> Instruction | None:
        """Return the entry parameter that an instruction copies or converts; None of others."""
        return self.find_given(one) if one.opcode in _COPYING else None

    def find_given(self, one: Instruction) -> Instruction | None:
        """Return the entry parameter whose numbers an instruction has; None of others."""
        source = self._flow.source(one).inner
        is_given = source.opcode == "parameter" and source.computation is self._entry
        return source if is_given else None

    def read(self, copy: Instruction) -> Copy:
        """Return why an instruction that only moves data is there."""
        operand = copy.operands[0]
        made = self._flow.source(operand, within=copy.computation)
        users = [use.instruction for use in self._flow.uses(copy)]
        user = next((one for one in users if one is not None), None)
        before, after = _first_array(operand), _first_array(copy)
        layouts = None if before is None or after is None else _compare(copy, before, after)
        if before and after and before.memory_space != after.memory_space:
            return Copy("memory-space", made.inner, user)
        if layouts is not None:
            return Copy("layout", made.inner, user, layouts)
        return Copy(self._find_cause(copy, made, users), made.inner, user)

    def _find_cause(
        self, copy: Instruction, made: Made, users: list[Instruction | None]
    ) -> CopyCause | None:
        source = made.inner
        is_entry = copy.computation is self._entry
        number = source.parameter_number if source.opcode == "parameter" and is_entry else None
        if (number, made.index) in self._donated:
            return "donated-and-read"
        if is_entry and None in users and source.opcode in GIVEN:
            return "returned"
        if any(one is not None and one.opcode == "while" for one in users):
            return "loop-carry"
        caller = None if is_entry else self._flow.caller(copy.computation)
        is_handed_on = source.opcode == "parameter" or None in users
        if caller is not None and caller.opcode == "while" and is_handed_on:
            return "loop-aliasing"
        return "sharding" if source.opcode in COLLECTIVES or copy.sharding() else None


def _first_array(one: Instruction) -> ArrayShape | None:
    return next(one.shape.leaves(), None)


def _compare(copy: Instruction, before: ArrayShape, after: ArrayShape) -> tuple[str, str] | None:
    """Return both layouts where they differ, or the order of dimensions."""
    body = copy.callee() if copy.opcode == "fusion" else None
    moves = [one for one in (body.instructions if body else (copy,)) if one.opcode in MOVES]
    is_turned = any(one.opcode != "copy" for one in moves)
    old, new = _order(before), _order(after)
    return (f"{before}{old}", f"{after}{new}") if is_turned or old != new else None


def _order(shape: ArrayShape) -> str:
    """Write how an array lies in memory; unprinted, the last dimension is fastest."""
    return str(shape.layout or Layout(tuple(reversed(range(len(shape.dims))))))
