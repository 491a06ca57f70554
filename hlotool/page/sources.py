"""Lines of the user's program for a page, from below a directory that the user names.

A page is mailed, and a dump may name any file. So a path of the dump is never opened: files below
the directory are listed, and the one whose path has most of its last parts in common with that of
the dump is taken. Of two that have as many, neither is.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import eq
from pathlib import Path
from typing import Final

from msgspec import Struct

from hlotool.analysis.origin import write_short_source
from hlotool.hlo import Module

_AROUND: Final = 5  # lines before and behind
_MOST_BYTES: Final = 200_000


class Excerpt(Struct, frozen=True):
    """Some lines of a file in a row; `path` is below the directory, `name` is the dump's, short."""

    name: str | None
    path: str
    first_line: int
    text: str


def read_sources(module: Module | None, folder: str) -> tuple[Excerpt, ...]:
    """Return the lines that instructions name, with five around each; 200 kB at most."""
    named: dict[str, set[int]] = defaultdict(set)
    for one in module.instructions() if module else ():
        if (place := one.source_location()) and place.file and place.line:
            named[place.file].update(range(place.line - _AROUND, place.line + _AROUND + 1))
    paths = {each: each.replace("\\", "/").split("/")[::-1] for each in named}
    files = list(_list_files(Path(folder), {parts[0] for parts in paths.values()}))
    found: list[Excerpt] = []
    left = _MOST_BYTES
    for each, wanted in named.items():
        path = _choose_file(paths[each], files)
        lines = (Path(folder) / path).read_text("utf-8", "replace").split("\n") if path else []
        known = sorted(wanted.intersection(range(1, len(lines) + 1)))
        for _, run in groupby(enumerate(known), key=lambda pair: pair[1] - pair[0]):
            numbers = [number for _, number in run]  # in a row
            text = "\n".join(lines[number - 1] for number in numbers)
            left -= len(text.encode())
            if left < 0:
                return tuple(found)
            found.append(Excerpt(write_short_source(each, None), path or "", numbers[0], text))
    return tuple(found)


def _list_files(folder: Path, names: set[str]) -> Iterator[str]:
    """Yield the regular files of some names that lie below a directory, links followed or not."""
    top = folder.resolve()
    for place, _, files in os.walk(folder):
        for path in (Path(place) / name for name in names.intersection(files)):
            real = path.resolve()
            if real.is_relative_to(top) and real.is_file():
                yield path.relative_to(folder).as_posix()


def _choose_file(named: list[str], files: Iterable[str]) -> str | None:
    """Return the file whose path ends most like another; None where none or several do."""
    ends = {each: list(map(eq, named, each.split("/")[::-1])) for each in files}
    counts = {each: (*end, False).index(False) for each, end in ends.items()}
    most = max(counts.values(), default=0)
    best = [each for each, count in counts.items() if count == most]
    return best[0] if most and len(best) == 1 else None
