"""The account of a diff adds up to the difference of each figure, to the byte."""

from __future__ import annotations

from collections import Counter

import pytest
from dump_files import ROOT, SHARED, needs_shared

from hlotool.compare.inputs import Argument, find_candidates, read_side
from hlotool.compare.report import DiffReport, compare_programs
from hlotool.dump.budget import DEFAULT_BUDGET

_METRICS = {
    "flops": "cost.total_flops_per_step",
    "traffic": "cost.traffic_bytes_per_step",
    "sent": "collectives.sent_bytes_per_step",
    "exposed": "collectives.exposed_bytes_per_step",
}
_MEMORY = ("buffers.reserved_peak_bytes", "buffers.peak_bytes", "buffers.estimated.peak_bytes")
_PAIRS = (
    ("gpu.base", "gpu.noremat"),
    ("gpu.base", "gpu.unroll12"),
    ("gpu.base", "gpu.axisswap"),
    ("cpu83.base", "cpu.base"),
    ("tpu.base", "tpu.nolhs"),
    ("tpu.base", "tpu.mlpspec"),
)
_SHARDED = ("mesh", "spec", "constraint")


def compare(old: str, new: str) -> DiffReport:
    """Compare two dumps."""
    found = [
        find_candidates(Argument("", path), "after", None, DEFAULT_BUDGET)[0] for path in (old, new)
    ]
    before, after = (read_side(one[0], "")[0] for one in found)
    return compare_programs(before, after)


def check(report: DiffReport) -> None:
    """Hold the rows of each figure against its difference."""
    sums: Counter[str] = Counter()
    for row in report.account:
        sums[row.figure] += row.delta or 0  # type: ignore[assignment]
    deltas = {row.metric: row.delta for row in report.metrics}
    for figure, metric in _METRICS.items():
        assert sums[figure] == (deltas.get(metric) or 0), figure
    memory = [deltas[one] for one in _MEMORY if deltas.get(one) is not None]
    assert sums["memory"] == (memory[0] if memory else 0)
    shares = Counter({row.figure: 0.0 for row in report.account})
    for row in report.account:
        shares[row.figure] += row.share or 0  # type: ignore[assignment]
    assert all(share == pytest.approx(1) for share in shares.values() if share)


@needs_shared
@pytest.mark.parametrize(("old", "new"), _PAIRS)
def test_real_pairs(old: str, new: str) -> None:
    folder = SHARED / "dumps" / "pairs"
    check(compare(str(folder / old), str(folder / new)))


@pytest.mark.parametrize("backend", ["gpu_h100", "tpu_v5e"])
@pytest.mark.parametrize("edit", _SHARDED)
def test_sharded(backend: str, edit: str) -> None:
    folder = ROOT / "testdata" / "diff" / "sharded"
    check(compare(str(folder / f"{backend}.base"), str(folder / f"{backend}.{edit}")))
