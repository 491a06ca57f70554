"""Stacks: the calls that led to the line of a row, as `--stack` prints them."""

from __future__ import annotations

import json
from typing import Any

import click
import pytest
from click.testing import CliRunner
from dump_files import ROOT

from hlotool.commands.buffers.command import buffers
from hlotool.commands.collectives import collectives
from hlotool.commands.fusions import fusions
from hlotool.hlo import DebugInfo, SourceLocation, StackFrame

TRANSFORMER = ROOT / "testdata" / "dumps" / "gpu_h100" / "transformer_train"
OLD = ROOT / "testdata" / "dumps" / "cpu_jax_0.4.30" / "mlp_train"
# Read by hand from the tables of the text: loop_add_fusion.3, which makes element 2 of while.26,
# has stack_frame_id=64, which is of location 41, in line 54. Each frame is called by the next:
# 64, 25, 22, 21, 16, 15, 14, 6, 3, 2, 1 (the text prints each parent one too high).
FILE = "/home/user/transformer_train.py"
STACK = [
    f"{FILE}:54 block",
    f"{FILE}:66 loss.<locals>.body.<locals>.<lambda>",
    f"{FILE}:68 loss",
    f"{FILE}:85 lower.<locals>.train_step",
    f"{FILE}:68 loss",
    f"{FILE}:85 lower.<locals>.train_step",
    f"{FILE}:68 loss",
    f"{FILE}:85 lower.<locals>.train_step",
    f"{FILE}:99 lower",
    "<frozen runpy>:88 _run_code",
    "<frozen runpy>:198 _run_module_as_main",
]


def run(command: click.Command, *arguments: str) -> str:
    done = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


def rows(command: click.Command, *arguments: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run(command, *arguments, "--json"))["rows"]
    return found


def test_the_stack_of_a_value() -> None:
    where = ("--where", 'value == "while.26{2}"')
    (row,) = rows(buffers, str(TRANSFORMER), *where, "--stack")
    assert row["stack"] == STACK
    (row,) = rows(buffers, str(TRANSFORMER), *where)
    assert (row["stack"], row["stack_frame"]) == (None, 64)
    table = run(buffers, str(TRANSFORMER), *where, "--stack", "--columns", "value")
    assert table.split("\n\n")[1].splitlines()[2:] == ["while.26{2}", *(f"    {a}" for a in STACK)]


@pytest.mark.parametrize("command", [buffers, fusions, collectives], ids=lambda one: one.name)
def test_a_stack_begins_with_the_line_of_its_row(command: click.Command) -> None:
    found = rows(command, str(TRANSFORMER), "--stack")
    with_line = [row for row in found if row["source_line"] is not None]
    assert with_line
    for row in with_line:
        file, line = row["source_file"], row["source_line"]
        assert row["stack"][0].startswith(f"{file}:{line} ")
    assert all(row["stack"] is None for row in found if row["source_line"] is None)


@pytest.mark.parametrize("command", [buffers, fusions], ids=lambda one: one.name)
def test_a_text_without_tables_says_so(command: click.Command) -> None:
    assert "no StackFrames table" in run(command, str(OLD), "--stack")
    assert "StackFrames" not in run(command, str(OLD))
    assert "StackFrames" not in run(command, str(TRANSFORMER), "--stack")


def test_an_assignment_alone_says_where_stacks_are(tmp_path: Any) -> None:
    (found,) = OLD.glob("*-buffer-assignment.txt")
    alone = tmp_path / found.name
    alone.write_bytes(found.read_bytes())
    assert "--module-text" in run(buffers, str(alone), "--stack").split("\n\n")[-1]


def test_frames_that_call_each_other_end() -> None:
    info = DebugInfo(
        {1: SourceLocation("a.py", 1), 2: SourceLocation("b.py", 2)},
        {1: StackFrame(1, 2), 2: StackFrame(2, 1), 3: StackFrame(9, 1)},
    )
    assert [one.line for one in info.find_stack(1)] == [1, 2]
    assert [one.line for one in info.find_stack(3)] == [1, 2]
    assert info.find_stack(0) == info.find_stack(7) == ()
