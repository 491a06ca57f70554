"""Which instructions hold the same value? Value numbers, followed through fusions and tuples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from hlotool.analysis.graph.call_graph import CallGraph
from hlotool.analysis.graph.fingerprint import IGNORED, Fingerprints
from hlotool.ir.call_keys import CALL_KEYS
from hlotool.ir.computation import Computation
from hlotool.ir.instruction import Instruction
from hlotool.ir.opcodes import ASYNC_DONES, ASYNC_STARTS, COLLECTIVES, CONTROL_FLOW, EFFECTS
from hlotool.ir.shape import ArrayShape

_MOST_NESTED: Final = 32  # fusions within fusions
_FREE_VISITS: Final = 100_000
_MOST_VISITS: Final = 8  # besides, for each instruction of the module

_SAME: Final = frozenset(("copy", "opt-barrier", "domain"))  # pass the value of operand 0 on
# Two of these are never the same: effects, communication, or contents that only a run knows.
# The bits of rng-bit-generator follow from its state; two of them are kept apart all the same.
_UNIQUE: Final = (
    ASYNC_DONES
    | ASYNC_STARTS
    | COLLECTIVES
    | CONTROL_FLOW
    | EFFECTS
    | {"after-all", "parameter", "rng-bit-generator"}
)
_NOT_PART: Final = IGNORED | frozenset((*CALL_KEYS, "sharding"))
_ELIDED: Final = "{...}"


class Visits(Struct):
    """How many instructions of fused computations may still be looked at, in all of a module."""

    left: int


def allow_visits(graph: CallGraph) -> Visits:
    """Return as many visits as keep the work in proportion to the module."""
    size = sum(len(one.instructions) for one in graph.callees_first)
    return Visits(_FREE_VISITS + _MOST_VISITS * size)


class Numbering:
    """Numbers the values of one executed computation; its instructions come in dump order."""

    def __init__(self, graph: CallGraph, prints: Fingerprints, visits: Visits) -> None:
        self._graph = graph
        self._prints = prints
        self._numbers: dict[object, int] = {}
        self._elements: dict[int, tuple[int, ...]] = {}  # of the tuples among them
        self._values: dict[Instruction, int] = {}
        self._bodies: dict[tuple[Computation, tuple[int, ...]], dict[Instruction, int]] = {}
        self._visits = visits

    def visit(self, instruction: Instruction) -> Iterator[tuple[Instruction, int]]:
        """Yield an instruction, or its fused body, with the numbers of the values they make."""
        operands = tuple(self._values[one] for one in instruction.operands)
        body = self._find_body(instruction, 0)
        if body is None:
            value = self._number(instruction, operands)
            yield instruction, value
        else:
            inside = self._number_body(body, operands, 0)
            value = inside[body.root]
            yield from inside.items()
        self._values[instruction] = value

    def _find_body(self, instruction: Instruction, depth: int) -> Computation | None:
        """Return the body of a fusion that can be looked into, None for all else."""
        callees = self._graph.callees.get(instruction, ())
        is_open = instruction.opcode == "fusion" and len(callees) == 1
        if not is_open or depth > _MOST_NESTED or self._visits.left < 0:
            return None
        enough = len(callees[0].parameters) <= len(instruction.operands)
        return callees[0] if enough else None

    def _number_body(
        self, body: Computation, operands: tuple[int, ...], depth: int
    ) -> dict[Instruction, int]:
        """Return the values in a fused computation whose parameters have these.

        They include those of fusions inside it.
        """
        known = self._bodies.get((body, operands))
        self._visits.left -= len(known or body.instructions)
        if known is not None:
            return known
        values: dict[Instruction, int] = dict(zip(body.parameters, operands, strict=False))
        for instruction in body.instructions:
            if instruction in values:
                continue
            inputs = tuple(values[one] for one in instruction.operands)
            inner = self._find_body(instruction, depth + 1)
            if inner is None:
                values[instruction] = self._number(instruction, inputs)
            else:
                inside = self._number_body(inner, inputs, depth + 1)
                values[instruction] = inside[inner.root]
                values.update(inside)
        self._bodies[body, operands] = values
        return values

    def _number(self, instruction: Instruction, operands: tuple[int, ...]) -> int:
        """Return the value an instruction makes of its operands'."""
        opcode = instruction.opcode
        if opcode in _SAME and operands:
            return operands[0]
        if opcode == "get-tuple-element" and operands:
            elements, index = self._elements.get(operands[0], ()), instruction.tuple_index
            if 0 <= index < len(elements):
                return elements[index]
        if opcode == "tuple":
            number = self._numbers.setdefault(operands, len(self._numbers))
            self._elements[number] = operands
            return number
        key: object = instruction
        if opcode not in _UNIQUE and _ELIDED not in instruction.literal:
            key = self._describe(instruction, operands)
        return self._numbers.setdefault(key, len(self._numbers))

    def _describe(self, instruction: Instruction, operands: tuple[int, ...]) -> object:
        """Return what makes two instructions compute the same; layouts do not count."""
        attributes = tuple(
            sorted(item for item in instruction.attributes.items() if item[0] not in _NOT_PART)
        )
        shape = instruction.shape
        array = (shape.dtype, shape.dims) if isinstance(shape, ArrayShape) else ()
        callees = self._graph.callees.get(instruction, ())
        called = tuple(map(self._prints.of, callees))
        return instruction.opcode, array, instruction.literal, attributes, called, operands
