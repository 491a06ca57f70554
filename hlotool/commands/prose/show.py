"""The lines above the tables of `hlotool show`, where one thing was named."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hlotool.analysis.origin.origin import write_short_source
from hlotool.analysis.show.answer import SUBJECT
from hlotool.analysis.show.subjects import SubjectRow
from hlotool.fields import Line

_MOST_FRAMES: Final = 6  # of a stack; JSON has them all
_LONGEST: Final = 240  # of a definition: operands, or a literal; JSON has all
_LONGEST_SHAPE: Final = 100  # of a tuple; JSON has all
_MOST_STEPS: Final = 7  # of a way from the entry
_LEAST_SHARE: Final = 0.0005  # that is not shown as 0.0 %


def describe_one(row: SubjectRow) -> Iterator[Line]:
    """Say what something is, where it runs, where it comes from and what it costs."""
    first, *attributes = row.definition
    first = first.replace(row.shape, _shorten(row.shape), 1)
    yield Line(first if len(first) <= _LONGEST else f"{first[: _LONGEST - 1]}…")
    yield from (Line(f"    {each}", is_cuttable=True) for each in attributes)
    yield Line(_write_way(row))
    yield from _write_origin(row)
    yield _write_cost(row)
    yield from _write_time(row)


def _write_time(row: SubjectRow) -> Iterator[Line]:
    """Return what a profile says of it; nothing where it did not run there."""
    if row.measured_count is not None:
        seconds = "{measured_seconds} in one run, " if row.measured_seconds is not None else ""
        yield Line(f"measured: {seconds}{{measured_count:event}} in all", SUBJECT, row)


def _shorten(shape: str) -> str:
    """Name the first parts of a long tuple, and how many more there are."""
    if len(shape) <= _LONGEST_SHAPE:
        return shape
    head, comma, _ = shape[:_LONGEST_SHAPE].rpartition(", ")
    more = shape.count(", ", len(head))
    return f"{head}, … and {more:,} more)" if comma else shape


def _write_way(row: SubjectRow) -> str:
    steps = row.call_path
    if len(steps) > _MOST_STEPS:
        half = _MOST_STEPS // 2
        steps = (*steps[:half], "…", *steps[-half:])
    more = f", and {row.caller_count - 1:,} more calls" if row.caller_count > 1 else ""
    return f"in {' > '.join(steps)}{more}"


def _write_origin(row: SubjectRow) -> Iterator[Line]:
    place = write_short_source(row.source_file, row.source_line)
    said = [each for each in (row.scope or row.op_name, place) if each]
    if said:
        yield Line(f"from {', '.join(said)}")
    frames = tuple(dict.fromkeys(row.stack or ()))[1:_MOST_FRAMES]
    yield from (Line(f"    called from {each}") for each in frames)


def _write_cost(row: SubjectRow) -> Line:
    """Return runs, flops and traffic, with shares where there is something to have a share of."""
    flops = "{flops_per_run} flops"
    if row.flops_share and row.flops_share >= _LEAST_SHARE:
        flops += " ({flops_share} of all)"
    traffic = "{memory_bytes_per_run} of memory traffic"
    if row.memory_share and row.memory_share >= _LEAST_SHARE:
        traffic += " ({memory_share} of all)"
    inside = ", {instruction_count} instructions inside" if row.instruction_count else ""
    times = {0: "never", 1: "once"}.get(row.known_executions, "{executions} times")
    most = "at most " if row.is_conditional and row.known_executions else ""
    whole = ", with its other parts" if row.name.endswith("}") else ""
    return Line(
        f"runs {most}{times} in one run{whole}: {flops} and {traffic}; "
        f"result {{size_bytes}}{inside}",
        SUBJECT,
        row,
    )
