"""Who is whose partner, in two modules: what pairing them finds.

Which computations do partners call, and which of their parameters are partners then?
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from msgspec import Struct, field

from hlotool.analysis.graph.calls import list_branches, reach
from hlotool.compare.match.colours import ContentNumbers
from hlotool.compare.match.comparable import Terms
from hlotool.compare.match.flow import CONTAINERS, Flow
from hlotool.compare.match.matching import Pairs
from hlotool.compare.match.signature import Signatures
from hlotool.hlo import Computation, Instruction, Module
from hlotool.hlo.opcodes import MAY_CALL
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


CalledPair: TypeAlias = tuple[Computation, Computation, Pairs]  # with the parameters known


def list_called(pairs: Pairs) -> list[CalledPair]:
    """List the computations that pairs call, with the parameters known to be partners."""
    found = []
    for left, right in pairs.items():
        if left.opcode in MAY_CALL:
            for one, other in _called_in_step(left, right):
                found.append((one, other, _seed_operands(left, right, one, other, pairs)))
    return found


def _seed_operands(
    left: Instruction, right: Instruction, one: Computation, other: Computation, pairs: Pairs
) -> Pairs:
    """Pair parameters by the operands that they stand for, where there are more or fewer."""
    if left.opcode not in CONTAINERS or len(one.parameters) == len(other.parameters):
        return {}
    places = {operand: place for place, operand in enumerate(right.operands)}
    seeds: Pairs = {}
    for parameter, operand in zip(one.parameters, left.operands, strict=False):
        partner = pairs.get(operand)
        if partner in places and places[partner] < len(other.parameters):
            seeds[parameter] = other.parameters[places[partner]]
    return seeds


def _called_in_step(
    left: Instruction, right: Instruction
) -> Iterator[tuple[Computation, Computation]]:
    """Yield the computations that a pair calls in the same role.

    One role has two spellings: a two-way conditional lists its branches by name or in a row.
    """
    if left.opcode == right.opcode == "conditional":
        yield from zip(list_branches(left), list_branches(right), strict=False)
        return
    yield from zip(left.called_computations(), right.called_computations(), strict=False)
