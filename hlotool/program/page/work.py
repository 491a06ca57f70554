"""Steps, fusions and their speed: what the clock and the roofline are drawn from."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from hlotool.analysis.collectives.rows import CollectiveRow
from hlotool.program.program import Program

_MOST_STEPS: Final = 3_000
_MOST_FUSIONS: Final = 3_000


class ChartStep(Struct, frozen=True):
    """One step of the outline; times are None without a chip."""

    step: str
    count: int
    kind: str
    depth: int
    parent: int | None
    share: float | None
    flops: int | None
    memory_bytes: int | None
    wire_bytes: int | None
    exposed_share: float | None
    scope: str
    first: str
    begins_seconds: float | None
    ends_seconds: float | None


class ChartFusion(Struct, frozen=True):
    """One row of fusions: where it stands under the roof."""

    name: str
    flops_per_byte: float
    flops: int
    memory_bytes: int
    scope: str


class Transfer(Struct, frozen=True):
    """One collective, by axis: what the bars of sent bytes are drawn from.

    `exposed_bytes` is None where nobody knows what of it work hides.
    """

    name: str
    kind: str
    axes: str
    wire_bytes: int
    exposed_bytes: int | None


class WorkChart(Struct, frozen=True):
    """What runs; `ridge` are the flops for each byte from which on the chip computes all the time.

    `chip` is the one that shares are priced at, `is_timed` whether the user named it.
    """

    steps: tuple[ChartStep, ...]
    fusions: tuple[ChartFusion, ...]
    transfers: tuple[Transfer, ...]
    chip: str
    is_timed: bool
    ridge: float


def chart_work(program: Program) -> WorkChart:
    """Return what is drawn of a program's work."""
    pricing = program.pricing
    chip = pricing.chip
    return WorkChart(
        tuple(
            ChartStep(
                row.step,
                row.count,
                row.kind,
                row.depth,
                row.parent,
                row.time_share,
                row.flops_per_run,
                row.memory_bytes_per_run,
                row.wire_bytes_per_run,
                row.exposed_share,
                row.scope or "",
                row.names[0] if row.names else "",
                row.begins_seconds,
                row.ends_seconds,
            )
            for row in program.outline()[:_MOST_STEPS]
        ),
        tuple(
            ChartFusion(
                row.name,
                row.flops_per_byte,
                row.known_flops_per_run,
                row.known_memory_bytes_per_run,
                row.scope or "",
            )
            for row in program.fusions.rows[:_MOST_FUSIONS]
            if row.flops_per_byte
        ),
        tuple(map(_describe, program.collectives.rows)),
        chip.name,
        pricing.is_timed,
        chip.flops_per_second / chip.hbm_bytes_per_second,
    )


def _describe(row: CollectiveRow) -> Transfer:
    return Transfer(
        row.name,
        row.kind,
        ", ".join(row.axes) if row.axes else "unknown",
        row.known_wire_bytes_per_run,
        None if row.exposed_share is None else row.known_exposed_wire_bytes_per_run,
    )
