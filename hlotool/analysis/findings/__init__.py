"""What is worth a look in a module?

A `finding` is one sentence with a size; `evidence` are the analyses it is made from. Those
about `communication`, `compute` (with the `precision` a program computes in) and `memory`
are found by the functions of `FINDERS`, which write them with `wording`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from msgspec.structs import replace

from hlotool.analysis.findings.communication import (
    find_exposed_collectives,
    find_f32_collectives,
)
from hlotool.analysis.findings.compute import (
    find_contradicted_trip_counts,
    find_large_copies,
    find_missed_fusions,
    find_unknown_costs,
    find_unknown_custom_calls,
    find_unknown_trip_counts,
)
from hlotool.analysis.findings.evidence import Evidence
from hlotool.analysis.findings.finding import ADVICE, Finding
from hlotool.analysis.findings.memory import (
    find_fragmentation,
    find_missed_donations,
    find_padding,
)

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
    find_unknown_trip_counts,
    find_contradicted_trip_counts,
    find_unknown_custom_calls,
    find_unknown_costs,
)


def find_findings(evidence: Evidence) -> tuple[Finding, ...]:
    """Ask every function of `FINDERS`: warnings first, then the largest; each with its advice."""
    found = [finding for find in FINDERS for finding in find(evidence)]
    found.sort(
        key=lambda one: (one.severity != "warning", -(one.bytes or -1), one.code, one.message)
    )
    return tuple(replace(one, advice=ADVICE[one.code]) for one in found)
