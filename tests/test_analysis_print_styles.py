"""One module in every style that XLA prints: the same cost, fusions and fingerprints."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from dump_files import PRINTED, TESTDATA, as_parameters
from parsed import read_module

from hlotool.analysis.cost.model import CostReport
from hlotool.analysis.fusions.rows import FusionTotals
from hlotool.program.program import Program

# What these leave out, the parser asks for.
INCOMPLETE = (
    "bare", "compact_operands", "no_extra_attributes", "no_ids", "no_operand_names",
    "no_result_shape",
)  # fmt: skip
# Styles with less or more of what a fingerprint is made of: layouts, and constants that are no
# scalars. The layouts of our own program are the usual ones, which need not be printed; of its
# constants one is no scalar.
OTHER_CONTENT = {
    "cpu.decode_step": ("no_layout", "fingerprint"),
    "gpu_h100.transformer_train": ("no_layout", "fingerprint"),
    "gpu_h100.styles": ("everything", "large_constants", "short_parsable", "fingerprint"),
}
STYLES = [path for path in PRINTED if path.suffixes[-2].lstrip(".") not in {*INCOMPLETE, "default"}]


@cache
def analysed(path: Path) -> tuple[CostReport, FusionTotals, str]:
    module = read_module(path)
    program = Program("", module)
    return (
        program.cost,
        program.fusions.totals,
        program.fingerprints.of(module.entry),
    )


def test_there_are_styles() -> None:
    assert len([path for path in STYLES if path.is_relative_to(TESTDATA)]) >= 12


@pytest.mark.parametrize("path", as_parameters(STYLES))
def test_style_makes_no_difference(path: Path) -> None:
    program, _, style = path.stem.rpartition(".")
    cost, fusions, fingerprint = analysed(path)
    expected_cost, expected_fusions, expected = analysed(path.with_name(f"{program}.default.txt"))
    assert cost == expected_cost
    assert fusions == expected_fusions
    assert (fingerprint == expected) is (style not in OTHER_CONTENT[program])
