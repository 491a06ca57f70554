"""How far does what space 0 reserves fall without some parts of it?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import Final

from hlotool.analysis.memory.curve import Curve, add_curves
from hlotool.analysis.memory.gains.part import Part
from hlotool.analysis.memory.gains.space_peak import SpacePeak
from hlotool.analysis.memory.gains.tenure import Tenure
from hlotool.analysis.memory.report import MemoryReport

MOST_SAMPLES: Final = 500  # positions at which sets are looked at first


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
            temps = [tenure.curve() for tenure in part.tenures if _is_temp(tenure)]
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


def _all(parts: Iterable[Part]) -> Iterator[Tenure]:
    return (tenure for part in parts for tenure in part.tenures)


def _negate(curve: Curve) -> Curve:
    return Curve(curve.positions, tuple(-level for level in curve.levels))
