"""Pair the computations and instructions of two modules, from the entries downwards.

Two computations are compared where a pair of instructions calls them in the same role;
those with equal numbers hold the same. A computation may be called, and so compared,
more than once (canonical prints repeat it at each call). What finds no partner there is
looked for in all computations (`moved`), before replaced instructions are paired.

Do two programs do the same, and which computation and instruction is whose partner?
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from hlotool.compare.match.colours import ContentNumbers, number_contents
from hlotool.compare.match.comparable import agree_terms
from hlotool.compare.match.flow import Flow
from hlotool.compare.match.layers import align_layers, seed_parameters
from hlotool.compare.match.matching import KnownSteps, Matcher, Pairs
from hlotool.compare.match.moved import pair_beside, pair_moved
from hlotool.compare.match.signature import Signatures
from hlotool.compare.match.structure import (
    CalledPair,
    ComputationPair,
    Structure,
    list_called,
    list_reached,
)
from hlotool.hlo import Computation, Instruction
from hlotool.program.program import Program

_Free: TypeAlias = tuple[list[Instruction], list[Instruction]]  # without partners, of both sides
_ROUNDS: Final = 16  # in turn: what was replaced, what stands on it, what stands beside


class PairingSteps:
    """Pairs the computations of a structure, and what stands in them.

    First what looks alike, from the entries down; then what moved; last what was replaced.
    Each may pair instructions whose computations are pairs then.
    """

    def __init__(self, structure: Structure) -> None:
        self._structure = structure
        self._known: set[tuple[Computation, Computation]] = set()
        self._matchers: list[Matcher] = []
        self._steps: KnownSteps = {}
        self._taken: set[Instruction] = set()  # of the moved pairs
        self._barren: dict[str, int] = {}  # how many pairs there were when a search found none
        self._is_late = False

    def run(self) -> None:
        """Pair everything."""
        structure = self._structure
        left, right = structure.left.entry, structure.right.entry
        number = structure.numbers.computation
        seeds: Pairs = {}
        if number(left) != number(right):
            layers = align_layers(structure.left, structure.right, structure.signatures)
            structure.signatures.layers = layers
            seeds = seed_parameters(left, right, structure.signatures)
        self._descend([(left, right, seeds)])
        if structure.is_equal:
            return
        self._pair_moved()
        for matcher in self._matchers:  # grows while it is walked, by what was matched so far
            self._descend(list_called(matcher.match_loosely()))
        self._pair_moved()
        self._is_late = True
        for _ in range(_ROUNDS):
            if self._finish() + self._pair_beside() == 0 and not self._pair_last():
                break

    def _finish(self) -> int:
        """Pair what was replaced, and what moved then; return how many pairs that were."""
        found = 0
        for matcher in self._matchers:  # grows while it is walked
            pairs = matcher.finish()
            self._descend(list_called(pairs))
            found += len(pairs)
        return found + self._pair_moved(is_bridging=True)

    def _pair_named(self) -> int:
        """Pair what is left and called alike; return how many pairs that were."""
        found = 0
        for matcher in self._matchers:
            pairs = matcher.pair_named()
            self._descend(list_called(pairs))
            found += len(pairs)
        return found

    def _descend(self, pending: list[CalledPair]) -> None:
        """Pair two computations and all that their pairs call."""
        for left, right, seeds in pending:  # grows while it is walked
            if (left, right) not in self._known:
                self._known.add((left, right))
                pair = self._pair_instructions(left, right, seeds)
                self._structure.computations.append(pair)
                pending.extend(list_called(pair.pairs))

    def _pair_instructions(
        self, left: Computation, right: Computation, seeds: Pairs
    ) -> ComputationPair:
        structure = self._structure
        numbers = structure.numbers
        here, there = numbers.contents[left], numbers.contents[right]
        is_equal = here.number == there.number
        if is_equal and here.both == there.both:
            pairs = dict(zip(left.instructions, right.instructions, strict=True))
            return ComputationPair(left, right, pairs, is_equal)
        moved = {one: structure.moved.get(one) for one in left.instructions}
        for one, other in moved.items():
            if other is not None and other.computation is right:
                seeds[one] = structure.moved.pop(one)
                self._taken -= {one, other}
        matcher = Matcher(
            *(left, right, structure.signatures, numbers),
            seeds=seeds,
            taken=self._taken,
            known=self._steps,
        )
        matcher.match_strictly()
        if self._is_late:
            matcher.match_loosely()
        self._matchers.append(matcher)
        return ComputationPair(left, right, matcher.pairs, is_equal)

    def _pair_last(self) -> int:
        """Pair what nothing else settles; return how many pairs that were."""
        return self._pair_named() or self._pair_beside(is_last=True)

    def _pair_beside(self, *, is_last: bool = False) -> int:
        """Pair what is left by what it stands beside; return how many pairs that were."""
        flow, signatures = self._structure.flow, self._structure.signatures
        return self._search(
            f"beside {is_last}",
            lambda free, marks: pair_beside(free, marks, flow, signatures, is_last=is_last),
        )

    def _pair_moved(self, *, is_bridging: bool = False) -> int:
        """Pair what stands in another computation now, and go on with what that calls.

        Returns how many pairs that were.
        """
        one = self._structure
        return self._search(
            f"moved {is_bridging}",
            lambda free, marks: pair_moved(
                *(free, marks, one.flow, one.signatures, one.numbers), is_bridging=is_bridging
            ),
        )

    def _search(self, name: str, search: Callable[[_Free, Pairs], Pairs]) -> int:
        """Search everywhere for partners; return how many were found.

        Where it found none, it is not asked again until there are more pairs.
        """
        count = len(self._structure.moved) + sum(len(one.pairs) for one in self._matchers)
        if self._barren.get(name) == count:
            return 0
        marks = self._structure.marks()
        free = self._list_free(marks)
        found = search(free, marks) if all(free) else {}
        if not found:
            self._barren[name] = count
        return self._accept(found)

    def _accept(self, found: Pairs) -> int:
        """Take pairs that stand anywhere, and go on with what they call."""
        structure = self._structure
        matchers = {(one.left, one.right): one for one in self._matchers}
        for left, right in found.items():
            matcher = matchers.get((left.computation, right.computation))
            if matcher is None:
                structure.moved[left] = right
                self._taken.update((left, right))
            else:
                matcher.accept(left, right)
        self._descend(list_called(found))
        return len(found)

    def _list_free(self, marks: Pairs) -> _Free:
        """List what has no partner in pairs of computations, and all of those in no pair."""
        matched = zip(*(matcher.list_free() for matcher in self._matchers), strict=True)
        free = [[one for some in side for one in some] for side in matched] or [[], []]
        for place, program in enumerate(self._structure.programs):
            seen = {pair[place] for pair in self._known}
            alone = [one for one in list_reached(program) if one not in seen]
            free[place] += [one for each in alone for one in each.instructions]
        left, right = ([one for one in side if one not in marks] for side in free)
        return left, right


def compare_structure(left: Program, right: Program, *, is_strict: bool = False) -> Structure:
    """Pair two programs that have modules. Raises ParseError when a computation calls itself.

    A program is paired with itself without a look: nothing is numbered then.
    """
    if left is right:
        return _pair_with_itself(left, is_strict=is_strict)
    structure = _begin(left, right, is_strict=is_strict)
    PairingSteps(structure).run()
    if structure.is_equal:
        return structure
    seen = {one for pair in structure.computations for one in (pair.left, pair.right)}
    structure.left_only = [one for one in list_reached(left) if one not in seen]
    structure.right_only = [one for one in list_reached(right) if one not in seen]
    return structure


def are_equal(left: Program, right: Program) -> bool:
    """Say whether `compare_structure` would find two entries equal: nothing is paired.

    Entries of more or fewer instructions are not, whatever they do.
    """
    entries = left.expect_module().entry, right.expect_module().entry
    if len(entries[0].instructions) != len(entries[1].instructions):
        return False
    structure = _begin(left, right, is_strict=False)
    number = structure.numbers.computation
    return number(structure.left.entry) == number(structure.right.entry)


def _begin(left: Program, right: Program, *, is_strict: bool) -> Structure:
    """Return two programs with their contents numbered; nothing is paired yet."""
    modules = left.expect_module(), right.expect_module()
    terms = agree_terms(*modules, is_strict=is_strict)
    signatures = Signatures(terms)
    numbers = number_contents((left.graph, right.graph), signatures)
    flow = Flow((left.graph, right.graph))
    return Structure((left, right), *modules, terms, signatures, numbers, flow)


def _pair_with_itself(program: Program, *, is_strict: bool) -> Structure:
    module, graphs = program.expect_module(), (program.graph,)
    signatures = Signatures(agree_terms(module, module, is_strict=is_strict))
    return Structure(
        (program, program),
        *(module, module, signatures.terms, signatures, ContentNumbers(), Flow(graphs)),
        computations=[
            ComputationPair(one, one, {each: each for each in one.instructions}, is_equal=True)
            for one in list_reached(program)
        ],
    )
