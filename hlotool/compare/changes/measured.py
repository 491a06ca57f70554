"""What two profiles say of the instructions of two programs: which one lost the time."""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Struct

from hlotool.analysis.measured import MeasuredInstruction
from hlotool.compare.changes.instructions import sides
from hlotool.compare.match.structure import Structure
from hlotool.hlo.opcodes import OPCODES
from hlotool.table import SECONDS, column

_TIMES: Final = sides(column, "measured time per step on one device", SECONDS, "", null_text="")


class MeasuredChange(Struct, frozen=True):
    """An instruction and its counterpart, or one without: null is the side that has none."""

    name: Annotated[str, column("the new name; the old one if removed", heading="instruction")]
    opcode: Annotated[str, column("the opcode, of the new side", words=OPCODES)]
    old_seconds: Annotated[float | None, _TIMES[0]]
    new_seconds: Annotated[float | None, _TIMES[1]]
    delta_seconds: Annotated[
        float,
        column("new minus old", SECONDS, heading="difference", is_signed=True, is_summed=True),
    ]
    source: Annotated[str | None, column("the source line, without directories")]


def compare_measured(structure: Structure) -> tuple[MeasuredChange, ...]:
    """Return the times of two profiles that differ, the largest difference first.

    () where a side has none, or nothing tells how many runs were measured.
    """
    old, new = (
        {row.name: row for row in one.measured_instructions if row.measured_seconds is not None}
        for one in structure.programs
    )
    if not old or not new:
        return ()
    names = {one.full_name: two.full_name for one, two in structure.counterparts().items()}
    both = [(row, new.pop(names.get(name, ""), None)) for name, row in old.items()]
    rows = [_compare(after or before, before, after) for before, after in both]
    rows += [_compare(row, None, row) for row in new.values()]
    changed = (row for row in rows if row.delta_seconds)
    return tuple(sorted(changed, key=lambda row: -abs(row.delta_seconds)))


def _compare(
    row: MeasuredInstruction, old: MeasuredInstruction | None, new: MeasuredInstruction | None
) -> MeasuredChange:
    before, after = (one.measured_seconds if one else None for one in (old, new))
    delta = (after or 0.0) - (before or 0.0)
    return MeasuredChange(row.name, row.opcode, before, after, delta, row.source)
