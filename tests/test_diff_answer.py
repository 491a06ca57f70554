"""How much `hlotool diff` says: a verdict, a screen behind it, and what to type next."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from dump_files import SHARED, TESTDATA, needs_shared
from typed_commands import run

DUMPS = TESTDATA / "dumps"
SHARDED = TESTDATA / "diff" / "sharded"
SEVERAL = TESTDATA / "folders" / "cpu.several"
VERDICT, BEHIND = 5, 24  # rows of a terminal of 80 columns
_GPU = DUMPS / "gpu_h100" / "mlp_train"
PAIRS = [
    *((_GPU, _GPU.with_name(f"mlp_train.{other}")) for other in ("remat", "bf16", "batch2x")),
    *(
        (SHARDED / f"{chip}.base", SHARDED / f"{chip}.{other}")
        for chip in ("gpu_h100", "tpu_v5e")
        for other in ("constraint", "mesh", "spec")
    ),
    (DUMPS / "cpu" / "scan_train", DUMPS / "tpu_v5e" / "scan_train"),
    (DUMPS / "cpu_jax_0.4.30" / "mlp_train", DUMPS / "cpu" / "mlp_train"),
]
_OTHERS = ("noremat", "relu", "nodonate", "f32", "nofuse", "axisswap")
OF_SHARED = [
    *(("gpu.base", f"gpu.{other}") for other in _OTHERS),
    *(("tpu.base", f"tpu.{other}") for other in ("gelu", "nolhs", "mlpspec")),
    *(("gpu90.base", "gpu102old.base"), ("tpu83.base", "tpu.base"), ("cpu83.base", "cpu.base")),
]


def show(*words: object) -> list[str]:
    """Return the rows that a terminal of 80 columns shows."""
    typed = shlex.join(["hlotool", "diff", *map(str, words)])
    _, *rows = run(f"COLUMNS=80 {typed}").splitlines()
    return rows


def expect_screen(rows: list[str]) -> None:
    verdict = rows.index("") if "" in rows else len(rows)
    assert verdict <= VERDICT, rows
    assert len(rows) - verdict <= BEHIND, rows
    assert all(len(row) <= 80 for row in rows)


@pytest.mark.parametrize(("old", "new"), PAIRS, ids=lambda path: f"{path.parent.name}.{path.name}")
def test_the_answer_fits_a_screen(old: Path, new: Path) -> None:
    expect_screen(show(old, new))


@needs_shared
@pytest.mark.parametrize(("old", "new"), OF_SHARED)
def test_the_answer_of_large_programs_fits_a_screen(old: str, new: str) -> None:
    folder = SHARED / "dumps" / "pairs"
    expect_screen(show(folder / old, folder / new))


def test_a_summary_has_one_line_a_pair() -> None:
    rows = show(DUMPS / "cpu_jax_0.4.30", DUMPS / "cpu", "--stat")
    assert sum(row.startswith("jit_") for row in rows) == 6


def test_what_is_told_to_type_can_be_typed() -> None:
    """Each command is the end of its line, and says of one program what the directory's does."""
    rows = run(f"hlotool diff {DUMPS / 'cpu_jax_0.4.30'} {DUMPS / 'cpu'}").splitlines()
    typed = [row[row.index("hlotool ") :] for row in rows[1:] if "hlotool " in row]
    assert len(typed) == 5
    for command in typed:
        assert "[exit" not in run(command)


def copy(folder: Path, *renamed: tuple[str, str]) -> Path:
    """Copy a directory of several programs, under other names."""
    folder.mkdir()
    for file in SEVERAL.glob("*.txt"):
        text, name = file.read_text("utf-8"), file.name
        for old, new in renamed:
            text, name = text.replace(old, new), name.replace(old, new)
        (folder / name).write_text(text, "utf-8")
    return folder


def test_identical_programs_are_one_line(tmp_path: Path) -> None:
    said = show(SEVERAL, copy(tmp_path / "new", ("jit_evaluate", "jit_score")))
    assert said == [
        "3 identical (jit_init, jit_score, jit_train_step)",
        "renamed: jit_evaluate → jit_score",
    ]


JOINED = """HloModule jit_both

ENTRY %main (x: f32[8], y: f32[4]) -> (f32[8], f32[4]) {
  %x = f32[8] parameter(0)
  %y = f32[4] parameter(1)
  %a = f32[8] sine(%x)
  %b = f32[8] add(%a, %x)
  %c = f32[4] cosine(%y)
  %d = f32[4] multiply(%c, %y)
  ROOT %r = (f32[8], f32[4]) tuple(%b, %d)
}
"""
ONE = """HloModule jit_one

ENTRY %main (x: f32[8]) -> f32[8] {
  %x = f32[8] parameter(0)
  %a = f32[8] sine(%x)
  ROOT %b = f32[8] add(%a, %x)
}
"""
OTHER = """HloModule jit_other

ENTRY %main (y: f32[4]) -> f32[4] {
  %y = f32[4] parameter(0)
  %c = f32[4] cosine(%y)
  ROOT %d = f32[4] multiply(%c, %y)
}
"""


def test_programs_that_were_split_or_joined_are_told(tmp_path: Path) -> None:
    for side, texts in {"whole": (JOINED,), "parts": (ONE, OTHER)}.items():
        (tmp_path / side).mkdir()
        for number, text in enumerate(texts):
            (tmp_path / side / f"{number}.txt").write_text(text, "utf-8")
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert "jit_both of old is split: jit_one and jit_other of new" in show(whole, parts)
    assert "jit_one and jit_other of old are joined: jit_both of new" in show(parts, whole)
