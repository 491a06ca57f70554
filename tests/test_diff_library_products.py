"""Products that move into a library are work that stays: the headline of a diff says so.

Real pairs. XLA:GPU hands the products and convolutions of `library_calls` to cuBLAS and cuDNN: the
text before optimizations has them as dots. XLA:CPU of 2024 handed those of `mlp_train` to oneDNN,
that of 2026 does not.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from dump_files import TESTDATA

from hlotool.api import load
from hlotool.compare.changes.figures import MetricRow, by_path
from hlotool.compare.inputs import DiffSide
from hlotool.compare.report import compare_programs

CUBLAS = TESTDATA / "dumps" / "gpu_h100" / "library_calls"
PAIRS = {
    "cuBLAS and cuDNN": (
        CUBLAS / "module_0001.jit_infer.before_optimizations.txt",
        CUBLAS / "module_0001.jit_infer.sm_9.0a_gpu_after_optimizations.txt",
    ),
    "oneDNN": (
        TESTDATA / "dumps" / "cpu" / "mlp_train",
        TESTDATA / "dumps" / "cpu_jax_0.4.30" / "mlp_train",
    ),
}


def compare(old: Path, new: Path) -> dict[str, MetricRow]:
    before, after = (DiffSide(load(path).program) for path in (old, new))
    return dict(by_path(compare_programs(before, after).metrics))


@pytest.mark.parametrize("pair", PAIRS)
def test_the_headline_counts_the_library(pair: str) -> None:
    rows = compare(*PAIRS[pair])
    change = rows["cost.total_flops_per_step"].relative_delta
    assert change is not None
    assert abs(change) < 0.005


@pytest.mark.parametrize("pair", PAIRS)
def test_the_products_have_moved(pair: str) -> None:
    """What XLA's own figure says of the same pair, and where the rest is."""
    rows = compare(*PAIRS[pair])
    plain, hidden = (rows[f"cost.{name}_per_step"] for name in ("flops", "custom_call_flops"))
    assert plain.relative_delta is not None
    assert plain.relative_delta < -0.95
    assert hidden.old == 0
    assert hidden.new == pytest.approx(plain.old, rel=0.05)
