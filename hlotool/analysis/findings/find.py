"""What is worth a look in a module?

A `finding` is one sentence with a size; `evidence` are the analyses it is made from. Those about
collectives (`exposed`, `wide_collectives`, both by what is `sent`), about `compute` (with the
`precision` a program computes in) and `memory`, and about times that were `measured`, are found by
the functions of `FINDERS`, which write them with `wording`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from msgspec.structs import replace

from hlotool.analysis.cost.chips import Chip
from hlotool.analysis.findings.collectives import find_exposed_collectives, find_f32_collectives
from hlotool.analysis.findings.compute import (
    find_contradicted_trip_counts,
    find_large_copies,
    find_missed_fusions,
    find_slow_collectives,
    find_slow_fusions,
    find_unknown_costs,
    find_unknown_custom_calls,
    find_unknown_trip_counts,
)
from hlotool.analysis.findings.finding import ADVICE, TRAFFIC, Evidence, Finding
from hlotool.analysis.findings.memory import find_fragmentation, find_missed_donations, find_padding

__all__ = ["FINDERS", "Evidence", "Finding", "find_findings"]

# Adding a finding is adding a function: its docstring says when it speaks.
FINDERS: Final[tuple[Callable[[Evidence], Iterable[Finding]], ...]] = (
    find_exposed_collectives,
    find_f32_collectives,
    find_missed_fusions,
    find_large_copies,
    find_missed_donations,
    find_padding,
    find_fragmentation,
    find_slow_collectives,
    find_slow_fusions,
    find_unknown_trip_counts,
    find_contradicted_trip_counts,
    find_unknown_custom_calls,
    find_unknown_costs,
)


def find_findings(evidence: Evidence) -> tuple[Finding, ...]:
    """Ask every function of `FINDERS`; add advice and, for traffic, its weight and its time.

    Warnings come first, then what takes most time, by the chip or at the ratios of the one that
    stands for the backend, then what has most bytes.
    """
    found = [finding for find in FINDERS for finding in find(evidence)]
    weighted = [
        replace(
            one,
            advice=one.advice or ADVICE[one.code],
            estimated_seconds=_estimate(one, evidence.chip),
            weighted_bytes=one.bytes if one.code in TRAFFIC else one.weighted_bytes,
        )
        for one in found
    ]
    weighted.sort(key=_rank)
    return tuple(weighted)


def _estimate(one: Finding, chip: Chip | None) -> float | None:
    """Return the time a finding is about; traffic goes at the peak rate of the chip's memory."""
    if chip is None or one.code not in TRAFFIC or one.bytes is None:
        return one.estimated_seconds
    return one.bytes / chip.hbm_bytes_per_second


def _rank(one: Finding) -> tuple[bool, int, int, str, str]:
    is_note = one.severity != "warning"
    return is_note, -(one.weighted_bytes or -1), -(one.bytes or -1), one.code, one.message
