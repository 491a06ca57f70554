"""Memory traffic: modules of testdata/traffic.cases, whose first lines derive what is expected."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from dump_files import TESTDATA, find_folders, find_texts, read_text
from tables import TableCase, find_cases, read_case

from hlotool.analysis.cost.traffic import MAIN_SPACE
from hlotool.hlo import Module
from hlotool.hlo.parser import parse_module
from hlotool.program.program import Program
from hlotool.text import Source

TABLE = TESTDATA / "traffic.cases"
CASES = find_cases(TABLE)
_EXPECTED = re.compile(r"^// memory (\d+): ([\d +*()]+?)( and more)?$", re.MULTILINE)


def read(case: TableCase) -> Module:
    return parse_module(Source(case.text, case.name))


def expected_of(text: str) -> dict[int, int]:
    found = {int(space): eval(sums) for space, sums, _ in _EXPECTED.findall(text)}  # noqa: S307
    assert found
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_one_run_moves_what_the_case_derives(case: TableCase) -> None:
    cost = Program("", read(case)).cost
    assert cost.traffic_bytes_per_step == expected_of(case.text)[MAIN_SPACE]
    assert cost.is_traffic_lower_bound == (" and more" in case.text)


def test_each_space_has_its_own() -> None:
    case = read_case(TABLE / "spaces")
    module = read(case)
    costs = Program("", module).costs
    sums: dict[int, int] = {}
    for one in module.entry.instructions:
        for space, size in costs.memory_by_space(one):
            sums[space] = sums.get(space, 0) + size
    assert sums == expected_of(case.text)


@pytest.mark.parametrize("folder", find_folders(), ids=lambda path: "/".join(path.parts[-2:]))
def test_fusions_alike_share_what_each_has_alone(folder: Path) -> None:
    for path in find_texts(folder):
        program = Program("", parse_module(Source(read_text(path), path.name)))
        for fusion in program.expect_module().instructions():
            cost = program.costs.of(fusion)
            if fusion.opcode == "fusion" and not cost.is_traffic_lower_bound:
                assert cost.traffic_bytes == dict(program.costs.memory_by_space(fusion)).get(0, 0)
