"""Numbers that instructions and computations of equal contents share.

Bottom-up: an instruction's `up` number stands for its signature and the `up` of its
operands, so equal numbers mean equal expressions. Top-down: `down` stands for its
signature and for who uses it, at which operand. A computation's number stands for its root's
`up` and the bag of all (up, down); names, numbering and the order of independent
instructions have no part in it. Every instruction is visited twice, every computation once.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, field

from hlotool.analysis.graph.call_graph import CallGraph
from hlotool.compare.match.signature import Signatures
from hlotool.ir import Computation, Instruction


class ContentNumbers(Struct, eq=False):
    """The numbers of computations, and those of instructions that they are made of.

    One object holds those of all modules that are compared.
    """

    signatures: dict[Instruction, int] = field(default_factory=dict)
    up: dict[Instruction, int] = field(default_factory=dict)
    both: dict[Instruction, int] = field(default_factory=dict)  # up and down in one
    computations: dict[Computation, int] = field(default_factory=dict)


def number_contents(graphs: Iterable[CallGraph], signatures: Signatures) -> ContentNumbers:
    """Give every computation of the modules whose calls these are its number, callees first."""
    numbers = ContentNumbers()
    for graph in graphs:
        for computation in graph.callees_first:
            _number(computation, signatures, numbers, graph)
    return numbers


def _number(
    computation: Computation, signatures: Signatures, numbers: ContentNumbers, graph: CallGraph
) -> None:
    number = signatures.table.number
    up, own = numbers.up, numbers.signatures
    down: dict[Instruction, int] = {}
    for instruction in computation.instructions:
        called = graph.callees.get(instruction, ())
        callees = tuple(numbers.computations[callee] for callee in called)
        own[instruction] = signature = signatures.exact(instruction, callees)
        up[instruction] = number((signature, *[up[one] for one in instruction.operands]))
    uses: dict[Instruction, list[tuple[int, int]]] = {}
    root = computation.root
    for instruction in reversed(computation.instructions):
        users = tuple(sorted(uses.pop(instruction, ())))
        mine = number(("down", own[instruction], instruction is root, users))
        down[instruction] = mine
        for place, operand in enumerate(instruction.operands):
            uses.setdefault(operand, []).append((mine, place))
    for instruction in computation.instructions:
        numbers.both[instruction] = number(("both", up[instruction], down[instruction]))
    bag = tuple(sorted(numbers.both[one] for one in computation.instructions))
    numbers.computations[computation] = number(
        ("computation", up[root], bag, computation.execution_thread)
    )
