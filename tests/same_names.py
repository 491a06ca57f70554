"""Texts rewritten so that every computation uses the same names, and answers written back.

XLA's canonical prints do the same: they count names from 0 in every computation.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from operator import attrgetter
from typing import Any

from msgspec import to_builtins

from hlotool.compare.changes.memory import stem
from hlotool.hlo import Computation, Instruction, Module
from hlotool.hlo.opcodes import GIVEN
from hlotool.hlo.parser import parse_module
from hlotool.text import Source

Naming = Callable[[Computation], Mapping[str, str]]

_OPERAND = re.compile(
    r"/\*.*?\*/|[a-z][a-z0-9]*\[[^\]]*\](?:\{[^}]*\})?|(?P<name>[A-Za-z_][\w.\-]*)"
)
_PREDECESSORS = re.compile(r"control-predecessors=\{[^}]*\}")
_WORD = re.compile(r"[A-Za-z_][\w.\-]*")
# A full stop is none of a name.
_NAMED = re.compile(r"(?:[A-Za-z_][\w.\-]*/)?[A-Za-z_](?:[\w.\-]*\w)?(?:#[0-9]+)?")

# The fields that name instructions and computations; others may hold words that look so.
_COMPUTATIONS = frozenset(("body", "computation", "fused_computation"))
_INSTRUCTIONS = frozenset(
    (
        "aliases", "copy_instruction", "details", "instruction", "old_name", "old_names",
        "members", "message", "name", "operand_name", "operation", "parent", "peak_instruction",
        "spare_copies", "waits_for",
        "reason", "new_name", "new_names", "value", "what",
    )
)  # fmt: skip


def counted(computation: Computation) -> Mapping[str, str]:
    """Name instructions i0, i1, …, in every computation alike."""
    return {one.name: f"i{place}" for place, one in enumerate(computation.instructions)}


def unique() -> Naming:
    """Return a naming u0, u1, …, in which no two of the module are alike."""
    number = count()
    return lambda computation: {one.name: f"u{next(number)}" for one in computation.instructions}


def by_opcode(computation: Computation) -> Mapping[str, str]:
    """Name instructions add.0, add.1, …, in every computation alike."""
    return _number(computation, attrgetter("opcode"), 0)


def stemmed(first: int = 0) -> Naming:
    """Return a naming that counts like names from `first` on, in every computation alike."""
    return lambda computation: _number(computation, lambda one: stem(one.name), first)


def _number(
    computation: Computation, kind_of: Callable[[Instruction], str], first: int
) -> Mapping[str, str]:
    taken: Counter[str] = Counter()
    names = {}
    for one in computation.instructions:
        kind = kind_of(one)
        names[one.name] = f"{kind}.{first + taken[kind]}"
        taken[kind] += 1
    return names


def rename(text: str, naming: Naming) -> str:
    """Give the instructions of each computation other names, wherever these stand."""
    pieces: list[str] = []
    done = 0
    for computation in parse_module(Source(text)).computations.values():
        if computation.name.endswith(".async_wrapped"):  # made up by the parser
            continue
        names = naming(computation)
        for one in computation.instructions:
            if "#" in one.name:  # an element of a tuple, written in its user
                continue
            found = re.compile(rf"[\s{{]%?({re.escape(one.name)}) = ").search(text, done)
            assert found, one.name
            line_end = text.find("\n", one.start)
            pieces += [
                text[done : found.start(1)],
                names[one.name],
                _rename_operands(text[found.end(1) : one.start], one, names),
                _rename_predecessors(text[one.start : line_end], names),
            ]
            done = line_end
    return "".join(pieces) + text[done:]


def _rename_operands(text: str, one: Instruction, names: Mapping[str, str]) -> str:
    """Rename what stands in the parentheses behind the opcode."""
    if one.opcode in GIVEN:
        return text
    head, opening, operands = re.split(r"(?<=[ )}\]])([a-z][a-z0-9\-]*\()", text, maxsplit=1)
    return head + opening + _OPERAND.sub(lambda word: _replace(word, names), operands)


def _replace(word: re.Match[str], names: Mapping[str, str]) -> str:
    return names.get(word["name"], word[0]) if word["name"] else word[0]


def _rename_predecessors(text: str, names: Mapping[str, str]) -> str:
    key = "control-predecessors="
    return _PREDECESSORS.sub(
        lambda found: key + _WORD.sub(lambda word: names[word[0]], found[0].removeprefix(key)),
        text,
    )


@dataclass
class OldNames:
    """What instructions, by their full names, and computations were called before."""

    instructions: dict[str, str] = field(default_factory=dict)
    computations: dict[str, str] = field(default_factory=dict)  # those made up by the parser

    def __or__(self, other: OldNames) -> OldNames:
        """Put those of two modules together."""
        return OldNames(
            self.instructions | other.instructions, self.computations | other.computations
        )


def match_names(module: Module, renamed: Module) -> OldNames:
    """Find the old names of a module; both must be the same but for names."""
    names = OldNames()
    for one, other in zip(module.computations.values(), renamed.computations.values(), strict=True):
        names.computations[other.name] = one.name
        places = [
            {each: place for place, each in enumerate(side.instructions)} for side in (one, other)
        ]
        for old, new in zip(one.instructions, other.instructions, strict=True):
            assert (old.opcode, old.shape, old.literal) == (new.opcode, new.shape, new.literal)
            operands = [places[0][each] for each in old.operands]
            assert operands == [places[1][each] for each in new.operands]
            names.instructions[new.full_name] = old.full_name
    assert len(set(names.instructions.values())) == module.instruction_count()
    return names


def write_back(answer: Any, names: OldNames, key: str = "") -> Any:
    """Return an answer as plain values, in which instructions have their old names again."""
    if isinstance(answer, Mapping):
        return {key: write_back(value, names, str(key)) for key, value in answer.items()}
    if isinstance(answer, list | tuple):
        return [write_back(value, names, key) for value in answer]
    if isinstance(answer, str):
        if key in _COMPUTATIONS:
            return names.computations.get(answer, answer)
        if key in _INSTRUCTIONS:
            return _NAMED.sub(lambda word: names.instructions.get(word[0], word[0]), answer)
        return answer
    plain = to_builtins(answer)
    return plain if plain is answer else write_back(plain, names, key)
