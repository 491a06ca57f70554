"""To which programs do many paths lead, and what are their rows?

What a file holds is found out where it will be read, so that no text stays in this process.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import partial
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from hlotool.analysis.summary.program_row import ProgramRow
from hlotool.inputs import (
    DumpFile,
    Failure,
    Input,
    StageChoice,
    find_inputs,
    map_inputs,
    short_path,
)
from hlotool.inputs.dump.split_name import split_file_name
from hlotool.inputs.read.text import display_name
from hlotool.program.fleet import Means, Member, measure_members


def measure_paths(paths: Iterable[str], stage: StageChoice, means: Means) -> list[ProgramRow]:
    """Return the rows of files and directories, in order; what is no dump is a row, too."""
    places = [PathToRead(path, _size_of(path)) for path in paths]
    found = map_inputs(partial(find_members, stage=stage), places, executor=means.executor)
    members = [one for each in found if not isinstance(each, Failure) for one in each]
    measured = iter(measure_members(members, means))
    rows: list[ProgramRow] = []
    for place, each in zip(places, found, strict=True):
        if isinstance(each, Failure):
            rows.append(_describe_failed(place.path, each))
        else:
            rows += (one.row for one in islice(measured, len(each)))
    return rows


class PathToRead(Struct, frozen=True):
    """A path, and how much there is to read to find out what it is."""

    path: str
    size_bytes: int


def _size_of(path: str) -> int:
    try:
        return os.stat(path).st_size  # noqa: PTH116
    except (OSError, ValueError):
        return 0


def find_members(place: PathToRead, stage: StageChoice) -> tuple[Member, ...]:
    """Return the programs of a file or a directory, without the texts where a file has them."""
    found = find_inputs(place.path, stage)
    directory = found.path if found.is_directory else os.path.dirname(found.path)  # noqa: PTH120
    return tuple(Member(_forget_text(one), directory) for one in found.inputs)


def _forget_text(chosen: Input) -> Input:
    """Return an input that reads its files when asked."""
    files = {name: getattr(chosen, name) for name in ("module", "buffers", "values")}
    return replace(chosen, **{name: file and _forget(file) for name, file in files.items()})


def _forget(file: DumpFile) -> DumpFile:
    """Drop the text of a whole file; a part of one stays, and so does what cannot be read again."""
    if file.source is None or file.part or not os.path.isfile(file.raw_path):  # noqa: PTH113
        return file
    return replace(file, source=None, is_settled=False)


def _describe_failed(path: str, failure: Failure) -> ProgramRow:
    """Return the row of a path that leads to no program."""
    folder, filename = os.path.split(path)
    shown = display_name(path)
    return ProgramRow(
        split_file_name(filename).name,
        shown,
        short_path(shown, folder),
        error=failure.message.partition("\n")[0],
    )
