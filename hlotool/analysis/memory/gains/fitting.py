"""Without which parts would a program fit into a limit?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, islice
from typing import Annotated, Final

from msgspec import Struct

from hlotool.analysis.memory.curve import add_curves
from hlotool.analysis.memory.gains.part import Part, divide_memory
from hlotool.analysis.memory.gains.remedy import EASIEST_FIRST, PART_MEANINGS, REMEDIES, PartKind
from hlotool.analysis.memory.gains.reserved import Reserved
from hlotool.analysis.memory.headroom import Headroom
from hlotool.analysis.memory.report import MemoryReport
from hlotool.fields import BYTES, NUMBER, RowList, column, figure
from hlotool.ir.module import Module

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
