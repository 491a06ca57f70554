"""Five models of one name at twelve commits: what is kept of each, and what is found.

`testdata/check/commits.tar.xz` is made by `make.commits`, which says what changed when.
"""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path

import pytest
from dump_files import ROOT

from hlotool.cli import run

COMMITS = [f"c{number:02}" for number in range(1, 13)]
GROWN = "language/jit_train_step (inputs 4×128)"
OTHER_BATCH = "vision/jit_train_step (inputs 64×784)"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    with tarfile.open(ROOT / "testdata" / "check" / "commits.tar.xz") as packed:
        packed.extractall(tmp_path, filter="data")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("project")
def test_each_model_keeps_its_line_and_the_regression_is_found(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Every commit changes the content of all, and from c07 on every number of a module."""
    assert run(["check", "c01", "--init"]) == 0
    assert run(["check", "c01"]) == 0
    codes = [run(["check", one, "--history", "h", "--commit", one]) for one in COMMITS]
    assert codes == [0] * 4 + [1] * 8
    lines = [json.loads(line) for line in Path("h").read_text("utf-8").splitlines()]
    prints = {line["fingerprint"] for line in lines}
    assert len(prints) == len(lines) == 5 * len(codes)
    capsys.readouterr()
    assert run(["check", "--trend", "--history", "h", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["module_count"] == 5
    assert {row["status"] for row in made["programs"]} == {"there"}
    changed = {row["module"]: row["arguments"] for row in made["programs"] if row["arguments"]}
    assert list(changed) == [OTHER_BATCH]
    assert "inputs f32[32,784] → inputs f32[64,784]" in changed[OTHER_BATCH]
    peaks = {row["module"]: row for row in made["trends"] if row["metric"] == "buffers.peak_bytes"}
    assert {len(row["values"]) for row in peaks.values()} == {12}
    assert peaks[GROWN]["since_commit"] == "c09"
    assert peaks[GROWN]["last_change"] > 8_000_000
    exceeded = {(row["module"], row["since_commit"]) for row in made["exceeded"]}
    assert exceeded == {(GROWN, "c09"), (OTHER_BATCH, "c05")}


@pytest.mark.usefixtures("project")
def test_all_pair_where_folders_and_numbers_are_others(capsys: pytest.CaptureFixture[str]) -> None:
    """Content finds what was moved, and each program is of one pair."""
    Path("new").mkdir()
    for old, new in (("vision", "tabular"), ("language", "vision"), ("tabular", "language")):
        shutil.copytree(Path("c01") / old, Path("new") / new)
    assert run(["diff", "c01", "new", "--stat", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["modules"]
    assert [(row["status"], row["matched_by"]) for row in rows] == [
        ("identical", "equal content")
    ] * 5
    assert len({row["program"] for row in rows}) == 5


@pytest.mark.usefixtures("project")
def test_a_start_overwrites_nothing_and_every_form_is_written(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("hlotool-baseline.json").write_text("mine", encoding="utf-8")
    assert run(["check", "c01", "--init"]) == 0
    assert Path("hlotool-baseline.json").read_text("utf-8") == "mine"
    assert "path: c01\n" in Path(".github/workflows/hlo.yml").read_text("utf-8")
    Path("hlotool-baseline.json").unlink()
    assert run(["check", "c01", "--update-baseline"]) == 0
    capsys.readouterr()
    forms = [f"--also={form}=out.{form}" for form in ("junit", "markdown", "comment", "sarif")]
    assert run(["check", "c09", "--format", "github", *forms]) == 1
    assert capsys.readouterr().out.count("::error") == 3
    assert all(Path(f"out.{one.split('=')[1]}").stat().st_size for one in forms)
    assert run(["check", "c09", "--also", "junit"]) == 2


def test_every_metric_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    step = str(ROOT / "testdata/dumps/gpu_h100/mlp_train")
    told = []
    for path in ((), (step,)):
        assert run(["check", *path, "--list-metrics", "--json"]) == 0
        told.append(json.loads(capsys.readouterr().out)["metrics"])
    assert [row["metric"] for row in told[0]] == [row["metric"] for row in told[1]]
    assert {row["figure"] for row in told[0]} == {None}
    found = {row["metric"]: row["figure"] for row in told[1]}
    assert found["buffers.temp_bytes"] == 4145152
    assert all(row["meaning"] and row["kind"] for row in told[1])


@pytest.mark.usefixtures("project")
def test_budgets_of_folders_and_patterns(capsys: pytest.CaptureFixture[str]) -> None:
    Path("hlotool.toml").write_text(
        """
[[budget]]
name = "a"
place = "lang*"
metric = "buffers.temp_bytes"
max = "1GiB"
[[budget]]
name = "b"
module = "vision/*"
metric = "buffers.temp_bytes"
max = "1GiB"
[[budget]]
name = "c"
place = "none"
metric = "buffers.temp_bytes"
max = "1GiB"
""",
        encoding="utf-8",
    )
    assert run(["check", "c01", "--json"]) == 4
    rules = json.loads(capsys.readouterr().out)["rules"]
    about = {(row["name"], (row["module"] or "").split("/")[0]) for row in rules}
    assert about == {("a", "language"), ("b", "vision"), ("c", "")}
    (idle,) = [row["reason"] for row in rules if row["name"] == "c"]
    assert idle.startswith("no module lies in 'none'; ")
    assert "language/jit_train_step (inputs 16×32)" in idle
