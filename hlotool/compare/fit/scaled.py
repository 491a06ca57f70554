"""The text of a program with every number that follows a law, so that it can be written anew.

The largest program is the base. Where an instruction has a counterpart in each of the others, the
numbers of both lines stand for each other, in order: sizes, slices, constants, trip counts. What is
written for other values is a program as any other, and its figures are worked out as those of any.
Order, fusions and names are the base's, whatever XLA would choose at that size.

    base, batch 16:     %add.1 = f32[16,256]{1,0} add(...)        law of 16: batch; of 256: 256
    other, batch 8:     %add.3 = f32[8,256]{1,0} add(...)
    written for 24:     %add.1 = f32[24,256]{1,0} add(...)
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from math import lcm
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from hlotool.compare.fit.laws import Law, Sizes, Variable, find_law
from hlotool.compare.match.structure import Structure, compare_structure
from hlotool.hlo import Instruction
from hlotool.hlo.parser import parse_module
from hlotool.program.program import Program
from hlotool.text import Source

Span: TypeAlias = tuple[int, int]
Numbers: TypeAlias = tuple[Span, ...]  # of an instruction's line, by their places in the text
_HEADER: Final = re.compile(r"(?:ENTRY )?%?([\w.\-]+)(?: \(.*)? \{$")
_NAMED: Final = re.compile(r"\s+(?:ROOT )?%?([\w.\-]+) = ")
# Where a line has sizes: shapes, literals, and the attributes that are about elements. Numbers of
# parameters, tuple elements, dimensions, devices and tiles are no sizes.
_SIZES: Final = re.compile(
    r"\b[a-z][a-z0-9]*\[([\d,<=]*)\]|\bconstant\((\d+)\)"
    r"|\b(?:slice|padding|window|dynamic_slice_sizes|slice_sizes)=(\{[^}]*\}|[^\s,]*)"
)
_NUMBER: Final = re.compile(r"\d+")
_NOTES: Final = re.compile(r", (?:metadata|backend_config|frontend_attributes|sharding)=")
_TRIPS: Final = re.compile(r'"known_trip_count":\{"n":"(\d+)"\}')


_LEAST_SHARE: Final = 0.25


class Template(Struct, frozen=True, eq=False):
    """The base with the laws of its numbers.

    `matched_share` is the share of all results' bytes in instructions whose every number has a law
    through a counterpart in each other program. `lost` are the instructions that have none. `steps`
    are the least by which each variable may grow, if every array that is given is to be whole, and
    every loop to run whole rounds.
    """

    base: Program
    point: Sizes
    pieces: tuple[tuple[Span, Law], ...]
    matched_share: float
    lost: tuple[Instruction, ...]
    structures: tuple[Structure, ...]
    steps: tuple[int, ...]

    def at(self, values: Sizes) -> Program:
        """Return the program as it would be; raises ParseError where the text is none then.

        A number that would be no whole one, as of a tile that XLA chose, is rounded.
        """
        text = self.base.expect_module().source.text
        # Thousands of numbers share a few laws, which `find_law` makes once each.
        laws = {id(law): law for _, law in self.pieces}
        numbers = {key: str(max(round(law.at(values)), 1)) for key, law in laws.items()}
        parts: list[str] = []
        last = 0
        for (start, end), law in self.pieces:
            parts += (text[last:start], numbers[id(law)])
            last = end
        source = Source("".join((*parts, text[last:])), self.base.paths.path)
        assumptions = replace(self.base.assumptions, machine=self.base.machine)
        return Program(self.base.name, parse_module(source), assumptions=assumptions)


def make_template(programs: Sequence[Program], variables: Sequence[Variable]) -> Template:
    """Find the laws of the largest program's numbers, the last of those equally large.

    Raises ParseError when a computation calls itself.
    """
    points = tuple(zip(*(one.values for one in variables), strict=True))
    place = max(range(len(programs)), key=lambda one: (points[one], one))
    base, others = programs[place], [one for one in programs if one is not programs[place]]
    points = (points[place], *(one for number, one in enumerate(points) if number != place))
    structures = tuple(compare_structure(base, other) for other in others)
    counterparts = [each.counterparts() for each in structures]
    lines, *other_lines = (_read_lines(one) for one in (base, *others))
    texts = [one.expect_module().source.text for one in (base, *others)]
    reached = dict.fromkeys(one.old for one in structures[0].computations)  # in a fixed order
    found: dict[Instruction, dict[Span, Law] | None] = {}
    for one in (one for each in reached for one in each.instructions):
        other_ones = [pairs.get(one) for pairs in counterparts]
        same = [lines.get(_key(one))]
        same += [
            those.get(_key(other)) if other else None
            for other, those in zip(other_ones, other_lines, strict=True)
        ]
        found[one] = _find_laws(same, texts, points)
    words = _count_laws([laws for laws in found.values() if laws], texts[0])
    known: dict[Span, Law] = {}
    lost, matched_bytes, all_bytes = [], 0, 0
    for one, laws in found.items():
        size = base.costs.find_size_bytes(one.shape) or 0
        all_bytes += size
        if laws is None or not _are_likely(laws, words, texts[0]):
            lost.append(one)
            continue
        known.update(laws)
        matched_bytes += size
    headers = [tuple(_list_numbers(text, *_find_header(text))) for text in texts]
    known.update(_find_laws(headers, texts, points) or {})
    # What has no law is as large as most of the sizes that are written alike.
    for line in lines.values():
        for span in line:
            if span not in known and (counts := words.get(texts[0][slice(*span)])):
                known[span] = counts.most_common(1)[0][0]
    pieces = sorted((span, law) for span, law in known.items() if any(law.powers))
    share = matched_bytes / all_bytes if all_bytes else 0.0
    given = [
        lines[_key(one)] for one in base.expect_module().entry.parameters if _key(one) in lines
    ]
    counted = [known[span] for line in given for span in line if span in known]
    mark = _TRIPS.pattern.partition("(")[0]
    counted += [
        law for (at, _), law in known.items() if texts[0].endswith(mark, at - len(mark), at)
    ]
    steps = tuple(
        lcm(1, *(law.coefficient.denominator for law in counted if law.powers[place] == 1))
        for place in range(len(variables))
    )
    return Template(base, points[0], tuple(pieces), share, tuple(lost), structures, steps)


def _count_laws(found: Sequence[dict[Span, Law]], text: str) -> dict[str, Counter[Law]]:
    """Return which laws the numbers have that are written alike, and how often."""
    counts: defaultdict[str, Counter[Law]] = defaultdict(Counter)
    for laws in found:
        for span, law in laws.items():
            counts[text[slice(*span)]][law] += 1
    return counts


def _are_likely(laws: dict[Span, Law], words: dict[str, Counter[Law]], text: str) -> bool:
    """Say whether laws are those of sizes, not of two instructions that do not belong together.

    `batch - 1` is one, and so is the square of a size where more than a few have it; one that
    falls only beside one that grows, as where a product is split into fewer and larger parts.
    """
    if sum(sum(law.powers) for law in laws.values()) < 0:
        return False
    for span, law in laws.items():
        counts = words[text[slice(*span)]]
        is_plain = all(-1 <= power <= 1 for power in law.powers) and abs(law.offset) <= 1
        if not is_plain and counts[law] < _LEAST_SHARE * counts.total():
            return False
    return True


def _key(one: Instruction) -> tuple[str, str]:
    return one.computation.name, one.name


def _read_lines(program: Program) -> dict[tuple[str, str], Numbers]:
    """Return the numbers of each instruction of a text that prints one a line, as XLA does."""
    text = program.expect_module().source.text
    found: dict[tuple[str, str], Numbers] = {}
    computation, start = "", 0
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        match = _NAMED.match(text, start, end)
        if match:
            found[computation, match[1]] = tuple(_list_numbers(text, match.end(), end))
        elif text.startswith("{", end - 1) and (header := _HEADER.fullmatch(text, start, end)):
            computation = header[1]
            found[computation, ""] = tuple(_list_numbers(text, start, end))
        start = end + 1
    return found


def _list_numbers(text: str, start: int, end: int) -> Iterator[Span]:
    """List where a line has sizes, and the trip count that XLA notes behind them."""
    notes = _NOTES.search(text, start, end)
    for match in _SIZES.finditer(text, start, notes.start() if notes else end):
        yield from (one.span() for one in _NUMBER.finditer(text, *match.span(match.lastindex or 0)))
    if notes:
        for match in _TRIPS.finditer(text, notes.start(), end):
            yield match.span(1)


def _find_header(text: str) -> Span:
    start = max(text.find("HloModule"), 0)
    end = text.find("\n", start)
    return start, len(text) if end < 0 else end


def _find_laws(
    lines: Sequence[Numbers | None], texts: Sequence[str], points: tuple[Sizes, ...]
) -> dict[Span, Law] | None:
    """Return the laws of a line's numbers, None where a counterpart or a law is missing."""
    spans = [line for line in lines if line is not None]
    if len(spans) < len(lines) or len({len(each) for each in spans}) > 1:
        return None
    found: dict[Span, Law] = {}
    for same in zip(*spans, strict=True):
        numbers = tuple(int(text[slice(*span)]) for text, span in zip(texts, same, strict=True))
        law = find_law(numbers, points)
        if law is None:
            return None
        found[same[0]] = law
    return found
