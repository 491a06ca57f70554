"""The census of custom calls: a row for each target and shapes, and all of them together."""

from __future__ import annotations

import pytest
from dump_files import TESTDATA

from hlotool.analysis.cost.chips import find_chip
from hlotool.analysis.fusions.report import add_up_calls, estimate_call_times
from hlotool.api import load
from hlotool.hlo.parser import parse_module
from hlotool.program.program import Program
from hlotool.text import Source

# The products of library_calls, and its convolution: 28 places a side see 3·28 − 2 elements.
GEMM = 2 * 25088 * 256 * 1024
CONVOLUTION = 2 * 64 * 256 * 32 * (3 * 28 - 2) ** 2
LIBRARY_CALLS = [
    (("bf16[25088,256]", "bf16[256,1024]", "bf16[1024]"), GEMM),
    (("bf16[25088,1024]", "bf16[256,1024]"), GEMM),
    (("bf16[25088,256]", "bf16[256,1024]"), GEMM),
    (("bf16[32,28,28,64]", "bf16[256,3,3,64]", "bf16[256]"), CONVOLUTION),
]
BRANCHES = """HloModule branches

left {
  p = f32[4,4] parameter(0)
  ROOT c = f32[4,4] custom-call(p), custom_call_target="__cusolver$cholesky"
}

right {
  p = f32[4,4] parameter(0)
  ROOT c = f32[4,4] custom-call(p), custom_call_target="__cusolver$cholesky"
}

ENTRY main {
  which = pred[] parameter(0)
  p = f32[4,4] parameter(1)
  ROOT c = f32[4,4] conditional(which, p, p), true_computation=left, false_computation=right
}
"""


def test_each_shape_has_its_row() -> None:
    program = load(TESTDATA / "dumps/gpu_h100/library_calls").program
    found = [(row.operand_shapes, row.flops_per_step) for row in program.custom_calls]
    assert sorted(found) == sorted(LIBRARY_CALLS)


def test_on_a_chip_calls_take_the_longer_of_flops_and_memory() -> None:
    """A product of 13 G flops moves 65 MB: 13.3 μs at 989 T flops, 19.3 μs at 3.35 TB a second."""
    chip = find_chip("h100")
    program = load(TESTDATA / "dumps/gpu_h100/library_calls").program
    rows = estimate_call_times(program.custom_calls, chip)
    (product,) = (row for row in rows if row.operand_shapes == LIBRARY_CALLS[1][0])
    moved = 2 * (25088 * 1024 + 256 * 1024 + 25088 * 256)
    assert GEMM / chip.flops_per_second < moved / chip.hbm_bytes_per_second
    assert product.estimated_seconds == pytest.approx(moved / chip.hbm_bytes_per_second, rel=0.01)
    (convolution,) = (row for row in rows if row.operand_shapes == LIBRARY_CALLS[3][0])
    assert convolution.flops_per_step == CONVOLUTION
    totals = add_up_calls(rows, program.cost)
    assert totals.estimated_seconds == sum(row.estimated_seconds or 0 for row in rows)
    assert not totals.is_time_lower_bound
    assert program.custom_call_totals.estimated_seconds is None  # without a chip
    unknown = Program("m", parse_module(Source(BRANCHES.replace("__cu", "my")))).custom_calls
    assert [row.estimated_seconds for row in estimate_call_times(unknown, chip)] == [None]


def test_together() -> None:
    program = load(TESTDATA / "dumps/gpu_h100/library_calls").program
    totals = program.custom_call_totals
    assert (totals.call_count, totals.distinct_count, totals.computing_count) == (4, 4, 4)
    assert totals.flops_per_step == 3 * GEMM + CONVOLUTION
    assert totals.flops_share == pytest.approx(1, abs=1e-4)
    assert (totals.unknown_flops_count, totals.unknown_traffic_count) == (0, 0)
    assert not totals.is_flops_lower_bound
    assert not totals.is_traffic_lower_bound


def test_calls_on_equal_shapes_share_a_row_and_branches_no_flops() -> None:
    """A cholesky of 4 rows is 4·16 ÷ 3 flops. One of two branches runs: all there is, once."""
    program = Program("branches", parse_module(Source(BRANCHES)))
    (row,) = program.custom_calls
    totals = program.custom_call_totals
    assert (row.count, row.is_conditional, totals.flops_per_step) == (2, True, 2 * 21)
    assert (totals.flops_share, totals.is_upper_bound) == (1, True)
