"""Who holds a memory space, moment by moment? What a picture of it over time is drawn from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from hlotool.analysis.memory.curve import Curve
from hlotool.analysis.memory.holdings import find_holdings
from hlotool.analysis.memory.report import MemoryReport
from hlotool.analysis.memory.values.value_rows import BufferRow, describe_values
from hlotool.ir.buffers import BufferValue
from hlotool.ir.module import Module

MOST_MOMENTS: Final = 120  # a screen has a thousand columns; one each would be a blur

_MOST_GROUPS: Final = 9  # colours that can be told apart; the rest is one group
_REST: Final = "the rest"


class Moment(Struct, frozen=True):
    """Who holds the space at a position: places in `Moments.values`, with bytes, largest first."""

    position: int
    instruction: str
    used_bytes: int
    holders: tuple[tuple[int, int], ...]


class Moments(Struct, frozen=True):
    """Moments in order, and every value that holds bytes in one of them."""

    values: tuple[BufferRow, ...]
    moments: tuple[Moment, ...]


def list_moments(
    report: MemoryReport, module: Module | None, space: int, most: int = MOST_MOMENTS
) -> Moments:
    """Return at most so many moments of a space; none where nothing says when values are live.

    The schedule is cut into equal stretches, and of each the position with most bytes in use is
    a moment, so that no peak is lost. `holders` of a moment add up to `used_bytes`.
    """
    curve = report.map.curve(space)
    lifetimes = report.map.lifetimes
    if curve is None or lifetimes is None:
        return Moments((), ())
    places: dict[BufferValue, int] = {}
    moments = []
    for position in choose_positions(curve, lifetimes.end, most):
        held = [one for one in find_holdings(report.map, position, space) if one.occupied_bytes]
        sequence = lifetimes.sequence
        moments.append(
            Moment(
                position,
                sequence[position] if position < len(sequence) else "",
                sum(one.occupied_bytes for one in held),
                tuple(
                    (places.setdefault(one.value, len(places)), one.occupied_bytes) for one in held
                ),
            )
        )
    return Moments(tuple(describe_values(report, module, places)), tuple(moments))


def stack_moments(
    found: Moments, group_of: Callable[[BufferRow], str], most: int = _MOST_GROUPS
) -> dict[str, tuple[int, ...]]:
    """Return bytes for each moment by group, the largest groups first, the others together."""
    groups = [group_of(row) for row in found.values]
    sums: dict[str, list[int]] = {}
    for place, moment in enumerate(found.moments):
        for value, size in moment.holders:
            levels = sums.setdefault(groups[value], [0] * len(found.moments))
            levels[place] += size
    ranked = sorted(sums, key=lambda name: max(sums[name]), reverse=True)
    stacks = {name: tuple(sums[name]) for name in ranked[:most]}
    rest = [sums[name] for name in ranked[most:]]
    if rest:
        stacks[_REST] = tuple(map(sum, zip(*rest, strict=True)))
    return stacks


def choose_positions(curve: Curve, end: int, most: int) -> tuple[int, ...]:
    """Return the highest position of each of at most so many stretches from 0 to `end`.

    >>> choose_positions(Curve((0, 3, 4), (5, 9, 1)), 9, 2)
    (3, 5)
    """
    count = min(most, end + 1)
    chosen = []
    for stretch in range(count):
        first = stretch * (end + 1) // count
        last = (stretch + 1) * (end + 1) // count - 1
        inside = [one for one in curve.positions if first <= one <= last]
        chosen.append(max((first, *inside), key=curve.at))
    return tuple(chosen)
