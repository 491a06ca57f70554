"""The benchmark runs to its end, whatever it finds: speed itself is no test's business."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from bench.measure import Comparison, process_seconds, take_turns
from bench.steps import write_steps
from dump_files import TESTDATA

import hlotool

RUN = Path(__file__).parent / "bench" / "run.py"
HAS_JAXLIB = importlib.util.find_spec("jaxlib") is not None
LEFT_OUT = "left out, jaxlib is not installed"
WITH_JAXLIB = (
    *("parse cpu_train_step", "MB, memory", "import and parse", "hlotool summary --json"),
    "summary of a proto",
)
SECTIONS = (
    *(WITH_JAXLIB if HAS_JAXLIB else (LEFT_OUT,)),
    "hlotool --version",
    "two processes",
    "all at once",
    "timeline and peaks",
)


@pytest.mark.hard
def test_every_section_runs() -> None:
    done = subprocess.run(
        [sys.executable, str(RUN), "--quick"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [name for name in SECTIONS if name not in done.stdout] == []


def test_steps_run_in_a_row_and_nothing_is_dead(tmp_path: Path) -> None:
    """Three steps compute what one does, three times, and hold its parameters once."""
    seed = TESTDATA / "hlo" / "gpu_train_step.txt"
    path = tmp_path / "steps.txt"
    assert write_steps(seed, path, 2 * seed.stat().st_size) == 3
    one, three = hlotool.load(seed).summary(), hlotool.load(path).summary()
    assert three.cost.total_flops_per_step == 3 * one.cost.total_flops_per_step
    module = hlotool.load(path).module
    used = [one for one in module.entry.instructions if one.users or one.is_root]
    seed_entry = hlotool.load(seed).module.entry.instructions
    dead = [one for one in seed_entry if not one.users and not one.is_root]
    assert len(module.entry.instructions) - len(used) <= 3 * len(dead)
    assert len(module.entry.parameters) == sum(one.opcode == "parameter" for one in seed_entry)


def test_steps_run_side_by_side(tmp_path: Path) -> None:
    """Three steps compute what one does, three times, and all of them are done at the end."""
    seed = TESTDATA / "hlo" / "gpu_train_step.txt"
    path = tmp_path / "steps.txt"
    assert write_steps(seed, path, 2 * seed.stat().st_size, is_wide=True) == 3
    one, three = hlotool.load(seed), hlotool.load(path)
    flops = one.summary().cost.total_flops_per_step
    assert three.summary().cost.total_flops_per_step == 3 * flops
    assert len(three.module.entry.root.operands) == 3
    assert len(three.module.entry.parameters) == len(one.module.entry.parameters)


def test_children_count() -> None:
    """The work is done by a process that the measured one starts."""
    work = "import time\nwhile time.process_time() < 0.2: pass"
    start = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {work!r}])"
    assert process_seconds([sys.executable, "-c", start]) >= 0.2


def test_a_side_that_fails_is_an_error() -> None:
    with pytest.raises(subprocess.CalledProcessError):
        process_seconds([sys.executable, "-c", "raise SystemExit(3)"])


def test_sides_take_turns_and_the_median_counts() -> None:
    taken: list[str] = []
    values = {"ours": iter((3.0, 1.0, 9.0)), "theirs": iter((2.0, 5.0, 4.0))}

    def side(name: str) -> float:
        taken.append(name)
        return next(values[name])

    assert take_turns(3, lambda: side("ours"), lambda: side("theirs")) == [3.0, 4.0]
    assert taken == ["ours", "theirs"] * 3


@pytest.mark.parametrize(
    ("ours", "is_difference", "ending"),
    [
        (0.75, False, "0.75 ≤ 0.75     ok"),
        (0.875, False, "0.88 ≤ 0.75     MISSED"),
        (1.75, True, "+750.0 ms ≤ +750 ms  ok"),
        (2.0, True, "+1000.0 ms ≤ +750 ms  MISSED"),
    ],
)
def test_a_verdict(ours: float, is_difference: bool, ending: str) -> None:
    line = str(Comparison("one", ours, 1.0, "ms", 0.75, is_difference))
    assert line.endswith(ending)
