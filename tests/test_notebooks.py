"""Dumps in notebooks: docs/notebooks.md is run as it stands, and names are escaped."""

import doctest
from pathlib import Path

import pytest

import hlotool

ROOT = Path(__file__).parent.parent


def test_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("polars")
    monkeypatch.chdir(ROOT)
    page = str(ROOT / "docs/notebooks.md")
    failed, tried = doctest.testfile(page, module_relative=False)
    assert (failed, tried > 4) == (0, True)


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
