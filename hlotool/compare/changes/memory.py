"""Which values at two peaks are the same, and why are the others alone?

Which values hold memory at only one of the two peaks, or another amount at each?

Bytes are those that a value holds at its side's own peak (`occupied_bytes` of `buffers`), so
that the differences of all rows add up to the difference of the peaks.

Which memory spaces hold more or less?
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Hashable, Iterable, Sequence
from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Struct, field

from hlotool.analysis.graph.backend import SPACE_NAMES
from hlotool.analysis.memory.figures import MemoryFigures, SpaceRow
from hlotool.analysis.memory.memory_map import Holding
from hlotool.analysis.memory.rows import BufferRow
from hlotool.compare.changes import instructions as columns
from hlotool.compare.changes.instructions import LEFT, RIGHT, Change, share_scope
from hlotool.compare.match.matching import Pairs
from hlotool.hlo import ArrayShape, Instruction
from hlotool.hlo.buffers import AllocationClass, BufferValue, ValueKey
from hlotool.hlo.opcodes import OPCODES
from hlotool.table import BYTES, NUMBER, WHOLE, column, figure
from hlotool.table.names import fold_numbers

MemoryReason: TypeAlias = Literal["new", "gone", "at the peak now", "not at the peak now", "size"]
_Value: TypeAlias = BufferRow | BufferValue  # described or not: instruction and index

_NUMBER: Final = re.compile(r"(?:\.\d+|\.clone|\.remat\d*)+$")


class ValuePair(Struct, frozen=True):
    """A value at the left peak, at the right peak, or the same at both."""

    left: BufferRow | None
    right: BufferRow | None
    reason: MemoryReason

    @property
    def left_bytes(self) -> int:
        """What it holds at the left peak."""
        return _held(self.left)

    @property
    def right_bytes(self) -> int:
        """What it holds at the right peak."""
        return _held(self.right)

    @property
    def shown(self) -> BufferRow:
        """The new one, or the one that is gone."""
        found = self.right or self.left
        assert found is not None  # noqa: S101  one side is always there
        return found


def are_held_alike(left: Sequence[Holding], right: Sequence[Holding], partners: Pairs) -> bool:
    """Say whether each value at a peak has its partner at the other, that holds as many bytes.

    Then `pair_rows` finds nothing that differs, and no value needs to be described.
    """
    if [one.occupied_bytes for one in left] != [one.occupied_bytes for one in right]:
        return False
    names = _find_names(partners, [one.value for one in left], [one.value for one in right])
    if not all(names.has_same(one.value) for one in left):
        return False
    here = {_key(one.value, names.right_of(one.value)): one.occupied_bytes for one in left}
    there = {_key(one.value): one.occupied_bytes for one in right}
    return here == there and len(here) == len(left)


def pair_rows(
    left: Sequence[BufferRow], right: Sequence[BufferRow], partners: Pairs
) -> list[ValuePair]:
    """Pair by structure, then what is left by what it is, then say why the rest is alone.

    `partners` are those of the left module's instructions; without modules they are empty,
    and equal names are taken for partners. Values without a partner are paired by what they
    are: class, shape, opcode and origin.
    """
    names = _find_names(partners, left, right)
    there = {_key(row): row for row in right}
    found, here = [], []
    for row in left:
        other = there.pop(_key(row, names.right_of(row)), None) if names.has_same(row) else None
        if other is None:
            here.append(row)
        else:
            found.append(ValuePair(row, other, "size"))
    waiting: dict[Hashable, deque[BufferRow]] = {}
    for row in there.values():
        waiting.setdefault(_origin(row, names.known(row)), deque()).append(row)
    for row in here:
        others = waiting.get(_origin(row, names.right_of(row)))
        if others and not names.has_same(row):
            found.append(ValuePair(row, others.popleft(), "size"))
        else:
            still = names.has_same(row)
            found.append(ValuePair(row, None, "not at the peak now" if still else "gone"))
    for rows in waiting.values():
        for row in rows:
            was = names.had_same(row)
            found.append(ValuePair(None, row, "at the peak now" if was else "new"))
    return found


def _find_names(partners: Pairs, left: Sequence[_Value], right: Sequence[_Value]) -> _Names:
    return _Names(partners, left, right) if partners else _SameNames(left, right)


class _Names:
    """Which instructions are partners, by full name; and whether their values correspond.

    A tuple with another number of elements has its elements in other places, so they are
    not paired by index.
    """

    def __init__(self, partners: Pairs, left: Sequence[_Value], right: Sequence[_Value]) -> None:
        self._right: dict[str, str] = {}
        self._same: set[str] = set()
        self._had: set[str] = set()
        here, there = ({row.instruction for row in side} for side in (left, right))
        for one, other in partners.items():
            name, partner = one.full_name, other.full_name
            if name not in here and partner not in there:
                continue
            self._right[name] = partner
            if _indices(one) == _indices(other):
                self._same.add(name)
                self._had.add(partner)
        self._known = set(self._right.values())

    def right_of(self, row: _Value) -> str | None:
        """Return the name of a left row's partner."""
        return self._right.get(row.instruction)

    def known(self, row: _Value) -> str | None:
        """Return a right row's own name if it is somebody's partner."""
        return row.instruction if row.instruction in self._known else None

    def has_same(self, row: _Value) -> bool:
        """Say whether the same value of a left row exists on the right."""
        return row.instruction in self._same

    def had_same(self, row: _Value) -> bool:
        """Say whether the same value of a right row existed on the left."""
        return row.instruction in self._had


class _SameNames(_Names):
    """Without modules, instructions of one name are taken for partners."""

    def __init__(self, left: Sequence[_Value], right: Sequence[_Value]) -> None:
        super().__init__({}, left, right)
        shared = {row.instruction for row in left} & {row.instruction for row in right}
        self._right = {name: name for name in shared}
        self._same = self._had = self._known = shared


def _indices(instruction: Instruction) -> list[tuple[int, ...]]:
    if isinstance(instruction.shape, ArrayShape):
        return [()]
    return [index for index, _ in instruction.shape.leaves_with_index()]


def _key(row: _Value, name: str | None = None) -> ValueKey:
    return name or row.instruction, row.index or ()


def _held(row: BufferRow | None) -> int:
    return (row.occupied_bytes or 0) if row else 0


def _origin(row: BufferRow, partner: str | None) -> Hashable:
    """Return what identifies a value that its index does not."""
    name = row.parameter_name or row.scope or row.source_line or stem(row.instruction)
    return partner, row.class_, row.shape, row.opcode, name


def stem(name: str) -> str:
    """Return a name without what tells it from others like it: its number, its computation."""
    return _NUMBER.sub("", name.rpartition("/")[2])


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


_PEAK: Final = "the most in use at once"
_ALLOCATED: Final = "bytes reserved"


class SpaceChange(Struct, frozen=True):
    """A memory space whose figures differ; a side that does not use it has 0 of all.

    Null where nothing says when its values are live.
    """

    space: Annotated[int, column("number of the memory space", NUMBER)]
    name: Annotated[
        str | None, column("the backend's name for it", null_text="", words=SPACE_NAMES)
    ]
    left_peak_bytes: Annotated[
        int | None, column(_PEAK + LEFT, BYTES, heading="old peak", give_way=1)
    ]
    right_peak_bytes: Annotated[
        int | None, column(_PEAK + RIGHT, BYTES, heading="new peak", give_way=1)
    ]
    delta_peak_bytes: Annotated[
        int | None, column("right minus left", BYTES, heading="difference", is_signed=True)
    ]
    left_allocated_bytes: Annotated[
        int | None, column(_ALLOCATED + LEFT, BYTES, heading="old allocated", give_way=2)
    ]
    right_allocated_bytes: Annotated[
        int | None, column(_ALLOCATED + RIGHT, BYTES, heading="new allocated", give_way=2)
    ]
    delta_allocated_bytes: Annotated[
        int | None,
        column("right minus left", BYTES, heading="allocated difference", is_signed=True),
    ]


_TELLING: Final = 1000  # times as much hides a change from a sentence
_MOST: Final = 1_000_000  # and so does a peak so many times as high


_UNUSED: Final = SpaceRow(peak_bytes=0, allocated_bytes=0)


def compare_spaces(left: MemoryFigures, right: MemoryFigures) -> tuple[SpaceChange, ...]:
    """Keep the spaces in which bytes differ; the largest difference comes first."""
    changed = [row for row in list_spaces(left, right) if _weigh(row)]
    return tuple(sorted(changed, key=_weigh, reverse=True))


def list_spaces(left: MemoryFigures, right: MemoryFigures) -> tuple[SpaceChange, ...]:
    """Put peak and allocated bytes of each space side by side."""
    here, there = ({row.space: row for row in side.spaces} for side in (left, right))
    return tuple(
        _compare(space, here.get(space, _UNUSED), there.get(space, _UNUSED))
        for space in sorted({*here, *there})
    )


def pick_telling(
    spaces: Sequence[SpaceChange], peaks: Iterable[int | float | None]
) -> tuple[SpaceChange, ...]:
    """Keep the other spaces than 0 whose peak changed by what is worth a word beside all else.

    That is a thousandth of the largest change of any space, and a millionth of the highest of
    `peaks`, those of space 0, which has no row where nothing of it changed.
    """
    largest = max((abs(row.delta_peak_bytes or 0) for row in spaces), default=0)
    highest = max((peak for peak in peaks if peak), default=0)
    least = max(largest / _TELLING, highest / _MOST)
    return tuple(
        row
        for row in spaces
        if row.space and row.delta_peak_bytes and abs(row.delta_peak_bytes) >= least
    )


def _compare(space: int, left: SpaceRow, right: SpaceRow) -> SpaceChange:
    return SpaceChange(
        space,
        right.name or left.name,
        left.peak_bytes,
        right.peak_bytes,
        _subtract(right.peak_bytes, left.peak_bytes),
        left.allocated_bytes,
        right.allocated_bytes,
        _subtract(right.allocated_bytes, left.allocated_bytes),
    )


def _subtract(right: int | None, left: int | None) -> int | None:
    return None if left is None or right is None else right - left


def _weigh(row: SpaceChange) -> int:
    return max(abs(row.delta_peak_bytes or 0), abs(row.delta_allocated_bytes or 0))
