"""Memory over time by groups, and where every value lies: what two charts are drawn from.

Steps, fusions and their speed: what the clock and the roofline are drawn from.

The memory held at the peak, added up along paths: what a treemap is drawn from.

How much memory is in use, on the modelled clock? A counter beside the steps of an outline.

Which instructions run, and what gives to which? A graph, with scopes as the places of boxes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from hlotool.analysis.collectives.rows import CollectiveRow
from hlotool.analysis.memory.rows import BufferRow
from hlotool.analysis.memory.timeline import Moments, list_moments, stack_moments
from hlotool.analysis.origin import read_origin, write_short_source
from hlotool.analysis.outline.report import OutlineRow
from hlotool.program.program import Program
from hlotool.table.names import fold_numbers

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


_MOST_STEPS: Final = 3_000
_MOST_FUSIONS: Final = 3_000


class ChartStep(Struct, frozen=True):
    """One step of the outline; times are None without a chip."""

    step: str
    count: int
    kind: str
    depth: int
    parent: int | None
    share: float | None
    flops: int | None
    memory_bytes: int | None
    wire_bytes: int | None
    exposed_share: float | None
    scope: str
    first: str
    begins_seconds: float | None
    ends_seconds: float | None


class ChartFusion(Struct, frozen=True):
    """One row of fusions: where it stands under the roof."""

    name: str
    flops_per_byte: float
    flops: int
    memory_bytes: int
    scope: str


class Transfer(Struct, frozen=True):
    """One collective, by axis: what the bars of sent bytes are drawn from.

    `exposed_bytes` is None where nobody knows what of it work hides.
    """

    name: str
    kind: str
    axes: str
    wire_bytes: int
    exposed_bytes: int | None


class WorkChart(Struct, frozen=True):
    """What runs; `ridge` are the flops for each byte from which on the chip computes all the time.

    `chip` is the one that shares are priced at, `is_timed` whether the user named it.
    """

    steps: tuple[ChartStep, ...]
    fusions: tuple[ChartFusion, ...]
    transfers: tuple[Transfer, ...]
    chip: str
    is_timed: bool
    ridge: float


def chart_work(program: Program) -> WorkChart:
    """Return what is drawn of a program's work."""
    pricing = program.pricing
    chip = pricing.chip
    return WorkChart(
        tuple(
            ChartStep(
                row.step,
                row.count,
                row.kind,
                row.depth,
                row.parent,
                row.time_share,
                row.flops_per_run,
                row.memory_bytes_per_run,
                row.wire_bytes_per_run,
                row.exposed_share,
                row.scope or "",
                row.names[0] if row.names else "",
                row.begins_seconds,
                row.ends_seconds,
            )
            for row in program.outline()[:_MOST_STEPS]
        ),
        tuple(
            ChartFusion(
                row.name,
                row.flops_per_byte,
                row.known_flops_per_run,
                row.known_memory_bytes_per_run,
                row.scope or "",
            )
            for row in program.fusions.rows[:_MOST_FUSIONS]
            if row.flops_per_byte
        ),
        tuple(map(_describe_work, program.collectives.rows)),
        chip.name,
        pricing.is_timed,
        chip.flops_per_second / chip.hbm_bytes_per_second,
    )


def _describe_work(row: CollectiveRow) -> Transfer:
    return Transfer(
        row.name,
        row.kind,
        ", ".join(row.axes) if row.axes else "unknown",
        row.known_wire_bytes_per_run,
        None if row.exposed_share is None else row.known_exposed_wire_bytes_per_run,
    )


_MOST_BOXES: Final = 600


class Tree(Struct, frozen=True):
    """Boxes in boxes: of each its path, its label, the path of what holds it, and its bytes."""

    paths: tuple[str, ...]
    labels: tuple[str, ...]
    parents: tuple[str, ...]
    sizes: tuple[int, ...]


def grow_trees(rows: Iterable[BufferRow]) -> dict[str, Tree]:
    """Return the values at the peak by scope, by the tree of parameters, and by source line."""
    values = list(rows)
    return {name: _grow(values, path_of) for name, path_of in _TREES.items()}


def _by_scope_tree(row: BufferRow) -> tuple[str, ...]:
    return tuple((row.scope or row.parameter_tree or _NONE).split("/"))


def _by_parameter(row: BufferRow) -> tuple[str, ...]:
    if row.parameter_name is None:
        return (f"no parameter: {row.class_}",)
    tree = row.parameter_tree or row.parameter_name
    return (tree, row.parameter_name)


def _by_source(row: BufferRow) -> tuple[str, ...]:
    if row.source_file is None:
        return (_NONE,)
    file = write_short_source(row.source_file, None) or row.source_file
    return (file, f"{file}:{row.source_line}")


_TREES: Final[Mapping[str, Callable[[BufferRow], tuple[str, ...]]]] = {
    "scope": _by_scope_tree,
    "parameter": _by_parameter,
    "source": _by_source,
}


def _grow(rows: Iterable[BufferRow], path_of: Callable[[BufferRow], tuple[str, ...]]) -> Tree:
    """Add up bytes along paths; the smallest boxes are left to the boxes that hold them."""
    sizes: dict[tuple[str, ...], int] = {}
    for row in rows:
        path = (*path_of(row), row.value)
        for length in range(1, len(path) + 1):
            part = path[:length]
            sizes[part] = sizes.get(part, 0) + (row.occupied_bytes or 0)
    boxes = sorted((path for path in sizes if sizes[path]), key=lambda path: -sizes[path])
    kept = set(boxes[:_MOST_BOXES])
    shown = sorted(path for path in kept if all(path[:end] in kept for end in range(1, len(path))))
    return Tree(
        tuple("\x1f".join(path) for path in shown),
        tuple(path[-1] for path in shown),
        tuple("\x1f".join(path[:-1]) for path in shown),
        tuple(sizes[path] for path in shown),
    )


def list_levels(program: Program, rows: Sequence[OutlineRow]) -> tuple[tuple[float, int], ...]:
    """Return when which bytes of space 0 are in use, where each step begins; times rise.

    There are none where nothing says when values are live, or without a chip.
    """
    report = program.memory
    curve = report.map.curve(0) if report else None
    if report is None or curve is None or report.map.lifetimes is None:
        return ()
    places = {name: place for place, name in enumerate(report.map.lifetimes.sequence)}
    levels: dict[float, int] = {}
    for row in rows:
        known = [places[name] for name in row.names if name in places]
        if row.begins_seconds is not None and known:
            used = curve.at(known[0])
            levels[row.begins_seconds] = max(used, levels.get(row.begins_seconds, 0))
    return tuple(sorted(levels.items()))


class GraphBox(Struct, frozen=True):
    """One instruction of a computation that runs on its own."""

    name: str
    opcode: str
    shape: str
    scope: str
    source: str
    operands: tuple[str, ...]
    flops: int
    memory_bytes: int


def list_boxes(program: Program) -> Iterator[GraphBox]:
    """Yield the instructions of the computations that run, callers first.

    What has no scope stands in its computation. Costs are those of one execution.
    """
    for computation in program.executions.executed:
        for one in computation.instructions:
            origin = read_origin(one)
            cost = program.costs.of(one)
            yield GraphBox(
                one.full_name,
                one.opcode,
                str(one.shape),
                origin.scope or computation.name,
                write_short_source(origin.source_file, origin.source_line) or "",
                tuple(dict.fromkeys(each.full_name for each in one.operands)),
                cost.total_flops,
                cost.memory_bytes,
            )
