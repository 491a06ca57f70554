"""Texts of any size that a program could have: one step run many times, in a row or side by side.

The seed's ENTRY is a training step whose results are its donated parameters' next values. In a row,
ENTRY runs it again and again: each copy has computations and names of its own and takes from the
one before what the header aliases, so that nothing in the text is dead. Side by side, all copies
take the program's parameters, and ENTRY returns what each of them makes: their instructions take
turns, so that many values live at once, and say in their metadata of which copy they are.
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
_PARTITIONS = re.compile(r", num_partitions=\d+")
_OP_NAME = re.compile(r'op_name="[^"/]*/')
_SCHEDULING_NAME = re.compile(r'scheduling_name="[^"]*')


def write_steps(seed: Path, path: Path, size_bytes: int, *, is_wide: bool = False) -> int:
    """Write `size_bytes` or more of the step, in a row or side by side; return how often it is."""
    text = seed.read_text(encoding="utf-8")
    start = text.index("\nENTRY ") + 1
    end = text.index("\n}", start) + 1
    head_end = text.index("\n\n%", 0, start) + 2
    step = _Step(text[head_end:start], text[start:end], dict(_read_aliases(text[:head_end])))
    count = max(1, -(-size_bytes // (end - head_end)))
    with path.open("w", encoding="utf-8") as out:
        if is_wide:  # whose result is of another shape than the header says
            found = _PARTITIONS.search(text)
            out.write(f"HloModule wide, is_scheduled=true{found[0] if found else ''}\n\n")
        else:
            out.write(text[:head_end])
        for number in range(count):
            own = step.own_computations(number)
            out.write(_sign(own, number) if is_wide else own)
        write = step.write_wide if is_wide else step.write_entry
        write(out, count)
        out.write(text[end:])
    return count


def _sign(text: str, number: int) -> str:
    """Write into metadata of which copy it is, as that of unrolled layers says."""
    text = _OP_NAME.sub(rf"\g<0>copy_{number}/", text)
    return _SCHEDULING_NAME.sub(rf"\g<0>.s{number}", text)


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

    def write_wide(self, out: IO[str], count: int) -> None:
        """Write an ENTRY of `count` steps whose instructions take turns."""
        signature, result = self.head.removesuffix(" {").split(" -> ")
        whole = f"({', '.join([result] * count)})"
        out.write("\n".join([f"{signature} -> {whole} {{", *self.parameters, ""]))
        for line in self.lines:
            for number in range(count):
                own = _NAME.sub(partial(self.rename_wide, number), line.replace("  ROOT ", "  "))
                out.write(_sign(own, number) + "\n")
        results = ", ".join(f"{self.root}.s{number}" for number in range(count))
        out.write(f"  ROOT %all_steps = {whole} tuple({results})\n")

    def rename_wide(self, number: int, found: re.Match[str]) -> str:
        """Return what a name of the step is called in copy `number`, which are all given alike."""
        return found[0] if found[0] in self.given else f"{found[0]}.s{number}"

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
