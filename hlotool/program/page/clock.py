"""How much memory is in use, on the modelled clock? A counter beside the steps of an outline."""

from __future__ import annotations

from collections.abc import Sequence

from hlotool.analysis.outline.rows import OutlineRow
from hlotool.program.program import Program


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
