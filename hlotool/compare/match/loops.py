"""The loops of two programs, aligned first: added, removed, unrolled, rolled, split.

A level is what runs equally often: the entry, or the body of a loop, with all that it calls but
loops. Words say what a level does: opcode, primitive and the innermost scope. Loops whose words
have the same proportions are counterparts, at whatever depth; a body that was unrolled in part
keeps its proportions. Words of a loop without counterpart are looked for in the levels of the
other side:

    nowhere                          it is new, or gone, with what it runs
    once, in a level around it       it was added around what is there, or removed
    several times                    it was rolled, or unrolled: one becomes many
    in another loop's body           that loop was split, or joined

What stands in a level that moved is paired before the entries are, and copies of a body before
anything takes them for something new.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cache
from heapq import heappop, heappush
from itertools import product
from math import sqrt
from statistics import median_low
from typing import Final, TypeAlias

from msgspec import Struct

from hlotool.analysis.graph.executions import Loop
from hlotool.analysis.origin import find_scope
from hlotool.compare.match.signature import family
from hlotool.hlo import ArrayShape, Computation, Instruction, Shape
from hlotool.hlo.opcodes import FREE, MOVES, SLICES
from hlotool.program.program import Program
from hlotool.table.words import fold_numbers

LoopKind: TypeAlias = str  # of the kinds `loop-…` of hlotool/data/reasons.toml, or `trips`
_Words: TypeAlias = Counter[tuple[Hashable, ...]]
_ALIKE: Final = 0.7  # cosine of two bodies that are counterparts
_ROUGHLY: Final = 0.3
_HELD: Final = 0.5  # of a loop's words that stand in a level
_FEWEST: Final = 3  # different words, so that they tell where a loop stood
_COPIES: Final = 2  # of a body, so that it was unrolled
# What a loop adds to cut its inputs apart and to stack its results, and what says nothing.
_SILENT: Final = FREE | MOVES | SLICES | {"broadcast", "call", "iota", "while"}


class LoopChange(Struct, frozen=True):
    """What became of a loop; a side that does not have it is None.

    `old` and `new` are rounds, or how many copies stand in its place; None where unknown.
    """

    kind: LoopKind
    old_loop: Instruction | None
    new_loop: Instruction | None
    old: int | None
    new: int | None


class Copies(Struct, frozen=True):
    """The computations of a body, and those of the other side that hold copies of it."""

    body: Sequence[Computation]
    copied: Sequence[Computation]
    is_old: bool  # whether the body is of the old side


class LoopPlan(Struct, frozen=True):
    """What became of the loops; which computations to pair before the entries; copies."""

    changes: tuple[LoopChange, ...] = ()
    first: tuple[tuple[Computation, Computation], ...] = ()
    copies: tuple[Copies, ...] = ()


class _Level(Struct, eq=False):
    """What runs as often as the entry, or as a loop's body."""

    loop: Loop | None
    parent: _Level | None
    computations: list[Computation]
    words: _Words
    norm: float = 0.0

    @property
    def depth(self) -> int:
        """How many loops stand around it."""
        return 0 if self.parent is None else self.parent.depth + 1

    @property
    def trips(self) -> int | None:
        """The rounds of its loop."""
        return self.loop.trips.count if self.loop else None


@cache
def _word(kind: str, op_name: str) -> tuple[Hashable, ...]:
    """Return what an instruction does: numbers of layers, and what stands around, do not count."""
    scope = (find_scope(op_name) or "").rpartition("/")[2]
    return kind, "transpose(" in op_name, fold_numbers(scope), op_name.rpartition("/")[2]


def _list_words(computation: Computation) -> Iterator[tuple[Hashable, ...]]:
    for one in computation.instructions:
        if one.opcode not in _SILENT and not _is_index(one.shape):
            yield find_word(one)


def _is_index(shape: Shape) -> bool:
    if not isinstance(shape, ArrayShape) or shape.dims:
        return False
    return shape.dtype.startswith(("s", "u", "pred"))


def find_word(one: Instruction) -> tuple[Hashable, ...]:
    """Return what an instruction does, by its op_name, else by how many operands it takes."""
    name = one.metadata().op_name
    return _word(family(one), name) if name else (family(one), False, len(one.operands))


def _list_levels(program: Program) -> list[_Level]:
    """List the entry and the bodies of all loops, outer ones first.

    What is called twice is there twice.
    """
    loops = {loop.instruction: loop for loop in program.executions.loops}
    graph = program.graph
    places = {one: place for place, one in enumerate(graph.callees_first)}
    words = cache(lambda one: Counter(_list_words(one)))
    levels = [_Level(None, None, [program.expect_module().entry], Counter())]
    seen: set[Computation] = set()
    for level in levels:  # grows while it is walked
        times = Counter(level.computations)
        waiting = [(-places[one], one) for one in level.computations]
        level.computations.clear()
        while waiting:  # callers first
            _, computation = heappop(waiting)
            level.computations.append(computation)
            for word, count in words(computation).items():
                level.words[word] += count * times[computation]
            if computation not in graph.below:
                continue
            for one in computation.instructions:
                loop = loops.get(one)
                if loop is not None and loop.body not in seen:
                    seen.add(loop.body)
                    levels.append(_Level(loop, level, [loop.body], Counter()))
                for called in graph.callees.get(one, ()) if one.opcode != "while" else ():
                    if called not in times:
                        heappush(waiting, (-places[called], called))
                    times[called] += times[computation]
        level.norm = sqrt(sum(count * count for count in level.words.values()))
    return levels


def _measure_likeness(old: _Level, new: _Level) -> float:
    """Return the cosine of two levels' words: copies do not change it."""
    shared = old.words.keys() & new.words.keys()
    product = sum(old.words[word] * new.words[word] for word in shared)
    return product / (old.norm * new.norm) if product else 0.0


def align_loops(old: Program, new: Program, number: Callable[[Computation], int]) -> LoopPlan:
    """Align the loops of two programs; equal numbers are of bodies that hold the same."""
    loops = [
        Counter((number(loop.body), loop.trips.count) for loop in program.executions.loops)
        for program in (old, new)
    ]
    if loops[0] == loops[1]:
        return LoopPlan()
    here, there = _list_levels(old), _list_levels(new)
    pairs, back = _pair_levels(here, there)
    changes: list[LoopChange] = []
    first: dict[tuple[Computation, Computation], None] = {}
    copies: list[Copies] = []
    for level in here[1:]:
        if level in pairs:
            changes += _compare_rounds(level, pairs[level])
    for is_old, levels, others, counterparts, known in (
        (True, here, there, back, pairs),
        (False, there, here, pairs, back),
    ):
        places = {
            level: _find_place(level, others, counterparts, known)
            for level in levels[1:]
            if level not in known
        }
        # The backward pass over layers is unrolled as the forward pass is, though it does more.
        counts: Counter[tuple[_Level | None, int | None]] = Counter()
        for level, (place, count) in places.items():
            counts[place, level.trips] = max(counts[place, level.trips], count)
        for level, (place, found) in places.items():
            count = counts[place, level.trips] if place else found
            changes.append(_describe(level, place, count, is_old=is_old))
            if place is not None and count >= _COPIES:
                copies.append(Copies(level.computations, place.computations, is_old))
            elif place is not None:
                ours, theirs = _find_most_alike(level, place)
                first[(ours, theirs) if is_old else (theirs, ours)] = None
    return LoopPlan(tuple(changes), tuple(first), tuple(copies))


def _pair_levels(
    old: Sequence[_Level], new: Sequence[_Level]
) -> tuple[dict[_Level, _Level], dict[_Level, _Level]]:
    """Pair the entries, then loops of like words, those most alike and at one depth first."""
    pairs, back = {old[0]: new[0]}, {new[0]: old[0]}
    found = [
        (round(_measure_likeness(one, other), 3), -abs(one.depth - other.depth), -place, one, other)
        for place, one in enumerate(old[1:])
        for other in new[1:]
    ]
    found.sort(key=lambda each: each[:3], reverse=True)
    for least in (_ALIKE, _ROUGHLY):
        for likeness, _, _, one, other in found:
            if likeness < least or one in pairs or other in back:
                continue
            # What is only roughly alike must stand in the same place as well.
            if least == _ALIKE or (one.parent and pairs.get(one.parent) is other.parent):
                pairs[one], back[other] = other, one
    return pairs, back


def _compare_rounds(old: _Level, new: _Level) -> Iterator[LoopChange]:
    """Yield that a loop makes more rounds or fewer, or that its body was unrolled in part."""
    one, other = old.trips, new.trips
    if one == other or not one or not other or old.loop is None or new.loop is None:
        return
    more, fewer = (old, new) if one > other else (new, old)
    times = max(one, other) // min(one, other)
    is_copied = times >= _COPIES and _count_copies(more.words, fewer.words) == times
    parted: LoopKind = "partly-unrolled" if one > other else "partly-rolled"
    kind: LoopKind = parted if is_copied else "trips"
    yield LoopChange(kind, old.loop.instruction, new.loop.instruction, one, other)


def _count_copies(words: _Words, held: Mapping[tuple[Hashable, ...], int]) -> int:
    """Return how often a level holds what a body does; 0 where it holds less than half of that."""
    shared = [held[word] // count for word, count in words.items() if held.get(word)]
    is_held = len(shared) >= max(_HELD * len(words), min(_FEWEST, len(words)))
    return max(median_low(shared), 1) if shared and is_held else 0


def _find_place(
    level: _Level,
    others: Sequence[_Level],
    counterparts: Mapping[_Level, _Level],
    known: Mapping[_Level, _Level],
) -> tuple[_Level | None, int]:
    """Return the level of the other side in which a loop's words stand, and how often they do.

    What the counterpart of that level has as well is no sign of it. A loop that holds nothing
    but loops stands where these do.
    """
    best, count, most = None, 0, 0
    for view in (Counter, _merge_passes):
        for other in others if best is None else ():
            counterpart = counterparts.get(other)
            words = view(level.words)
            surplus = view(other.words - counterpart.words if counterpart else other.words)
            copies = _count_copies(words, surplus)
            shared = len(words.keys() & surplus.keys()) if copies else 0
            if shared > most:
                best, count, most = other, copies, shared
    if len(level.words) < _FEWEST and not any(word[2] for word in level.words):
        best, count = None, 0  # a few nameless operations stand anywhere
    inner = [other.parent for one, other in known.items() if one.parent is level]
    if best is None and inner:
        best, count = inner[0], 1
    return best, count


def _merge_passes(words: _Words) -> _Words:
    """Return words of the forward and the backward pass as one: a function may name neither."""
    found: _Words = Counter()
    for (kind, _, *where), count in words.items():
        found[kind, *where] += count
    return found


def _describe(level: _Level, place: _Level | None, count: int, *, is_old: bool) -> LoopChange:
    """Say what became of a loop that has no counterpart."""
    kinds: tuple[LoopKind, LoopKind] = "removed", "added"
    if place is None:
        kinds = "gone", "new"
    elif count >= _COPIES:
        kinds = "unrolled", "rolled"
    elif place.loop is not None:
        kinds = "joined", "split"
    own = level.loop.instruction if level.loop else None
    other = place.loop.instruction if place and place.loop else None
    rounds = level.trips, count if count >= _COPIES else place.trips if place else None
    if is_old:
        return LoopChange(kinds[0], own, other, *rounds)
    return LoopChange(kinds[1], other, own, *reversed(rounds))


def _find_most_alike(level: _Level, place: _Level) -> tuple[Computation, Computation]:
    """Return the computations of two levels that have most words in common."""
    words = [
        [(one, Counter(_list_words(one))) for one in each.computations] for each in (level, place)
    ]
    ours, theirs = max(product(*words), key=lambda both: (both[0][1] & both[1][1]).total())
    return ours[0], theirs[0]
