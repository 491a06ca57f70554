"""All that the scripts of a page draw and tell: memory over time, trees of bytes, work, panels.

Everything here ends as JSON in the page, in the keys that `program.js`, `pair.js` and `common.js`
read; it is written as such, straight from the records of the analyses. Sizes are bytes, times
seconds; what nobody knows is null. A page must open at once, so every list has a limit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from hlotool.analysis.collectives.rows import CollectiveRow
from hlotool.analysis.memory.rows import BufferRow
from hlotool.analysis.memory.timeline import Moments, list_moments, stack_moments
from hlotool.analysis.origin import read_origin, write_short_source
from hlotool.analysis.outline.report import OutlineRow
from hlotool.analysis.show.report import ShowReport
from hlotool.compare.inputs import DiffSide, level_sides
from hlotool.compare.report import DiffReport
from hlotool.errors import UsageError
from hlotool.hlo.opcodes import CONTROL_FLOW
from hlotool.program.program import Program
from hlotool.table.words import fold_numbers

Json: TypeAlias = dict[str, object]

MOST_PANELS: Final = 600
_MOST_NEIGHBOURS: Final = 24
_MOST_VALUES: Final = 12
_MOST_HOLDERS: Final = 12  # listed for a moment
_MOST_RECTANGLES: Final = 4_000
_MOST_STEPS: Final = 3_000
_MOST_OPERATIONS: Final = 3_000
_MOST_BOXES: Final = 600
_NONE: Final = "(unknown)"
_SMALLER: Final = "(smaller ones)"


def make_page(program: Program, limit_bytes: int | None = None) -> Json:
    """Return what a page draws of a program; `limit_bytes` is the memory that it must fit.

    `memory` and `trees` are null where nothing tells of memory over time. Panels stand under what
    the program is called, which is nothing where there is only one.
    """
    found = _find_moments(program)
    steps = program.outline()[:_MOST_STEPS]
    return {
        "memory": _chart_memory(found, limit_bytes, program) if found else None,
        "trees": _grow_trees(program.peak_rows) if found else None,
        "work": _chart_work(program, steps),
        "panels": {"": _make_panels(_list_names(program, steps), program)},
    }


def _list_names(program: Program, steps: Sequence[OutlineRow]) -> Iterator[str]:
    """Name the instructions that tables and charts name, those that matter most first."""
    yield from (one.instruction for one in program.findings if one.instruction)
    yield from (row.instruction for row in program.peak_rows[:200])
    yield from (row.name for row in program.collectives.rows)
    yield from (row.name for row in program.fusions.rows)
    yield from map(_name_first, steps)
    yield from (row.instruction for row in program.peak_rows)


def make_pair_page(
    sides: tuple[DiffSide, DiffSide],
    report: DiffReport,
    labels: tuple[str, str],
    limit_bytes: int | None = None,
) -> Json:
    """Return what a page draws of two programs, old and new, by their labels.

    Memory is estimated on both sides if it is on one, and drawn without the addresses.
    """
    memories, panels = [], {}
    for place, (label, side) in enumerate(zip(labels, level_sides(sides), strict=True)):
        found = _find_moments(side.program) if side.program else None
        memories.append(_chart_memory(found, limit_bytes) if found else None)
        if side.program and side.module:
            names = (*_list_changed(report, place), *(_list_held(found) if found else ()))
            panels[label] = _make_panels(names, side.program)
    return {"labels": labels, "memories": memories, "panels": panels}


def _list_changed(report: DiffReport, place: int) -> Iterator[str]:
    """Name the instructions of a side that the tables name."""
    for row in report.memory:
        if place == (row.change != "removed"):
            yield row.instruction
    for fusion in report.fusions:
        yield from (fusion.old_names, fusion.new_names)[place][:1]
    for one in report.instructions:
        yield (one.old_name, one.new_name)[place] or ""


def _list_held(found: Moments) -> Iterator[str]:
    """Name who lives at the peak, then what runs at the moments."""
    peak = max(found.moments, key=lambda one: one.used_bytes)
    for index, _ in peak.holders[:_MOST_HOLDERS]:
        yield found.values[index].instruction
    yield from (one.instruction for one in found.moments)


def _find_moments(program: Program) -> Moments | None:
    """Return the moments of space 0 with what lives then; None where nothing tells."""
    found = list_moments(program.memory, program.module, 0) if program.memory else None
    return found if found and found.moments else None


def _chart_memory(found: Moments, limit_bytes: int | None, program: Program | None = None) -> Json:
    """Return space 0 over time, and of a program where every value lies.

    `stacks[grouping][group]` has bytes for each moment, as do `used_bytes`; `holders` are, for each
    moment, places in `values` with bytes, largest first.
    """
    used = [one.used_bytes for one in found.moments]
    rectangles = _list_rectangles(found) if program else []
    shown = {one["allocation"] for one in rectangles}
    allocations = program.memory.map.assignment.allocations if program and program.memory else ()
    return {
        "positions": [one.position for one in found.moments],
        "instructions": [one.instruction for one in found.moments],
        "used_bytes": used,
        "peak": used.index(max(used)),
        "values": [
            {
                "name": row.value,
                **_take(row, "size_bytes", "shape", "instruction"),
                "origin": row.origin or "",
                "source": row.source or "",
            }
            for row in found.values
        ],
        "holders": [one.holders[:_MOST_HOLDERS] for one in found.moments],
        "stacks": {name: stack_moments(found, group) for name, group in _GROUPINGS.items()},
        "rectangles": rectangles,
        "allocations": [(one.number, one.size_bytes) for one in allocations if one.number in shown],
        "limit_bytes": limit_bytes,
    }


_GROUPINGS: Final[Mapping[str, Callable[[BufferRow], str]]] = {
    "allocation_type": lambda row: row.allocation_type,
    "scope": lambda row: fold_numbers(row.parameter_tree or row.scope or _NONE),
    "dtype": lambda row: row.dtype or "tuple",
}


def _take(row: object, *names: str) -> Json:
    """Return figures under the names that the record has for them."""
    return {name: getattr(row, name) for name in names}


def _list_rectangles(found: Moments) -> list[Json]:
    """Return where values lie: the largest, by bytes and life; none for an estimate."""
    rectangles = []
    for place, row in enumerate(found.values):
        if (
            row.allocation is None
            or row.offset is None
            or row.live_from is None
            or row.live_until is None
        ):
            continue
        made: Json = {
            "value": place,
            **_take(row, "allocation", "offset", "size_bytes", "live_from", "live_until"),
        }
        rectangles.append((-row.size_bytes * (row.live_until - row.live_from + 1), made))
    rectangles.sort(key=lambda pair: pair[0])
    return [made for _, made in rectangles[:_MOST_RECTANGLES]]


def _grow_trees(rows: Sequence[BufferRow]) -> Json:
    """Return the values at the peak by scope, by the tree of parameters, and by source line."""
    return {name: _grow_tree(rows, path_of) for name, path_of in _TREES.items()}


def _name_parameter(row: BufferRow) -> tuple[str, ...]:
    if row.parameter_name is None:
        return (f"no parameter: {row.allocation_type}",)
    return (row.parameter_tree or row.parameter_name, row.parameter_name)


def _name_source(row: BufferRow) -> tuple[str, ...]:
    if row.source_file is None:
        return (_NONE,)
    file = write_short_source(row.source_file, None) or row.source_file
    return (file, f"{file}:{row.source_line}")


_TREES: Final[Mapping[str, Callable[[BufferRow], tuple[str, ...]]]] = {
    "scope": lambda row: tuple((row.scope or row.parameter_tree or _NONE).split("/")),
    "parameter": _name_parameter,
    "source": _name_source,
}


def _grow_tree(
    rows: Iterable[BufferRow],
    path_of: Callable[[BufferRow], tuple[str, ...]],
    most: int = _MOST_BOXES,
) -> dict[str, list[str] | list[int]]:
    """Return boxes in boxes: of each its path, label, the path of what holds it, and its bytes.

    Bytes are added up along paths; the smallest boxes of one are a single box.
    """
    sizes: dict[tuple[str, ...], int] = {}
    for row in rows:
        path = (*path_of(row), row.value)
        for length in range(1, len(path) + 1):
            part = path[:length]
            sizes[part] = sizes.get(part, 0) + (row.live_bytes or 0)
    # A box without the boxes around it cannot be drawn, so those must be among the largest, too.
    boxes = sorted((path for path in sizes if sizes[path]), key=lambda path: -sizes[path])
    kept = set(boxes[:most])
    shown = sorted(path for path in kept if all(path[:end] in kept for end in range(1, len(path))))
    left = Counter({path: sizes[path] for path in shown})
    for path in shown:
        left[path[:-1]] -= sizes[path]
    smaller = [(*path, _SMALLER) for path in {path[:-1] for path in shown} - {()} if left[path]]
    sizes.update((path, left[path[:-1]]) for path in smaller)
    shown += smaller
    return {
        "paths": ["\x1f".join(path) for path in shown],
        "labels": [path[-1] for path in shown],
        "parents": ["\x1f".join(path[:-1]) for path in shown],
        "sizes": [sizes[path] for path in shown],
    }


def _chart_work(program: Program, steps: Iterable[OutlineRow]) -> Json:
    """Return what runs: steps, operations under the roof, and what collectives send.

    `ridge` are the flops for each byte from which on the chip computes all the time, `chip` is the
    one that shares are priced at, `is_timed` whether the user named it; times are null otherwise.
    """
    pricing = program.pricing
    chip = pricing.chip
    return {
        "steps": [
            {
                **_take(row, "what", "count", "kind", "depth", "parent"),
                "share": row.time_share,
                "flops": row.flops_per_step,
                "traffic_bytes": row.traffic_bytes_per_step,
                "sent_bytes": row.sent_bytes_per_step,
                "scope": row.scope or "",
                "first": _name_first(row),
                "is_repeated": row.executions is not None,
                **_take(row, "exposed_share", "is_flops_lower_bound"),
                **_take(row, "is_traffic_lower_bound", "is_upper_bound"),
                "spans": row.own.spans,
            }
            for row in steps
        ],
        "operations": _list_operations(program),
        "transfers": list(map(_describe_transfer, program.collectives.rows)),
        "chip": chip.name,
        "is_timed": pricing.is_timed,
        "is_rated": pricing.is_rated,
        "ridge": chip.flops_per_second / chip.hbm_bytes_per_second,
    }


def _list_operations(program: Program) -> list[Json]:
    """Return what computes and moves bytes, fused or not, library calls too; most bytes first."""
    found: list[Json] = []
    for computation in program.executions.executed:
        runs = program.executions.lower_bound(computation)
        for one in computation.instructions:
            cost = None if one.opcode in CONTROL_FLOW else program.costs.of(one)
            if cost and cost.total_flops and cost.traffic_bytes:
                found.append(
                    {
                        "name": one.full_name,
                        "arithmetic_intensity": cost.total_flops / cost.traffic_bytes,
                        "flops": cost.total_flops * runs,
                        "traffic_bytes": cost.traffic_bytes * runs,
                        "scope": read_origin(one).scope or "",
                    }
                )
    found.sort(key=lambda each: -int(str(each["traffic_bytes"])))
    return found[:_MOST_OPERATIONS]


def _name_first(row: OutlineRow) -> str:
    return row.names[0] if row.names else ""


def _describe_transfer(row: CollectiveRow) -> Json:
    """Describe a collective by axis; null is what nobody knows to be hidden by work."""
    is_known = row.exposed_share is not None
    return {
        "name": row.name,
        "kind": row.kind,
        "axes": ", ".join(row.axes) if row.axes else "unknown",
        "sent_bytes": row.known_sent_bytes_per_step,
        "exposed_bytes": row.known_exposed_bytes_per_step if is_known else None,
    }


def _make_panels(names: Iterable[str], program: Program) -> dict[str, Json]:
    """Return the panels of the first so many different names that are instructions.

    A panel is what a click on a name tells: the answer of `hlotool show`, short.
    """
    panels: dict[str, Json] = {}
    # Each panel asks for an answer of `show`: the names that matter most come first.
    for name in dict.fromkeys(names):
        if len(panels) >= MOST_PANELS:
            break
        try:
            found = program.show((name,))
        except UsageError:  # a name of the assignment that the text does not have
            continue
        if len(found.subjects) == 1 and found.subjects[0].name == name:
            panels[name] = _make_panel(found)
    return panels


def _make_panel(found: ShowReport) -> Json:
    subject = found.subjects[0]
    operands, users = (
        [row.name for row in found.neighbours if row.relation == relation][:_MOST_NEIGHBOURS]
        for relation in ("operand", "user")
    )
    return {
        "definition": subject.definition,
        "way": subject.call_path,
        "scope": subject.scope or "",
        "source": write_short_source(subject.source_file, subject.source_line) or "",
        "callers": subject.callers,
        "executions": subject.executions,
        "flops": subject.flops_per_step,
        "traffic_bytes": subject.traffic_bytes_per_step,
        **_take(subject, "is_flops_lower_bound", "is_traffic_lower_bound", "is_upper_bound"),
        "size_bytes": subject.size_bytes,
        "operands": operands,
        "users": users,
        "values": [
            {"name": one.value, **_take(one, "size_bytes", "live_from", "live_until", "peak_bytes")}
            for one in found.memory[:_MOST_VALUES]
        ],
    }


def list_levels(program: Program) -> tuple[tuple[float, int], ...]:
    """Return from when on which bytes of space 0 are in use, the most of each instant; times rise.

    There are none where nothing says when values are live, or without a chip.
    """
    report = program.memory
    curve = report.map.curve(0) if report else None
    if report is None or curve is None or report.map.live_ranges is None:
        return ()
    begins = program.list_begins() if program.pricing.is_timed else {}
    levels: dict[float, int] = {}
    now = 0.0
    for place, name in enumerate(report.map.live_ranges.sequence):
        # The schedule has a loop behind what it runs, and a condition has no time of its own.
        now = max(now, begins.get(name, 0.0))
        levels[now] = max(levels.get(now, 0), curve.at(place))
    return tuple(levels.items())
