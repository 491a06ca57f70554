"""Async sugar: `slice-start(x), slice={…}` for an async-start that calls a computation."""

from __future__ import annotations

from typing import Final

from hlotool.ir.async_chain import NO_RESULT
from hlotool.ir.computation import Computation
from hlotool.ir.instruction import Instruction
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
# These have such an attribute themselves, and XLA's parser gives it to them alone.
_SHARE_THEMSELVES: Final = frozenset(("custom-call", "fusion"))

_PAIR: Final = 2  # operands and result, with nothing behind them


def wrap_async(
    builder: Builder, instruction: Instruction, wrapped: str, *, is_callee_printed: bool
) -> None:
    """Undo the sugar of a start: give it a computation that does what it says.

    The computation gets parameters shaped like the operands and a root with the wrapped
    opcode and its attributes, as XLA's own parser makes it (HloParserImpl::CreateInstruction,
    kAsyncStart). Names are those of the start with an ending, so that they are unique, and found
    in the text. `calls` of a fusion-start is the fused computation. Canonical prints have the
    callee all the same, behind what the operation itself calls; it is kept instead.
    """
    attributes = instruction.attributes
    given = {key: value for key, value in attributes.items() if key in _OF_THE_START}
    instruction.given_attributes = given
    if is_callee_printed or ("calls" in attributes and wrapped != "fusion"):
        given["calls"] = attributes["calls"]
        return
    left_out = _NOT_OF_THE_WRAPPED
    if wrapped in _SHARE_THEMSELVES:
        given.pop("output_to_operand_aliasing", None)
        left_out -= {"output_to_operand_aliasing"}
    name = given["calls"] = builder.unique_name(f"{instruction.name}.async_wrapped")
    computation = Computation(name, builder.module)
    root = Instruction(
        name,
        _result_shape(instruction.shape),
        wrapped,
        (),
        computation,
        start=instruction.start,
        given_attributes={key: value for key, value in attributes.items() if key not in left_out},
    )
    computation.instructions.append(root)
    computation.marked_root = root
    computation.execution_thread = unquote(attributes.get("async_execution_thread", "main"))
    _bind(computation, instruction.operands)
    builder.module.computations[computation.name] = computation
    builder.wrapped[instruction] = computation


def bind_late(builder: Builder, step: Instruction) -> None:
    """Give a wrapped operation what a step behind its start adds: operands, the result's shape.

    XLA prints `((), (), …) custom-call-start()` where nothing is bound yet.
    """
    computation = builder.wrapped.get(step.operands[0]) if step.operands else None
    if computation is None:
        return
    builder.wrapped[step] = computation
    _bind(computation, step.operands[1:])
    root = computation.root
    if root.shape == NO_RESULT:
        root.shape = step.shape if step.opcode == "async-done" else _result_shape(step.shape)


def _bind(computation: Computation, operands: tuple[Instruction, ...]) -> None:
    """Add parameters shaped like the operands, which the root takes."""
    root = computation.root
    first = len(root.operands)
    parameters = [
        Instruction(
            f"{computation.name}.{number}",
            operand.shape,
            "parameter",
            (),
            computation,
            literal=str(number),
            given_attributes={},
        )
        for number, operand in enumerate(operands, first)
    ]
    computation.instructions[-1:] = [*parameters, root]
    root.operands += tuple(parameters)


def _result_shape(shape: Shape) -> Shape:
    """Return the second element of an async triple; a shape that is none stays as it is."""
    if isinstance(shape, ArrayShape) or len(shape.elements) < _PAIR:
        return shape
    return shape.elements[1]
