"""How much `hlotool diff` says: a verdict, a screen behind it, and what to type next."""

from __future__ import annotations

import gzip
import re
import shlex
from pathlib import Path

import pytest
from dump_files import SHARED, TESTDATA, needs_shared
from typed_commands import run

from hlotool.table.terminal import cut_apart

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


def test_all_is_shown_when_asked() -> None:
    brief, full = (show(*PAIRS[0], *options) for options in ((), ("--full",)))
    assert len(full) > len(brief)
    assert any(row.startswith("hidden: ") for row in brief)
    assert not any(row.startswith("hidden: ") for row in full)
    assert "Figures" in full


@pytest.mark.parametrize("width", [6, 9, 24, 40])
def test_what_differs_is_never_cut_to_the_same(width: int) -> None:
    for same in (0, 3, 30, 60):
        texts = [f"{'x' * same}{mark}{'y' * (60 - same)}" for mark in "ab"]
        first, second = cut_apart(texts, width)
        assert first != second
        assert max(map(len, filter(None, (first, second)))) <= width


def test_a_summary_has_one_line_a_pair() -> None:
    rows = show(DUMPS / "cpu_jax_0.4.30", DUMPS / "cpu", "--stat")
    assert sum("jit_" in row.split(" ")[0] for row in rows) == 6


def test_what_is_told_to_type_can_be_typed() -> None:
    """Each command is the end of its line, and says of one program what the directory's does."""
    rows = run(f"hlotool diff {DUMPS / 'cpu_jax_0.4.30'} {DUMPS / 'cpu'}").splitlines()
    typed = [row[row.index("hlotool ") :] for row in rows[1:] if "hlotool " in row]
    assert len(typed) == 5
    for command in typed:
        assert "[exit" not in run(command)


def test_what_is_told_to_type_is_quoted_for_any_shell(tmp_path: Path) -> None:
    old, new = tmp_path / "it's old", tmp_path / "new $HOME"
    for folder, two in ((old, "f32[4]"), (new, "f32[5]")):
        folder.mkdir()
        (folder / "1.txt").write_text(ONE if folder == old else ONE.replace("sine", "cosine"))
        (folder / "2.txt").write_text(OTHER.replace("f32[4]", two), "utf-8")
    rows = run(shlex.join(["hlotool", "diff", str(old), str(new)])).splitlines()
    (typed,) = (row[row.index("hlotool ") :] for row in rows[1:] if "hlotool " in row)
    assert shlex.split(typed)[2:4] == [str(old), str(new)]
    assert "[exit" not in run(typed)


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


@pytest.mark.parametrize(("old", "new"), PAIRS, ids=lambda path: f"{path.parent.name}.{path.name}")
def test_a_comment_is_short_and_begins_with_its_marker(old: Path, new: Path) -> None:
    said = run(f"hlotool diff {old} {new} --format comment").partition("\n")[2]
    assert said.startswith("<!-- hlotool diff -->\n**")
    assert len(said) < 3000
    assert "\n| metric | old | new | difference | % |\n" in said
    assert said.count("<details>") == said.count("</details>") == 1


def test_a_comment_on_directories_has_the_table_of_all() -> None:
    said = run(f"hlotool diff {DUMPS / 'cpu_jax_0.4.30'} {DUMPS / 'cpu'} --format comment")
    assert len(said.partition("\n")[2]) < 3000
    assert len(re.findall(r"^\| (?:\w+/)?jit_", said, re.MULTILINE)) == 6


def test_a_baseline_says_why(tmp_path: Path) -> None:
    """What a pull request changed is read from the program that the baseline keeps."""
    old, new = (SHARDED / f"gpu_h100.{name}" for name in ("base", "mesh"))
    baseline = tmp_path / "baseline.json"
    config = tmp_path / "hlotool.toml"
    config.write_text(
        f'baseline = "{baseline}"\n[[budget]]\nmetric = "module.instruction_count"\n'
        'max_increase = "0%"\n[[budget]]\nmetric = "collectives.count"\nmin = 0\n',
        "utf-8",
    )
    run(f"hlotool check {old} --config {config} --update-baseline")
    texts = [unpack(file) for file in old.glob("*optimizations.txt.gz")]
    assert baseline.stat().st_size < min(256_000, max(6_000, 0.06 * sum(map(len, texts))))
    said = run(f"hlotool diff {baseline} {new}")
    assert "\nwhy: the mesh is " in said
    assert "\nreasons refer to the program before optimizations, on all devices together\n" in said
    said = run(f"hlotool check {new} --config {config} --format comment")
    assert said.partition("\n")[2].startswith("<!-- hlotool check -->\n**budgets: 1 exceeded")
    assert "\n* jit_train_step: the mesh is " in said
    assert len(said) < 3000


def unpack(file: Path) -> str:
    return gzip.decompress(file.read_bytes()).decode()


def test_two_stages_are_said_first() -> None:
    (old,) = _GPU.glob("*.before_optimizations.txt")
    (new,) = _GPU.glob("*gpu_after_optimizations.txt")
    first, *rest = show(old, new)
    assert first == "before against after optimizations"
    assert not any(row.startswith("why: ") for row in rest)


def test_figures_of_other_numbers_of_devices_are_of_the_whole_program(tmp_path: Path) -> None:
    for count, rows in ((1, 8), (2, 4)):
        text = ONE.replace("jit_one", f"jit_one, num_partitions={count}")
        (tmp_path / f"{count}.txt").write_text(text.replace("f32[8]", f"f32[{rows}]"), "utf-8")
    said = show(tmp_path / "1.txt", tmp_path / "2.txt")
    assert said[0] == "1 device against 2; figures are of all devices together"
    assert "work: flops/step +0" in said
