"""Pairs of the computations and instructions of two programs, from the entries downwards.

Two computations are compared where a pair of instructions calls them in the same role;
those with equal numbers hold the same. A computation may be called, and so compared,
more than once (canonical prints repeat it at each call). What finds no counterpart there is
looked for in all computations (`moved`), before replaced instructions are paired.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Final, TypeAlias

from msgspec import Struct, field

from hlotool.analysis.graph.calls import list_branches, reach
from hlotool.compare.match.colours import ContentNumbers, number_contents
from hlotool.compare.match.comparable import Terms, agree_terms
from hlotool.compare.match.layers import align_layers
from hlotool.compare.match.loops import LoopPlan, align_loops, find_word
from hlotool.compare.match.matching import Matcher, Pairs, Shared
from hlotool.compare.match.moved import CONTAINERS, Flow, pair_beside, pair_moved
from hlotool.compare.match.signature import Signatures, family
from hlotool.hlo import Computation, Instruction, Module
from hlotool.hlo.opcodes import GIVEN, MAY_CALL
from hlotool.program.program import Program
from hlotool.table.sums import group_by


class ComputationPair(Struct, eq=False):
    """Two computations in the same role, and their instructions old to new."""

    old: Computation
    new: Computation
    pairs: Pairs
    is_equal: bool

    def new_only(self) -> list[Instruction]:
        """List the instructions that have no counterpart on the old side."""
        paired = set(self.pairs.values())
        return [one for one in self.new.instructions if one not in paired]


class Structure(Struct, eq=False):
    """All computation pairs, the entries' first, then in the order they were met.

    `moved` are the pairs whose instructions stand in computations that are no pair.
    `loops` says what became of the loops, `copies` which instruction of a body each of those is
    that stand in place of a loop.
    `old_only` and `new_only` are the computations that no pair of instructions calls,
    those left out that the entry does not reach.
    """

    programs: tuple[Program, Program]
    old: Module
    new: Module
    terms: Terms
    signatures: Signatures
    numbers: ContentNumbers
    flow: Flow
    computations: list[ComputationPair] = field(default_factory=list)
    moved: Pairs = field(default_factory=dict)
    loops: LoopPlan = LoopPlan()
    copies: Pairs = field(default_factory=dict)
    old_only: list[Computation] = field(default_factory=list)
    new_only: list[Computation] = field(default_factory=list)

    @property
    def is_equal(self) -> bool:
        """Whether the entries, and so all they call, are the same."""
        return self.computations[0].is_equal

    def counterparts(self) -> Pairs:
        """Return every paired instruction's first counterpart, old to new."""
        found: Pairs = dict(self.moved)
        for pair in reversed(self.computations):
            found.update(pair.pairs)
        return found

    def back(self) -> Pairs:
        """Return every paired instruction's last counterpart, new to old."""
        found = {new: old for old, new in self.moved.items()}
        for pair in self.computations:
            found.update((new, old) for old, new in pair.pairs.items())
        return found

    def marks(self) -> Pairs:
        """Return the new one of each pair, by either."""
        found = self.counterparts()
        for pairs in (self.moved, *(each.pairs for each in self.computations)):
            found.update((new, new) for new in pairs.values())
        return found


def compare_structure(old: Program, new: Program, *, is_strict: bool = False) -> Structure:
    """Pair two programs that have modules. Raises ParseError when a computation calls itself.

    A program is paired with itself without a look: nothing is numbered then.
    """
    structure = _begin(old, new, is_strict=is_strict)
    if old is new:
        structure.computations = [
            ComputationPair(one, one, {each: each for each in one.instructions}, is_equal=True)
            for one in list_reached(old)
        ]
        return structure
    _Pairer(structure).run()
    if not structure.is_equal:
        seen = {one for pair in structure.computations for one in (pair.old, pair.new)}
        structure.old_only = [one for one in list_reached(old) if one not in seen]
        structure.new_only = [one for one in list_reached(new) if one not in seen]
    return structure


def are_equal(old: Program, new: Program) -> bool:
    """Say whether `compare_structure` would find two entries equal: nothing is paired.

    Entries of more or fewer instructions are not, whatever they do.
    """
    entries = old.expect_module().entry, new.expect_module().entry
    # Numbering costs a walk through both modules; most texts that differ do so in length.
    if len(entries[0].instructions) != len(entries[1].instructions):
        return False
    number = _begin(old, new, is_strict=False).numbers.computation
    return number(entries[0]) == number(entries[1])


def _begin(old: Program, new: Program, *, is_strict: bool) -> Structure:
    """Return two programs with their contents numbered; nothing is paired yet."""
    modules = old.expect_module(), new.expect_module()
    terms = agree_terms(*modules, is_strict=is_strict)
    signatures = Signatures(terms)
    graphs = (old.graph,) if old is new else (old.graph, new.graph)
    numbers = ContentNumbers() if old is new else number_contents(graphs, signatures)
    return Structure((old, new), *modules, terms, signatures, numbers, Flow(graphs))


def _list_instructions(computations: Iterable[Computation]) -> Iterator[Instruction]:
    return (one for each in computations for one in each.instructions if one.opcode not in GIVEN)


def list_reached(program: Program) -> list[Computation]:
    """List what the entry calls, directly or not; canonical prints hold more."""
    return reach([program.expect_module().entry], program.graph.called_by)


# Without counterparts, of both sides.
_Free: TypeAlias = tuple[list[Instruction], list[Instruction]]
_CalledPair: TypeAlias = tuple[Computation, Computation, Pairs]  # with the parameters known
_ROUNDS: Final = 16  # in turn: what was replaced, what stands on it, what stands beside


class _Pairer:
    """Pairs the computations of a structure, and what stands in them.

    First what looks alike, from the entries down; then what moved; last what was replaced.
    Each may pair instructions whose computations are pairs then.
    """

    def __init__(self, structure: Structure) -> None:
        self._structure = structure
        self._known: set[tuple[Computation, Computation]] = set()
        self._matchers: list[Matcher] = []
        self._taken: set[Instruction] = set()  # of the moved pairs
        self._common = Shared(structure.signatures, structure.numbers, self._taken, {})
        self._barren: dict[str, int] = {}  # how many pairs there were when a search found none
        self._shared: set[Computation] = set()  # compared with two of the other side
        self._is_late = False

    def run(self) -> None:
        """Pair everything."""
        structure = self._structure
        old, new = structure.old.entry, structure.new.entry
        number, signatures = structure.numbers.computation, structure.signatures
        seeds: Pairs = {}
        if number(old) != number(new):
            signatures.layers = align_layers(structure.old, structure.new, signatures.dims)
            here, there = (_by_name(side.parameters, signatures) for side in (old, new))
            seeds = {one: there[name] for name, one in here.items() if name in there}
            structure.loops = align_loops(*structure.programs, number)
            signatures.has_other_loops = bool(structure.loops.first or structure.loops.copies)
            self._pair_loops()
        # Entries that hold the same are paired in order, and so is all they call: nothing is
        # searched.
        self._descend([(old, new, seeds)])
        structure.computations.sort(key=lambda one: (one.old, one.new) != (old, new))
        if structure.is_equal:
            return
        self._find_copies()
        self._pair_moved()
        self._match_all(Matcher.match_loosely)
        self._pair_moved()
        self._is_late = True
        for _ in range(_ROUNDS):
            found = self._match_all(Matcher.finish) + self._pair_moved(is_bridging=True)
            found += self._pair_beside()
            if not found:  # what nothing else settles
                found = self._match_all(Matcher.pair_named) or self._pair_beside(is_last=True)
            if not found:
                break

    def _pair_loops(self) -> None:
        """Pair what stands in another loop now, or in none, before what stands around it."""
        for old, new in self._structure.loops.first:
            self._shared.update((old, new))
            self._descend([(old, new, {})])
            self._match_all(Matcher.match_loosely)

    def _find_copies(self) -> None:
        """Find what a body's instructions were copied to: those are nobody else's counterparts.

        In turn, by opcode, dimensions and what they do. The first copy is the counterpart.
        """
        structure = self._structure
        copies, moved = structure.copies, structure.moved
        marks = structure.marks()
        for each in structure.loops.copies:
            bodies = group_by(_list_instructions(each.body), self._describe)
            taken: Counter[Hashable] = Counter()
            for one in _list_instructions(each.copied):
                key = None if one in marks or one in copies else self._describe(one)
                originals = bodies.get(key)
                if not originals:
                    continue
                place = taken[key]
                taken[key] += 1
                copies[one] = original = originals[place % len(originals)]
                if place < len(originals) and original not in marks:
                    moved.update([(original, one) if each.is_old else (one, original)])
                    self._taken.add(original)
        for one, original in list(copies.items()):  # with all that stands in a fusion
            for body in one.called_computations() if one.opcode == "fusion" else ():
                copies.update({each: original for each in body.instructions if each not in copies})
        self._taken.update(copies)

    def _describe(self, one: Instruction) -> Hashable:
        signatures = self._structure.signatures
        return family(one), signatures.dims(one.shape), find_word(one)

    def _match_all(self, step: Callable[[Matcher], None]) -> int:
        """Take a step in all computations, and go on with what its pairs call; count these."""
        found = 0
        for matcher in self._matchers:  # grows while it is walked, by what was matched so far
            pairs = matcher.take(step)
            self._keep_shared(matcher.old, matcher.new, pairs)
            self._descend(_list_called(pairs))
            found += len(pairs)
        return found

    def _descend(self, pending: list[_CalledPair]) -> None:
        """Pair two computations and all that their pairs call."""
        for old, new, seeds in pending:  # grows while it is walked
            if (old, new) not in self._known:
                self._known.add((old, new))
                pair = self._pair_instructions(old, new, seeds)
                self._structure.computations.append(pair)
                pending.extend(_list_called(pair.pairs))

    def _pair_instructions(
        self, old: Computation, new: Computation, seeds: Pairs
    ) -> ComputationPair:
        structure = self._structure
        numbers = structure.numbers
        here, there = numbers.contents[old], numbers.contents[new]
        is_equal = here.number == there.number
        if is_equal and here.both == there.both:
            pairs = dict(zip(old.instructions, new.instructions, strict=True))
            return ComputationPair(old, new, pairs, is_equal)
        for one in old.instructions:
            other = structure.moved.get(one)
            if other is not None and other.computation is new:
                seeds[one] = structure.moved.pop(one)
                self._taken -= {one, other}
        matcher = Matcher(old, new, self._common, seeds)
        matcher.take(Matcher.match_strictly)
        if self._is_late:
            matcher.take(Matcher.match_loosely)
        self._keep_shared(old, new, matcher.pairs)
        self._matchers.append(matcher)
        return ComputationPair(old, new, matcher.pairs, is_equal)

    def _keep_shared(self, old: Computation, new: Computation, pairs: Pairs) -> None:
        """Keep what is paired in a loop from those that pair what stands around it."""
        if old in self._shared or new in self._shared:
            self._taken.update(pairs, pairs.values())

    def _pair_beside(self, *, is_last: bool = False) -> int:
        """Pair what is left by what it stands beside; return how many pairs that were."""
        about = self._structure.flow, self._structure.signatures
        return self._search(
            f"beside {is_last}",
            lambda free, marks: pair_beside(free, marks, *about, is_last=is_last),
        )

    def _pair_moved(self, *, is_bridging: bool = False) -> int:
        """Pair what stands in another computation now; return how many pairs that were."""
        about = self._structure.flow, self._structure.signatures, self._structure.numbers
        return self._search(
            f"moved {is_bridging}",
            lambda free, marks: pair_moved(free, marks, *about, is_bridging=is_bridging),
        )

    def _search(self, name: str, search: Callable[[_Free, Pairs], Pairs]) -> int:
        """Search everywhere for counterparts, and go on with what they call; count the pairs.

        Where it found none, it is not asked again until there are more pairs.
        """
        structure = self._structure
        count = len(structure.moved) + sum(len(one.pairs) for one in self._matchers)
        if self._barren.get(name) == count:
            return 0
        marks = structure.marks()
        free = self._list_free(marks)
        found = search(free, marks) if all(free) else {}
        if not found:
            self._barren[name] = count
        # A pair inside a pair of computations belongs to its matcher, others are kept apart.
        matchers = {(one.old, one.new): one for one in self._matchers}
        for old, new in found.items():
            matcher = matchers.get((old.computation, new.computation))
            if matcher is None:
                structure.moved[old] = new
                self._taken.update((old, new))
            else:
                matcher.counterparts.pair(old, new)
        self._descend(_list_called(found))
        return len(found)

    def _list_free(self, marks: Pairs) -> _Free:
        """List what has no counterpart in pairs of computations, and all of those in no pair."""
        free: _Free = [], []
        for matcher in self._matchers:
            for side, some in zip(free, matcher.counterparts.list_free(), strict=True):
                side.extend(some)
        for place, program in enumerate(self._structure.programs):
            seen = {pair[place] for pair in self._known}
            for computation in list_reached(program):
                if computation not in seen:
                    free[place].extend(computation.instructions)
        told = marks.keys() | self._structure.copies.keys()
        old, new = ([one for one in side if one not in told] for side in free)
        return old, new


def _by_name(parameters: Iterable[Instruction], signatures: Signatures) -> dict[str, Instruction]:
    """Return parameters by their op_name, where that is the name of one alone."""
    names = [(signatures.op_name(one), one) for one in parameters]
    counts = Counter(name for name, _ in names)
    return {name: one for name, one in names if name and counts[name] == 1}


def _list_called(pairs: Pairs) -> list[_CalledPair]:
    """List the computations that pairs call, with the parameters known to be counterparts."""
    return [
        (one, other, _seed_operands(old, new, one, other, pairs))
        for old, new in pairs.items()
        if old.opcode in MAY_CALL
        for one, other in _called_in_step(old, new)
    ]


def _called_in_step(
    old: Instruction, new: Instruction
) -> Iterator[tuple[Computation, Computation]]:
    """Return the computations that a pair calls in the same role.

    One role has two spellings: a two-way conditional lists its branches by name or in a row.
    """
    if old.opcode == new.opcode == "conditional":
        return zip(list_branches(old), list_branches(new), strict=False)
    return zip(old.called_computations(), new.called_computations(), strict=False)


def _seed_operands(
    old: Instruction, new: Instruction, one: Computation, other: Computation, pairs: Pairs
) -> Pairs:
    """Pair parameters by the operands that they stand for, where there are more or fewer."""
    if old.opcode not in CONTAINERS or len(one.parameters) == len(other.parameters):
        return {}
    places = {operand: place for place, operand in enumerate(new.operands)}
    seeds: Pairs = {}
    for parameter, operand in zip(one.parameters, old.operands, strict=False):
        counterpart = pairs.get(operand)
        place = places.get(counterpart) if counterpart else None
        if place is not None and place < len(other.parameters):
            seeds[parameter] = other.parameters[place]
    return seeds
