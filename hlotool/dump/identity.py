"""Which program is which: what follows one through commits, and what each is called in an answer.

The key of a program is its function's name, its folder below PATH, and what it is given: names,
shapes and types of its arguments, whole where the text before optimizations is there, else those
of one device. XLA's number, times, absolute paths and content are no part of it. The fingerprint
says whether two contents are the same (`Program.fingerprint`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from hashlib import blake2b
from itertools import groupby, zip_longest
from typing import Final

from msgspec import Struct

from hlotool.dump.files import Input, Inputs
from hlotool.dump.modules import read_arrays
from hlotool.dump.names import folder_below, short_path
from hlotool.errors import HlotoolError
from hlotool.table.sums import group_by
from hlotool.table.words import list_some


class Identity(Struct, frozen=True, omit_defaults=True):
    """The key of a program, and its fingerprint; None is unknown.

    Of a tree of arguments, `state['w']` and its like, the root is named, and counted.
    """

    name: str = ""
    folder: str = ""
    arguments: tuple[str, ...] | None = None
    fingerprint: str | None = None

    def likeness(self, other: Identity) -> float:
        """Return which part of what either is given both are given; 0 where that is unknown."""
        here, there = Counter(self.arguments or ()), Counter(other.arguments or ())
        return (here & there).total() / ((here | there).total() or 1)

    def tell_change(self, other: Identity) -> str:
        """Write in which arguments another differs, '' where that is none, or unknown."""
        if self.arguments is None or other.arguments is None:
            return ""
        gone = [one for one in self.arguments if one not in other.arguments]
        new = [one for one in other.arguments if one not in self.arguments]
        pairs = (" → ".join(pair) for pair in zip_longest(gone, new, fillvalue="none"))
        return list_some([*pairs])


_ENTRY: Final = re.compile(r"^([ \t]*+)ENTRY\b", re.MULTILINE)
_PARAMETER: Final = re.compile(
    r"^([ \t]*+)(?:ROOT )?+[^\s=]++ = ([^\n]*?) parameter\((\d+)\)([^\n]*+)", re.MULTILINE
)
_INDENT: Final = re.compile(r"\n([ \t]*+)")
_OP_NAME: Final = re.compile(r'op_name="((?:[^"\\]|\\.)*+)"')
_ROOT: Final = re.compile(r"[^\[.]*")
_FEW: Final = 8  # arguments without a name that are listed, each by its shape


def read_arguments(chosen: Input) -> tuple[str, ...] | None:
    """Return what a program is given; None where no text that can be read says so."""
    for file in filter(None, (chosen.before, chosen.module)):
        with suppress(HlotoolError):  # who reads the program says what is wrong with its text
            text = file.read().text
            break
    else:
        return None
    if (entry := _ENTRY.search(text)) is None:
        return None
    end = text.find(f"\n{entry[1]}}}", entry.end())
    found = _PARAMETER.findall(text, entry.end(), end if end >= 0 else len(text))
    indent = _INDENT.search(text, entry.end())  # some prints have callees within the entry
    own = (one[1:] for one in found if indent and len(one[0]) <= len(indent[1]))
    given = []
    for shape, _, rest in sorted(own, key=lambda one: int(one[1])):
        name = _OP_NAME.search(rest)
        arrays = [f"{dtype}[{','.join(dims)}]" for dtype, dims in read_arrays(shape)]
        given.append((re.sub(r"\\(.)", r"\1", name[1]) if name else "", " ".join(arrays)))
    return tuple(_fold(given)) if all(shape for _, shape in given) else None


def _fold(given: Iterable[tuple[str, str]]) -> Iterable[str]:
    """Write arguments; those of one tree by its root, their number and a digest of them."""
    for root, group in groupby(given, lambda one: _ROOT.match(one[0])[0]):  # type: ignore[index]
        members = list(group)
        if len(members) == 1 or (not root and len(members) <= _FEW):
            yield from (f"{name} {shape}".strip() for name, shape in members)
            continue
        digest = blake2b(repr(members).encode("utf-8", "surrogatepass"), digest_size=4)
        yield f"{root} {len(members)} arrays {digest.hexdigest()}".strip()


_HOST: Final = re.compile(r"(?:^|/)(?P<module>[^/]+)/[^/]+_[0-9]+$")


def find_folder(chosen: Input, directory: str) -> str:
    """Return where a program lies below a directory, as it does in every run.

    Of `--xla_dump_hlo_to_subfolder`, which makes MODULE/HOST_PROCESS, nothing stays.
    """
    folder = folder_below(chosen.path, directory)
    made = _HOST.search(folder)
    return folder[: made.start()] if made and made["module"] == chosen.name else folder


# What programs are called.


class Named(Struct, frozen=True):
    """What is known of a program to be named: its key, and where it lies (`short_path`)."""

    name: str
    folder: str
    place: str
    arguments: Callable[[], Sequence[str] | None] = lambda: None


_NUMBER: Final = re.compile(r"#[0-9]+$")
_MOST_NAMED: Final = 3  # arguments that tell programs apart


def name_programs(programs: Sequence[Named]) -> list[str]:
    """Return what each is called: the shortest form of its key that no other of them has.

        name = [ folder "/" ] function [ " (" arguments ")" ]

    Only the arguments in which programs differ are named. Behind programs that have one key stands
    XLA's number, or a count: nothing that stays tells these apart.
    """
    names = [one.name or one.place for one in programs]
    for tell in (_tell_folders, _tell_arguments, _tell_numbers, _tell_counts):
        for name, group in group_by(range(len(names)), names.__getitem__).items():
            if len(group) > 1:
                told = tell([programs[at] for at in group], name)
                for at, longer in zip(group, told, strict=True):
                    names[at] = longer
    return names


def _tell_folders(group: Sequence[Named], name: str) -> list[str]:
    is_one = len({one.folder for one in group}) == 1
    return [name if is_one or not one.folder else f"{one.folder}/{name}" for one in group]


def _tell_numbers(group: Sequence[Named], name: str) -> list[str]:
    found = [_NUMBER.search(one.place) for one in group]
    return [f"{name} {one[0]}" if one else name for one in found]


def _tell_counts(group: Sequence[Named], name: str) -> list[str]:
    return [f"{name} ({count})" for count in range(1, len(group) + 1)]


def name_inputs(found: Inputs) -> list[str]:
    """Return what each program of a PATH is called; of those of one name texts are read."""
    return name_programs([name_input(one, found.path) for one in found.inputs])


def name_input(chosen: Input, directory: str) -> Named:
    """Return what is known of one program, to be named."""
    place = short_path(chosen.path, directory)
    folder = find_folder(chosen, directory)
    return Named(chosen.name, folder, place, partial(read_arguments, chosen))


_SHAPE: Final = re.compile(r"(?P<name>.*?) ?\b(?P<dtype>\w+)\[(?P<dims>[^\]]*)\]$")


def _tell_arguments(group: Sequence[Named], name: str) -> list[str]:
    """Add the arguments in which programs differ, as far as any tells them apart."""
    columns = list(zip_longest(*(one.arguments() or () for one in group), fillvalue=""))
    chosen: list[tuple[str, ...]] = []
    # A single array says more than the digest of a tree.
    pending = sorted(columns, key=lambda one: not all(map(_SHAPE.match, one)))
    while pending and len(chosen) < _MOST_NAMED:
        count = len(set(zip(*chosen, strict=True))) if chosen else 1
        best = max(pending, key=lambda one: len(set(zip(*chosen, one, strict=True))))
        if len(set(zip(*chosen, best, strict=True))) == count:
            break
        chosen.append(best)
    written = [_write_column(one) for one in chosen]
    rows = zip(*written, strict=True) if written else [()] * len(group)
    said = (", ".join(filter(None, row)) for row in rows)
    return [f"{name} ({one})" if one else name for one in said]


def _write_column(column: Sequence[str]) -> list[str]:
    """Write one argument of several programs, with its type where that differs."""
    found = [_SHAPE.match(one) for one in column]
    has_types = len({one["dtype"] for one in found if one}) > 1
    return [
        _write_argument(one, has_type=has_types) if one else text
        for one, text in zip(found, column, strict=True)
    ]


def _write_argument(shape: re.Match[str], *, has_type: bool) -> str:
    dtype = shape["dtype"] if has_type or not shape["dims"] else ""
    return " ".join(filter(None, (shape["name"], dtype, shape["dims"].replace(",", "×"))))
