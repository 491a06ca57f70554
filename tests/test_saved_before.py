"""What hlotool wrote before its keys were named anew is read, with the verdicts it had then.

testdata/saved_before holds documents of every kind that is read again, budgets in old words, and
what came of them; the one table of old names (hlotool/data/renamed.toml) is what is tested.
"""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
from dump_files import ROOT, TESTDATA

from hlotool.analysis.cost.chips import find_chip
from hlotool.check.config import read_config
from hlotool.cli import run
from hlotool.dump.saved import read_saved, update_document
from hlotool.table.renamed import list_renamed, read_table, update_keys
from hlotool.text import Source

BEFORE = TESTDATA / "saved_before"
CACHE = "testdata/saved_before/rows.jsonl"


def read_row(line: str) -> Any:
    """Read floats to twelve digits: from Python 3.12 on `sum` rounds otherwise than before."""
    return json.loads(line, parse_float=lambda text: float(f"{float(text):.12g}"))


CASES = [read_row(line) for line in (BEFORE / "verdicts.jsonl").read_text("utf-8").splitlines()]


def in_words_of_today(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows with the keys of today; a metric's name is the value of `metric`."""
    updated: Any = update_keys(rows, "diff-why")
    for row in updated:
        if "metric" in row:
            (row["metric"],) = renamed({row["metric"]: 0})
    return list(updated)


def renamed(keys: dict[str, int]) -> list[str]:
    made = update_keys(keys, "diff-why")
    assert isinstance(made, dict)
    return list(made)


@pytest.mark.parametrize("case", CASES, ids=[str(number) for number in range(len(CASES))])
def test_verdicts_are_those_of_before(
    case: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(ROOT)
    args = shlex.split(case["command"])
    columns = args.index("--columns") + 1
    args[columns] = ",".join(renamed(dict.fromkeys(args[columns].split(","), 0)))
    if CACHE in args:  # rows may be added to it
        kept = shutil.copy(CACHE, tmp_path / "rows.jsonl")
        args[args.index(CACHE)] = str(kept)
    assert run([*args, "--format", "jsonl"]) == case["exit_code"]
    found = [read_row(line) for line in capsys.readouterr().out.splitlines()]
    assert found == in_words_of_today(case["rows"])
    if CACHE in case["command"]:
        assert Path(kept).read_text("utf-8").startswith((ROOT / CACHE).read_text("utf-8"))


def test_every_kind_of_document_is_there() -> None:
    schemas = set()
    for path in BEFORE.glob("*.json*"):
        first = path.read_text("utf-8")
        document = json.loads(first if path.suffix == ".json" else first.splitlines()[0])
        schemas.add(document.get("schema"))
    assert schemas == {
        "hlotool/summary/v1",
        "hlotool/summary-directory/v1",
        "hlotool/baseline/v1",
        "hlotool/check-history/v1",
        "hlotool/summary-cache/v1",
        None,  # the verdicts
    }


def test_budgets_in_old_words_are_said_to_be(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    config = BEFORE / "hlotool.toml"
    assert len(read_config(str(config)).budgets) > 30
    run(["check", "testdata/dumps/gpu_h100/mlp_train", "--config", str(config)])
    told = capsys.readouterr().err
    assert "metric: cost.custom_call_flops_per_run is called" in told
    for old in ("run_time.estimated_seconds", "asked_by", "occupied_bytes", "class", "network"):
        assert f": {old} is called " in told


def test_a_baseline_keeps_the_names_of_modules() -> None:
    figures = {"cost": {"flops_per_run": 3}}
    document = {"schema": "hlotool/baseline/v1", "modules": {"run_time": figures}}
    (module,) = read_saved(Source(json.dumps(document))).modules
    assert module.name == "run_time"
    assert module.figures.cost == {"flops_per_step": 3}


def test_what_is_new_stays() -> None:
    document = {"schema": "hlotool/summary/v2", "cost": {"flops_per_run": 3}}
    assert update_document(document) is document


@pytest.mark.parametrize(
    ("args", "hint"),
    [
        ("--where wire_bytes_per_run>1", "wire_bytes_per_run is called sent_bytes_per_step"),
        ("--sort -payload_bytes", "payload_bytes is called message_bytes since 1.0"),
        ("--columns kind,asked_by", "asked_by is called inserted_by since 1.0"),
        ("--by network", "network is called interconnect since 1.0"),
    ],
)
def test_an_old_name_is_read_and_told(
    args: str, hint: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    code = run(["collectives", "testdata/hlo/gpu_train_step.txt", *args.split()])
    assert code == 0
    assert f"hlotool: {hint}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new"), [("wire_bytes", "sent_bytes"), ("goes on", "continues"), ("born", "live_from")]
)
def test_an_old_name_is_explained(old: str, new: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", *old.split()]) == 0
    told = capsys.readouterr().out
    assert told.startswith(f"{old} is called {new} since 1.0.\n{new}: ")


def test_no_name_is_renamed_twice() -> None:
    table = read_table()
    assert not set(table.names) & set(table.names.values()) - {"new", "old"}
    assert len({(old, place) for old, _, place in list_renamed()}) == len(list(list_renamed()))


def test_a_chip_file_of_before_is_read(tmp_path: Path) -> None:
    path = tmp_path / "chips.toml"
    path.write_text('[h100]\nlink_network = "ici"\n', encoding="utf-8")
    assert find_chip("h100", str(path)).link_interconnect == "ici"
