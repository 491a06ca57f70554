"""Find the module of a buffer assignment whose name says nothing.

Told by content. A wrong match would be a lie, so every name must fit, and one module alone.
"""

from __future__ import annotations

import re
from typing import Final

from hlotool.errors import InputError
from hlotool.inputs.dump.files import DumpFile
from hlotool.inputs.dump.groups import FileGroup
from hlotool.inputs.dump.member import ModuleText
from hlotool.inputs.dump.role import Role, Stage
from hlotool.inputs.read.module_head import read_arrays

_PARAMETER: Final = re.compile(
    r"^allocation \d++:[^|\n]*, parameter \d++, shape \|([^|(\n]++)\|", re.MULTILINE
)
_VALUE_NAME: Final = re.compile(r"^ value: <\d++ ([^\s{]++)", re.MULTILINE)
_DEFINED: Final = re.compile(r"^\s*+(?:ROOT )?+%?+([\w.\-]++) = ", re.MULTILINE)
_MAX_TRIES: Final = 8  # module texts read for one assignment
_MAX_ORPHANS: Final = 64  # assignments looked at


def adopt_buffers(groups: list[FileGroup]) -> tuple[list[FileGroup], tuple[str, ...]]:
    """Move nameless buffer assignments to the one module they fit; say so in notes.

    It fits when the arrays of its parameters are among the module's, and every instruction
    that it names is defined in the module's text. An assignment that fits no module, or
    several, stays alone; so do those after the first _MAX_ORPHANS.
    """
    orphans = [each for each in groups if _is_orphan(each)]
    homes = [each for each in groups if not each.companions and each.staged(Stage.AFTER)]
    if not orphans or not homes:
        return groups, ()
    notes: list[str] = []
    gone: set[int] = set()
    for orphan in orphans[:_MAX_ORPHANS]:
        file = next(iter(orphan.companions.values()))
        found = _find_homes(file, homes)
        if len(found) != 1:
            continue
        home, text = found[0]
        home.companions[text.name.suffix, Role.BUFFERS] = file
        homes.remove(home)
        gone.add(id(orphan))
        notes.append(f"{file.path} is, by its content, the buffer assignment of {text.file.path}.")
    return [each for each in groups if id(each) not in gone], tuple(notes)


def _is_orphan(group: FileGroup) -> bool:
    """Whether a group is one buffer assignment without a module."""
    roles = [role for _, role in group.companions]
    return group.number is None and not group.texts and roles == [Role.BUFFERS]


def _find_homes(file: DumpFile, homes: list[FileGroup]) -> list[tuple[FileGroup, ModuleText]]:
    """Return the modules an assignment fits, reading the texts of those with its arrays."""
    try:
        text = file.read().text
    except InputError:
        return []
    arrays = frozenset(array for shape in _PARAMETER.findall(text) for array in read_arrays(shape))
    names = frozenset(_VALUE_NAME.findall(text))
    likely = [
        (home, after)
        for home in homes
        for after in home.staged(Stage.AFTER)[:1]
        if arrays <= frozenset(after.head.parameters or ())
    ]
    return [(home, after) for home, after in likely[:_MAX_TRIES] if _defines(after.file, names)]


def _defines(file: DumpFile, names: frozenset[str]) -> bool:
    """Whether a module text defines instructions of all these names."""
    try:
        defined = frozenset(_DEFINED.findall(file.read().text))
    except InputError:
        return False
    return bool(names) and names <= defined
