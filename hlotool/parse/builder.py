"""What the readers of one module share: its source, shapes, names and computations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NoReturn

from hlotool.errors import ParseError
from hlotool.ir.module import Computation, Instruction, Module
from hlotool.ir.shape import ArrayShape, Shape
from hlotool.parse.line import OpcodeKinds
from hlotool.parse.scanner import Scanner
from hlotool.parse.shape import ShapeCache

_NUMBERS: Final = list(map(str, range(1000)))  # of parameters, in their usual order

# What an async line says about itself; everything else belongs to the wrapped operation.
_OF_THE_START = frozenset(
    (
        "async_execution_thread", "backend_config", "control-predecessors",
        "frontend_attributes", "metadata", "origin", "output_to_operand_aliasing", "sharding",
        "statistics",
    )
)  # fmt: skip
_NOT_OF_THE_WRAPPED = frozenset(
    ("async_execution_thread", "control-predecessors", "output_to_operand_aliasing")
)


@dataclass(slots=True, eq=False)
class Builder:
    """A module under construction."""

    scanner: Scanner
    module: Module
    shapes: ShapeCache
    kinds: OpcodeKinds = field(default_factory=OpcodeKinds)
    numbers: dict[str, int] = field(default_factory=dict)
    has_entry: bool = False

    def unique_name(self, wanted: str) -> str:
        """Return `wanted`, or `wanted.N` when a computation has that name already."""
        name = wanted
        while name in self.module.computations:
            self.numbers[wanted] = self.numbers.get(wanted, 0) + 1
            name = f"{wanted}.{self.numbers[wanted]}"
        return name

    def add_computation(self, computation: Computation, start: int) -> None:
        """Register a computation that has been read; refuse one that XLA would."""
        name = computation.name
        if name in self.module.computations:
            self._fail(f"a computation {name!r} is already defined", start, len(name))
        if not computation.instructions:
            self._fail(f"the computation {name!r} has no instructions", start, len(name))
        if computation.is_entry:
            if self.has_entry:
                self._fail("a module has only one ENTRY", start, len(name))
            self.has_entry = True
        numbers = [one.literal for one in computation.instructions if one.opcode == "parameter"]
        if numbers != _NUMBERS[: len(numbers)]:
            self._check_numbers(computation)
        self.module.computations[name] = computation

    def _check_numbers(self, computation: Computation) -> None:
        """Refuse parameters that are not numbered 0, 1, 2, … in some order."""
        parameters = [one for one in computation.instructions if one.opcode == "parameter"]
        free = set(map(str, range(len(parameters))))
        for one in parameters:
            if one.literal not in free:
                expected = f"from 0 to {len(parameters) - 1}" if len(parameters) > 1 else "0"
                start = one.start - 1 - len(one.literal)
                self._fail(
                    f"expected a parameter number {expected} that no other has",
                    start,
                    len(one.literal),
                )
            free.remove(one.literal)

    def _fail(self, message: str, start: int, length: int) -> NoReturn:
        raise ParseError(message, self.module.source, start, start + length)

    def forget_after(self, count: int) -> None:
        """Drop all computations but the first `count`: a body is read a second time."""
        while len(self.module.computations) > count:
            self.module.computations.popitem()


def wrap_async(builder: Builder, instruction: Instruction, wrapped: str) -> None:
    """Undo the printer's sugar: `slice-start(x), slice={…}` calls a computation of one slice.

    The computation gets parameters shaped like the operands and a root with the wrapped
    opcode and its attributes, as XLA's own parser makes it (HloParserImpl::CreateInstruction,
    kAsyncStart). A callee that is printed all the same (canonical prints) is kept instead.
    """
    attributes = instruction.attributes
    instruction.given_attributes = {
        key: value for key, value in attributes.items() if key in _OF_THE_START
    }
    if "calls" in attributes:
        instruction.given_attributes["calls"] = attributes["calls"]
        return
    name = builder.unique_name(f"{instruction.name}.async_wrapped")
    computation = Computation(name, builder.module)
    parameters = tuple(
        Instruction(
            f"async_param.{number}",
            operand.shape,
            "parameter",
            (),
            computation,
            literal=str(number),
            given_attributes={},
        )
        for number, operand in enumerate(instruction.operands)
    )
    root = Instruction(
        wrapped,
        _result_shape(instruction.shape),
        wrapped,
        parameters,
        computation,
        start=instruction.start,
        given_attributes={
            key: value for key, value in attributes.items() if key not in _NOT_OF_THE_WRAPPED
        },
    )
    computation.instructions = [*parameters, root]
    computation.marked_root = root
    computation.execution_thread = attributes.get("async_execution_thread", '"main"').strip('"')
    builder.module.computations[name] = computation
    instruction.given_attributes["calls"] = name


def _result_shape(shape: Shape) -> Shape:
    """Return the second element of an async triple; a shape that is none stays as it is."""
    if isinstance(shape, ArrayShape) or len(shape.elements) < 2:  # noqa: PLR2004 (a pair)
        return shape
    return shape.elements[1]
