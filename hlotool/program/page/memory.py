"""Memory over time by groups, and where every value lies: what two charts are drawn from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct

from hlotool.analysis.memory.moments import Moments, list_moments, stack_moments
from hlotool.analysis.memory.values.value_rows import BufferRow
from hlotool.fields.paths import fold_numbers
from hlotool.program.program import Program

_MOST_HOLDERS: Final = 40  # listed for a moment
_MOST_RECTANGLES: Final = 4_000
_NONE: Final = "(unknown)"


class ChartValue(Struct, frozen=True):
    """One value, as a hover or a list tells of it."""

    name: str
    size_bytes: int
    shape: str
    instruction: str
    belongs_to: str
    source: str


class Rectangle(Struct, frozen=True):
    """The bytes of a value in its allocation over its life; `value` is its place in the list."""

    value: int
    allocation: int
    offset: int
    size_bytes: int
    born: int
    dies: int


class MemoryChart(Struct, frozen=True):
    """Space 0 over time. `stacks[grouping][group]` has bytes for each moment, as do `used_bytes`.

    `holders` are, for each moment, places in `values` with bytes, largest first;
    `group_of[grouping]` has the group of each value.
    """

    positions: tuple[int, ...]
    instructions: tuple[str, ...]
    used_bytes: tuple[int, ...]
    peak: int
    values: tuple[ChartValue, ...]
    holders: tuple[tuple[tuple[int, int], ...], ...]
    stacks: Mapping[str, Mapping[str, tuple[int, ...]]]
    rectangles: tuple[Rectangle, ...]
    allocations: tuple[tuple[int, int], ...]  # number and size of those with rectangles
    limit_bytes: int | None


def chart_memory(program: Program, limit_bytes: int | None) -> MemoryChart | None:
    """Return what is drawn of a program's memory; None where nothing tells of it over time."""
    report = program.memory
    if report is None:
        return None
    found = list_moments(report, program.module, 0)
    if not found.moments:
        return None
    used = tuple(one.used_bytes for one in found.moments)
    rectangles = _list_rectangles(found)
    shown = {one.allocation for one in rectangles}
    return MemoryChart(
        tuple(one.position for one in found.moments),
        tuple(one.instruction for one in found.moments),
        used,
        used.index(max(used)),
        tuple(map(_describe, found.values)),
        tuple(one.holders[:_MOST_HOLDERS] for one in found.moments),
        {name: stack_moments(found, group_of) for name, group_of in _GROUPINGS.items()},
        rectangles,
        tuple(
            (one.number, one.size_bytes)
            for one in report.map.assignment.allocations
            if one.number in shown
        ),
        limit_bytes,
    )


def _by_scope(row: BufferRow) -> str:
    return fold_numbers(row.parameter_tree or row.scope or _NONE)


def _by_class(row: BufferRow) -> str:
    return row.class_


def _by_dtype(row: BufferRow) -> str:
    return row.dtype or "tuple"


_GROUPINGS: Final[Mapping[str, Callable[[BufferRow], str]]] = {
    "class": _by_class,
    "scope": _by_scope,
    "dtype": _by_dtype,
}


def _list_rectangles(found: Moments) -> tuple[Rectangle, ...]:
    """Return where values lie; the largest, by bytes and life; none for an estimate."""
    rectangles = [
        Rectangle(place, row.allocation, row.offset, row.size_bytes, row.born, row.dies)
        for place, row in enumerate(found.values)
        if row.allocation is not None
        and row.offset is not None
        and row.born is not None
        and row.dies is not None
    ]
    rectangles.sort(key=lambda one: -one.size_bytes * (one.dies - one.born + 1))
    return tuple(rectangles[:_MOST_RECTANGLES])


def _describe(row: BufferRow) -> ChartValue:
    return ChartValue(
        row.value,
        row.size_bytes,
        row.shape,
        row.instruction,
        row.belongs_to or "",
        row.source or "",
    )
