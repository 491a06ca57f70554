"""What a saved document tells of collectives; what it does not tell is unknown, not 0."""

from __future__ import annotations

from pathlib import Path

import pytest
from dump_files import TESTDATA

from hlotool.cli import run
from hlotool.compare.changes.collectives import compare_kinds
from hlotool.compare.inputs import SavedFigures
from hlotool.dump.saved import SavedSummary

KIND = {
    "kind": "all-reduce",
    "count": 2,
    "hlo_op_count": 2,
    "executions": 24,
    "message_bytes_per_step": 4096,
    "sent_bytes_per_step": 6144,
    "is_lower_bound": True,
    "is_upper_bound": False,
}


def saved(*kinds: object) -> SavedFigures:
    return SavedFigures("x", SavedSummary(collectives={"by_kind": list(kinds)}))


def test_kinds_are_read_and_compared() -> None:
    (kind,) = kinds = saved(KIND).kinds() or ()
    assert (kind.count, kind.sent_bytes_per_step, kind.is_lower_bound) == (2, 6144, True)
    assert compare_kinds(kinds, kinds) == ()
    (change,) = compare_kinds((), kinds)
    assert (change.change, change.old_bytes, change.delta_bytes) == ("added", 0, 6144)
    assert (change.old_exposed_bytes, change.new_exposed_bytes) == (None, None)
    assert change.is_lower_bound


@pytest.mark.parametrize(
    "wrong",
    [
        {**KIND, "sent_bytes_per_step": None},
        {**KIND, "executions": "24"},
        {**KIND, "count": True},
        {key: value for key, value in KIND.items() if key != "message_bytes_per_step"},
        None,
    ],
    ids=["null", "text", "flag", "missing", "no-row"],
)
def test_a_missing_figure_makes_collectives_unknown(wrong: object) -> None:
    assert saved(KIND, wrong).kinds() is None
    assert SavedFigures("x", SavedSummary()).kinds() is None


def test_times_of_a_saved_document_are_in_the_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved_path, dumps = str(tmp_path / "b.json"), TESTDATA / "dumps" / "gpu_h100"
    old, new = (str(dumps / name) for name in ("mlp_train", "mlp_train.bf16"))
    assert run(["summary", old, "--chip", "h100", "--json", "-o", saved_path]) == 0
    lines = {}
    for chip in ("h100", "a100"):
        assert run(["diff", saved_path, new, "--chip", chip]) == 0
        lines[chip] = capsys.readouterr().out.splitlines()[1]
    assert lines["h100"].startswith("time (estimate): ")
    assert lines["a100"].startswith("work: ")
