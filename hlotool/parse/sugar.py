"""Async sugar: `slice-start(x), slice={…}` for an async-start that calls a computation."""

from __future__ import annotations

from typing import Final

from hlotool.ir.module import Computation, Instruction
from hlotool.ir.shape import ArrayShape, Shape
from hlotool.parse.builder import Builder
from hlotool.parse.strings import unquote

# What an async line says about itself; everything else belongs to the wrapped operation.
_OF_THE_START: Final = frozenset(
    (
        "async_execution_thread", "backend_config", "control-predecessors",
        "frontend_attributes", "metadata", "origin", "output_to_operand_aliasing", "sharding",
        "statistics",
    )
)  # fmt: skip
_NOT_OF_THE_WRAPPED: Final = frozenset(
    ("async_execution_thread", "control-predecessors", "output_to_operand_aliasing")
)


def wrap_async(builder: Builder, instruction: Instruction, wrapped: str) -> None:
    """Undo the sugar of a start: give it a computation that does what it says.

    The computation gets parameters shaped like the operands and a root with the wrapped
    opcode and its attributes, as XLA's own parser makes it (HloParserImpl::CreateInstruction,
    kAsyncStart). A callee that is printed all the same (canonical prints) is kept instead.
    """
    attributes = instruction.attributes
    given = {key: value for key, value in attributes.items() if key in _OF_THE_START}
    instruction.given_attributes = given
    if "calls" in attributes:
        given["calls"] = attributes["calls"]
        return
    given["calls"] = builder.unique_name(f"{instruction.name}.async_wrapped")
    computation = Computation(given["calls"], builder.module)
    computation.instructions = _list_parameters(instruction, computation)
    root = Instruction(
        wrapped,
        _result_shape(instruction.shape),
        wrapped,
        tuple(computation.instructions),
        computation,
        start=instruction.start,
        given_attributes={
            key: value for key, value in attributes.items() if key not in _NOT_OF_THE_WRAPPED
        },
    )
    computation.instructions.append(root)
    computation.marked_root = root
    computation.execution_thread = unquote(attributes.get("async_execution_thread", "main"))
    builder.module.computations[computation.name] = computation


def _list_parameters(instruction: Instruction, computation: Computation) -> list[Instruction]:
    return [
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
    ]


def _result_shape(shape: Shape) -> Shape:
    """Return the second element of an async triple; a shape that is none stays as it is."""
    if isinstance(shape, ArrayShape) or len(shape.elements) < 2:  # noqa: PLR2004 (a pair)
        return shape
    return shape.elements[1]
