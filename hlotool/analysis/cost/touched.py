"""Which bytes does a fusion touch of each operand and each result?

XLA's cost analysis follows a slice only where it reads a parameter directly, and an update in
place only at the root itself (see `fused_traffic`). Here both are found behind bitcasts, copies
of layout, tuples, elementwise operations and nested fusions as well.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, TypeAlias

from hlotool.analysis.cost.fused_traffic import (
    IMMEDIATE_ELEMENTS,
    MOST_NESTED,
    NO_BODY,
    TOO_DEEP,
    TOO_OFTEN,
)
from hlotool.analysis.cost.sizes import Sizes, TouchedBody, UnknownCostError
from hlotool.ir.computation import Computation
from hlotool.ir.instruction import Instruction
from hlotool.ir.opcodes import ELEMENTWISE, MOVES, SLICES, UPDATES_IN_PLACE
from hlotool.ir.shape import ArrayShape, Shape, TupleShape
from hlotool.ir.values import ShapeIndex

_MOST_STEPS: Final = 64  # views followed to where a value is made
_MOST_READINGS: Final = 16  # of one nested body, for different parts of its result
_VIEWS: Final = MOVES | {"bitcast", "get-tuple-element"}  # a slice of it is a slice of its operand
_SAME_BYTES: Final = frozenset(("bitcast",))  # another name for what lies in memory
_READS_PART: Final = (SLICES | {"gather"}) - UPDATES_IN_PLACE

Touched: TypeAlias = tuple[ArrayShape, int]  # an array, and how many bytes of it are touched

# An example: one layer's activation is written into the stack of all layers, in place.
#
#     stack = bf16[24,1,512] parameter(0)          0 B: what it held is not looked at
#     new = bf16[512] parameter(1)             1,024 B
#     layer = s32[] parameter(2)                   4 B
#     flat = bf16[24,512] bitcast(stack)
#     row = bf16[1,512] bitcast(new)
#     all = bf16[24,512] dynamic-update-slice(flat, row, layer, zero)
#     ROOT r = bf16[24,1,512] bitcast(all)     1,024 B: the update is written
#
# Together 2,052 B. XLA's cost analysis sees a bitcast at the root and counts the stack twice.


def measure_touched(fusion: Instruction, body: Computation, sizes: Sizes) -> list[Touched]:
    """Return what a fusion reads of its operands and constants, and writes of its results.

    Of an operand only sliced (slice, dynamic-slice, gather), the slices are read, together at most
    the operand, through however many parameters. Of one updated in place (dynamic-update-slice,
    scatter), nothing is read but what the update itself reads, and of the result the update is
    written; the update is in place where the operand's array has the result's shape and layout, or
    only bitcasts stand between. Constants of more than one element lie in memory. Raises
    UnknownCostError where a size is unknown.
    """
    inside = _touch_body(body, None, sizes)
    found: list[Touched] = []
    read: dict[Instruction, int] = {}
    for parameter, touched in zip(body.parameters, inside.read, strict=True):
        operand = sizes.find_first(fusion.operands[parameter.parameter_number])
        read[operand] = read.get(operand, 0) + touched
    for operand, touched in read.items():
        whole = min(touched, sizes.content_bytes(operand.shape))
        found += _spread(list(operand.shape.leaves()), whole, sizes)
    found += inside.constants
    found += zip(fusion.shape.leaves(), inside.written, strict=False)
    return found


def _touch_body(
    body: Computation, read_outside: int | None, sizes: Sizes, depth: int = 0
) -> TouchedBody:
    """Return what a body touches, where so much is read of its result; worked out once."""
    known = sizes.touched.setdefault(body, {})
    if read_outside not in known:
        if len(known) > _MOST_READINGS:
            raise UnknownCostError(TOO_OFTEN)
        reads = _Reads(body, sizes, read_outside, depth)
        known[read_outside] = TouchedBody(
            tuple(reads.of[one] for one in body.parameters),
            tuple(reads.written),
            tuple(
                (leaf, sizes.content_bytes(leaf))
                for one in body.instructions
                if one.opcode == "constant"
                for leaf in one.shape.leaves()
                if sizes.count_elements(leaf) > IMMEDIATE_ELEMENTS
            ),
        )
    return known[read_outside]


def _spread(arrays: list[ArrayShape], touched: int, sizes: Sizes) -> list[Touched]:
    """Give each array of a tuple its share of what is read of the tuple."""
    whole = sum(map(sizes.content_bytes, arrays))
    return [(one, touched * sizes.content_bytes(one) // whole if whole else 0) for one in arrays]


class _Reads:
    """How many bytes are read of each value of a body, found from the last one to the first.

    `written` has the bytes written of each array of its result. `read_outside` is what is read
    of that result where the fusion stands in another.
    """

    def __init__(
        self, body: Computation, sizes: Sizes, read_outside: int | None = None, depth: int = 0
    ) -> None:
        if depth > MOST_NESTED:
            raise UnknownCostError(TOO_DEEP)
        self._sizes = sizes
        self._depth = depth
        self.of: dict[Instruction, int] = {}
        self._nested: dict[Instruction, dict[Instruction, int]] = {}  # by operand
        self.written: list[int] = []
        self._so_far: dict[Instruction, int | None] = {}  # by users; None for the whole
        for index, shape in body.root.shape.leaves_with_index():
            made, _ = _find_made(body.root, index)
            whole = sizes.content_bytes(shape)
            if made.opcode in UPDATES_IN_PLACE and _is_in_place(body.root, index, shape):
                self.written.append(min(whole, updated_bytes(made, sizes)))
            else:
                self.written.append(whole)
                self._so_far[made] = read_outside
        so_far = self._so_far
        for user in reversed(body.instructions):
            whole = sizes.content_bytes(user.shape)
            read = so_far.get(user, 0)
            self.of[user] = whole if read is None else min(read, whole)
            operands = user.operands
            for value in operands if len(operands) == 1 else dict.fromkeys(operands):
                before = so_far.get(value, 0)
                if before is not None:
                    so_far[value] = before + self._read_by(value, user, whole)

    def _read_by(self, value: Instruction, user: Instruction, made: int) -> int:
        """Return what a user, which makes so many bytes, reads of one value."""
        opcode, read = user.opcode, self.of[user]
        if opcode in _VIEWS:
            return read
        whole = self._sizes.content_bytes(value.shape)
        if opcode in ELEMENTWISE:
            return whole * read // made if made else 0
        if opcode == "tuple":
            return whole if user in self._so_far else 0  # the root's elements are results
        if opcode == "fusion":
            return self._inside(user, read).get(value, 0)
        if user.operands[0] is not value or user.operands.count(value) > 1:
            return whole
        if opcode in _READS_PART:
            return read
        if opcode in UPDATES_IN_PLACE:
            return read + (updated_bytes(user, self._sizes) if opcode == "scatter" else 0)
        return whole

    def _inside(self, fusion: Instruction, read: int) -> dict[Instruction, int]:
        """Return what a fusion inside the fusion reads of each of its operands."""
        found = self._nested.get(fusion)
        if found is None:
            found = self._nested[fusion] = {}
            body = fusion.callee()
            if body is None:
                raise UnknownCostError(NO_BODY)
            inside = _touch_body(body, read, self._sizes, self._depth + 1).read
            for parameter, touched in zip(body.parameters, inside, strict=True):
                operand = fusion.operands[parameter.parameter_number]
                found[operand] = found.get(operand, 0) + touched
        return found


def _is_in_place(root: Instruction, index: ShapeIndex, shape: ArrayShape) -> bool:
    """Whether a result is an operand's array with something written into it.

    It is where they differ in no more than what they are called, a bitcast, and where copies
    of layout lead there and back.
    """
    if _find_updated(root, index, _SAME_BYTES):
        return True
    found = _find_updated(root, index, _VIEWS)
    if found is None:
        return False
    source, at = found
    part: Shape | None = source.shape
    for number in at:
        part = part.elements[number] if isinstance(part, TupleShape) else None
    return part == shape


def _find_updated(
    root: Instruction, index: ShapeIndex, views: Collection[str]
) -> tuple[Instruction, ShapeIndex] | None:
    """Return the parameter, and its array, that an update behind views makes a result of."""
    made, at = _find_made(root, index, views)
    if at or made.opcode not in UPDATES_IN_PLACE or not made.operands:
        return None
    source, at = _find_made(made.operands[0], (), views)
    return (source, at) if source.opcode == "parameter" else None


def updated_bytes(update: Instruction, sizes: Sizes) -> int:
    """Return the bytes that an update in place writes into its first operand."""
    operands = update.operands
    if update.opcode == "dynamic-update-slice":
        return sizes.content_bytes(operands[1].shape)
    if update.opcode == "scatter":
        return sum(sizes.content_bytes(one.shape) for one in operands[len(operands) // 2 + 1 :])
    return 0


def _find_made(
    instruction: Instruction, index: ShapeIndex, views: Collection[str] = _VIEWS
) -> tuple[Instruction, ShapeIndex]:
    """Go back through views and tuples to what makes an array."""
    for _ in range(_MOST_STEPS):
        opcode, operands = instruction.opcode, instruction.operands
        if opcode == "tuple" and index and index[0] < len(operands):
            instruction, index = operands[index[0]], index[1:]
        elif opcode == "get-tuple-element" and operands:
            instruction, index = operands[0], (instruction.tuple_index, *index)
        elif opcode in views and operands:
            instruction = operands[0]
        else:
            break
    return instruction, index
