"""The values that hold memory at only one of the two peaks, or another amount at each.

Values at two peaks are paired first, by the instructions that make them; what is left alone says
why. Bytes are those that a value holds at its side's own peak (`live_bytes` of `buffers`), so
that the differences of all rows add up to the difference of the peaks. Last the memory spaces,
with what each has in use at most and reserved.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Hashable, Iterable, Sequence
from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.analysis.graph.backend import SPACE_NAMES
from hlotool.analysis.memory.figures import MemoryFigures, SpaceRow
from hlotool.analysis.memory.rows import BufferRow
from hlotool.compare.changes import instructions as columns
from hlotool.compare.changes.instructions import Change, share_scope, sides, subtract
from hlotool.compare.match.matching import Pairs
from hlotool.hlo import ArrayShape, Instruction
from hlotool.hlo.buffers import AllocationType
from hlotool.hlo.opcodes import OPCODES
from hlotool.table import BYTES, Shown, column, figure
from hlotool.table.sums import group_by
from hlotool.table.words import fold_numbers

MemoryReason: TypeAlias = Literal["new", "gone", "at the peak now", "freed before peak", "size"]

_NUMBER: Final = re.compile(r"(?:\.\d+|\.clone|\.remat\d*)+$")


class ValuePair(Struct, frozen=True):
    """A value at the old peak, at the new peak, or the same at both."""

    old: BufferRow | None
    new: BufferRow | None
    reason: MemoryReason

    @property
    def delta_bytes(self) -> int:
        """How much more it holds at the new peak."""
        return _add_up([self.new]) - _add_up([self.old])

    @property
    def shown(self) -> BufferRow:
        """The new one, or the one that is gone."""
        found = self.new or self.old
        assert found is not None  # noqa: S101  one side is always there
        return found


def _add_up(rows: Iterable[BufferRow | None]) -> int:
    """Add up what values hold at their side's peak."""
    return sum(row.live_bytes or 0 for row in rows if row)


def pair_rows(
    old: Sequence[BufferRow], new: Sequence[BufferRow], counterparts: Pairs
) -> list[ValuePair]:
    """Pair by structure, then what is left by what it is, then say why the rest is alone.

    `counterparts` are those of the old module's instructions; without modules they are empty,
    and equal names are taken for counterparts. Values without a counterpart are paired by what they
    are: allocation type, shape, opcode and origin.
    """
    names = _Names(counterparts, old, new)
    there = {_key(row): row for row in new}
    found, here = [], []
    for row in old:
        is_same = row.instruction in names.same
        other = there.pop(names.key_on_new(row), None) if is_same else None
        if other is None:
            here.append(row)
        else:
            found.append(ValuePair(row, other, "size"))
    own = {name: name for name in names.new.values()}
    groups = group_by(there.values(), lambda row: _origin(row, own.get(row.instruction)))
    waiting = {key: deque(rows) for key, rows in groups.items()}
    for row in here:
        others = waiting.get(_origin(row, names.new.get(row.instruction)))
        # A value that exists on the other side is not taken for another one that looks like it.
        if row.instruction in names.same:
            found.append(ValuePair(row, None, "freed before peak"))
        elif others:
            found.append(ValuePair(row, others.popleft(), "size"))
        else:
            found.append(ValuePair(row, None, "gone"))
    for row in (row for rows in waiting.values() for row in rows):
        was = row.instruction in names.had
        found.append(ValuePair(None, row, "at the peak now" if was else "new"))
    return found


class _Names:
    """Which instructions are counterparts, by full name; and whether their values correspond.

    A tuple with another number of elements has its elements in other places, so they are
    not paired by index. Without counterparts, instructions of one name are taken for them.
    """

    def __init__(
        self, counterparts: Pairs, old: Sequence[BufferRow], new: Sequence[BufferRow]
    ) -> None:
        here, there = ({row.instruction for row in side} for side in (old, new))
        shared = set() if counterparts else here & there
        self.new = {name: name for name in shared}  # the counterparts' names, by the old ones
        self.same = set(shared)  # on the old side, with values that exist on the new side
        self.had = set(shared)  # on the new side, with values that existed on the old side
        for one, other in counterparts.items():
            name, counterpart = one.full_name, other.full_name
            if name in here or counterpart in there:
                self.new[name] = counterpart
                if _list_indices(one) == _list_indices(other):
                    self.same.add(name)
                    self.had.add(counterpart)

    def key_on_new(self, row: BufferRow) -> Hashable:
        """Return what an old row's value would be on the new side."""
        return self.new.get(row.instruction) or row.instruction, row.index or ()


def _list_indices(instruction: Instruction) -> list[tuple[int, ...]]:
    if isinstance(instruction.shape, ArrayShape):
        return [()]
    return [index for index, _ in instruction.shape.leaves_with_index()]


def _key(row: BufferRow) -> Hashable:
    return row.instruction, row.index or ()


def _origin(row: BufferRow, counterpart: str | None) -> Hashable:
    """Return what identifies a value that its index does not."""
    name = row.parameter_name or row.scope or row.source_line or stem(row.instruction)
    return counterpart, row.allocation_type, row.shape, row.opcode, name


def stem(name: str) -> str:
    """Return a name without what tells it from others like it: its number, its computation."""
    return _NUMBER.sub("", name.rpartition("/")[2])


_SHAPE: Final = "its shape"
_SHAPES: Final = "its shape, and the whole parameter's if it is a part; both sides' if they differ"
_HELD: Final = "bytes held at the peak"


def _show_value(row: MemoryChange) -> Shown:
    """Show a parameter by the name that the program has for it."""
    name = row.parameter_name if row.opcode == "parameter" else None
    return Shown(fold_numbers(name) if name and row.count > 1 else name or row.value)


class MemoryChange(Struct, frozen=True):
    """Values that changed alike, `count` of them; names are those of the largest.

    `reason`: `new` and `gone` values have no counterpart in the other program; those `at the
    peak now` or `freed before peak` have one that is not live at its peak.
    """

    change: Annotated[
        Change,
        figure(
            "added where only the new peak has it, removed where only the old one has, changed "
            "where both have"
        ),
    ]
    reason: Annotated[
        MemoryReason,
        column(
            "reason: new and gone values have no counterpart; others are not live at the "
            "other peak, or changed size"
        ),
    ]
    count: Annotated[int, columns.ALIKE]
    value: Annotated[str, column("the value that holds memory", shown=_show_value)]
    allocation_type: Annotated[AllocationType, column("type of its allocation")]
    opcode: Annotated[str | None, figure("opcode of the defining instruction", words=OPCODES)]
    old_shape: Annotated[str | None, figure(_SHAPE + columns.OLD)]
    new_shape: Annotated[str | None, figure(_SHAPE + columns.NEW)]
    shape: Annotated[str, column(_SHAPES, is_shape=True)]
    old_bytes: Annotated[int, column(_HELD + columns.OLD, heading="old")]
    new_bytes: Annotated[int, column(_HELD + columns.NEW, heading="new")]
    delta_bytes: Annotated[int, columns.DELTA_BYTES]
    op_name: Annotated[str | None, columns.OP_NAME]
    scope: Annotated[str | None, columns.SCOPE]
    source: Annotated[str | None, column("file and line, shortened", null_text="")]
    source_file: Annotated[str | None, columns.SOURCE_FILE]
    source_line: Annotated[int | None, columns.SOURCE_LINE]
    parameter_name: Annotated[str | None, figure("the program's name for the parameter")]

    @property
    def instruction(self) -> str:
        """The instruction that defines the value: its name without the place in a tuple."""
        return self.value.partition("{")[0]


def compare_memory(
    old: Sequence[BufferRow], new: Sequence[BufferRow], counterparts: Pairs
) -> tuple[MemoryChange, ...]:
    """Compare the values that are live at each peak; the largest differences come first.

    `counterparts` are those of the old module's instructions, none where a side has no module.
    """
    changed = [one for one in pair_rows(old, new, counterparts) if one.delta_bytes]
    rows = [_row(members) for members in group_by(changed, find_likeness).values()]
    return tuple(sorted(rows, key=lambda row: (-abs(row.delta_bytes), row.value)))


def find_likeness(pair: ValuePair) -> Hashable:
    """Return what folded values have in common: siblings of several layers are alike."""
    return pair.reason, _alike(pair.old), _alike(pair.new)


def _alike(row: BufferRow | None) -> Hashable:
    if row is None:
        return None
    names = fold_numbers(row.scope or ""), fold_numbers(row.parameter_name or "")
    return row.allocation_type, row.opcode, row.shape, *names, row.source, stem(row.instruction)


def _write_shape(row: BufferRow) -> str:
    """Write a shape; of a parameter's part, that of the whole behind it."""
    whole = row.global_shape
    return f"{row.shape} of {whole}" if whole and whole != row.shape else row.shape or ""


_OF_SHOWN: Final = (
    *("value", "allocation_type", "opcode", "op_name", "source", "source_file", "source_line"),
    "parameter_name",
)


def _row(members: Sequence[ValuePair]) -> MemoryChange:
    first = max(members, key=lambda one: abs(one.delta_bytes))
    shown = first.shown
    old_shape = first.old.shape if first.old else None
    new_shape = first.new.shape if first.new else None
    shapes = dict.fromkeys(_write_shape(row) for row in (first.old, first.new) if row)
    return MemoryChange(
        change=columns.name_change(first.old, first.new),
        reason=first.reason,
        count=len(members),
        **{name: getattr(shown, name) for name in _OF_SHOWN},
        old_shape=old_shape,
        new_shape=new_shape,
        shape=" → ".join(shapes),
        old_bytes=_add_up(one.old for one in members),
        new_bytes=_add_up(one.new for one in members),
        delta_bytes=sum(one.delta_bytes for one in members),
        scope=share_scope(one.shown.scope for one in members),
    )


_PEAKS: Final = sides(column, "most bytes in use at once", BYTES, "peak")
_ALLOCATED: Final = sides(column, "bytes reserved", BYTES, "allocated")


class SpaceChange(Struct, frozen=True):
    """A memory space whose figures differ; a side that does not use it has 0 of all.

    Null where nothing says when its values are live.
    """

    space: Annotated[int, column("number of the memory space")]
    name: Annotated[
        str | None, column("the backend's name for it", null_text="", words=SPACE_NAMES)
    ]
    old_peak_bytes: Annotated[int | None, _PEAKS[0]]
    new_peak_bytes: Annotated[int | None, _PEAKS[1]]
    delta_peak_bytes: Annotated[int | None, columns.DELTA_BYTES]
    old_allocated_bytes: Annotated[int | None, _ALLOCATED[0]]
    new_allocated_bytes: Annotated[int | None, _ALLOCATED[1]]
    delta_allocated_bytes: Annotated[
        int | None, column("new minus old", heading="allocated difference", is_signed=True)
    ]

    @property
    def weight(self) -> int:
        """The larger of both differences, without sign."""
        return max(abs(self.delta_peak_bytes or 0), abs(self.delta_allocated_bytes or 0))


_TELLING: Final = 1000  # times as much hides a change from a sentence
_MOST: Final = 1_000_000  # and so does a peak so many times as high


_UNUSED: Final = SpaceRow(peak_bytes=0, allocated_bytes=0)


def compare_spaces(old: MemoryFigures, new: MemoryFigures) -> tuple[SpaceChange, ...]:
    """Keep the spaces in which bytes differ; the largest difference comes first."""
    changed = [row for row in list_spaces(old, new) if row.weight]
    return tuple(sorted(changed, key=lambda row: row.weight, reverse=True))


def list_spaces(old: MemoryFigures, new: MemoryFigures) -> tuple[SpaceChange, ...]:
    """Put peak and allocated bytes of each space side by side."""
    here, there = ({row.space: row for row in side.spaces} for side in (old, new))
    found = []
    for space in sorted({*here, *there}):
        one, other = here.get(space, _UNUSED), there.get(space, _UNUSED)
        peaks, allocated = (
            (before, after, subtract(after, before))
            for before, after in (
                (one.peak_bytes, other.peak_bytes),
                (one.allocated_bytes, other.allocated_bytes),
            )
        )
        found.append(SpaceChange(space, other.name or one.name, *peaks, *allocated))
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
