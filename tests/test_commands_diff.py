"""`hlotool diff` as it is typed: sides, labels, saved documents, exit codes, sums."""

from __future__ import annotations

import contextlib
import io
import json
import shlex
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from hlotool.cli import run
from hlotool.compare.answer import DIFF

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
IDS = [f"{old.parent.name}.{old.name}-{new.name}" for old, new in PAIRS]


def diff(capsys: pytest.CaptureFixture[str], *arguments: object) -> Any:
    code = run(["diff", *map(str, arguments), "--json"])
    made = json.loads(capsys.readouterr().out)
    made["id"] = code
    return made


@cache
def compare(old: Path, new: Path, *options: str) -> Any:
    """Compare two dumps once for all the laws that must hold of the answer."""
    answer = io.StringIO()
    with contextlib.redirect_stdout(answer):
        assert run(["diff", str(old), str(new), "--json", *options]) == 0
    return json.loads(answer.getvalue())


@pytest.mark.parametrize(("old", "new"), PAIRS, ids=IDS)
def test_memory_rows_add_up_to_the_difference_of_the_peaks(old: Path, new: Path) -> None:
    made = compare(old, new)
    peak = next(row for row in made["metrics"] if row["metric"] == "buffers.peak_bytes")
    assert sum(row["delta_bytes"] for row in made["memory"]) == peak["delta"]


@pytest.mark.parametrize(("old", "new"), PAIRS, ids=IDS)
def test_collective_rows_add_up_to_the_difference_of_sent_bytes(old: Path, new: Path) -> None:
    made = compare(old, new)
    wire = next(r for r in made["metrics"] if r["metric"] == "collectives.sent_bytes_per_step")
    assert sum(row["delta_bytes"] for row in made["collectives"]) == wire["delta"]


@pytest.mark.parametrize(("old", "new"), PAIRS, ids=IDS)
def test_every_instruction_is_counted_once(old: Path, new: Path) -> None:
    made = compare(old, new)
    for side in ("old", "new"):
        count = made["matched_count"] + made[f"{side}_only_count"]
        assert count == made[side]["module"]["instruction_count"]
    assert made["changed_count"] <= made["matched_count"]


@pytest.mark.parametrize(("old", "new"), PAIRS, ids=IDS)
def test_unfolded_rows_are_the_folded_ones_apart(old: Path, new: Path) -> None:
    folded, unfolded = compare(old, new), compare(old, new, "--unfold")
    assert all(row["count"] == 1 for row in unfolded["instructions"])
    assert sum(row["count"] for row in folded["instructions"]) == len(unfolded["instructions"])


def test_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert diff(capsys, STEP, STEP)["id"] == 0
    assert diff(capsys, STEP, STEP, "--exit-code")["id"] == 0
    assert diff(capsys, STEP, GPU / "mlp_train.remat")["id"] == 0
    assert diff(capsys, STEP, GPU / "mlp_train.remat", "--exit-code")["id"] == 1
    assert run(["diff", str(STEP)]) == 2
    assert run(["diff", str(STEP), "nothing"]) == 3
    assert run(["diff", str(STEP), str(STEP), "--module", "eval"]) == 4


def test_labels(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    made = diff(capsys, f"jax 0.9={STEP}", STEP)
    assert (made["old"]["label"], made["new"]["label"]) == ("jax 0.9", "new")
    odd = tmp_path / "a=b.txt"
    odd.write_text((ROOT / "testdata" / "diff" / "base.txt").read_text("utf-8"), "utf-8")
    made = diff(capsys, odd, odd)
    assert (made["old"]["label"], made["identical"]) == ("old", True)


def test_a_saved_summary_on_either_side(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = next(STEP.glob("*_gpu_after_optimizations.txt"))
    saved = tmp_path / "base.json"
    assert run(["summary", str(text), "--json", "--output", str(saved)]) == 0
    for sides in ((saved, STEP), (STEP, saved), (saved, saved)):
        made = diff(capsys, *sides, "--exit-code")
        assert made["id"] == 0
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
    assert made["old"]["saved_schema"] == "hlotool/summary-directory/v2"
    assert run(["diff", str(saved), str(DUMPS / "cpu"), "--module", "nothing"]) == 4
    assert run(["buffers", str(STEP), "--json", "--output", str(saved)]) == 0
    assert run(["diff", str(saved), str(STEP)]) == 3
    assert "document cannot be compared" in capsys.readouterr().err


@pytest.mark.parametrize(
    "name", ["jit_train_step.debug_options", "jit_train_step.tpu_comp_env.txt"]
)
@pytest.mark.parametrize("data", [b"\xff\xfe\x00garbage", b"HloModule m\n", b""])
def test_a_damaged_file_of_flags_tells_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, data: bytes
) -> None:
    """No figure depends on flags: such a pair is compared as if the file were not there."""
    old = tmp_path / "old"
    shutil.copytree(STEP, old, ignore=shutil.ignore_patterns("*.debug_options"))
    expected = diff(capsys, old, GPU / "mlp_train.remat")
    (old / f"module_0001.{name}").write_bytes(data)
    assert diff(capsys, old, GPU / "mlp_train.remat") == expected
    assert expected["triage"]["flag_count"] is None


def test_one_assignment_alone_means_estimates(capsys: pytest.CaptureFixture[str]) -> None:
    text = ROOT / "testdata" / "hlo" / "cpu_train_step.txt"
    made = diff(capsys, text, DUMPS / "cpu" / "scan_train")
    names = {row["metric"] for row in made["metrics"]}
    assert "buffers.estimated.peak_bytes" in names
    assert "buffers.peak_bytes" not in names
    assert any("buffer assignment" in part for part in made["not_compared"])


def test_only_some_blocks(capsys: pytest.CaptureFixture[str]) -> None:
    made = diff(capsys, STEP, GPU / "mlp_train.remat", "--blocks", "memory")
    assert made["memory"]
    assert [made[name] for name in ("fusions", "instructions", "collectives")] == [[], [], []]
    assert all(row["metric"].startswith("buffers.") for row in made["metrics"])


def test_directories_pair_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    made = diff(capsys, DUMPS / "cpu_jax_0.4.30", DUMPS / "cpu", "--exit-code")
    assert made["id"] == 1
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


def test_the_verdict_tells_what_is_exposed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Without its copy, all of the 235,000,000 B of `moved` are exposed: 2,233,980 B more.

    The copy takes 5.0119 of the 527.22 us of the transfer, at the ratios of an H100.
    That is 5.0 us more of 4.23 s, at 1 GB/s beside an H100.
    """
    old = ROOT / "testdata" / "collectives" / "overlap_share.txt"
    text = old.read_text(encoding="utf-8").replace("  copy.1 = f32[2100000] copy(x)\n", "")
    new = tmp_path / "new.txt"
    new.write_text(text, encoding="utf-8")
    made = diff(capsys, old, new)
    rows = {row["metric"]: row for row in made["metrics"]}
    exposed = rows["collectives.exposed_bytes_per_step"]
    assert (exposed["delta"], exposed["is_lower_bound"]) == (2_233_980, True)
    assert "collectives.exposed_seconds" not in rows
    (change,) = made["collectives"]
    assert change["new_exposed_bytes"] - change["old_exposed_bytes"] == 2_233_980
    # The verdict's row has room for what differs most; what is exposed stands among the figures.
    assert run(["diff", str(old), str(new), "--rows", "metrics", "-n", "0"]) == 0
    out = capsys.readouterr().out
    assert "memory traffic/step about −0.2 %" in out
    shown = next(row for row in out.splitlines() if row.startswith("collectives.exposed_bytes"))
    assert shown.rstrip().endswith("+0.1 %")
    machine = ("--chip", "h100", "--bandwidth", "1GB/s")
    seconds = {row["metric"]: row for row in diff(capsys, old, new, *machine)["metrics"]}
    found = seconds["collectives.exposed_seconds"]["delta"]
    assert found == pytest.approx(16.8e6 / 3352e9, rel=1e-6)
    assert run(["diff", str(old), str(new), *machine]) == 0
    assert "≥ 4.23 s  " in capsys.readouterr().out


def test_saved_seconds_count_for_the_same_machine_alone(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    dump = ROOT / "testdata" / "collectives" / "overlap_share.txt"
    saved = tmp_path / "saved.json"
    assert run(["summary", str(dump), "--chip", "h100", "--json", "--output", str(saved)]) == 0
    for chip, is_known in (("h100", True), ("b200", False)):
        made = diff(capsys, saved, dump, "--chip", chip)
        (row,) = (one for one in made["metrics"] if one["metric"] == "collectives.transfer_seconds")
        assert (row["old"] is not None) == is_known


def test_saved_exposure_counts_for_the_same_machine_alone(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """With a chip it goes by time, without by bytes; the two are never compared."""
    dump = ROOT / "testdata" / "collectives" / "overlap_share.txt"
    saved = tmp_path / "saved.json"
    chip = ("--chip", "h100")
    for made_with, asked, is_known in (((), (), True), (chip, chip, True), (chip, (), False)):
        command = ["summary", str(dump), *made_with, "--json", "--output", str(saved)]
        assert run(command) == 0
        made = diff(capsys, saved, dump, *asked)
        name = "collectives.exposed_bytes_per_step"
        (row,) = (one for one in made["metrics"] if one["metric"] == name)
        assert (row["old"] is not None) == is_known
        assert row["new"] is not None
        assert not made["collectives"]


@pytest.mark.parametrize(
    "option", [("--chip", "h100"), ("--bandwidth", "1GB/s"), ("--chip-file", "chips.toml")]
)
def test_what_estimates_no_times_refuses_a_machine(
    option: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    for command, name in (
        (["--passes", "nowhere"], "--passes"),
        (["old.txt", "new.txt", "--text"], "--text"),
    ):
        assert run(["diff", *command, *option]) == 2
        assert f"{name} estimates no times: omit --chip" in capsys.readouterr().err


SHELLS = [one for one in ("sh", "bash", "zsh", "fish") if shutil.which(one)]


@cache
def list_typed() -> tuple[str, ...]:
    """Return the commands that a diff of directories prints, of a side whose label needs quotes."""
    sides = str(DUMPS / "cpu_jax_0.4.30"), f"it's $new={DUMPS / 'cpu'}"
    answer = io.StringIO()
    with contextlib.redirect_stdout(answer):
        assert run(["diff", *sides]) == 0
    told = answer.getvalue().partition("\nothers:\n")[2].splitlines()
    typed = [line.partition(": hlotool ")[2] for line in told]
    return tuple(f"hlotool {line}" for line in typed if line)


@pytest.mark.parametrize("shell", SHELLS)
def test_shells_take_what_is_printed_to_type(shell: str) -> None:
    typed = list_typed()
    assert any("it's $new=" in one for line in typed for one in shlex.split(line))
    for line in typed:
        words = shlex.split(line)
        command = line.replace("hlotool", "printf '%s\\n'", 1)
        made = subprocess.run([shell, "-c", command], capture_output=True, text=True, check=True)
        assert made.stdout.splitlines() == words[1:]


@pytest.mark.parametrize(("old", "new"), PAIRS[:3], ids=IDS[:3])
def test_a_number_of_rows_chooses_no_lists(
    old: Path, new: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    titles = {rows.title for rows in DIFF.row_lists}
    shown = []
    for options in ((), ("-n", "1"), ("-n", "100")):
        assert run(["diff", str(old), str(new), *options]) == 0
        shown.append([line for line in capsys.readouterr().out.splitlines() if line in titles])
    assert shown[0] == shown[1] == shown[2] != []
