"""The fixture `hlotool` of pytest, as a run of its own finds it by its entry point."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from dump_files import TESTDATA

STEP = TESTDATA / "dumps" / "gpu_h100" / "mlp_train"
TEST = f"""
STEP = {str(STEP)!r}

def test_fits(hlotool):
    hlotool.expect(STEP, "buffers.temp_bytes <= 8GiB")

def test_is_too_large(hlotool):
    hlotool.expect(STEP, "buffers.temp_bytes <= 1MiB")

def test_does_not_grow(hlotool):
    hlotool.expect_no_growth(STEP, "buffers.peak_bytes", "fusions.fusion_count", by=0.01)

class TestOther:
    def test_does_not_grow(self, hlotool):
        hlotool.expect_no_growth(STEP, "buffers.temp_bytes")
"""


def run_pytest(folder: Path, *more: str) -> str:
    options = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-rf")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *more],
        capture_output=True,
        text=True,
        cwd=folder,
        check=False,
    )
    return done.stdout


def test_budgets_and_figures_of_a_test(tmp_path: Path) -> None:
    (tmp_path / "test_step.py").write_text(TEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    shown = run_pytest(tmp_path)
    assert "buffers.temp_bytes <= 1MiB" in shown
    assert "test_step.hlotool.json has no buffers.peak_bytes of test_does_not_grow; pytest" in shown
    assert "3 failed, 1 passed" in shown
    assert "2 passed" in run_pytest(tmp_path, "--hlotool-update", "-k", "grow")
    kept = tmp_path / "test_step.hlotool.json"
    assert '"buffers.peak_bytes": 6175272' in kept.read_text()
    assert '"TestOther::test_does_not_grow": {' in kept.read_text()
    assert "2 passed" in run_pytest(tmp_path, "-k", "grow")
    kept.write_text(kept.read_text().replace("6175272", "6000000"))
    assert "buffers.peak_bytes: 6,000,000 before, 6,175,272 now" in run_pytest(tmp_path)


def test_a_run_without_it_imports_nothing_else() -> None:
    script = "import sys, pytest, hlotool.pytest_plugin; print([*sys.modules])"
    shown = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout
    assert "'hlotool.pytest_plugin'" in shown
    assert not {"'hlotool.testing'", "'hlotool.api'", "'msgspec'", "'click'"} & {*shown.split(", ")}
