"""Which values at two peaks are the same, and why are the others alone?"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Hashable, Sequence
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from hlotool.analysis.memory.holdings import Holding
from hlotool.analysis.memory.values.value_rows import BufferRow
from hlotool.compare.match.matching import Pairs
from hlotool.ir import ArrayShape, Instruction
from hlotool.ir.buffers import BufferValue, ValueKey

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
