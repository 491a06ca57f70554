"""Which programs of two directories are one: by path, content and name, never by number."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hlotool.cli import run


def module(*opcodes: str, name: str = "jit_f") -> str:
    """Write a module that applies unary operations in turn."""
    lines = ["  v0 = f32[1024] parameter(0)"]
    for number, opcode in enumerate(opcodes, 1):
        root = "ROOT " if number == len(opcodes) else ""
        lines.append(f"  {root}v{number} = f32[1024] {opcode}(v{number - 1})")
    return "\n".join([f"HloModule {name}", "", "ENTRY main {", *lines, "}", ""])


def write(folder: Path, *texts: str, start: int = 0) -> Path:
    """Write modules as XLA names them, numbered from `start`."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, text in enumerate(texts, start):
        name = text.split()[1]
        file = folder / f"module_{number:04}.{name}.cpu_after_optimizations.txt"
        file.write_text(text, "utf-8")
    return folder


def number_of(path: str | None) -> int | None:
    return int(Path(path).name[7:11]) if path else None


def pairs(capsys: pytest.CaptureFixture[str], *arguments: object) -> Any:
    """Return numbers left and right, the status and the way of each row."""
    assert run(["diff", *map(str, arguments), "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    rows = [
        (number_of(row["left_path"]), number_of(row["right_path"]), row["status"], row["paired_by"])
        for row in made["modules"]
    ]
    return sorted(rows, key=str)


def test_equal_content_before_number(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    one, other = module("tanh", "negate"), module("exponential", "abs", "sqrt")
    old, new = write(tmp_path / "old", one, other), write(tmp_path / "new", other, one)
    assert pairs(capsys, old, new) == [
        (0, 1, "identical", "equal content"),
        (1, 0, "identical", "equal content"),
    ]


def test_the_most_similar_belong_together(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    long = ("tanh", "negate", "exponential", "abs", "sqrt", "sine")
    old = write(tmp_path / "old", module(*long), module("cosine", "floor", "ceil"))
    new = write(tmp_path / "new", module("cosine", "floor", "log"), module(*long[:-1], "cosine"))
    assert pairs(capsys, old, new) == [
        (0, 1, "changed", "similar content"),
        (1, 0, "changed", "similar content"),
    ]


def test_equally_similar_ones_are_listed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    same = module("tanh", "negate", "tanh")
    old = write(tmp_path / "old", module("abs", "abs"), same)
    new = write(tmp_path / "new", module("abs", "sqrt"), module("sqrt", "abs"), same)
    assert pairs(capsys, old, new) == [
        (0, None, "ambiguous", None),
        (1, 2, "identical", "equal content"),
        (None, 0, "ambiguous", None),
        (None, 1, "ambiguous", None),
    ]
    assert run(["diff", str(old), str(new)]) == 0
    told = capsys.readouterr().out
    assert "ambiguous, pair two with --map OLD_PATH=NEW_PATH:" in told
    assert told.count("  " + str(new / "module_0000")) >= 1
    left, right = (
        str(side / f"module_{number:04}.jit_f.cpu_after_optimizations.txt")
        for side, number in ((old, 0), (new, 1))
    )
    for named in (f"{left}={right}", f"{Path(left).name}=jit_f @ #1", "jit_f @ #0=#1"):
        found = pairs(capsys, old, new, "--map", named)
        assert (0, 1, "changed", "map") in found
        assert (None, 0, "added", None) in found


def test_copies_of_one_program_are_no_riddle(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text = module("tanh", "negate")
    old, new = write(tmp_path / "old", text, text), write(tmp_path / "new", text, text, start=3)
    assert [row[2:] for row in pairs(capsys, old, new)] == [("identical", "equal content")] * 2


def test_a_folder_before_content(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    one, other = module("tanh", "negate"), module("exponential", "abs")
    for side, texts in (("old", (one, other)), ("new", (other, one))):
        for folder, text in zip(("train", "eval"), texts, strict=True):
            write(tmp_path / side / folder, text, start=4 if folder == "train" else 7)
    found = pairs(capsys, tmp_path / "old", tmp_path / "new")
    assert found == [(4, 4, "changed", "same path"), (7, 7, "changed", "same path")]


def test_a_renamed_program_is_found(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    step = module("tanh", "negate", "exponential", "sqrt", name="jit_step")
    other = module("abs", name="jit_g")
    old = write(tmp_path / "old", step, other)
    new = write(tmp_path / "new", other, step.replace("jit_step", "jit_train"))
    assert pairs(capsys, old, new) == [
        (0, 1, "identical", "equal content"),
        (1, 0, "identical", "same path"),
    ]


def test_an_added_program_shows_its_figures(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    shared = module("tanh")
    added = "HloModule jit_g, is_scheduled=true\n" + module("negate", "abs").partition("\n")[2]
    old, new = write(tmp_path / "old", shared), write(tmp_path / "new", shared, added)
    for sides, status, side, sign in (
        ((old, new), "added", "right", 1),
        ((new, old), "removed", "left", -1),
    ):
        assert run(["diff", *map(str, sides), "--json"]) == 0
        rows = json.loads(capsys.readouterr().out)["modules"]
        (row,) = (one for one in rows if one["status"] == status)
        assert row[f"{side}_peak_bytes"] == 3 * 4096 - 4096
        assert row["peak_delta_bytes"] == sign * row[f"{side}_peak_bytes"]
        assert row["flops_delta"] == sign * 2048
