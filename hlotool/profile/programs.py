"""Which programs ran? Their HLO protos, and what tells how their instructions are measured."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Final

from google.protobuf.message import DecodeError
from msgspec import Struct

from hlotool.errors import InputError
from hlotool.hlo.opcodes import COLLECTIVES
from hlotool.profile.space import Plane, Space
from hlotool.proto.decode import decode_module
from hlotool.proto.kind import find_proto_head
from hlotool.proto.messages import HloInstructionProto, HloModuleProto

METADATA_PLANE: Final = "/host:metadata"
_PROTO_STATS: Final = frozenset(("Hlo Proto", "hlo_proto", "HLO Proto"))
_LABEL: Final = re.compile(r"(.*)\((\d{1,20})\)", re.DOTALL)  # NAME(PROGRAM_ID)
_CONTAINERS: Final = frozenset(("while", "conditional", "call"))
_WRAPPERS: Final = frozenset(("async-start", "fusion"))
_COMMUNICATES: Final = COLLECTIVES | {"send", "recv"}
_LOCAL: Final = (1 << 32) - 1  # what counts of an id within its computation
_LATER: Final = ("-done", "-update")


class Label(Struct, frozen=True):
    """How a profile calls a program: the module's name, and its number in the process."""

    name: str
    program: int | None


class ProfiledProgram(Struct, frozen=True):
    """A program of a profile: its proto, and the roles of its instructions."""

    label: Label
    data: bytes
    roles: Roles


class Roles(Struct, frozen=True):
    """What instructions are to each other, as far as times are concerned.

    `owners` has the instructions of collectives, each with the one that begins it: itself, or
    its start. `containers` hold other instructions, whose events stand in theirs. `entry` are
    those that run once in each run.
    """

    owners: Mapping[str, str]
    containers: frozenset[str]
    entry: frozenset[str]


def read_label(text: str) -> Label:
    """Read `jit_step(12)`; without a number it is the name alone."""
    found = _LABEL.fullmatch(text)
    return Label(found[1], int(found[2])) if found else Label(text, None)


def list_programs(space: Space, plane: Plane) -> Iterator[ProfiledProgram]:
    """Yield the programs of the plane `/host:metadata`; the same bytes of a label once."""
    names = {number: one.name for number, one in space.stat_metadata(plane)}
    seen: set[tuple[Label, int]] = set()
    for _, one in space.event_metadata(plane):
        for stat in one.stats:
            if names.get(stat.metadata_id) not in _PROTO_STATS or not stat.bytes_value:
                continue
            found = make_program(read_label(one.name), stat.bytes_value)
            key = (found.label, len(found.data))
            if key not in seen:
                seen.add(key)
                yield found


def make_program(label: Label, data: bytes) -> ProfiledProgram:
    """Return a program; the error of a broken proto is met by who reads it."""
    roles = Roles({}, frozenset(), frozenset())
    head = find_proto_head(data)
    if head is not None:
        label = Label(head.module_name, label.program)
        with suppress(InputError, DecodeError):
            roles = _find_roles(decode_module(data, head, "").module)
    return ProfiledProgram(label, data, roles)


def _find_roles(module: HloModuleProto) -> Roles:
    """Say which instructions are of collectives, and which hold others."""
    inside = {
        every.id
        for every in module.computations
        if any(_base(each) in _COMMUNICATES for each in every.instructions)
    }
    owners: dict[str, str] = {}
    containers: set[str] = set()
    for computation in module.computations:
        names = {each.id & _LOCAL: each.name for each in computation.instructions}
        for each in computation.instructions:
            is_wrapper = each.opcode in _WRAPPERS and inside & {*each.called_computation_ids}
            if each.opcode in _CONTAINERS:
                containers.add(each.name)
            elif each.opcode.endswith(_LATER):
                started = names.get(each.operand_ids[0] & _LOCAL, "") if each.operand_ids else ""
                if started in owners:
                    owners[each.name] = owners[started]
            elif _base(each) in _COMMUNICATES or is_wrapper:
                owners[each.name] = each.name
    entry = (
        each.name
        for every in module.computations
        if every.id == module.entry_computation_id
        for each in every.instructions
    )
    return Roles(owners, frozenset(containers), frozenset(entry))


def _base(instruction: HloInstructionProto) -> str:
    return instruction.opcode.removesuffix("-start")
