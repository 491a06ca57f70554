"""Which allocations does a program have, and how much of each is ever in use?"""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct, field

from hlotool.analysis.memory.memory_map import MemoryMap
from hlotool.analysis.memory.values.parameter_name import find_parameter_name
from hlotool.fields import BYTES, COUNT, NUMBER, column, figure
from hlotool.ir.buffers import AllocationClass
from hlotool.ir.module import Module


class AllocationRow(Struct, frozen=True):
    """One allocation, with the most that was in use in it at once."""

    allocation: Annotated[int, column("its number", NUMBER)]
    size_bytes: Annotated[int, column("bytes reserved", BYTES)]
    space: Annotated[int, column("number of the memory space", NUMBER)]
    class_: Annotated[AllocationClass, column("its class")] = field(name="class")
    parameter_number: Annotated[int | None, figure("number of the parameter", NUMBER, null_text="")]
    parameter_name: Annotated[
        str | None,
        column("the program's name for the parameter", heading="parameter", null_text=""),
    ]
    is_constant: Annotated[bool, figure("whether it holds the program's constants")]
    is_live_out: Annotated[bool, figure("whether it may hold an output")]
    is_thread_local: Annotated[
        bool, figure("whether it is thread-local, which only the reported total counts")
    ]
    value_count: Annotated[int, column("values placed in it", COUNT, heading="values")]
    peak_bytes: Annotated[
        int | None, column("the most in use at once", BYTES, null_text="", is_summed=False)
    ]
    fragmentation_bytes: Annotated[
        int | None,
        column(
            "size of a temp allocation minus the most in use, alignment included; null for "
            "other classes",
            BYTES,
            null_text="",
            is_summed=False,
        ),
    ]


def allocation_rows(
    memory: MemoryMap, module: Module | None, color: int | None
) -> list[AllocationRow]:
    """Return the allocations of a space or (None) of all, as XLA numbers them."""
    rows = []
    for one in memory.assignment.allocations:
        if color not in {None, one.color}:
            continue
        curve = memory.curve_of(one)
        peak = curve.peak()[0] if curve else None
        is_temp = one.allocation_class == "temp"
        rows.append(
            AllocationRow(
                allocation=one.number,
                size_bytes=one.size_bytes,
                space=one.color,
                class_=one.allocation_class,
                parameter_number=one.parameter,
                parameter_name=find_parameter_name(one, module, memory.assignment),
                is_constant=one.is_constant,
                is_live_out=one.is_live_out,
                is_thread_local=one.is_thread_local,
                value_count=len(one.values),
                peak_bytes=peak,
                fragmentation_bytes=one.size_bytes - peak if is_temp and peak is not None else None,
            )
        )
    return rows
