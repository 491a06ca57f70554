"""What a name that a user typed means: instructions, or one computation.

Names are taken as users have them: from a table, which folds numbers (`fusion.*`), from their own
program (`params['wq']`, `model.py:120`), or from a dump of another compilation, whose endings
differ. `expect_meant` tries the exact ways first, so that a name never means less than it says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from typing import Final

from msgspec import Struct

from hlotool.errors import UsageError
from hlotool.hlo import Computation, Instruction, Module, TupleShape
from hlotool.hlo.shape import find_part
from hlotool.hlo.values import ShapeIndex
from hlotool.table.sums import group_by, group_pairs
from hlotool.table.words import find_folded, find_near, join_words, list_some, split_name

_MOST_CANDIDATES: Final = 8
_MOST_LINES: Final = 4
# Nine digits hold any index; more would only make the conversion of a typed name slow.
_INDEX: Final = r"[0-9]{1,9}(?:,\s*[0-9]{1,9})*|"
_VALUE: Final = re.compile(rf"(?P<name>.+)\{{(?P<index>{_INDEX})\}}")
_PLACE: Final = re.compile(r"(?P<file>[^:]+):(?P<line>\d+)")
_COPIES: Final = re.compile(r"(?:\.(?:clone|remat\d*|cloned))+$")


class Meant(Struct, frozen=True):
    """What one name means: instructions, or one computation.

    `index` is the part of the instruction's tuple that was named, None for all of it.
    """

    name: str
    instructions: tuple[Instruction, ...] = ()
    computation: Computation | None = None
    index: ShapeIndex | None = None


class Names:
    """The names of one module, found once for all that are asked for."""

    def __init__(self, module: Module) -> None:
        self.module = module

    @cached_property
    def folded(self) -> dict[str, list[Instruction]]:
        """The instructions whose names differ in numbers and endings alone, as tables fold them."""
        return group_by(self.module.instructions(), lambda one: split_name(one.name)[0])

    @cached_property
    def called(self) -> dict[str, list[Instruction]]:
        """The instructions of each name, full or short."""
        listed = self.module.instructions()
        return group_pairs((name, one) for one in listed for name in {one.name, one.full_name})

    @cached_property
    def parameters(self) -> dict[str, list[Instruction]]:
        """The entry's parameters by the program's names for them."""
        listed = ((one.metadata().op_name, one) for one in self.module.entry.parameters)
        return group_pairs((name, one) for name, one in listed if name)


def expect_meant(name: str, names: Names) -> Meant:
    """Return what a name means, in the first of these ways in which it means anything.

    An instruction by its full name or its name, a leading `%` ignored; a computation; a value
    `fusion.3{0,1}`; a parameter of the entry by the program's name, `params['wq']`; a source line
    `model.py:120`, which is every instruction it made; what a table calls several, `fusion.*` or
    `fusion.*{1}`, which is every instruction of such a name that has such a part; a name less or
    more the endings `.clone` and `.remat`; the only name that begins so. Raises UsageError with
    candidates where nothing fits, or several names begin so.
    """
    wanted = name.removeprefix("%")
    if found := _find_named(name, wanted, names):
        return found
    value = _VALUE.fullmatch(wanted)
    if value and (whole := _find_named(name, value["name"], names)):
        index = _read_index(value["index"])
        _expect_part(name, index, whole)
        return Meant(name, whole.instructions, whole.computation, index)
    if wanted in names.parameters:
        return Meant(name, tuple(names.parameters[wanted]))
    if place := _PLACE.fullmatch(wanted):
        lines = _list_lines(place["file"], names.module)
        if made := tuple(one for line, one in lines if line == int(place["line"])):
            return Meant(name, made)
    return _find_folded(name, wanted, names) or _expect_alike(name, wanted, names)


def _find_named(name: str, wanted: str, names: Names) -> Meant | None:
    """Return the instruction of a full name, else those of a name, else the computation of it."""
    if called := tuple(names.called.get(wanted, ())):
        return Meant(name, tuple(one for one in called if one.full_name == wanted) or called)
    computation = names.module.computations.get(wanted)
    return Meant(name, computation=computation) if computation else None


def _read_index(text: str) -> ShapeIndex:
    return tuple(map(int, text.split(","))) if text else ()


def _expect_part(name: str, index: ShapeIndex, whole: Meant) -> None:
    """Raise UsageError unless all that is named has such a part."""
    if index and not whole.instructions:
        raise UsageError(f"{name!r}: a computation has no parts; name its root.")
    for one in whole.instructions:
        if find_part(one.shape, index) is None:
            parts = len(one.shape.elements) if isinstance(one.shape, TupleShape) else 0
            is_what = f"it is a tuple of {parts}" if parts else "it is not a tuple"
            raise UsageError(f"{name!r}: {one.full_name} has no such part; {is_what}.")


def _list_lines(file: str, module: Module) -> list[tuple[int, Instruction]]:
    """Return what a source file made, by its lines; it may be given without directories."""
    ending = f"/{file}"
    located = ((one.source_location(), one) for one in module.instructions())
    return [
        (place.line, one) for place, one in located if place and f"/{place.file}".endswith(ending)
    ]


def _find_folded(name: str, wanted: str, names: Names) -> Meant | None:
    """Return the instructions that a row of several stands for, and others that are called so."""
    if (folded := find_folded(wanted)) is None:
        return None
    base, written = folded
    found = tuple(names.folded.get(base, ()))
    if written is None:
        return Meant(name, found) if found else None
    if not re.fullmatch(_INDEX, written):
        return None
    index = _read_index(written)
    found = tuple(one for one in found if find_part(one.shape, index) is not None)
    return Meant(name, found, index=index) if found else None


def count_called(folded: str, module: Module) -> int:
    """Return of how many instructions `fusion.*` may be some: those of the opcode it names."""
    found = find_folded(folded.removeprefix("%"))
    return sum(one.opcode == found[0] for one in module.instructions()) if found else 0


def _expect_alike(name: str, wanted: str, names: Names) -> Meant:
    """Return the only thing whose name differs in its ending alone; raise UsageError otherwise."""
    listed = (one.name for one in names.module.instructions())
    known = dict.fromkeys(filter(None, (*listed, *names.module.computations, *names.parameters)))
    stem = _COPIES.sub("", wanted)
    alike = [one for one in known if _COPIES.sub("", one) == stem]
    alike = alike or [one for one in known if one.startswith(wanted)]
    if len(alike) == 1:
        return expect_meant(alike[0], names)
    if alike:
        raise UsageError(f"{name!r} is the beginning of {_list(alike)}; give one of them.")
    inside = [one for one in known if wanted and wanted in one]
    hint = f"names that contain it: {_list(inside)}." if inside else _hint(wanted, names)
    raise UsageError(
        f"there is no instruction, computation, parameter or source line {name!r}; {hint}"
    )


def _hint(wanted: str, names: Names) -> str:
    """Say what may be meant by a name that means nothing, and that no name holds."""
    place = _PLACE.fullmatch(wanted)
    lines = {line for line, _ in _list_lines(place["file"], names.module)} if place else ()
    if place and lines:
        near = sorted(lines, key=lambda line: abs(line - int(place["line"])))[:_MOST_LINES]
        return f"{place['file']} has other lines, such as {_list(map(str, sorted(near)))}."
    folded = (f"{base}.*" if len(ones) > 1 else ones[0].name for base, ones in names.folded.items())
    near_names = find_near(wanted.rstrip("*"), dict.fromkeys((*folded, *names.parameters)))
    meant = near_names and f"did you mean {join_words(near_names, 'or')}?"
    hint = meant or "and no name contains it."
    if "*" in wanted and find_folded(wanted) is None:
        hint += " The only pattern is NAME.*, for names that differ in numbers and endings."
    return hint


def _list(names: Iterable[str]) -> str:
    return list_some(list(names), _MOST_CANDIDATES, " and {:,} more")
