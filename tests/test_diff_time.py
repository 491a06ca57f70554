"""The estimated time of one step, wherever figures of programs stand side by side."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from hlotool.analysis.outline.clock import Duration, StepTime
from hlotool.analysis.summary.report import describe_step_time
from hlotool.cli import run

GPU = Path(__file__).parents[1] / "testdata" / "dumps" / "gpu_h100"
CPU = GPU.parent / "cpu"
STEP, NARROW = GPU / "mlp_train", GPU / "mlp_train.bf16"
TIME = "step_time.estimated_seconds"


def ask(capsys: pytest.CaptureFixture[str], command: str, *arguments: object) -> Any:
    assert run([command, *map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_several_sides_have_the_difference_of_pairs(capsys: pytest.CaptureFixture[str]) -> None:
    pair = ask(capsys, "diff", STEP, NARROW)["time"]
    sides = (f"a={STEP}", f"b={NARROW}", f"c={STEP}")
    made = ask(capsys, "diff", *sides)
    rows = [row for row in made["figures"] if row["metric"] == TIME]
    assert [row["figure"] for row in rows] == [None, None, None]
    assert [row["relative_delta"] for row in rows] == [0, pair["relative_delta"], 0]
    assert run(["diff", *sides]) == 0
    told = capsys.readouterr().out
    assert f"{TIME} is rough: all steps at the ratios of the reference chip" in told
    made = ask(capsys, "diff", *sides, "--chip", "h100")
    pair = ask(capsys, "diff", STEP, NARROW, "--chip", "h100")["time"]
    rows = [row for row in made["figures"] if row["metric"] == TIME]
    times = pair["old_seconds"], pair["new_seconds"]
    assert [row["figure"] for row in rows] == [*times, times[0]]


def test_a_side_without_an_estimate_has_none(capsys: pytest.CaptureFixture[str]) -> None:
    made = ask(capsys, "diff", f"a={CPU / 'mlp_train'}", f"b={STEP}", f"c={NARROW}")
    assert not [row for row in made["figures"] if row["metric"] == TIME]


def test_two_chips_have_no_time_in_common(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for path in (GPU / "mlp_train.remat").iterdir():
        shutil.copy(path, tmp_path / path.name.replace("sm_9.0a", "sm_8.0"))
    made = ask(capsys, "diff", STEP, tmp_path)
    assert made["time"] is None
    assert {row["figure"] for row in made["account"]} == {"memory", "flops", "traffic"}
    assert made["not_compared"] == ["time, as the sides are for h100 and a100"]


def test_rows_of_directories_have_the_difference_of_pairs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    sides = {
        "old": {"step": STEP, "scan": GPU.parent / "tpu_v5e" / "scan_train"},
        "new": {"step": NARROW, "scan": CPU / "scan_train"},
    }
    for side, folders in sides.items():
        for name, folder in folders.items():
            shutil.copytree(folder, tmp_path / side / name)
    pair = ask(capsys, "diff", STEP, NARROW, "--chip", "h100")["time"]
    found = ask(capsys, "diff", tmp_path / "old", tmp_path / "new")["modules"]
    rows = {Path(row["old_path"]).parent.name: row for row in found}
    assert rows["step"]["time_change"] == pytest.approx(pair["relative_delta"])
    assert rows["step"]["old_estimated_seconds"] is None
    assert rows["scan"]["time_change"] is None  # one side is for CPU
    found = ask(capsys, "diff", tmp_path / "old", tmp_path / "new", "--chip", "h100")["modules"]
    rows = {Path(row["old_path"]).parent.name: row for row in found}
    assert rows["step"]["old_estimated_seconds"] == pair["old_seconds"]
    assert rows["step"]["new_estimated_seconds"] == pair["new_seconds"]
    assert run(["diff", str(tmp_path / "old"), str(tmp_path / "new"), "--stat"]) == 0
    assert "Δ time" in capsys.readouterr().out


def test_a_summary_says_first_what_most_of_a_run_is(capsys: pytest.CaptureFixture[str]) -> None:
    """Its work is compute-bound, which most of a step is not."""
    scan = GPU.parent / "tpu_v5e" / "scan_train"
    made = ask(capsys, "summary", scan, "--chip", "v5e")
    assert made["roofline"]["bound"] == "compute"
    found = made["step_time"]
    assert found["largest_part"] == "exposed"
    assert found["largest_share"] == found["exposed_seconds"] / found["estimated_seconds"] > 0.5
    assert run(["summary", str(scan), "--chip", "v5e"]) == 0
    told = capsys.readouterr().out
    line = "v5e: 6.70 ms per step (estimate), 60.4 % of it exposed transfers\n"
    peaks = "arithmetic 1.83 ms, all traffic 927 μs; compute-bound"
    assert f"{line}at its peaks: {peaks}\n" in told


@pytest.mark.parametrize(
    ("duration", "part", "share"),
    [
        (Duration(compute=2.0, memory=1.0, exposed=1.0), "compute", 0.5),
        (Duration(compute=1.0, memory=3.0), "memory", 0.75),
        (Duration(compute=1.0, memory=3.0, is_known=False), None, None),
        (Duration(), None, None),
    ],
)
def test_what_is_not_known_could_be_the_largest_part(
    duration: Duration, part: str | None, share: float | None
) -> None:
    found = describe_step_time(StepTime("h100", is_timed=True, duration=duration), "")
    assert found is not None
    assert (found.largest_part, found.largest_share) == (part, share)


def test_budgets_and_saved_documents_have_the_figure(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    made = ask(capsys, "summary", STEP, "--chip", "h100")["step_time"]
    saved = tmp_path / "summary.json"
    assert run(["summary", str(STEP), "--chip", "h100", "--json", "-o", str(saved)]) == 0
    for chip, known in {"h100": made["estimated_seconds"], "a100": None}.items():
        rows = ask(capsys, "diff", saved, NARROW, "--chip", chip)["metrics"]
        assert [row["old"] for row in rows if row["metric"] == TIME] == [known]
    baseline = str(tmp_path / "baseline.json")
    budget = ["--budget", f"{TIME} < 1e-3", "--chip", "h100"]
    assert run(["check", str(STEP), *budget, "--baseline", baseline, "--update-baseline"]) == 0
    (held,) = json.loads(Path(baseline).read_text("utf-8"))["modules"].values()
    assert held["step_time"]["estimated_seconds"] == made["estimated_seconds"]
    assert held["step_time"]["machine"] == made["machine"]
    assert run(["check", str(STEP), *budget]) == 0
    assert run(["check", str(STEP), "--budget", f"{TIME} < 1e-3"]) == 2
    assert "is an estimate for a machine; name it with --chip" in capsys.readouterr().err


def test_links_that_the_user_states_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    sides = (f"a={STEP}", f"b={NARROW}", f"c={STEP}")
    link = "--bandwidth", "100GB/s"
    made = ask(capsys, "diff", STEP, NARROW, *link)["time"]
    assert made["links"] == ["100 GB/s (as given)"]
    assert run(["diff", *sides[:2], *link]) == 0
    named = " and links of 100 GB/s (as given)"
    assert f"time is rough, at the peaks of h100{named}; " in capsys.readouterr().out
    assert run(["diff", *sides, *link]) == 0
    assert f"at the ratios of the reference chip{named}; " in capsys.readouterr().out
    assert ask(capsys, "diff", STEP, NARROW)["time"]["links"] == []


def test_sides_of_one_name_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for sides in ([f"a={STEP}", f"a={NARROW}"], [f"new={STEP}", str(NARROW)]):
        assert run(["diff", *sides]) == 2
        assert "two sides have the name" in capsys.readouterr().err


def test_several_sides_say_for_what_each_was_compiled(capsys: pytest.CaptureFixture[str]) -> None:
    sides = f"a={STEP}", f"b={CPU / 'mlp_train'}", f"c={NARROW}"
    assert run(["diff", *sides]) == 0
    assert "compiled for gpu (a, c) and for cpu (b)\n" in capsys.readouterr().out
    assert [one["backend"] for one in ask(capsys, "diff", *sides)["sides"]] == ["gpu", "cpu", "gpu"]
    assert run(["diff", f"a={STEP}", f"b={STEP}", f"c={NARROW}"]) == 0
    assert "compiled for" not in capsys.readouterr().out


def test_a_chip_for_a_program_of_cpu_is_told_what_works(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["summary", str(CPU / "mlp_train"), "--chip", "h100"]) == 2
    assert "No known chip is a CPU: omit --chip. " in capsys.readouterr().err
    assert run(["summary", str(CPU / "mlp_train"), "--bandwidth", "100GB/s"]) == 0
