"""The same change at many places (48 layers) is one row that counts them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Final

from msgspec import Struct

from hlotool.analysis.origin.scope import find_scope
from hlotool.compare.blocks import columns
from hlotool.compare.blocks.columns import Change
from hlotool.compare.blocks.reasons import REASON_MEANINGS, Reason
from hlotool.compare.blocks.shared_scope import share_scope
from hlotool.compare.match.shape_changes import describe_shape
from hlotool.fields import BYTES, WHOLE, column, figure
from hlotool.ir import Instruction
from hlotool.ir.opcodes import FREE, OPCODES
from hlotool.program.program import Program

# These move no data; what they lead to is told by other rows.
_WEIGHTLESS: Final = FREE | {"after-all"}


class InstructionChange(Struct, frozen=True):
    """One change, `count` times; names, shapes and sources are those of the heaviest.

    `reasons` are kinds, `details` the same with both sides. Bytes are those of the results,
    all `count` together; null on the side that has none, or where a size is unknown.
    `is_fused` says that it happened inside a fusion or another embedded computation.
    """

    change: Annotated[Change, columns.CHANGE]
    count: Annotated[int, columns.ALIKE]
    opcode: Annotated[
        str, column("the opcode; if it changed, the new one", words=OPCODES, give_way=3)
    ]
    reasons: Annotated[
        tuple[str, ...],
        figure("what differs: shape, dtype, layout, operands, …", word_meanings=REASON_MEANINGS),
    ]
    details: Annotated[
        tuple[str, ...], figure("the reasons with the values of both sides, for the heaviest")
    ]
    name: Annotated[
        str, column("the new name; the old one if removed", heading="instruction", wants=WHOLE)
    ]
    computation: Annotated[str, figure("the computation that holds it")]
    left_name: Annotated[str | None, figure("its name" + columns.LEFT)]
    right_name: Annotated[str | None, figure("its name" + columns.RIGHT)]
    is_fused: Annotated[bool, figure("whether it runs inside a fusion or reducer", heading="fused")]
    left_shape: Annotated[str | None, figure("shape of the result" + columns.LEFT)]
    right_shape: Annotated[str | None, figure("shape of the result" + columns.RIGHT)]
    left_bytes: Annotated[
        int | None, figure("size of the results" + columns.LEFT, BYTES, heading="old", null_text="")
    ]
    right_bytes: Annotated[
        int | None,
        figure("size of the results" + columns.RIGHT, BYTES, heading="new", null_text=""),
    ]
    delta_bytes: Annotated[int | None, columns.DELTA_BYTES]
    op_name: Annotated[str | None, columns.OP_NAME]
    scope: Annotated[str | None, columns.SCOPE]
    source_file: Annotated[str | None, columns.SOURCE_FILE]
    source_line: Annotated[int | None, columns.SOURCE_LINE]
    what: Annotated[str, columns.WHAT]  # of what is new or gone the shape


class Found(Struct, frozen=True):
    """One change before folding; one side is None where an instruction is new or gone."""

    left: Instruction | None
    right: Instruction | None
    reasons: tuple[Reason, ...] = ()

    @property
    def shown(self) -> Instruction:
        """The instruction that the row describes: the new one, or the one that is gone."""
        found = self.right or self.left
        assert found is not None  # noqa: S101  one side is always there
        return found

    @property
    def change(self) -> Change:
        """What happened."""
        if self.left is None:
            return "added"
        return "removed" if self.right is None else "changed"


class Folder:
    """Makes rows of changes, weighing each by the bytes its results take in one run."""

    def __init__(self, left: Program, right: Program) -> None:
        self._sides = {side.module: side.executions for side in (left, right)}

    def rows(self, found: Iterable[Found], *, is_folded: bool) -> tuple[InstructionChange, ...]:
        """Fold what changed alike; what moves most bytes comes first, ties by name."""
        classes: dict[tuple[object, ...], list[Found]] = {}
        for one in found:
            key = self._alike(one) if is_folded else (one.shown,)
            classes.setdefault(key, []).append(one)
        weighed = []
        for members in classes.values():
            members.sort(key=lambda one: -self._weight([one]))
            row = _row(members, is_fused=not self._runs(members[0].shown))
            weighed.append((self._weight(members), row))
        weighed.sort(key=lambda one: (one[1].is_fused, -one[0], one[1].opcode, one[1].name))
        return tuple(row for _, row in weighed)

    def _alike(self, one: Found) -> tuple[object, ...]:
        """Return what folded changes have in common."""
        shape = "" if one.left and one.right else str(one.shown.shape)
        reasons = tuple((each.kind, each.pattern or str(each)) for each in one.reasons)
        return one.change, one.shown.opcode, reasons, shape, not self._runs(one.shown)

    def _runs(self, instruction: Instruction) -> int:
        """Count the runs of an instruction, 0 where it runs only as part of another."""
        computation = instruction.computation
        return self._sides[computation.module].lower_bound(computation)

    def _weight(self, members: Iterable[Found]) -> int:
        return sum(
            max(_size(one.left) or 0, _size(one.right) or 0) * max(1, self._runs(one.shown))
            for one in members
            if one.shown.opcode not in _WEIGHTLESS
        )


def _row(members: Sequence[Found], *, is_fused: bool) -> InstructionChange:
    first = members[0]
    left_bytes = _total([one.left for one in members])
    right_bytes = _total([one.right for one in members])
    left_shape = describe_shape(first.left.shape) if first.left else None
    right_shape = describe_shape(first.right.shape) if first.right else None
    details = tuple(map(str, first.reasons))
    op_name = first.shown.metadata().op_name
    place = first.shown.source_location()
    return InstructionChange(
        change=first.change,
        count=len(members),
        opcode=first.shown.opcode,
        reasons=tuple(reason.kind for reason in first.reasons),
        details=details,
        name=first.shown.full_name,
        computation=first.shown.computation.name,
        left_name=first.left.full_name if first.left else None,
        right_name=first.right.full_name if first.right else None,
        is_fused=is_fused,
        left_shape=left_shape,
        right_shape=right_shape,
        left_bytes=left_bytes,
        right_bytes=right_bytes,
        delta_bytes=_difference(first, left_bytes, right_bytes),
        op_name=op_name or None,
        scope=share_scope(_scope(one.shown) for one in members),
        source_file=place.file if place else None,
        source_line=place.line if place else None,
        what="; ".join(details) or right_shape or left_shape or "",
    )


def _scope(instruction: Instruction) -> str | None:
    op_name = instruction.metadata().op_name
    return find_scope(op_name) if op_name else None


def _size(instruction: Instruction | None) -> int | None:
    return instruction.shape.size_bytes if instruction else None


def _total(instructions: Sequence[Instruction | None]) -> int | None:
    """Add the results' bytes; None for the side that has none, or if one is unknown."""
    sizes = [_size(one) for one in instructions]
    return None if None in sizes else sum(size for size in sizes if size is not None)


def _difference(found: Found, left_bytes: int | None, right_bytes: int | None) -> int | None:
    """Subtract; a side that has no such instruction counts as 0, an unknown size as unknown."""
    left = 0 if found.left is None else left_bytes
    right = 0 if found.right is None else right_bytes
    return None if left is None or right is None else right - left
