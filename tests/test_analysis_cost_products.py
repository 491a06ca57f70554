"""Products take as long as their type does: modules of testdata/products.cases derive the time."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from dump_files import TESTDATA
from tables import TableCase, find_cases, read_case

from hlotool.analysis.cost.chips import find_chip
from hlotool.analysis.fusions.report import estimate_call_times
from hlotool.analysis.summary.report import Roofline, measure_roofline
from hlotool.errors import UsageError
from hlotool.hlo.parser import parse_module
from hlotool.program.program import Program
from hlotool.text import Source

TABLE = TESTDATA / "products.cases"
CASES = find_cases(TABLE)
_EXPECTED = re.compile(r"^// (\w+): ([\d.e +*()/]+)(?:, ([\w ]+) as bf16)?$", re.MULTILINE)


def bound(case: TableCase, chip: str, chip_file: str = "") -> Roofline:
    module = parse_module(Source(case.text, case.name))
    return measure_roofline(Program("", module).cost, find_chip(chip, chip_file))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_arithmetic_takes_what_the_case_derives(case: TableCase) -> None:
    found = _EXPECTED.findall(case.text)
    assert found
    for chip, seconds, as_bf16 in found:
        one = bound(case, chip)
        expected = eval(seconds)  # noqa: S307
        assert one.compute_seconds == pytest.approx(expected, rel=1e-3), chip
        assert " ".join(one.assumed_bf16) == as_bf16, chip


def test_calls_take_as_long_as_the_type_they_compute_in(tmp_path: Path) -> None:
    chips = tmp_path / "chips.toml"
    chips.write_text("[h100]\nhbm_bytes_per_second = 1e18\n")
    case = read_case(TABLE / "library")
    module = parse_module(Source(case.text, case.name))
    chip = find_chip("h100", str(chips))
    rows = estimate_call_times(Program("", module).custom_calls, chip)
    product = 2 * 64**3
    assert [row.target for row in rows] == [
        "__cublas$gemm",
        "__cublas$lt$matmul",
        "__cublas$lt$matmul",
        "__cudnn$convForward",
    ]
    assert rows[0].estimated_seconds == pytest.approx(
        product / 494.5e12 + product / 66.9e12, rel=1e-3
    )


def test_a_chip_file_states_peaks_and_a_type_that_is_none_is_named(tmp_path: Path) -> None:
    chips = tmp_path / "chips.toml"
    chips.write_text("[h100]\nflops_per_second_tf32 = 1e12\n")
    slow = bound(read_case(TABLE / "loop"), "h100", str(chips))
    assert slow.compute_seconds == pytest.approx(10 * 2 * 64**3 / 1e12, rel=1e-3)
    chips.write_text("[h100]\nflops_per_second_fp8 = 1e12\n")
    with pytest.raises(UsageError, match="flops_per_second_fp8 of 'h100' must end in one of f4,"):
        find_chip("h100", str(chips))
