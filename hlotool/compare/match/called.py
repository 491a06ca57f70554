"""Which computations do partners call, and which of their parameters are partners then?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from hlotool.analysis.graph.call_graph import find_branches
from hlotool.compare.match.flow import CONTAINERS
from hlotool.compare.match.matching import Pairs
from hlotool.ir import Computation, Instruction
from hlotool.ir.opcodes import MAY_CALL

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
        yield from zip(find_branches(left), find_branches(right), strict=False)
        return
    yield from zip(left.called_computations(), right.called_computations(), strict=False)
