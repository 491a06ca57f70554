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
    assert run(["fields", "check", step, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["metrics"] == told[1]
    assert run(["fields", "check", step]) == 0
    told_text = " ".join(capsys.readouterr().out.split())
    assert "buffers.temp_bytes [bytes] allocations of temporary values: 4.0 MiB" in told_text


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
[[budget]]
name = "d"
module = "*/jit_train_step (inputs 16×*)"
metric = "buffers.temp_bytes"
max = "1GiB"
""",
        encoding="utf-8",
    )
    assert run(["check", "c01", "--json"]) == 4
    rules = json.loads(capsys.readouterr().out)["rules"]
    about = {(row["name"], (row["module"] or "").split("/")[0]) for row in rules}
    assert about == {("a", "language"), ("b", "vision"), ("c", ""), ("d", "language")}
    assert [row["module"] for row in rules if row["name"] == "d"] == [
        "language/jit_train_step (inputs 16×32)"
    ]
    (idle,) = [row["reason"] for row in rules if row["name"] == "c"]
    assert idle.startswith("no module lies in 'none'; ")
    assert "language/jit_train_step (inputs 16×32)" in idle


@pytest.mark.usefixtures("project")
def test_a_budget_of_some_takes_the_place_of_that_of_all(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Limit by limit: what a special budget does not limit, the general one does."""
    Path("hlotool.toml").write_text(
        """
baseline = "c01"
[[budget]]
name = "all"
metric = "buffers.peak_bytes"
max = "1MiB"
max_increase = "0%"
[[budget]]
name = "all"
severity = "warning"
metric = "buffers.peak_bytes"
max = "1MiB"
[[budget]]
name = "large"
module = "language/*"
metric = "buffers.peak_bytes"
max = "1GiB"
[[budget]]
name = "free"
place = "tabular"
metric = "buffers.peak_bytes"
max = "1GiB"
max_increase_abs = "1GiB"
""",
        encoding="utf-8",
    )
    assert run(["check", "c09", "--json"]) == 1
    rules = json.loads(capsys.readouterr().out)["rules"]

    def tell(name: str) -> set[tuple[str, str, str]]:
        return {
            (row["module"].split("/")[0], row["status"], row["expression"].partition("bytes ")[2])
            for row in rules
            if row["name"] == name
        }

    both = "<= 1MiB and buffers.peak_bytes <= baseline + 0%"
    assert tell("large") == {("language", "pass", "<= 1GiB")}
    assert tell("all") == {
        ("language", "fail", "<= baseline + 0%"),
        ("language", "pass", "<= baseline + 0%"),
        ("vision", "fail", both),
    }
    assert {folder for folder, *_ in tell("all (2)")} == {"language", "vision", "tabular"}
    assert {(folder, status) for folder, status, _ in tell("free")} == {("tabular", "pass")}


@pytest.mark.usefixtures("project")
def test_programs_of_one_key_are_told_with_what_to_add(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Two of equal arguments and another content each; another content a run, too."""
    for at, commits in enumerate((("c01", "c02"), ("c03", "c04")), 1):
        for number, commit in enumerate(commits):
            for file in (Path(commit) / "tabular").iterdir():
                rest = file.name.partition(".")[2]
                Path(f"r{at}").mkdir(exist_ok=True)
                shutil.copy(file, f"r{at}/module_000{number}.{rest}")
        assert run(["check", f"r{at}", "--history", "h", "--commit", f"r{at}"]) == 4
        said = capsys.readouterr().err
        assert "these differ only in content. Dump each into its own folder" in said
    assert run(["check", "--trend", "--history", "h", "--json"]) == 0
    captured = capsys.readouterr()
    assert "these differ only in content. Dump each into its own folder" in captured.err
    rows = json.loads(captured.out)["programs"]
    assert [row["status"] for row in rows] == ["ambiguous"] * 4
    assert len({row["module"] for row in rows}) == 4


@pytest.mark.usefixtures("project")
def test_lines_of_before_go_on_with_those_of_today(capsys: pytest.CaptureFixture[str]) -> None:
    """A line without a key tells a name, and a place where several have it."""
    key = ("name", "folder", "arguments", "fingerprint")
    assert run(["check", "c01/tabular", "--history", "h", "--commit", "old"]) == 4
    line = json.loads(Path("h").read_text("utf-8"))
    older = {name: value for name, value in line.items() if name not in key}
    Path("h").write_text(json.dumps(older) + "\n", encoding="utf-8")
    assert run(["check", "c02/tabular", "--history", "h", "--commit", "new"]) == 4
    capsys.readouterr()
    assert run(["check", "--trend", "--history", "h", "--rows", "programs", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["programs"]
    assert (row["module"], row["status"]) == ("jit_train_step", "there")
