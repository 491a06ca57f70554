"""Which collective of one program is which of the other?

By the devices, never by the notation of their groups: `mesh['a'=4,'b'=2] {'a'}` and
`[2,4]<=[4,2]T(1,0)` are the same. What follows no strides is together.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from typing import Final, TypeAlias

from msgspec import Struct

from hlotool.analysis.collectives.rows import CollectiveRow


class RowPair(Struct, frozen=True):
    """A collective on the left, on the right, or the same on both."""

    left: CollectiveRow | None
    right: CollectiveRow | None

    @property
    def kinds(self) -> Hashable:
        """What it is on both sides; one without a partner is as if it had one like itself."""
        one, other = self.left or self.right, self.right or self.left
        return _devices(one), one and one.dtype, _devices(other), other and other.dtype


_Key: TypeAlias = Callable[[CollectiveRow], Hashable]


def _devices(row: CollectiveRow | None) -> Hashable:
    """Return kind and devices; only the data-centre network is told from others.

    Of other networks a side may not know its own, and of axes not the names.
    """
    return row and (row.kind, row.network == "dcn", row.strides, row.group_size)


# From strict to loose. What has another dtype or runs over other devices is at the same place.
_KEYS: Final[tuple[_Key, ...]] = (
    lambda row: (_devices(row), row.dtype, row.payload_bytes, row.executions, row.scope),
    lambda row: (_devices(row), row.dtype, row.payload_bytes),
    lambda row: (_devices(row), row.dtype, row.scope),
    lambda row: (_devices(row), row.dtype),
    lambda row: (_devices(row), row.executions, row.scope),
    lambda row: (_devices(row), row.executions),
)
_MOVED: Final[_Key] = lambda row: (  # noqa: E731  one of a kind with those above
    row.kind,
    row.network == "dcn",
    row.dtype,
    row.payload_bytes,
    row.executions,
    row.scope,
)


def pair_collectives(
    left: Sequence[CollectiveRow], right: Sequence[CollectiveRow]
) -> list[RowPair]:
    """Pair collectives of one kind: by devices and dtype, then dtype, then devices aside.

    Where equals are left, their order decides. Over other devices only what moves the same
    bytes as often for the same scope is a pair.
    """
    found: list[RowPair] = []
    here, there = list(left), list(right)
    for key in (*_KEYS, _MOVED):
        waiting: dict[Hashable, deque[CollectiveRow]] = {}
        for row in there:
            waiting.setdefault(key(row), deque()).append(row)
        alone = []
        for row in here:
            others = waiting.get(key(row))
            if others:
                found.append(RowPair(row, others.popleft()))
            else:
                alone.append(row)
        here = alone
        there = [row for others in waiting.values() for row in others]
    return [*found, *(RowPair(row, None) for row in here), *(RowPair(None, row) for row in there)]
