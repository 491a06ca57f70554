"""By which figures are the programs of a directory ranked?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal, TypeAlias

from msgspec import Struct

from hlotool.analysis.findings.finding import FindingCode
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
        column(
            "where the program lies in the directory, in short: XLA's number in place of the name; "
            "--module takes it",
            is_whole=True,
        ),
    ]
    backend: Annotated[
        Backend | None, column("the backend, recognized by its marks in the text", give_way=4)
    ] = None
    stage: Annotated[ProgramStage | None, figure("before or after optimizations")] = None
    instruction_count: Annotated[
        int | None, column("instructions in the text", COUNT, heading="ops", give_way=7)
    ] = None
    allocated_bytes: Annotated[
        int | None,
        column(
            "what the runtime reserves in the default memory space, else an estimate of it",
            BYTES,
            is_summed=False,
            estimate_if="is_estimate",
            lower_if="is_memory_lower_bound",
        ),
    ] = None
    temp_bytes: Annotated[
        int | None,
        column(
            "the part of it that is temporary; null in an estimate",
            BYTES,
            is_summed=False,
            give_way=5,
        ),
    ] = None
    peak_bytes: Annotated[
        int | None,
        column(
            "the most in use at once, else an estimate of it",
            BYTES,
            is_summed=False,
            estimate_if="is_estimate",
            lower_if="is_memory_lower_bound",
            give_way=2,
        ),
    ] = None
    collective_count: Annotated[
        int | None, column("logical collectives", COUNT, heading="colls", give_way=6)
    ] = None
    wire_bytes_per_run: Annotated[
        int | None,
        column(
            "bytes one device sends in one run of the entry",
            BYTES,
            heading="wire/run",
            lower_if="is_wire_lower_bound",
            upper_if="is_wire_upper_bound",
            give_way=1,
        ),
    ] = None
    total_flops_per_run: Annotated[
        int | None,
        column(
            "floating-point operations of one run, those of known custom calls too",
            FLOPS,
            heading="flops/run",
            lower_if="is_total_lower_bound",
            upper_if="is_total_upper_bound",
            give_way=3,
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
    finding_count: Annotated[
        int | None, column("what is worth a look", COUNT, heading="findings", is_exact=True)
    ] = None
    worst_finding: Annotated[
        FindingCode | None,
        column(
            "the program's first finding, in the order of `--rows findings`",
            heading="worst",
            null_text="",
        ),
    ] = None
    is_estimate: Annotated[
        bool, figure("whether memory is estimated, as there is no buffer assignment")
    ] = False
    is_memory_lower_bound: Annotated[
        bool, figure("whether a size is unknown and counted as 0 in an estimate")
    ] = False
    is_wire_lower_bound: Annotated[
        bool, figure("whether a size or an execution of a collective is unknown")
    ] = False
    is_total_lower_bound: Annotated[
        bool, figure("whether a trip count or the flops of a custom call are unknown")
    ] = False
    is_wire_upper_bound: Annotated[
        bool, figure("whether a conditional decides if a collective runs")
    ] = False
    is_total_upper_bound: Annotated[
        bool, figure("whether the flops count work that may not run")
    ] = False
    error: Annotated[str | None, figure("why the program could not be read")] = None


class Fit(Struct, frozen=True):
    """Which programs allocate more than a limit, and of how many nobody can tell."""

    too_large: tuple[ProgramRow, ...]
    unknown_count: int


def find_too_large(rows: Iterable[ProgramRow], limit_bytes: int) -> Fit:
    """Hold programs against a limit; a lower bound below it, and no figure, tell nothing."""
    large, unknown = [], 0
    for row in rows:
        if row.allocated_bytes is not None and row.allocated_bytes > limit_bytes:
            large.append(row)
        elif row.allocated_bytes is None or row.is_memory_lower_bound:
            unknown += 1
    return Fit(tuple(large), unknown)
