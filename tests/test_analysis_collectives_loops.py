"""The transformer of testdata: what its loops over the layers send, on paper and on each backend.

testdata/make/programs/transformer_train.py on 4 × 2 devices, `data` and `model`. Weights are
divided over both axes, activations by batch over `data` and by sequence over `model`. With W
bytes of weights a layer, and A bytes of activations in the batch of one `data` rank, a layer

* gathers its weights over all eight devices, 7/8 W, forward and again backward. In two steps,
  over one axis and then the other, it is the same: 1/2 · W/4 + 3/4 · W, or 3/4 · W/2 + 1/2 · W.
* gathers keys and values over `model`, 2 · 1/2 A, forward and again where it is rematerialized;
* adds up the gradients of its weights over all eight, 2 · 7/8 W, and those of keys and values
  over `model`: scattered, 2 · 1/2 A.

CPU computes bfloat16 in float32, so the program asks for float32 there: all bytes twice. It adds
gradients up over one axis after the other, and scatters nothing: W + 2 A over `model`, 2 · 3/4 W
over `data`.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from collective_cases import analyze
from dump_files import TESTDATA, find_file, read_text

from hlotool.analysis.collectives.mesh import parse_mesh_axes
from hlotool.analysis.collectives.report import CollectiveOptions

MESH = CollectiveOptions(mesh=parse_mesh_axes("data=4,model=2"))
LAYERS, WIDTH, HIDDEN, BATCH, LENGTH = 12, 2048, 8192, 16, 1024
WEIGHTS = 4 * WIDTH * WIDTH + 2 * WIDTH * HIDDEN  # query, key, value, out; up and down
ACTIVATIONS = BATCH // 4 * LENGTH * WIDTH

# By folder: bytes of a number, and how large the batch is.
FOLDERS = {
    "packed/cpu/transformer_train": (4, 1),
    "dumps/gpu_h100/transformer_train": (2, 1),
    "packed/gpu_h100/transformer_train.batch2x": (2, 2),
    "packed/tpu_v5e/transformer_train": (2, 1),
}


def sum_loops(folder: Path) -> Counter[tuple[str, str]]:
    """Add up the bytes sent of one turn of the loops, by kind and axes."""
    text = find_file(folder, "after_optimizations.txt")
    assert text is not None
    found: Counter[tuple[str, str]] = Counter()
    for row in analyze(read_text(text), MESH).rows:
        if row.executions == LAYERS and row.sent_bytes is not None:
            found[row.kind, ",".join(row.axes or ())] += row.sent_bytes
    return found


@pytest.mark.parametrize("name", FOLDERS)
def test_what_a_layer_gathers(name: str) -> None:
    size, batches = FOLDERS[name]
    found = sum_loops(TESTDATA / name)
    gathered = sum(found[kind, axes] for kind, axes in found if kind == "all-gather")
    assert gathered == size * 2 * (WEIGHTS * 7 // 8 + ACTIVATIONS * batches)


@pytest.mark.parametrize("name", [name for name in FOLDERS if "cpu" not in name])
def test_what_a_layer_adds_up(name: str) -> None:
    size, batches = FOLDERS[name]
    found = sum_loops(TESTDATA / name)
    assert found["all-reduce", "data,model"] == size * 2 * WEIGHTS * 7 // 8
    assert found["reduce-scatter", "model"] == size * ACTIVATIONS * batches
    assert {kind for kind, _ in found} == {"all-gather", "all-reduce", "reduce-scatter"}


def test_what_a_layer_adds_up_on_cpu() -> None:
    found = sum_loops(TESTDATA / "packed/cpu/transformer_train")
    assert found["all-reduce", "model"] == 4 * (WEIGHTS + 2 * ACTIVATIONS)
    assert found["all-reduce", "data"] == 4 * 2 * WEIGHTS * 3 // 4
    assert {kind for kind, _ in found} == {"all-gather", "all-reduce"}
