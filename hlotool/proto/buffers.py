"""A buffer assignment as XLA writes it: the allocations, each with the values in it.

Follows BufferAllocation::ToString (xla/service/buffer_assignment.cc). The proto names each value's
instruction by its id; name and shape are those of the module. What the text has beyond that (the
sum of all allocations, uses, live ranges, which values are phis) no proto says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from hlotool.errors import InputError
from hlotool.proto.messages import (
    BufferAllocationProto,
    BufferAssignmentProto,
    HloInstructionProto,
    HloModuleProto,
    ShapeProto,
)
from hlotool.proto.shapes import TUPLE, ShapeTexts, join_numbers

_FLAGS: Final = (
    ("is_constant", "constant"),
    ("is_thread_local", "thread-local"),
    ("maybe_live_out", "maybe-live-out"),
)


def render_assignment(
    assignment: BufferAssignmentProto, module: HloModuleProto, name: str, limit: int
) -> str:
    """Return the text of an assignment; `name` is the file's, for errors.

    Raises InputError for an id that leads nowhere, and for a text of more than `limit` characters.
    """
    values = _Values(assignment, module, name)
    parts, left = ["BufferAssignment:\n"], limit
    for allocation in assignment.buffer_allocations:
        for line in _list_lines(allocation, values):
            left -= len(line)
            if left < 0:
                raise InputError(
                    f"{name}: the text of the buffer assignment would be far longer than the file."
                )
            parts.append(line)
    return "".join(parts)


def _list_lines(allocation: BufferAllocationProto, values: _Values) -> Iterator[str]:
    """Yield an allocation, and the values in it by their numbers."""
    if allocation.size < 0 or any(min(each.size, each.offset) < 0 for each in allocation.assigned):
        raise InputError(f"{values.file}: a size in allocation {allocation.index} is below zero.")
    parts = [f"allocation {allocation.index}: size {allocation.size}"]
    if allocation.color:
        parts.append(f"color {allocation.color}")
    flags = [word for field, word in _FLAGS if getattr(allocation, field)]
    if allocation.is_entry_computation_parameter:
        number, index = allocation.parameter_number, allocation.parameter_shape_index
        shape = values.describe_parameter(number, index)
        flags.insert(0, f"parameter {number}, shape |{shape}| at ShapeIndex {join_numbers(index)}")
    yield f"{', '.join([*parts, *(flags or ['preallocated-temp'])])}:\n"
    for place in sorted(allocation.assigned, key=lambda each: each.logical_buffer_id):
        value, shape = values.describe(place.logical_buffer_id)
        yield f" value: <{value}> (size={place.size},offset={place.offset}): {shape}\n"


class _Values:
    """The values of an assignment by their numbers, and what the text says of them."""

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

    def describe(self, number: int) -> tuple[str, str]:
        """Return what a value is called, with its memory space, and its shape.

        Raises InputError if nothing defines it. Protos of old compilers name the instruction.
        """
        buffer = self.buffers.get(number)
        if buffer is None:
            raise InputError(f"{self.file}: an allocation holds value {number}, which is nowhere.")
        place = buffer.defined_at
        key = place.instruction_name or place.instruction_id
        found = self.by_name.get(key) if isinstance(key, str) else self.by_id.get(key)
        if found is None:
            raise InputError(
                f"{self.file}: value {buffer.id} of the buffer assignment is made by instruction "
                f"{key!r}, which the module does not have."
            )
        shape, index = _find_part(found.shape, place.shape_index), join_numbers(place.shape_index)
        if shape is None:
            raise InputError(
                f"{self.file}: value {number} is part {index} of {found.name!r}, "
                "which has no such part."
            )
        is_part = place.shape_index or shape.element_type == TUPLE
        name = f"{number} {found.name}{index if is_part else ''} @{buffer.color}"
        return name, self.shapes.long(shape)

    def describe_parameter(self, number: int, index: Sequence[int]) -> str:
        """Return the shape of a parameter, or of a part of it; '' where there is none such."""
        whole = self.parameters.get(number)
        shape = _find_part(whole, index) if whole else None
        return self.shapes.short(shape) if shape else ""


def _find_part(shape: ShapeProto, index: Sequence[int]) -> ShapeProto | None:
    """Return the part of a shape at an index, None if it has none there."""
    for number in index:
        if not 0 <= number < len(shape.tuple_shapes):
            return None
        shape = shape.tuple_shapes[number]
    return shape
