"""How long does a diff take, beside parsing both sides?

    python tests/bench/diff.py [MEGABYTES]

Copies of a real training step are called one after the other until the text is as large as
asked (10 MB if not given), and compared with: itself under other names and in another order;
itself with one opcode changed in every copy; the same with all shapes of the batch doubled;
and with everything changed at once. Prints seconds of CPU, and the ratio to parsing both.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from diff_cases import renamed  # noqa: E402

from hlotool.diff.blocks.changes import InstructionDiff, compare_instructions  # noqa: E402
from hlotool.diff.match.structure import compare_structure  # noqa: E402
from hlotool.ir import Module  # noqa: E402
from hlotool.parse import parse_module  # noqa: E402
from hlotool.program.program import Program  # noqa: E402
from hlotool.source import Source  # noqa: E402

STEP = ROOT / "testdata" / "hlo" / "gpu_train_step.txt"
MEGABYTE = 1_000_000
DEFAULT_MEGABYTES = 10
ROUNDS = 3

_NAME = re.compile(r"%([\w.\-]+)")
_ENTRY = re.compile(r"^ENTRY %([\w.\-]+) \((.*)\) -> (.*) \{$", re.MULTILINE)


def repeat(text: str, size: int) -> str:
    """Make one module that calls as many copies of a step as it takes."""
    tables, body = _split(text)
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


def _split(text: str) -> tuple[str, str]:
    """Return the index tables and the computations of a module."""
    _, _, rest = text.partition("\n")
    start = re.search(r"^(?:%|ENTRY)", rest, re.MULTILINE)
    assert start is not None
    return rest[: start.start()].lstrip(), rest[start.start() :]


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


def seconds(work: Callable[[], object]) -> float:
    """Return the CPU time of the fastest of some rounds."""
    found = []
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def measure(megabytes: float = DEFAULT_MEGABYTES) -> list[str]:
    """Return the lines of the table."""
    text = repeat(STEP.read_text(encoding="utf-8"), int(megabytes * MEGABYTE))
    left = _parse(text)
    lines = [
        f"{len(text) / MEGABYTE:.1f} MB, {left.instruction_count():,} instructions a side",
        f"{'':<20} {'changes':>8} {'parse both':>11} {'diff':>8} {'ratio':>6}",
    ]
    cases = {
        "renamed": renamed(text),
        "one opcode a copy": one_opcode(text),
        "twice the batch": twice_the_batch(text),
        "all at once": renamed(twice_the_batch(one_opcode(text))),
    }
    for name, other in cases.items():
        right = _parse(other)
        parsing = seconds(partial(_parse_both, text, other))
        found = _compare(left, right)
        changes = found.changed_count + found.left_only_count + found.right_only_count
        diffing = seconds(partial(_compare, left, right))
        lines.append(
            f"{name:<20} {changes:>8,} {parsing:>9.2f} s {diffing:>6.2f} s "
            f"{diffing / parsing:>5.1f}×"
        )
    return lines


def main() -> None:
    """Print the table."""
    megabytes = float(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_MEGABYTES
    sys.stdout.write("".join(f"{line}\n" for line in measure(megabytes)))


def _parse_both(left: str, right: str) -> None:
    _parse(left)
    _parse(right)


def _compare(left: Module, right: Module) -> InstructionDiff:
    return compare_instructions(compare_structure(Program("", left), Program("", right)))


def _parse(text: str) -> Module:
    return parse_module(Source(text, "<bench>"))


if __name__ == "__main__":
    main()
