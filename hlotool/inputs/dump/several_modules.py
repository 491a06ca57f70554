"""Which programs does a text of several modules hold? One for each module."""

from __future__ import annotations

import os

from hlotool.errors import InputError
from hlotool.inputs.dump.files import DumpFile
from hlotool.inputs.dump.groups import FileGroup
from hlotool.inputs.dump.program import DumpedProgram
from hlotool.inputs.dump.role import KINDS_OF_ROLE, Role
from hlotool.inputs.dump.split_name import split_file_name
from hlotool.inputs.read.module_head import read_module_head
from hlotool.inputs.read.modules import FoundModules, find_modules
from hlotool.inputs.read.text import read_source
from hlotool.inputs.read.text_kind import TextKind, detect_kind


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
