"""From the bytes of a proto to the text of the module in it."""

from __future__ import annotations

from typing import Final

from google.protobuf.message import DecodeError
from msgspec import Struct

from hlotool.errors import InputError
from hlotool.inputs.proto.buffers import render_assignment
from hlotool.inputs.proto.counts import find_counts, prove_counts
from hlotool.inputs.proto.damage import find_damage
from hlotool.inputs.proto.kind import ProtoHead, choose_message
from hlotool.inputs.proto.messages import (
    BufferAssignmentProto,
    HloModuleConfigProto,
    HloModuleProto,
    HloModuleProtoWithConfig,
    HloProto,
    HloSnapshot,
    HloUnoptimizedSnapshot,
)
from hlotool.inputs.proto.module import render_head, render_module
from hlotool.inputs.proto.weight import expect_light

_TEXT_PER_BYTE: Final = 64  # no real module comes near it
_FREE_CHARACTERS: Final = 1 << 20


class DecodedModule(Struct, frozen=True):
    """The module of a file, and what stands beside it in some: configuration, buffer assignment."""

    module: HloModuleProto
    config: HloModuleConfigProto | None
    size_bytes: int  # of the file
    assignment: BufferAssignmentProto | None = None


def decode_module(data: bytes, head: ProtoHead, name: str) -> DecodedModule:
    """Return the module in a file, whichever message it is; raise InputError if it is broken."""
    message = choose_message(data, head)
    end = len(data) if head.end is None else head.end
    if end > len(data):
        raise _describe(name, head.begin, f"it says that it goes on to byte {end:,}", len(data))
    whole = data[head.begin : end] if head.begin or end != len(data) else data
    expect_light(whole, message, name, head.begin)
    try:
        return _take(message, whole, len(data))
    except DecodeError as error:
        damage = find_damage(whole, 0, len(whole), message)
        raise _describe(name, head.begin + damage.offset, damage.why, len(data)) from error
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
    if message == "HloSnapshot":
        return _take_both(HloSnapshot.FromString(data).hlo, size_bytes)
    return _take_both(HloProto.FromString(data), size_bytes)


def _take_both(proto: HloProto, size_bytes: int) -> DecodedModule:
    """Return a module with its buffer assignment, if it has one: an empty one says nothing."""
    has_one = proto.HasField("buffer_assignment") and proto.buffer_assignment.buffer_allocations
    found = proto.buffer_assignment if has_one else None
    return DecodedModule(proto.hlo_module, None, size_bytes, found)


def _describe(name: str, offset: int, why: str, size_bytes: int) -> InputError:
    return InputError(
        f"{name}: the protobuf is broken at byte {offset:,} of {size_bytes:,}: {why}; "
        "was it copied to its end?"
    )


def print_module(decoded: DecodedModule, name: str) -> str:
    """Return the text of a module; raise InputError if its ids lead nowhere."""
    limit = decoded.size_bytes * _TEXT_PER_BYTE + _FREE_CHARACTERS
    try:
        return render_module(decoded.module, decoded.config, name, limit)
    except MemoryError as error:
        raise InputError(f"{name}: the text of the module does not fit into memory.") from error


def print_assignment(decoded: DecodedModule, name: str) -> str | None:
    """Return the text of the buffer assignment beside a module, None where there is none.

    Raises InputError if its ids lead nowhere.
    """
    if decoded.assignment is None:
        return None
    limit = decoded.size_bytes * _TEXT_PER_BYTE + _FREE_CHARACTERS
    return render_assignment(decoded.assignment, decoded.module, name, limit)


def print_head(decoded: DecodedModule) -> str:
    """Return the header line alone; a count of devices that nobody knows is `?` in it."""
    counts = prove_counts(decoded.module, decoded.config)
    line = render_head(decoded.module, decoded.config)
    if find_counts(decoded.module, decoded.config) is not None:
        return line
    told = (("replica_count", counts.replica_count), ("num_partitions", counts.num_partitions))
    return line + "".join(f", {key}={'?' if count is None else count}" for key, count in told)
