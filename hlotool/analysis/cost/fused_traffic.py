"""How many bytes does a fusion really read of each operand, and write?

Follows `FusionParameterReadBytes`, `FusionProcessOutputBytesAccessed` and
`FusionCountConstantsMemoryAccess` of xla/service/hlo_cost_analysis.cc (0.10.2).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

from msgspec import Struct

from hlotool.analysis.cost.sizes import Sizes, UnknownCostError
from hlotool.ir.computation import Computation
from hlotool.ir.instruction import Instruction
from hlotool.ir.opcodes import SLICES
from hlotool.ir.shape import Shape, TupleShape
from hlotool.ir.values import ShapeIndex

NO_BODY: Final = "fusion has no computation"
TOO_DEEP: Final = "fusions stand too deep in each other"
TOO_OFTEN: Final = "too many fusions share one body"
IMMEDIATE_ELEMENTS: Final = 1  # a fused constant of more elements is read from memory
_READS_APART: Final = SLICES | {"broadcast", "fusion", "reshape"}
MOST_NESTED: Final = 64  # fusions within fusions; XLA makes two levels

# An example: a fusion that adds to one row of a matrix, in place.
#
#     p = f32[8,512] parameter(0)                   2,048 B: dynamic-slice reads one row, and
#     i = s32[] parameter(1)                            4 B   dynamic-update-slice none
#     q = f32[512] parameter(2)                     2,048 B: both of its users share a reading
#     row = f32[1,512] dynamic-slice(p, i, zero)
#     flat = f32[512] reshape(row)
#     sum = f32[512] add(flat, q)
#     twice = f32[512] multiply(sum, q)
#     new = f32[1,512] reshape(twice)
#     ROOT r = f32[8,512] dynamic-update-slice(p, new, i, zero)   2,048 B: the update is written
#
# Together 6,148 B; its operands and its result are 34,820 B in full.

Touched: TypeAlias = tuple[Instruction, int]  # an instruction of a body, and the bytes it accesses


class FusionTraffic(Struct, frozen=True):
    """What a fusion reads of its parameters and constants, and writes of its results."""

    operands: tuple[Touched, ...]
    constants: tuple[Touched, ...]
    results: tuple[Touched, ...]


def measure_fusion_traffic(instruction: Instruction, sizes: Sizes) -> FusionTraffic:
    """Measure a fusion: a parameter only sliced is read by its slices, one updated in place not.

    A result made by dynamic-update-slice is written by its update. Raises UnknownCostError
    where a size is unknown.
    """
    body = instruction.callee()
    if body is None:
        raise UnknownCostError(NO_BODY)
    _read_parameters(body, sizes)
    return FusionTraffic(
        tuple((one, _measure_parameter(one, sizes)) for one in body.parameters),
        tuple(_measure_constants(body, sizes)),
        _measure_results(instruction, body.root, sizes),
    )


def measure_fusion_bytes(instruction: Instruction, body: Computation, sizes: Sizes) -> int:
    """Return all the bytes of `measure_fusion_traffic`, without saying of what."""
    _read_parameters(body, sizes)
    size = 0
    reads = sizes.reads
    for parameter in body.parameters:
        is_tuple = isinstance(parameter.shape, TupleShape)
        size += _measure_parameter(parameter, sizes) if is_tuple else reads[parameter]
    for _, written in _measure_results(instruction, body.root, sizes):
        size += written
    for _, read in _measure_constants(body, sizes):
        size += read
    return size


def _measure_constants(body: Computation, sizes: Sizes) -> list[Touched]:
    found = sizes.constants.get(body)
    if found is None:
        constants = [one for one in body.instructions if one.opcode == "constant"]
        found = sizes.constants[body] = [
            (one, sizes.content_bytes(one.shape))
            for one in constants
            if not one.shape.is_tuple and sizes.count_elements(one.shape) > IMMEDIATE_ELEMENTS
        ]
    return found


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
        return sizes.reads[parameter]
    return sum(
        _measure_element(parameter, index, sizes)
        for index, _ in parameter.shape.leaves_with_index()
    )


def _measure_element(parameter: Instruction, index: ShapeIndex, sizes: Sizes) -> int:
    """Follow get-tuple-elements as far as they lead, and measure what is read of the last."""
    found = parameter
    for number in index:
        found = _list_elements(found, sizes).get(number, found)
    if found not in sizes.reads:
        sizes.reads[found] = _Reads([found], sizes, 0).of_users(found.users)[found]
    return sizes.reads[found]


def _list_elements(value: Instruction, sizes: Sizes) -> dict[int, Instruction]:
    """Return the first instruction that takes out each element of a tuple."""
    found = sizes.elements.get(value)
    if found is None:
        found = sizes.elements[value] = {}
        for user in value.users:
            if user.opcode == "get-tuple-element":
                found.setdefault(user.tuple_index, user)
    return found


def _read_parameters(body: Computation, sizes: Sizes, depth: int = 0) -> None:
    """Find out, in one pass, what a body reads of each parameter, a tuple's table for a tuple."""
    sources = body.parameters
    if sources and sources[0] not in sizes.reads:
        sizes.reads |= _Reads(sources, sizes, depth).of_users(body.instructions)


class _Reads:
    """Adds up the bytes that users read of some fused values.

    Slices, broadcasts and reshapes read for themselves, all others share one reading.
    """

    def __init__(self, sources: Iterable[Instruction], sizes: Sizes, depth: int) -> None:
        if depth > MOST_NESTED:
            raise UnknownCostError(TOO_DEEP)
        self._bytes = {one: sizes.pointer_bytes(one.shape) for one in sources}
        self._sizes = sizes
        self._depth = depth

    def of_users(self, users: Iterable[Instruction]) -> dict[Instruction, int]:
        """Return the bytes read of each source by those instructions that have it as operand."""
        whole = self._bytes
        reads = dict.fromkeys(whole, 0)
        sharing: set[Instruction] = set()
        for user in users:
            if user.opcode not in _READS_APART:
                for source in user.operands:
                    if source in whole:
                        sharing.add(source)
                continue
            operands = user.operands
            for source in operands if len(operands) == 1 else dict.fromkeys(operands):
                if source in whole:
                    size = self._of_user(source, user)
                    if size is None:
                        sharing.add(source)
                    else:
                        reads[source] += size
        for source in sharing:
            reads[source] += whole[source]
        return reads

    def _of_user(self, source: Instruction, user: Instruction) -> int | None:
        """Return what one user reads for itself, None where it shares a reading."""
        if user.opcode in SLICES:
            return _measure_slice(source, user, self._sizes)
        if user.opcode == "fusion":
            return self._of_nested(source, user)
        return self._bytes[source]

    def _of_nested(self, source: Instruction, fusion: Instruction) -> int:
        """Return what a fusion inside the fusion reads, by what is made of its result.

        Where it only passes the parameter on to its root, a slice of the result is a slice
        of the parameter.
        """
        body = fusion.callee()
        if body is None:
            raise UnknownCostError(NO_BODY)
        _read_parameters(body, self._sizes, self._depth + 1)
        return sum(
            self._of_inner_parameter(body.parameters[number], body.root, fusion)
            for number, operand in enumerate(fusion.operands)
            if operand is source
        )

    def _of_inner_parameter(
        self, parameter: Instruction, root: Instruction, fusion: Instruction
    ) -> int:
        is_simple = not root.operands or root.operands[0] is parameter
        size = 0
        is_read = False
        for user in fusion.users:
            is_slice = is_simple and user.opcode in SLICES
            sliced = _measure_slice(fusion, user, self._sizes) if is_slice else None
            if sliced is not None:
                size += sliced
            elif not is_read:
                is_read = True
                size += self._sizes.reads[parameter]
        return size


def _measure_slice(source: Instruction, user: Instruction, sizes: Sizes) -> int | None:
    """Return what a slice reads of its operand, 0 for an update in place, None for all else."""
    if user.opcode == "slice":
        return sizes.content_bytes(user.shape)
    if user.operands[0] is source:
        return sizes.content_bytes(user.shape) if user.opcode == "dynamic-slice" else 0
    return None
