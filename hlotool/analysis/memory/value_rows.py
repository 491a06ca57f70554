"""Buffers: the values that hold memory at an instant, or all there are, as rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from hlotool.analysis.memory.figures import MemorySource
from hlotool.analysis.memory.holdings import find_holdings
from hlotool.analysis.memory.report import MemoryReport, padding_of, unpadded_bytes_of
from hlotool.analysis.memory.value_origin import FactBook
from hlotool.errors import UsageError
from hlotool.ir.buffers import Allocation, AllocationClass, BufferValue, LiveRange
from hlotool.ir.module import Module
from hlotool.ir.shape import ArrayShape


class BufferRow(Struct, frozen=True):
    """One value. `occupied_bytes` are its own at the instant shown, null for all values.

    `allocation` and `offset` are null in an estimate, `born`, `dies` and `span` where nothing
    says when values are live; `index` where the instruction is no tuple.
    """

    value: str
    instruction: str
    index: tuple[int, ...] | None
    opcode: str | None
    shape: str
    dtype: str | None
    size_bytes: int
    occupied_bytes: int | None
    unpadded_bytes: int | None
    padding_bytes: int | None
    count: int
    aliases: tuple[str, ...]
    allocation: int | None
    offset: int | None
    color: int
    class_: AllocationClass
    is_donated: bool
    born: int | None
    dies: int | None
    span: int | None
    use_count: int | None
    op_name: str | None
    scope: str | None
    source: str | None
    source_file: str | None
    source_line: int | None
    parameter: str | None
    parameter_name: str | None
    origin: str | None


class AllocationRow(Struct, frozen=True):
    """One allocation, with the most that was in use in it at once."""

    allocation: int
    size_bytes: int
    color: int
    class_: AllocationClass
    parameter: int | None
    parameter_name: str | None
    is_constant: bool
    is_live_out: bool
    is_thread_local: bool
    value_count: int
    peak_bytes: int | None
    fragmentation_bytes: int | None


class Sources(Struct, frozen=True):
    """Where sizes and lifetimes come from."""

    source: MemorySource
    lifetimes: Literal["live-range", "derived"] | None


class Headroom(Struct, frozen=True):
    """Space 0 against a limit; null in an estimate, which says nothing of allocations."""

    limit_bytes: int
    allocated_bytes: int | None
    headroom_bytes: int | None
    fits: bool | None


class Instant(Struct, frozen=True):
    """The position that the rows show, and what is in use there."""

    color: int | None
    position: int
    instruction: str | None
    bytes: int


def measure_headroom(report: MemoryReport, limit_bytes: int) -> Headroom:
    """Compare what space 0 reserves with a limit; the program's code is not in a dump."""
    allocated = report.figures.totals.allocated_bytes
    left = None if allocated is None else limit_bytes - allocated
    return Headroom(limit_bytes, allocated, left, None if left is None else left >= 0)


def find_position(report: MemoryReport, place: str, color: int) -> int | None:
    """Return the position that `place` names: a number, an instruction, or `peak`.

    None where the peak is asked for and nothing says when values are live. Raises UsageError
    for a position or a name that the schedule does not have.
    """
    lifetimes = report.map.lifetimes
    if place == "peak":
        return report.peak_of(color).position
    if lifetimes is None:
        raise UsageError(f"--at {place}: nothing says when values are live in this dump.")
    if place.isdecimal() and place.isascii():
        if len(place) > len(str(lifetimes.end)) or int(place) > lifetimes.end:
            raise UsageError(f"--at {place}: positions go from 0 to {lifetimes.end}.")
        return int(place)
    name = place.removeprefix("%")
    if name not in lifetimes.sequence:
        raise UsageError(f"--at {place}: {_no_such_instruction(name, lifetimes.sequence)}")
    return lifetimes.sequence.index(name)


def _no_such_instruction(name: str, sequence: Iterable[str]) -> str:
    from difflib import get_close_matches  # noqa: PLC0415  only this error needs it

    near = get_close_matches(name, list(sequence), n=3, cutoff=0.6)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    return (
        "no instruction of that name runs on its own; those inside fusions and reducers have "
        f"no position.{hint}"
    )


def instant_at(report: MemoryReport, position: int, color: int | None) -> Instant:
    """Return what is in use at a position, in one space or (None) in all."""
    lifetimes = report.map.lifetimes
    colors = report.map.colors() if color is None else (color,)
    curves = [report.map.curve(one) for one in colors]
    return Instant(
        color,
        position,
        lifetimes.instruction_at(position) if lifetimes else None,
        sum(curve.at(position) for curve in curves if curve),
    )


def rows_at(
    report: MemoryReport, module: Module | None, position: int, color: int | None
) -> list[BufferRow]:
    """Return the values that hold bytes at a position, the largest first.

    Values that share bytes are one row, that of the value born last; `occupied_bytes` of
    all rows add up to what is in use (docs/semantics.md). `color` None means all spaces.
    """
    book = FactBook(module, report.map.assignment)
    is_estimate = report.figures.source == "estimate"
    colors = report.map.colors() if color is None else (color,)
    holdings = [one for each in colors for one in find_holdings(report.map, position, each)]
    return [
        _row(
            book,
            one.allocation,
            one.value,
            LiveRange(one.born, one.dies),
            (one.occupied_bytes, tuple(alias.name for alias in one.aliases)),
            is_estimate=is_estimate,
        )
        for one in holdings
    ]


def all_rows(report: MemoryReport, module: Module | None, color: int | None) -> list[BufferRow]:
    """Return every value of a space or (None) of all, thread-local ones too, by number."""
    memory = report.map
    book = FactBook(module, memory.assignment)
    is_estimate = report.figures.source == "estimate"
    rows = [
        (
            value.number,
            _row(
                book,
                allocation,
                value,
                None if allocation.is_thread_local else memory.range_of(value),
                (None, ()),
                is_estimate=is_estimate,
            ),
        )
        for allocation in memory.assignment.allocations
        if color in {None, allocation.color}
        for value in allocation.values
    ]
    return [row for _, row in sorted(rows, key=lambda pair: pair[0])]


def _row(
    book: FactBook,
    allocation: Allocation,
    value: BufferValue,
    found: LiveRange | None,
    held: tuple[int | None, tuple[str, ...]],
    *,
    is_estimate: bool,
) -> BufferRow:
    facts = book.facts_of(value)
    parameter_name = book.parameter_name(allocation)
    shape = value.shape
    array = shape if isinstance(shape, ArrayShape) else None
    return BufferRow(
        value=value.name,
        instruction=value.instruction,
        index=value.index,
        opcode=facts.opcode,
        shape=str(shape),
        dtype=array.dtype if array else None,
        size_bytes=value.size_bytes,
        occupied_bytes=held[0],
        unpadded_bytes=unpadded_bytes_of(value),
        padding_bytes=padding_of(value),
        count=1,
        aliases=held[1],
        allocation=None if is_estimate else allocation.number,
        offset=None if is_estimate else value.offset,
        color=value.color,
        class_=allocation.allocation_class,
        is_donated=allocation.is_donated,
        born=found.start if found else None,
        dies=found.end if found else None,
        span=found.end - found.start + 1 if found else None,
        use_count=facts.use_count,
        op_name=facts.op_name,
        scope=facts.scope,
        source=_source(facts.source_file, facts.source_line),
        source_file=facts.source_file,
        source_line=facts.source_line,
        parameter=parameter_name or _text(allocation.parameter),
        parameter_name=parameter_name,
        origin=parameter_name or facts.scope or facts.moved_parameter,
    )


def _text(number: int | None) -> str | None:
    return None if number is None else str(number)


def _source(file: str | None, line: int | None) -> str | None:
    """Write `model.py:12`, without the directories."""
    if file is None:
        return None
    name = file.replace("\\", "/").rstrip("/").rpartition("/")[2]
    return f"{name}:{line}" if line else name


def allocation_rows(
    report: MemoryReport, module: Module | None, color: int | None
) -> list[AllocationRow]:
    """Return the allocations of a space or (None) of all, as XLA numbers them."""
    memory = report.map
    book = FactBook(module, memory.assignment)
    rows = []
    for one in memory.assignment.allocations:
        if color not in {None, one.color}:
            continue
        curve = memory.curve_of(one)
        peak = curve.peak()[0] if curve else None
        is_temp = one.allocation_class == "temp"
        rows.append(
            AllocationRow(
                one.number,
                one.size_bytes,
                one.color,
                one.allocation_class,
                one.parameter,
                book.parameter_name(one),
                one.is_constant,
                one.is_live_out,
                one.is_thread_local,
                len(one.values),
                peak,
                one.size_bytes - peak if is_temp and peak is not None else None,
            )
        )
    return rows
