"""From the PATH a user typed to the files a command reads: the way into this package."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Final

from hlotool.errors import InputError, NothingCheckedError, UsageError
from hlotool.inputs.files import DumpFile, Input, Inputs
from hlotool.inputs.groups import group_files, make_member
from hlotool.inputs.kinds import Kind, detect_kind
from hlotool.inputs.names import Role, split_file_name
from hlotool.inputs.orphans import adopt_buffers
from hlotool.inputs.programs import Program, StageChoice, pair_programs
from hlotool.inputs.reading import STDIN, display_name, read_source
from hlotool.inputs.refusals import HOW_TO_DUMP
from hlotool.inputs.single import NamedFiles, describe_file, mention_text
from hlotool.inputs.streams import split_stream
from hlotool.inputs.walk import FoundFile, walk_directory
from hlotool.source import Source

_NAMES_LISTED: Final = 8


def find_inputs(
    path: str,
    stage: StageChoice = "after",
    module_pattern: str | None = None,
    named: NamedFiles | None = None,
) -> Inputs:
    """Return what a PATH leads to: one input for a file, one for each program of a directory.

    `-` is standard input. A stream that holds one program counts as a file. Raises InputError
    for what is missing, unreadable or no dump, NothingCheckedError if `module_pattern` (a
    regular expression searched in module names) leaves none, UsageError for a bad pattern or
    for files named by hand beside a directory.
    """
    pattern = _compile_pattern(module_pattern)
    named = named or NamedFiles()
    if path != STDIN and os.path.isdir(path):  # noqa: PTH112
        _refuse_named(named, path)
        programs, notes = find_programs(path)
        programs = _match_programs(path, programs, pattern)
        return Inputs(path, True, _inputs_of(path, programs, stage), notes)
    source = _read(path)
    detection = detect_kind(source.text)
    if detection.kind is Kind.STREAM:
        _refuse_named(named, path)
        programs, notes = _find_in_stream(source)
        programs = _match_programs(path, programs, pattern)
        return Inputs(path, len(programs) > 1, _inputs_of(path, programs, stage), notes)
    found = describe_file(path, source, detection, named)
    if pattern and not pattern.search(found.name):
        raise NothingCheckedError(
            f"{source.name}: the module is called {found.name!r}, which --module "
            f"{pattern.pattern!r} does not match."
        )
    return Inputs(path, False, (found,))


def find_programs(directory: str) -> tuple[tuple[Program, ...], tuple[str, ...]]:
    """Return the programs of a dump directory and everything below it, and notes.

    Sorted by directory, number and name. Raises InputError if there are none.
    """
    files, notes = walk_directory(directory)
    members = [
        make_member(each.directory, each.name, DumpFile(each.path, (), each.size_bytes))
        for each in files
    ]
    groups, more = adopt_buffers(group_files(members))
    programs = pair_programs(groups)
    if not programs:
        raise InputError(f"{display_name(directory)}: {_describe_no_programs(files)}")
    return programs, notes + more


def _find_in_stream(source: Source) -> tuple[tuple[Program, ...], tuple[str, ...]]:
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
            f"is an HLO module.\n{HOW_TO_DUMP}"
        )
    return programs, notes


def _match_programs(
    path: str, programs: tuple[Program, ...], pattern: re.Pattern[str] | None
) -> tuple[Program, ...]:
    """Return the programs whose names --module matches; raise if there are none."""
    chosen = tuple(each for each in programs if pattern is None or pattern.search(each.name))
    if pattern and not chosen:
        names = sorted({each.name for each in programs})
        listed = ", ".join(names[:_NAMES_LISTED]) + ", …" * (len(names) > _NAMES_LISTED)
        raise NothingCheckedError(
            f"{display_name(path)}: --module {pattern.pattern!r} matches no module; "
            f"there are: {listed}."
        )
    return chosen


def _inputs_of(path: str, programs: tuple[Program, ...], stage: StageChoice) -> tuple[Input, ...]:
    """Return the inputs of programs at a stage; raise if they have none there."""
    inputs = tuple(found for each in programs for found in each.inputs(stage))
    if inputs:
        return inputs
    other: StageChoice = "before" if stage == "after" else "after"
    count = sum(bool(each.inputs(other)) for each in programs)
    raise InputError(
        f"{display_name(path)}: no program has a text {stage} optimizations; "
        f"{count} of {len(programs)} have one {other} optimizations (--stage {other})."
    )


def _refuse_named(named: NamedFiles, path: str) -> None:
    """Refuse files named by hand where there may be many programs."""
    if named != NamedFiles():
        raise UsageError(
            f"{display_name(path)} holds whole programs; --buffers, --live-range and "
            "--module-text go with a single file."
        )


def _compile_pattern(text: str | None) -> re.Pattern[str] | None:
    """Compile the regular expression of --module."""
    try:
        return None if text is None else re.compile(text)
    except re.error as error:
        raise UsageError(f"--module {text!r} is no regular expression: {error}.") from error


def _read(path: str) -> Source:
    """Read PATH; where it is no text, mention the text that lies beside it."""
    try:
        return read_source(path)
    except InputError as error:
        raise InputError(f"{error}{mention_text(path)}") from error


def _describe_no_programs(files: Iterable[FoundFile]) -> str:
    """Say why a directory gives nothing."""
    roles = [split_file_name(each.name).role for each in files]
    if not roles:
        return f"the directory is empty.\n{HOW_TO_DUMP}"
    protos = roles.count(Role.PROTO)
    if protos:
        return (
            f"the directory holds HLO protobufs (.hlo.pb, {protos:,} of them), but no text, which "
            "is what hlotool reads. Add --xla_dump_hlo_as_text to XLA_FLAGS and run again."
        )
    counted = "1 file" if len(roles) == 1 else f"{len(roles):,} files"
    return f"no HLO module is among the {counted} of this directory.\n{HOW_TO_DUMP}"
