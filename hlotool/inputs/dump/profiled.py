"""Which programs do profiles hold? One for each that ran, with what was measured of it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from hlotool.errors import InputError, MissingPackageError
from hlotool.inputs.dump.files import DumpFile
from hlotool.inputs.dump.program import DumpedProgram
from hlotool.inputs.dump.role import KINDS_OF_ROLE, Role
from hlotool.inputs.dump.split_name import strip_compression
from hlotool.inputs.dump.walk import FoundFile
from hlotool.inputs.profile.kind import ENDING, PROTO_ENDING
from hlotool.inputs.proto.kind import find_assignment, find_proto_head
from hlotool.inputs.read.protos import is_proto_readable
from hlotool.inputs.read.text import STDIN, display_name

if TYPE_CHECKING:  # needs the package protobuf
    from hlotool.inputs.profile.measure import MeasuredProgram


def find_in_profile(path: str, data: bytes) -> tuple[DumpedProgram, ...]:
    """Return the programs of one profile; raise InputError if it is broken, or has none."""
    if not is_proto_readable():
        raise MissingPackageError(
            f"{display_name(path)}: this is a profile, which needs one more package: "
            "pip install 'hlotool[pb]'."
        )
    from hlotool.inputs.profile.files import read_profile  # noqa: PLC0415  optional

    beside = () if path == STDIN else _list_protos_beside(path)
    return _make_programs(os.path.dirname(path), read_profile(path, data, beside))


def find_profiled(
    files: Iterable[FoundFile],
) -> tuple[tuple[DumpedProgram, ...], tuple[str, ...]]:
    """Return the programs of all profiles among files, and a note for each that is broken."""
    runs: dict[str, tuple[list[str], list[str]]] = {}
    for file in files:
        name = strip_compression(file.name)
        for number, ending in enumerate((ENDING, PROTO_ENDING)):
            if name.endswith(ending):
                runs.setdefault(file.directory, ([], []))[number].append(file.path)
    if runs and not is_proto_readable():
        where = next(iter(runs))
        note = f"{where}: profiles need one more package: pip install 'hlotool[pb]'."
        return (), (note,)
    programs: list[DumpedProgram] = []
    notes: list[str] = []
    for directory, (profiles, protos) in runs.items():
        from hlotool.inputs.profile.files import read_profiles  # noqa: PLC0415  optional

        try:
            programs += _make_programs(directory, read_profiles(profiles, protos))
        except InputError as error:
            notes.append(error.lines[0])
    return tuple(programs), tuple(notes)


def _list_protos_beside(path: str) -> list[str]:
    """Return the protos of programs in the directory of a profile."""
    directory = os.path.dirname(path)
    try:
        names = sorted(os.listdir(directory or "."))
    except OSError:
        return []
    found = (name for name in names if strip_compression(name).endswith(PROTO_ENDING))
    return [os.path.join(directory, name) for name in found]


def _make_programs(directory: str, found: Iterable[MeasuredProgram]) -> tuple[DumpedProgram, ...]:
    """Return a program for each proto, by name and number."""
    programs = []
    for place, one in enumerate(found, 1):
        number = place if one.label.program is None else one.label.program
        kinds = KINDS_OF_ROLE[Role.MODULE]
        file = DumpFile(one.path, kinds, len(one.data), part=number, data=one.data)
        programs.append(
            DumpedProgram(
                one.label.name,
                directory,
                number,
                after=file,
                buffers=_find_buffers(file, one.data),
                measured=one.measured,
            )
        )
    return tuple(sorted(programs, key=lambda each: (each.name, each.number or 0)))


def _find_buffers(file: DumpFile, data: bytes) -> DumpFile | None:
    head = find_proto_head(data)
    if head is None or not find_assignment(data, head):
        return None
    kinds = KINDS_OF_ROLE[Role.BUFFERS]
    return DumpFile(file.raw_path, kinds, len(data), part=file.part, is_assignment=True, data=data)
