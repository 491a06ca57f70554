"""Laws of sizes, what is refused, and predictions against programs compiled afterwards."""

from __future__ import annotations

import csv
import tomllib
from fractions import Fraction
from typing import Any

import pytest
from dump_files import ROOT

from hlotool.compare.fit.laws import Law, find_law
from hlotool.compare.fit.report import FitReport, fit_programs
from hlotool.dump.find import resolve_inputs
from hlotool.errors import UsageError
from hlotool.program.load import load_program
from hlotool.program.program import Program

FIT = ROOT / "testdata" / "fit"
TABLE = ROOT / "docs" / "fit.csv"
FAMILIES: dict[str, dict[str, Any]] = tomllib.loads(
    (FIT / "families.toml").read_text(encoding="utf-8")
)
QUICK = ("cpu-decode-sequence", "gpu-decode-layers", "tpu-decode-sequence", "gpu-unrolled-layers")


def load(name: str, value: int) -> Program:
    path = str(FIT / name / f"{value}.tar.zst")
    return load_program(resolve_inputs(path, "after", None).inputs[0], path, with_buffers=True)


ONE = ((16,), (32,))
TWO = ((16, 4), (32, 4), (16, 8))


@pytest.mark.parametrize(
    ("numbers", "points", "law"),
    [
        ((7, 7), ONE, Law(Fraction(7), (0,))),
        ((48, 96), ONE, Law(Fraction(3), (1,))),
        ((2, 4), ONE, Law(Fraction(1, 8), (1,))),
        ((256, 1024), ONE, Law(Fraction(1), (2,))),
        ((15, 31), ONE, Law(Fraction(1), (1,), -1)),
        ((8, 4), ONE, Law(Fraction(128), (-1,))),
        ((64, 128, 128), TWO, Law(Fraction(1), (1, 1))),
        ((15, 31, 15), TWO, Law(Fraction(1), (1, 0), -1)),
        ((1, 2, 3), TWO, None),
        ((0, 0), ONE, Law(Fraction(0), (0,))),
        ((1, 2), ((0,), (1,)), Law(Fraction(1), (1,), 1)),
    ],
)
def test_a_number_has_the_plainest_law_that_fits(
    numbers: tuple[int, ...], points: tuple[tuple[int, ...], ...], law: Law | None
) -> None:
    assert find_law(numbers, points) == law
    if law is not None:
        assert [law.at(point) for point in points] == list(numbers)


def test_what_cannot_be_fitted_is_refused_in_a_sentence() -> None:
    small, large = (load("cpu-decode-sequence", value) for value in (256, 512))
    other = load("cpu-decode-batch", 32)
    cases: list[tuple[list[Program], dict[str, tuple[int, ...]], str]] = [
        ([small, small], {}, "nothing varies"),
        ([small, large], {"batch": (8, 24)}, "follows none of batch"),
        (
            [small, large],
            {"sequence": (1, 2), "batch": (8, 24)},
            "no dimension follows --vary batch",
        ),
        ([large, other], {}, "Compile one more"),
        ([small, load("cpu-conv-batch", 16)], {}, "different arguments"),
    ]
    for programs, named, sentence in cases:
        with pytest.raises(UsageError) as error:
            fit_programs(programs, named)
        assert sentence in str(error.value)


@pytest.fixture(scope="module")
def rows() -> list[dict[str, str]]:
    with TABLE.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(
    "name",
    [pytest.param(one, marks=() if one in QUICK else pytest.mark.hard) for one in FAMILIES],
)
def test_the_table_has_what_is_predicted(name: str, rows: list[dict[str, str]]) -> None:
    family = FAMILIES[name]
    given = tuple(family["given"])
    told = {(row["size"], row["metric"]): int(row["told"]) for row in rows if row["family"] == name}
    try:
        report: FitReport = fit_programs(
            [load(name, value) for value in given],
            {family["vary"]: given},
            [{family["vary"]: value} for value in family["held_out"]],
        )
    except UsageError:
        assert not told  # what is refused is in the table as nothing
        return
    assert told == {(row.size, row.metric): int(row.value) for row in report.predicted}
    base = report.sizes[len(given) - 1]
    for metric in {row.metric for row in report.terms}:
        parts = sum(row.value for row in report.terms if row.metric == metric)
        assert parts == pytest.approx(getattr(base, metric.split(".")[1]), rel=1e-3, abs=1)


@pytest.mark.parametrize("name", QUICK)
def test_laws_reach_as_far_as_the_size_that_fits(name: str) -> None:
    given = tuple(FAMILIES[name]["given"])
    programs, vary = [load(name, value) for value in given], {FAMILIES[name]["vary"]: given}
    limit_bytes = 10 * (fit_programs(programs, vary).sizes[-1].allocated_bytes or 0)
    report = fit_programs(programs, vary, limit_bytes=limit_bytes)
    (row,) = report.limits
    assert row.fits
    assert row.allocated_bytes
    assert row.next_bytes
    assert row.allocated_bytes <= limit_bytes < row.next_bytes
    assert (row.surely_fits or 0) <= 4 * max(given) < row.fits
    law = [one for one in report.laws if one.metric == "buffers.allocated_bytes"][-1]
    told = sum(one * row.fits**power for power, one in enumerate(law.coefficients))
    assert told == pytest.approx(row.allocated_bytes, rel=5e-3)


def test_structure_that_is_kept_predicts_and_bands_hold(rows: list[dict[str, str]]) -> None:
    judging = [row for row in rows if row["role"] == "judging"]
    assert len({row["family"] for row in judging}) >= 30
    for row in judging:
        if row["alike"] == row["kept"] == "True":
            allowed = 0.02 if row["metric"].startswith("buffers.") else 1e-3
            assert abs(float(row["ratio"]) - 1) <= allowed, row
    for distance in ("between", "to 2×", "to 4×"):
        there = [row for row in judging if row["distance"] == distance]
        inside = [row for row in there if int(row["low"]) <= int(row["real"]) <= int(row["high"])]
        assert len(inside) >= 0.9 * len(there), distance
