"""What a program would reserve if more of its parameters were donated.

An output that lies in its parameter's memory needs none of its own, but what lay there before it
does, and what lies in the parameter's memory between both may. So memory is assigned anew as XLA
would do it (`assign_donated`), as it is and with the donations; the difference is what is saved.

    before        parameter p 8 MiB, output o 8 MiB, a value t of 3 MiB in o's memory before o
    with p given  o lies in p, and so does t if p is read no more when t is made; else t needs room
                  among the temporaries: 8 or 5 MiB are saved

Gaps between temporaries are left out, as in `reduction_plan`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate, pairwise

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.dataflow.values import Dataflow
from hlotool.analysis.memory.donation import DonationRow, MissedOutput, list_missed_outputs
from hlotool.analysis.memory.estimate import assign_donated
from hlotool.analysis.memory.intervals import Curve
from hlotool.analysis.memory.memory_map import MemoryMap, SpacePeak
from hlotool.analysis.memory.report import MemoryReport
from hlotool.hlo.buffers import ValueKey


class Donated(Struct, frozen=True):
    """A program with some arrays donated: what else space 0 reserves, and its temporaries."""

    other_bytes: int
    temp: SpacePeak

    @property
    def reserved_bytes(self) -> int:
        """All that it reserves."""
        return self.other_bytes + self.temp.peak_bytes


class Donations:
    """The outputs that could lie in parameters, by their values, and what that saves."""

    def __init__(self, report: MemoryReport, flow: Dataflow) -> None:
        self.missed: Mapping[ValueKey, MissedOutput] = list_missed_outputs(flow)
        self._flow = flow
        self._report = report
        self._known: dict[frozenset[MissedOutput], Donated] = {}

    def assign(self, outputs: Collection[MissedOutput]) -> Donated:
        """Return what is reserved with these outputs in their parameters' memory."""
        key = frozenset(outputs)
        if key not in self._known:
            found = self._report.map
            if key or not found.assignment.is_estimate:  # as it is, an estimate is assigned so
                assignment = assign_donated(self._flow, [one.donation for one in key])
                found = MemoryMap(assignment, found.live_ranges)
            placed = [one for one in found.placed(0) if one.allocation_type != "temp"]
            temp = SpacePeak(found.curve(0, "temp") or Curve())
            self._known[key] = Donated(sum(one.size_bytes for one in placed), temp)
        return self._known[key]

    def saving(self, outputs: Collection[MissedOutput]) -> int:
        """Return what space 0 reserves less with them."""
        return self.assign(()).reserved_bytes - self.assign(outputs).reserved_bytes


def find_donations(report: MemoryReport) -> Donations | None:
    """Return what could be donated; None where nothing says when values live."""
    flow = report.values if report.map.live_ranges else None
    return Donations(report, flow) if flow else None


def measure_donation(report: MemoryReport) -> int | None:
    """Return what is saved if all that could be is donated; None where nobody knows."""
    found = find_donations(report)
    return found.saving(set(found.missed.values())) if found else None


def add_savings(rows: Sequence[DonationRow], report: MemoryReport) -> tuple[DonationRow, ...]:
    """Return donations with the share of each in what is saved; unknown where nobody knows."""
    saved = measure_donation(report)
    if saved is None:
        return tuple(rows)
    # Up to each row, so that rounding loses nothing: shares add up to what is saved.
    sizes = list(accumulate(row.size_bytes if row.is_missed else 0 for row in rows))
    whole = max(sizes, default=0) or 1
    shares = [saved * size // whole for size in (0, *sizes)]
    return tuple(
        replace(row, saves_bytes=after - before)
        for row, (before, after) in zip(rows, pairwise(shares), strict=True)
    )
