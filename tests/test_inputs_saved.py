"""Saved documents: where each holds which figure, what is unknown, what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hlotool.compare.changes.figures import DIFFED
from hlotool.dump.saved import SavedDocument, SavedSummary, make_summary, read_saved
from hlotool.errors import InputError
from hlotool.program.metrics import BLOCKS
from hlotool.text import Source

ROOT = Path(__file__).parents[1]
ROW = {"module": "b", "path": "z", "temp_bytes": 3, "place": "new", "peak_bytes": None}


def read(document: object) -> SavedDocument:
    return read_saved(Source(json.dumps(document), "a.json"))


@pytest.mark.parametrize("block", BLOCKS)
def test_every_block_of_metrics_has_a_place(block: str) -> None:
    made = make_summary({f"{block}.a": 1, f"{block}.b": 2})
    assert made.record(block) == {"a": 1, "b": 2}
    assert SavedSummary().record(block) == {}


def test_a_summary_holds_what_diffs_compare() -> None:
    text = (ROOT / "testdata" / "diff" / "summary.json").read_text("utf-8")
    (module,) = read(json.loads(text)).modules
    assert module.name == "jit_train_step"
    known = [
        path.rpartition(".") for path in DIFFED if not path.startswith(("fusions.", "step_time."))
    ]  # the latter with --chip
    blocks = {block for block, _, _ in known} - {"buffers.estimated"}
    for block in blocks:
        names = {name for of, _, name in known if of == block}
        assert names <= set(module.figures.record(block))


def test_rows_of_a_directory_are_modules_in_the_order_of_their_paths() -> None:
    found = read({"schema": "hlotool/summary-directory/v1", "modules": [ROW, {"path": "y"}]})
    assert [one.name for one in found.modules] == ["", "b"]
    figures = found.modules[1].figures
    assert figures.record("buffers")["temp_bytes"] == 3
    assert figures.record("buffers")["peak_bytes"] is None
    assert figures.record("cost")["total_flops_per_step"] is None
    assert figures.record("fusions") == {}


def test_a_baseline_holds_modules_by_name() -> None:
    modules = {"f": {"cost": {"flops_per_step": 2}}, "g": {}, "h": {"memory": None, "more": 1}}
    found = read({"schema": "hlotool/baseline/v1", "modules": modules, "more": 1})
    assert [one.name for one in found.modules] == ["f", "g", "h"]
    assert found.modules[0].figures.record("cost") == {"flops_per_step": 2}
    assert found.modules[2].figures.record("buffers") == {}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "a None document cannot be compared"),
        ({"schema": ["x"]}, "a ['x'] document cannot be compared"),
        ({"schema": "hlotool/buffers/v1"}, "a hlotool/buffers/v1 document cannot be compared"),
        (
            {"schema": "hlotool/summary/v1", "memory": {"totals": 3}},
            "Expected `object | null`, got `int` - at `$.memory.totals`",
        ),
        (
            {"schema": "hlotool/summary-directory/v1", "modules": [{"temp_bytes": "3"}]},
            "Expected `int | null`, got `str` - at `$.modules[0].temp_bytes`",
        ),
        ({"schema": "hlotool/summary/v1", "\ud800": 1}, "surrogates not allowed"),
    ],
)
def test_refuses(document: object, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read(document)
    assert str(caught.value).startswith("a.json: ")
    assert message in str(caught.value)
