"""What people paste is read as far as it goes, and no figure says more than is there."""

from __future__ import annotations

import random
import re
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest
from dump_files import TESTDATA
from tables import TableCase, find_cases

from hlotool.dump.find import resolve_text
from hlotool.dump.fragment import find_fragment
from hlotool.errors import HlotoolError, InputError, ParseError
from hlotool.hlo.parser import parse_module
from hlotool.program.load import load_program
from hlotool.program.program import Program
from hlotool.text import Source

FRAGMENTS = TESTDATA / "fragments"
TEXTS = find_cases(FRAGMENTS / "texts.cases")
OTHERS = find_cases(FRAGMENTS / "others.cases")
DUMPS = sorted(TESTDATA.glob("dumps/*/*/*after_optimizations.txt"))
QUICK: Final = 5  # cuts of a dump
WHOLE: Final = re.compile(r"(?m)^ +(?:ROOT )?%?[\w.\-]+ = .*\)[^\n]*\n")  # an instruction
HARD: Final = 200
MOST_BYTES: Final = 100_000
METRICS: Final = (
    "cost.total_flops_per_step",
    "cost.traffic_bytes_per_step",
    "collectives.count",
    "collectives.sent_bytes_per_step",
    "collectives.message_bytes_per_step",
    "fusions.fusion_count",
    "fusions.traffic_bytes_per_step",
    "module.instruction_count",
    "module.executed_instruction_count",
    "module.computation_count",
)


def read(text: str) -> tuple[Program, str]:
    """Read a text as a command does; return the notes as well."""
    try:
        found = resolve_text(text)
        program = load_program(found.inputs[0], "<text>")
        _ = program.graph
    except ParseError as error:
        fragment = find_fragment(error.source)
        if fragment is None:
            raise
        return Program("m", parse_module(fragment.source)), " ".join(fragment.notes)
    return program, " ".join(found.notes)


@pytest.mark.parametrize("case", TEXTS, ids=[case.name for case in TEXTS])
def test_what_is_pasted_is_read(case: TableCase) -> None:
    expected, _, text = case.text.partition("\n")
    told, _, missing = expected.partition("; ")
    program, notes = read(text)
    facts = program.counts.module
    bound = "≥ " if facts.is_lower_bound else ""
    computations = "computation" if facts.computation_count == 1 else "computations"
    instructions = "instruction" if facts.instruction_count == 1 else "instructions"
    assert told == (
        f"{bound}{facts.computation_count} {computations}, {facts.instruction_count} "
        f"{instructions}, entry {facts.entry}"
    )
    assert bool(missing) is facts.is_lower_bound
    assert all(word in notes for word in missing.split(", "))
    assert bool(missing) is program.bounds("cost.total_flops_per_step")[0]
    assert not missing or program.memory is None


@pytest.mark.parametrize("case", OTHERS, ids=[case.name for case in OTHERS])
def test_what_is_no_hlo_stays_refused(case: TableCase) -> None:
    with pytest.raises((InputError, ParseError)):
        read(case.text)


def test_what_only_looks_like_hlo_stays_refused() -> None:
    """Two hundred texts of eight kinds; a table takes `--- a/x.py` of a diff for a part."""
    cases = find_cases(FRAGMENTS / "lookalikes.cases")
    assert len(cases) == 200
    read_ones = []
    for case in cases:
        parts = "".join(f"--- {name}\n{body}" for name, body in case.parts.items())
        with suppress(InputError, ParseError):
            read(case.text + parts)
            read_ones.append(case.name)
    assert read_ones == []


def figures(program: Program) -> dict[str, tuple[object, bool]]:
    return {one: (program.metric(one), program.bounds(one)[0]) for one in METRICS}


def check_parts(path: Path, count: int) -> int:
    """Cut a dump, or take lines out of a computation; return how many parts were read."""
    text = path.read_text(encoding="utf-8")
    whole = figures(Program("m", parse_module(Source(text))))
    chance, answered = random.Random(path.name), 0  # noqa: S311  the same in each run
    bodies = [match.span() for match in re.finditer(r"(?<=\{\n)(?:  .*\n)+", text)]
    for number in range(count):
        if number % 2:
            part = text[: chance.randrange(text.find("\n"), len(text))]
        else:
            start, end = chance.choice(bodies)
            first, last = sorted(chance.randrange(start, end) for _ in range(2))
            first, last = text.rfind("\n", 0, first) + 1, text.rfind("\n", 0, last) + 1
            part = text[:first] + text[last:]
        try:
            program, notes = read(part)
            found = figures(program)
        except HlotoolError:
            # Of a cut nothing whole is left; lines taken out may leave what contradicts itself.
            if number % 2 and WHOLE.search(part):
                raise
            continue
        answered += 1
        if part == text or not program.expect_module().source.is_fragment:
            continue
        assert "this is part of a program" in notes
        assert not number % 2 or re.search(r"line \d", notes), (path, len(part), notes)
        for metric, (value, is_lower) in found.items():
            real = whole[metric][0]
            assert isinstance(value, int)
            assert isinstance(real, int)
            assert value <= real if is_lower else value == real, (path, metric, part[-200:])
    return answered


SMALL = [path for path in DUMPS if path.stat().st_size < MOST_BYTES]


def test_a_part_is_at_most_the_whole() -> None:
    assert sum(check_parts(path, QUICK) for path in SMALL[::6]) > len(SMALL[::6])


@pytest.mark.hard
@pytest.mark.parametrize(
    "path", DUMPS, ids=[f"{one.parent.parent.name}-{one.parent.name}" for one in DUMPS]
)
def test_any_part_is_at_most_the_whole(path: Path) -> None:
    assert check_parts(path, HARD if path.stat().st_size < MOST_BYTES else QUICK) > 0
