"""Texts of any size that a program could have: one step run many times in a row.

The seed's ENTRY is a training step whose results are its donated parameters' next values. Here
ENTRY runs it again and again: each copy has computations and names of its own and takes from the
one before what the header aliases, so that nothing in the text is dead.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import IO

_NAME = re.compile(r"%[\w.-]+")
_ALIAS = re.compile(r"\{(\d+)\}: \((\d+), \{\}")
_PARAMETER = re.compile(r"  (%[\w.-]+) = (\S+) parameter\((\d+)\)")
_ROOT = re.compile(r"  ROOT (%[\w.-]+) = ")


def write_steps(seed: Path, path: Path, size_bytes: int) -> int:
    """Write at least `size_bytes` of the seed's step, run in a row; return how often it runs."""
    text = seed.read_text(encoding="utf-8")
    start = text.index("\nENTRY ") + 1
    end = text.index("\n}", start) + 1
    head_end = text.index("\n\n%", 0, start) + 2
    step = _Step(text[head_end:start], text[start:end], dict(_read_aliases(text[:head_end])))
    count = max(1, -(-size_bytes // (end - head_end)))
    with path.open("w", encoding="utf-8") as out:
        out.write(text[:head_end])
        for number in range(count):
            out.write(step.own_computations(number))
        step.write_entry(out, count)
        out.write(text[end:])
    return count


def _read_aliases(head: str) -> list[tuple[int, int]]:
    """Return parameter and result of every alias `{result}: (parameter, {}, …)`."""
    return [(int(parameter), int(result)) for result, parameter in _ALIAS.findall(head)]


class _Step:
    """The seed in two pieces: the computations of a step, and the body that runs it once."""

    def __init__(self, computations: str, entry: str, aliases: dict[int, int]) -> None:
        self.computations = computations
        self.head, body = entry.split("\n", 1)
        self.parameters: list[str] = []
        self.lines: list[str] = []
        self.fed: dict[str, tuple[str, int]] = {}  # aliased parameter: its shape, its next value
        for line in body.splitlines():
            if found := _PARAMETER.match(line):
                self.parameters.append(line)
                if (number := int(found[3])) in aliases:
                    self.fed[found[1]] = found[2], aliases[number]
            elif line:
                self.lines.append(line)
        self.root = next(found[1] for line in self.lines if (found := _ROOT.match(line)))
        self.given = {line.split()[0] for line in self.parameters}

    def own_computations(self, number: int) -> str:
        """Return the step's computations under the names of copy `number`."""
        return _NAME.sub(lambda name: f"{name[0]}.s{number}", self.computations)

    def write_entry(self, out: IO[str], count: int) -> None:
        """Write an ENTRY of `count` steps."""
        out.write("\n".join([self.head, *self.parameters, ""]))
        for number in range(count):
            if number:
                out.writelines(self.feed(number))
            last = number == count - 1
            for line in self.lines:
                shown = line if last else line.replace("  ROOT ", "  ", 1)
                out.write(_NAME.sub(partial(self.rename, number), shown) + "\n")

    def feed(self, number: int) -> list[str]:
        """Return the lines that take a copy's parameters from the result of the one before."""
        before = f"{self.root}.s{number - 1}"
        return [
            f"  {name}.s{number} = {shape} get-tuple-element({before}), index={index}\n"
            for name, (shape, index) in self.fed.items()
        ]

    def rename(self, number: int, found: re.Match[str]) -> str:
        """Return what a name of the step is called in copy `number`."""
        name = found[0]
        if name in self.given and (number == 0 or name not in self.fed):
            return name
        return f"{name}.s{number}"
