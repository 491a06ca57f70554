"""Changes of structure: what comes out is mostly a program again, and another one.

Most injuries of a text are refused by its first reader. These go past it: operands of one shape are
swapped, instructions come twice or not at all, computations move, loops turn more often, aliases,
groups, layouts and the order of the schedule change.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from mutants import Mutation

_LINE: Final = re.compile(
    r"^ +(?P<root>ROOT )?(?P<name>%?[\w.\-]+) = (?P<shape>\(.*?\)|\S+) (?P<rest>[a-z].*)$"
)
_NAME: Final = re.compile(r"%?[A-Za-z_][\w.\-]*")
_OPENING: Final = re.compile(r"^(?:ENTRY )?%?[\w.\-]+ .*\{$")
_LAYOUT: Final = re.compile(r"\{[^{}]*\}")
_TRIPS: Final = re.compile(r'(?<="n":")\d{1,6}(?=")')
_GROUPS: Final = re.compile(r"(?<=replica_groups=)\{\{[\d,{}]*\}\}")
_IOTA: Final = re.compile(r"(?<=replica_groups=)\[(\d+),(\d+)\]<=\[\d+\](?!T)")
_MINOR_TO_MAJOR: Final = re.compile(r"(?<=\]\{)\d+(?:,\d+)+(?=[}:])")
_ALIAS: Final = re.compile(r"input_output_alias=\{(?:[^{}]|\{[^{}]*\})*\}")
_MODULE: Final = re.compile(r"^HloModule [\w.\-]+", re.MULTILINE)


@dataclass(frozen=True)
class _Step:
    """The line of an instruction: where it stands, of which computation, and what it says."""

    at: int
    block: int
    name: str
    shape: str
    rest: str
    is_root: bool

    @property
    def operands(self) -> list[str]:
        """The words of the operand list, names among them."""
        return _NAME.findall(self.rest[self.rest.find("(") : self.rest.find(")")])


def _read_steps(lines: list[str]) -> list[_Step]:
    steps, block = [], 0
    for at, line in enumerate(lines):
        block += _OPENING.match(line) is not None
        if match := _LINE.match(line):
            shape = _LAYOUT.sub("", match["shape"])
            step = _Step(at, block, match["name"], shape, match["rest"], bool(match["root"]))
            steps.append(step)
    return steps


def _change_lines(text: str, change: Callable[[list[str], list[_Step]], bool]) -> str:
    """Change the lines of a text, unless nothing is found to change."""
    lines = text.split("\n")
    return "\n".join(lines) if change(lines, _read_steps(lines)) else text


def _rename(line: str, old: str, new: str) -> str:
    """Write another name wherever a name stands behind the `=`."""
    begin, equals, rest = line.partition(" = ")
    return begin + equals + re.sub(rf"(?<![\w.\-%]){re.escape(old)}(?![\w.\-])", new, rest)


def swap_alike(random_: random.Random, text: str) -> str:
    """Let an instruction use another value of the same shape, which stands before it."""

    def change(lines: list[str], steps: list[_Step]) -> bool:
        chosen = random_.choice(steps) if steps else None
        before = {one.name: one for one in steps if chosen and one.block == chosen.block
                  and one.at < chosen.at}  # fmt: skip
        used = [name for name in chosen.operands if name in before] if chosen else []
        if chosen is None or not used:
            return False
        old = random_.choice(used)
        alike = [name for name, one in before.items() if one.shape == before[old].shape]
        lines[chosen.at] = _rename(lines[chosen.at], old, random_.choice(alike))
        return True

    return _change_lines(text, change)


def duplicate_step(random_: random.Random, text: str) -> str:
    """Let an instruction come twice; some that used the first use the second."""

    def change(lines: list[str], steps: list[_Step]) -> bool:
        chosen = [one for one in steps if not one.is_root and not one.rest.startswith("parameter")]
        if not chosen:
            return False
        step = random_.choice(chosen)
        new = f"{step.name}.again"
        for user in steps:
            if user.block == step.block and step.name in user.operands and random_.random() < 0.5:
                lines[user.at] = _rename(lines[user.at], step.name, new)
        lines.insert(step.at + 1, lines[step.at].replace(f"{step.name} =", f"{new} =", 1))
        return True

    return _change_lines(text, change)


def delete_step(random_: random.Random, text: str) -> str:
    """Take an instruction out; another of its shape stands in for it."""

    def change(lines: list[str], steps: list[_Step]) -> bool:
        chosen = [one for one in steps if not one.is_root and not one.rest.startswith("parameter")]
        if not chosen:
            return False
        step = random_.choice(chosen)
        alike = [one.name for one in steps if one.block == step.block and one.at < step.at
                 and one.shape == step.shape]  # fmt: skip
        for user in steps:
            if alike and user.block == step.block and step.name in user.operands:
                lines[user.at] = _rename(lines[user.at], step.name, alike[-1])
        del lines[step.at]
        return True

    return _change_lines(text, change)


def move_computation(random_: random.Random, text: str) -> str:
    """Write a computation in another place of the module."""
    head, *blocks = re.split(r"(?m)^(?=(?:ENTRY )?%?[\w.\-]+ .*\{$)", text)
    if len(blocks) < 2:
        return text
    block = blocks.pop(random_.randrange(len(blocks)))
    blocks.insert(random_.randrange(len(blocks) + 1), block.rstrip("\n") + "\n\n")
    return head + "".join(blocks)


def move_step(random_: random.Random, text: str) -> str:
    """Swap two instructions that follow one another, where none needs the other."""

    def change(lines: list[str], steps: list[_Step]) -> bool:
        pairs = [(one, other) for one, other in pairwise(steps)
                 if one.block == other.block and one.name not in other.operands]  # fmt: skip
        if not pairs:
            return False
        one, other = random_.choice(pairs)
        lines[one.at], lines[other.at] = lines[other.at], lines[one.at]
        return True

    return _change_lines(text, change)


def _replace_one(
    random_: random.Random,
    text: str,
    pattern: re.Pattern[str],
    make: Callable[[re.Match[str]], str],
) -> str:
    found = list(pattern.finditer(text))
    if not found:
        return text
    match = random_.choice(found)
    return text[: match.start()] + make(match) + text[match.end() :]


def change_trips(random_: random.Random, text: str) -> str:
    return _replace_one(random_, text, _TRIPS, lambda _: str(random_.choice((0, 1, 2, 3, 7, 1000))))


def change_groups(random_: random.Random, text: str) -> str:
    """Let other devices talk to each other: as many groups of as many, or groups turned over."""

    def shuffle(match: re.Match[str]) -> str:
        numbers = iter(random_.sample(found := re.findall(r"\d+", match.group()), len(found)))
        return re.sub(r"\d+", lambda _: next(numbers), match.group())

    def turn(match: re.Match[str]) -> str:
        one, other = match.groups()
        return f"[{other},{one}]<=[{one},{other}]T(1,0)"

    if _IOTA.search(text):
        return _replace_one(random_, text, _IOTA, turn)
    return _replace_one(random_, text, _GROUPS, shuffle)


def change_layout(random_: random.Random, text: str) -> str:
    """Let an array lie in memory in another order, at one place where its shape is written."""

    def shuffle(match: re.Match[str]) -> str:
        dimensions = match.group().split(",")
        return ",".join(random_.sample(dimensions, len(dimensions)))

    return _replace_one(random_, text, _MINOR_TO_MAJOR, shuffle)


def change_aliases(random_: random.Random, text: str) -> str:
    """Donate another parameter, or one where none was donated."""
    number, kind = random_.randrange(3), random_.choice(("may-alias", "must-alias"))
    index = random_.choice(("", "0", "1"))
    alias = f"input_output_alias={{ {{{index}}}: ({number}, {{}}, {kind}) }}"
    if _ALIAS.search(text):
        return _ALIAS.sub(lambda _: alias, text, count=1)
    return _MODULE.sub(lambda match: f"{match.group()}, {alias}", text, count=1)


STRUCTURE_MUTATIONS: Final[dict[str, Mutation]] = {
    "operands of one shape": swap_alike,
    "instructions that come twice": duplicate_step,
    "instructions left out": delete_step,
    "moved computations": move_computation,
    "another schedule": move_step,
    "other trips": change_trips,
    "other groups": change_groups,
    "other layouts": change_layout,
    "other aliases": change_aliases,
}
