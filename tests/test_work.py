"""Twice the input is about twice the work, counted: elements that sequences of the IR hand out.

Lists of instructions, operands and users count what they give, `in`, `count` and `index` included.
Unlike time, that is the same per step, and so the inputs may be small. `make test` asks analyses,
`make hard` whole commands, of which it also counts how often they pass over all instructions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import Any, SupportsIndex

import pytest

from hlotool.analysis.memory.rows import all_rows
from hlotool.cli import run
from hlotool.compare import passes as pass_reader
from hlotool.hlo import Module
from hlotool.hlo.module import Computation
from hlotool.hlo.parser import parse_module
from hlotool.page.data import make_page
from hlotool.program import load
from hlotool.program.program import Program
from hlotool.text import Source

MOST_GROWTH = 2.25  # where the size doubles; what is quadratic does 4 times the work
SIZE = 240
SCHEDULED = "HloModule m, is_scheduled=true"
ADD = "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}\n\n"
X = "  x = f32[8] parameter(0)\n"

handed_out = {list: 0, tuple: 0}  # lists hold instructions, tuples operands and users


def _make_counting(kind: Any) -> Any:
    """Return a kind of tuple or list whose elements are counted as they are given."""

    def count_steps(steps: int) -> None:
        handed_out[kind] += steps

    class Counting(kind):  # type: ignore[misc]
        def __iter__(self) -> Iterator[Any]:
            for one in kind.__iter__(self):
                count_steps(1)
                yield one

        def __reversed__(self) -> Iterator[Any]:
            return iter(self[::-1])

        def __getitem__(self, at: SupportsIndex | slice) -> Any:
            found = kind.__getitem__(self, at)
            count_steps(len(found) if isinstance(at, slice) else 1)
            return Counting(found) if isinstance(at, slice) else found

        def __contains__(self, one: object) -> bool:
            return self.count(one) > 0

        def count(self, one: object) -> int:
            count_steps(len(self))
            found: int = kind.count(self, one)
            return found

        def index(self, *one: Any) -> int:
            count_steps(len(self))
            found: int = kind.index(self, *one)
            return found

    return Counting


_Tuple, _List = _make_counting(tuple), _make_counting(list)


def wide(count: int) -> str:
    """Write values that all come from one, and go into one tuple."""
    return _entry(["f32[8] negate(x)"] * count, _tuple(count))


def deep(count: int) -> str:
    """Write a chain."""
    return _entry([f"f32[8] negate(v{n - 1})" if n else "f32[8] negate(x)" for n in range(count)])


def operands(count: int) -> str:
    """Write an instruction, and a fusion, that take many."""
    given = ", ".join(f"v{n}" for n in range(count))
    taken = "".join(f"  p{n} = f32[8] parameter({n})\n" for n in range(count))
    inside = ", ".join(f"p{n}" for n in range(count))
    shape = f"f32[{8 * count}]"
    fused = f"fused {{\n{taken}  ROOT c = {shape} concatenate({inside}), dimensions={{0}}\n}}\n\n"
    last = [f"{shape} fusion({given}), kind=kLoop, calls=fused"]
    return _entry(
        [*["f32[8] negate(x)"] * count, *last],
        f"{shape} concatenate({given}), dimensions={{0}}",
        fused,
    )


def bodies(count: int) -> str:
    """Write many fusions, each with a body of its own."""
    made = "".join(
        f"f{n} {{\n  p = f32[8] parameter(0)\n  ROOT n = f32[8] negate(p)\n}}\n\n"
        for n in range(count)
    )
    return _entry([f"f32[8] fusion(x), kind=kLoop, calls=f{n}" for n in range(count)], "", made)


def long_body(count: int) -> str:
    """Write one fusion of many instructions."""
    steps = "".join(f"  s{n} = f32[8] add(p, {f's{n - 1}' if n else 'p'})\n" for n in range(count))
    body = f"f {{\n  p = f32[8] parameter(0)\n{steps}}}\n\n"
    return _entry(["f32[8] fusion(x), kind=kLoop, calls=f"], "", body)


def loops(count: int) -> str:
    """Write loops one after the other, all of one body."""
    body = (
        "c {\n  s = (f32[8]) parameter(0)\n  ROOT t = pred[] constant(true)\n}\n\n"
        "b {\n  s = (f32[8]) parameter(0)\n  g = f32[8] get-tuple-element(s), index=0\n"
        "  n = f32[8] negate(g)\n  ROOT r = (f32[8]) tuple(n)\n}\n\n"
    )
    made = [f"{body}".replace(" {", f"{n} {{") for n in range(count)]
    lines = ["(f32[8]) tuple(x)"]
    lines += [f"(f32[8]) while(v{n}), condition=c{n}, body=b{n}" for n in range(count)]
    return _entry(lines, "", "".join(made))


def collectives(count: int) -> str:
    """Write all-reduces of one value."""
    return _entry(["f32[8] all-reduce(x), replica_groups={}, to_apply=add"] * count, "", ADD)


def aliases(count: int) -> str:
    """Write parameters that are donated, each to an output."""
    given = ", ".join(f"{{{n}}}: ({n}, {{}}, may-alias)" for n in range(count))
    taken = "".join(f"  p{n} = f32[8] parameter({n})\n" for n in range(count))
    made = "".join(f"  v{n} = f32[8] negate(p{n})\n" for n in range(count))
    head = f"{SCHEDULED}, input_output_alias={{ {given} }}"
    return f"{head}\n\nENTRY e {{\n{taken}{made}  ROOT r = {_tuple(count)}\n}}\n"


def _entry(lines: list[str], root: str = "", before: str = "") -> str:
    made = "".join(f"  v{n} = {line}\n" for n, line in enumerate(lines))
    last = f"  ROOT r = {root}\n" if root else ""
    return f"{SCHEDULED}\n\n{before}ENTRY e {{\n{X}{made}{last}}}\n"


def _tuple(count: int) -> str:
    shape = ", ".join(["f32[8]"] * count)
    return f"({shape}) tuple({', '.join(f'v{n}' for n in range(count))})"


SHAPES: list[Callable[[int], str]] = [
    *(wide, deep, operands, bodies, long_body, loops, collectives, aliases)
]
ANSWERS: dict[str, Callable[[Program], object]] = {
    "summary": lambda one: one.summarize(),
    "buffers": lambda one: list(all_rows(one.expect_memory(), None)),
    "donation": lambda one: one.donation_savings,
    "fusions": lambda one: (one.fusions, one.custom_calls, one.find_missed(0)),
    "recompute": lambda one: one.recomputed,
    "collectives": lambda one: one.collectives,
    "outline": lambda one: one.outline(),
    "page": make_page,
}


@pytest.fixture(autouse=True)
def _counted_users(monkeypatch: pytest.MonkeyPatch) -> None:
    users = Computation.users.func  # type: ignore[attr-defined]
    counted = cached_property(lambda one: {key: _Tuple(each) for key, each in users(one).items()})
    counted.__set_name__(Computation, "users")
    monkeypatch.setattr(Computation, "users", counted)


def parse_counted(source: Source) -> Module:
    """Parse a module, and count from here on what its sequences give."""
    module = parse_module(source)
    for computation in module.computations.values():
        for one in computation.instructions:
            one.operands = _Tuple(one.operands)
        computation.instructions = _List(computation.instructions)
    return module


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
@pytest.mark.parametrize("write", SHAPES, ids=lambda one: one.__name__)
def test_twice_the_input(write: Callable[[int], str], answer: Callable[[Program], object]) -> None:
    small, large = (count_work(write(size), answer) for size in (SIZE, 2 * SIZE))
    assert small > 0
    assert large / small < MOST_GROWTH


def count_work(text: str, answer: Callable[[Program], object]) -> int:
    """Return how many elements an answer about a text looks at."""
    module = parse_counted(Source(text))
    before = sum(handed_out.values())
    answer(Program("", module))
    return sum(handed_out.values()) - before


EDITS = (1, 10, 100)  # percent of the instructions that do something else on the new side
CHIP = "--chip h100"
# Each with how often it may pass over all instructions of one side, all that is read counted; that
# is a fifth more than when this was written.
COMMANDS = {
    f"summary DUMP --json --hbm 1GiB {CHIP}": 28,
    "buffers DUMP -n 0": 13,
    "buffers DUMP --all --timeline --peaks 3 --donation --hbm 1KiB -n 0": 80,
    f"fusions DUMP -n 0 --missed --recompute {CHIP}": 24,
    f"collectives DUMP -n 0 --operands --wide {CHIP}": 18,
    "shardings DUMP -n 0": 4,
    "shardings DUMP --rows reshards -n 0": 18,
    "text DUMP -o text.txt": 1,
    f"outline DUMP -n 0 {CHIP}": 22,
    "show DUMP v0": 28,
    "report DUMP -o page.html": 55,
    "check DUMP --budget cost.flops_per_step<=1e18 --budget fusions.count()>=0": 22,
    **{f"diff DUMP DUMP.{share}": 120 for share in EDITS},
    "fit DUMP DUMP.larger": 94,
    "diff --passes DUMP.passes": 72,
    "diff --passes DUMP.passes --trace opcode=='exponential'": 74,
}


def edit(text: str, share: int) -> str:
    """Let one of so many instructions be another: of a hundred so many."""
    lines, number = text.split("\n"), 0
    for at, line in enumerate(lines):
        if " negate(" in line or " add(" in line:
            number += 1
            if not number % (100 // share):
                lines[at] = line.replace(" negate(", " exponential(").replace(" add(", " divide(")
    return "\n".join(lines)


def _double(number: re.Match[str]) -> str:
    return str(2 * int(number.group()))


def write_dumps(text: str, name: str) -> None:
    """Write a text, itself at twice the size, edits, and a folder of passes that make one each."""
    Path(name).write_text(text, encoding="utf-8")
    Path(f"{name}.larger").write_text(re.sub(r"(?<=\[)\d+(?=])", _double, text), encoding="utf-8")
    folder = Path(f"{name}.passes")
    folder.mkdir()
    start = "0000.p.after_pipeline-start.before_pass1"
    (folder / f"module_0000.m.{start}.txt").write_text(text, encoding="utf-8")
    for number, share in enumerate(EDITS, 1):
        edited = edit(text, share)
        Path(f"{name}.{share}").write_text(edited, encoding="utf-8")
        ran = f"000{number}.p.after_pass{number}.before_pass{number + 1}"
        (folder / f"module_0000.m.{ran}.txt").write_text(edited, encoding="utf-8")


@pytest.mark.hard
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_about_twice_the_input(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for reader in (load, pass_reader):
        monkeypatch.setattr(reader, "parse_module", parse_counted)
    passes = {}
    for write in SHAPES:
        work = []
        for size in (SIZE, 2 * SIZE):
            text, name = write(size), f"{write.__name__}{size}"
            write_dumps(text, name)
            before = dict(handed_out)
            with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
                assert run(command.replace("DUMP", name).split()) in {0, 1, 4}
            found = {kind: count - before[kind] for kind, count in handed_out.items()}
            work.append(sum(found.values()))
            passes[write.__name__] = found[list] / text.count(" = ")
        assert work[1] < MOST_GROWTH * work[0] + SIZE, write.__name__
    assert max(passes.values()) <= COMMANDS[command], passes
