"""How does XLA write a buffer assignment? The allocations, each with the values in it.

Follows BufferAllocation::ToString (xla/service/buffer_assignment.cc). The proto names each value's
instruction by its id; name and shape are those of the module. What the text has beyond that (the
sum of all allocations, uses, live ranges, which values are phis) no proto says.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from hlotool.errors import InputError
from hlotool.proto.messages import (
    BufferAllocationProto,
    BufferAssignmentProto,
    HloInstructionProto,
    HloModuleProto,
    LogicalBufferProto,
    ShapeProto,
)
from hlotool.proto.shapes import TUPLE, ShapeTexts, join_numbers

_HEADING: Final = "BufferAssignment:\n"


def render_assignment(
    assignment: BufferAssignmentProto, module: HloModuleProto, name: str, limit: int
) -> str:
    """Return the text of an assignment; `name` is the file's, for errors.

    Raises InputError for an id that leads nowhere, and for a text of more than `limit` characters.
    """
    texts = _ValueTexts(assignment, module, name)
    parts, left = [_HEADING], limit
    for allocation in assignment.buffer_allocations:
        for line in _list_lines(allocation, texts):
            left -= len(line)
            if left < 0:
                raise InputError(
                    f"{name}: the text of the buffer assignment would be far longer than the file."
                )
            parts.append(line)
    return "".join(parts)


def _list_lines(allocation: BufferAllocationProto, texts: _ValueTexts) -> Iterator[str]:
    """Yield an allocation, and the values in it by their numbers."""
    if allocation.size < 0 or any(min(each.size, each.offset) < 0 for each in allocation.assigned):
        raise InputError(f"{texts.file}: a size in allocation {allocation.index} is below zero.")
    yield f"{_render_allocation(allocation, texts)}:\n"
    for place in sorted(allocation.assigned, key=lambda each: each.logical_buffer_id):
        value = texts.find(place.logical_buffer_id)
        yield (
            f" value: <{value.name} @{value.color}> (size={place.size},offset={place.offset}): "
            f"{value.shape}\n"
        )


def _render_allocation(allocation: BufferAllocationProto, texts: _ValueTexts) -> str:
    """Return the line of an allocation, without the colon at its end."""
    parts = [f"allocation {allocation.index}: size {allocation.size}"]
    if allocation.color:
        parts.append(f"color {allocation.color}")
    if allocation.is_entry_computation_parameter:
        number, index = allocation.parameter_number, allocation.parameter_shape_index
        shape = texts.find_parameter(number, tuple(index))
        at = f"at ShapeIndex {join_numbers(index)}"
        parts.append(f"parameter {number}, shape |{shape}| {at}")
    is_other = allocation.is_entry_computation_parameter
    for is_so, flag in (
        (allocation.is_constant, "constant"),
        (allocation.is_thread_local, "thread-local"),
        (allocation.maybe_live_out, "maybe-live-out"),
    ):
        parts += [flag] * is_so
        is_other = is_other or is_so
    parts += ["preallocated-temp"] * (not is_other)
    return ", ".join(parts)


class _ValueText(Struct, frozen=True):
    """What the text says of a value wherever it is placed."""

    name: str  # its number, its instruction and the index there
    color: int
    shape: str


class _ValueTexts:
    """The texts of the values of an assignment by their numbers."""

    def __init__(
        self, assignment: BufferAssignmentProto, module: HloModuleProto, name: str
    ) -> None:
        self.file = name
        self.shapes = ShapeTexts()
        self.buffers = {buffer.id: buffer for buffer in assignment.logical_buffers}
        self.by_id: dict[int, HloInstructionProto] = {}
        self.by_name: dict[str, HloInstructionProto] = {}
        self.parameters: dict[int, ShapeProto] = {}
        for computation in module.computations:
            is_entry = computation.id == module.entry_computation_id
            for instruction in computation.instructions:
                self.by_id[instruction.id] = instruction
                self.by_name[instruction.name] = instruction
                if is_entry and instruction.opcode == "parameter":
                    self.parameters[instruction.parameter_number] = instruction.shape

    def find(self, number: int) -> _ValueText:
        """Return the text of a value; raise InputError if nothing defines it."""
        buffer = self.buffers.get(number)
        if buffer is None:
            raise InputError(f"{self.file}: an allocation holds value {number}, which is nowhere.")
        place = buffer.defined_at
        instruction = self._find_definer(buffer)
        shape = _find_part(instruction.shape, tuple(place.shape_index))
        if shape is None:
            index = join_numbers(place.shape_index)
            raise InputError(
                f"{self.file}: value {number} is part {index} of {instruction.name!r}, "
                "which has no such part."
            )
        is_part = place.shape_index or shape.element_type == TUPLE
        index = join_numbers(place.shape_index) if is_part else ""
        name = f"{number} {instruction.name}{index}"
        return _ValueText(name, buffer.color, self.shapes.long(shape))

    def _find_definer(self, buffer: LogicalBufferProto) -> HloInstructionProto:
        """Return the instruction that makes a value; protos of old compilers give its name."""
        place = buffer.defined_at
        if place.instruction_name:
            found = self.by_name.get(place.instruction_name)
        else:
            found = self.by_id.get(place.instruction_id)
        if found is None:
            key = place.instruction_name or place.instruction_id
            raise InputError(
                f"{self.file}: value {buffer.id} of the buffer assignment is made by instruction "
                f"{key!r}, which the module does not have."
            )
        return found

    def find_parameter(self, number: int, index: tuple[int, ...]) -> str:
        """Return the shape of a parameter, or of a part of it; '' where there is none such."""
        whole = self.parameters.get(number)
        shape = _find_part(whole, index) if whole else None
        return self.shapes.short(shape) if shape else ""


def _find_part(shape: ShapeProto, index: tuple[int, ...]) -> ShapeProto | None:
    """Return the part of a shape at an index, None if it has none there."""
    for number in index:
        if not 0 <= number < len(shape.tuple_shapes):
            return None
        shape = shape.tuple_shapes[number]
    return shape
