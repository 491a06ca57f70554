"""Does the program fit into the memory of a device?"""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from hlotool.analysis.cost.chips import Chip
from hlotool.analysis.memory.estimate.assignment import find_promise
from hlotool.analysis.memory.report import MemoryReport
from hlotool.table import BYTES, figure


class Headroom(Struct, frozen=True):
    """Space 0 against a limit; None where the allocated size is unknown."""

    limit_bytes: Annotated[int, figure("the limit of --hbm, or the memory of --chip", BYTES)]
    allocated_bytes: Annotated[
        int | None, figure("bytes reserved in space 0, or an estimate of them", BYTES)
    ]
    headroom_bytes: Annotated[
        int | None, figure("what is left; negative where it does not fit", BYTES, is_signed=True)
    ]
    fits: Annotated[
        bool | None, figure("whether it fits; null where an estimate is too near to tell")
    ]
    is_estimate: Annotated[bool, figure("whether the allocated size is an estimate")]
    chip: Annotated[
        str | None,
        figure("the chip whose whole memory the limit is, of which programs get less; else null"),
    ] = None


def measure_headroom(report: MemoryReport, limit_bytes: int, chip: Chip | None = None) -> Headroom:
    """Compare what space 0 reserves with a limit; the program's code is not in a dump.

    `chip` is named where its memory is the limit.
    """
    name = chip.name if chip and chip.hbm_bytes == limit_bytes else None
    estimated = report.figures.estimated
    allocated = (estimated or report.figures.totals).allocated_bytes
    if allocated is None:
        return Headroom(limit_bytes, None, None, None, estimated is not None, name)
    left = limit_bytes - allocated
    fits: bool | None = left >= 0
    if estimated:
        promise = find_promise("allocated", report.figures.backend)
        is_near = promise is not None and abs(left) <= promise.margin_bytes(allocated)
        if is_near or (fits and estimated.is_lower_bound):
            fits = None
    return Headroom(limit_bytes, allocated, left, fits, estimated is not None, name)
