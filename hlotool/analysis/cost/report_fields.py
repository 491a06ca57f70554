"""What a cost report holds: names, units and meanings of its figures."""

from __future__ import annotations

from typing import Final

from hlotool.analysis.cost.report import CostReport
from hlotool.fields import Block, Field, Unit

_FIGURES: Final = (
    ("flops", Unit.FLOPS, "floating-point operations as XLA's cost analysis counts them"),
    ("matrix_flops", Unit.FLOPS, "those of dots and convolutions alone"),
    ("transcendentals", Unit.FLOPS, "exponentials, logarithms and their kin, by element"),
    ("bytes_accessed", Unit.BYTES, "bytes read and written"),
    ("custom_call_flops", Unit.FLOPS, "operations known to hide in custom calls; not in flops"),
    (
        "unknown_custom_call_count",
        Unit.COUNT,
        "custom calls of which nothing is known; they make the rest a lower bound",
    ),
)

COST: Final = Block(
    "cost",
    CostReport,
    (
        Field(
            "scope",
            Unit.TEXT,
            "whether figures are of one device, or of the whole program before partitioning",
            values=("device", "program"),
        ),
        *(Field(name, unit, f"{meaning}; loop bodies once") for name, unit, meaning in _FIGURES),
        *(
            Field(f"{name}_per_run", unit, f"{meaning}; with trip counts, in one run of the entry")
            for name, unit, meaning in _FIGURES
        ),
        Field("is_lower_bound", Unit.FLAG, "whether an unknown part is missing"),
        Field("is_upper_bound", Unit.FLAG, "whether a part may not happen"),
    ),
    "what the module computes",
    is_nullable=True,
)
