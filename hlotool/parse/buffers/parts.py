"""Do the parts of a buffer assignment belong together? Each must know the values of the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NoReturn

from hlotool.errors import ParseError
from hlotool.ir.buffers import (
    Allocation,
    BufferValue,
    UsedValue,
    ValueKey,
)
from hlotool.source import Source


def map_values(source: Source, allocations: tuple[Allocation, ...]) -> dict[ValueKey, BufferValue]:
    """Return the values by instruction and index; raise where one, or a number, comes twice."""
    values = [value for allocation in allocations for value in allocation.values]
    by_key = {(value.instruction, value.index or ()): value for value in values}
    if len(by_key) < len(values) or len({value.number for value in values}) < len(values):
        _fail_at_second(source, values)
    return by_key


def _fail_at_second(source: Source, values: Sequence[BufferValue]) -> NoReturn:
    """Find the first value that has come before, and raise there."""
    seen: set[ValueKey | int] = set()
    for value in values:
        if value.key in seen or value.number in seen:
            break
        seen |= {value.key, value.number}
    raise ParseError(
        f"value {value.number}, {value.name!r}, stands in the dump twice",
        source,
        value.start + 1,
        value.start + 1 + len(f"value: <{value.number} {value.name}"),
        "two dumps may be mixed",
    )


def tell_mixed_up(source: Source, other: Source | None) -> str:
    """Say what is wrong where two parts do not belong together."""
    if other is None:
        return "the file is cut short, or made of two dumps"
    return f"{source.name} and {other.name} are not of one compilation, or one is cut short"


def check_total(
    source: Source,
    allocations: tuple[Allocation, ...],
    total: int,
    stated_in: Source,
    start: int,
) -> None:
    """Raise where the allocations do not add up to the total that stands behind an offset."""
    found = sum(one.size_bytes for one in allocations)
    if found != total:
        at = stated_in.text.index(str(total), start)
        hint = tell_mixed_up(source, None if stated_in is source else stated_in)
        message = f"the allocations hold {found} bytes, not {total}"
        raise ParseError(message, stated_in, at, at + len(str(total)), hint)


def check_used(
    source: Source,
    by_key: Mapping[ValueKey, BufferValue],
    used: Mapping[int, UsedValue],
    values: Source | None,
) -> None:
    """Raise at the first used value without an allocation, or the other way round."""
    known = {value.number: value for value in by_key.values()}
    hint = tell_mixed_up(source, values)
    for number, one in used.items():
        value = known.get(number)
        if value is None or one.name != value.name:
            message = f"used value {number}, {one.name!r}, is in no allocation"
            start = one.name_start
            raise ParseError(message, one.source, start, start + len(one.name), hint)
    for value in known.values():
        if value.number not in used:
            raise ParseError(
                f"value {value.number}, {value.name!r}, is not among the used values",
                source,
                value.start + 1,
                value.start + len(f" value: <{value.number} {value.name}"),
                hint,
            )


def check_ranges(source: Source, allocations: tuple[Allocation, ...], mixed_up: str) -> None:
    """Raise at the first value in memory of its own without a live range."""
    for value in _placed_values(allocations):
        if value.live is None:
            raise ParseError(
                f"value {value.number}, {value.name!r}, has no live range",
                source,
                value.start + 1,
                value.start + len(f" value: <{value.number} {value.name}"),
                mixed_up,
            )


def _placed_values(allocations: tuple[Allocation, ...]) -> Iterator[BufferValue]:
    """Yield the values for which XLA prints a range: not constants, not thread-local ones."""
    for allocation in allocations:
        if not allocation.is_constant and not allocation.is_thread_local:
            yield from allocation.values
