"""Memory figures that go to another process come back equal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hlotool.analysis.memory import find_memory_figures
from hlotool.analysis.memory_records import pack_figures, unpack_figures
from hlotool.inputs import find_inputs
from hlotool.loading import load

TESTDATA = Path(__file__).parents[1] / "testdata"
TEXTS = [
    *sorted((TESTDATA / "dumps").rglob("*after_optimizations.txt")),
    *sorted((TESTDATA / "hlo").glob("*_train_step.txt")),
]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: "/".join(path.parts[-3:]))
@pytest.mark.parametrize("with_buffers", [True, False], ids=["assigned", "estimated"])
def test_figures_come_back_equal(path: Path, *, with_buffers: bool) -> None:
    (chosen,) = find_inputs(str(path)).inputs
    loaded = load(chosen, str(path), with_buffers=with_buffers)
    figures = find_memory_figures(loaded.module, loaded.assignment)
    assert figures is not None
    assert unpack_figures(json.loads(json.dumps(pack_figures(figures)))) == figures
