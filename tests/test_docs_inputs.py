"""The session of docs/inputs.md."""

from __future__ import annotations

import doctest

import pytest
from dump_files import ROOT


def test_the_example_of_the_docs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    failed, tried = doctest.testfile(str(ROOT / "docs/inputs.md"), module_relative=False)
    assert (failed, tried) == (0, 3)
