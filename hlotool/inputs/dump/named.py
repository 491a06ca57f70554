"""Which programs of a directory does --module mean? Those at a place, of a number, or of a name.

    module = place | "#" number | regular expression

The first of these that any program fits decides: a place is what `hlotool summary` shows of a
program, letter by letter. The expression is searched in names, where it holds `#` in
`NAME#NUMBER` too; if no name has it, in places.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from hlotool.inputs.dump.program import DumpedProgram
from hlotool.inputs.dump.short_path import short_path
from hlotool.pattern import Pattern

_NUMBER: Final = re.compile(r"#([0-9]+)")


def choose_programs(
    directory: str, programs: Sequence[DumpedProgram], pattern: Pattern
) -> tuple[DumpedProgram, ...]:
    """Return the programs that are meant, none where nothing fits."""
    number = _NUMBER.fullmatch(pattern.text)
    places = {id(each): _find_places(each, directory) for each in programs}
    fits = (
        lambda one: pattern.text in places[id(one)],
        lambda one: number is not None and one.number == int(number[1]),
        lambda one: _has_name(one, pattern),
        lambda one: any(map(pattern.is_found, places[id(one)])),
    )
    found = (tuple(filter(fit, programs)) for fit in fits)
    return next((chosen for chosen in found if chosen), ())


def _find_places(program: DumpedProgram, directory: str) -> set[str]:
    """Return where its texts lie, in short."""
    return {short_path(one.path, directory) for one in program.inputs("all")}


def _has_name(program: DumpedProgram, pattern: Pattern) -> bool:
    """Whether a pattern matches a name; one that holds `#` may match its number as well."""
    if pattern.is_found(program.name):
        return True
    numbered = program.number is not None and "#" in pattern.text
    return numbered and pattern.is_found(f"{program.name}#{program.number}")
