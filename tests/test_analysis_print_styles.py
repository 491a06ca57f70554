"""One module in every style that XLA prints: the same cost, fusions and fingerprints."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from cost_cases import SHARED, read_module

from hlotool.analysis.cost import CostReport
from hlotool.analysis.fusions.rows import FusionTotals
from hlotool.program.program import Program

PRINTED = SHARED / "dumps/printed"
PROGRAMS = ("cpu.decode_step", "gpu_h100.transformer_train")
# What these leave out, the parser asks for.
INCOMPLETE = (
    "bare", "compact_operands", "no_extra_attributes", "no_ids", "no_operand_names",
    "no_result_shape",
)  # fmt: skip
# Styles that leave out what a fingerprint is made of: layouts, or constants that are no scalars.
OTHER_CONTENT = ("no_layout", "fingerprint")
STYLES = sorted(
    path
    for path in PRINTED.glob("*.txt")
    if path.suffixes[-2].lstrip(".") not in {*INCOMPLETE, "default"}
)


@cache
def analysed(path: Path) -> tuple[CostReport, FusionTotals, str]:
    module = read_module(path)
    program = Program("", module)
    return (
        program.cost,
        program.fusions.totals,
        program.prints.of(module.entry),
    )


@pytest.mark.skipif(not PRINTED.is_dir(), reason="the shared dumps are not here")
def test_there_are_styles() -> None:
    assert len(STYLES) >= 2 * 13


@pytest.mark.parametrize("path", STYLES, ids=lambda path: path.stem)
def test_style_makes_no_difference(path: Path) -> None:
    program, _, style = path.stem.rpartition(".")
    assert program in PROGRAMS
    cost, fusions, fingerprint = analysed(path)
    expected_cost, expected_fusions, expected = analysed(PRINTED / f"{program}.default.txt")
    assert cost == expected_cost
    assert fusions == expected_fusions
    assert (fingerprint == expected) is (style not in OTHER_CONTENT)
