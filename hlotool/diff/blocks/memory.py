"""Which values hold memory at only one of the two peaks, or another amount at each?

Bytes are those that a value holds at its side's own peak (`occupied_bytes` of `buffers`), so
that the differences of all rows add up to the difference of the peaks.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Hashable, Sequence
from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Struct, field

from hlotool.analysis.memory.value_rows import BufferRow
from hlotool.diff.blocks.columns import (
    ALIKE,
    DELTA_BYTES,
    LEFT,
    OP_NAME,
    RIGHT,
    SCOPE,
    SOURCE_FILE,
    SOURCE_LINE,
    Change,
)
from hlotool.diff.match.matching import Pairs
from hlotool.fields import BYTES, column, figure
from hlotool.ir import ArrayShape, Instruction
from hlotool.ir.buffers import AllocationClass, ValueKey

MemoryReason: TypeAlias = Literal["new", "gone", "at the peak now", "not at the peak now", "size"]

_SHAPE: Final = "its shape"
_HELD: Final = "bytes held at the peak"
_NUMBER: Final = re.compile(r"(?:\.\d+|\.clone|\.remat\d*)+$")


class MemoryChange(Struct, frozen=True):
    """Values that changed alike, `count` of them; names are those of the largest.

    `reason`: `new` and `gone` values have no partner in the other program; those `at the
    peak now` or `not at the peak now` have one that is not live at its peak.
    """

    change: Annotated[Change, figure("what happened")]
    reason: Annotated[
        MemoryReason,
        column(
            "new and gone values have no partner; others are just not live at the other peak, "
            "or hold more or less",
            heading="change",
        ),
    ]
    count: Annotated[int, ALIKE]
    value: Annotated[str, column("the value that holds memory")]
    class_: Annotated[AllocationClass, column("class of its allocation")] = field(name="class")
    opcode: Annotated[str | None, figure("what defines it")]
    left_shape: Annotated[str | None, figure(_SHAPE + LEFT)]
    right_shape: Annotated[str | None, figure(_SHAPE + RIGHT)]
    shape: Annotated[str, column("its shape; both where they differ")]
    left_bytes: Annotated[int, column(_HELD + LEFT, BYTES, heading="old")]
    right_bytes: Annotated[int, column(_HELD + RIGHT, BYTES, heading="new")]
    delta_bytes: Annotated[int, DELTA_BYTES]
    op_name: Annotated[str | None, OP_NAME]
    scope: Annotated[str | None, SCOPE]
    source: Annotated[str | None, column("file and line, short", null_text="")]
    source_file: Annotated[str | None, SOURCE_FILE]
    source_line: Annotated[int | None, SOURCE_LINE]
    parameter_name: Annotated[str | None, figure("what the user calls the parameter")]


class _Pairing(Struct, frozen=True):
    """A value at the left peak, at the right peak, or the same at both."""

    left: BufferRow | None
    right: BufferRow | None
    reason: MemoryReason

    @property
    def left_bytes(self) -> int:
        return _held(self.left)

    @property
    def right_bytes(self) -> int:
        return _held(self.right)

    @property
    def shown(self) -> BufferRow:
        """The new one, or the one that is gone."""
        found = self.right or self.left
        assert found is not None  # noqa: S101  one side is always there
        return found


def compare_memory(
    left: Sequence[BufferRow], right: Sequence[BufferRow], partners: Pairs
) -> tuple[MemoryChange, ...]:
    """Compare the values that are live at each peak; the largest differences come first.

    `partners` are those of the left module's instructions; without modules they are empty,
    and equal names are taken for partners. Values without a partner are paired by what they
    are: class, shape, opcode and origin.
    """
    classes: dict[Hashable, list[_Pairing]] = {}
    for found in _pair_rows(left, right, partners):
        if found.left_bytes != found.right_bytes:
            key = found.reason, _alike(found.left), _alike(found.right)
            classes.setdefault(key, []).append(found)
    rows = [_row(members) for members in classes.values()]
    return tuple(sorted(rows, key=lambda row: (-abs(row.delta_bytes), row.value)))


def _pair_rows(
    left: Sequence[BufferRow], right: Sequence[BufferRow], partners: Pairs
) -> list[_Pairing]:
    """Pair by structure, then what is left by what it is, then say why the rest is alone."""
    names = _Names(partners) if partners else _SameNames(left, right)
    there = {_key(row): row for row in right}
    found, here = [], []
    for row in left:
        other = there.pop(_key(row, names.right_of(row)), None) if names.has_same(row) else None
        if other is None:
            here.append(row)
        else:
            found.append(_Pairing(row, other, "size"))
    waiting: dict[Hashable, deque[BufferRow]] = {}
    for row in there.values():
        waiting.setdefault(_origin(row, names.known(row)), deque()).append(row)
    for row in here:
        others = waiting.get(_origin(row, names.right_of(row)))
        if others and not names.has_same(row):
            found.append(_Pairing(row, others.popleft(), "size"))
        else:
            still = names.has_same(row)
            found.append(_Pairing(row, None, "not at the peak now" if still else "gone"))
    for rows in waiting.values():
        for row in rows:
            was = names.had_same(row)
            found.append(_Pairing(None, row, "at the peak now" if was else "new"))
    return found


class _Names:
    """Which instructions are partners, by name; and whether their values correspond.

    A tuple with another number of elements has its elements in other places, so they are
    not paired by index.
    """

    def __init__(self, partners: Pairs) -> None:
        self._right: dict[str, str] = {}
        self._same: set[str] = set()
        self._had: set[str] = set()
        for one, other in partners.items():
            if one.name not in self._right:
                self._right[one.name] = other.name
                if _indices(one) == _indices(other):
                    self._same.add(one.name)
                    self._had.add(other.name)
        self._known = set(self._right.values())

    def right_of(self, row: BufferRow) -> str | None:
        """Return the name of a left row's partner."""
        return self._right.get(row.instruction)

    def known(self, row: BufferRow) -> str | None:
        """Return a right row's own name if it is somebody's partner."""
        return row.instruction if row.instruction in self._known else None

    def has_same(self, row: BufferRow) -> bool:
        """Say whether the same value of a left row exists on the right."""
        return row.instruction in self._same

    def had_same(self, row: BufferRow) -> bool:
        """Say whether the same value of a right row existed on the left."""
        return row.instruction in self._had


class _SameNames(_Names):
    """Without modules, instructions of one name are taken for partners."""

    def __init__(self, left: Sequence[BufferRow], right: Sequence[BufferRow]) -> None:
        super().__init__({})
        shared = {row.instruction for row in left} & {row.instruction for row in right}
        self._right = {name: name for name in shared}
        self._same = self._had = self._known = shared


def _indices(instruction: Instruction) -> list[tuple[int, ...]]:
    if isinstance(instruction.shape, ArrayShape):
        return [()]
    return [index for index, _ in instruction.shape.leaves_with_index()]


def _key(row: BufferRow, name: str | None = None) -> ValueKey:
    return name or row.instruction, row.index or ()


def _held(row: BufferRow | None) -> int:
    return (row.occupied_bytes or 0) if row else 0


def _origin(row: BufferRow, partner: str | None) -> Hashable:
    """Return what identifies a value that its index does not."""
    name = row.parameter_name or row.scope or row.source_line or _stem(row.instruction)
    return partner, row.class_, row.shape, row.opcode, name


def _alike(row: BufferRow | None) -> Hashable:
    """Return what folded values have in common."""
    if row is None:
        return None
    return row.class_, row.opcode, row.shape, row.scope, row.source, _stem(row.instruction)


def _stem(name: str) -> str:
    return _NUMBER.sub("", name)


def _row(members: Sequence[_Pairing]) -> MemoryChange:
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
        scope=shown.scope,
        source=shown.source,
        source_file=shown.source_file,
        source_line=shown.source_line,
        parameter_name=shown.parameter_name,
    )


def _both(left: str | None, right: str | None) -> str:
    """Write a shape once, both where they differ."""
    return f"{left} → {right}" if left and right and left != right else right or left or ""
