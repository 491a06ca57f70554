"""From the bytes of a proto to the text of the module in it, or to where it is broken."""

from __future__ import annotations

from typing import Final

from google.protobuf.message import DecodeError
from msgspec import Struct

from hlotool.errors import InputError
from hlotool.proto.buffers import render_assignment
from hlotool.proto.kind import (
    LENGTH_DELIMITED,
    BrokenFieldError,
    ProtoHead,
    choose_message,
    list_fields,
)
from hlotool.proto.messages import (
    BufferAssignmentProto,
    HloModuleConfigProto,
    HloModuleProto,
    HloModuleProtoWithConfig,
    HloProto,
    HloSnapshot,
    HloUnoptimizedSnapshot,
    list_submessages,
    message_class,
)
from hlotool.proto.module import find_counts, prove_counts, render_head, render_module
from hlotool.text import DeviceCounts

_DEEPEST: Final = 100  # protobuf decodes no message that stands deeper
_TEXT_PER_BYTE: Final = 64  # no real module comes near it
_FREE_CHARACTERS: Final = 1 << 20


class DecodedModule(Struct, frozen=True):
    """The module of a file, and what stands beside it in some: configuration, buffer assignment."""

    module: HloModuleProto
    config: HloModuleConfigProto | None
    size_bytes: int  # of the file
    assignment: BufferAssignmentProto | None = None

    @property
    def counts(self) -> DeviceCounts:
        """On how many devices the proto proves that the module runs."""
        return prove_counts(self.module, self.config)

    def print_module(self, name: str) -> str:
        """Return the text of the module; raise InputError if its ids lead nowhere."""
        try:
            return render_module(self.module, self.config, name, self._limit)
        except MemoryError as error:
            raise InputError(f"{name}: the text of the module does not fit into memory.") from error

    def print_assignment(self, name: str) -> str | None:
        """Return the text of the buffer assignment beside the module, None where there is none.

        Raises InputError if its ids lead nowhere.
        """
        if self.assignment is None:
            return None
        return render_assignment(self.assignment, self.module, name, self._limit)

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
        return self.size_bytes * _TEXT_PER_BYTE + _FREE_CHARACTERS


def decode_module(data: bytes, head: ProtoHead, name: str) -> DecodedModule:
    """Return the module in a file, whichever message it is; raise InputError if it is broken."""
    message = choose_message(data, head)
    end = len(data) if head.end is None else head.end
    if end > len(data):
        raise _refuse(name, head.begin, f"it says that it goes on to byte {end:,}", len(data))
    whole = data[head.begin : end] if head.begin or end != len(data) else data
    try:
        return _take(message, whole, len(data))
    except DecodeError as error:
        damage = locate_damage(whole, 0, len(whole), message)
        raise _refuse(name, head.begin + damage.offset, damage.why, len(data)) from error
    except MemoryError as error:
        raise InputError(f"{name}: the module does not fit into memory.") from error


def _take(message: str, data: bytes, size_bytes: int) -> DecodedModule:
    """Decode a message by its name and return the module in it."""
    if message == "HloModuleProto":
        return DecodedModule(HloModuleProto.FromString(data), None, size_bytes)
    if message == "HloModuleProtoWithConfig":
        both = HloModuleProtoWithConfig.FromString(data)
        return DecodedModule(both.hlo_module, both.config, size_bytes)
    if message == "HloUnoptimizedSnapshot":
        return DecodedModule(HloUnoptimizedSnapshot.FromString(data).hlo_module, None, size_bytes)
    is_snapshot = message == "HloSnapshot"
    proto = HloSnapshot.FromString(data).hlo if is_snapshot else HloProto.FromString(data)
    # An empty assignment says nothing.
    has_one = proto.HasField("buffer_assignment") and proto.buffer_assignment.buffer_allocations
    found = proto.buffer_assignment if has_one else None
    return DecodedModule(proto.hlo_module, None, size_bytes, found)


def _refuse(name: str, offset: int, why: str, size_bytes: int) -> InputError:
    return InputError(
        f"{name}: the protobuf is broken at byte {offset:,} of {size_bytes:,}: {why}; "
        "was it copied to its end?"
    )


def locate_damage(data: bytes, begin: int, end: int, message: str) -> BrokenFieldError:
    """Return where the message at [begin, end) is broken, and how.

    Each field that is a message is decoded alone; the first that cannot be is looked into.
    """
    for _ in range(_DEEPEST):
        inner = list_submessages(message)
        try:
            for field in list_fields(data, begin, end):
                is_message = field.wire_type == LENGTH_DELIMITED and field.number in inner
                if is_message and not _decodes(inner[field.number], data[field.begin : field.end]):
                    message, begin, end = inner[field.number], field.begin, field.end
                    break
            else:
                return BrokenFieldError(begin, f"a text in this {message} is not UTF-8")
        except BrokenFieldError as error:
            return error
    return BrokenFieldError(begin, f"messages stand in one another more than {_DEEPEST} deep")


def _decodes(message: str, data: bytes) -> bool:
    try:
        message_class(message).FromString(data)
    except DecodeError:
        return False
    return True
