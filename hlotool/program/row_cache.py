"""The rows of a directory summary that are known from an earlier run.

A cache is JSON Lines: a row for each content of a program's files, written as it comes, so that a
run that was ended goes on where it stopped. Lines are added only; the last of a key counts.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Collection
from hashlib import blake2b
from typing import Final, Self

from msgspec import Struct, convert, to_builtins

from hlotool import __version__
from hlotool.analysis.summary.report import ProgramRow
from hlotool.dump.files import DumpFile, Input
from hlotool.dump.read import display_name, read_bytes
from hlotool.errors import UsageError
from hlotool.program.program import Assumptions
from hlotool.table import fields_of
from hlotool.table.words import count_noun

ROW_SCHEMA: Final = "hlotool/summary-cache/v1"
_START: Final = json.dumps({"schema": ROW_SCHEMA})[:-1].encode()  # of every line


class CachedRow(Struct, frozen=True, tag_field="schema", tag=ROW_SCHEMA):
    """A row, and what of its files was not understood; its path is where it was read."""

    key: str
    row: ProgramRow
    notes: tuple[str, ...] = ()


class RowCache:
    """The rows of a file. Where it cannot be written, `notes` say so, and the work goes on."""

    def __init__(self, path: str) -> None:
        """Raise UsageError for a file that is no cache, and for one that cannot be opened."""
        self.notes: list[str] = []
        self.path = display_name(path)
        try:
            if os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH110,PTH116
                raise UsageError(f"--cache {self.path}: this is no file.")
            self._file = open(path, "a+b", buffering=0)  # noqa: PTH123,SIM115  lives as long
            self._file.seek(0)
            self._data = self._file.read(len(_START))
            if _START.startswith(self._data):
                self._data += self._file.read()
        except OSError as error:
            raise UsageError(f"--cache {self.path}: {error.strerror}.") from error
        except ValueError as error:  # a path that no system has
            raise UsageError(f"--cache {self.path}: {error}.") from error
        if not self._data.startswith(_START[: len(self._data)]):
            self._file.close()
            raise UsageError(f"--cache {self.path}: this file is no cache; it was left as it is.")

    def take(self, wanted: Collection[str]) -> dict[str, CachedRow]:
        """Return the rows of the wanted keys that there are, and forget the others."""
        found: dict[str, CachedRow] = {}
        broken = 0
        lines, self._data = self._data.split(b"\n"), b""
        if lines[-1]:  # it was being written when its process ended
            self._write(b"\n")
        for line in filter(None, lines):
            try:
                row = convert(json.loads(line), CachedRow)
            except (ValueError, RecursionError):
                broken += 1
                continue
            if row.key in wanted:
                found[row.key] = row
        if broken:
            what = count_noun(broken, "line is", "lines are")
            self.notes.append(f"--cache {self.path}: {what} broken, and passed over.")
        return found

    def add(self, key: str, row: ProgramRow, notes: tuple[str, ...]) -> None:
        """Add a row to the end of the file."""
        line = to_builtins(CachedRow(key, row, notes))
        self._write(json.dumps(line).encode() + b"\n")

    def _write(self, line: bytes) -> None:
        try:
            self._file.write(line)
        except OSError as error:
            note = f"--cache {self.path}: {error.strerror}; not all rows were kept."
            self.notes += [note] * (note not in self.notes)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._file.close()


def find_key(chosen: Input, assumptions: Assumptions) -> str:
    """Return what a row depends on in short: files, version of hlotool, and what the user says.

    Raises InputError where a file cannot be read.
    """
    rules = [
        (each.target.text, repr(each.flops), repr(each.bytes)) for each in assumptions.call_rules
    ]
    names = [field.name for field in fields_of(ProgramRow)]
    said = [__version__, names, rules, chosen.name, chosen.stage and chosen.stage.value]
    said.append(repr(assumptions.machine))  # by which findings are ranked
    digest = blake2b(json.dumps(said).encode(), digest_size=20)
    if chosen.measured is not None:
        digest.update(repr((chosen.measured.run_count, chosen.measured.run_seconds)).encode())
    for file in (chosen.module, chosen.buffers, chosen.values, chosen.live_range):
        data = _read(file) if file else b""
        digest.update(b"%d %d\n" % (file is not None, len(data)))
        digest.update(data)
    return digest.hexdigest()


def _read(file: DumpFile) -> bytes:
    """Return the bytes of a file, or what was cut out of it."""
    if file.data is not None:
        return file.data
    if file.source is not None:
        return file.source.text.encode("utf-8", "surrogatepass")
    return read_bytes(file.raw_path)
