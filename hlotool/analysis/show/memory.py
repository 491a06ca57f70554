"""Which bytes hold the results of an instruction, when, and what else lies in them?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from msgspec import Struct, field

from hlotool.analysis.memory.memory_map import MemoryMap
from hlotool.analysis.memory.rows import describe_values
from hlotool.analysis.show.subjects import ShowEvidence
from hlotool.hlo import Instruction
from hlotool.hlo.buffers import Allocation, AllocationClass, BufferValue
from hlotool.hlo.values import ShapeIndex
from hlotool.table import BYTES, NUMBER, column, figure


class ShownValue(Struct, frozen=True, kw_only=True):
    """One value that an instruction defines, and where it lies."""

    of: Annotated[str, figure("the subject")]
    value: Annotated[str, column("defining instruction and index", wants=28)]
    size_bytes: Annotated[int, column("size the backend gives it", BYTES, is_summed=False)]
    class_: Annotated[AllocationClass, column("class of its allocation")] = field(name="class")
    space: Annotated[int, column("number of the memory space", NUMBER, give_way=1)]
    allocation: Annotated[
        int | None,
        column("number of its allocation; null in an estimate", NUMBER, null_text="–", give_way=2),
    ]
    offset: Annotated[
        int | None,
        column(
            "first byte inside the allocation; null in an estimate",
            NUMBER,
            null_text="–",
            give_way=2,
        ),
    ]
    born: Annotated[int | None, column("first position at which it is live", NUMBER)]
    dies: Annotated[int | None, column("last position at which it is live", NUMBER)]
    peak_bytes: Annotated[
        int | None,
        column(
            "bytes that it holds at the peak of its space; 0 where it is not live there, or "
            "another value has its bytes",
            BYTES,
            heading="at peak",
            is_summed=False,
        ),
    ]
    source: Annotated[
        str | None,
        column("file and line without directories; with `for`, of what uses it", give_way=3),
    ]
    belongs_to: Annotated[
        str | None,
        column("the parameter or scope it belongs to, as in `buffers`", is_path=True, give_way=3),
    ]


class SharingValue(Struct, frozen=True):
    """A value that lies, at some time, in bytes of a value of the subject."""

    of: Annotated[str, figure("the subject's value")]
    value: Annotated[
        str, column("defining instruction and index", heading="in the same bytes", wants=28)
    ]
    shared_bytes: Annotated[int, column("bytes that both lie in", BYTES, is_summed=False)]
    size_bytes: Annotated[int, column("size the backend gives it", BYTES, is_summed=False)]
    born: Annotated[int | None, column("first position at which it is live", NUMBER)]
    dies: Annotated[int | None, column("last position at which it is live", NUMBER)]


def list_values(
    subjects: Iterable[tuple[Instruction, ShapeIndex | None]], evidence: ShowEvidence
) -> tuple[tuple[ShownValue, ...], tuple[SharingValue, ...]]:
    """Return the values that instructions define, at one index or all, and what shares them."""
    report = evidence.memory
    if report is None:
        return (), ()
    found = [
        (instruction, allocation, value)
        for instruction, index in subjects
        for allocation, value in evidence.values.get(instruction.name, ())
        if index in {None, value.index or ()}
    ]
    rows = describe_values(report, evidence.module, [value for _, _, value in found])
    values: list[ShownValue] = []
    sharing: list[SharingValue] = []
    for (instruction, allocation, value), row in zip(found, rows, strict=True):
        values.append(
            ShownValue(
                of=instruction.full_name,
                value=value.name,
                size_bytes=row.size_bytes,
                class_=row.class_,
                space=row.space,
                allocation=row.allocation,
                offset=row.offset,
                born=row.born,
                dies=row.dies,
                peak_bytes=_measure_at_peak(value, allocation, evidence),
                source=row.source,
                belongs_to=row.belongs_to,
            )
        )
        if report.figures.sizes_from != "estimate":
            sharing += _list_sharing(value, allocation, report.map)
    return tuple(values), tuple(sharing)


def _measure_at_peak(
    value: BufferValue, allocation: Allocation, evidence: ShowEvidence
) -> int | None:
    held = evidence.peak_bytes.get(allocation.color)
    return None if held is None or allocation.is_thread_local else held.get(value, 0)


def _list_sharing(
    value: BufferValue, allocation: Allocation, memory: MemoryMap
) -> Iterable[SharingValue]:
    low, high = value.offset, value.offset + value.size_bytes
    for other in allocation.values:
        shared = min(high, other.offset + other.size_bytes) - max(low, other.offset)
        if other is value or shared <= 0:
            continue
        live = None if allocation.is_thread_local else memory.range_of(other)
        yield SharingValue(
            value.name,
            other.name,
            shared,
            other.size_bytes,
            live.start if live else None,
            live.end if live else None,
        )
