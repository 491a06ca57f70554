"""Edits of one small module, and texts rewritten so that only names or order differ.

A case of testdata/diff/changes.cases is a list of hunks over testdata/diff/base.txt: lines with `-`
must stand there once, and lines with `+` take their place. Lines with `=` say what is found.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from pathlib import Path

from tables import find_cases

from hlotool.compare.changes.header import compare_headers
from hlotool.compare.changes.instructions import compare_instructions, compare_order
from hlotool.compare.changes.reasons import Reasoner
from hlotool.compare.match.structure import compare_structure
from hlotool.hlo import Module
from hlotool.hlo.parser import parse_module
from hlotool.program.program import Program
from hlotool.text import Source

ROOT = Path(__file__).parents[1]
DIFF = ROOT / "testdata" / "diff"
BASE = (DIFF / "base.txt").read_text(encoding="utf-8")

_NAME = re.compile(r"%([\w.\-]+)")
_METADATA = re.compile(r", metadata=\{(?:[^\"{}]|\"(?:[^\"\\]|\\.)*\")*\}")
_CALLED = re.compile(r"\w+=(?:%[\w.\-]+|\{(?:%[\w.\-]+(?:, )?)+\})")
_COMPUTATION = re.compile(r"^((?:ENTRY )?%[^\n]*\{)\n(.*?)^\}", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Edit:
    """One case: the edited text, and the lines that are to be found."""

    name: str
    text: str
    expected: list[str]
    is_strict: bool


def read_edits(table: Path) -> list[Edit]:
    """Apply the hunks of each case to the base."""
    return [_read_edit(case.name, case.text) for case in find_cases(table)]


def _read_edit(name: str, hunk_text: str) -> Edit:
    text, expected, is_strict = BASE, [], False
    hunks: list[tuple[list[str], list[str]]] = []
    for line in hunk_text.splitlines():
        rest = line[1:].removeprefix(" ")
        if line == "--strict":
            is_strict = True
        elif line.startswith("="):
            expected.append(rest)
        elif line.startswith("-"):
            if not hunks or hunks[-1][1]:
                hunks.append(([], []))
            hunks[-1][0].append(rest)
        elif line.startswith("+"):
            hunks[-1][1].append(rest)
    for old, new in hunks:
        assert text.count("\n".join(old)) == 1, f"{name}: not once in the base: {old}"
        text = text.replace("\n".join(old), "\n".join(new))
    return Edit(name, text, sorted(expected), is_strict)


CASES = read_edits(DIFF / "changes.cases")


def parse(text: str, name: str = "<test>") -> Module:
    """Parse a module."""
    return parse_module(Source(text, name))


def read(text: str) -> Program:
    """Parse a program."""
    return Program("", parse(text))


def found_changes(old: str, new: str, *, is_strict: bool = False) -> list[str]:
    """Compare two texts, and write down what was found as cases do."""
    structure = compare_structure(read(old), read(new), is_strict=is_strict)
    headers = compare_headers(structure.old, structure.new)
    lines = [f"header {one.name}: {one.old} → {one.new}" for one in headers]
    for row in compare_instructions(structure, Reasoner(structure)).rows:
        details = ": " + "; ".join(row.details) if row.details else ""
        times = f" ×{row.count}" if row.count > 1 else ""
        lines.append(f"{row.change} {row.opcode}{details}{times}")
    order = compare_order(structure.computations)
    if order:
        lines.append(f"moved {order.moved_count}")
    if structure.is_equal and not headers:
        lines.append("identical")
    return sorted(lines)


def renamed(text: str) -> str:
    """Give every instruction and computation another name."""
    names: dict[str, str] = {}

    def rename(match: re.Match[str]) -> str:
        return "%" + names.setdefault(match[1], f"renamed.{len(names)}")

    return _NAME.sub(rename, text)


def without_metadata(text: str) -> str:
    """Drop all metadata."""
    return _METADATA.sub("", text)


def reordered(text: str, seed: int = 1) -> str:
    """Put the lines of every computation into another order that its operands allow."""
    chooser = random.Random(seed)  # noqa: S311  repeatable on purpose

    def reorder(match: re.Match[str]) -> str:
        return f"{match[1]}\n{''.join(_shuffled(match[2].splitlines(True), chooser))}}}"

    return _COMPUTATION.sub(reorder, text)


def _shuffled(lines: list[str], chooser: random.Random) -> list[str]:
    """Order lines at random, each behind those that define the names it uses."""
    names = [_NAME.search(line) for line in lines]
    definers = {name[1]: place for place, name in enumerate(names) if name}
    waits = [
        {definers[name] for name in _NAME.findall(_uncalled(line))[1:] if name in definers}
        for line in lines
    ]
    ready = [place for place, wait in enumerate(waits) if not wait]
    order: list[int] = []
    while ready:
        place = ready.pop(chooser.randrange(len(ready)))
        order.append(place)
        for other, wait in enumerate(waits):
            if place in wait:
                wait.discard(place)
                if not wait:
                    ready.append(other)
    assert len(order) == len(lines)
    return [lines[place] for place in order]


def _uncalled(line: str) -> str:
    """Drop the names of computations; control predecessors are instructions and stay."""
    return _CALLED.sub(lambda call: call[0] if call[0].startswith("predecessors") else "", line)
