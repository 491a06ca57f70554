"""What parameters hold of a device's memory: how they are sharded, and how much is replicated.

A value is a parameter's if that instruction makes it: what else lies in the memory of a donated
parameter may be another array. Values that the program makes are not here: how these are sharded,
no text says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Final

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.memory.memory_map import Holding
from hlotool.analysis.memory.rows import BufferRow
from hlotool.analysis.shardings.report import ArrayRow, ReplicatedOver
from hlotool.hlo import Module
from hlotool.table import RowList, column
from hlotool.table.sums import group_by


class ReplicatedRow(Struct, frozen=True):
    """Parameters that other devices hold too, over the same mesh axes; bytes at the peak."""

    replicated_over: ReplicatedOver
    copies: Annotated[int | None, column("devices that hold the same part", is_summed=False)]
    parameter_count: Annotated[int, column("arrays")]
    peak_bytes: Annotated[int, column("their bytes at the peak")]


def place_parameters(
    values: Sequence[BufferRow], module: Module, parameters: Sequence[ArrayRow]
) -> tuple[BufferRow, ...]:
    """Return values that hold memory; of parameters among them, with how they are sharded."""
    placed = _index(module, parameters)
    found = []
    for value in values:
        one = placed.get((value.instruction, value.index or ()))
        if one is None or value.parameter is None or value.shape != one.local_shape:
            found.append(value)
            continue
        known = (one.global_shape, one.spec, one.spec_text, one.copies)
        names = ("global_shape", "spec", "spec_text", "copies")
        found.append(replace(value, **dict(zip(names, known, strict=True))))
    return tuple(found)


def measure_replicated(
    peak: Sequence[Holding], module: Module, parameters: Sequence[ArrayRow]
) -> tuple[ReplicatedRow, ...]:
    """Add up what parameters hold at a peak that other devices hold too, the most first."""
    placed = _index(module, parameters)
    held = [
        (one, holding.live_bytes)
        for holding in peak
        if holding.allocation.parameter is not None
        and (one := placed.get((holding.value.instruction, holding.value.index or ())))
        and (one.copies or 1) > 1
    ]
    groups = group_by(held, lambda each: (each[0].replicated_over, each[0].copies))
    rows = [
        ReplicatedRow(axes, copies, len(some), sum(size for _, size in some))
        for (axes, copies), some in groups.items()
    ]
    return tuple(sorted(rows, key=lambda row: -row.peak_bytes))


def _index(
    module: Module, parameters: Sequence[ArrayRow]
) -> Mapping[tuple[str, tuple[int, ...]], ArrayRow]:
    """Return the arrays of parameters by the instruction, and the place in its tuple."""
    places = ((one.name, index) for one, index, _ in module.entry.parameter_arrays())
    return dict(zip(places, parameters, strict=True))


REPLICATED: Final = RowList(
    "replicated",
    ReplicatedRow,
    "parameters at the peak of space 0 that other devices hold too, by mesh axes",
    sort="-peak_bytes",
    size="peak_bytes",
    title="Replicated at the peak",
)
