"""Without which parts would a program fit into a limit?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Annotated, Final

from msgspec import Struct

from hlotool.analysis.memory.curve import Curve, add_curves
from hlotool.analysis.memory.gains.part import Part, divide_memory
from hlotool.analysis.memory.gains.remedy import REMEDIES, PartKind
from hlotool.analysis.memory.gains.space_peak import SpacePeak
from hlotool.analysis.memory.gains.tenure import Tenure
from hlotool.analysis.memory.headroom import Headroom
from hlotool.analysis.memory.report import MemoryReport
from hlotool.fields import BYTES, NUMBER, RowList, column, figure
from hlotool.ir.module import Module

MOST_TOGETHER: Final = 3  # parts of a set
MOST_PARTS: Final = 10  # that sets are made of: those that gain most
MOST_SETS: Final = 5


class ReliefRow(Struct, frozen=True):
    """A part of a set without which the program fits; or, where none does, nearly fits."""

    set: Annotated[int, column("number of the set; all its parts must go", NUMBER)]
    part: Annotated[str, column("what would not be there")]
    kind: Annotated[PartKind, figure("what kind of memory that is")]
    of: Annotated[str, figure("its scope, or the part of the arguments' tree")]
    gain_bytes: Annotated[
        int, column("how far the allocated size falls without this part alone", BYTES)
    ]
    set_gain_bytes: Annotated[
        int, column("how far it falls without the whole set", BYTES, is_summed=False)
    ]
    headroom_bytes: Annotated[
        int,
        column(
            "what is then left; negative where it still does not fit",
            BYTES,
            is_signed=True,
            is_summed=False,
        ),
    ]
    remedy: Annotated[str, column("what one usually does about it")]


RELIEF: Final = RowList(
    "relief",
    ReliefRow,
    "the smallest sets of parts without which the program fits, or the best there is",
    key="part",
    has_total=False,
    is_optional=True,
    title="Without these",
)


class Reserved:
    """What space 0 reserves, and what it would without some of its tenures."""

    def __init__(self, report: MemoryReport, parts: Iterable[Part]) -> None:
        self.temp = SpacePeak(report.map.curve(0, "temp") or Curve())
        self.tenures: dict[int, set[Tenure]] = {}
        for tenure in _all(parts):
            self.tenures.setdefault(tenure.allocation.number, set()).add(tenure)

    def gain(self, tenures: Iterable[Tenure]) -> int:
        """Return how far the allocated size falls.

        The allocation of a parameter, an output or a constant goes with it; what else lies in it
        moves to the temporaries. The gaps between those stay as they are.
        """
        by_allocation: dict[int, set[Tenure]] = {}
        for tenure in tenures:
            by_allocation.setdefault(tenure.allocation.number, set()).add(tenure)
        freed, removed, moved = 0, [], []
        for number, gone in by_allocation.items():
            kept = self.tenures[number] - gone
            allocation = next(iter(gone)).allocation
            if allocation.allocation_class == "temp":
                removed += [tenure.curve() for tenure in gone]
            elif not any(tenure.is_owner for tenure in kept):
                freed += allocation.size_bytes
                moved += [tenure.curve() for tenure in kept]
        part = add_curves((*removed, *map(_negate, moved)))
        return freed + self.temp.peak_bytes - self.temp.peak_without(part)


def find_relief(report: MemoryReport, module: Module | None, headroom: Headroom) -> list[ReliefRow]:
    """Return the smallest sets of parts without which the program fits, the least gain first.

    Sets are of one size, three at most. Where none suffices, the one that goes furthest, found by
    taking what gains most, one by one. Empty where it fits, or nothing says when values live.
    """
    if headroom.allocated_bytes is None or headroom.fits is not False:
        return []
    everything = divide_memory(report, module)
    reserved = Reserved(report, everything)
    excess = headroom.allocated_bytes - headroom.limit_bytes
    parts = _rank(everything, reserved)
    sets = _find_sets(parts, reserved, excess) or [_go_furthest(parts, reserved)]
    return [
        row
        for number, (gain, chosen) in enumerate(sets, 1)
        for row in _write(number, gain, chosen, reserved, excess)
    ]


def _rank(parts: Sequence[Part], reserved: Reserved) -> list[Part]:
    """Return the parts that gain most; of those that gain nothing alone, the largest."""
    gains = [(reserved.gain(part.tenures), _peak_of(part), part) for part in parts]
    gains.sort(key=lambda one: one[:2], reverse=True)
    return [part for _, _, part in gains[:MOST_PARTS]]


def _peak_of(part: Part) -> int:
    return add_curves(tenure.curve() for tenure in part.tenures).peak()[0]


def _find_sets(
    parts: Sequence[Part], reserved: Reserved, excess: int
) -> list[tuple[int, tuple[Part, ...]]]:
    """Return the sets of fewest parts that gain as much as there is too much."""
    for size in range(1, MOST_TOGETHER + 1):
        found = [
            (gain, chosen)
            for chosen in combinations(parts, size)
            if (gain := reserved.gain(_all(chosen))) >= excess
        ]
        if found:
            return sorted(found, key=lambda one: one[0])[:MOST_SETS]
    return []


def _go_furthest(parts: Sequence[Part], reserved: Reserved) -> tuple[int, tuple[Part, ...]]:
    """Take what gains most beside what is taken, until nothing gains any more."""
    chosen: tuple[Part, ...] = ()
    best = 0
    while len(chosen) < MOST_TOGETHER:
        left = [part for part in parts if part not in chosen]
        gains = [reserved.gain(_all((*chosen, part))) for part in left]
        if not gains or max(gains) <= best:
            break
        best = max(gains)
        chosen = (*chosen, left[gains.index(best)])
    return best, chosen


def _write(
    number: int, gain: int, chosen: tuple[Part, ...], reserved: Reserved, excess: int
) -> Iterator[ReliefRow]:
    for part in chosen:
        yield ReliefRow(
            set=number,
            part=part.title,
            kind=part.kind,
            of=part.of,
            gain_bytes=reserved.gain(part.tenures),
            set_gain_bytes=gain,
            headroom_bytes=gain - excess,
            remedy=REMEDIES[part.kind],
        )


def _all(parts: Iterable[Part]) -> Iterator[Tenure]:
    return (tenure for part in parts for tenure in part.tenures)


def _negate(curve: Curve) -> Curve:
    return Curve(curve.positions, tuple(-level for level in curve.levels))
