"""From the bytes of a proto to the text of what is in it, or to where it is broken.

A buffer assignment follows BufferAllocation::ToString (xla/service/buffer_assignment.cc). The proto
names each value's instruction by its id; name and shape are those of the module. What the text has
beyond that (the sum of all allocations, uses, live ranges, which values are phis) no proto says.
A memory-usage report holds the tables of its text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from google.protobuf.message import DecodeError
from msgspec import Struct

from hlotool.errors import InputError
from hlotool.proto import kind
from hlotool.proto import messages as pb
from hlotool.proto.module import find_counts, prove_counts, render_head, render_module
from hlotool.proto.values import TUPLE, ShapeTexts, decode_shape, join_numbers
from hlotool.text import DeviceCounts

_DEEPEST: Final = 100  # protobuf decodes no message that stands deeper
_TEXT_PER_BYTE: Final = 64  # no real module comes near it
_FREE_CHARACTERS: Final = 1 << 20


class DecodedModule(Struct, frozen=True):
    """The module of a file, and what stands beside it in some: configuration, buffer assignment.

    `data` is the file.
    """

    module: pb.HloModuleProto
    config: pb.HloModuleConfigProto | None
    data: bytes
    assignment: pb.BufferAssignmentProto | None = None

    @property
    def counts(self) -> DeviceCounts:
        """On how many devices the proto proves that the module runs."""
        return prove_counts(self.module, self.config)

    def print_module(self, name: str, *, has_sugar: bool = False) -> str:
        """Return the text of the module; raise InputError if its ids lead nowhere.

        Without sugar, as XLA dumps it today (`xla_syntax_sugar_async_ops`): a buffer assignment
        names the instruction that an asynchronous operation runs, and sugar leaves that out.
        """
        try:
            return render_module(self.module, self.config, name, self._limit, has_sugar=has_sugar)
        except DecodeError as error:
            raise self._refuse_part(name) from error
        except MemoryError as error:
            raise InputError(f"{name}: the text of the module does not fit into memory.") from error

    def print_assignment(self, name: str) -> str | None:
        """Return the text of the buffer assignment beside the module, None where there is none.

        Raises InputError if its ids lead nowhere.
        """
        if self.assignment is None:
            return None
        try:
            return render_assignment(self.assignment, self.module, name, self._limit)
        except DecodeError as error:
            raise self._refuse_part(name) from error

    def print_head(self) -> str:
        """Return the header line alone; a count of devices that nobody knows is `?` in it."""
        line, counts = render_head(self.module, self.config), self.counts
        if find_counts(self.module, self.config) is not None:
            return line
        told = (("replica_count", counts.replica_count), ("num_partitions", counts.num_partitions))
        return line + "".join(f", {key}={'?' if count is None else count}" for key, count in told)

    @property
    def _limit(self) -> int:
        """The most characters its text may have: a name may be long, and used often."""
        return len(self.data) * _TEXT_PER_BYTE + _FREE_CHARACTERS

    def _refuse_part(self, name: str) -> InputError:
        """Say where a part of an instruction is broken, which is decoded when it is printed."""
        for computation in self.module.computations:
            for instruction in computation.instructions:
                for field, message in pb.INSTRUCTION_PARTS.items():
                    part: bytes = getattr(instruction, field)
                    if not _decodes(message, part):
                        damage = locate_damage(part, 0, len(part), message)
                        offset = self.data.find(part) + damage.offset
                        return _refuse(name, offset, damage.why, len(self.data))
        return _refuse(name, 0, "a part of an instruction cannot be decoded", len(self.data))


def decode_module(data: bytes, head: kind.ProtoHead, name: str) -> DecodedModule:
    """Return the module in a file, whichever message it is; raise InputError if it is broken."""
    message = kind.choose_message(data, head)
    end = len(data) if head.end is None else head.end
    if end > len(data):
        raise _refuse(name, head.begin, f"it claims to end at byte {end:,}", len(data))
    whole = data[head.begin : end] if head.begin or end != len(data) else data
    try:
        return _take(message, whole, data)
    except DecodeError as error:
        damage = locate_damage(whole, 0, len(whole), message)
        raise _refuse(name, head.begin + damage.offset, damage.why, len(data)) from error
    except MemoryError as error:
        raise InputError(f"{name}: the module does not fit into memory.") from error


def _take(message: str, data: bytes, file: bytes) -> DecodedModule:
    """Decode a message by its name and return the module in it."""
    if message == "HloModuleProto":
        return DecodedModule(pb.HloModuleProto.FromString(data), None, file)
    if message == "HloModuleProtoWithConfig":
        both = pb.HloModuleProtoWithConfig.FromString(data)
        return DecodedModule(both.hlo_module, both.config, file)
    if message == "HloUnoptimizedSnapshot":
        return DecodedModule(pb.HloUnoptimizedSnapshot.FromString(data).hlo_module, None, file)
    is_snapshot = message == "HloSnapshot"
    proto = pb.HloSnapshot.FromString(data).hlo if is_snapshot else pb.HloProto.FromString(data)
    # An empty assignment says nothing.
    has_one = proto.HasField("buffer_assignment") and proto.buffer_assignment.buffer_allocations
    found = proto.buffer_assignment if has_one else None
    return DecodedModule(proto.hlo_module, None, file, found)


def _refuse(name: str, offset: int, why: str, size_bytes: int) -> InputError:
    return InputError(
        f"{name}: the protobuf is broken at byte {offset:,} of {size_bytes:,}: {why}; "
        "was it copied to its end?"
    )


def locate_damage(data: bytes, begin: int, end: int, message: str) -> kind.BrokenFieldError:
    """Return where the message at [begin, end) is broken, and how.

    Each field that is a message is decoded alone; the first that cannot be is looked into.
    """
    for _ in range(_DEEPEST):
        inner = pb.list_submessages(message)
        try:
            for field in kind.list_fields(data, begin, end):
                is_message = field.wire_type == kind.LENGTH_DELIMITED and field.number in inner
                if is_message and not _decodes(inner[field.number], data[field.begin : field.end]):
                    message, begin, end = inner[field.number], field.begin, field.end
                    break
            else:
                return kind.BrokenFieldError(begin, f"a text in this {message} is not UTF-8")
        except kind.BrokenFieldError as error:
            return error
    return kind.BrokenFieldError(begin, f"messages are nested more than {_DEEPEST} deep")


def _decodes(message: str, data: bytes) -> bool:
    try:
        pb.message_class(message).FromString(data)
    except DecodeError:
        return False
    return True


_FLAGS: Final = (
    ("is_constant", "constant"),
    ("is_thread_local", "thread-local"),
    ("maybe_live_out", "maybe-live-out"),
)


def render_assignment(
    assignment: pb.BufferAssignmentProto, module: pb.HloModuleProto, name: str, limit: int
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


def _list_lines(allocation: pb.BufferAllocationProto, values: _Values) -> Iterator[str]:
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
        self, assignment: pb.BufferAssignmentProto, module: pb.HloModuleProto, name: str
    ) -> None:
        self.file = name
        self.shapes = ShapeTexts()
        self.buffers = {buffer.id: buffer for buffer in assignment.logical_buffers}
        self.by_id: dict[int, pb.HloInstructionProto] = {}
        self.by_name: dict[str, pb.HloInstructionProto] = {}
        self.parameters: dict[int, bytes] = {}
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
        if (buffer := self.buffers.get(number)) is None:
            raise InputError(
                f"{self.file}: an allocation has value {number}, which does not exist."
            )
        place = buffer.defined_at
        key = place.instruction_name or place.instruction_id
        found = self.by_name.get(key) if isinstance(key, str) else self.by_id.get(key)
        if found is None:
            raise InputError(
                f"{self.file}: value {buffer.id} of the buffer assignment is made by instruction "
                f"{key!r}, which the module does not have."
            )
        index = join_numbers(place.shape_index)
        shape = _find_part(decode_shape(found.shape), place.shape_index)
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
        shape = _find_part(decode_shape(whole), index) if whole else None
        return self.shapes.short(shape) if shape else ""


def _find_part(shape: pb.ShapeProto, index: Sequence[int]) -> pb.ShapeProto | None:
    """Return the part of a shape at an index, None if it has none there."""
    for number in index:
        if not 0 <= number < len(shape.tuple_shapes):
            return None
        shape = shape.tuple_shapes[number]
    return shape


def print_usage_report(data: bytes, name: str) -> str:
    """Return the text form of a report, with exact sizes; raise InputError if it is broken."""
    try:
        report = pb.UsageReport.FromString(data)
    except DecodeError as error:
        damage = locate_damage(data, 0, len(data), "UsageReport")
        raise InputError(
            f"{name}: the memory-usage report is damaged at byte {damage.offset:,}: {damage.why}."
        ) from error
    lines = []
    for space in report.spaces:
        lines.append(f"Memory Space: (color={space.color})\nTotal bytes: {space.total}\n")
        for one in space.allocations:
            lines.append(f"allocation {one.number}: size {one.size}:\n")
            lines += [table.decode("utf-8", "replace") for table in one.table]
        lines.append("\n")
    return "".join(lines)
