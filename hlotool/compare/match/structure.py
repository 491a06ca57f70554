"""Who is whose partner, in two modules: what pairing them finds."""

from __future__ import annotations

from msgspec import Struct, field

from hlotool.analysis.graph.call_graph import reach
from hlotool.compare.match.content_numbers import ContentNumbers
from hlotool.compare.match.flow import Flow
from hlotool.compare.match.matching import Pairs
from hlotool.compare.match.signature import Signatures
from hlotool.compare.match.terms import Terms
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

    `moved` are the pairs whose instructions stand in computations that are no pair.
    `left_only` and `right_only` are the computations that no pair of instructions calls,
    those left out that the entry does not reach.
    """

    programs: tuple[Program, Program]
    left: Module
    right: Module
    terms: Terms
    signatures: Signatures
    numbers: ContentNumbers
    flow: Flow
    computations: list[ComputationPair] = field(default_factory=list)
    moved: Pairs = field(default_factory=dict)
    left_only: list[Computation] = field(default_factory=list)
    right_only: list[Computation] = field(default_factory=list)

    @property
    def is_equal(self) -> bool:
        """Whether the entries, and so all they call, are the same."""
        return self.computations[0].is_equal

    def partners(self) -> Pairs:
        """Return every paired instruction's first partner, left to right."""
        found: Pairs = dict(self.moved)
        for pair in reversed(self.computations):
            found.update(pair.pairs)
        return found

    def back(self) -> Pairs:
        """Return every paired instruction's last partner, right to left."""
        found = {right: left for left, right in self.moved.items()}
        for pair in self.computations:
            found.update((right, left) for left, right in pair.pairs.items())
        return found

    def marks(self) -> Pairs:
        """Return the right one of each pair, by either."""
        found = self.partners()
        for pairs in (self.moved, *(each.pairs for each in self.computations)):
            rights = pairs.values()
            found.update(zip(rights, rights, strict=True))
        return found


def list_reached(program: Program) -> list[Computation]:
    """List what the entry calls, directly or not; canonical prints hold more."""
    return reach([program.expect_module().entry], program.graph.called_by)
