"""Profiles: which instructions take most of the time, and how much of it lies outside fusions."""

from __future__ import annotations

from pathlib import Path

import pytest
from dump_files import TESTDATA
from profile_builder import GPU, TPU, Event, Plane, metadata

import hlotool
from hlotool.analysis.measured import MeasuredInstruction
from hlotool.program.program import Program

FOLDER = TESTDATA / "profiles/cpu"
LABEL = "jit_loop(7)"
US = 1e-6


def load(tmp_path: Path, proto: bytes, name: str, *ops: Event) -> Program:
    """Return a program that ran once, for 400 µs, and these of its instructions."""
    lines = {"XLA Modules": [Event(LABEL, 0, 400)], "XLA Ops": list(ops)}
    path = tmp_path / "h.xplane.pb"
    path.write_bytes(metadata((LABEL, proto)) + Plane(name, lines).to_bytes())
    return hlotool.load(path).program


def rows(program: Program) -> dict[str, MeasuredInstruction]:
    return {row.name: row for row in program.measured_instructions}


def test_the_longest_comes_first_whatever_its_opcode() -> None:
    program = hlotool.load(FOLDER, module="jit_step").program
    found = program.measured_instructions
    assert found == program.summarize().instructions
    assert (found[0].name, found[0].opcode, found[0].source) == (
        "all-reduce.2",
        "all-reduce",
        "make_profile.py:32",
    )
    times = [row.measured_seconds or 0 for row in found]
    assert times == sorted(times, reverse=True)
    runs = program.measured_runs
    assert runs is not None
    assert runs.step_seconds is not None
    assert found[0].share == pytest.approx(times[0] / runs.step_seconds)
    assert sum(times) <= runs.step_seconds


def test_a_loop_gives_way_to_what_it_runs(tmp_path: Path) -> None:
    around = Event("while.11", 0, 200)
    ops = [Event("fusion.13", 0, 80), Event("all-reduce.4", 80, 60)]
    found = rows(load(tmp_path, TPU, "/device:TPU:0", around, *ops))
    assert list(found) == ["fusion.13", "all-reduce.4"]
    assert found["fusion.13"].share == pytest.approx(0.2)
    assert found["fusion.13"].measured_seconds == pytest.approx(80 * US)
    assert list(rows(load(tmp_path, TPU, "/device:TPU:0", around))) == ["while.11"]


def test_a_collective_counts_once(tmp_path: Path) -> None:
    ops = [Event("all-reduce-start", 0, 50), Event("all-reduce-done", 90, 10)]
    found = rows(load(tmp_path, GPU, "/device:GPU:0", *ops))
    assert list(found) == ["all-reduce-start"]
    assert found["all-reduce-start"].measured_seconds == pytest.approx(60 * US)


def test_what_lies_outside_fusions(tmp_path: Path) -> None:
    ops = [Event("all-reduce-start", 0, 60), Event("fusion.2", 60, 20)]
    outside = load(tmp_path, GPU, "/device:GPU:0", *ops).outside_fusions
    assert outside is not None
    assert outside.measured_seconds == pytest.approx(60 * US)
    assert outside.share == pytest.approx(0.75)
    assert outside.longest == "all-reduce-start"
    assert outside.longest_seconds == pytest.approx(60 * US)
    inside = load(tmp_path, GPU, "/device:GPU:0", ops[1]).outside_fusions
    assert inside is not None
    assert (inside.measured_seconds, inside.share, inside.longest) == (0, 0, None)


def test_what_was_measured_of_one_instruction() -> None:
    report = hlotool.load(FOLDER, module="jit_step").show("all-reduce.2", "param.2")
    measured, given = report.subjects
    assert measured.measured_count == 8
    assert measured.measured_seconds is not None
    assert (given.measured_count, given.measured_seconds) == (None, None)


def test_without_a_profile_nothing_is_measured() -> None:
    program = hlotool.load(TESTDATA / "protos/train_step.txt").program
    assert program.measured_instructions == ()
    assert program.outside_fusions is None
    assert program.metric("measured.step_seconds") is None


def test_runs_are_a_metric() -> None:
    program = hlotool.load(FOLDER, module="jit_step").program
    assert program.metric("measured.step_count") == 8
    runs = program.measured_runs
    assert runs is not None
    assert program.metric("measured.step_seconds") == runs.step_seconds
