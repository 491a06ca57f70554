"""A way from one spec to another that gathers nothing whole.

XLA knows three steps that leave every device with no more than a part: to move the innermost axes
of one dimension behind those of another (all-to-all), to give up axes (all-gather), and to add them
(a cut, which sends nothing). From `P(('a', 'b', 'c'), None)` to `P(None, ('b', 'c', 'a'))`
go `P('a', ('b', 'c'))`, and then `a`. What counts are the bytes that a device sends on the way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from heapq import heappop, heappush
from math import prod
from typing import Final, TypeAlias

from hlotool.hlo.sharding import Names

Axes: TypeAlias = tuple[Names, ...]  # those of each dimension
_MOST_STEPS: Final = 3
_MOST_STATES: Final = 2000


def find_detour(
    begin: Axes, end: Axes, sizes: Mapping[str, int], dims: Sequence[int], element_bytes: int
) -> tuple[tuple[Axes, ...], int] | None:
    """Return the specs between two, and the bytes a device sends by them; None without a way.

    `sizes` are those of the axes, `dims` those of the whole array. At every spec each dimension
    is divided evenly. There is at least one spec between the two.
    """

    def measure(axes: Axes) -> int:
        return prod(
            size // prod(sizes[name] for name in names)
            for size, names in zip(dims, axes, strict=True)
        )

    if not (_is_even(begin, sizes, dims) and _is_even(end, sizes, dims)):
        return None
    pending: list[tuple[int, int, Axes, tuple[Axes, ...]]] = [(0, 0, begin, ())]
    known: set[tuple[int, Axes]] = set()
    while pending and len(known) < _MOST_STATES:
        sent, step, axes, way = heappop(pending)
        if axes == end and step > 1:
            return way[:-1], sent * element_bytes
        if step == _MOST_STEPS or (step, axes) in known:
            continue
        known.add((step, axes))
        for following, is_moved in _list_steps(axes, end):
            if (step == 0 and following == end) or not _is_even(following, sizes, dims):
                continue
            before, after = measure(axes), measure(following)
            if is_moved:  # all-to-all: all but the part that stays
                pairs = zip(axes, following, strict=True)
                gone = (name for old, new in pairs for name in old if name not in new)
                count = prod(sizes[name] for name in gone)
                cost = before * (count - 1) // count
            else:
                cost = max(after - before, 0)
            heappush(pending, (sent + cost, step + 1, following, (*way, following)))
    return None


def _list_steps(axes: Axes, end: Axes) -> Iterator[tuple[Axes, bool]]:
    """Yield the specs one step on, and whether the step is a move."""
    used = {name for names in axes for name in names}
    for at, names in enumerate(axes):
        for count in range(1, len(names) + 1):
            kept, taken = names[:-count], names[-count:]
            yield _replace(axes, {at: kept}), False
            for to, others in enumerate(axes):
                if to != at:
                    yield _replace(axes, {at: kept, to: others + taken}), True
    for at, names in enumerate(end):
        own = axes[at]
        missing = names[len(own) :]
        if names[: len(own)] == own and missing and not used & set(missing):
            yield _replace(axes, {at: names}), False


def _replace(axes: Axes, changed: Mapping[int, Names]) -> Axes:
    return tuple(changed.get(at, names) for at, names in enumerate(axes))


def _is_even(axes: Axes, sizes: Mapping[str, int], dims: Sequence[int]) -> bool:
    return all(
        size % prod(sizes[name] for name in names) == 0
        for size, names in zip(dims, axes, strict=True)
    )
