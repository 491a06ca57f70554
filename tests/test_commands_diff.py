"""`hlotool diff` as it is typed: sides, labels, saved documents, exit codes, sums."""

from __future__ import annotations

import contextlib
import io
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from hlotool.cli import run

ROOT = Path(__file__).parents[1]
DUMPS = ROOT / "testdata" / "dumps"
PACKED = ROOT / "testdata" / "packed"
GPU = DUMPS / "gpu_h100"
STEP = GPU / "mlp_train"
PAIRS = [
    (STEP, GPU / "mlp_train.batch2x"),
    (STEP, GPU / "mlp_train.bf16"),
    (GPU / "mlp_train.remat", STEP),
    (DUMPS / "cpu" / "mlp_train", STEP),
    (DUMPS / "cpu" / "scan_train", DUMPS / "tpu_v5e" / "scan_train"),
    (DUMPS / "cpu_jax_0.7.2" / "mlp_train", DUMPS / "cpu" / "mlp_train"),
    (DUMPS / "tpu_v5e" / "pipeline", GPU / "pipeline"),
    (GPU / "transformer_train", PACKED / "gpu_h100" / "transformer_train.batch2x"),
]
IDS = [f"{left.parent.name}.{left.name}-{right.name}" for left, right in PAIRS]


def diff(capsys: pytest.CaptureFixture[str], *arguments: object) -> Any:
    code = run(["diff", *map(str, arguments), "--json"])
    made = json.loads(capsys.readouterr().out)
    made["code"] = code
    return made


@cache
def compare(left: Path, right: Path, *options: str) -> Any:
    """Compare two dumps once for all the laws that must hold of the answer."""
    answer = io.StringIO()
    with contextlib.redirect_stdout(answer):
        assert run(["diff", str(left), str(right), "--json", *options]) == 0
    return json.loads(answer.getvalue())


@pytest.mark.parametrize(("left", "right"), PAIRS, ids=IDS)
def test_memory_rows_add_up_to_the_difference_of_the_peaks(left: Path, right: Path) -> None:
    made = compare(left, right)
    peak = next(row for row in made["metrics"] if row["metric"] == "buffers.peak_bytes")
    assert sum(row["delta_bytes"] for row in made["memory"]) == peak["delta"]


@pytest.mark.parametrize(("left", "right"), PAIRS, ids=IDS)
def test_collective_rows_add_up_to_the_difference_of_wire_bytes(left: Path, right: Path) -> None:
    made = compare(left, right)
    wire = next(r for r in made["metrics"] if r["metric"] == "collectives.wire_bytes_per_run")
    assert sum(row["delta_bytes"] for row in made["collectives"]) == wire["delta"]


@pytest.mark.parametrize(("left", "right"), PAIRS, ids=IDS)
def test_every_instruction_is_counted_once(left: Path, right: Path) -> None:
    made = compare(left, right)
    for side in ("left", "right"):
        count = made["matched_count"] + made[f"{side}_only_count"]
        assert count == made[side]["module"]["instruction_count"]
    assert made["changed_count"] <= made["matched_count"]


@pytest.mark.parametrize(("left", "right"), PAIRS, ids=IDS)
def test_unfolded_rows_are_the_folded_ones_apart(left: Path, right: Path) -> None:
    folded, unfolded = compare(left, right), compare(left, right, "--unfold")
    assert all(row["count"] == 1 for row in unfolded["instructions"])
    assert sum(row["count"] for row in folded["instructions"]) == len(unfolded["instructions"])


def test_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert diff(capsys, STEP, STEP)["code"] == 0
    assert diff(capsys, STEP, STEP, "--exit-code")["code"] == 0
    assert diff(capsys, STEP, GPU / "mlp_train.remat")["code"] == 0
    assert diff(capsys, STEP, GPU / "mlp_train.remat", "--exit-code")["code"] == 1
    assert run(["diff", str(STEP)]) == 2
    assert run(["diff", str(STEP), "nothing"]) == 3
    assert run(["diff", str(STEP), str(STEP), "--module", "eval"]) == 4


def test_labels(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    made = diff(capsys, f"jax 0.9={STEP}", STEP)
    assert (made["left"]["label"], made["right"]["label"]) == ("jax 0.9", "new")
    odd = tmp_path / "a=b.txt"
    odd.write_text((ROOT / "testdata" / "diff" / "base.txt").read_text("utf-8"), "utf-8")
    made = diff(capsys, odd, odd)
    assert (made["left"]["label"], made["identical"]) == ("old", True)


def test_a_saved_summary_on_either_side(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = next(STEP.glob("*_gpu_after_optimizations.txt"))
    saved = tmp_path / "base.json"
    assert run(["summary", str(text), "--json", "--output", str(saved)]) == 0
    for sides in ((saved, STEP), (STEP, saved), (saved, saved)):
        made = diff(capsys, *sides, "--exit-code")
        assert made["code"] == 0
        assert made["identical"] is None
        assert "structure" in made["not_compared"]
    made = diff(capsys, saved, GPU / "mlp_train.batch2x")
    peak = next(row for row in made["metrics"] if row["metric"] == "buffers.peak_bytes")
    assert peak["delta"] < 0


def test_the_summary_of_a_directory_and_other_documents(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    saved = tmp_path / "all.json"
    assert run(["summary", str(DUMPS / "cpu"), "--json", "--output", str(saved)]) == 0
    made = diff(capsys, saved, DUMPS / "cpu")
    assert {row["status"] for row in made["modules"]} == {"identical"}
    made = diff(capsys, saved, DUMPS / "cpu", "--module", "search")
    assert made["left"]["saved_schema"] == "hlotool/summary-directory/v1"
    assert run(["diff", str(saved), str(DUMPS / "cpu"), "--module", "nothing"]) == 4
    assert run(["buffers", str(STEP), "--json", "--output", str(saved)]) == 0
    assert run(["diff", str(saved), str(STEP)]) == 3
    assert "document cannot be compared" in capsys.readouterr().err


def test_one_assignment_alone_means_estimates(capsys: pytest.CaptureFixture[str]) -> None:
    text = ROOT / "testdata" / "hlo" / "cpu_train_step.txt"
    made = diff(capsys, text, DUMPS / "cpu" / "scan_train")
    names = {row["metric"] for row in made["metrics"]}
    assert "buffers.estimated.peak_bytes" in names
    assert "buffers.peak_bytes" not in names
    assert any("buffer assignment" in part for part in made["not_compared"])


def test_only_some_blocks(capsys: pytest.CaptureFixture[str]) -> None:
    made = diff(capsys, STEP, GPU / "mlp_train.remat", "--only", "memory")
    assert made["memory"]
    assert [made[name] for name in ("fusions", "instructions", "collectives")] == [[], [], []]
    assert all(row["metric"].startswith("buffers.") for row in made["metrics"])


def test_directories_pair_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    made = diff(capsys, DUMPS / "cpu_jax_0.4.30", DUMPS / "cpu", "--exit-code")
    assert made["code"] == 1
    status = {row["status"] for row in made["modules"]}
    assert status == {"changed", "added"}
    renamed = diff(
        capsys, DUMPS / "cpu_jax_0.7.2", DUMPS / "cpu", "--map", "jit_train_step=jit_stage"
    )
    assert [row["module"] for row in renamed["modules"] if row["status"] == "changed"] == [
        "jit_stage"
    ]


def test_output_goes_to_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    target = tmp_path / "diff.patch"
    assert (
        run(["diff", str(STEP), str(GPU / "mlp_train.bf16"), "--text", "--output", str(target)])
        == 0
    )
    assert capsys.readouterr().out == ""
    assert target.read_text("utf-8").startswith("--- old ")
