"""Which instant does the user mean, and how much is in use there?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from msgspec import Struct

from hlotool.analysis.memory.report import MemoryReport
from hlotool.errors import UsageError
from hlotool.fields import BYTES, NUMBER, figure


class Instant(Struct, frozen=True):
    """The position that the rows show, and what is in use there."""

    space: Annotated[int | None, figure("number of the memory space; null for all", NUMBER)]
    position: Annotated[int, figure("position in the schedule", NUMBER)]
    instruction: Annotated[str | None, figure("the instruction that runs there")]
    bytes: Annotated[int, figure("bytes in use; of all spaces together where space is null", BYTES)]


def find_position(report: MemoryReport, place: str, color: int) -> int | None:
    """Return the position that `place` names: a number, an instruction, or `peak`.

    None where the peak is asked for and nothing says when values are live. Raises UsageError
    for a position or a name that the schedule does not have.
    """
    lifetimes = report.map.lifetimes
    if place == "peak":
        return report.peak_of(color).position
    if lifetimes is None:
        raise UsageError(f"--at {place}: the lifetimes of values are unknown in this dump.")
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
        "no instruction of that name runs on its own; instructions inside fusions and reducers "
        f"have no position.{hint}"
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
