"""Pair the computations and instructions of two modules, from the entries downwards.

Two computations are compared where a pair of instructions calls them in the same role;
those with equal numbers hold the same. A computation may be called, and so compared,
more than once (canonical prints repeat it at each call).
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, field

from hlotool.analysis.graph.call_graph import find_branches, reach
from hlotool.diff.match.content_numbers import ContentNumbers, number_contents
from hlotool.diff.match.matching import Matcher, Pairs
from hlotool.diff.match.signature import Signatures
from hlotool.diff.match.terms import Terms, agree_terms
from hlotool.ir import Computation, Instruction, Module
from hlotool.program.program import Program


class ComputationPair(Struct, eq=False):
    """Two computations in the same role, and their instructions left to right."""

    left: Computation
    right: Computation
    pairs: Pairs
    is_equal: bool

    def left_only(self) -> list[Instruction]:
        """List the instructions that have no partner on the right."""
        return [one for one in self.left.instructions if one not in self.pairs]

    def right_only(self) -> list[Instruction]:
        """List the instructions that have no partner on the left."""
        paired = set(self.pairs.values())
        return [one for one in self.right.instructions if one not in paired]


class Structure(Struct, eq=False):
    """All computation pairs, the entries' first, then in the order they were met.

    `left_only` and `right_only` are the computations that no pair of instructions calls,
    those left out that the entry does not reach.
    """

    programs: tuple[Program, Program]
    left: Module
    right: Module
    terms: Terms
    signatures: Signatures
    numbers: ContentNumbers
    computations: list[ComputationPair] = field(default_factory=list)
    left_only: list[Computation] = field(default_factory=list)
    right_only: list[Computation] = field(default_factory=list)

    @property
    def is_equal(self) -> bool:
        """Whether the entries, and so all they call, are the same."""
        return self.computations[0].is_equal

    def partners(self) -> Pairs:
        """Return every paired instruction's first partner, left to right."""
        found: Pairs = {}
        for pair in reversed(self.computations):
            found.update(pair.pairs)
        return found


def compare_structure(left: Program, right: Program, *, is_strict: bool = False) -> Structure:
    """Pair two programs that have modules. Raises ParseError when a computation calls itself."""
    modules = left.expect_module(), right.expect_module()
    terms = agree_terms(*modules, is_strict=is_strict)
    signatures = Signatures(terms)
    numbers = number_contents((left.graph, right.graph), signatures)
    structure = Structure((left, right), *modules, terms, signatures, numbers)
    _pair_all(structure)
    if structure.is_equal:
        return structure
    seen = {one for pair in structure.computations for one in (pair.left, pair.right)}
    structure.left_only = [one for one in list_reached(left) if one not in seen]
    structure.right_only = [one for one in list_reached(right) if one not in seen]
    return structure


def list_reached(program: Program) -> list[Computation]:
    """List what the entry calls, directly or not; canonical prints hold more."""
    return reach([program.expect_module().entry], program.graph.called_by)


def _pair_all(structure: Structure) -> None:
    pending = [(structure.left.entry, structure.right.entry)]
    known = set(pending)
    for left, right in pending:  # grows while it is walked
        pair = _pair_instructions(left, right, structure)
        structure.computations.append(pair)
        for one, other in pair.pairs.items():
            for called in _called_in_step(one, other):
                if called not in known:
                    known.add(called)
                    pending.append(called)


def _pair_instructions(
    left: Computation, right: Computation, structure: Structure
) -> ComputationPair:
    numbers = structure.numbers
    both = numbers.both
    is_equal = numbers.computations[left] == numbers.computations[right]
    if is_equal and [both[one] for one in left.instructions] == [
        both[one] for one in right.instructions
    ]:
        pairs = dict(zip(left.instructions, right.instructions, strict=True))
    else:
        matcher = Matcher(left, right, structure.signatures)
        pairs = matcher.match(numbers.signatures.__getitem__, both.__getitem__)
    return ComputationPair(left, right, pairs, is_equal)


def _called_in_step(
    left: Instruction, right: Instruction
) -> Iterator[tuple[Computation, Computation]]:
    """Yield the computations that a pair calls in the same role.

    One role has two spellings: a two-way conditional lists its branches by name or in a row.
    """
    if left.opcode == right.opcode == "conditional":
        yield from zip(find_branches(left), find_branches(right), strict=False)
        return
    yield from zip(left.called_computations(), right.called_computations(), strict=False)
