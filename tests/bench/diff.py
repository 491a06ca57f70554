"""How long does a diff take, beside parsing both sides?

Copies of a real training step are called one after the other until the text is as large as
asked, and compared with: itself under other names and in another order; itself with one opcode
changed in every copy; the same with all shapes of the batch doubled; and with everything
changed at once. Prints seconds of CPU, and the ratio to parsing both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from bench.measure import cpu_seconds, take_turns
from bench.parse import split_text
from diff_cases import renamed

from hlotool.compare.changes.instructions import InstructionDiff, compare_instructions
from hlotool.compare.changes.reasons import Reasoner
from hlotool.compare.match.structure import compare_structure
from hlotool.hlo import Module
from hlotool.hlo.parser import parse_module
from hlotool.program.program import Program
from hlotool.text import Source

STEP = Path(__file__).parents[2] / "testdata" / "hlo" / "gpu_train_step.txt"
MEGABYTE = 1_000_000

_NAME = re.compile(r"%([\w.\-]+)")
_ENTRY = re.compile(r"^ENTRY %([\w.\-]+) \((.*)\) -> (.*) \{$", re.MULTILINE)


def repeat(text: str, size: int) -> str:
    """Make one module that calls as many copies of a step as it takes."""
    head, body = split_text(text)
    tables = head.partition("\n")[2].lstrip()
    entry = _ENTRY.search(body)
    assert entry is not None
    body = body.replace("ENTRY %", "%")
    count = max(1, size // len(body))
    copies = [_NAME.sub(rf"%\1.copy{number}", body) for number in range(count)]
    parameters = _parameters(body, entry[1])
    shapes = [shape for _, shape in parameters]
    lines = [f"  %in.{place} = {shape} parameter({place})" for place, shape in enumerate(shapes)]
    operands = ", ".join(f"%in.{place}" for place in range(len(shapes)))
    result = _result(body, entry[1])
    for number in range(count):
        root = "ROOT " if number == count - 1 else ""
        name = f"%{entry[1]}.copy{number}"
        lines.append(f"  {root}%step.{number} = {result} call({operands}), to_apply={name}")
    main = "ENTRY %all_steps () -> () {\n" + "\n".join(lines) + "\n}\n"
    return f"HloModule repeated, is_scheduled=true\n\n{tables}{''.join(copies)}\n{main}"


def _parameters(body: str, entry: str) -> list[tuple[int, str]]:
    start = body.index(f"%{entry} (")
    found = re.findall(r" = (\S+) parameter\((\d+)\)", body[start:])
    return sorted((int(number), shape) for shape, number in found)


def _result(body: str, entry: str) -> str:
    start = body.index(f"%{entry} (")
    root = re.search(r"ROOT %[\w.\-]+ = (\(.*?\)|\S+) [a-z\-]+\(", body[start:])
    assert root is not None
    return root[1]


def one_opcode(text: str) -> str:
    """Change one opcode in every copy."""
    return re.sub(r"rsqrt(\(%[\w.\-]+\).*?/rsqrt)", r"sqrt\1", text, count=0)


def twice_the_batch(text: str) -> str:
    """Double every dimension that is 4, as a doubled batch would."""
    return re.sub(r"(?<=[a-z0-9]\[)4(?=,)", "8", text)


def measure_diff(size: int, rounds: int) -> Iterator[str]:
    """Yield the lines of the table."""
    text = repeat(STEP.read_text(encoding="utf-8"), size)
    old = _parse(text)
    yield f"{len(text) / MEGABYTE:.1f} MB, {old.instruction_count():,} instructions a side"
    yield f"{'':<20} {'changes':>8} {'parse both':>11} {'diff':>8} {'ratio':>6}"
    cases = {
        "renamed": renamed(text),
        "one opcode a copy": one_opcode(text),
        "twice the batch": twice_the_batch(text),
        "all at once": renamed(twice_the_batch(one_opcode(text))),
    }
    for name, other in cases.items():
        new = _parse(other)
        found = _compare(old, new)
        changes = found.changed_count + found.old_only_count + found.new_only_count
        parsing, diffing = take_turns(
            rounds, partial(_time_parsing, text, other), partial(_time_diff, old, new)
        )
        yield (
            f"{name:<20} {changes:>8,} {parsing:>9.2f} s {diffing:>6.2f} s "
            f"{diffing / parsing:>5.1f}×"
        )


def _time_parsing(old: str, new: str) -> float:
    return cpu_seconds(lambda: (_parse(old), _parse(new)))[0]


def _time_diff(old: Module, new: Module) -> float:
    return cpu_seconds(partial(_compare, old, new))[0]


def _compare(old: Module, new: Module) -> InstructionDiff:
    structure = compare_structure(Program("", old), Program("", new))
    return compare_instructions(structure, Reasoner(structure))


def _parse(text: str) -> Module:
    return parse_module(Source(text, "<bench>"))
