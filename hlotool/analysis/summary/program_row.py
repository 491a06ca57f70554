"""By which figures are the programs of a directory ranked?"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Struct

from hlotool.analysis.graph.backend import Backend
from hlotool.fields import BYTES, COUNT, FLOPS, SECONDS, column, figure

ProgramStage: TypeAlias = Literal["before", "after"]


class ProgramRow(Struct, frozen=True):
    """One program of a dump directory; figures are None where the dump does not tell.

    `error` says why a program could not be read; all its figures are None then.
    """

    module: Annotated[str, column("the module's name")]
    path: Annotated[str, figure("the text it was read from")]
    place: Annotated[
        str,
        column("the same in short: relative to the directory, XLA's number in place of the name"),
    ]
    backend: Annotated[
        Backend | None, column("the backend, recognized by its marks in the text")
    ] = None
    stage: Annotated[ProgramStage | None, figure("before or after optimizations")] = None
    instruction_count: Annotated[
        int | None, column("instructions in the text", COUNT, heading="ops")
    ] = None
    allocated_bytes: Annotated[
        int | None, column("what the runtime reserves in the default memory space", BYTES)
    ] = None
    temp_bytes: Annotated[int | None, column("the part of it that is temporary", BYTES)] = None
    peak_bytes: Annotated[int | None, column("the most in use at once", BYTES)] = None
    collective_count: Annotated[
        int | None, column("logical collectives", COUNT, heading="colls")
    ] = None
    wire_bytes_per_run: Annotated[
        int | None,
        column(
            "bytes one device sends in one run of the entry",
            BYTES,
            heading="wire/run",
            lower_if="is_wire_lower_bound",
        ),
    ] = None
    total_flops_per_run: Annotated[
        int | None,
        column(
            "floating-point operations of one run, those of known custom calls too",
            FLOPS,
            heading="flops/run",
            lower_if="is_total_lower_bound",
        ),
    ] = None
    measured_count: Annotated[
        int | None,
        figure("from a profile: its runs on all devices together", COUNT, heading="runs"),
    ] = None
    measured_seconds: Annotated[
        float | None,
        figure("from a profile: mean time of a run on a device", SECONDS, heading="measured/run"),
    ] = None
    is_wire_lower_bound: Annotated[
        bool, figure("whether a size or an execution of a collective is unknown")
    ] = False
    is_total_lower_bound: Annotated[
        bool, figure("whether a trip count or the flops of a custom call are unknown")
    ] = False
    is_upper_bound: Annotated[bool, figure("whether they count work that may not run")] = False
    error: Annotated[str | None, figure("why the program could not be read")] = None
