"""What a buffer assignment says that does not go with the rest of it, or with its module.

`find_contradictions` reads everything that is told twice: sizes and shapes, allocations and their
values, live ranges and the sequence, XLA's list at its peak and what is live there, parameters,
outputs and constants by their marks and by the module, uses by their lines and by its operands. All
of it holds in every dump of the compilers known here, so what does not was damaged, or is of a
compiler that does otherwise: either way figures may be wrong, and the user is told.

Uses follow HloValue (xla/service/hlo_value.cc): an operand is one at each position of the value,
but a tuple hands its operands on, and a get-tuple-element or a copy all but the table. A root is a
use all the same of a value that it hands on.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from hlotool.analysis.memory.value_origins import UseCounter
from hlotool.hlo import ArrayShape, Instruction, Module, ShapeIndex, TupleShape, buffers
from hlotool.hlo.assignment_sections import ShapeIndices
from hlotool.hlo.shape import find_part

_PAGE: Final = re.compile(r"page \d+")  # TPU prints it; no figure depends on it
_LEAST_BYTES: Final = (1024, 4096)  # what TPU gives some scalars, which take less
_TABLE_BYTES: Final = 32  # to which TPU rounds up the table of a tuple
_POINTER_BYTES: Final = 8
ALIGNMENT_BYTES: Final = 4  # at least
_SPLIT: Final = "SC("  # a layout of which each core has a part
_POSITIONS: Final = re.compile(r"\n positions:\r?\n((?:  [^\n]*+\n)*+)")
_POSITION: Final = re.compile(r"  ([^\s,]++)(?: \{([0-9,]*+)\})?+\r?\n")


def find_contradictions(
    module: Module | None, assignment: buffers.BufferAssignment
) -> tuple[str, ...]:
    """Return a phrase for each kind of contradiction: the first of it, and how many there are.

    What the module says is left out where names tell no instructions apart, and where it is that of
    another compilation, which others refuse.
    """
    kinds = [
        _find_unknown_words(assignment),
        _find_sizes(assignment),
        _find_places(assignment),
        _find_ends(assignment),
        _find_missing_total(assignment),
    ]
    by_name = _name_instructions(module, assignment)
    if (live := assignment.live_ranges) is not None:
        kinds += [_find_ranges(assignment, live, by_name), _find_peak(assignment, live)]
    if module is not None and by_name:
        kinds += [
            _find_parameters(assignment, by_name),
            _find_constants(assignment, by_name),
            _find_uses(module, assignment, by_name),
        ]
    return describe_kinds(*kinds)


def describe_kinds(*kinds: Iterable[str]) -> tuple[str, ...]:
    """Return the first phrase of each kind that has any, and how many more there are."""
    return tuple(
        f"{phrases[0]} (and {len(phrases) - 1:,} more)" if phrases[1:] else phrases[0]
        for phrases in map(list, kinds)
        if phrases
    )


def _name_instructions(
    module: Module | None, assignment: buffers.BufferAssignment
) -> dict[str, Instruction]:
    """Return the instructions by name; none where names do not tell, or some are missing."""
    if module is None or module.repeated_names:
        return {}
    by_name = {one.name: one for one in module.instructions()}
    values = (value for one in assignment.allocations for value in one.values)
    return by_name if all(value.instruction in by_name for value in values) else {}


def _find_unknown_words(assignment: buffers.BufferAssignment) -> Iterator[str]:
    for one in assignment.allocations:
        for word in one.other:
            if not _PAGE.fullmatch(word):
                yield f"allocation {one.number} has the unknown mark {word!r}"


def _find_sizes(assignment: buffers.BufferAssignment) -> Iterator[str]:
    """Find values whose size is not that of their shape, as the allocator rounds it up."""
    for value in _list_values(assignment):
        shape, size = value.shape, value.size_bytes
        if isinstance(shape, TupleShape):
            wanted: int | None = _POINTER_BYTES * len(shape.elements)
            fits = size == wanted or (size and size % _TABLE_BYTES == 0)
        else:
            wanted = shape.size_bytes
            fits = wanted is None or size == wanted or _is_rounded(shape, size, wanted)
        if not fits:
            yield f"{_name(value)} takes {size:,} bytes, but {shape} {wanted:,}"


def _is_rounded(shape: ArrayShape, size: int, wanted: int) -> bool:
    """Whether TPU may give an array another size: the least there is, or a part of each core."""
    if (layout := shape.layout) is None or not layout.tiles:
        return wanted < size and size in _LEAST_BYTES
    return _SPLIT in layout.rest


def _find_places(assignment: buffers.BufferAssignment) -> Iterator[str]:
    """Find values that lie between two words of memory, or in another space than they say."""
    for allocation in assignment.allocations:
        for value in allocation.values:
            space = value.shape.memory_space
            if value.offset % ALIGNMENT_BYTES:
                yield f"{_name(value)} begins at byte {value.offset:,}"
            if value.color != allocation.color and value.number not in allocation.reusers:
                yield f"{_name(value)} has space {value.color}, but is stored in {allocation.color}"
            elif space not in {0, value.color}:
                yield f"{_name(value)} has space {value.color}, but its shape has {space}"


def _find_ends(assignment: buffers.BufferAssignment) -> Iterator[str]:
    """Find allocations that do not end where the last of their values does."""
    for one in assignment.allocations:
        end = max((value.offset + value.size_bytes for value in one.values), default=None)
        if end is not None and end != one.size_bytes:
            yield f"allocation {one.number} has {one.size_bytes:,} bytes, but values use {end:,}"


def _find_missing_total(assignment: buffers.BufferAssignment) -> Iterator[str]:
    if assignment.used is not None and assignment.reported_total_bytes is None:
        yield "the total before the used values is missing"


def _find_ranges(
    assignment: buffers.BufferAssignment, live: buffers.LiveRanges, by_name: dict[str, Instruction]
) -> Iterator[str]:
    """Find values that are not live from where their instruction runs; phi values may be.

    Parameters are live from the start. Without a module nothing tells which values are some.
    """
    positions = {name: number for number, name in enumerate(live.sequence)}
    unknown = next((name for name in live.sequence if by_name and name not in by_name), None)
    if unknown is not None:
        yield f"{unknown!r} is in the live ranges but not in the module"
    for value in _list_values(assignment):
        position = positions.get(value.instruction)
        if value.live is None:
            if position is not None:
                yield f"{_name(value)} has no live range"
            continue
        if position is None:
            yield f"{_name(value)} has a live range but no position in the sequence"
            continue
        starts = _list_starts(by_name.get(value.instruction), position)
        if value.live.start not in starts and not value.is_phi:
            yield f"{_name(value)} is live from {value.live.start} on but defined at {position}"


def _list_starts(made_by: Instruction | None, position: int) -> set[int]:
    """Return where a value may begin to live that is made at a position."""
    if made_by is None:
        return {0, position, position + 1}
    if made_by.opcode == "slice":  # some of TPU end one step later
        return {position, position + 1}
    is_given = made_by.opcode == "parameter" and made_by.computation.is_entry
    return {0} if is_given else {position}


def _find_peak(assignment: buffers.BufferAssignment, live: buffers.LiveRanges) -> Iterator[str]:
    """Find what XLA lists at its peak and is not live there."""
    if (at := live.peak_position) is None:
        return
    names = Counter(
        value.instruction
        for value in _list_values(assignment)
        if value.live and value.live.start <= at <= value.live.end
    )
    listed = Counter(one.instruction for one in live.peak_entries)
    for name in (listed - names) | (names - listed):
        yield f"{name!r} is listed {listed[name]} times at XLA's peak, but live there {names[name]}"
    size = sum(one.size_bytes for one in live.peak_entries)
    if live.peak_total_bytes not in {None, size}:
        yield f"XLA's list at its peak adds up to {size:,} bytes, not {live.peak_total_bytes:,}"


def _find_parameters(
    assignment: buffers.BufferAssignment, by_name: dict[str, Instruction]
) -> Iterator[str]:
    """Find allocations that say of a parameter what the entry does not, and those that do not."""
    for one in assignment.allocations:
        held = {
            (made_by.parameter_number, value.index or ())
            for value in one.values
            if (made_by := by_name[value.instruction]).opcode == "parameter"
            and made_by.computation.is_entry
        }
        said = set() if one.parameter is None else {(one.parameter, one.parameter_index)}
        for number, index in sorted(said - held):
            parameter = buffers.format_position(f"parameter {number}", index or None)
            yield f"allocation {one.number} claims {parameter} but has no such value"
        for number, index in sorted(held - said):
            parameter = buffers.format_position(f"parameter {number}", index or None)
            yield f"allocation {one.number} has {parameter} but does not claim it"


def _find_constants(
    assignment: buffers.BufferAssignment, by_name: dict[str, Instruction]
) -> Iterator[str]:
    for one in assignment.allocations:
        if one.is_thread_local or not one.values:
            continue
        holds = any(by_name[value.instruction].opcode == "constant" for value in one.values)
        if holds != one.is_constant:
            verb = "holds a" if holds else "holds no"
            yield f"allocation {one.number} {verb} constant, but is{' not' * holds} marked as one"


def _find_uses(
    module: Module, assignment: buffers.BufferAssignment, by_name: dict[str, Instruction]
) -> Iterator[str]:
    """Find used values whose positions or uses are not those of the module.

    The memory of what stands at the entry's root holds the result, and is marked so.
    """
    if assignment.used is None:
        return
    counter = UseCounter()
    indices = ShapeIndices()
    root = module.entry.root
    for allocation in assignment.allocations:
        is_result = False
        for value in allocation.values:
            used = assignment.used[value.number]
            positions: list[tuple[Instruction, ShapeIndex]] = []
            for name, index in _list_positions(used):
                found = by_name.get(name)
                if found is None or find_part(found.shape, indices[index]) is None:
                    yield f"{_name(value)} is at {name!r}, which the module lacks"
                    break
                positions.append((found, indices[index]))
                is_result |= found is root
            else:
                count = counter.of(positions)
                if not positions:
                    yield f"{_name(value)} has no position"
                elif count != used.use_count:
                    yield f"{_name(value)} has {used.use_count} uses, but {count} in the module"
        if is_result != allocation.is_live_out:
            yield _describe_result(allocation, is_result=is_result)


def _describe_result(allocation: buffers.Allocation, *, is_result: bool) -> str:
    verb, mark = ("holds", "not ") if is_result else ("holds no", "")
    return f"allocation {allocation.number} {verb} part of the result, but is {mark}marked so"


def _list_positions(used: buffers.UsedValue) -> list[tuple[str, str]]:
    """Return names and indices of the lines below `positions:`."""
    section = _POSITIONS.search(used.source.text, used.name_start, used.start)
    return _POSITION.findall(section[1]) if section else []


def _list_values(assignment: buffers.BufferAssignment) -> Iterator[buffers.BufferValue]:
    for allocation in assignment.allocations:
        yield from allocation.values


def _name(value: buffers.BufferValue) -> str:
    return f"value {value.number}, {value.name!r},"
