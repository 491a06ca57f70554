"""Are there more collectives or fewer, over other axes, are parameters cut otherwise?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hlotool.compare.blocks.collectives import CollectiveChange
from hlotool.compare.causes.cause import Cause
from hlotool.compare.causes.evidence import Evidence
from hlotool.compare.causes.names import list_names
from hlotool.ir import Module

_AXES: Final = "axes "


def find_communication(evidence: Evidence) -> Iterator[Cause]:
    """Yield the changes of axes, and of each kind the change of the number that weighs most.

    A number is no reason for bytes that changed the other way, nor where as many run: a loop over
    layers has one for all of them.
    """
    told: set[str] = set()
    for row in evidence.collectives:  # the largest difference comes first
        axes = next((each for each in row.details if each.startswith(_AXES)), None)
        if axes is not None:
            left, _, right = axes.removeprefix(_AXES).partition(" → ")
            yield _describe(row, left, right)
        elif _points_to_bytes(row) and row.kind not in told:
            told.add(row.kind)
            yield _describe(row)


def _points_to_bytes(row: CollectiveChange) -> bool:
    """Say whether there are more and more is sent, or fewer and less; or the same, if it is."""
    more = row.right_count - row.left_count
    is_opposed = row.delta_bytes * more < 0
    return bool(more) and row.left_executions != row.right_executions and not is_opposed


def _describe(row: CollectiveChange, left: str | None = None, right: str | None = None) -> Cause:
    return Cause(
        kind="axes" if left else "collectives",
        count=row.count if left else abs(row.right_count - row.left_count),
        subject=row.kind if left else name_collectives(row),
        scope=row.scope,
        left=left or str(row.left_count),
        right=right or str(row.right_count),
        measure="wire",
        delta_bytes=row.delta_bytes,
        delta_wire_bytes=row.delta_bytes,
    )


def name_collectives(row: CollectiveChange) -> str:
    """Write `all-gather over fsdp`."""
    return f"{row.kind} over {', '.join(row.axes)}" if row.axes else row.kind


def find_sharding(evidence: Evidence) -> Iterator[Cause]:
    """Yield one cause for the parameters of one name that are cut otherwise on the right.

    Read off `sharding`, as printed. `left` and `right` are those of the first.
    """
    here, there = (_list_shardings(module) for module in evidence.modules)
    changed = [name for name in here if name in there and here[name] != there[name]]
    if changed:
        first = changed[0]
        yield Cause(
            kind="sharding",
            count=len(changed),
            subject=list_names(changed, 1),
            left=here[first],
            right=there[first],
        )


def _list_shardings(module: Module) -> dict[str, str]:
    """Return the sharding of each named entry parameter that has one."""
    return {
        one.metadata().op_name: one.attributes["sharding"]
        for one in module.entry.parameters
        if "sharding" in one.attributes and one.metadata().op_name
    }
