"""Without which parts would a program fit into a limit?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, islice
from operator import itemgetter
from typing import Annotated, Final

from msgspec import Struct

from hlotool.analysis.memory.curve import Curve, add_curves
from hlotool.analysis.memory.gains.part import Part, divide_memory
from hlotool.analysis.memory.gains.remedy import PART_MEANINGS, REMEDIES, PartKind
from hlotool.analysis.memory.gains.space_peak import SpacePeak
from hlotool.analysis.memory.gains.tenure import Tenure
from hlotool.analysis.memory.headroom import Headroom
from hlotool.analysis.memory.report import MemoryReport
from hlotool.fields import BYTES, NUMBER, RowList, column, figure
from hlotool.ir.module import Module

MOST_TOGETHER: Final = 3  # parts of a set
MOST_PARTS: Final = 10  # that sets are made of: those that gain most
MOST_SETS: Final = 5
MOST_SAMPLES: Final = 500  # positions at which sets are looked at first


class ReliefRow(Struct, frozen=True):
    """A part of a set without which the program fits; or, where none does, nearly fits."""

    set: Annotated[int, column("number of the set; all its parts must go", NUMBER)]
    part: Annotated[str, column("what would not be there")]
    kind: Annotated[PartKind, figure("what kind of memory that is", word_meanings=PART_MEANINGS)]
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
    option="--hbm SIZE",
    title="Without these",
)


class Reserved:
    """What space 0 reserves, and what it would without some of its parts."""

    def __init__(self, report: MemoryReport, parts: Iterable[Part]) -> None:
        self.curve = report.map.curve(0, "temp") or Curve()
        self.temp = SpacePeak(self.curve)
        self.tenures: dict[int, set[Tenure]] = {}
        for tenure in _all(parts):
            self.tenures.setdefault(tenure.allocation.number, set()).add(tenure)
        self.samples = _find_samples(self.curve)
        self._removed: dict[Part, Curve] = {}
        self._sketches: dict[Part, tuple[int, list[int]]] = {}

    def gain(self, parts: Iterable[Part]) -> int:
        """Return how far the allocated size falls.

        The allocation of a parameter, an output or a constant goes with it; what else lies in it
        moves to the temporaries. The gaps between those stay as they are.
        """
        parts = tuple(parts)
        elsewhere: dict[int, set[Tenure]] = {}
        for tenure in _all(parts):
            if not _is_temp(tenure):
                elsewhere.setdefault(tenure.allocation.number, set()).add(tenure)
        freed, moved = 0, []
        for number, gone in elsewhere.items():
            kept = self.tenures[number] - gone
            if not any(tenure.is_owner for tenure in kept):
                freed += next(iter(gone)).allocation.size_bytes
                moved += [tenure.curve() for tenure in kept]
        change = add_curves((*map(self._curve_of, parts), *map(_negate, moved)))
        return freed + self.temp.peak_bytes - self.temp.peak_without(change)

    def most(self, parts: Iterable[Part]) -> int:
        """Return what the gain is at most, from a few positions alone: it is quick."""
        sketches = [self._sketch(part) for part in parts]
        levels = [level for _, level in self.samples]
        for _, removed in sketches:
            levels = [level - one for level, one in zip(levels, removed, strict=True)]
        left = max(levels, default=0)
        return sum(freed for freed, _ in sketches) + self.temp.peak_bytes - left

    def _curve_of(self, part: Part) -> Curve:
        """Return what the temporaries of a part hold; added up once."""
        if part not in self._removed:
            temps = (tenure.curve() for tenure in part.tenures if _is_temp(tenure))
            self._removed[part] = add_curves(temps)
        return self._removed[part]

    def _sketch(self, part: Part) -> tuple[int, list[int]]:
        """Return what a part frees at most, and what it holds at the samples."""
        if part not in self._sketches:
            owned = {
                one.allocation
                for one in part.tenures
                if not _is_temp(one)
                and (one.is_owner or not self._has_owner(one.allocation.number))
            }
            curve = self._curve_of(part)
            held = [curve.at(position) for position, _ in self.samples]
            self._sketches[part] = sum(one.size_bytes for one in owned), held
        return self._sketches[part]

    def _has_owner(self, number: int) -> bool:
        return any(tenure.is_owner for tenure in self.tenures[number])


def _is_temp(tenure: Tenure) -> bool:
    return tenure.allocation.allocation_class == "temp"


def _find_samples(curve: Curve) -> list[tuple[int, int]]:
    """Return the highest position of each of some stretches of time, with what is in use there."""
    points = list(zip(curve.positions, curve.levels, strict=True))
    step = len(points) // MOST_SAMPLES + 1
    stretches = (points[start : start + step] for start in range(0, len(points), step))
    return [max(stretch, key=itemgetter(1)) for stretch in stretches]


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
    gains = [(reserved.gain([part]), _peak_of(part), part) for part in parts]
    gains.sort(key=lambda one: one[:2], reverse=True)
    return [part for _, _, part in gains[:MOST_PARTS]]


def _peak_of(part: Part) -> int:
    return add_curves(tenure.curve() for tenure in part.tenures).peak()[0]


def _find_sets(
    parts: Sequence[Part], reserved: Reserved, excess: int
) -> list[tuple[int, tuple[Part, ...]]]:
    """Return the sets of fewest parts that gain as much as there is too much."""
    for size in range(1, MOST_TOGETHER + 1):
        hopeful = [(reserved.most(chosen), chosen) for chosen in combinations(parts, size)]
        hopeful = [one for one in hopeful if one[0] >= excess]
        hopeful.sort(key=itemgetter(0))
        gains = ((reserved.gain(chosen), chosen) for _, chosen in hopeful)
        found = list(islice((one for one in gains if one[0] >= excess), MOST_SETS))
        if found:
            return sorted(found, key=itemgetter(0))
    return []


def _go_furthest(parts: Sequence[Part], reserved: Reserved) -> tuple[int, tuple[Part, ...]]:
    """Take what gains most beside what is taken, until nothing gains any more."""
    chosen: tuple[Part, ...] = ()
    best = 0
    while len(chosen) < MOST_TOGETHER:
        left = [part for part in parts if part not in chosen]
        gains = [reserved.gain((*chosen, part)) for part in left]
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
            gain_bytes=reserved.gain([part]),
            set_gain_bytes=gain,
            headroom_bytes=gain - excess,
            remedy=REMEDIES[part.kind],
        )


def _all(parts: Iterable[Part]) -> Iterator[Tenure]:
    return (tenure for part in parts for tenure in part.tenures)


def _negate(curve: Curve) -> Curve:
    return Curve(curve.positions, tuple(-level for level in curve.levels))
