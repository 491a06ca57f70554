"""Which programs of a directory does --module mean? Those at a place, of a number, or of a name.

    module = place | "#" number | regular expression

The first of these that any program fits decides: a place is what `hlotool summary` shows of a
program, letter by letter. The expression is searched in names, where it holds `#` in
`NAME#NUMBER` too; if no name has it, in places.

Which of a directory's programs of one name is this? The one at its place.

From a directory, or a stream of many files, to its programs and what a command reads of them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from hlotool.dump.compression import HOW_TO_DUMP
from hlotool.dump.files import DumpedProgram, DumpFile, Input, Inputs, StageChoice
from hlotool.dump.groups import group_files, make_member
from hlotool.dump.modules import FoundModules, split_stream
from hlotool.dump.names import Role, short_path, split_file_name
from hlotool.dump.pairing import adopt_buffers, pair_programs
from hlotool.dump.protos import is_proto_readable
from hlotool.dump.read import display_name
from hlotool.dump.several import find_in_profile, find_profiled, make_parts, take_parts
from hlotool.dump.stores import find_root
from hlotool.dump.walk import FoundFile, walk_directory
from hlotool.errors import InputError, MissingPackageError, NothingCheckedError
from hlotool.pattern import Pattern
from hlotool.table.words import list_some
from hlotool.text import Source

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


def tell_apart(directory: str, inputs: Sequence[Input]) -> tuple[Input, ...]:
    """Give inputs that share a name their places; of two texts of a program, with the stage."""
    names = Counter(one.name for one in inputs)
    placed = [
        replace(one, place=short_path(one.path, directory)) if names[one.name] > 1 else one
        for one in inputs
    ]
    places = Counter((one.name, one.place) for one in placed)
    return tuple(
        replace(one, place=f"{one.place} {one.stage.value}")
        if one.stage and places[one.name, one.place] > 1
        else one
        for one in placed
    )


_NAMES_LISTED: Final = 8


def find_in_directory(
    path: str, stage: StageChoice, pattern: Pattern | None, root: str = ""
) -> Inputs:
    """Return one input for each program of a directory whose name a pattern matches.

    `root` is what the paths of its files begin with, where that is not PATH. Raises as
    `find_inputs` does.
    """
    programs, notes = find_programs(path, root)
    chosen = _match_programs(path, programs, pattern)
    return Inputs(path, True, _inputs_of(path, programs, chosen, stage), notes)


def find_in_stream(
    path: str, source: Source, stage: StageChoice, pattern: Pattern | None
) -> Inputs:
    """Return one input for each program of a stream; with one program it counts as a file."""
    programs, notes = _stream_programs(source)
    chosen = _match_programs(path, programs, pattern)
    return Inputs(path, len(chosen) > 1, _inputs_of(path, programs, chosen, stage), notes)


def find_among_modules(
    path: str, found: FoundModules, stage: StageChoice, pattern: Pattern | None
) -> Inputs:
    """Return one input for each module of a text; with one chosen it counts as a file."""
    programs = make_parts(path, found)
    chosen = _match_programs(path, programs, pattern)
    inputs = _inputs_of(path, programs, chosen, stage)
    return Inputs(path, len(chosen) > 1, inputs, found.notes())


def find_among_profiled(
    path: str, data: bytes, stage: StageChoice, pattern: Pattern | None
) -> Inputs:
    """Return one input for each program of a profile; with one chosen it counts as a file."""
    programs, notes = find_in_profile(path, data)
    chosen = _match_programs(path, programs, pattern)
    return Inputs(path, len(chosen) > 1, _inputs_of(path, programs, chosen, stage), notes)


def find_programs(
    directory: str, root: str = ""
) -> tuple[tuple[DumpedProgram, ...], tuple[str, ...]]:
    """Return the programs of a dump directory and everything below it, and notes.

    Sorted by directory, number and name, the modules of texts that hold several last. `root` is
    what the paths of an archive begin with, if it is open. Raises InputError if there are none.
    """
    files, notes = walk_directory(root or find_root(directory) or directory)
    members = [
        make_member(each.directory, each.name, DumpFile(each.path, (), each.size_bytes))
        for each in files
    ]
    groups, parts, around = take_parts(group_files(members))
    groups, more = adopt_buffers(groups)
    profiled, broken = find_profiled(files)
    programs = pair_programs(groups) + parts + profiled
    if not programs and broken:
        raise InputError(*broken)
    if not programs:
        _refuse_protos(display_name(directory), files)
        what, *how = _describe_no_programs(files)
        raise InputError(f"{display_name(directory)}: {what}", *how)
    return programs, notes + around + more + broken


def _stream_programs(source: Source) -> tuple[tuple[DumpedProgram, ...], tuple[str, ...]]:
    """Return the programs of a stream; a second copy of a file counts as another directory."""
    members = [
        make_member(
            f"{section.copy}",
            section.name,
            DumpFile(section.source.name, (), len(section.source.text), section.source),
        )
        for section in split_stream(source)
    ]
    groups, notes = adopt_buffers(group_files(members))
    programs = pair_programs(groups)
    if not programs:
        raise InputError(
            f"{source.name}: none of the {len(members)} sections between *** Begin and *** End "
            "is an HLO module.",
            HOW_TO_DUMP,
        )
    return programs, notes


def _match_programs(
    path: str, programs: tuple[DumpedProgram, ...], pattern: Pattern | None
) -> tuple[DumpedProgram, ...]:
    """Return the programs that --module means; raise if there is none."""
    if pattern is None:
        return programs
    chosen = choose_programs(path, programs, pattern)
    if not chosen:
        names = sorted({each.name for each in programs})
        listed = list_some(names, _NAMES_LISTED, ", …")
        raise NothingCheckedError(
            f"{display_name(path)}: --module {pattern.text!r} matches no module; "
            f"there are: {listed}."
        )
    return chosen


def _inputs_of(
    path: str,
    programs: tuple[DumpedProgram, ...],
    chosen: tuple[DumpedProgram, ...],
    stage: StageChoice,
) -> tuple[Input, ...]:
    """Return the inputs of chosen programs at a stage; raise if they have none there.

    Those that share a name, chosen or not, are told apart.
    """
    pairs = [(id(each), found) for each in programs for found in each.inputs(stage)]
    placed = tell_apart(path, [found for _, found in pairs])
    wanted = {id(each) for each in chosen}
    inputs = tuple(one for (key, _), one in zip(pairs, placed, strict=True) if key in wanted)
    if inputs:
        return inputs
    other: StageChoice = "before" if stage == "after" else "after"
    count = sum(bool(each.inputs(other)) for each in chosen)
    raise InputError(
        f"{display_name(path)}: no program has text from {stage} optimizations; "
        f"{count} of {len(chosen)} have text from {other} optimizations (--stage {other})."
    )


def _refuse_protos(name: str, files: Iterable[FoundFile]) -> None:
    """Say which package is missing where the modules of a directory are protos."""
    count = [split_file_name(each.name).role for each in files].count(Role.PROTO)
    if count and not is_proto_readable():
        raise MissingPackageError(
            f"{name}: the directory holds HLO protobufs (.hlo.pb, {count:,} of them) and no text; "
            "they need one more package: pip install 'hlotool[pb]'."
        )


def _describe_no_programs(files: Iterable[FoundFile]) -> tuple[str, ...]:
    """Say in lines why a directory gives nothing."""
    roles = [split_file_name(each.name).role for each in files]
    if not roles:
        return "the directory is empty.", HOW_TO_DUMP
    if len(roles) == 1:
        return "the only file in this directory is not an HLO module.", HOW_TO_DUMP
    return f"none of the {len(roles):,} files in this directory is an HLO module.", HOW_TO_DUMP
