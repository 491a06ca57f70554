"""Which programs does a text of several modules hold? One for each module.

Which programs do profiles hold? One for each that ran, with what was measured of it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from hlotool.dump.files import DumpedProgram, DumpFile
from hlotool.dump.groups import FileGroup
from hlotool.dump.modules import FoundModules, find_modules, read_module_head
from hlotool.dump.names import KINDS_OF_ROLE, Role, split_file_name, strip_compression
from hlotool.dump.protos import is_proto_readable
from hlotool.dump.read import STDIN, display_name, read_source
from hlotool.dump.stores import find_store
from hlotool.dump.text_kind import TextKind, detect_kind
from hlotool.dump.walk import FoundFile
from hlotool.errors import InputError, MissingPackageError
from hlotool.proto.kind import ENDING, PROTO_ENDING, find_assignment, find_proto_head

if TYPE_CHECKING:
    from hlotool.profile.measure import MeasuredProgram


def make_parts(path: str, found: FoundModules) -> tuple[DumpedProgram, ...]:
    """Return a program for each module of a text, numbered from 1.

    One without a name is called as the file is. The header says whether it is after
    optimization.
    """
    directory, filename = os.path.split(path)
    programs = []
    for number, source in enumerate(found.modules, 1):
        begin = detect_kind(source.text).begin
        head = read_module_head(source.text, begin, with_signature=False)
        kinds, size = KINDS_OF_ROLE[Role.MODULE], len(source.text)
        file = DumpFile(path, kinds, size, source, number, is_settled=True)
        programs.append(
            DumpedProgram(
                head.name or split_file_name(filename).name,
                directory,
                number,
                after=file if head.is_scheduled else None,
                loose=None if head.is_scheduled else file,
            )
        )
    return tuple(programs)


def take_parts(
    groups: list[FileGroup],
) -> tuple[list[FileGroup], tuple[DumpedProgram, ...], tuple[str, ...]]:
    """Take the texts of several modules out of groups; return what is left, programs and notes.

    Only texts that XLA did not name are looked at: it writes one module into a file.
    """
    programs: list[DumpedProgram] = []
    notes: list[str] = []
    for group in groups:
        if group.number is not None:
            continue
        for text in tuple(group.texts):
            found = _read_modules(text.file)
            if found is None:
                continue
            notes += found.notes()
            if len(found.modules) > 1:
                programs += make_parts(text.file.raw_path, found)
                group.texts.remove(text)
    return [each for each in groups if each.texts or each.companions], tuple(programs), tuple(notes)


def _read_modules(file: DumpFile) -> FoundModules | None:
    """Return the modules of a text, None where it cannot be read: who reads it gets the error."""
    try:
        source = file.source or read_source(file.raw_path)
    except InputError:
        return None
    detection = detect_kind(source.text)
    return find_modules(source, detection) if detection.kind is TextKind.MODULE else None


_NO_PLANES: Final = "there are no planes of devices, and nothing is measured."


def find_in_profile(path: str, data: bytes) -> tuple[tuple[DumpedProgram, ...], tuple[str, ...]]:
    """Return the programs of one profile, and notes.

    Raises InputError if it is broken, or has no program.
    """
    if not is_proto_readable():
        raise MissingPackageError(
            f"{display_name(path)}: this is a profile, which needs one more package: "
            "pip install 'hlotool[pb]'."
        )
    from hlotool.dump.profiles import read_profile  # noqa: PLC0415  optional

    beside = () if path == STDIN else _list_protos_beside(path)
    found = read_profile(path, data, beside)
    return _make_programs(os.path.dirname(path), found), _note_unmeasured(display_name(path), found)


def find_profiled(
    files: Iterable[FoundFile],
) -> tuple[tuple[DumpedProgram, ...], tuple[str, ...]]:
    """Return the programs of all profiles among files, and what is wrong with some."""
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
        from hlotool.dump.profiles import read_profiles  # noqa: PLC0415  optional

        try:
            found = read_profiles(profiles, protos)
        except InputError as error:
            notes.append(error.lines[0])
            continue
        programs += _make_programs(directory, found)
        notes += _note_unmeasured(directory, found) if profiles else ()
    return tuple(programs), tuple(notes)


def _list_protos_beside(path: str) -> list[str]:
    """Return the protos of programs in the directory of a profile."""
    directory = os.path.dirname(path)
    try:
        names = sorted(each.name for each in find_store(path).list_directory(directory or "."))
    except OSError:
        return []
    found = (name for name in names if strip_compression(name).endswith(PROTO_ENDING))
    return [os.path.join(directory, name) for name in found]


def _note_unmeasured(place: str, found: Iterable[MeasuredProgram]) -> tuple[str, ...]:
    """Say that a profile has no times: it was taken where no device could be looked at."""
    if any(one.measured is not None for one in found):
        return ()
    return (
        f"{place}: no event of this profile is of an instruction of its programs; {_NO_PLANES}",
    )


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
