"""Bytes accessed by a fusion: what its body really reads of each operand, and writes.

Follows `FusionParameterReadBytes`, `FusionProcessOutputBytesAccessed` and
`FusionCountConstantsMemoryAccess` of xla/service/hlo_cost_analysis.cc (0.10.2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from hlotool.analysis.cost.sizes import Sizes, UnknownCostError, count_elements
from hlotool.ir.module import Computation, Instruction
from hlotool.ir.shape import Shape, TupleShape
from hlotool.ir.values import ShapeIndex

IMMEDIATE_ELEMENTS: Final = 1  # a fused constant of more elements is read from memory
_MOST_NESTED: Final = 64  # fusions within fusions; XLA makes two levels


Touched = tuple[Instruction, int]  # an instruction of a body, and the bytes it accesses


@dataclass(frozen=True, slots=True)
class FusionTraffic:
    """What a fusion reads of its parameters and constants, and writes of its results."""

    operands: tuple[Touched, ...]
    constants: tuple[Touched, ...]
    results: tuple[Touched, ...]

    @property
    def bytes_accessed(self) -> int:
        """All of it."""
        return sum(
            size for part in (self.operands, self.constants, self.results) for _, size in part
        )


def measure_fusion_traffic(instruction: Instruction, sizes: Sizes) -> FusionTraffic:
    """Measure a fusion: a parameter only sliced is read by its slices, one updated in place not.

    A result made by dynamic-update-slice is written by its update. Raises UnknownCostError
    where a size is unknown.
    """
    body = instruction.callee()
    if body is None:
        raise UnknownCostError
    return FusionTraffic(
        tuple((one, _measure_parameter(one, sizes)) for one in body.parameters),
        _measure_constants(body, sizes),
        _measure_results(instruction, body.root, sizes),
    )


def _measure_constants(body: Computation, sizes: Sizes) -> tuple[Touched, ...]:
    return tuple(
        (one, sizes.content_bytes(one.shape))
        for one in body.instructions
        if one.opcode == "constant"
        and not one.shape.is_tuple
        and count_elements(one.shape) > IMMEDIATE_ELEMENTS
    )


def _measure_results(fusion: Instruction, root: Instruction, sizes: Sizes) -> tuple[Touched, ...]:
    shape = fusion.shape
    if not isinstance(shape, TupleShape):
        return ((root, _measure_result(shape, root, sizes)),)
    if root.opcode != "tuple" or len(root.operands) != len(shape.elements):
        return ((root, sizes.content_bytes(shape)),)
    parts = zip(shape.elements, root.operands, strict=True)
    return tuple((made, _measure_result(part, made, sizes)) for part, made in parts)


def _measure_result(shape: Shape, made: Instruction, sizes: Sizes) -> int:
    """Return the bytes of a result; of the update where it is made in place."""
    if made.opcode == "dynamic-update-slice":
        return sizes.content_bytes(made.operands[1].shape)
    return sizes.content_bytes(shape)


def _measure_parameter(parameter: Instruction, sizes: Sizes) -> int:
    """Measure a parameter; of a tuple, the elements that are taken out of it."""
    if not isinstance(parameter.shape, TupleShape):
        return _measure_reads(parameter, sizes)
    return sum(
        _measure_reads(_find_element(parameter, index), sizes)
        for index, _ in parameter.shape.leaves_with_index()
    )


def _find_element(parameter: Instruction, index: ShapeIndex) -> Instruction:
    """Follow get-tuple-elements as far as they lead towards an element."""
    found = parameter
    for number in index:
        for user in found.users:
            if user.opcode == "get-tuple-element" and user.tuple_index == number:
                found = user
                break
    return found


def _measure_reads(source: Instruction, sizes: Sizes, depth: int = 0) -> int:
    """Return the bytes of a fused parameter that its users read.

    Slices, broadcasts and reshapes read for themselves, all others share one reading.
    """
    known = sizes.reads.get(source)
    if known is not None:
        return known
    if depth > _MOST_NESTED:
        raise UnknownCostError
    whole = sizes.pointer_bytes(source.shape)
    size = 0
    is_read = False
    for user in source.users:
        opcode = user.opcode
        if opcode == "fusion":
            size += _measure_nested(source, user, sizes, depth)
        elif opcode in {"broadcast", "reshape"}:
            size += whole
        else:
            sliced = _measure_slice(source, user, sizes)
            if sliced is not None:
                size += sliced
            elif not is_read:
                is_read = True
                size += whole
    sizes.reads[source] = size
    return size


def _measure_slice(source: Instruction, user: Instruction, sizes: Sizes) -> int | None:
    """Return what a slice reads of its operand, 0 for an update in place, None for all else."""
    if user.opcode == "slice":
        return sizes.content_bytes(user.shape)
    if user.operands[0] is source:
        if user.opcode == "dynamic-slice":
            return sizes.content_bytes(user.shape)
        if user.opcode == "dynamic-update-slice":
            return 0
    return None


def _measure_nested(source: Instruction, fusion: Instruction, sizes: Sizes, depth: int) -> int:
    """Return what a fusion inside the fusion reads of `source`, by what is made of its result.

    Where the inner fusion only passes the parameter on to its root, a slice of the result is
    a slice of the parameter.
    """
    body = fusion.callee()
    if body is None:
        raise UnknownCostError
    size = 0
    for number, operand in enumerate(fusion.operands):
        if operand is not source:
            continue
        parameter = body.parameters[number]
        root = body.root
        is_simple = not root.operands or root.operands[0] is parameter
        is_read = False
        for user in fusion.users:
            sliced = _measure_slice(fusion, user, sizes) if is_simple else None
            if sliced is not None:
                size += sliced
            elif not is_read:
                is_read = True
                size += _measure_reads(parameter, sizes, depth + 1)
    return size
