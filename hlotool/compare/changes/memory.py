"""The values that hold memory at only one of the two peaks, or another amount at each.

Values at two peaks are paired first, by the instructions that make them; what is left alone says
why. Bytes are those that a value holds at its side's own peak (`occupied_bytes` of `buffers`), so
that the differences of all rows add up to the difference of the peaks. Last the memory spaces,
with what each has in use at most and reserved.
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
from hlotool.compare.changes.instructions import Change, share_scope, sides, subtract
from hlotool.compare.match.matching import Pairs
from hlotool.hlo import ArrayShape, Instruction
from hlotool.hlo.buffers import AllocationClass, BufferValue
from hlotool.hlo.opcodes import OPCODES
from hlotool.table import BYTES, NUMBER, WHOLE, column, figure
from hlotool.table.sums import group_by
from hlotool.table.words import fold_numbers

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
        return (self.left.occupied_bytes or 0) if self.left else 0

    @property
    def right_bytes(self) -> int:
        """What it holds at the right peak."""
        return (self.right.occupied_bytes or 0) if self.right else 0

    @property
    def delta_bytes(self) -> int:
        """How much more it holds at the right peak."""
        return self.right_bytes - self.left_bytes

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
    names = _Names(partners, [one.value for one in left], [one.value for one in right])
    if not all(one.value.instruction in names.same for one in left):
        return False
    here = {names.key_on_right(one.value): one.occupied_bytes for one in left}
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
    names = _Names(partners, left, right)
    there = {_key(row): row for row in right}
    found, here = [], []
    for row in left:
        is_same = row.instruction in names.same
        other = there.pop(names.key_on_right(row), None) if is_same else None
        if other is None:
            here.append(row)
        else:
            found.append(ValuePair(row, other, "size"))
    waiting: dict[Hashable, deque[BufferRow]] = {}
    known = set(names.right.values())
    for row in there.values():
        partner = row.instruction if row.instruction in known else None
        waiting.setdefault(_origin(row, partner), deque()).append(row)
    for row in here:
        others = waiting.get(_origin(row, names.right.get(row.instruction)))
        # A value that exists on the other side is not taken for another one that looks like it.
        if row.instruction in names.same:
            found.append(ValuePair(row, None, "not at the peak now"))
        elif others:
            found.append(ValuePair(row, others.popleft(), "size"))
        else:
            found.append(ValuePair(row, None, "gone"))
    for row in (row for rows in waiting.values() for row in rows):
        was = row.instruction in names.had
        found.append(ValuePair(None, row, "at the peak now" if was else "new"))
    return found


class _Names:
    """Which instructions are partners, by full name; and whether their values correspond.

    A tuple with another number of elements has its elements in other places, so they are
    not paired by index. Without partners, instructions of one name are taken for them.
    """

    def __init__(self, partners: Pairs, left: Sequence[_Value], right: Sequence[_Value]) -> None:
        here, there = ({row.instruction for row in side} for side in (left, right))
        shared = set() if partners else here & there
        self.right = {name: name for name in shared}  # the partners' names, by the left ones
        self.same = set(shared)  # on the left, with values that exist on the right
        self.had = set(shared)  # on the right, with values that existed on the left
        for one, other in partners.items():
            name, partner = one.full_name, other.full_name
            if name in here or partner in there:
                self.right[name] = partner
                if _list_indices(one) == _list_indices(other):
                    self.same.add(name)
                    self.had.add(partner)

    def key_on_right(self, row: _Value) -> Hashable:
        """Return what a left row's value would be on the right."""
        return self.right.get(row.instruction) or row.instruction, row.index or ()


def _list_indices(instruction: Instruction) -> list[tuple[int, ...]]:
    if isinstance(instruction.shape, ArrayShape):
        return [()]
    return [index for index, _ in instruction.shape.leaves_with_index()]


def _key(row: _Value) -> Hashable:
    return row.instruction, row.index or ()


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
    value: Annotated[str, column("the value that holds memory", min_width=WHOLE)]
    class_: Annotated[AllocationClass, column("class of its allocation", hide_order=5)] = field(
        name="class"
    )
    opcode: Annotated[str | None, figure("opcode of the defining instruction", words=OPCODES)]
    left_shape: Annotated[str | None, figure(_SHAPE + columns.LEFT)]
    right_shape: Annotated[str | None, figure(_SHAPE + columns.RIGHT)]
    shape: Annotated[str, column("its shape; both where they differ", hide_order=4, is_shape=True)]
    left_bytes: Annotated[int, column(_HELD + columns.LEFT, BYTES, heading="old", hide_order=2)]
    right_bytes: Annotated[int, column(_HELD + columns.RIGHT, BYTES, heading="new", hide_order=1)]
    delta_bytes: Annotated[int, columns.DELTA_BYTES]
    op_name: Annotated[str | None, columns.OP_NAME]
    scope: Annotated[str | None, columns.SCOPE]
    source: Annotated[str | None, column("file and line, short", null_text="", hide_order=3)]
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
    changed = [one for one in pair_rows(left, right, partners) if one.delta_bytes]
    rows = [_row(members) for members in group_by(changed, find_likeness).values()]
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
    first = max(members, key=lambda one: abs(one.delta_bytes))
    shown = first.shown
    left_shape = first.left.shape if first.left else None
    right_shape = first.right.shape if first.right else None
    shapes = dict.fromkeys(filter(None, (left_shape, right_shape)))
    return MemoryChange(
        change=columns.name_change(first.left, first.right),
        reason=first.reason,
        count=len(members),
        value=shown.value,
        class_=shown.class_,
        opcode=shown.opcode,
        left_shape=left_shape,
        right_shape=right_shape,
        shape=" → ".join(shapes),
        left_bytes=sum(one.left_bytes for one in members),
        right_bytes=sum(one.right_bytes for one in members),
        delta_bytes=sum(one.delta_bytes for one in members),
        op_name=shown.op_name,
        scope=share_scope(one.shown.scope for one in members),
        source=shown.source,
        source_file=shown.source_file,
        source_line=shown.source_line,
        parameter_name=shown.parameter_name,
    )


_PEAKS: Final = sides(column, "the most in use at once", BYTES, "peak", hide_order=1)
_ALLOCATED: Final = sides(column, "bytes reserved", BYTES, "allocated", hide_order=2)


class SpaceChange(Struct, frozen=True):
    """A memory space whose figures differ; a side that does not use it has 0 of all.

    Null where nothing says when its values are live.
    """

    space: Annotated[int, column("number of the memory space", NUMBER)]
    name: Annotated[
        str | None, column("the backend's name for it", null_text="", words=SPACE_NAMES)
    ]
    left_peak_bytes: Annotated[int | None, _PEAKS[0]]
    right_peak_bytes: Annotated[int | None, _PEAKS[1]]
    delta_peak_bytes: Annotated[int | None, columns.DELTA_BYTES]
    left_allocated_bytes: Annotated[int | None, _ALLOCATED[0]]
    right_allocated_bytes: Annotated[int | None, _ALLOCATED[1]]
    delta_allocated_bytes: Annotated[
        int | None,
        column("right minus left", BYTES, heading="allocated difference", is_signed=True),
    ]

    @property
    def weight(self) -> int:
        """The larger of both differences, without sign."""
        return max(abs(self.delta_peak_bytes or 0), abs(self.delta_allocated_bytes or 0))


_TELLING: Final = 1000  # times as much hides a change from a sentence
_MOST: Final = 1_000_000  # and so does a peak so many times as high


_UNUSED: Final = SpaceRow(peak_bytes=0, allocated_bytes=0)


def compare_spaces(left: MemoryFigures, right: MemoryFigures) -> tuple[SpaceChange, ...]:
    """Keep the spaces in which bytes differ; the largest difference comes first."""
    changed = [row for row in list_spaces(left, right) if row.weight]
    return tuple(sorted(changed, key=lambda row: row.weight, reverse=True))


def list_spaces(left: MemoryFigures, right: MemoryFigures) -> tuple[SpaceChange, ...]:
    """Put peak and allocated bytes of each space side by side."""
    here, there = ({row.space: row for row in side.spaces} for side in (left, right))
    found = []
    for space in sorted({*here, *there}):
        old, new = here.get(space, _UNUSED), there.get(space, _UNUSED)
        peaks = old.peak_bytes, new.peak_bytes
        allocated = old.allocated_bytes, new.allocated_bytes
        found.append(
            SpaceChange(
                space,
                new.name or old.name,
                *peaks,
                subtract(peaks[1], peaks[0]),
                *allocated,
                subtract(allocated[1], allocated[0]),
            )
        )
    return tuple(found)


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
