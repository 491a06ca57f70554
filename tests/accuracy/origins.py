"""Of how much of the memory at a peak is known where it comes from?

Counted are the bytes in use at the peak of space 0 that belong to no parameter, as a parameter is
what its name says, in every program that has a buffer assignment and comes with its module.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from buffer_dumps import find_dumps
from dump_files import ROOT, SEEDS, SHARED, find_file, read_text

from hlotool.analysis.memory.report import find_memory
from hlotool.analysis.memory.rows import BufferRow, rows_at
from hlotool.hlo import Module
from hlotool.hlo.assignment_parser import parse_buffer_assignment
from hlotool.hlo.buffers import BufferAssignment
from hlotool.hlo.parser import parse_module
from hlotool.text import Source

TABLE = ROOT / "docs" / "origins.csv"
HEADING = "dump,bytes,scope,line,own,producer,user"
NOT_KEPT = "¹"  # marks dumps that are not in the repository


@dataclass(frozen=True, slots=True)
class Origins:
    """One dump: bytes at the peak, those with a scope, and those with a line, by who told it."""

    name: str
    size_bytes: int
    scope_bytes: int
    own_bytes: int
    producer_bytes: int
    user_bytes: int

    @property
    def line_bytes(self) -> int:
        """Those with any line."""
        return self.own_bytes + self.producer_bytes + self.user_bytes

    def __str__(self) -> str:
        """Write one row of the table."""
        told = (self.own_bytes, self.producer_bytes, self.user_bytes)
        parts = (self.scope_bytes, self.line_bytes, *told)
        shares = (f"{part / max(1, self.size_bytes):.1%}" for part in parts)
        return ",".join((self.name, str(self.size_bytes), *shares))


def measure_origins() -> list[Origins]:
    """Measure every program at hand."""
    return [_measure(*program) for program in _programs()]


def write_origins(found: Iterable[Origins]) -> str:
    """Write the whole table."""
    return "".join(f"{line}\n" for line in (HEADING, *map(str, found)))


def share_with_line(found: Iterable[Origins]) -> float:
    """Return the part of all bytes that have a line."""
    rows = list(found)
    return sum(one.line_bytes for one in rows) / sum(one.size_bytes for one in rows)


def judge_origins(found: list[Origins]) -> str:
    """Say what the table comes to, adding up the bytes of all programs."""
    total = sum(one.size_bytes for one in found)
    scopes = sum(one.scope_bytes for one in found) / total
    users = sum(one.user_bytes for one in found) / total
    return (
        f"Of the bytes at the peaks that are no parameter's, {share_with_line(found):.2%} have a "
        f"line ({users:.2%} that of a user), and {scopes:.2%} a scope."
    )


def _programs() -> Iterator[tuple[str, Module, BufferAssignment | None]]:
    for dump in find_dumps():
        if dump.path.is_dir():
            yield _shown_name(dump.path), dump.module, dump.assignment
    for folder in sorted((SHARED / "dumps" / "pairs").glob("*/")):
        text = find_file(folder, "after_optimizations.txt")
        parts = [find_file(folder, f"-buffer-assignment{part}.txt") for part in ("", "-values")] + [
            find_file(folder, "-live-range.txt")
        ]
        if text and parts[0]:
            sources = [Source(read_text(one), one.name) if one else None for one in parts]
            assert sources[0] is not None
            module = parse_module(Source(read_text(text), text.name))
            yield _shown_name(folder), module, parse_buffer_assignment(sources[0], *sources[1:])
    for text in SEEDS.glob("002*"):  # has no assignment: its memory is estimated
        yield f"gpu as sent by a user{NOT_KEPT}", parse_module(Source(read_text(text))), None


def _shown_name(folder: Path) -> str:
    where = "/".join(folder.parts[-2:])
    return where if folder.is_relative_to(ROOT) else where + NOT_KEPT


def _measure(name: str, module: Module, assignment: BufferAssignment | None) -> Origins:
    report = find_memory(module, assignment)
    if report is None or (position := report.figures.peak.position) is None:
        raise ValueError(f"{name} has no peak")
    rows = [row for row in rows_at(report, position, 0) if row.parameter is None]
    return Origins(
        name,
        _add_up(rows),
        _add_up(row for row in rows if row.scope),
        *(
            _add_up(row for row in rows if row.source_from == who)
            for who in ("own", "producer", "user")
        ),
    )


def _add_up(rows: Iterable[BufferRow]) -> int:
    return sum(row.live_bytes or 0 for row in rows)
