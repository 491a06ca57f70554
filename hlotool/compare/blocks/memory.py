"""Which values hold memory at only one of the two peaks, or another amount at each?

Bytes are those that a value holds at its side's own peak (`occupied_bytes` of `buffers`), so
that the differences of all rows add up to the difference of the peaks.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Annotated, Final

from msgspec import Struct, field

from hlotool.analysis.memory.values.value_rows import BufferRow
from hlotool.compare.blocks import columns
from hlotool.compare.blocks.columns import Change
from hlotool.compare.blocks.memory_pairs import MemoryReason, ValuePair, pair_rows, stem
from hlotool.compare.blocks.shared_scope import share_scope
from hlotool.compare.match.matching import Pairs
from hlotool.fields import BYTES, WHOLE, column, figure
from hlotool.fields.paths import fold_numbers
from hlotool.ir.buffers import AllocationClass
from hlotool.ir.opcodes import OPCODES

_SHAPE: Final = "its shape"
_HELD: Final = "bytes held at the peak"


class MemoryChange(Struct, frozen=True):
    """Values that changed alike, `count` of them; names are those of the largest.

    `reason`: `new` and `gone` values have no partner in the other program; those `at the
    peak now` or `not at the peak now` have one that is not live at its peak.
    """

    change: Annotated[
        Change,
        figure(
            "added where only the right peak has it, removed where only the left one has, changed "
            "where both have"
        ),
    ]
    reason: Annotated[
        MemoryReason,
        column(
            "why: new and gone values have no partner; others are just not live at the other "
            "peak, or hold more or less"
        ),
    ]
    count: Annotated[int, columns.ALIKE]
    value: Annotated[str, column("the value that holds memory", wants=WHOLE)]
    class_: Annotated[AllocationClass, column("class of its allocation", give_way=5)] = field(
        name="class"
    )
    opcode: Annotated[str | None, figure("opcode of the defining instruction", words=OPCODES)]
    left_shape: Annotated[str | None, figure(_SHAPE + columns.LEFT)]
    right_shape: Annotated[str | None, figure(_SHAPE + columns.RIGHT)]
    shape: Annotated[str, column("its shape; both where they differ", give_way=4, is_shape=True)]
    left_bytes: Annotated[int, column(_HELD + columns.LEFT, BYTES, heading="old", give_way=2)]
    right_bytes: Annotated[int, column(_HELD + columns.RIGHT, BYTES, heading="new", give_way=1)]
    delta_bytes: Annotated[int, columns.DELTA_BYTES]
    op_name: Annotated[str | None, columns.OP_NAME]
    scope: Annotated[str | None, columns.SCOPE]
    source: Annotated[str | None, column("file and line, short", null_text="", give_way=3)]
    source_file: Annotated[str | None, columns.SOURCE_FILE]
    source_line: Annotated[int | None, columns.SOURCE_LINE]
    parameter_name: Annotated[str | None, figure("the program's name for the parameter")]

    @property
    def instruction(self) -> str:
        """The instruction that defines the value: its name without the place in a tuple."""
        return self.value.partition("{")[0]


def compare_memory(
    left: Sequence[BufferRow], right: Sequence[BufferRow], partners: Pairs
) -> tuple[MemoryChange, ...]:
    """Compare the values that are live at each peak; the largest differences come first.

    `partners` are those of the left module's instructions, none where a side has no module.
    """
    classes: dict[Hashable, list[ValuePair]] = {}
    for found in pair_rows(left, right, partners):
        if found.left_bytes != found.right_bytes:
            classes.setdefault(find_likeness(found), []).append(found)
    rows = [_row(members) for members in classes.values()]
    return tuple(sorted(rows, key=lambda row: (-abs(row.delta_bytes), row.value)))


def find_likeness(pair: ValuePair) -> Hashable:
    """Return what folded values have in common: siblings of several layers are alike."""
    return pair.reason, _alike(pair.left), _alike(pair.right)


def _alike(row: BufferRow | None) -> Hashable:
    if row is None:
        return None
    scope = fold_numbers(row.scope or "")
    return row.class_, row.opcode, row.shape, scope, row.source, stem(row.instruction)


def _row(members: Sequence[ValuePair]) -> MemoryChange:
    first = max(members, key=lambda one: abs(one.right_bytes - one.left_bytes))
    shown = first.shown
    left_bytes = sum(one.left_bytes for one in members)
    right_bytes = sum(one.right_bytes for one in members)
    left_shape = first.left.shape if first.left else None
    right_shape = first.right.shape if first.right else None
    change: Change = "changed"
    if first.left is None:
        change = "added"
    elif first.right is None:
        change = "removed"
    return MemoryChange(
        change=change,
        reason=first.reason,
        count=len(members),
        value=shown.value,
        class_=shown.class_,
        opcode=shown.opcode,
        left_shape=left_shape,
        right_shape=right_shape,
        shape=_both(left_shape, right_shape),
        left_bytes=left_bytes,
        right_bytes=right_bytes,
        delta_bytes=right_bytes - left_bytes,
        op_name=shown.op_name,
        scope=share_scope(one.shown.scope for one in members),
        source=shown.source,
        source_file=shown.source_file,
        source_line=shown.source_line,
        parameter_name=shown.parameter_name,
    )


def _both(left: str | None, right: str | None) -> str:
    """Write a shape once, both where they differ."""
    return f"{left} → {right}" if left and right and left != right else right or left or ""
