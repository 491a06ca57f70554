"""How many of the texts at hand are read, refused with a reason, and refused wrongly.

A text is a file, or a case of a table, of testdata or `../shared` that holds a module or a buffer
assignment. It is read when every attribute of every module is. Those of the folders `bad` are
there to be refused; others that are refused stand, with the reason, in refused.csv. Whatever else
is refused is refused wrongly.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from tempfile import TemporaryDirectory

from described import describe_module
from dump_files import SHARED, TESTDATA, find_table_cases, read_text
from tables import is_case

from hlotool.dump.find import resolve_inputs
from hlotool.dump.read import read_source
from hlotool.errors import HlotoolError, InputError
from hlotool.program.load import load_program

_SUFFIXES = {".txt", ".hlo", ".gz", ".zst"}
REFUSED = Path(__file__).with_name("refused.csv")
_BEGINNINGS = ("HloModule", "BufferAssignment:")
# Pieces of texts, sessions, and descriptions of folders and pairs that tests make; and injured
# texts, of which it only counts that they end well.
_NO_TEXTS = (
    TESTDATA / "inputs",
    TESTDATA / "diff" / "changes.cases",
    TESTDATA / "golden",
    TESTDATA / "bad" / "mutants",
)
# The parser refuses it; where a file is read, what stands behind a module is cut away.
_CUT = TESTDATA / "bad" / "foreign.cases" / "text_behind_the_end"


@dataclass(frozen=True, slots=True)
class Texts:
    """How each text ended: paths, shown below the folder that holds them."""

    read: list[str]
    refused: list[str]
    refused_wrongly: list[str]
    read_wrongly: list[str]

    def __str__(self) -> str:
        """Count them, and name those that ended wrongly."""
        wrong = [*self.refused_wrongly, *self.read_wrongly]
        return "".join(
            (
                f"{len(self.read)} texts are read, {len(self.refused)} refused with a reason, ",
                f"{len(self.refused_wrongly)} refused wrongly, {len(self.read_wrongly)} read ",
                "that should be refused.",
                *(f"\n  {one}" for one in wrong),
            )
        )


def read_texts() -> Texts:
    """Read every text at hand."""
    reasons = list_reasons()
    found = Texts([], [], [], [])
    for root in (TESTDATA, SHARED):
        for path in find_texts_below(root):
            name = path.relative_to(root.parent).as_posix()
            is_bad = "bad" in path.parts and path != _CUT
            expected = is_bad or any(fnmatch(name, one) for one in reasons)
            if is_read(path):
                (found.read_wrongly if expected else found.read).append(name)
            else:
                (found.refused if expected else found.refused_wrongly).append(name)
    return found


def list_reasons() -> dict[str, str]:
    """Return why texts are refused, by the pattern of their path."""
    with REFUSED.open(encoding="utf-8", newline="") as file:
        return {row["path"]: row["reason"] for row in csv.DictReader(file)}


def find_texts_below(root: Path) -> Iterator[Path]:
    """Find files and cases whose text names a module or a buffer assignment."""
    files = {
        path
        for path in root.rglob("*")
        if path.suffix in _SUFFIXES and ".json" not in path.suffixes and path.is_file()
    }
    for path in sorted(files | {case.path for case in find_table_cases(root)}):
        is_left_out = any(path.is_relative_to(folder) for folder in _NO_TEXTS)
        if not is_left_out and _is_text(path):
            yield path


def is_read(path: Path) -> bool:
    """Whether every program of a text is there, each with what the text says of it."""
    if is_case(path):
        with TemporaryDirectory() as folder:
            copy = Path(folder, f"{path.name}.txt")
            copy.write_text(read_text(path), encoding="utf-8", newline="")
            return is_read(copy)
    try:
        for found in resolve_inputs(str(path)).inputs:
            program = load_program(found, str(path), with_buffers=True)
            if program.module is not None:
                describe_module(program.module)
    except HlotoolError:
        return False
    return True


def _is_text(path: Path) -> bool:
    try:
        text = read_text(path) if is_case(path) else read_source(str(path)).text
    except InputError:
        return False
    return any(word in text for word in _BEGINNINGS)
