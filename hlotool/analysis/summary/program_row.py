"""One program of a dump directory, in one row."""

from __future__ import annotations

from msgspec import Struct

from hlotool.analysis.graph.backend import Backend


class ModuleRow(Struct, frozen=True):
    """The figures by which programs are ranked; None where the dump does not tell.

    `place` is the path in short. `error` says why a program could not be read; all its
    figures are None then.
    """

    module: str
    path: str
    place: str
    backend: Backend | None = None
    stage: str | None = None
    instruction_count: int | None = None
    allocated_bytes: int | None = None
    temp_bytes: int | None = None
    peak_bytes: int | None = None
    collective_count: int | None = None
    wire_bytes_per_run: int | None = None
    flops_per_run: int | None = None
    is_lower_bound: bool = False
    is_upper_bound: bool = False
    error: str | None = None
