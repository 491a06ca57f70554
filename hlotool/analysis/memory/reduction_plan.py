"""How far does what space 0 reserves fall without some parts of it?

How far would the allocated size fall if outputs lay in the parameters they could lie in?

What would memory be without certain values?

How far may a gain be trusted? Said wherever a remedy is told with what it gains.

Without which parts would a program fit into a limit?
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations, islice
from operator import itemgetter
from typing import Annotated, Final

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.dataflow.schedule import find_problem
from hlotool.analysis.memory.curve import Curve, add_curves
from hlotool.analysis.memory.donation import DonationRow, find_missed_outputs
from hlotool.analysis.memory.headroom import Headroom
from hlotool.analysis.memory.memory_map import MemoryMap, map_memory
from hlotool.analysis.memory.parts import (
    EASIEST_FIRST,
    PART_MEANINGS,
    REMEDIES,
    Part,
    PartKind,
    divide_memory,
)
from hlotool.analysis.memory.report import MemoryReport
from hlotool.analysis.memory.rows import BufferRow, all_rows, rows_at
from hlotool.analysis.memory.savings import SpacePeak, Tenure, Tenures, offer
from hlotool.errors import InputError
from hlotool.hlo import Module
from hlotool.hlo.values import ShapeIndex
from hlotool.table import BYTES, COUNT, NUMBER, Block, RowList, column, figure

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


def measure_donation(report: MemoryReport, module: Module) -> int | None:
    """Return what space 0 would reserve less, as `find_relief` has it; None where nobody knows.

    An output takes its allocation with it, and the temporaries that lay there need room among
    the others: so it is less than the outputs' sizes. Only their allocations are looked at.
    """
    if report.map.lifetimes is None or find_problem(module):
        return None
    donations = _Donations(report, module)
    return donations.measure(donations.parts)


def add_gains(
    rows: Sequence[DonationRow], report: MemoryReport, module: Module
) -> tuple[DonationRow, ...]:
    """Return donations with what each gains alone, in the same way; unknown where nobody knows."""
    if report.map.lifetimes is None or find_problem(module):
        return tuple(rows)
    measure = _Donations(report, module).measure
    found = []
    for row in rows:
        donatable = offer(measure, row.output_index if row.status == "not-donated" else None)
        gain = donatable.together((donatable,))
        found.append(replace(row, gain_bytes=gain, donatable=donatable))
    return tuple(found)


class _Donations:
    """The outputs that could lie in parameters, by their index, and what else lies with them."""

    def __init__(self, report: MemoryReport, module: Module) -> None:
        missed = {key: row.output_index or () for row, key in find_missed_outputs(module)}
        self.parts = {index: Part("missed-donation", "") for index in missed.values()}
        rest = Part("temporaries", "")
        outputs = [
            one
            for one in report.map.assignment.allocations
            if one.allocation_class == "output"
            and not one.color
            and any(value.key in missed for value in one.values)
        ]
        tenures = Tenures(report.map, {value for one in outputs for value in one.values})
        for allocation in outputs:
            for tenure in set(tenures.of(allocation).values()):
                of = {missed[value.key] for value in tenure.values if value.key in missed}
                parts = [self.parts[index] for index in of] if tenure.is_owner else []
                for part in parts or [rest]:
                    part.tenures.append(tenure)
        self._reserved = Reserved(report, (*self.parts.values(), rest))

    def measure(self, outputs: Iterable[ShapeIndex]) -> int:
        """Return what is reserved less if these outputs lay in parameters."""
        return self._reserved.gain(self.parts[one] for one in set(outputs) if one in self.parts)


class Without(Struct, frozen=True):
    """The peak of a space without certain values and what shares their bytes."""

    space: Annotated[int, figure("number of the memory space", NUMBER)]
    value_count: Annotated[int, figure("values taken away, in all spaces", COUNT)]
    taken_bytes: Annotated[int, figure("what they hold at the peak of the whole program", BYTES)]
    gain_bytes: Annotated[int, figure("how far the peak falls", BYTES)]
    peak_bytes: Annotated[int, figure("the most in use at once without them", BYTES)]
    position: Annotated[int, figure("where that is in the schedule", NUMBER)]
    instruction: Annotated[str | None, figure("the instruction that runs there")]


WITHOUT: Final = Block(
    "without", Without, "the peak without the values of --without", is_optional=True
)


def choose_tenures(
    report: MemoryReport, module: Module | None, holds: Callable[[BufferRow], bool]
) -> set[Tenure]:
    """Return the tenures in which a condition holds for a value, in all spaces.

    What a value holds is known of those at the peak of their space. Raises InputError where
    nothing says when values live.
    """
    if report.map.lifetimes is None:
        raise InputError(
            "--without needs lifetimes: give the live ranges (--live-range) or the module text "
            "(--module-text)."
        )
    at_peak = {
        (row.value, row.space): row
        for color in report.map.colors()
        for row in rows_at(report, module, report.peak_of(color).position or 0, color)
    }
    return {
        row.held.tenure
        for row in all_rows(report, module, None)
        if row.held and row.held.tenure and holds(at_peak.get((row.value, row.space), row))
    }


def take_away(report: MemoryReport, tenures: Iterable[Tenure]) -> MemoryReport:
    """Return the memory of the program without some tenures; `figures` stay those of all of it."""
    taken = {value for tenure in tenures for value in tenure.values}
    assignment = report.map.assignment
    left = tuple(
        replace(one, values=[value for value in one.values if value not in taken])
        for one in assignment.allocations
    )
    return replace(
        report, map=map_memory(replace(assignment, allocations=left), report.map.lifetimes)
    )


def measure_without(whole: MemoryMap, rest: MemoryMap, tenures: set[Tenure], color: int) -> Without:
    """Compare the peak of a space with what it is without some tenures."""
    before, after = whole.curve(color) or Curve(), rest.curve(color) or Curve()
    (peak, was_at), (left, position) = before.peak(), after.peak()
    return Without(
        space=color,
        value_count=sum(len(tenure.values) for tenure in tenures),
        taken_bytes=peak - after.at(was_at),
        gain_bytes=peak - left,
        peak_bytes=left,
        position=position,
        instruction=rest.lifetimes.instruction_at(position) if rest.lifetimes else None,
    )


GAIN_CAVEAT: Final = (
    "Gains are of this schedule and do not add up; what is compiled again mostly gains less."
)

MOST_TOGETHER: Final = 3  # parts of a set, beside what donation frees
MOST_PARTS: Final = 10  # that sets are made of: those that gain most
MOST_SETS: Final = 5
_LEAST_DONATED: Final = 0.01  # of what is missing: less is not worth a row


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
        int, figure("how far it falls without the whole set", BYTES, is_summed=False)
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
    "the smallest sets of parts without which the program fits, the easiest to do without first",
    key="part",
    has_total=False,
    is_optional=True,
    option="--hbm SIZE",
    title="Without these",
)


def find_relief(report: MemoryReport, module: Module | None, headroom: Headroom) -> list[ReliefRow]:
    """Return the smallest sets of parts without which the program fits, the easiest remedy first.

    What donation frees is in every set, as it costs nothing; where it is enough, it is the first
    set, and the others show what else is. These are of one size, three at most. Where none
    suffices, the one that goes furthest, found by taking what gains most, one by one. Empty where
    it fits, or nothing says when values live.
    """
    if headroom.allocated_bytes is None or headroom.fits is not False:
        return []
    everything = divide_memory(report, module)
    reserved = Reserved(report, everything)
    excess = headroom.allocated_bytes - headroom.limit_bytes
    least = excess * _LEAST_DONATED
    donated = [part for part in everything if part.kind == "missed-donation"]
    donated = [part for part in donated if reserved.gain([part]) > least]
    others = _rank([part for part in everything if part.kind != "missed-donation"], reserved)
    gain = reserved.gain(donated)
    sets = [(gain, tuple(donated))] if gain >= excess else []
    beside = () if sets else tuple(donated)
    sets += _find_sets(others, reserved, excess, beside)[: MOST_SETS - len(sets)]
    return [
        row
        for number, (gain, chosen) in enumerate(sets or [_go_furthest(others, reserved, beside)], 1)
        for row in _write(number, gain, chosen, reserved, excess)
    ]


def _rank(parts: Sequence[Part], reserved: Reserved) -> list[Part]:
    """Return the parts that gain most; of those that gain nothing alone, the largest."""
    gains = [(reserved.gain([part]), _peak_of(part), part) for part in parts]
    gains.sort(key=lambda one: one[:2], reverse=True)
    return [part for _, _, part in gains[:MOST_PARTS]]


def _peak_of(part: Part) -> int:
    return add_curves([tenure.curve() for tenure in part.tenures]).peak()[0]


def _find_sets(
    parts: Sequence[Part], reserved: Reserved, excess: int, beside: tuple[Part, ...]
) -> list[tuple[int, tuple[Part, ...]]]:
    """Return the sets of fewest parts that gain as much as there is too much.

    `beside` are in each of them, and do not count.
    """
    for size in range(1, MOST_TOGETHER + 1):
        sets = (_sort_parts((*beside, *chosen)) for chosen in combinations(parts, size))
        hopeful = [(_find_effort(one), reserved.most(one), one) for one in sets]
        hopeful = [one for one in hopeful if one[1] >= excess]
        hopeful.sort(key=lambda one: one[:2])
        gains = ((effort, reserved.gain(one), one) for effort, _, one in hopeful)
        found = list(islice((one for one in gains if one[1] >= excess), MOST_SETS))
        if found:
            return [one[1:] for one in sorted(found, key=lambda one: one[:2])]
    return []


def _sort_parts(parts: Sequence[Part]) -> tuple[Part, ...]:
    return tuple(sorted(parts, key=lambda part: EASIEST_FIRST.index(part.kind)))


def _find_effort(parts: Sequence[Part]) -> tuple[int, ...]:
    """Return what orders sets: the hardest remedy of each decides, then the next hardest."""
    return tuple(sorted((EASIEST_FIRST.index(part.kind) for part in parts), reverse=True))


def _go_furthest(
    parts: Sequence[Part], reserved: Reserved, beside: tuple[Part, ...]
) -> tuple[int, tuple[Part, ...]]:
    """Take what gains most beside what is taken, until nothing gains any more."""
    chosen, best = beside, reserved.gain(beside)
    while len(chosen) < MOST_TOGETHER + len(beside):
        left = [part for part in parts if part not in chosen]
        gains = [reserved.gain((*chosen, part)) for part in left]
        if not gains or max(gains) <= best:
            break
        best = max(gains)
        chosen = (*chosen, left[gains.index(best)])
    return best, _sort_parts(chosen)


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
