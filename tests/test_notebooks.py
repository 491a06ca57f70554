"""The sessions of Python in docs are run as they stand, and names are escaped."""

import doctest
import re
import tarfile
from pathlib import Path
from shutil import copytree

import pytest

import hlotool
from hlotool.cli import run

ROOT = Path(__file__).parent.parent


def test_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("polars")
    monkeypatch.chdir(ROOT)
    page = str(ROOT / "docs/notebooks.md")
    failed, tried = doctest.testfile(page, module_relative=False)
    assert (failed, tried > 4) == (0, True)


def test_the_questions_to_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two days of six programs: five of two commits, and one that sends."""
    for name in ("duckdb", "pandas", "polars", "pyarrow"):
        pytest.importorskip(name)
    page = ROOT / "docs/fleets.md"
    monkeypatch.chdir(tmp_path)
    with tarfile.open(ROOT / "testdata/check/commits.tar.xz") as packed:
        packed.extractall(filter="data")
    for commit, day in (("c08", "monday"), ("c09", "friday")):
        Path(commit).rename(day)
        copytree(ROOT / "testdata/dumps/gpu_h100/pipeline", Path(day) / "pipeline")
    typed = re.findall(r"(?m)^hlotool (.* \w+day/ -o .*)$", page.read_text("utf-8"))
    assert [run(line.split()) for line in typed] == [0, 0, 0]
    failed, tried = doctest.testfile(str(page), module_relative=False)
    assert (failed, tried) == (0, 6)


def test_names_are_escaped() -> None:
    metadata = 'metadata={op_name="<b>x</b>"}'
    dump = hlotool.load(
        "HloModule jit_f, is_scheduled=true\n\nENTRY e {\n"
        f"  p = f32[2048]{{0}} parameter(0), {metadata}\n  ROOT n = f32[2048]{{0}} negate(p)\n}}\n"
    )
    assert "\n" not in repr(dump)
    shown = dump._repr_html_()
    assert shown.startswith("<pre>jit_f: ")
    assert "<b>" not in shown
    assert "&lt;b&gt;x" in shown
